"""When a person is away and who stands in: part of the preferences, saved by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from review import roles
from review.models import Absence
from review.selectors import routing as selected
from review.services import routing
from review.views import parameters

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def panel(user: User) -> dict[str, Any]:
    """What the preferences show: one's own absence, whom one stands in for, and who could stand in."""
    now = timezone.now()
    covers = selected.covers(now)
    own = Absence.objects.filter(user=user, to_on__gte=timezone.localdate(now)).select_related("cover").first()
    return {
        "absence": own,
        "cover_name": roles.display_name(own.cover) if own else "",
        "alone": user.pk in covers.away and covers.stand_in(user) is None,
        "standing_in": [
            (roles.display_name(covers.away[pk].user), covers.away[pk].to_on) for pk in covers.covered_by(user)
        ],
        "possible_covers": [(person.pk, roles.display_name(person)) for person in routing.possible_covers(user)],
    }


@require_POST
def absence(request: HttpRequest) -> HttpResponse:
    """Save an absence, or end it."""
    user, given = cast("User", request.user), request.POST
    back = HttpResponseRedirect(f"{reverse('preferences')}#absence")
    if given.get("do") == "end":
        if routing.end_absence(user):
            messages.success(request, _("Welcome back: everything of yours is yours alone again."))
        return back
    from_on, to_on = parameters.day(given.get("from", "")), parameters.day(given.get("to", ""))
    cover = next((p for p in routing.possible_covers(user) if str(p.pk) == given.get("cover", "")), None)
    try:
        if from_on is None or to_on is None:
            raise ValidationError(_("Name the first and the last day."))
        if cover is None:
            raise ValidationError(_("Choose who stands in: somebody who decides on changes, in all of your teams."))
        routing.set_absence(user, from_on=from_on, to_on=to_on, cover=cover, today=timezone.localdate())
        messages.success(request, _("Saved. %(name)s stands in for you.") % {"name": roles.display_name(cover)})
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
    return back

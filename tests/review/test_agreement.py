"""How sure verdicts are: second opinions that agree or not, and the time a decision takes."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from monitoring.models import Change, PageType
from review.models import Verdict
from review.selectors import agreement
from tests.factories import NOW, make_change, make_page_type, make_team, make_user
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


@pytest.fixture
def page_type() -> PageType:
    return make_page_type()


def decided(by: User, *, action: str = "approve", seconds: float | None = 8.0) -> Change:
    change = make_change(state="approved" if action == "approve" else "dismissed")
    verdict(change, by, action=action, seconds_on_screen=seconds)
    return change


def verdict(change: Change, by: User, *, action: str, **extra: object) -> Verdict:
    key = f"{change.pk}-{by.pk}-{action}-{Verdict.objects.count()}"
    return Verdict.objects.create(
        change=change, actor=by, action=action, version_seen=1, idempotency_key=key, at=NOW, **extra
    )


def test_opinions_are_held_against_the_verdict_that_stands(
    analyst: User, other_analyst: User, page_type: PageType
) -> None:
    same, different = decided(analyst), decided(analyst)
    verdict(same, other_analyst, action="second", opinion="approve")
    verdict(different, other_analyst, action="second", opinion="dismiss")

    found = agreement.quality(page_type, user=analyst, now=NOW)

    assert (found.agreed, found.compared) == (1, 2)
    assert found.low < 0.5 < found.high
    assert [(one.change, one.verdict, one.opinion) for one in found.disagreements] == [
        (different, "approve", "dismiss")
    ]


def test_nobody_agrees_with_themselves(analyst: User, page_type: PageType) -> None:
    verdict(decided(analyst), analyst, action="second", opinion="approve")

    assert agreement.quality(page_type, user=analyst, now=NOW).compared == 0


def test_the_newest_opinion_counts(analyst: User, other_analyst: User, page_type: PageType) -> None:
    change = decided(analyst)
    for opinion in ("dismiss", "approve"):
        verdict(change, other_analyst, action="second", opinion=opinion)

    found = agreement.quality(page_type, user=analyst, now=NOW)

    assert (found.agreed, found.compared) == (1, 1)


def test_half_of_the_decisions_took_no_longer(analyst: User, page_type: PageType) -> None:
    for seconds in (2.0, 9.0, 400.0, None):
        decided(analyst, seconds=seconds)

    found = agreement.quality(page_type, user=analyst, now=NOW)

    assert (found.decided, found.median_s) == (3, 9.0)


def test_another_team_adds_nothing(analyst: User, page_type: PageType) -> None:
    decided(analyst)

    found = agreement.quality(page_type, user=make_user("olga", team=make_team("Elsewhere")), now=NOW)

    assert (found.decided, found.compared) == (0, 0)


def test_the_calibration_page_tells_it_and_asks_as_often_for_many(
    analyst: User, other_analyst: User, page_type: PageType, sign_in: SignIn, time_machine: object
) -> None:
    time_machine.move_to(NOW)  # type: ignore[attr-defined]
    client, address = sign_in(analyst), reverse("calibration", args=[page_type.slug])

    def asked() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as found:
            page = client.get(address).content.decode()
        return len(found), page

    verdict(decided(analyst), other_analyst, action="second", opinion="dismiss")
    client.get(address)
    few, page = asked()
    for _ in range(9):
        verdict(decided(analyst), other_analyst, action="second", opinion="dismiss")
    many, _page = asked()

    assert "0 of 1 second opinion agrees with the verdict" in page
    assert "verdict approve, second opinion dismiss" in page
    assert "ines" not in page.partition("How sure verdicts are")[2].partition("</section>")[0]
    assert many == few

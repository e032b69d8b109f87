"""Digests: what is waiting, by mail, once per person and period.

A digest goes out when there is something to say, and once a week regardless, as a proof of life. It is written into the
outbox in the transaction that notes it, so that it is neither lost nor made twice.
"""

from __future__ import annotations

import zoneinfo
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import Count, Min
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.detection.diff import first_places
from monitoring.models import Change, Check, Monitor, MonitorState, Outcome
from monitoring.services import outbox
from review import alarms
from review.calibration_words import MissedLine, missed_lines
from review.models import Digest, DigestSubscription, Verdict
from review.selectors import missing

SHOWN = 3
NAMED = 8
PROOF_OF_LIFE = timedelta(days=7)
_UNSUBSCRIBE_SALT = "review.digest.unsubscribe"


@dataclass(frozen=True, slots=True)
class Told:
    """One change as the mail tells it: whole sentences, removed before added."""

    title: str
    site: str
    page_type: str
    url: str
    measure: str
    lang: str = ""
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    more: int = 0


@dataclass(frozen=True, slots=True)
class Trouble:
    """A site that can't be read, since when, and how many pages that concerns."""

    site: str
    since: datetime | None
    pages: int
    url: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a digest says."""

    waiting: int
    told: list[Told]
    named: list[tuple[str, str]]
    unnamed: int
    troubles: list[Trouble]
    approved: int
    dismissed: int
    noise: int
    checks: int
    answered: int
    monitors: int
    promises: list[str] = field(default_factory=list)
    missed: tuple[str, list[MissedLine]] = ("", [])

    @property
    def has_news(self) -> bool:
        """Whether there is something a person should act on."""
        return bool(self.waiting or self.troubles or self.promises)


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The named time zone; UTC for a name this machine does not know."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")


def next_time(subscription: DigestSubscription, after: datetime) -> datetime | None:
    """The next moment (UTC) at which the person's clock shows the chosen hour, strictly later than `after`.

    None when the person wants no digests. An hour that the clock skips in spring is taken as the moment after the gap.
    """
    if subscription.rhythm == DigestSubscription.Rhythm.OFF:
        return None
    zone = zone_of(subscription.time_zone)
    day = after.astimezone(zone).date()
    for _step in range(16):
        fits = subscription.rhythm == DigestSubscription.Rhythm.DAILY or day.weekday() == subscription.weekday
        moment = datetime.combine(day, time(subscription.hour), zone).astimezone(UTC)
        if fits and moment > after:
            return moment
        day += timedelta(days=1)
    raise AssertionError("a week has every weekday")


def period_of(subscription: DigestSubscription, at: datetime) -> str:
    """The period a digest made now belongs to, on the person's calendar: 2026-11-30, or 2026-W49."""
    day: date = at.astimezone(zone_of(subscription.time_zone)).date()
    if subscription.rhythm == DigestSubscription.Rhythm.WEEKLY:
        year, week, _weekday = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat()


def tick(*, now: datetime) -> int:
    """Make every digest that is due; returns how many were written into the outbox. For the ticker."""
    for subscription in DigestSubscription.objects.filter(next_at__isnull=True).exclude(rhythm="off"):
        DigestSubscription.objects.filter(pk=subscription.pk, next_at__isnull=True).update(
            next_at=next_time(subscription, now)
        )
    due = DigestSubscription.objects.filter(next_at__lte=now, user__is_active=True).select_related("user")
    return sum(_make(subscription, now) for subscription in due.order_by("next_at")[:500])


def any_due(*, now: datetime) -> bool:
    """Whether `tick` has work; cheap."""
    waiting = DigestSubscription.objects.filter(next_at__lte=now) | DigestSubscription.objects.filter(
        next_at__isnull=True
    ).exclude(rhythm="off")
    return waiting.exists()


def subscribe(user: User, *, time_zone: str = "UTC") -> DigestSubscription:
    """The person's subscription, made with the defaults where there is none."""
    return DigestSubscription.objects.get_or_create(user=user, defaults={"time_zone": time_zone})[0]


def _make(subscription: DigestSubscription, now: datetime) -> bool:
    """One digest, if it has something to say; the next time is set in the same transaction."""
    user = subscription.user
    last = subscription.last_sent_at
    alive = last is None or now - last >= PROOF_OF_LIFE
    since = now - (timedelta(days=7) if subscription.rhythm == "weekly" else timedelta(days=1))
    with translation.override(language_of(user)):
        facts = gather(user, now=now, since=since)
        wanted = bool(user.email) and (facts.has_news or alive)
        try:
            with transaction.atomic():
                later = next_time(subscription, now)
                taken = DigestSubscription.objects.filter(pk=subscription.pk, next_at=subscription.next_at)
                if not taken.update(next_at=later, last_sent_at=now if wanted else last) or not wanted:
                    return False
                _write(subscription, facts, now=now, proof=not facts.has_news)
        except IntegrityError:  # this period's digest exists: the clock was set back, or the hour was changed
            DigestSubscription.objects.filter(pk=subscription.pk).update(next_at=later)
            return False
    return True


def language_of(user: User) -> str:
    """The language a person reads mail in."""
    preferences = getattr(user, "preferences", None)
    return (preferences.language if preferences else "") or settings.LANGUAGE_CODE


def gather(user: User, *, now: datetime, since: datetime) -> Facts:
    """What the digest would say to this person now."""
    waiting = Change.objects.visible_to(user).waiting()
    count = waiting.count()
    first = waiting.select_related("monitor__site", "monitor__page_type").order_by("-priority", "opened_at", "pk")
    shown = list(first[: SHOWN + NAMED])
    monitors = Monitor.objects.visible_to(user)
    checks = Check.objects.filter(monitor__in=monitors, started_at__gte=since, started_at__lt=now)
    by_outcome = dict(checks.values_list("outcome").annotate(n=Count("pk")))
    verdicts = Verdict.objects.filter(change__monitor__in=monitors, at__gte=since, at__lt=now).standing()
    decided = dict(verdicts.values_list("action").annotate(n=Count("pk")))
    total = sum(by_outcome.values())
    return Facts(
        waiting=count,
        told=[_tell(change) for change in shown[:SHOWN]],
        named=[(change.monitor.name, change.monitor.site.name) for change in shown[SHOWN:]],
        unnamed=max(0, count - len(shown)),
        troubles=_troubles(monitors),
        approved=decided.get(Verdict.Action.APPROVE, 0),
        dismissed=decided.get(Verdict.Action.DISMISS, 0),
        noise=by_outcome.get(Outcome.NOISE, 0),
        checks=total,
        answered=total - by_outcome.get(Outcome.ERROR, 0) - by_outcome.get(Outcome.BLOCKED, 0),
        monitors=monitors.filter(enabled=True).count(),
        missed=missed_lines(missing.missed_each(user, now=now)),
        promises=[alarms.sentence(one) for one in alarms.open_alarms(user)],
    )


def _troubles(monitors: Any) -> list[Trouble]:
    rows = (
        monitors.filter(enabled=True, state__in=[MonitorState.BLOCKED, MonitorState.ERROR])
        .values("site__name", "site_id")
        .annotate(pages=Count("pk"), since=Min("state_since"))
        .order_by("-pages", "site__name")[:10]
    )
    return [
        Trouble(site=row["site__name"], since=row["since"], pages=row["pages"], url=absolute(reverse("sites")))
        for row in rows
    ]


def _tell(change: Change) -> Told:
    monitor = change.monitor
    removed: list[str] = []
    added: list[str] = []
    for place in first_places(change.diff, 1) if change.diff.get("blocks") else []:
        removed += [place["removed"]] if place.get("removed") else []
        added += [place["added"]] if place.get("added") else []
    return Told(
        title=monitor.name,
        site=monitor.site.name,
        page_type=monitor.page_type.name,
        url=absolute(change.get_absolute_url()),
        measure=_measure(change),
        lang=change.diff.get("lang", ""),
        removed=removed,
        added=added,
        more=max(0, change.places - 1),
    )


def _measure(change: Change) -> str:
    if change.kind == Change.Kind.GONE:
        return _("The page is gone.")
    if change.kind == Change.Kind.REDIRECT:
        return _("The page answers from a new address.")
    if change.kind == Change.Kind.TYPE:
        return _("The site sends another type of document.")
    if change.score is None or change.cut is None:
        return ""
    return _("Score %(score).2f against a cut of %(cut).2f.") % {"score": change.score, "cut": change.cut}


def absolute(path: str) -> str:
    """A full address in the app."""
    return f"{settings.APP_ORIGIN}{path}"


def subject(facts: Facts) -> str:
    """The finding itself: "7 changes to review, 1 site blocking us"."""
    parts = []
    if facts.waiting:
        parts.append(ngettext("%d change to review", "%d changes to review", facts.waiting) % facts.waiting)
    if facts.troubles:
        count = len(facts.troubles)
        parts.append(ngettext("%d site can't be read", "%d sites can't be read", count) % count)
    if facts.promises:
        count = len(facts.promises)
        parts.append(ngettext("%d alarm of promises", "%d alarms of promises", count) % count)
    if not parts:
        return ngettext(
            "All quiet: %d page watched, nothing waiting", "All quiet: %d pages watched, nothing waiting", facts.monitors
        ) % facts.monitors  # fmt: skip
    return ", ".join(parts)


def _write(subscription: DigestSubscription, facts: Facts, *, now: datetime, proof: bool) -> None:
    period = period_of(subscription, now)
    key = f"digest/{subscription.pk}/{period}"
    stop = absolute(reverse("digest-stop", args=[unsubscribe_token(subscription)]))
    local = now.astimezone(zone_of(subscription.time_zone))
    context = {
        "facts": facts,
        "subject": subject(facts),
        "proof": proof,
        "when": f"{date_format(local, 'l j F')}, {local:%H:%M} {subscription.time_zone}",
        "queue_url": absolute(reverse("queue")),
        "fleet_url": absolute(reverse("fleet")),
        "change_url": absolute(reverse("preferences")),
        "stop_url": stop,
        "rhythm": subscription.get_rhythm_display(),
        "hour": f"{subscription.hour:02d}:00",
        "preheader": _preheader(facts),
        "language": translation.get_language(),
    }
    Digest.objects.create(
        subscription=subscription, period=period, proof_of_life=proof, facts=_plain(facts), outbox_key=key
    )
    outbox.enqueue(
        key=key,
        kind="digest",
        recipient=subscription.user.email,
        subject=subject(facts),
        text=render_to_string("mail/digest.txt", context),
        html=render_to_string("mail/digest.html", context),
        headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
        now=now,
    )


def _plain(facts: Facts) -> dict[str, Any]:
    """The figures as JSON; sentences stay with the changes they come from."""
    values = asdict(facts)
    return {name: value for name, value in values.items() if isinstance(value, int)} | {"troubles": len(facts.troubles)}


def _preheader(facts: Facts) -> str:
    for told in facts.told:
        for line in (*told.added, *told.removed):
            return f"{told.site}: {line}"[:160]
    return ""


def unsubscribe_token(subscription: DigestSubscription) -> str:
    """A signed token for the stop link; it can do nothing but stop this person's digests."""
    return signing.dumps(subscription.pk, salt=_UNSUBSCRIBE_SALT)


def subscription_of(token: str) -> DigestSubscription | None:
    """The subscription a stop link belongs to; None for a token we did not make."""
    try:
        pk = signing.loads(token, salt=_UNSUBSCRIBE_SALT)
    except signing.BadSignature:
        return None
    return DigestSubscription.objects.filter(pk=pk).first()


def stop(subscription: DigestSubscription) -> None:
    """No more digests for this person."""
    DigestSubscription.objects.filter(pk=subscription.pk).update(rhythm=DigestSubscription.Rhythm.OFF, next_at=None)

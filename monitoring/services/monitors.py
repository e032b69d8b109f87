"""Monitors: adding, changing, pausing, asking now. Every change of a setting leaves a row that says who and when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, zip_longest
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import check_url, parse
from monitoring.models import Monitor, PageType, RobotsPolicy, SettingChange, Site, Team, Vantage
from monitoring.scheduling import hash01
from monitoring.services import hints, priors, rendering, schedule, searching
from monitoring.services.egress import address_policy
from monitoring.services.vetting import check_charset, check_json_path, check_proxy, check_selector

type Actor = User | AnonymousUser | None

# What a person may set on a monitor. Everything else is the machine's, and a form or an API that names it is refused.
MONITOR_SETTINGS = (
    "name", "url", "team", "page_type", "vantage", "confirm_vantage", "enabled",
    "renderer", "wait_selector", "steps", "main_selector", "charset_override", "document_type", "json_path",
    "link_selector", "order_matters", "case_matters",
    "threshold", "cut", "weight",
    "interval_s", "min_interval_s", "max_interval_s",
)  # fmt: skip
PAGE_TYPE_SETTINGS = (
    "name", "slug", "threshold", "cut", "order_matters", "case_matters", "weight", "keep_days", "keep_snapshots", "keep_checks_days", "audit_share", "auto_cut", "tell_after", "remind_days",
    "default_interval_s", "min_interval_s", "max_interval_s",
)  # fmt: skip
SITE_SETTINGS = ("name", "host", "gap_s", "robots_policy", "robots_reason", "use_hints", "hint_url")
VANTAGE_SETTINGS = (
    "name", "country", "proxy_url", "language", "user_agent", "locale", "time_zone", "viewport_width", "viewport_height",
)  # fmt: skip

SITE_ACCESS = ("cookies", "login_url", "login_steps")

# Settings after which the page looks different because of us: the next good capture is the new baseline.
_NEW_BASELINE = {
    "url": "address changed",
    "vantage": "vantage changed",
    "page_type": "page type changed",
    "renderer": "renderer changed",
    "wait_selector": "wait selector changed",
    "steps": "steps changed",
    "main_selector": "main region changed",
    "charset_override": "character encoding changed",
    "document_type": "document type changed",
    "json_path": "JSON path changed",
    "link_selector": "link changed",
}
_NEW_BASELINE_VANTAGE = {
    "country",
    "proxy_url",
    "language",
    "user_agent",
    "locale",
    "time_zone",
    "viewport_width",
    "viewport_height",
}

_PROMISES = {"max_interval_s", "min_interval_s", "page_type"}

FIRST_CHECKS_WINDOW = timedelta(hours=1)
FIRST_CHECKS_STEP = timedelta(seconds=5)
_CHUNK = 500


def canonical_url(url: str) -> str:
    """The canonical form of an address that may be watched; raises ValidationError with the guard's sentence and code."""
    try:
        return check_url(url.strip(), address_policy())
    except Refused as error:
        raise ValidationError(error.sentence, code=error.code) from error


def site_host(url: str) -> str:
    """The host of a canonical URL, with the port where it is not the scheme's own."""
    return parse(url).origin.partition("://")[2]


def site_for(url: str) -> Site:
    """The site of a canonical URL, made when it is new."""
    host = site_host(url)
    return Site.objects.get_or_create(host=host, defaults={"name": site_name(host)})[0]


def site_name(host: str) -> str:
    """What a site is called before a person names it."""
    return host.removeprefix("www.")[:120]


def add_monitor(
    *,
    url: str,
    name: str,
    team: Team,
    page_type: PageType,
    vantage: Vantage,
    actor: Actor,
    now: datetime,
    **settings: Any,
) -> Monitor:
    """A new monitor, due at once. Raises ValidationError for a refused address, a bad value or a second one of its kind."""
    _refuse_unknown(settings, MONITOR_SETTINGS)
    monitor = Monitor(
        url=canonical_url(url), name=name, team=team, page_type=page_type, vantage=vantage,
        created_by=person_of(actor), next_check_at=now, plan_reason="first", **settings,
    )  # fmt: skip
    monitor.deadline_at = now + timedelta(seconds=monitor.effective_max_s)
    monitor.site = site_for(monitor.url)
    priors.give([monitor])
    _check(monitor, [*_VETTED, "steps", "charset_override"])
    try:
        with transaction.atomic():
            monitor.save()
            log_entry(actor, "created", "", monitor.url, monitor=monitor).save()
    except IntegrityError as error:
        raise ValidationError(_("This team already watches this address from this vantage."), code="unique") from error
    return monitor


def change_settings(
    monitor: Monitor, changes: Mapping[str, Any], *, actor: Actor, reason: str = "", now: datetime | None = None
) -> list[SettingChange]:
    """Set what differs, and say who did it. Values equal to what is stored are passed over.

    A changed address, selector, renderer, vantage or page type asks for a new baseline and takes a visit that is under
    way out of the race (its lease), because that visit still has the old settings. `now` is when a monitor with a new
    address is due; it defaults to the current time. Raises ValidationError as `add_monitor` does.
    """
    _refuse_unknown(changes, MONITOR_SETTINGS)
    wanted = dict(changes)
    if "url" in wanted and wanted["url"] != monitor.url:
        wanted["url"] = canonical_url(wanted["url"])
    changed = {name: value for name, value in wanted.items() if getattr(monitor, name) != value}
    if not changed:
        return []
    rows = [
        log_entry(actor, name, getattr(monitor, name), value, reason=reason, monitor=monitor)
        for name, value in changed.items()
    ]
    for name, value in changed.items():
        setattr(monitor, name, value)
    touched = set(changed)
    if "url" in changed:
        monitor.site = site_for(monitor.url)
        monitor.charset = monitor.suspect = monitor.suspect_detail = ""  # what we suspected of the old address
        monitor.suspect_since, monitor.suspect_count = None, 0
        monitor.distrusted_until = monitor.last_full_at = None
        touched |= {"distrusted_until", "last_full_at"}
        priors.give([monitor])  # with another address nothing is known
        touched |= {"prior_b", "rate_a", "rate_b"}
        touched |= {"site", "charset", "suspect", "suspect_detail", "suspect_since", "suspect_count"}
    _check(monitor, changed)
    causes = [cause for name, cause in _NEW_BASELINE.items() if name in changed]
    if causes:
        touched |= _ask_for_baseline(monitor, ", ".join(causes))
    if "url" in changed or changed.get("enabled"):
        monitor.next_check_at, monitor.plan_reason = now or timezone.now(), "first" if "url" in changed else "asked"
        monitor.quarantined_at, monitor.stage_failures = None, 0
        touched |= {"next_check_at", "plan_reason", "quarantined_at", "stage_failures"}
    if _PROMISES & set(changed):
        touched |= schedule.keep_promise(monitor, now=now or timezone.now())
    try:
        with transaction.atomic():
            monitor.save(update_fields=sorted(touched))
            SettingChange.objects.bulk_create(rows)
            if {"name", "url"} & touched:
                searching.renamed(Monitor.objects.filter(pk=monitor.pk))
    except IntegrityError as error:
        raise ValidationError(_("This team already watches this address from this vantage."), code="unique") from error
    return rows


def change_page_type(
    page_type: PageType, changes: Mapping[str, Any], *, actor: Actor, reason: str = ""
) -> list[SettingChange]:
    """Set what differs on a page type, and say who did it. Its monitors keep their baselines: captures are judged anew."""
    _refuse_unknown(changes, PAGE_TYPE_SETTINGS)
    changed = {name: value for name, value in changes.items() if getattr(page_type, name) != value}
    if not changed:
        return []
    rows = [
        log_entry(actor, name, getattr(page_type, name), value, reason=reason, page_type=page_type)
        for name, value in changed.items()
    ]
    for name, value in changed.items():
        setattr(page_type, name, value)
    page_type.full_clean()
    with transaction.atomic():
        page_type.save(update_fields=sorted(changed))
        SettingChange.objects.bulk_create(rows)
        if {"min_interval_s", "max_interval_s"} & set(changed):
            schedule.keep_promises(page_type.monitors.all(), now=timezone.now())
    return rows


def change_vantage(vantage: Vantage, changes: Mapping[str, Any], *, actor: Actor, reason: str = "") -> int:
    """Set what differs on a vantage; the number of monitors that get a new baseline because they ask as somebody else.

    The change stands in the record of every monitor that uses the vantage. A proxy's address holds no password, and one
    that does is refused with a ValidationError.
    """
    _refuse_unknown(changes, VANTAGE_SETTINGS)
    changed = {name: value for name, value in changes.items() if getattr(vantage, name) != value}
    if not changed:
        return 0
    before = {name: _shown(name, getattr(vantage, name)) for name in changed}
    if changed.get("proxy_url"):
        check_proxy(changed["proxy_url"])
    for name, value in changed.items():
        setattr(vantage, name, value)
    vantage.full_clean()
    with transaction.atomic():
        vantage.save(update_fields=sorted(changed))
        ids = list(vantage.monitors.values_list("pk", flat=True))
        SettingChange.objects.bulk_create(
            [
                log_entry(actor, f"vantage {vantage.name}: {name}"[:80], before[name], _shown(name, value), reason=reason, monitor_id=pk)
                for pk in ids
                for name, value in changed.items()
            ],
            batch_size=_CHUNK,
        )  # fmt: skip
        if not _NEW_BASELINE_VANTAGE & set(changed):
            return 0
        return ask_for_baseline(ids, "vantage changed")


def change_site(site: Site, changes: Mapping[str, Any], *, actor: Actor, now: datetime) -> list[SettingChange]:
    """Set what differs on a site, and say who did it. Raises ValidationError, where robots.txt is ignored without a reason too."""
    _refuse_unknown(changes, SITE_SETTINGS)
    changed = {name: value for name, value in changes.items() if getattr(site, name) != value}
    if not changed:
        return []
    reason = str(changes.get("robots_reason", site.robots_reason))
    rows = [
        log_entry(actor, name, getattr(site, name), value, reason=reason if name == "robots_policy" else "", site=site)
        for name, value in changed.items()
    ]
    for name, value in changed.items():
        setattr(site, name, value)
    check_site(site)
    site.full_clean()
    with transaction.atomic():
        site.save(update_fields=sorted(changed))
        SettingChange.objects.bulk_create(rows)
        if "name" in changed:
            searching.renamed(Monitor.objects.filter(site=site))
        if {"use_hints", "hint_url", "robots_policy"} & set(changed):
            hints.choose(site, now=now)
    return rows


def check_site(site: Site) -> None:
    """Raise ValidationError where a site's settings contradict each other or name another host."""
    if site.robots_policy == RobotsPolicy.IGNORE and not site.robots_reason.strip():
        raise ValidationError(
            {"robots_reason": _("Say why this site's robots.txt is ignored; the reason stays on record.")}
        )
    if site.hint_url:
        site.hint_url = canonical_url(site.hint_url)
        if site_host(site.hint_url) != site.host:
            raise ValidationError(
                {
                    "hint_url": _("This address is not on %(host)s; a sitemap or feed of the site itself is expected.")
                    % {"host": site.host}
                }
            )


def change_access(site: Site, changes: Mapping[str, Any], *, actor: Actor) -> int:
    """Set how browsers get in at a site; the number of its monitors, which get a new baseline.

    `changes` may name cookies, login_url and login_steps. Raises ValidationError. What is recorded holds references
    to secrets and no secret.
    """
    _refuse_unknown(changes, SITE_ACCESS)
    changed = {name: value for name, value in changes.items() if getattr(site, name) != value}
    if not changed:
        return 0
    if "login_steps" in changed:
        changed["login_steps"] = rendering.check_steps(changed["login_steps"])
    if changed.get("login_url"):
        changed["login_url"] = canonical_url(changed["login_url"])
    rendering.parse_cookies(changed.get("cookies", ""))
    before = {name: getattr(site, name) for name in changed}
    for name, value in changed.items():
        setattr(site, name, value)
    if site.login_url and not site.login_steps:
        raise ValidationError(_("Signing in takes steps; say what to type and click there."), code="login")
    with transaction.atomic():
        site.save(update_fields=sorted(changed))
        SettingChange.objects.bulk_create(
            [log_entry(actor, name, before[name], value, site=site) for name, value in changed.items()]
        )
        ids = list(site.monitors.values_list("pk", flat=True))
        return ask_for_baseline(ids, "access to the site changed")


def log_rule(
    rule: str,
    old: str,
    new: str,
    *,
    actor: Actor,
    monitor: Monitor | None = None,
    page_type: PageType | None = None,
    reads_differently: bool = True,
    reason: str = "",
) -> None:
    """Record that a field or an ignore rule was added ("" -> text), changed or removed (text -> ""); exactly one owner.

    Where pages read differently under the new rules, the owner's monitors get a new baseline.
    """
    with transaction.atomic():
        log_entry(actor, rule[:80], old, new, reason=reason[:300], monitor=monitor, page_type=page_type).save()
        if reads_differently:
            ids = [monitor.pk] if monitor else Monitor.objects.filter(page_type=page_type).values_list("pk", flat=True)
            ask_for_baseline(list(ids), "rules changed")


def ask_for_baseline(ids: Iterable[int], cause: str) -> int:
    """Make the next good capture of these monitors their baseline, and drop what a visit under way would write."""
    return _in_chunks(
        ids,
        lambda chunk: Monitor.objects.filter(pk__in=chunk).update(
            rebaseline=cause[:60], etag="", last_modified="", region_path="", lease_until=None, lease_token=""
        ),
    )


def check_now(ids: Iterable[int], *, now: datetime) -> int:
    """Make monitors due, also such as were set aside after failures; paused ones stay paused. Gives how many."""
    return _in_chunks(
        ids,
        lambda chunk: Monitor.objects.filter(pk__in=chunk, enabled=True).update(
            next_check_at=now, plan_reason="asked", quarantined_at=None, stage_failures=0
        ),
    )


def pause(ids: Iterable[int], *, actor: Actor) -> int:
    """Stop checking; a visit under way still ends. Gives how many were active."""
    return _switch(ids, enabled=False, actor=actor)


def resume(ids: Iterable[int], *, actor: Actor, now: datetime) -> int:
    """Check again, first visits spread from `now` on. Gives how many were paused."""
    paused = list(Monitor.objects.filter(pk__in=list(ids), enabled=False).values_list("pk", flat=True))
    count = _switch(paused, enabled=True, actor=actor)
    _in_chunks(paused, lambda chunk: Monitor.objects.filter(pk__in=chunk).update(quarantined_at=None, stage_failures=0))
    spread_first_checks(paused, now=now)
    return count


def move(ids: Iterable[int], page_type: PageType, *, actor: Actor, reason: str = "") -> int:
    """Give monitors another page type; gives how many had a different one before."""
    moved = 0
    for chunk in _chunks(list(ids)):
        with transaction.atomic():
            others = Monitor.objects.filter(pk__in=chunk).exclude(page_type=page_type)
            before = dict(others.values_list("pk", "page_type__name"))
            SettingChange.objects.bulk_create(
                [
                    log_entry(actor, "page_type", name, page_type, reason=reason, monitor_id=pk)
                    for pk, name in before.items()
                ]
            )
            Monitor.objects.filter(pk__in=before).update(page_type=page_type)
            schedule.keep_promises(Monitor.objects.filter(pk__in=before), now=timezone.now())
            moved += ask_for_baseline(before, _NEW_BASELINE["page_type"])
    return moved


def spread_first_checks(ids: Iterable[int], *, now: datetime) -> None:
    """Plan first visits of these monitors as `plan_first` says."""
    wanted = list(ids)
    for chunk in _chunks(wanted):
        Monitor.objects.filter(pk__in=chunk).update(plan_reason="first")
    rows = [
        row
        for chunk in _chunks(wanted)
        for row in Monitor.objects.filter(pk__in=chunk).select_related("page_type").defer("mould", "fields", "steps")
    ]
    plan_first(rows, now=now)
    Monitor.objects.bulk_update(rows, ["next_check_at", "deadline_at"], batch_size=_CHUNK)


def first_times(
    sites: Sequence[int], *, now: datetime, step: timedelta = FIRST_CHECKS_STEP, window: timedelta = FIRST_CHECKS_WINDOW
) -> list[datetime]:
    """When each of some monitors is first visited, given their sites' ids in the same order.

    One `step` apart, closer when they would not fit into `window`. Sites take turns: with monitors of the sites
    7, 7, 8 the first of 7 goes first, then the one of 8, then the second of 7.
    """
    if not sites:
        return []
    by_site: dict[int, list[int]] = {}
    for place, site in enumerate(sites):
        by_site.setdefault(site, []).append(place)
    turns = [place for place in chain.from_iterable(zip_longest(*by_site.values())) if place is not None]
    step = min(step, window / len(turns))
    times = [now] * len(turns)
    for turn, place in enumerate(turns):
        times[place] = now + turn * step
    return times


def spread_over_intervals(monitors: Sequence[Monitor], *, now: datetime) -> list[datetime]:
    """When each of very many monitors is first visited: by a hash of its address somewhere in its own interval.

    So the first visits of a large import are no herd, and neither are those that follow them.
    """
    return [
        now + timedelta(seconds=hash01(one.url, one.vantage_id, "first") * one.effective_interval_s) for one in monitors
    ]


def plan_first(monitors: Sequence[Monitor], *, now: datetime) -> None:
    """Set the first visits of monitors: within an hour where they are few, else each in its own interval; not saved."""
    many = len(monitors) * FIRST_CHECKS_STEP > FIRST_CHECKS_WINDOW
    times = (
        spread_over_intervals(monitors, now=now) if many else first_times([one.site_id for one in monitors], now=now)
    )
    for one, at in zip(monitors, times, strict=True):
        one.next_check_at = at
        one.deadline_at = at + timedelta(seconds=one.effective_max_s)  # nobody promised to read it meanwhile


def _switch(ids: Iterable[int], *, enabled: bool, actor: Actor) -> int:
    count = 0
    for chunk in _chunks(list(ids)):
        with transaction.atomic():
            switched = list(Monitor.objects.filter(pk__in=chunk).exclude(enabled=enabled).values_list("pk", flat=True))
            count += Monitor.objects.filter(pk__in=switched, enabled=not enabled).update(enabled=enabled)
            SettingChange.objects.bulk_create(
                [log_entry(actor, "enabled", not enabled, enabled, monitor_id=pk) for pk in switched]
            )
    return count


_VETTED = {
    "main_selector": check_selector,
    "wait_selector": check_selector,
    "link_selector": check_selector,
    "json_path": check_json_path,
}


def _check(monitor: Monitor, names: Iterable[str]) -> None:
    for name in _VETTED.keys() & set(names):
        if text := getattr(monitor, name):
            _VETTED[name](text)
    if "charset_override" in names:
        monitor.charset_override = check_charset(monitor.charset_override)
    if monitor.confirm_vantage_id is not None and monitor.confirm_vantage_id == monitor.vantage_id:
        text = _("This is the vantage it is asked from anyway; choose another one, or none.")
        raise ValidationError({"confirm_vantage": text}, code="vantage")
    if "steps" in names:
        monitor.steps = rendering.check_steps(monitor.steps)
    monitor.full_clean(exclude=["site"])


def _ask_for_baseline(monitor: Monitor, cause: str) -> set[str]:
    monitor.rebaseline = cause[:60]
    cleared = {"etag", "last_modified", "region_path", "lease_token"}
    for name in cleared:
        setattr(monitor, name, "")
    monitor.lease_until = None
    return {"rebaseline", "lease_until", *cleared}


def _refuse_unknown(names: Iterable[str], allowed: tuple[str, ...]) -> None:
    unknown = sorted(set(names) - set(allowed))
    if unknown:
        raise ValidationError(
            _("These cannot be set: %(names)s.") % {"names": ", ".join(unknown)}, code="unknown-setting"
        )


def log_entry(actor: Actor, name: str, old: Any, new: Any, *, reason: str = "", **owner: Any) -> SettingChange:
    """An unsaved row of the record of settings; `owner` is monitor, monitor_id, page_type or site."""
    person = person_of(actor)
    return SettingChange(
        actor=person,
        actor_name=person.get_username() if person else "",
        name=name,
        old=_shown(name, old),
        new=_shown(name, new),
        reason=reason,
        **owner,
    )


def person_of(actor: Actor) -> User | None:
    """The account behind an actor; None for the machine."""
    return actor if isinstance(actor, User) else None


def _shown(name: str, value: Any) -> str:
    """A value as the record of changes shows it; a proxy without its password."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "proxy_url":
        return mask_proxy(str(value))
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


PROXY_MASK = "••••••"


def mask_proxy(url: str) -> str:
    """A proxy's address with its password replaced by dots.

    `http://customer-x-country-de:secret@gate.example:7777` becomes `http://customer-x-country-de:••••••@gate.example:7777`.
    """
    scheme, separator, rest = url.partition("://")
    credentials, at, address = rest.rpartition("@")
    if not at:
        return url
    user, colon, _password = credentials.partition(":")
    return f"{scheme}{separator}{user}{colon}{PROXY_MASK if colon else ''}@{address}"


def _in_chunks(ids: Iterable[int], step: Any) -> int:
    return sum(step(chunk) for chunk in _chunks(list(ids)))


def _chunks[T](items: list[T]) -> Iterable[list[T]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]

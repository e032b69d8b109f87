"""Every address against every kind of visitor; an address that isn't listed here fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from monitoring.models import CalibrationRun, Change, Hold, MissedCase, Monitor
from review.models import Verdict
from tests.factories import NOW, make_change
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]

OPEN = "open"  # no sign-in needed
OWN = "own"  # signed in; shows only what is one's own
TEAM = "team"  # an object of the team; 404 for others
DECIDE = "decide"  # POST, for people who give verdicts
LEAD = "lead"  # POST, for leads and admins
ADMIN = "admin"  # POST, for admins

ROUTES: dict[str, str] = {
    "today": OWN,
    "queue": OWN,
    "queue_count": OWN,
    "bulk": DECIDE,
    "undo_batch": DECIDE,
    "save_view": DECIDE,
    "change": TEAM,
    "decide": DECIDE,
    "note": DECIDE,
    "here": DECIDE,
    "key_terms": LEAD,
    "quote": TEAM,
    "evidence": TEAM,
    "ignore": TEAM,
    "learn": DECIDE,
    "learned_rule": DECIDE,
    "screenshot": TEAM,
    "picture": TEAM,
    "give_reason": DECIDE,
    "monitors": OWN,
    "monitor": TEAM,
    "check_now": DECIDE,
    "calibrate_monitor": LEAD,
    "compare": TEAM,
    "report_missed": DECIDE,
    "remove_missed": LEAD,
    "vantages": LEAD,
    "checks_csv": TEAM,
    "monitor_evidence": TEAM,
    "sites": OWN,
    "site": TEAM,
    "canaries": OWN,
    "selector": TEAM,
    "frame_trial": OPEN,
    "fleet": OWN,
    "overdue": OWN,
    "verdicts": OWN,
    "verdicts_csv": OWN,
    "verdict_report": OWN,
    "fields": OWN,
    "fields_csv": OWN,
    "calibrations": OWN,
    "calibration": TEAM,
    "calibration_propose": LEAD,
    "calibration_apply": LEAD,
    "hold": OWN,
    "decide_hold": LEAD,
    "preferences": OWN,
    "absence": OWN,
    "keys": OWN,
    "theme": OWN,
    "language": OPEN,
    "remove_sample": ADMIN,
    "login": OPEN,
    "logout": OPEN,
    "password_reset": OPEN,
    "password_reset_done": OPEN,
    "password_reset_confirm": OPEN,
    "password_reset_complete": OPEN,
    "digest-stop": OPEN,
    "frame": OPEN,
}
# On other pages: Django's admin has a permission model and tests of its own; the sample pages and probes are public.
ELSEWHERE = {"admin", "sample-page", "canary-page", "unnamed admin/login/"}
POST_ONLY = {"bulk", "undo_batch", "save_view", "decide", "note", "here", "key_terms", "absence", "keys", "give_reason", "learn", "learned_rule", "check_now", "report_missed", "remove_missed", "calibrate_monitor", "calibration_propose", "calibration_apply", "decide_hold", "theme", "language", "remove_sample"}  # fmt: skip
# With a fresh database these have nothing to show.
EMPTY = {"screenshot", "picture"}


@dataclass(frozen=True, slots=True)
class World:
    """The rows that addresses point at."""

    change: int
    monitor: int
    slug: str
    verdict: int
    run: int
    hold: int
    missed: int


@pytest.fixture
def world(analyst: User) -> World:
    """One change with a verdict, one proposal."""
    change = make_change()
    verdict = Verdict.objects.create(
        change=change,
        actor=analyst,
        action="approve",
        version_seen=1,
        idempotency_key="a" * 32,
        at=NOW,
        state_before="open",
    )
    run = CalibrationRun.objects.create(
        page_type=change.monitor.page_type, basis="verdicts", state="done", proposed_cut=0.55, before_cut=0.5
    )
    hold = Hold.objects.create(
        way="all",
        since=NOW,
        opened_at=NOW,
        crossed_at=NOW,
        window_s=3600,
        pages=9,
        pages_changed=9,
        sites=9,
        sites_changed=9,
    )
    case = MissedCase.objects.create(
        monitor=change.monitor, happened_on=NOW.date(), what="The price", reported_by=analyst, reported_at=NOW
    )
    return World(change.pk, change.monitor_id, change.monitor.page_type.slug, verdict.pk, run.pk, hold.pk, case.pk)


def named(patterns: list[URLPattern | URLResolver], *, inside: str = "") -> Iterator[str]:
    """The names of all addresses, the admin's as one."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace == "admin":
                yield "admin"
            else:
                yield from named(pattern.url_patterns, inside=inside + str(pattern.pattern))
        else:
            yield pattern.name or f"unnamed {inside}{pattern.pattern}"


def address(name: str, world: World) -> str:
    """The address of a route in this world."""
    arguments: dict[str, list[object]] = {
        "change": [world.change], "decide": [world.change], "note": [world.change], "evidence": [world.change],
        "here": [world.change], "key_terms": [world.change], "quote": [world.change, 1], "ignore": [world.change, 1], "learn": [world.change, 1], "learned_rule": [world.monitor, 1], "compare": [world.monitor],
        "screenshot": [world.change, "prior"], "picture": [Change.objects.get(pk=world.change).prior_id, "screenshot"], "give_reason": [world.verdict], "monitor": [world.monitor],
        "check_now": [world.monitor], "report_missed": [world.monitor], "remove_missed": [world.monitor, world.missed], "calibrate_monitor": [world.monitor], "vantages": [world.monitor], "checks_csv": [world.monitor], "monitor_evidence": [world.monitor], "selector": [world.monitor],
        "site": [Monitor.objects.get(pk=world.monitor).site_id], "calibration": [world.slug], "calibration_propose": [world.slug],
        "hold": [world.hold], "decide_hold": [world.hold], "calibration_apply": [world.slug], "password_reset_confirm": ["x", "y-z"], "digest-stop": ["forged"],
    }  # fmt: skip
    return reverse(name, args=arguments.get(name, []))


def test_every_address_is_listed() -> None:
    names = set(named(get_resolver("config.urls").url_patterns)) | set(
        named(get_resolver("review.frame_urls").url_patterns)
    )

    assert names - ELSEWHERE == set(ROUTES)


def call(client: Client, name: str, world: World) -> int:
    """The status of the route's own method."""
    if name in POST_ONLY:
        return client.post(address(name, world), {"run": world.run}, HTTP_HOST="127.0.0.1").status_code
    return client.get(address(name, world), HTTP_HOST="127.0.0.1").status_code


HERE = [name for name in ROUTES if name != "frame"]


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] != OPEN])
def test_a_stranger_is_sent_to_sign_in(name: str, world: World) -> None:
    client = Client()
    response = client.post(address(name, world)) if name in POST_ONLY else client.get(address(name, world))

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] == TEAM])
def test_another_teams_object_is_not_there(name: str, world: World, outsider: User, sign_in: SignIn) -> None:
    assert call(sign_in(outsider), name, world) == 404


@pytest.mark.parametrize("name", ["decide", "note", "here", "give_reason", "check_now"])
def test_another_teams_object_cannot_be_changed(name: str, world: World, outsider: User, sign_in: SignIn) -> None:
    assert call(sign_in(outsider), name, world) == 404


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] in (DECIDE, LEAD, ADMIN)])
def test_an_auditor_changes_nothing(name: str, world: World, auditor: User, sign_in: SignIn) -> None:
    assert call(sign_in(auditor), name, world) == 403


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] in (OWN, TEAM) and n not in POST_ONLY | EMPTY])
def test_an_auditor_reads_everything(name: str, world: World, auditor: User, sign_in: SignIn) -> None:
    assert call(sign_in(auditor), name, world) in (200, 302)


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] in (LEAD, ADMIN)])
def test_an_analyst_does_not_do_what_leads_and_admins_do(
    name: str, world: World, analyst: User, sign_in: SignIn
) -> None:
    assert call(sign_in(analyst), name, world) == 403


@pytest.mark.parametrize("name", [n for n in HERE if ROUTES[n] in (OWN, TEAM) and n not in POST_ONLY | EMPTY])
def test_an_analyst_sees_every_page(name: str, world: World, analyst: User, sign_in: SignIn) -> None:
    assert call(sign_in(analyst), name, world) in (200, 302)


@pytest.mark.parametrize("name", sorted(POST_ONLY))
def test_what_changes_something_is_never_a_get(
    name: str, world: World, admin_user_of_team: User, sign_in: SignIn
) -> None:
    assert sign_in(admin_user_of_team).get(address(name, world)).status_code == 405


@pytest.mark.parametrize(
    "name", [n for n in HERE if ROUTES[n] in (OWN, TEAM) and n not in POST_ONLY and n not in {"preferences"}]
)
def test_reading_pages_take_no_post(name: str, world: World, analyst: User, sign_in: SignIn) -> None:
    assert sign_in(analyst).post(address(name, world)).status_code == 405


@pytest.mark.parametrize("name", ["decide", "note", "bulk", "undo_batch", "give_reason", "check_now"])
def test_a_post_without_a_token_is_refused(name: str, world: World, analyst: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(analyst, backend="django.contrib.auth.backends.ModelBackend")

    assert client.post(address(name, world), {"do": "approve"}).status_code == 403
    assert Verdict.objects.count() == 1

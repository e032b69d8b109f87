"""Requests that no page of ours makes: each gets an answer, none an error of ours, and none of them changes a row."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from monitoring.models import Change
from review.models import Note, Verdict
from review.services import verdicts
from tests.factories import NOW, make_change, make_team, make_user

pytestmark = pytest.mark.django_db

LONG, HUGE = "9" * 30, "9" * 5000
FORM = {"version": "1", "diff_hash": "0" * 64, "key": "a" * 12}


@pytest.fixture
def analyst() -> User:
    """Somebody who gives verdicts."""
    return make_user("ines")


@pytest.fixture
def change() -> Change:
    """An open change of the analyst's team."""
    return make_change()


@pytest.fixture
def client(analyst: User) -> Client:
    """Signed in; errors of ours are answers here, as they are in production."""
    client = Client(raise_request_exception=False, HTTP_HOST="127.0.0.1")
    client.force_login(analyst, backend="django.contrib.auth.backends.ModelBackend")
    return client


def rows() -> tuple[object, ...]:
    """Everything a request could have changed."""
    return (
        list(Change.objects.order_by("pk").values_list("pk", "state", "version")),
        Verdict.objects.count(),
        Note.objects.count(),
    )


@pytest.mark.parametrize(
    "address",
    [
        "/queue/count/?since=2026-13-45T00:00:00Z",
        "/queue/count/?since=0001-01-01T00:00:00%2B23:59",
        "/queue/count/?since=9999-12-31T23:59:59-12:00",
        f"/queue/count/?since={'1' * 3000}",
        f"/queue/?site={LONG}&type={HUGE}&assignee=%C2%B2&priority=-1",
        "/queue/?q=%00&kind=%00&sort=%00&view=%00",
        "/queue/?q=%ED%A0%80%FF",
        f"/queue/?after={'a' * 3000}&before=x",
        "/queue/?kind=noise&after=x:y:z",
        f"/monitors/?site={LONG}",
        f"/monitors/?site={HUGE}&type={HUGE}",
        "/monitors/?q=%00%ED%A0%80&state=%00",
        "/m/{monitor}/?before=2026-13-45T00:00:00Z",
        "/m/{monitor}/?before=0001-01-01T00:00:00%2B23:59&kind=%00&span=x",
        f"/m/{LONG}/",
        f"/c/{LONG}/",
        f"/c/{HUGE}/",
        "/c/{change}/?in=%00&view=%00&all=2",
        f"/c/{{change}}/?in={'q=' + 'x' * 5000}",
        "/c/{change}/x%00.png",
        f"/fields/?monitor={LONG}&name=%00",
        f"/fields.csv?monitor={LONG}&name=%ED%A0%80",
        "/verdicts/?action=%00&who=x&when=x&after=x",
        "/calibration/%00/",
        "/u/%00/",
        "/sample/%00/",
        "/password/%00/%00/",
        "/login/?next=%00",
    ],
)
def test_no_address_breaks_a_page(address: str, client: Client, change: Change) -> None:
    before = rows()

    answer = client.get(address.format(change=change.pk, monitor=change.monitor_id))

    assert answer.status_code in (200, 302, 400, 404)
    assert rows() == before


@pytest.mark.parametrize(
    "form",
    [
        {**FORM, "do": "approve", "version": HUGE},
        {**FORM, "do": "approve", "version": LONG},
        {**FORM, "do": "approve", "version": str(2**31)},
        {**FORM, "do": "approve", "version": "-1"},
        {**FORM, "do": "approve", "version": "²"},
        {**FORM, "do": "approve", "version": ""},
        {**FORM, "do": "second:approve", "version": LONG},
        {**FORM, "do": "second:approve", "diff_hash": "\0"},
        {**FORM, "do": "second:approve", "diff_hash": "x" * 64},
        {**FORM, "do": "second:undo"},
        {**FORM, "do": "approve", "key": "\0" * 12},
        {**FORM, "do": "approve", "key": "x" * 5000},
        {**FORM, "do": "approve:furniture"},
        {**FORM, "do": "dismiss:obligation"},
        {**FORM, "do": "dismiss:\0"},
        {**FORM, "do": "delete"},
        {**FORM, "do": ""},
        {},
    ],
)
def test_a_form_that_is_not_ours_is_refused(form: dict[str, str], client: Client, change: Change) -> None:
    before = rows()

    assert client.post(reverse("decide", args=[change.pk]), form).status_code == 400
    assert rows() == before


@pytest.mark.parametrize("verdict", [HUGE, LONG, "\0", "-1", "²"])
def test_undoing_what_never_was_changes_nothing(verdict: str, client: Client, change: Change) -> None:
    before = rows()

    assert client.post(reverse("decide", args=[change.pk]), {"do": "undo", "verdict": verdict}).status_code == 303
    assert rows() == before


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "1e400", "x", "\0"])
def test_a_made_up_reading_time_is_not_kept(seconds: str, client: Client, change: Change) -> None:
    client.post(reverse("decide", args=[change.pk]), {**FORM, "do": "approve", "seconds": seconds})

    assert Verdict.objects.get().seconds_on_screen is None


def test_a_verdict_on_another_diff_is_refused(client: Client, change: Change) -> None:
    form = {**FORM, "do": "approve", "diff_hash": "1" * 64}

    assert client.post(reverse("decide", args=[change.pk]), form).status_code == 409
    assert not Verdict.objects.exists()


def test_nobody_decides_in_anothers_name_or_time(client: Client, change: Change, analyst: User) -> None:
    other = make_user("mara")
    extra = {"actor": other.pk, "decided_by": other.pk, "at": "1999-01-01", "calibrates": "0", "score": "0"}

    client.post(reverse("decide", args=[change.pk]), {**FORM, "do": "approve", **extra})

    verdict = Verdict.objects.get()
    assert (verdict.actor, verdict.score) == (analyst, change.score)
    assert verdict.at.year != 1999


def test_a_key_of_another_form_is_refused(client: Client, change: Change) -> None:
    client.post(reverse("decide", args=[change.pk]), {**FORM, "do": "approve"})

    again = client.post(reverse("decide", args=[make_change().pk]), {**FORM, "do": "approve"})

    assert again.status_code == 400
    assert Verdict.objects.count() == 1


@pytest.mark.parametrize("chosen", [f"{LONG}-1", f"1-{LONG}", f"{HUGE}-{HUGE}", "²-1", "1", "-", "\0"])
@pytest.mark.parametrize("action", ["dismiss:furniture", "assign", "snooze:tomorrow"])
def test_a_selection_of_nothing_real_changes_nothing(chosen: str, action: str, client: Client, change: Change) -> None:
    before = rows()

    assert client.post(reverse("bulk"), {"do": action, "id": [chosen], "key": "k" * 12}).status_code in (302, 400)
    assert rows() == before


def test_a_selection_with_a_foreign_row_leaves_that_row_alone(client: Client, change: Change) -> None:
    foreign = make_change()
    foreign.monitor.team = make_team("Elsewhere")
    foreign.monitor.save()

    client.post(
        reverse("bulk"),
        {"do": "dismiss:furniture", "id": [f"{change.pk}-1", f"{foreign.pk}-1"], "key": "k" * 12},
    )

    foreign.refresh_from_db()
    assert foreign.state == "open"
    assert [v.change_id for v in Verdict.objects.all()] == [change.pk]


def test_who_left_the_team_takes_nothing_back(client: Client, change: Change, analyst: User) -> None:
    client.post(reverse("bulk"), {"do": "dismiss:furniture", "id": [f"{change.pk}-1"], "key": "k" * 12})
    verdict = Verdict.objects.get()
    analyst.teams.clear()
    own = make_change()
    own.monitor.team = make_team("Elsewhere")
    own.monitor.save()
    make_team("Elsewhere").members.add(analyst)

    client.post(reverse("undo_batch"), {"batch": "k" * 12})
    client.post(reverse("decide", args=[own.pk]), {"do": "undo"})
    client.post(reverse("decide", args=[own.pk]), {"do": "undo", "verdict": verdict.pk})

    assert verdicts.last_undoable(analyst) is None
    change.refresh_from_db()
    assert change.state == "dismissed"
    assert change.monitor.name not in client.get(reverse("change", args=[own.pk])).content.decode()


def test_a_note_with_controls_is_one_note_of_text(client: Client, change: Change) -> None:
    client.post(reverse("note", args=[change.pk]), {"text": "a\0b<script>\u2028</script>"})

    assert Note.objects.get().text == "ab<script>\u2028</script>"
    assert "<script>\u2028" not in client.get(reverse("change", args=[change.pk])).content.decode()


@pytest.mark.parametrize(
    "host", ["[", "[::1", "a]b", "x y", "evil.example", "127.0.0.1:80:80", "a@127.0.0.1", "{{7*7}}"]
)
def test_a_host_that_is_not_ours_is_a_bad_request(host: str, client: Client) -> None:
    assert client.get(reverse("queue"), HTTP_HOST=host).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LOCALHOST:8000", "localhost:1", "localhost:abc"])
@pytest.mark.parametrize("address", ["/queue/", "/admin/", "/login/", "/static/css/base.css", "/fields.csv", "/frame"])
def test_the_frames_host_serves_nothing_of_the_application(host: str, address: str, client: Client) -> None:
    answer = client.get(address, HTTP_HOST=host)

    assert answer.status_code == 404
    assert not answer.cookies


@pytest.mark.parametrize("name", ["queue", "login", "monitors", "preferences"])
def test_every_page_forbids_frames_and_foreign_scripts(name: str, client: Client) -> None:
    answer = client.get(reverse(name), follow=True)

    policy = answer["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:x", "\0"])
@pytest.mark.parametrize("name", ["theme", "language"])
def test_a_form_never_leads_elsewhere(name: str, wanted: str, client: Client) -> None:
    answer = client.post(reverse(name), {"next": wanted, "language": "de"})

    assert answer.status_code == 302
    assert answer["Location"] in (reverse("today"), reverse("login"))


def test_a_token_is_asked_for_where_a_cookie_is_the_permission(analyst: User, change: Change) -> None:
    client = Client(enforce_csrf_checks=True, HTTP_HOST="127.0.0.1")
    client.force_login(analyst, backend="django.contrib.auth.backends.ModelBackend")
    token = client.get(reverse("change", args=[change.pk])).context["csrf_token"]
    form = {**FORM, "do": "approve", "csrfmiddlewaretoken": str(token)}

    def post(origin: str) -> int:
        return client.post(reverse("decide", args=[change.pk]), form, HTTP_ORIGIN=origin).status_code

    assert post("https://evil.example") == 403
    assert post("null") == 403
    assert post("http://localhost:8000") == 403
    assert not Verdict.objects.exists()
    assert post("http://127.0.0.1") == 303
    assert Verdict.objects.get().at > NOW

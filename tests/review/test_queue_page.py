"""The queue: what is in it, in which order, page by page, and several rows at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Change, PageType, Site
from review.models import Assignment, SavedView, Verdict
from review.selectors import queue
from tests.factories import make_change, make_check, make_monitor, make_page_type, make_team
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def titles(content: bytes) -> list[str]:
    """The pages named in the rows, in order."""
    return [a.get_text() for a in BeautifulSoup(content, "html.parser").select(".q-title a")]


def at(hours: float) -> dict[str, Any]:
    """When a change came in, this many hours ago."""
    moment = timezone.now() - timedelta(hours=hours)
    return {"opened_at": moment, "updated_at": moment}


def change(name: str, **extra: Any) -> Change:
    """A waiting change of a page with this name."""
    return make_change(make_monitor(name=name), **extra)


def test_priority_first_then_the_oldest(analyst: User, sign_in: SignIn) -> None:
    change("young", priority=1, **at(1))
    change("old", priority=1, **at(9))
    change("urgent", priority=3, **at(0.5))

    assert titles(sign_in(analyst).get(reverse("queue")).content) == ["urgent", "old", "young"]


def test_a_change_that_a_field_raised_shows_no_score_under_the_cut(analyst: User, sign_in: SignIn) -> None:
    change("certificates", kind="field", score=0.0, cut=0.5)
    change("clause", kind="content", score=0.9, cut=0.5)

    rows = BeautifulSoup(sign_in(analyst).get(reverse("queue")).content, "html.parser").select(".q-row")
    meters = {row.select_one(".q-title a").get_text(): row.select_one(".meter").get_text(strip=True) for row in rows}  # type: ignore[union-attr]

    assert meters["certificates"] == "–"
    assert meters["clause"].startswith("0.90")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"returns": 2, "folded": 3}, "Comes and goes: back 2 times"),
        ({"reasons": [{"code": "flapping", "text": "", "data": {"times": 4}}]}, "Comes and goes: back 4 times"),
    ],
)
def test_how_often_a_page_came_back_stands_in_the_queue_and_on_the_change(
    extra: dict[str, Any], words: str, analyst: User, sign_in: SignIn
) -> None:
    row = change("restless", **extra)
    browser = sign_in(analyst)

    assert words in browser.get(reverse("queue")).content.decode()
    assert words in browser.get(reverse("change", args=[row.pk])).content.decode()


def test_one_return_is_no_habit(analyst: User, sign_in: SignIn) -> None:
    change("once", returns=1, flags=["returned"])

    text = sign_in(analyst).get(reverse("queue")).content.decode()

    assert "Has gone back since" in text
    assert "Comes and goes" not in text


def test_only_what_waits_in_ones_teams(analyst: User, sign_in: SignIn) -> None:
    change("mine")
    change("done", state="approved")
    make_change(make_monitor(name="theirs", team=make_team("Elsewhere")))

    assert titles(sign_in(analyst).get(reverse("queue")).content) == ["mine"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("priority=0&priority=2", ["high", "low"]),
        ("priority=2&priority=nonsense&priority=2", ["high"]),
        ("kind=field&kind=gone", ["low", "middle"]),
        ("kind=field&priority=1&priority=2", ["middle"]),
        ("why=field&why=hidden", ["high", "middle"]),
    ],
)
def test_several_values_of_a_filter_let_through_what_fits_one_of_them(
    analyst: User, sign_in: SignIn, query: str, found: list[str]
) -> None:
    change("low", priority=0, kind="gone")
    change("middle", priority=1, kind="field", reasons=[{"code": "field", "text": ""}])
    change("high", priority=2, flags=["hidden-text"])

    content = sign_in(analyst).get(f"{reverse('queue')}?{query}").content

    assert sorted(titles(content)) == found
    assert queue.Filter.read_query(queue.Filter.read_query(query).query()) == queue.Filter.read_query(query)


@pytest.mark.parametrize("sort", ["", "page", "size", "score", "age"])
def test_paging_shows_every_row_once_in_order(analyst: User, sign_in: SignIn, sort: str) -> None:
    for number in range(60):
        change(f"page {number:02}", priority=number % 3, added=number % 7, score=(number % 5) / 5, **at(number % 4))
    client = sign_in(analyst)
    address, seen, pages = reverse("queue") + (f"?sort={sort}" if sort else ""), [], 0

    while address:
        content = client.get(address).content
        seen += titles(content)
        links = BeautifulSoup(content, "html.parser").select(".pager a[href*='after=']")
        address, pages = (str(links[0]["href"]) if links else ""), pages + 1

    order = queue.ORDERS[sort]
    wanted = queue.changes_in(queue.Filter(sort=sort), user=analyst, now=timezone.now()).order_by(*order.columns)
    assert seen == list(wanted.values_list("monitor__name", flat=True))
    assert pages == 3


def test_going_back_shows_the_page_before(analyst: User, sign_in: SignIn) -> None:
    for number in range(30):
        change(f"page {number:02}", **at(60 - number))
    client = sign_in(analyst)
    first = client.get(reverse("queue")).content
    second = client.get(str(BeautifulSoup(first, "html.parser").select(".pager a[href*='after=']")[0]["href"])).content

    back = client.get(str(BeautifulSoup(second, "html.parser").select(".pager a[href*='before=']")[0]["href"])).content

    assert titles(back) == titles(first)


def test_a_forged_cursor_starts_at_the_beginning(analyst: User, sign_in: SignIn) -> None:
    change("first")

    assert titles(sign_in(analyst).get(reverse("queue"), {"after": "WzFd:forged"}).content) == ["first"]


def test_each_filter_narrows(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    wanted = change("wanted", kind="audit", priority=0, **at(30))
    other = change("other", priority=2, **at(1))
    other.monitor.page_type = make_page_type("terms")
    other.monitor.save()
    Assignment.objects.create(change=wanted, assignee=other_analyst)
    client = sign_in(analyst)
    filters: dict[str, str | int] = {
        "site": wanted.monitor.site_id, "type": wanted.monitor.page_type_id, "kind": "audit", "age": "late",
        "priority": 0, "assignee": other_analyst.pk, "q": "wanted", "view": "late",
    }  # fmt: skip

    for name, value in filters.items():
        assert titles(client.get(reverse("queue"), {name: value}).content) == ["wanted"], name


@pytest.mark.parametrize(
    "query",
    ["?site=x", "?type=99999999999999999999", "?age=x", "?priority=-1", "?view=x", "?sort=x", "?q=%00", "?after=x"],
)
def test_a_filter_that_makes_no_sense_is_left_out(analyst: User, sign_in: SignIn, query: str) -> None:
    change("one")

    assert titles(sign_in(analyst).get(reverse("queue") + query).content) == ["one"]


def test_search_finds_the_changed_text_and_two_japanese_characters(analyst: User, sign_in: SignIn) -> None:
    change("policy", search_text="第三者に提供することがあります")
    change("other", search_text="nothing of the kind")

    assert titles(sign_in(analyst).get(reverse("queue"), {"q": "提供"}).content) == ["policy"]


def test_the_filter_offers_nothing_of_other_teams(analyst: User, sign_in: SignIn) -> None:
    change("mine")
    theirs = make_monitor(
        team=make_team("Elsewhere"),
        site=Site.objects.create(name="Secret client", host="secret.example"),
        page_type=PageType.objects.create(name="Secret type", slug="secret"),
    )
    make_change(theirs)

    assert b"Secret" not in sign_in(analyst).get(reverse("queue")).content


def test_views_count_what_they_hold(analyst: User) -> None:
    mine = change("mine", priority=2, **at(30))
    change("free", **at(1))
    change("asleep", state="snoozed")
    Assignment.objects.create(change=mine, assignee=analyst)

    assert queue.view_counts(user=analyst, now=timezone.now()) == {
        "": 2, "mine": 1, "unassigned": 1, "high": 1, "late": 1, "audit": 0, "snoozed": 1,
    }  # fmt: skip


def test_more_rows_need_no_more_queries(analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    counts = []
    for _round in range(2):
        for _number in range(10):
            Assignment.objects.create(change=make_change(), assignee=analyst)
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("queue"))
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert counts[0] <= 18  # one of them asks whether changes are held, one who is away


def test_the_diff_is_not_read_for_a_list(analyst: User, sign_in: SignIn) -> None:
    make_change()
    with CaptureQueriesContext(connection) as queries:
        sign_in(analyst).get(reverse("queue"))

    assert not [q for q in queries if '"monitoring_change"."diff",' in q["sql"]]


def test_the_count_tells_what_is_new(analyst: User, sign_in: SignIn) -> None:
    change("old", **at(2))
    since = (timezone.now() - timedelta(hours=1)).isoformat()
    change("new", **at(0.1))

    data = sign_in(analyst).get(reverse("queue_count"), {"since": since}).json()

    assert (data["waiting"], data["new"], data["text"]) == ("2", 1, "1 new since you opened this.")


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-30"])
def test_the_count_survives_nonsense(analyst: User, sign_in: SignIn, since: str) -> None:
    assert sign_in(analyst).get(reverse("queue_count"), {"since": since}).json()["new"] == 0


def test_an_empty_queue_shows_that_the_watch_is_awake(analyst: User, sign_in: SignIn) -> None:
    make_check(make_monitor(), outcome="none", started_at=timezone.now())

    text = BeautifulSoup(sign_in(analyst).get(reverse("queue")).content, "html.parser").get_text()

    assert "Nothing is waiting for you." in text
    assert "1 check in the last 24 hours, 1 answered" in text


def test_the_first_run_says_what_comes_next(analyst: User, sign_in: SignIn) -> None:
    assert b"Nothing is watched yet." in sign_in(analyst).get(reverse("queue")).content


def test_noise_is_open_to_everybody(auditor: User, sign_in: SignIn) -> None:
    monitor = make_monitor(name="Quiet page")
    make_check(
        monitor, outcome="noise", score=0.1, distance=1, reasons=[{"code": "markup-only", "text": "", "data": {}}]
    )

    text = sign_in(auditor).get(reverse("queue"), {"kind": "noise"}).content.decode()

    assert "Quiet page" in text
    assert "Only markup differs, no text" in text


# --- several rows at once --------------------------------------------------------------------------------------


def select(*changes: Change) -> list[str]:
    """The boxes of these rows as the form sends them."""
    return [f"{c.pk}-{c.version}" for c in changes]


def test_bulk_dismissal_has_a_reason_and_one_undo(analyst: User, sign_in: SignIn) -> None:
    changes, left = [change("a"), change("b")], change("c")
    client = sign_in(analyst)

    client.post(reverse("bulk"), {"id": select(*changes), "do": "dismiss:date", "key": "k" * 20})

    assert Change.objects.filter(state="dismissed").count() == 2
    client.post(reverse("undo_batch"), {"batch": "k" * 20})
    assert Change.objects.filter(state="open").count() == 3
    left.refresh_from_db()
    assert left.version == 1


def test_bulk_leaves_alone_what_changed_meanwhile(analyst: User, sign_in: SignIn) -> None:
    one, two = change("one"), change("two")
    boxes = select(one, two)
    Change.objects.filter(pk=two.pk).update(version=2)

    sign_in(analyst).post(reverse("bulk"), {"id": boxes, "do": "dismiss:date"})

    assert set(Change.objects.filter(state="dismissed")) == {one}


@pytest.mark.parametrize("do", ["approve", "approve:other", "dismiss", "dismiss:other", "delete", ""])
def test_bulk_never_approves_nor_dismisses_without_a_reason(analyst: User, sign_in: SignIn, do: str) -> None:
    waiting = change("one")

    assert sign_in(analyst).post(reverse("bulk"), {"id": select(waiting), "do": do}).status_code == 400
    assert not Verdict.objects.exists()


def test_bulk_stops_at_a_hundred(analyst: User, sign_in: SignIn) -> None:
    boxes = [f"{n}-1" for n in range(1, 102)]

    assert sign_in(analyst).post(reverse("bulk"), {"id": boxes, "do": "snooze"}).status_code == 400


def test_bulk_does_not_reach_other_teams(outsider: User, sign_in: SignIn) -> None:
    theirs = change("theirs")

    sign_in(outsider).post(reverse("bulk"), {"id": select(theirs), "do": "dismiss:date"})

    theirs.refresh_from_db()
    assert theirs.state == "open"


def test_bulk_assigns_and_snoozes(analyst: User, sign_in: SignIn) -> None:
    one = change("one")
    client = sign_in(analyst)

    client.post(reverse("bulk"), {"id": select(one), "do": "assign"})
    client.post(reverse("bulk"), {"id": select(one), "do": "snooze:tomorrow"})

    one.refresh_from_db()
    assert one.state == "snoozed"
    assert Assignment.objects.get().assignee == analyst


def test_a_filter_that_nothing_fits_says_what_each_part_of_it_costs(analyst: User, sign_in: SignIn) -> None:
    change("one", priority=3)

    text = sign_in(analyst).get(reverse("queue") + "?q=nowhere&priority=3").content.decode()

    assert "Nothing fits these filters." in text
    assert "1 change waits all the same." in text
    counts = {li.get_text(" ", strip=True) for li in BeautifulSoup(text, "html.parser").select(".wider li")}
    assert counts == {"Without “Search: nowhere” 1", "Without “Priority: urgent” 0"}


def test_an_empty_view_is_told_from_an_empty_queue(analyst: User, sign_in: SignIn) -> None:
    change("one")

    text = sign_in(analyst).get(reverse("queue"), {"view": "mine"}).content.decode()

    assert "Nothing in “Assigned to me”." in text
    assert "1 change waits in the queue." in text


@pytest.mark.parametrize(
    ("name", "value", "extra"),
    [
        ("why", "links", {"reasons": [{"code": "link-target", "text": "", "data": {}}]}),
        ("why", "blocked", {"flags": ["blocked-before"]}),
        ("score", "low", {"score": 0.55}),
    ],
)
def test_reason_and_score_narrow(name: str, value: str, extra: dict[str, Any], analyst: User, sign_in: SignIn) -> None:
    change("other", score=0.9)
    change("wanted", **{"score": 0.9, **extra})

    assert titles(sign_in(analyst).get(reverse("queue"), {name: value}).content) == ["wanted"]


def test_language_and_team_narrow(analyst: User, sign_in: SignIn) -> None:
    second = make_team("Second")
    second.members.add(analyst)
    make_change(make_monitor(name="wanted", team=second), prior=make_snapshot_in("de"))
    change("other")
    client = sign_in(analyst)

    assert titles(client.get(reverse("queue"), {"lang": "de"}).content) == ["wanted"]
    assert titles(client.get(reverse("queue"), {"team": second.pk}).content) == ["wanted"]


def make_snapshot_in(language: str) -> Any:
    """A snapshot of a page in a language."""
    from tests.factories import make_snapshot

    return make_snapshot(make_monitor(), language=language)


def test_a_saved_view_keeps_filter_and_order_and_counts(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    change("urgent", priority=3)
    change("plain", priority=1)
    client = sign_in(analyst)

    client.post(reverse("save_view"), {"in": "priority=3&sort=age", "name": "  Urgent  ones "})

    page = BeautifulSoup(client.get(reverse("queue") + "?priority=3&sort=age").content, "html.parser")
    entry = page.select_one('.views a[aria-current="page"]')
    assert entry is not None
    assert entry.get_text(" ", strip=True) == "Urgent ones 1"
    assert page.h1 is not None
    assert page.h1.get_text() == "Urgent ones"
    assert b"Urgent ones" not in sign_in(other_analyst).get(reverse("queue")).content


def test_a_team_sees_a_view_that_is_shared_and_only_its_maker_or_a_lead_takes_it_away(
    analyst: User, other_analyst: User, lead: User, outsider: User, sign_in: SignIn
) -> None:
    change("one")
    change_elsewhere = make_change(make_monitor(team=outsider.teams.get()))
    client = sign_in(analyst)
    client.post(reverse("save_view"), {"in": "priority=1", "name": "Ours", "team": analyst.teams.get().pk})
    view = SavedView.objects.get()

    assert b"Ours" in sign_in(other_analyst).get(reverse("queue")).content
    assert b"Ours" not in sign_in(outsider).get(reverse("queue")).content
    assert change_elsewhere.pk
    for person, left in ((other_analyst, 1), (outsider, 1), (lead, 0)):
        sign_in(person).post(reverse("save_view"), {"remove": view.pk})
        assert SavedView.objects.count() == left, person


@pytest.mark.parametrize("bad", [{"name": "  "}, {"name": "x" * 61}, {"name": "theirs", "team": "999"}])
def test_a_view_that_cannot_be_saved_says_why(bad: dict[str, str], analyst: User, sign_in: SignIn) -> None:
    change("one")

    answer = sign_in(analyst).post(reverse("save_view"), {"in": "priority=1", **bad}, follow=True)

    assert SavedView.objects.count() == 0
    assert [str(m) for m in answer.context["messages"]]


def test_saved_views_cost_no_query_each(analyst: User, sign_in: SignIn) -> None:
    change("one")
    client = sign_in(analyst)
    counts = []
    for number in range(2):
        for index in range(4):
            SavedView.objects.create(owner=analyst, name=f"{number}-{index}", query=f"priority={index % 4}&q=halden")
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("queue"))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_rows_are_given_to_a_colleague_and_an_undo_gives_them_back_to_whom_they_were(
    analyst: User, other_analyst: User, sign_in: SignIn
) -> None:
    had, free = change("had"), change("free")
    Assignment.objects.create(change=had, assignee=analyst)
    client = sign_in(analyst)
    rows = [f"{c.pk}-{c.version}" for c in (had, free)]

    page = client.post(reverse("bulk"), {"id": rows, "do": f"assign:{other_analyst.pk}", "in": ""}, follow=True)
    given = set(Assignment.objects.values_list("change", "assignee"))
    batch = BeautifulSoup(page.content, "html.parser").select_one('input[name="batch"]')
    assert batch is not None
    client.post(reverse("undo_batch"), {"batch": batch["value"], "in": ""})

    assert given == {(had.pk, other_analyst.pk), (free.pk, other_analyst.pk)}
    assert set(Assignment.objects.values_list("change", "assignee")) == {(had.pk, analyst.pk)}


def test_undoing_an_assignment_leaves_alone_what_moved_on(
    analyst: User, other_analyst: User, lead: User, sign_in: SignIn
) -> None:
    row = change("row")
    client = sign_in(analyst)
    page = client.post(
        reverse("bulk"), {"id": f"{row.pk}-{row.version}", "do": f"assign:{other_analyst.pk}", "in": ""}, follow=True
    )
    batch = BeautifulSoup(page.content, "html.parser").select_one('input[name="batch"]')
    assert batch is not None
    Assignment.objects.update(assignee=lead)

    client.post(reverse("undo_batch"), {"batch": batch["value"], "in": ""})
    client.post(reverse("undo_batch"), {"batch": "forged:abc", "in": ""})

    assert Assignment.objects.get().assignee == lead


@pytest.mark.parametrize("who", ["outsider", "auditor"])
def test_nobody_is_given_a_row_who_could_not_decide_it(
    who: str, analyst: User, outsider: User, auditor: User, sign_in: SignIn
) -> None:
    row = change("row")
    person = {"outsider": outsider, "auditor": auditor}[who]

    answer = sign_in(analyst).post(
        reverse("bulk"), {"id": f"{row.pk}-{row.version}", "do": f"assign:{person.pk}", "in": ""}
    )

    assert answer.status_code == 400
    assert not Assignment.objects.exists()

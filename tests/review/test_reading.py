"""What helps to read a change: who else looks, what is new, any two captures, key terms, links and quotations."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from monitoring import storage
from monitoring.models import Change
from review import key_terms, rendering
from review.models import Assignment, KeyTerms, Visit
from review.services import presence, verdicts
from tests.factories import make_change, make_monitor, make_snapshot, make_team
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def shown(client: Client, change: Change, **query: str) -> BeautifulSoup:
    """The change's page."""
    answer = client.get(reverse("change", args=[change.pk]), query)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


def words(soup: BeautifulSoup, selector: str) -> str:
    """The text at a selector; empty where there is none."""
    found = soup.select_one(selector)
    return found.get_text(" ", strip=True) if found else ""


# --- who else looks --------------------------------------------------------------------------------------------


def test_who_looks_is_told_to_others_and_not_to_oneself(
    analyst: User, other_analyst: User, auditor: User, sign_in: SignIn
) -> None:
    change = make_change()
    shown(sign_in(other_analyst), change)

    assert words(shown(sign_in(auditor), change), "[data-here-words]").startswith("mara is looking at this since ")
    mine = words(shown(sign_in(other_analyst), change), "[data-here-words]")
    assert "mara" not in mine
    assert mine.startswith("otto is looking")


def test_a_page_that_was_fetched_ahead_is_not_looked_at(analyst: User, sign_in: SignIn) -> None:
    change = make_change()

    sign_in(analyst).get(reverse("change", args=[change.pk]), headers={"X-Tideline": "ahead"})

    assert not Visit.objects.exists()


def test_who_left_is_told_no_longer_and_a_heartbeat_keeps_a_visit(analyst: User, other_analyst: User) -> None:
    change, now = make_change(), timezone.now()
    presence.arrive(other_analyst, change, now=now)
    presence.stay(other_analyst, change, now=now + timedelta(seconds=40))

    later = now + timedelta(seconds=80)
    assert [(one.name, one.since) for one in presence.others(analyst, change, now=later)] == [("mara", now)]
    assert presence.others(analyst, change, now=later + timedelta(seconds=60)) == []


def test_the_heartbeat_tells_who_decided_meanwhile(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    change = make_change()
    client = sign_in(analyst)
    first = client.post(reverse("here", args=[change.pk]), {"diff_hash": change.diff_hash}).json()
    verdicts.decide(
        change.pk, action="approve", actor=other_analyst, now=timezone.now(),  # type: ignore[arg-type]
        seen=verdicts.Seen(change.version, change.diff_hash, "k" * 20),
    )  # fmt: skip

    told = client.post(reverse("here", args=[change.pk]), {"diff_hash": change.diff_hash}).json()

    assert first == {"here": "", "moved": ""}
    assert told["moved"].startswith("mara decided this at ")
    own = sign_in(other_analyst).post(reverse("here", args=[change.pk]), {"diff_hash": change.diff_hash}).json()
    assert own["moved"] == ""


def test_the_heartbeat_tells_that_the_page_changed_again(analyst: User, sign_in: SignIn) -> None:
    change = make_change()

    told = sign_in(analyst).post(reverse("here", args=[change.pk]), {"diff_hash": "f" * 64}).json()

    assert told["moved"].startswith("The page changed again")


# --- since my last visit, and any two captures -----------------------------------------------------------------


def capture(monitor: Any, text: str, *, days: float) -> Any:
    """A stored page, taken so many days ago."""
    body = f"<html lang=en><body><main><h1>Terms</h1><p>{text}</p><p>All else stays as it is.</p></main></body></html>"
    return make_snapshot(
        monitor, payload=storage.put(body.encode()), role="change", taken_at=timezone.now() - timedelta(days=days),
        content_type="text/html", charset="utf-8", document_type="html",
    )  # fmt: skip


def test_what_is_new_since_the_last_visit_is_offered_alone(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    prior, first, second = (
        capture(monitor, text, days=days)
        for text, days in (
            ("Fees are due in 30 days.", 9),
            ("Fees are due in 14 days.", 5),
            ("Fees are due in 7 days.", 1),
        )
    )
    change = make_change(monitor, prior=prior, new=first)
    client = sign_in(analyst)
    assert not shown(client, change).find(string=lambda text: "since you looked" in (text or ""))
    Visit.objects.update(seen_at=timezone.now() - timedelta(hours=2))
    Change.objects.filter(pk=change.pk).update(new=second, version=2)

    soup = shown(client, change)

    link = next(a for a in soup.select(".notice a") if "only what is new" in a.get_text())
    page = BeautifulSoup(client.get(str(link["href"])).content, "html.parser")
    assert [words(page, ".diff del"), words(page, ".diff ins")] == ["[removed: 14 ]", "[added: 7 ]"]


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
def test_two_captures_are_compared_the_earlier_first(order: tuple[str, str], analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    early, late = (
        capture(monitor, "Fees are due in 30 days.", days=9),
        capture(monitor, "Fees are due in 7 days.", days=1),
    )
    address = reverse("compare", args=[monitor.pk])

    answer = sign_in(analyst).get(f"{address}?{order[0]}={early.pk}&{order[1]}={late.pk}")

    soup = BeautifulSoup(answer.content, "html.parser")
    assert words(soup, ".diff del") == "[removed: 30 ]"
    assert words(soup, ".panel-h").endswith("of 13 words")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?old={one}&new={one}", "one capture twice"),
        ("?old={one}&new=x", "Choose two captures."),
        ("?old={one}&new={foreign}", "Choose two captures."),
        ("?old={one}&new={pdf}", "different types of document"),
    ],
)
def test_what_cannot_be_compared_is_said(query: str, sentence: str, analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    one, _two = capture(monitor, "One.", days=2), capture(monitor, "Two.", days=1)
    foreign = capture(make_monitor(team=make_team("Elsewhere")), "Secret.", days=1)
    pdf = make_snapshot(monitor, document_type="pdf", content_type="application/pdf")

    address = reverse("compare", args=[monitor.pk]) + query.format(one=one.pk, foreign=foreign.pk, pdf=pdf.pk)

    assert sentence in sign_in(analyst).get(address).content.decode()


# --- key terms ---------------------------------------------------------------------------------------------------


def test_key_terms_are_marked_and_counted_in_what_changed(analyst: User, lead: User, sign_in: SignIn) -> None:
    change = make_change()
    address = reverse("key_terms", args=[change.pk])

    sign_in(lead).post(address, {"terms": "may\n\n  share  \nMAY\nx\n"})

    soup = shown(sign_in(analyst), change)
    assert [b.get_text() for b in soup.select(".diff b.term")] == ["may", "share"]
    assert [tag.get_text(" ", strip=True) for tag in soup.select(".tag.term")] == ["MAY ×1"]
    assert KeyTerms.objects.get().listed == ["share", "MAY"]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Arbitration and nonarbitrable", ["Arbitra"]),
        ("third\u00a0 party", ["third\u00a0 party"]),
        ("<b>third party</b> & more", ["third party"]),
        ("第三者に提供", ["提供"]),
    ],
)
def test_a_term_begins_a_word_and_page_text_stays_text(text: str, marked: list[str]) -> None:
    pattern = key_terms.pattern_of(["arbitra", "third party", "提供", "("])
    with rendering.printing(rendering.Extras(pattern)):
        html = rendering.segments_html([["=", text]])

    soup = BeautifulSoup(html, "html.parser")
    assert [b.get_text() for b in soup.select("b.term")] == marked
    assert soup.get_text() == text
    assert not soup.select("b:not(.term)")


def test_terms_that_are_too_long_are_refused_with_a_sentence(lead: User, sign_in: SignIn) -> None:
    change = make_change()

    answer = sign_in(lead).post(reverse("key_terms", args=[change.pk]), {"terms": "x" * 4001}, follow=True)

    assert not KeyTerms.objects.exists()
    assert "at most 4000 characters" in answer.content.decode()


# --- links and quotations ------------------------------------------------------------------------------------------


def test_a_place_has_an_address_that_says_when_the_diff_is_another(analyst: User, sign_in: SignIn) -> None:
    change = make_change(diff_hash="ab" * 32)
    client = sign_in(analyst)
    link = shown(client, change).select_one("[data-copy-link]")

    assert link is not None
    assert link["href"] == "?d=abababababab#p1"
    warning = "This link was made for an earlier diff"
    assert warning not in shown(client, change, d="abababababab").get_text()
    assert warning in shown(client, change, d="0123456789ab").get_text()


def test_a_place_is_quoted_with_source_and_time(analyst: User, sign_in: SignIn) -> None:
    change = make_change(make_monitor(name="Privacy <notice>"))

    answer = sign_in(analyst).get(reverse("quote", args=[change.pk, 1]))

    text = answer.content.decode()
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert "“We will not share it.”" in text
    assert "“We may share it.”" in text
    assert "Privacy <notice>, Halden" in text
    assert f"/c/{change.pk}/?d=000000000000#p1" in text
    assert f"{change.prior.taken_at.year}" in text.splitlines()[0]
    assert sign_in(analyst).get(reverse("quote", args=[change.pk, 2])).status_code == 404


def test_the_evidence_holds_a_warc_and_a_text_diff(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    prior = capture(monitor, "One.", days=2)
    prior.headers = [["content-encoding", "gzip"], ["x-note", "a\r\nforged: b"]]
    prior.save()
    change = make_change(monitor, prior=prior, new=capture(monitor, "Two.", days=1))

    bundle = zipfile.ZipFile(io.BytesIO(sign_in(analyst).get(reverse("evidence", args=[change.pk])).content))

    assert bundle.read("diff.txt").decode() == "~ We [-will not-]{+may+} share it.\n"
    warc = bundle.read("captures.warc")
    assert warc.count(b"WARC-Type: response") == 2
    assert storage.get(prior.payload) in warc
    assert b"content-encoding" not in warc
    assert b"x-note: a forged: b\r\n" in warc


def test_every_record_of_the_warc_is_as_long_as_it_says(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    change = make_change(monitor, prior=capture(monitor, "One.", days=2), new=capture(monitor, "Zwei.", days=1))
    bundle = zipfile.ZipFile(io.BytesIO(sign_in(analyst).get(reverse("evidence", args=[change.pk])).content))
    rest, records = bundle.read("captures.warc"), 0

    while rest:
        head, _blank, rest = rest.partition(b"\r\n\r\n")
        assert head.startswith(b"WARC/1.1\r\n")
        length = next(int(line.split(b": ")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        assert rest[length : length + 4] == b"\r\n\r\n"
        rest, records = rest[length + 4 :], records + 1

    assert records == 3


# --- how the page is shown -----------------------------------------------------------------------------------------


def test_the_view_is_remembered_for_the_type_of_page(analyst: User, sign_in: SignIn) -> None:
    one, same = make_change(), make_change()
    other = make_change(make_monitor(page_type=make_other_type()))
    client = sign_in(analyst)

    shown(client, one, view="split")

    current = [words(shown(client, change), "[data-views] [aria-current]") for change in (same, other)]
    assert current == ["Side by side", "Prior + diff"]
    shown(client, one, view="prior")
    assert words(shown(client, same), "[data-views] [aria-current]") == "Prior + diff"


def make_other_type() -> Any:
    """Another type of page."""
    from tests.factories import make_page_type

    return make_page_type("terms")


def test_link_targets_that_changed_are_listed(analyst: User, sign_in: SignIn) -> None:
    block = {
        "op": "reworded", "tag": "a", "heading": 0, "surface": "link", "region": "main", "old": None, "new": None,
        "place": 1, "segments": [["-", "https://old.example/dpa"], ["+", "https://new.example/dpa"]],
    }  # fmt: skip
    change = make_change(diff={"blocks": [block], "places": 1, "counts": {"reworded": 1}})

    row = shown(sign_in(analyst), change, view="fields").select("table.fields")[0].select("tbody td")

    assert [cell.get_text(strip=True) for cell in row] == ["https://old.example/dpa", "https://new.example/dpa"]


def test_scores_and_distances_are_drawn_and_told(analyst: User, sign_in: SignIn) -> None:
    change = make_change(make_monitor())
    change.check_row.score, change.check_row.distance, change.check_row.threshold = 0.8, 5, 3
    change.check_row.outcome, change.check_row.started_at = "content", timezone.now()
    change.check_row.save()

    soup = shown(sign_in(analyst), change)

    names = [str(svg["aria-label"]) for svg in soup.select("svg.chart")]
    assert names[0].endswith("This change is at 0.80.")
    assert names[1].endswith("This change is at 5 bits.")
    cells = [td.get_text(strip=True) for td in soup.select("details.more table td")]
    assert cells[1:] == ["0.80", "5", "waiting"]


def test_a_change_is_given_to_a_colleague_and_to_nobody_else(
    analyst: User, other_analyst: User, outsider: User, sign_in: SignIn
) -> None:
    change = make_change()
    client = sign_in(analyst)
    address = reverse("decide", args=[change.pk])

    client.post(address, {"do": f"assign:{other_analyst.pk}"})
    refused = client.post(address, {"do": f"assign:{outsider.pk}"})

    assert refused.status_code == 400
    assert Assignment.objects.get().assignee == other_analyst


def test_the_list_of_keys_has_a_switch(analyst: User, sign_in: SignIn) -> None:
    client, change = sign_in(analyst), make_change()

    for value, state in (("off", "on"), ("on", "off")):
        client.post(reverse("keys"), {"keys": value, "next": "/queue/"})
        soup = shown(client, change)
        assert (soup.html.get("data-keys") == "off") is (value == "off")  # type: ignore[union-attr]
        assert soup.select_one(f'[data-keys-form] button[value="{state}"]')

"""The verdict log: narrowed, exported, and as the report of approved changes."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from monitoring.models import Change
from review.models import Note, Verdict
from tests.factories import NOW, make_change, make_monitor, make_page_type, make_user
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def verdict(actor: User, change: Change | None = None, **extra: Any) -> Verdict:
    """An approval, unless said otherwise."""
    change = change or make_change(state="approved")
    values = {
        "action": "approve", "reason": "party", "version_seen": 1, "at": NOW, "score": 0.8,
        "idempotency_key": f"k{Verdict.objects.count()}", **extra,
    }  # fmt: skip
    return Verdict.objects.create(change=change, actor=actor, **values)


def pages(content: bytes) -> set[str]:
    """The changes that a log's lines lead to."""
    return {str(a["href"]) for a in BeautifulSoup(content, "html.parser").select("tbody td:nth-child(4) a")}


@pytest.mark.parametrize("query", ["type={type}", "site={site}", "who={who}", "action=dismiss", "reason=date", "from=2026-06-01&to=2026-06-01"])  # fmt: skip
def test_each_filter_leaves_only_what_fits(analyst: User, sign_in: SignIn, query: str) -> None:
    verdict(analyst)
    monitor = make_monitor(page_type=make_page_type("terms"))
    wanted = verdict(
        make_user("mara"), make_change(monitor, state="dismissed"), action="dismiss", reason="date",
        at=datetime(2026, 6, 1, 23, 30, tzinfo=UTC),
    )  # fmt: skip
    asked = query.format(type=monitor.page_type_id, site=monitor.site_id, who=wanted.actor_id)

    response = sign_in(analyst).get(f"{reverse('verdicts')}?{asked}")

    assert pages(response.content) == {wanted.change.get_absolute_url()}


@pytest.mark.parametrize("query", ["from=2026-13-01", "to=9999-12-31", "type=x", "site=-1", "who=1e3", "action=x", "reason=x", "after=x"])  # fmt: skip
@pytest.mark.parametrize("name", ["verdicts", "verdict_report", "verdicts_csv"])
def test_nonsense_in_the_address_is_left_out(analyst: User, sign_in: SignIn, name: str, query: str) -> None:
    verdict(analyst)

    response = sign_in(analyst).get(f"{reverse(name)}?{query}")

    assert (response.status_code, b"Privacy notice" in b"".join(response)) == (200, True)


def test_older_lines_keep_the_filter(analyst: User, sign_in: SignIn) -> None:
    for minutes in range(51):
        verdict(analyst, at=NOW - timedelta(minutes=minutes))
    verdict(analyst, reason="other", at=NOW - timedelta(days=1))
    client = sign_in(analyst)

    first = BeautifulSoup(client.get(reverse("verdicts") + "?reason=party").content, "html.parser")
    older = first.select(".pager a")[-1]["href"]

    assert len(pages(client.get(str(older)).content)) == 1


def test_the_csv_is_narrowed_safe_and_has_both_texts(analyst: User, sign_in: SignIn) -> None:
    verdict(analyst, make_change(make_monitor(name="=cmd()"), state="approved"))
    verdict(analyst, reason="other")

    response = sign_in(analyst).get(reverse("verdicts_csv") + "?reason=party")
    body = b"".join(response).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(body)))

    assert [row["page"] for row in rows] == ["'=cmd()"]
    assert (rows[0]["before"], rows[0]["after"]) == ("We will not share it.", "We may share it.")
    assert rows[0]["permalink"].endswith(Change.objects.order_by("pk")[0].get_absolute_url())


def test_the_report_holds_the_approvals_in_force_with_all_that_proves_them(analyst: User, sign_in: SignIn) -> None:
    approved = verdict(analyst)
    Note.objects.create(change=approved.change, author=analyst, text="Told the legal team.")
    verdict(make_user("mara"), approved.change, action="second", opinion="dismiss", reason="not-relevant")
    taken_back = verdict(analyst)
    verdict(analyst, taken_back.change, action="undo", reason="", undoes=taken_back)
    verdict(analyst, make_change(state="dismissed"), action="dismiss", reason="date")

    page = BeautifulSoup(sign_in(analyst).get(reverse("verdict_report")).content, "html.parser")
    entries = page.select("article")
    said = " ".join(entries[0].get_text(" ").split())

    assert len(entries) == 1
    assert [q.get_text() for q in entries[0].select("blockquote")] == ["We will not share it.", "We may share it."]
    for words in (
        "Party or supplier changed", "By ines", "Told the legal team.", "second opinion of mara: dismissed: real but not relevant",
        approved.change.monitor.url, approved.change.prior.payload.sha256, approved.change.get_absolute_url(),
    ):  # fmt: skip
        assert words in said


def test_a_report_of_more_approvals_needs_no_more_queries(analyst: User, sign_in: SignIn) -> None:
    client, counts = sign_in(analyst), []
    for _batch in range(2):
        for _number in range(4):
            Note.objects.create(change=verdict(analyst).change, author=analyst, text="Seen.")
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("verdict_report"))
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_report_shows_nothing_of_other_teams(analyst: User, outsider: User, sign_in: SignIn) -> None:
    verdict(analyst)

    assert b"<article" not in sign_in(outsider).get(reverse("verdict_report")).content

"""The sample workspace: pages that change as real ones do, made once and removed with one click."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from monitoring.detection.read import read
from monitoring.models import Change, Check, Monitor, Site, Snapshot
from monitoring.sample import noise, workspace
from monitoring.sample.pages import PAGES, SamplePage
from review.models import Verdict
from tests.factories import NOW, make_change, make_monitor, make_user


def rendered(page: SamplePage, elapsed_s: float, seed: int) -> str:
    head, body = page.text_at(elapsed_s)
    return noise.render(page, head, body, now=NOW + timedelta(seconds=elapsed_s + seed), rng=random.Random(seed))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug)
def test_every_load_differs_around_the_same_text(page: SamplePage) -> None:
    first, second = rendered(page, 0, 1), rendered(page, 0, 2)

    assert first != second
    one, other = read(first), read(second)
    assert one.text != other.text
    if page.kind != "news":
        assert page.text_at(0)[1] == page.text_at(49)[1]


@pytest.mark.parametrize("page", [page for page in PAGES if page.edits], ids=lambda page: page.slug)
def test_every_edit_finds_its_place(page: SamplePage) -> None:
    texts = [page.text_at(edit.at_s - 1) for edit in page.edits] + [page.text_at(10**9)]

    for edit, before in zip(page.edits, texts, strict=False):
        assert edit.old in "".join(before), f"{page.slug}: {edit.old!r} is not on the page at {edit.at_s} s"


def test_the_first_minute_brings_what_a_newcomer_should_see() -> None:
    early = {page.slug: edit for page in PAGES for edit in page.edits if edit.at_s <= 60}

    assert " not " in early["halden/privacy"].old
    assert " not " not in early["halden/privacy"].new
    assert early["orrin/certificates"].new == ""
    assert (early["brunvik/kettle"].old, early["brunvik/kettle"].new) == ("89.00", "79.00")
    assert {page.lang for page in PAGES if any(e.at_s <= 60 for e in page.edits)} == {"en", "de", "ja"}
    assert sum(page.blocked is not None and page.blocked[0] <= 60 for page in PAGES) == 1
    assert sum(page.gone_at_s is not None and page.gone_at_s <= 60 for page in PAGES) == 1


@pytest.mark.django_db
def test_the_workspace_is_made_once() -> None:
    assert workspace.make(NOW) == len(PAGES)
    assert workspace.make(NOW) == 0
    assert Monitor.objects.filter(is_sample=True).count() == len(PAGES)


@pytest.mark.django_db
def test_the_pages_are_served_only_while_the_workspace_stands(client: Client) -> None:
    assert client.get("/sample/halden/privacy/").status_code == 404
    workspace.make(NOW)

    response = client.get("/sample/halden/privacy/")

    assert response.status_code == 200
    assert "sandbox" in response["Content-Security-Policy"]
    assert client.get("/sample/unknown/page/").status_code == 404


@pytest.mark.django_db
def test_a_page_turns_into_a_block_page_and_one_is_gone(client: Client) -> None:
    workspace.make(NOW)
    Monitor.objects.update(created_at=NOW - timedelta(days=400))  # far after the block has ended
    assert client.get("/sample/kranich/agb/").status_code == 200
    assert client.get("/sample/pelago/partners/").status_code == 410

    from django.utils import timezone

    Monitor.objects.update(created_at=timezone.now() - timedelta(seconds=100))
    assert client.get("/sample/kranich/agb/").status_code == 403


@pytest.mark.django_db
def test_the_pace_slows_after_the_first_minutes() -> None:
    workspace.make(NOW)
    Monitor.objects.update(created_at=NOW)
    assert not workspace.is_fresh(now=NOW)

    assert workspace.settle(now=NOW + workspace.FIRST_MINUTES) == len(PAGES)

    assert set(Monitor.objects.values_list("interval_s", flat=True)) == {workspace.SLOW_S}


@pytest.mark.django_db
def test_removing_takes_everything_of_the_sample_and_nothing_else() -> None:
    workspace.make(NOW)
    sample = Monitor.objects.filter(is_sample=True).first()
    assert sample is not None
    change = make_change(sample)
    verdict: dict[str, Any] = {"change": change, "actor": make_user(), "version_seen": 1, "at": NOW}
    first = Verdict.objects.create(**verdict, action="approve", idempotency_key="1")
    Verdict.objects.create(**verdict, action="undo", undoes=first, idempotency_key="2")
    kept = make_change(make_monitor())

    assert workspace.remove() == len(PAGES)

    assert list(Change.objects.all()) == [kept]
    assert Check.objects.count() == 1
    assert Snapshot.objects.count() == 2
    assert not Site.objects.filter(host__endswith=".sample").exists()


@pytest.mark.django_db
def test_one_click_removes_it_and_only_admins_have_that_click(client: Client) -> None:
    workspace.make(NOW)
    client.force_login(make_user("ines"))
    assert client.post(reverse("remove_sample")).status_code == 403

    client.force_login(make_user("ada", role="admin"))
    assert client.get(reverse("remove_sample")).status_code == 405
    assert client.post(reverse("remove_sample")).status_code == 302

    assert not Monitor.objects.filter(is_sample=True).exists()

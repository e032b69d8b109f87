"""Validators that lie: a page that changes behind its ETag, and when "not modified" is believed again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring.models import Change, Monitor
from monitoring.services import capture, validators
from tests.factories import make_monitor
from tests.monitoring.conftest import later, visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_confirmation import codes
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

CHANGED = page(clauses=[c.replace("do not sell", "may sell") for c in CLAUSES])
MODIFIED = "Mon, 30 Nov 2026 08:00:00 GMT"


def unconditional(monitor: Monitor) -> None:
    """Make the next visit one that asks without conditions."""
    later(monitor, "last_full_at", timedelta(days=8))


def test_a_change_found_behind_a_304_is_raised_and_ends_the_trust_for_ninety_days(
    watch: Watch, site: LocalSite
) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a")
    visit(monitor)
    site.put("/a", CHANGED, ETag='"v1"')  # the lie: another text under the same validator

    hidden = visit(monitor)
    assert (hidden.outcome, hidden.reason) == ("none", "not-modified")

    unconditional(monitor)
    found = visit(monitor)

    assert found.outcome == "content"
    assert validators.LIED in codes(found)
    assert validators.LIED in [reason["code"] for reason in Change.objects.get().reasons]
    assert monitor.distrusted_until is not None
    assert timedelta(days=89) < monitor.distrusted_until - timezone.now() <= timedelta(days=90)


def test_while_a_validator_is_distrusted_nothing_is_asked_conditionally(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a", distrusted_until=timezone.now() + timedelta(days=1))
    visit(monitor)
    visit(monitor)

    assert "if-none-match" not in site.asked["/a"]

    later(monitor, "distrusted_until", timedelta(days=2))
    check = visit(monitor)

    assert check.not_modified


def test_a_change_with_a_validator_of_its_own_ends_no_trust(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a")
    visit(monitor)
    site.put("/a", CHANGED, ETag='"v2"')

    check = visit(monitor)

    assert check.outcome == "content"
    assert validators.LIED not in codes(check)
    assert (monitor.distrusted_until, monitor.etag) == (None, '"v2"')


def test_noise_under_the_same_weak_validator_ends_no_trust(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(head="<!-- 1 -->"), ETag='W/"v1"')
    monitor = watch("/a")
    visit(monitor)
    site.put("/a", page(head="<!-- 2 -->"), ETag='W/"v1"')
    unconditional(monitor)

    check = visit(monitor)

    assert check.outcome == "noise"
    assert monitor.distrusted_until is None


def test_a_lying_last_modified_is_told_as_one(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), Last_Modified=MODIFIED)
    monitor = watch("/a")
    visit(monitor)
    site.put("/a", CHANGED, Last_Modified=MODIFIED)

    check = visit(monitor)

    lie = next(reason for reason in check.reasons if reason["code"] == validators.LIED)
    assert lie["data"]["which"] == "Last-Modified"
    assert monitor.distrusted_until is not None


def test_a_304_about_another_version_is_not_believed_and_looked_into_soon(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a")
    visit(monitor)
    site.pages["/a"] = Page(b"", status=304, headers={"ETag": '"v2"'})

    check = visit(monitor)

    assert validators.OTHER in codes(check)
    assert monitor.distrusted_until is not None
    assert monitor.plan_reason == "confirm"
    assert monitor.next_check_at is not None
    assert monitor.next_check_at - timezone.now() <= timedelta(minutes=5)


def test_a_304_that_names_the_compressed_form_is_believed(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='W/"v1-gzip"')
    monitor = watch("/a")
    visit(monitor)
    site.pages["/a"] = Page(b"", status=304, headers={"ETag": '"v1"'})

    check = visit(monitor)

    assert (check.reason, monitor.distrusted_until) == ("not-modified", None)


@pytest.mark.parametrize("etag", ['W/"v1"', '"v1-gzip"', '"v1;br"', '"v1--gzip"', '"v1"-gzip', 'W/"v1+zstd"'])
def test_a_suffixed_validator_is_sent_back_as_it_came(etag: str, watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag=etag)
    monitor = watch("/a")
    visit(monitor)

    check = visit(monitor)

    assert site.asked["/a"]["if-none-match"] == etag
    assert check.not_modified


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ('"v1"', 'W/"v1"', True),
        ('"v1-gzip"', '"v1"', True),
        ('W/"v1;br"', '"v1-gzip"', True),
        ('"v1"-gzip', '"v1:zstd"', True),
        ('"v1"', '"v2"', False),
        ('"v1-gzip"', '"v2-gzip"', False),
        ('"a-br"', '"abr"', False),
    ],
)
def test_validators_are_compared_loosely(left: str, right: str, same: bool) -> None:
    assert (validators.core(left) == validators.core(right)) is same


def test_validators_of_a_page_that_is_no_baseline_are_not_kept(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a")
    visit(monitor)
    site.put("/a", "<h1>403 Forbidden</h1>", status=403, ETag='"block"')
    visit(monitor)

    assert monitor.etag == '"v1"'


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        ({"check_no": 18}, False),
        ({"check_no": 19}, True),  # the twentieth
        ({"full_ago": timedelta(days=6, hours=12)}, False),
        ({"full_ago": timedelta(days=6, hours=18)}, True),  # the next one would come after the week
        ({"full_ago": timedelta(days=2), "interval_s": 6 * 86_400}, True),
        ({"full_ago": None}, True),
        ({"distrusted_for": timedelta(days=1)}, True),
        ({"distrusted_for": timedelta(days=-1)}, False),
    ],
)
def test_each_twentieth_visit_and_one_a_week_ask_for_the_whole_page(values: dict[str, Any], whole: bool) -> None:
    now = timezone.now()
    full_ago = values.get("full_ago", timedelta(hours=1))
    monitor = make_monitor(
        check_no=values.get("check_no", 4),
        interval_s=values.get("interval_s", 6 * 3600),
        last_full_at=now - full_ago if full_ago is not None else None,
        distrusted_until=now + values["distrusted_for"] if "distrusted_for" in values else None,
    )

    assert validators.wants_whole(monitor, now) is whole


def test_a_week_of_304s_holds_a_whole_page_whatever_the_interval(watch: Watch, site: LocalSite) -> None:
    site.put("/a", page(), ETag='"v1"')
    monitor = watch("/a", interval_s=86_400)
    visit(monitor)
    asked = []
    start = timezone.now()
    for day in range(1, 15):
        now = start + timedelta(days=day)
        monitor.check_no += 1
        conditional = bool(capture.request_for(monitor, now=now).etag)
        asked.append(conditional)
        if not conditional:
            monitor.last_full_at = now

    wholes = [0] + [day for day, conditional in enumerate(asked, start=1) if not conditional]
    assert max(b - a for a, b in itertools.pairwise(wholes)) <= 7
    assert sum(asked) >= 10

"""Pages on their way from the fetch loop to the judge: few wait at a time, none is forgotten, and faults come through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from monitoring.fetching.capture import Capture, FetchRequest
from monitoring.fetching.guard import AddressPolicy
from monitoring.services import handover
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import page

PAGES = 40


@pytest.fixture
def policy(site: LocalSite) -> AddressPolicy:
    """Lets the local site through."""
    host, _, port = site.address.partition(":")
    return AddressPolicy(allow=frozenset({(host, int(port))}))


@pytest.fixture
def requests(site: LocalSite) -> list[FetchRequest]:
    """Requests for pages of the local site."""
    return [FetchRequest(key=n, url=site.put(f"/{n}", page(extra="x" * 5000))) for n in range(1, PAGES + 1)]


def outcomes(fetcher: Any, *, on_wait: Callable[[], None] = lambda: None) -> Iterator[Any]:
    return fetcher.outcomes(on_wait=on_wait, patience=lambda: 1.0)  # type: ignore[no-any-return]


@pytest.mark.parametrize("room", [1, handover.LEAST_WEIGHT * 3, handover.HANDOVER_BYTES])
def test_every_page_comes_out_once_however_little_room_there_is(
    policy: AddressPolicy, requests: list[FetchRequest], monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(handover, "HANDOVER_BYTES", room)
    heaviest = 0

    with handover.Fetcher(policy, left_s=60.0) as fetcher:
        for request in requests:
            fetcher.add(request, 0.0)
        found = []
        for outcome in outcomes(fetcher):
            heaviest = max(heaviest, fetcher._weight)
            found.append(outcome.key)

    assert sorted(found) == [request.key for request in requests]
    assert heaviest <= room + handover.LEAST_WEIGHT + 20_000  # one page may be on top
    assert fetcher._weight == 0


def test_pages_may_be_added_while_others_come_out(policy: AddressPolicy, requests: list[FetchRequest]) -> None:
    more = list(requests)

    with handover.Fetcher(policy, left_s=60.0) as fetcher:
        fetcher.add(more.pop(), 0.0)
        found = []
        for outcome in outcomes(fetcher):
            assert isinstance(outcome, Capture)
            found.append(outcome.key)
            if more:
                fetcher.add(more.pop(), 0.0)

    assert sorted(found) == [request.key for request in requests]
    assert fetcher.pending == 0


def test_what_was_dropped_before_its_turn_does_not_come_out(
    policy: AddressPolicy, requests: list[FetchRequest]
) -> None:
    with handover.Fetcher(policy, left_s=60.0) as fetcher:
        fetcher.drop({1, 2, 3})
        fetcher.add(requests[3], 0.0)
        fetcher.add(requests[4], 0.0)
        fetcher.drop({5})
        found = {outcome.key for outcome in outcomes(fetcher)}

    assert found in ({4}, {4, 5})  # what was asked for already still comes
    assert fetcher.pending == 0


def test_nothing_comes_out_once_the_budget_is_used_up(policy: AddressPolicy, requests: list[FetchRequest]) -> None:
    with handover.Fetcher(policy, left_s=0.0) as fetcher:
        for request in requests:
            fetcher.add(request, 0.0)
        assert len(list(outcomes(fetcher))) < PAGES
        fetcher.add(requests[0], 0.0)
        assert list(outcomes(fetcher)) == []


def test_a_bug_in_the_loop_is_raised_where_outcomes_are_taken(
    policy: AddressPolicy, requests: list[FetchRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def page_badly(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(handover.PageFetcher, "page", page_badly)  # type: ignore[attr-defined]

    with handover.Fetcher(policy, left_s=60.0) as fetcher:
        fetcher.add(requests[0], 0.0)
        with pytest.raises(ZeroDivisionError):
            list(outcomes(fetcher))


def test_a_loop_that_cannot_begin_is_no_silence(
    policy: AddressPolicy, requests: list[FetchRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_certificates(*_: Any, **__: Any) -> Any:
        raise OSError("no certificate authorities")

    monkeypatch.setattr(handover, "PageFetcher", no_certificates)

    with handover.Fetcher(policy, left_s=60.0) as fetcher:
        fetcher._thread.join(timeout=10)
        with pytest.raises(OSError, match="no certificate"):
            fetcher.add(requests[0], 0.0)

"""A second vantage confirms a change, or shows that it is of one place only; what it can't tell is raised as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring.models import Change, Check, FieldChange, FieldRule, Monitor, MonitorMemory, Snapshot, Vantage
from monitoring.services import memories, places
from tests.factories import make_user
from tests.monitoring.conftest import later, visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_confirmation import codes
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

OLD = page()
NEW = page(clauses=[c.replace("do not sell", "may sell") for c in CLAUSES])
FRENCH = page(clauses=[f"Nous gardons ce que vous nous dites pendant une année, article {n}." for n in range(6)])


@pytest.fixture
def abroad(settings: Any) -> Iterator[LocalSite]:
    """The proxy of the second vantage, which shows its own country's page."""
    local = LocalSite()
    settings.TRUSTED_PROXIES = [local.address]
    yield local
    local.close()


@pytest.fixture
def both(watch: Watch, site: LocalSite, abroad: LocalSite) -> Callable[..., Monitor]:
    """A monitor of a page that two vantages see, read once."""

    def make(**extra: Any) -> Monitor:
        second = Vantage.objects.create(name="Vienna", country="AT", proxy_url=f"http://{abroad.address}")
        monitor = watch("/a", OLD, confirm_vantage=second, **extra)
        abroad.put(site.url("/a"), OLD)
        visit(monitor)
        assert not abroad.visits
        return monitor

    return make


def shows(site: LocalSite, here: str, abroad: LocalSite, there: str) -> None:
    site.put("/a", here)
    abroad.put(site.url("/a"), there)


def test_what_both_see_is_raised(both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite) -> None:
    monitor = both()
    shows(site, NEW, abroad, NEW)

    check = visit(monitor)

    assert check.outcome == "content"
    assert places.SAME in codes(check)
    assert abroad.visits[site.url("/a")] == 1
    assert Change.objects.get().new == monitor.baseline


def test_what_one_place_sees_alone_is_held_back_and_on_record(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both(interval_s=2 * 86_400)
    before = monitor.baseline
    shows(site, NEW, abroad, OLD)

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", places.REASON)
    assert places.OLD in codes(check)
    assert not Change.objects.exists()
    assert monitor.baseline == before
    kept = {snapshot.role: snapshot for snapshot in Snapshot.objects.exclude(pk=before.pk)}  # type: ignore[union-attr]
    assert set(kept) == {Snapshot.Role.NOISE, Snapshot.Role.VANTAGE}
    assert kept[Snapshot.Role.VANTAGE].vantage["name"] == "Vienna"
    assert monitor.plan_reason == "confirm"
    assert monitor.next_check_at is not None
    assert monitor.next_check_at <= timezone.now() + timedelta(hours=8)


def test_a_change_that_stays_is_raised_after_three_checks_whatever_the_other_place_shows(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, NEW, abroad, OLD)

    assert [visit(monitor).outcome for _ in range(3)] == ["noise", "noise", "content"]

    change = Change.objects.get()
    reason = next(reason for reason in change.reasons if reason["code"] == places.STILL_OLD)
    assert reason["data"] == {"vantage": "Vienna", "checks": 3}
    assert "may" in str(change.say)
    assert (monitor.suspect, monitor.suspect_count) == ("", 0)
    assert visit(monitor).outcome == "none"


def test_a_change_that_stays_for_a_day_is_raised(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, NEW, abroad, OLD)
    visit(monitor)
    later(monitor, "suspect_since", timedelta(hours=24))

    assert visit(monitor).outcome == "content"


def test_when_the_other_place_follows_it_is_raised_as_confirmed(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, NEW, abroad, OLD)
    visit(monitor)
    shows(site, NEW, abroad, NEW)

    check = visit(monitor)

    assert check.outcome == "content"
    assert places.SAME in codes(check)


def test_a_page_back_at_its_text_starts_the_count_anew(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, NEW, abroad, OLD)
    visit(monitor)
    visit(monitor)
    shows(site, OLD, abroad, OLD)
    assert visit(monitor).outcome == "none"
    shows(site, NEW, abroad, OLD)

    assert visit(monitor).outcome == "noise"


@pytest.mark.parametrize(
    ("there", "code"),
    [
        (FRENCH, places.OTHER),
        ("<title>Just a moment...</title><p>Checking your browser</p>", places.UNREACHED),
        (None, places.UNREACHED),
    ],
)
def test_what_the_other_place_cannot_tell_is_raised(
    there: str | None, code: str, both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    site.put("/a", NEW)
    abroad.pages[site.url("/a")] = Page(there.encode() if there else b"", status=200 if there else 502)

    check = visit(monitor)

    assert check.outcome == "content"
    assert code in codes(check)


def test_an_entry_that_goes_in_one_place_only_is_held_back(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, page(clauses=CLAUSES[1:]), abroad, OLD)
    assert visit(monitor).outcome == "noise"
    shows(site, page(clauses=CLAUSES[1:]), abroad, page(clauses=CLAUSES[1:]))

    assert visit(monitor).outcome == "content"


def test_the_memory_learns_nothing_of_what_is_held_back(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite
) -> None:
    monitor = both()
    shows(site, NEW, abroad, OLD)
    visit(monitor)
    visit(monitor)

    known = memories.load(monitor)

    assert not known.texts
    stored = MonitorMemory.objects.filter(monitor=monitor).first()
    if stored is not None:
        assert memories.rebuild(monitor.pk, until=stored.folded_check_no).to_bytes() == bytes(stored.data)
    assert not any(bytes(check.delta) for check in Check.objects.filter(reason=places.REASON))


def test_a_field_of_one_place_is_held_back_and_read_again(watch: Watch, site: LocalSite, abroad: LocalSite) -> None:
    def shop(price: str) -> str:
        return page(extra=f"<p class=price>{price}</p>")

    second = Vantage.objects.create(name="Vienna", country="AT", proxy_url=f"http://{abroad.address}")
    monitor = watch("/a", shop("EUR 10.00"), confirm_vantage=second)
    FieldRule.objects.create(monitor=monitor, name="price", source="css", selector=".price", type="price", review=True)
    visit(monitor)
    shows(site, shop("EUR 12.00"), abroad, shop("EUR 10.00"))

    check = visit(monitor)
    assert (check.outcome, check.reason) == ("noise", places.REASON)
    assert not FieldChange.objects.exists()

    shows(site, shop("EUR 12.00"), abroad, shop("EUR 12.00"))
    assert visit(monitor).outcome == "field"
    assert FieldChange.objects.get().text.startswith("price")


def test_without_a_second_vantage_nobody_else_is_asked(watch: Watch, site: LocalSite, abroad: LocalSite) -> None:
    monitor = watch("/a", OLD)
    visit(monitor)
    site.put("/a", NEW)

    assert visit(monitor).outcome == "content"
    assert not abroad.visits


def test_noise_asks_nobody_else(both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite) -> None:
    monitor = both()
    site.put("/a", page(head="<!-- 2 -->"))

    assert visit(monitor).outcome == "noise"
    assert not abroad.visits


def test_when_no_time_is_left_the_change_is_raised(
    both: Callable[..., Monitor], site: LocalSite, abroad: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    from monitoring.services import capture

    monitor = both()
    shows(site, NEW, abroad, OLD)
    monkeypatch.setattr(capture, "REQUEST_S", 10_000.0)

    check = visit(monitor)

    assert check.outcome == "content"
    assert places.UNREACHED in codes(check)


def test_a_vantage_cannot_confirm_itself(watch: Watch, site: LocalSite) -> None:
    from django.core.exceptions import ValidationError

    from monitoring.services import monitors

    monitor = watch("/a", OLD)

    with pytest.raises(ValidationError, match="anyway"):
        monitors.change_settings(monitor, {"confirm_vantage": monitor.vantage}, actor=make_user(role="admin"))

"""What a visit leads to, rule by rule, with a real fetch from a local site."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitoring.models import Change, Check, Monitor, MonitorState, Snapshot
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

CLAUSES = [
    "We collect the name and the address that you give us when you open an account with our library.",
    "We do not sell personal data to third parties, and we do not share it with advertising networks.",
    "Your data is kept for twelve months after the account has been closed and is deleted after that.",
    "You may ask for a copy of everything we hold about you at any time by writing to the data office.",
    "Requests are answered within thirty days and free of charge unless they are repeated without cause.",
    "Changes to this notice are announced on this page at least two weeks before they come into force.",
]


def page(*, clauses: list[str] | None = None, extra: str = "", head: str = "") -> str:
    """A fictional privacy notice."""
    paragraphs = "".join(f"<p>{clause}</p>" for clause in clauses or CLAUSES)
    return (
        f"<!doctype html><html lang=en><head><title>Privacy notice</title>{head}</head><body>"
        f"<nav><a href=/>Home</a> <a href=/books>Books</a></nav><main><h1>Privacy notice</h1>{paragraphs}</main>"
        f"{extra}<footer><p>Halden Library, 4 Quay Street</p></footer></body></html>"
    )


def test_first_good_capture_becomes_the_baseline(watch: Watch) -> None:
    monitor = watch("/a", page())

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("none", "first-capture")
    assert monitor.state == MonitorState.OK
    assert monitor.baseline is not None
    assert monitor.baseline.role == Snapshot.Role.BASELINE


def test_the_same_bytes_twice_are_none(watch: Watch) -> None:
    monitor = watch("/a", page())
    visit(monitor)

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("none", "same-bytes")
    assert Snapshot.objects.count() == 1


def test_a_new_nonce_is_noise_without_a_stored_copy(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(head="<script nonce=a1>x=1</script>"))
    visit(monitor)
    site.put("/a", page(head="<script nonce=b2>x=2</script>"))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "markup-only")
    assert Snapshot.objects.count() == 1


def test_a_removed_not_opens_a_change_with_its_diff(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    before = monitor.baseline
    site.put("/a", page(clauses=[c.replace("do not sell", "sell") for c in CLAUSES]))

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "content"
    assert change.prior == before
    assert change.new == monitor.baseline
    assert change.new != before
    assert ["-", "do not sell"] in change.say or any("not" in s[1] for s in change.say if s[0] == "-")
    assert change.priority >= 2


def test_every_visit_has_its_row(watch: Watch) -> None:
    monitor = watch("/a", page())

    for _ in range(3):
        visit(monitor)

    assert list(Check.objects.order_by("check_no").values_list("check_no", flat=True)) == [1, 2, 3]

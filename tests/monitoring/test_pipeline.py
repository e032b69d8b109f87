"""What a visit leads to, rule by rule, with a real fetch from a local site."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring import storage
from monitoring.models import Change, Check, Monitor, MonitorMemory, MonitorState, Payload, Snapshot
from monitoring.services import changes, memories, monitors, record
from tests.factories import make_page_type, make_user
from tests.monitoring.conftest import later, visit
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
    monitor = watch("/a", page(head="<script nonce=a1a1a1a1>x=1</script>"))
    visit(monitor)
    site.put("/a", page(head="<script nonce=b2b2b2b2>x=1</script>"))

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


# -- conditions and bytes ----------------------------------------------------------------


def test_validators_of_the_baseline_are_sent_and_a_304_is_none(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a")
    site.put("/a", page(), ETag='"v1"')
    visit(monitor)

    check = visit(monitor)

    assert site.asked["/a"]["if-none-match"] == '"v1"'
    assert (check.outcome, check.reason, check.not_modified) == ("none", "not-modified", True)


def test_validators_of_a_noisy_capture_are_not_taken_over(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a")
    site.put("/a", page(), ETag='"v1"')
    visit(monitor)
    site.put("/a", page(head="<script>2</script>"), ETag='"v2"')
    visit(monitor)

    visit(monitor)

    assert site.asked["/a"]["if-none-match"] == '"v1"'


def test_each_twentieth_visit_does_not_believe_a_304(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a")
    site.put("/a", page(), ETag='"v1"')
    visit(monitor)
    Monitor.objects.update(check_no=19)

    check = visit(monitor)

    assert "if-none-match" not in site.asked["/a"]
    assert check.reason == "same-bytes"


def test_language_and_user_agent_are_the_same_at_every_visit(watch: Watch, site: LocalSite, settings: Any) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    first = dict(site.asked["/a"])
    visit(monitor)

    assert site.asked["/a"]["user-agent"] == first["user-agent"] == settings.USER_AGENT
    assert site.asked["/a"]["accept-language"] == first["accept-language"] == monitor.vantage.language


# -- what is never compared --------------------------------------------------------------

BLOCK_PAGE = (
    "<html><head><title>Access denied</title></head><body><h1>Access denied</h1>"
    "<p>You do not have permission to access this page. Reference 18.2f.</p></body></html>"
)


def test_a_block_page_first_never_becomes_the_baseline(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a")
    site.put("/a", BLOCK_PAGE, status=403)

    check = visit(monitor)

    assert check.outcome == "blocked"
    assert monitor.state == MonitorState.UNREAD
    assert monitor.baseline is None
    site.put("/a", page())
    assert visit(monitor).reason == "first-capture"


def test_a_block_page_is_not_compared_and_kept_once_a_day(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    before = monitor.baseline
    site.put("/a", BLOCK_PAGE, status=403)

    visit(monitor)
    visit(monitor)

    assert monitor.state == MonitorState.BLOCKED
    assert monitor.baseline == before
    assert not Change.objects.exists()
    assert Snapshot.objects.filter(role=Snapshot.Role.BLOCKED).count() == 1


def test_after_a_block_the_page_is_compared_with_the_last_good_capture(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", BLOCK_PAGE, status=403)
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))

    check = visit(monitor)

    assert check.outcome == "content"
    assert monitor.state == MonitorState.OK


def test_a_page_that_lost_nearly_everything_is_doubted_but_not_for_ever(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(clauses=CLAUSES * 3))
    visit(monitor)
    site.put("/a", page(clauses=["We no longer hold anything about you."]))

    assert visit(monitor).outcome == "blocked"
    visit(monitor)
    assert monitor.suspect_count == 2
    later(monitor, "suspect_since", timedelta(hours=24))
    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "content"
    assert "blocked-before" in change.flags
    assert change.diff["counts"]["removed"] + change.diff["counts"].get("rewritten", 0) > 10
    assert (monitor.state, monitor.suspect_count) == (MonitorState.OK, 0)


def test_a_refused_address_is_an_error_of_policy(watch: Watch) -> None:
    monitor = watch("/a")
    Monitor.objects.update(url="http://10.0.0.1/x")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "refused-by-policy")
    assert monitor.fail_no == 1


def test_failures_back_off_and_never_beyond_the_interval(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", interval_s=1200)
    site.put("/a", "<p>oops</p>", status=500)
    waits = []

    for _ in range(4):
        visit(monitor)
        assert monitor.next_check_at is not None
        waits.append(round((monitor.next_check_at - timezone.now()).total_seconds() / 60))

    assert waits == [5, 10, 20, 20]
    assert monitor.plan_reason == "retry"


def test_retry_after_is_respected(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", interval_s=600)
    site.put("/a", "<h1>Too many requests</h1>", status=429, Retry_After="7200")

    visit(monitor)

    assert monitor.next_check_at is not None
    assert monitor.next_check_at > timezone.now() + timedelta(minutes=110)


# -- noise -------------------------------------------------------------------------------


def test_noise_never_moves_the_baseline(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra="<p>Updated 3 minutes ago</p>"))
    visit(monitor)
    before = monitor.baseline
    site.put("/a", page(extra="<p>Updated 9 minutes ago</p>"))

    check = visit(monitor)

    assert check.outcome == "noise"
    assert check.distance is not None
    assert check.visible_difference
    assert monitor.baseline == before
    kept = Snapshot.objects.get(role=Snapshot.Role.NOISE)
    assert kept.expires_at is not None
    assert kept.expires_at - timezone.now() > timedelta(days=13)


def test_fifty_noise_sized_edits_to_one_clause_surface(watch: Watch, site: LocalSite) -> None:
    words = CLAUSES[2].split()
    monitor = watch("/a", page())
    visit(monitor)

    for edit in range(50):
        words[edit % len(words)] += "e"
        site.put("/a", page(clauses=[*CLAUSES[:2], " ".join(words), *CLAUSES[3:]]))
        visit(monitor)

    assert Change.objects.exists()


def test_noise_snapshots_are_bounded_per_monitor(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra="<p>Updated 90 minutes ago</p>"))
    visit(monitor)
    for second in range(1, 25):
        site.put("/a", page(extra=f"<p>Updated {second} minutes ago</p>"))
        visit(monitor)

    kept = Snapshot.objects.filter(role=Snapshot.Role.NOISE)
    assert kept.count() == 24
    assert kept.filter(expires_at__gt=timezone.now()).count() == 20


def test_a_share_of_noise_goes_to_the_queue_as_an_audit_sample(watch: Watch, site: LocalSite) -> None:
    monitor = watch(
        "/a", page(extra="<p>Updated 3 minutes ago</p>"), page_type=make_page_type("audited", audit_share=1.0)
    )
    visit(monitor)
    before = monitor.baseline
    site.put("/a", page(extra="<p>Updated 9 minutes ago</p>"))

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "noise"
    assert (change.kind, change.priority) == (Change.Kind.AUDIT, 0)
    assert monitor.baseline == before


def test_an_audit_snapshot_is_kept_after_thirty_days(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a")
    site.put("/a", page(), ETag='"v1"')
    visit(monitor)
    later(monitor, "last_audit_at", timedelta(days=31))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("none", "same-bytes")
    assert Snapshot.objects.get(role=Snapshot.Role.AUDIT).payload == monitor.baseline.payload  # type: ignore[union-attr]
    assert Payload.objects.count() == 1
    assert visit(monitor).not_modified


# -- the queue ---------------------------------------------------------------------------


def test_a_newer_change_folds_into_the_one_that_waits(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    visit(monitor)
    first = Change.objects.get()
    site.put("/a", page(clauses=CLAUSES[2:]))

    visit(monitor)

    change = Change.objects.get()
    assert (change.version, change.folded) == (2, 1)
    assert change.prior == first.prior
    assert change.new == monitor.baseline
    assert change.diff["counts"]["removed"] == 2
    assert change.diff_hash != first.diff_hash
    assert first.new is not None
    assert Snapshot.objects.filter(pk=first.new.pk).exists()


def test_what_a_change_showed_before_a_fold_is_kept_beside_it(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    visit(monitor)
    first = Change.objects.get()
    site.put("/a", page(clauses=CLAUSES[2:]))

    visit(monitor)

    earlier = first.earlier_diffs.get()
    assert (earlier.version, earlier.diff, earlier.removed) == (1, first.diff, first.removed)


def test_of_many_folds_the_newest_diffs_are_kept(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    for number in range(record.EARLIER_DIFFS + 3):
        visit(monitor)
        site.put("/a", page(clauses=[*CLAUSES, f"Annex {number} is part of this notice and binds both of us."]))
    visit(monitor)

    change = Change.objects.get()
    assert [one.version for one in change.earlier_diffs.all()] == list(range(change.version - 1, 2, -1))
    assert change.earlier_diffs.count() == record.EARLIER_DIFFS


def test_a_page_back_at_its_prior_text_keeps_the_evidence_in_one_item(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    visit(monitor)
    first = Change.objects.get()
    site.put("/a", page())

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "content"
    assert check.reason == "return"
    assert "Back to the text of" in check.detail
    assert change.diff == first.diff
    assert "returned" in change.flags
    assert (change.version, change.folded) == (2, 1)


def test_a_change_asleep_until_the_page_changes_wakes(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    visit(monitor)
    change = Change.objects.get()
    assert changes.snooze_change(change.pk, version=1, until=None, now=timezone.now())
    site.put("/a", page(clauses=CLAUSES[2:]))

    visit(monitor)

    change.refresh_from_db()
    assert change.state == Change.State.OPEN


def test_after_a_verdict_the_next_change_is_a_new_item(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    visit(monitor)
    first = Change.objects.get()
    assert changes.close_change(first.pk, version=1, state=Change.State.APPROVED, now=timezone.now())
    site.put("/a", page(clauses=CLAUSES[2:]))

    visit(monitor)

    second = Change.objects.latest("pk")
    assert second != first
    assert second.prior == first.new
    assert second.diff["counts"]["removed"] == 1


# -- gone and moved ----------------------------------------------------------------------


def test_a_page_gone_for_a_day_opens_a_change_without_a_diff(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    before = monitor.baseline
    site.put("/a", "<h1>Not found</h1>", status=404)
    for _ in range(3):
        assert visit(monitor).outcome == "gone"
    assert not Change.objects.exists()
    later(monitor, "suspect_since", timedelta(hours=24))

    visit(monitor)
    visit(monitor)

    change = Change.objects.get()
    assert (change.kind, change.prior, change.new, change.diff) == (Change.Kind.GONE, before, None, {})
    assert monitor.state == MonitorState.GONE


def test_a_page_that_leads_to_the_home_page_for_a_day_is_gone(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/terms/a", page())
    visit(monitor)
    site.put("/terms/a", "", status=302, Location="/")
    home = "".join(f"<p>Welcome to our library, reading room {n} is open to you every day.</p>" for n in range(9))
    site.put("/", f"<title>Halden Library</title><main>{home}</main>")

    check = visit(monitor)
    assert (check.outcome, check.reason) == ("gone", "redirect-home")
    visit(monitor)
    later(monitor, "suspect_since", timedelta(hours=24))
    visit(monitor)

    change = Change.objects.get()
    assert (change.kind, change.new, change.diff) == (Change.Kind.GONE, None, {})
    assert monitor.state == MonitorState.GONE


def test_one_good_visit_forgets_the_suspicion(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", "<h1>Not found</h1>", status=404)
    visit(monitor)
    site.put("/a", page())
    visit(monitor)

    assert (monitor.suspect, monitor.suspect_count, monitor.suspect_since) == ("", 0, None)


def test_sample_pages_are_believed_gone_after_two_visits(watch: Watch, site: LocalSite, settings: Any) -> None:
    settings.SAMPLE_ORIGIN = f"http://{site.address}"
    monitor = watch("/sample/a/", page(), is_sample=True)
    visit(monitor)
    site.put("/sample/a/", "<h1>Not found</h1>", status=404)

    visit(monitor)
    visit(monitor)

    assert Change.objects.get().kind == Change.Kind.GONE


def test_a_new_final_host_opens_a_change_once_it_has_held(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    before = monitor.baseline
    Snapshot.objects.update(final_url="https://halden.example/a")
    site.put("/a", page(clauses=["We sell lamps, and what was here about the library is somewhere else."] * 6))

    check = visit(monitor)
    assert (check.outcome, check.reason) == ("error", "redirect-changed")
    assert monitor.baseline == before
    visit(monitor)
    later(monitor, "suspect_since", timedelta(hours=24))
    visit(monitor)

    change = Change.objects.get()
    assert (change.kind, change.prior, change.diff) == (Change.Kind.REDIRECT, before, {})
    assert monitor.baseline == change.new


def test_the_same_text_from_a_new_host_is_noise_until_it_has_held(watch: Watch) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    Snapshot.objects.update(final_url="https://halden.example/a")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "redirect-changed")
    assert monitor.suspect_count == 1


# -- our own changes ---------------------------------------------------------------------


def test_a_changed_selector_starts_a_new_baseline_and_opens_nothing(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    monitors.change_settings(monitor, {"main_selector": "footer"}, actor=make_user(), now=timezone.now())
    site.put("/a", page(clauses=CLAUSES[1:]))

    check = visit(monitor)

    assert (check.outcome, check.reason, check.detail) == ("none", "our-change", "main region changed")
    assert not Change.objects.exists()
    assert monitor.rebaseline == ""
    assert monitor.baseline is not None
    assert monitor.baseline.region_path != ""


def test_another_detector_version_starts_a_new_baseline(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    Snapshot.objects.update(detector_version="old")

    check = visit(monitor)

    assert (check.reason, check.detail) == ("our-change", "detector version")


def test_a_damaged_baseline_does_not_end_the_watch(
    watch: Watch, site: LocalSite, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    assert monitor.baseline is not None
    storage.path_of(monitor.baseline.payload).write_bytes(b"junk")
    site.put("/a", page(clauses=CLAUSES[1:]))

    check = visit(monitor)

    assert (check.outcome, check.reason, check.detail) == ("none", "our-change", "baseline damaged")
    assert "its baseline is damaged" in caplog.text
    site.put("/a", page(clauses=CLAUSES[2:]))
    assert visit(monitor).outcome == "content"


# -- memory ------------------------------------------------------------------------------


def test_memory_rebuilt_from_checks_is_the_stored_one(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra="<p>Updated 90 minutes ago</p>"))
    visit(monitor)
    for n, clauses in enumerate([CLAUSES, CLAUSES, CLAUSES[1:], CLAUSES[1:], CLAUSES, CLAUSES[2:]]):
        site.put(
            "/a", page(clauses=clauses, extra=f"<p>Updated {n // 2 + 2} minutes ago</p>", head=f"<script>{n}</script>")
        )
        visit(monitor)

    stored = MonitorMemory.objects.get(monitor=monitor)
    rebuilt = memories.rebuild(monitor.pk, until=stored.folded_check_no)

    assert rebuilt.to_bytes() == bytes(stored.data)
    assert memories.load(monitor) == memories.rebuild(monitor.pk)
    assert rebuilt.visits >= 5


# -- what is stored ----------------------------------------------------------------------


def test_a_snapshot_keeps_what_proof_will_need(watch: Watch, site: LocalSite) -> None:
    site.put("/b", page(), X_Served_By="test")
    monitor = watch("/a")
    site.put("/a", "", status=301, Location="/b")

    visit(monitor)

    kept = Snapshot.objects.get()
    assert storage.get(kept.payload) == page().encode()
    assert kept.final_url == site.url("/b")
    assert [hop["status"] for hop in kept.redirects] == [301]
    assert ["X-Served-By", "test"] in kept.headers
    assert kept.peer_address == "127.0.0.1"
    assert (kept.status, kept.charset, kept.language, kept.title) == (200, "utf-8", "en", "Privacy notice")


def test_a_file_that_is_no_text_is_compared_by_its_digest(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a.zip")
    site.put("/a.zip", "PK\x03\x04 first edition", Content_Type="application/zip")
    visit(monitor)
    assert visit(monitor).outcome == "none"
    site.put("/a.zip", "PK\x03\x04 second edition", Content_Type="application/zip")

    check = visit(monitor)

    assert check.outcome == "content"
    assert Change.objects.get().places == 1


# -- the main region ---------------------------------------------------------------------


def test_a_main_text_that_only_stands_elsewhere_is_no_change_and_says_so(watch: Watch, site: LocalSite) -> None:
    paragraphs = "".join(f"<p>{clause}</p>" for clause in CLAUSES)
    frame = (
        "<!doctype html><html lang=en><title>Notice</title><body>{}<footer><p>Halden Library</p></footer></body></html>"
    )
    monitor = watch("/a", frame.format(f"<div id=notice class=text>{paragraphs}</div><p>Read 5 minutes ago</p>"))
    visit(monitor)
    sheet = f"<section class=sheet><article>{paragraphs}</article></section>"
    site.put("/a", frame.format(f"{sheet}<p>Read 6 minutes ago</p>"))

    check = visit(monitor)

    assert check.outcome == "noise"
    assert "region-moved" in {reason["code"] for reason in check.reasons}
    assert not Change.objects.exists()


def test_a_clause_that_changed_while_the_main_text_moved_is_the_only_place(watch: Watch, site: LocalSite) -> None:
    frame = (
        "<!doctype html><html lang=en><title>Notice</title><body>{}<footer><p>Halden Library</p></footer></body></html>"
    )
    paragraphs = [f"<p>{clause}</p>" for clause in CLAUSES]
    monitor = watch("/a", frame.format(f"<div id=notice class=text>{''.join(paragraphs)}</div>"))
    visit(monitor)
    paragraphs[1] = paragraphs[1].replace("do not sell", "sell")
    site.put("/a", frame.format(f"<section class=sheet><article>{''.join(paragraphs)}</article></section>"))

    check = visit(monitor)

    assert check.outcome == "content"
    assert Change.objects.get().places == 1
    assert "region-moved" in {reason["code"] for reason in check.reasons}


# -- coming and going --------------------------------------------------------------------


def test_a_page_that_comes_and_goes_is_one_open_item_with_a_count(watch: Watch, site: LocalSite) -> None:
    other = page(clauses=[clause.replace("do not sell", "sell") for clause in CLAUSES])
    monitor = watch("/a", page())
    visit(monitor)

    for html in (other, page(), other, page()):
        site.put("/a", html)
        visit(monitor)

    change = Change.objects.get()
    assert (change.state, change.folded, change.returns) == ("open", 3, 2)
    assert "returned" in change.flags
    assert monitor.baseline is not None
    assert change.prior.text_hash == monitor.baseline.text_hash


def test_a_return_names_the_day_of_the_text_it_goes_back_to(watch: Watch, site: LocalSite) -> None:
    other = page(clauses=[clause.replace("do not sell", "sell") for clause in CLAUSES])
    monitor = watch("/a", page())
    first = visit(monitor)
    for html in (other, page()):
        site.put("/a", html)
        visit(monitor)
        Change.objects.filter(state="open").update(state="dismissed")

    back = Change.objects.order_by("-pk")[0]

    reason = next(reason for reason in back.reasons if reason["code"] == "return")
    assert reason["data"]["date"] == first.started_at.date().isoformat()

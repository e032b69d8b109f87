"""Proposals: what they may never do, and what they do with plain evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.calibrating.evidence import Sample, approvals, bits_of_a_word, quiet_threshold, standing_apart
from monitoring.calibrating.proposal import AUDITED, propose
from monitoring.calibrating.whatif import Stored, curve, what_if
from monitoring.detection.judgement import is_content

SCORES = st.floats(0.01, 1.0)


@st.composite
def samples(draw: st.DrawFn, *, approved: bool | None = None) -> Sample:
    score = draw(SCORES)
    return Sample(
        score=score,
        distance=draw(st.integers(0, 40)),
        approved=draw(st.booleans()) if approved is None else approved,
        main=draw(st.one_of(st.none(), st.floats(0.0, score))),
        audit=draw(st.booleans()),
        share=draw(st.sampled_from([1.0, 0.1, 0.02])),
        second=draw(st.sampled_from([None, True, False])),
        short=draw(st.booleans()),
        key=draw(st.integers(1, 10**6)),
    )


def content(s: Sample, cut: float, threshold: int) -> bool:
    return is_content(s.score, s.distance, s.main or 0.0, cut=cut, threshold=threshold)


def approval(score: float, **more: object) -> Sample:
    return replace(Sample(score, 5, approved=True, main=score), **more)  # type: ignore[arg-type]


def dismissal(score: float, **more: object) -> Sample:
    return replace(approval(score, **more), approved=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(samples(), min_size=1, max_size=25), SCORES, st.integers(0, 30))
def test_no_step_loses_a_binding_approval(found: list[Sample], cut: float, threshold: int) -> None:
    proposal = propose(found, cut=cut, threshold=threshold)

    for s in approvals(found, cut).binding:
        if content(s, cut, threshold):
            assert content(s, proposal.cut, proposal.threshold)


@settings(max_examples=40, deadline=None)
@given(st.lists(samples(), min_size=2, max_size=20), st.lists(samples(approved=False), max_size=30), SCORES)
def test_nobody_raises_a_cut_past_an_approved_change_by_dismissing(
    found: list[Sample], more: list[Sample], cut: float
) -> None:
    proposal = propose([*found, *more], cut=cut, threshold=3)

    for s in approvals(found, cut).firm:
        if content(s, cut, 3):
            assert content(s, proposal.cut, proposal.threshold)


@settings(max_examples=40, deadline=None)
@given(st.lists(samples(), max_size=30), SCORES, st.integers(0, 30))
def test_a_raised_cut_stays_under_95_percent_of_what_counts_on_it(
    found: list[Sample], cut: float, threshold: int
) -> None:
    proposal = propose(found, cut=cut, threshold=threshold)

    if proposal.cut > cut:
        for s in approvals(found, cut).binding:
            assert proposal.cut <= s.lost_at(proposal.threshold, margin=0.95) + 1e-9


def test_a_threshold_does_not_pass_the_approval_of_a_short_page() -> None:
    short = replace(approval(0.25), distance=4, short=True)
    far = replace(dismissal(0.25), distance=4, main=None)

    proposal = propose([dismissal(1.0, distance=0)] * 5 + [far, short], cut=0.5, threshold=3)

    assert short.queued(0.5, 3)
    assert short.queued(proposal.cut, proposal.threshold)


def test_false_alarms_below_the_approvals_are_cut_off() -> None:
    found = [approval(0.8)] * 30 + [dismissal(0.3), dismissal(0.42)] * 15

    proposal = propose(found, cut=0.2, threshold=9)

    assert 0.42 < proposal.cut < 0.76
    assert (proposal.between.seen, proposal.between.approved) == (30, 0)
    assert proposal.between.upper == pytest.approx(3 / 30, rel=0.06)


def test_a_dismissal_beside_approvals_is_not_worth_their_risk() -> None:
    found = [approval(0.8)] * 30 + [dismissal(0.3)] * 29 + [dismissal(0.75)]

    assert propose(found, cut=0.2, threshold=9).cut < 0.5


def test_without_an_audit_the_cut_is_not_lowered_and_it_is_said() -> None:
    proposal = propose([approval(0.51)] * 30 + [dismissal(0.7)] * 30, cut=0.5, threshold=9)

    assert not proposal.moves
    assert [note.code for note in proposal.notes] == ["audit-needed"]


def test_an_approved_audit_sample_pulls_the_cut_down() -> None:
    missed = [approval(0.4 + n / 100, audit=True, share=0.1) for n in range(5)]
    found = [approval(0.9)] * 30 + missed + [dismissal(0.1, audit=True, share=0.1)] * 20

    proposal = propose(found, cut=0.8, threshold=9)

    assert 0.1 < proposal.cut <= 0.95 * 0.4
    assert proposal.between.more_found[0] == 50
    assert proposal.between.more_found[1] < 50 < proposal.between.more_found[2]


def test_enough_dismissed_audit_samples_let_the_margin_be_kept() -> None:
    found = [approval(0.51)] * 30 + [dismissal(0.49, audit=True, share=0.1)] * AUDITED

    assert propose(found, cut=0.5, threshold=9).cut == pytest.approx(0.484)


def test_an_approval_far_below_all_others_asks_before_it_binds() -> None:
    odd = approval(0.3, key=7)
    found = [approval(0.9)] * 30 + [odd] + [dismissal(0.5)] * 30

    pending = propose(found, cut=0.25, threshold=9)
    agreed = propose([*found[:30], replace(odd, second=True), *found[31:]], cut=0.25, threshold=9)
    denied = propose([*found[:30], replace(odd, second=False), *found[31:]], cut=0.25, threshold=9)

    assert pending.cut <= 0.3
    assert pending.notes[0].data == {"changes": [7]}
    assert agreed.cut <= 0.3
    assert denied.cut > 0.5
    assert denied.notes[0].code == "contested"


def test_a_pending_approval_of_the_audit_lowers_nothing() -> None:
    odd = approval(0.3, audit=True, share=0.1)
    found = [approval(0.9)] * 30 + [odd] + [dismissal(0.7)] * 30

    assert propose(found, cut=0.6, threshold=9).cut >= 0.6
    assert propose([*found, replace(odd, second=True, key=1)], cut=0.6, threshold=9).cut < 0.3


def test_an_approved_audit_sample_far_below_the_cut_asks_before_everything_is_let_through() -> None:
    slips = [approval(0.001 * n, audit=True, share=0.05, key=n) for n in range(6)]
    found = [approval(0.9)] * 30 + [dismissal(0.2, audit=True, share=0.05)] * 30

    asked = propose([*found, *slips], cut=0.5, threshold=9)
    agreed = propose([*found, *(replace(s, second=True) for s in slips)], cut=0.5, threshold=9)

    assert (asked.cut, asked.notes[0].code) == (0.5, "second-opinion")
    assert agreed.cut == 0.0


def test_several_low_approvals_do_not_stand_apart() -> None:
    assert standing_apart([approval(0.9)] * 20 + [approval(0.3, key=n) for n in range(3)]) == []
    assert len(standing_apart([approval(0.9)] * 40 + [approval(0.3, key=n) for n in range(2)])) == 2


def test_approvals_by_distance_bind_the_threshold() -> None:
    by_distance = approval(0.4, distance=20)
    found = [approval(0.9)] * 30 + [by_distance] * 5 + [dismissal(0.45, distance=d) for d in (10, 12, 25)] * 10

    proposal = propose(found, cut=0.5, threshold=8)

    assert proposal.threshold == 12
    assert content(by_distance, proposal.cut, proposal.threshold)


def test_a_short_page_says_nothing_of_the_threshold() -> None:
    short = approval(0.4, distance=20, short=True)

    assert short.lost_at(3) == 0.4
    assert approval(0.4, distance=20).lost_at(3) == 0.8


def test_below_the_quiet_noise_is_said() -> None:
    proposal = propose([approval(0.9)] * 3, cut=0.5, threshold=3, quiet=[0, 2, 9, 5])

    assert proposal.notes[0].code == "below-quiet"
    assert proposal.notes[0].data == {"monitors": 2, "of": 4, "largest": 9}


def test_one_word_moves_short_pages_more() -> None:
    assert bits_of_a_word(1000) == pytest.approx(1.58, abs=0.02)
    assert bits_of_a_word(30) > 9
    assert quiet_threshold([0, 1], words=1000) == 2
    assert quiet_threshold([0, 1], words=30) == 10
    assert quiet_threshold([64]) == 64


def test_what_a_cut_would_have_done() -> None:
    found = [approval(0.9, key=1), approval(0.4, key=2), dismissal(0.3), dismissal(0.6), dismissal(0.1, audit=True)]

    effect = what_if(
        found, cut=0.5, threshold=9, weeks=2, noise=[Stored(0.55, 0), Stored(0.2, 30, 0.2)], noise_weeks=0.5
    )

    assert (effect.kept, effect.missed, effect.missed_keys) == (1, 1, (2,))
    assert (effect.spared, effect.stayed) == (1, 1)
    assert effect.per_week == 2 / 2 + 1 / 0.5
    assert effect.precision == 0.5


def test_the_curve_falls_from_everything_to_nothing() -> None:
    rows = curve([approval(0.9), dismissal(0.3)], threshold=9, points=10)

    assert rows[0] == (0.0, 1.0, 1.0)
    assert rows[5] == (0.5, 1.0, 0.0)
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)

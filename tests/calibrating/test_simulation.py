"""A short form of `make calibrate-sim`: our own pages, few installations."""

from __future__ import annotations

import pytest

from tests.calibrating.simulation import figures
from tests.calibrating.simulation.figures import Figure, Pool


@pytest.fixture(scope="module")
def pools() -> tuple[Pool, Pool]:
    return figures.synthetic_pools(12)


def reached(found: list[Figure]) -> None:
    assert [figure.words for figure in found if not figure.ok] == []


def test_from_a_low_cut_false_alarms_go_and_changes_stay(pools: tuple[Pool, Pool]) -> None:
    reached(figures.from_low(pools[1], 2))


def test_from_a_high_cut_the_audit_sample_finds_the_loss(pools: tuple[Pool, Pool]) -> None:
    reached(figures.from_high(pools[1], 2))


def test_wrong_verdicts_cost_no_recall(pools: tuple[Pool, Pool]) -> None:
    reached(figures.from_low(pools[1], 2, error=0.1))


def test_noise_that_doubles_is_learned(pools: tuple[Pool, Pool]) -> None:
    reached(figures.noise_doubles(pools[0], 2, pools[1]))


def test_dismissing_everything_loses_no_approved_change(pools: tuple[Pool, Pool]) -> None:
    reached(figures.nobody_blunts(pools[1], 1))


def test_the_audit_sample_covers_what_is_missed(pools: tuple[Pool, Pool]) -> None:
    reached(figures.coverage(pools[1], 100, 400))


def test_without_calibration_the_figures_are_missed(pools: tuple[Pool, Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.calibrating.simulation.install.Installation.calibrate", lambda self: None)

    assert not figures.from_low(pools[1], 1)[0].ok
    assert not figures.from_high(pools[1], 1)[0].ok
    assert not figures.noise_doubles(pools[0], 1, pools[1])[0].ok

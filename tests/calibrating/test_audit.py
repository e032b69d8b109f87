"""The estimate of what is missed, and that its interval holds."""

from __future__ import annotations

import random

import pytest

from monitoring.calibrating.audit import Stratum, missed


def test_each_sample_stands_for_as_many_as_its_share_says() -> None:
    found = missed([Stratum(0.1, sampled=50, decided=50, approved=2)], found=80)

    assert found.total == pytest.approx(20)
    assert found.rate == pytest.approx(0.2)
    assert found.rate_low < 0.05
    assert found.rate_high > 0.4


def test_samples_that_wait_are_taken_to_be_like_the_others() -> None:
    assert missed([Stratum(0.1, sampled=50, decided=25, approved=2)], found=80).total == pytest.approx(40)


def test_nothing_audited_is_nothing_known() -> None:
    found = missed([], found=3)

    assert found.rate is None
    assert missed([Stratum(0.1, 30, 30, 0)], found=300).rate_high == pytest.approx(36.9 / 336.9, rel=1e-2)


def test_the_interval_holds_the_true_rate() -> None:
    chance, held = random.Random(4), 0
    for _ in range(200):
        strata, lost, found = [], 0, 0
        for share in (0.01, 0.05, 0.2):
            noise, real = chance.randrange(500, 3000), chance.randrange(40)
            sampled = sum(chance.random() < share for _ in range(noise))
            hits = sum(chance.random() < share for _ in range(real))
            strata.append(Stratum(share, sampled + hits, sampled + hits, hits))
            lost, found = lost + real, found + chance.randrange(200)
        estimate = missed(strata, found=found)
        held += estimate.rate_low <= lost / max(1, lost + found) <= estimate.rate_high

    assert held >= 190


def test_a_population_without_a_sample_widens_the_interval() -> None:
    known = missed([Stratum(0.1, 30, 30, 0)], found=300)

    assert missed([Stratum(0.1, 30, 30, 0), Stratum(0.01, 0, 0, 0)], found=300).rate_high > 5 * known.rate_high

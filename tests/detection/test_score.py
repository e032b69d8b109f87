"""The substance model and its fitting."""

from __future__ import annotations

import pytest

from monitoring.detection.fit import Bag, fit
from monitoring.detection.score import FEATURES, WEIGHTS, Weights, combined


def test_the_shipped_weights_name_known_features_only() -> None:
    assert set(WEIGHTS.by_name) <= set(FEATURES)
    assert WEIGHTS.version >= 1


def test_a_score_is_a_share() -> None:
    assert Weights(1, {"bias": 1000.0}).of({"bias": 1.0}) <= 1.0
    assert Weights(1, {"bias": -1000.0}).of({"bias": 1.0}) >= 0.0
    assert Weights(1, {}).of({"bias": 1.0}) == 0.5


@pytest.mark.parametrize(("scores", "low", "high"), [([], 0, 0), ([0.4], 0.4, 0.4), ([0.9, 0.9], 0.9, 0.95)])
def test_the_strongest_edit_leads(scores: list[float], low: float, high: float) -> None:
    assert low <= combined(scores) <= high


def test_forty_menu_entries_do_not_add_up_to_a_change() -> None:
    assert combined([0.3] * 40) < 0.5


def test_fitting_learns_what_separates_the_pairs() -> None:
    bags = [Bag(({"bias": 1.0, "main": 1.0}, {"bias": 1.0}), is_content=True)] * 30
    bags += [Bag(({"bias": 1.0},), is_content=False)] * 30

    weights = Weights(1, fit(bags, {}, ("bias", "main"), pull=0.1))

    assert weights.of({"bias": 1.0, "main": 1.0}) > 0.5 > weights.of({"bias": 1.0})


def test_a_feature_the_pairs_do_not_show_keeps_its_weight() -> None:
    bags = [Bag(({"bias": 1.0},), is_content=True)] * 5

    assert fit(bags, {"money": 1.5}, ("bias", "money"))["money"] == 1.5


def test_fitting_is_deterministic_and_takes_empty_bags() -> None:
    bags = [Bag((), is_content=False), Bag(({"bias": 1.0},), is_content=True)]

    assert fit(bags, {}, ("bias",)) == fit(bags, {}, ("bias",))
    assert fit([], {"bias": 0.5}, ("bias",)) == {"bias": 0.5}

"""Fitting the weights of the substance score on labelled pairs.

A pair is a bag of edits with one label: a content pair has at least one edit of substance, a noise pair has
none. The score of a bag is that of its strongest edit, so each round learns from the strongest edit of every
bag (multiple-instance logistic regression with max pooling; Ray and Craven 2005, section 3). The weights are
pulled towards the ones they start from, so that a feature which the pairs hardly show keeps its old weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Features = Mapping[str, float]
_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bag:
    """One labelled pair: the features of its unexplained edits, and whether it is content. An empty bag teaches nothing."""

    edits: tuple[Features, ...]
    is_content: bool
    weight: float = 1.0


def fit(
    bags: Sequence[Bag],
    start: Features,
    names: Sequence[str],
    *,
    pull: float = 2.0,
    rounds: int = 400,
    rate: float = 0.05,
) -> dict[str, float]:
    """The fitted weights by feature name.

    start: weights to begin with and to be pulled towards. pull: strength of that, in units of one pair's loss
    per squared unit of weight. rounds, rate: steps of Adam and their size. Deterministic: same pairs in the same
    order, same weights. Cost: rounds x edits x features.
    """
    used = [bag for bag in bags if bag.edits]
    anchor = np.array([float(start.get(name, 0.0)) for name in names])
    if not used:
        return dict(zip(names, anchor.tolist(), strict=True))
    rows = np.array([[edit.get(name, 0.0) for name in names] for bag in used for edit in bag.edits])
    owner = np.repeat(np.arange(len(used)), [len(bag.edits) for bag in used])
    first = np.concatenate([[0], np.cumsum([len(bag.edits) for bag in used])[:-1]])
    label = np.array([1.0 if bag.is_content else 0.0 for bag in used])
    weight = np.array([bag.weight for bag in used])
    current = anchor.copy()
    mean, power = np.zeros_like(current), np.zeros_like(current)
    for step in range(1, rounds + 1):
        strongest = _strongest(rows @ current, owner, first)
        chosen = rows[strongest]
        error = (1 / (1 + np.exp(-np.clip(chosen @ current, -30, 30))) - label) * weight
        gradient = chosen.T @ error + pull * (current - anchor)
        mean = 0.9 * mean + 0.1 * gradient
        power = 0.999 * power + 0.001 * gradient**2
        current -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(power / (1 - 0.999**step)) + 1e-8)
    return {name: round(value, 4) for name, value in zip(names, current.tolist(), strict=True)}


def _strongest(logits: _Array, owner: npt.NDArray[np.int64], first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The row of each bag's highest logit; the earliest one when several are equal."""
    top = np.maximum.reduceat(logits, first)
    hits = np.flatnonzero(logits == top[owner])
    _, at = np.unique(owner[hits], return_index=True)
    return hits[at]

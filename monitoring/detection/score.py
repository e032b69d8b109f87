"""How much substance a block edit has, in [0, 1]: a logistic model whose weights are data.

The weights are fitted on labelled pairs by `make fit-detector` (see `fit`) and stand in `weights.json` with
their version; nobody edits them by hand. A page's score is that of its most substantial unexplained edits:
the chance that at least one of them matters, with the strongest leading.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitoring.detection.blocks import Surface
from monitoring.detection.explain import (
    CONSENT_TEXT,
    STAMP_CLASSES,
    TOKEN_CLASSES,
    Facts,
    Scene,
    place_of,
)
from monitoring.detection.judgement import EditKind

WEIGHTS_FILE = Path(__file__).with_name("weights.json")

FEATURES = (
    "bias",
    "main",
    "main_prose",
    "outside_prose",
    "structure",
    "structure_prose",
    "header",
    "chrome",
    "consent",
    "consent_whole",
    "outside_whole",
    "main_whole",
    "plain_place",
    "plain_prose",
    "link_sentence",
    "advert",
    "related",
    "link_density",
    "link_list",
    "reworded",
    "reworded_prose",
    "one_sided",
    "button",
    "heading",
    "list_entry",
    "words",
    "few_words",
    "numbers",
    "money",
    "named_prose",
    "negation",
    "same_words",
    "masked_day",
    "masked_stamp",
    "masked_token",
    "hidden",
    "attribute",
    "link_target",
    "style",
    "slot_moves",
    "slot_still",
    "seen_before",
    "short_page",
    "page_share",
    "peers",
)


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted model: a weight per feature, the version it was fitted as, and the cut it was fitted for."""

    version: int
    by_name: Mapping[str, float]

    def of(self, features: Mapping[str, float]) -> float:
        """The substance (0..1) of one edit."""
        total = sum(self.by_name.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def load_weights() -> Weights:
    """The weights that ship with the product."""
    data = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    return Weights(int(data["version"]), {str(k): float(v) for k, v in data["weights"].items()})


WEIGHTS = load_weights()


def features(f: Facts, scene: Scene, peers: int) -> dict[str, float]:
    """What the model sees of one edit; only features that are not zero.

    peers: how many edits of the pair stand in the same list or share the same path.
    """
    block = f.block
    place = place_of(f.path)
    prose = f.is_prose
    changed = f.words_removed + f.words_added
    outside = not f.in_main
    structure, related = place.structure, place.related
    consent = outside and (place.consent or bool(CONSENT_TEXT.search(block.text[:400])))
    whole = (f.old, f.new) in scene.whole
    advert = place.advert and outside
    chrome = place.chrome and outside
    elsewhere = advert or related or (consent and whole)  # figures of an advertisement are not the page's
    plain_place = not (place.named or consent)
    reworded = f.kind is EditKind.REWORDED
    past = scene.memory.slot((f.before or block).slot)
    visits = scene.memory.visits
    total = max(1, len(scene.new.blocks))
    seen = f.after is not None and scene.memory.text(f.after.text) is not None
    values: dict[str, float | bool] = {
        "bias": 1.0,
        "main": f.in_main,
        "main_prose": f.in_main and prose,
        "outside_prose": not f.in_main and prose and not structure,
        "structure": structure,
        "structure_prose": structure and prose,
        "header": place.header and outside,
        "chrome": chrome,
        "consent": consent and (whole or not prose),
        "consent_whole": consent and whole,
        "outside_whole": whole and not f.in_main,
        "main_whole": whole and f.in_main,
        "advert": advert,
        "related": related,
        "plain_place": plain_place and not f.in_main,
        "plain_prose": plain_place and prose and not f.in_main,
        "link_sentence": f.size >= 6 and f.link_density >= 0.5 and plain_place,
        "link_density": f.link_density,
        "link_list": block.list_id >= 0 and f.link_density > 0.8,
        "reworded": reworded,
        "reworded_prose": reworded and prose,
        "one_sided": f.words_added == 0 or f.words_removed == 0,
        "button": block.tag in ("button", "label", "option", "summary", "input", "select"),
        "heading": block.heading > 0,
        "list_entry": block.list_id >= 0 and f.link_density <= 0.8,
        "words": math.log1p(changed) / 4,
        "few_words": f.size <= 3,
        "numbers": f.numbers and not elsewhere,
        "money": f.money and not elsewhere,
        "named_prose": prose and not whole and not f.in_main and not plain_place and not structure,
        "negation": f.negation and prose,
        "same_words": f.same_words,
        "masked_day": bool(f.masked) and not f.masked & STAMP_CLASSES,
        "masked_stamp": bool(f.masked & STAMP_CLASSES),
        "masked_token": bool(f.masked & TOKEN_CLASSES),
        "hidden": block.surface is Surface.HIDDEN,
        "attribute": block.surface is Surface.ATTRIBUTE,
        "link_target": block.surface is Surface.LINK,
        "style": block.surface is Surface.STYLE,
        "slot_moves": past.moves / max(1, visits),
        "slot_still": min(1.0, (visits - past.last_visit) / 10) if not past.moves else 0.0,
        "seen_before": seen,
        "short_page": scene.short and not place.named,
        "page_share": min(1.0, f.size / 20 / total),
        "peers": math.log1p(peers) / 4,
    }
    return {name: float(value) for name, value in values.items() if value}


def combined(scores: Sequence[float]) -> float:
    """The score of a pair from those of its edits: the highest, lifted a little by the others.

    Taking the chance that any of them matters would let forty menu entries outweigh a clause, so the others
    only close a tenth of the way to 1.
    """
    if not scores:
        return 0.0
    top = max(scores)
    rest = sum(scores) - top
    return top + (1 - top) * 0.1 * (1 - math.exp(-rest))

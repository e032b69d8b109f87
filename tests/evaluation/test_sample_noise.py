"""The sample workspace as the workers see it: every edit is found, and none of the furniture is."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise

import pytest

from monitoring.detection.blocks import Reading
from monitoring.detection.echoes import only_echoes
from monitoring.detection.fields import FieldSpec, compare_fields, extract_fields
from monitoring.detection.judge import judge, observe
from monitoring.detection.judgement import Kind, Settings
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from monitoring.sample import noise
from monitoring.sample.pages import PAGES, SamplePage
from tests.factories import NOW

PRICE = (FieldSpec("price", "jsonld", "@type=Product/offers.price", type="price"),)


def load(page: SamplePage, elapsed_s: int, rng: random.Random) -> str:
    head, body = page.text_at(elapsed_s)
    return noise.render(page, head, body, now=NOW + timedelta(seconds=elapsed_s), rng=rng)


def first_look(page: SamplePage, rng: random.Random) -> tuple[str, Memory]:
    """The baseline, and the memory after three quiet re-fetches."""
    html = load(page, 0, rng)
    readings = [read(html), *(read(load(page, 1, rng)) for _ in range(3))]
    memory = Memory.start(NOW)
    for old, new in [(readings[1], readings[0]), *pairwise(readings)]:
        memory = memory.fold(observe(old, new), NOW + timedelta(seconds=1), rebased=False, quiet=True)
    return html, memory


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug)
def test_two_minutes_of_checks_find_the_edits_and_nothing_else(page: SamplePage, seed: int) -> None:
    rng = random.Random(f"{page.slug}/{seed}")
    html, memory = first_look(page, rng)
    baseline: Reading = read(html)
    found, planted = [], [edit.at_s for edit in page.edits if edit.at_s <= 120]

    for elapsed_s in range(12, 121, 12):
        now = NOW + timedelta(seconds=elapsed_s)
        fetched = load(page, elapsed_s, rng)
        reading = read(fetched, remembered_region=baseline.region_path)
        judgement = judge(baseline, reading, memory, settings=Settings(), old_at=NOW, now=now)
        prices = compare_fields(extract_fields(html, PRICE), extract_fields(fetched, PRICE), PRICE)
        is_content = judgement.kind is Kind.CONTENT
        if is_content or prices:
            found.append(elapsed_s)
        if is_content and prices:
            assert only_echoes(judgement.edits, baseline, reading, prices), (
                "a price is a field, not a change of the text"
            )
        memory = memory.fold(judgement.delta, now, rebased=is_content)
        if is_content or prices:
            baseline, html = reading, fetched

    assert found == [at_s + -at_s % 12 for at_s in planted]

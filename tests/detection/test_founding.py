"""What the first description of the product promised, as laws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitoring.detection.blocks import Reading
from monitoring.detection.compare import compare
from monitoring.detection.fingerprint import distance, fingerprint
from monitoring.detection.judge import judge, observe
from monitoring.detection.judgement import Judgement, Kind, Settings
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from tests.detection.prose import ARTICLE, page, sentences

START = datetime(2026, 3, 1, 6, tzinfo=UTC)


def judged(old: str, new: str, memory: Memory | None = None) -> Judgement:
    return judge(read(old), read(new), memory or Memory.start(START), settings=Settings())


def with_nonce(nonce: str, clock: str) -> str:
    return page(
        sentences(25),
        before=f'<form action="/search?sid={nonce}"><input type=hidden name=csrf value="{nonce}"></form>'
        f'<script nonce="{nonce}">window.t="{clock}"</script><p class="clock">Updated 3 March 2026, {clock}</p>',
    )


def news_home(fetch: int) -> str:
    """A news home page: forty standing stories, and a ticker whose headline and counter differ at each fetch."""
    stories = sentences(60, seed=3)
    tickers = sentences(40, seed=4)
    return page(
        stories,
        title="The Quay Gazette",
        before=f'<div class="ticker"><p>{tickers[fetch]}</p></div>',
        after=f'<aside class="related"><ul><li><a href="/a">{tickers[fetch + 20]}</a></li></ul></aside>',
    )


def test_the_same_fetch_twice_is_none() -> None:
    html = with_nonce("8f3c2a91", "09:41")

    assert judged(html, html).kind is Kind.NONE
    assert compare(html, html) is Kind.NONE


def test_a_new_nonce_and_a_new_clock_are_noise() -> None:
    old, new = with_nonce("8f3c2a91", "09:41"), with_nonce("17be55d0", "10:02")

    assert judged(old, new).kind is Kind.NOISE
    assert compare(old, new) is Kind.NOISE


def test_a_news_home_page_fetched_twice_is_noise_after_calibration() -> None:
    fetches = [read(news_home(n)) for n in range(6)]
    memory = Memory.start(START)
    for number in range(1, 5):
        at = START + timedelta(seconds=number)
        memory = memory.fold(observe(fetches[number - 1], fetches[number]), at, quiet=True)

    judgement = judge(fetches[0], fetches[5], memory, settings=Settings())

    assert fetches[0].text != fetches[5].text
    assert judgement.distance <= 3
    assert judgement.kind is Kind.NOISE


def test_an_unrelated_article_is_far_away_and_content() -> None:
    home, article = news_home(0), page(ARTICLE, title="The humming lighthouse")

    judgement = judged(home, article)

    assert judgement.distance >= 20
    assert judgement.kind is Kind.CONTENT
    assert compare(home, article) is Kind.CONTENT


def creeping(step: int) -> str:
    """A clause of the rules whose number of days creeps up by one at each visit; everything else stands still."""
    clauses = sentences(30)
    clauses[11] = f"Objections are heard when they reach the office within {60 - step} days of the notice."
    return page(clauses)


def test_fifty_small_edits_to_one_clause_surface() -> None:
    baseline, memory, raised = read(creeping(0)), Memory.start(START), 0
    for step in range(1, 51):
        reading, at = read(creeping(step)), START + timedelta(days=step)
        judgement = judge(baseline, reading, memory, settings=Settings())
        rebased = judgement.kind is Kind.CONTENT
        memory = memory.fold(judgement.delta, at, rebased=rebased)
        raised += rebased
        baseline = reading if rebased else baseline

    assert raised >= 49


def test_fifty_edits_below_the_cut_surface_when_they_have_added_up() -> None:
    """Each step is noise by itself (one word of a sidebar paragraph); the sum is compared with the baseline."""
    strict = Settings(cut=0.97)
    before = sentences(30)
    after = sentences(30, seed=5)
    baseline, memory, kinds = read(page(before)), Memory.start(START), []
    for step in range(1, 51):
        words, final = " ".join(before).split(), " ".join(after).split()
        mixed = final[: step * len(final) // 50] + words[step * len(words) // 50 :]
        paragraphs = [" ".join(mixed[i : i + 12]) for i in range(0, len(mixed), 12)]
        judgement = judge(baseline, read(page(paragraphs)), memory, settings=strict)
        kinds.append(judgement.kind)
        memory = memory.fold(judgement.delta, START + timedelta(days=step), rebased=False)

    assert kinds[-1] is Kind.CONTENT


@pytest.mark.parametrize("step", range(2, 12))
def test_a_clause_that_changed_at_every_visit_is_still_no_volatile_slot(step: int) -> None:
    memory, readings = Memory.start(START), [read(creeping(n)) for n in range(step + 1)]
    for number in range(1, step):
        judgement = judge(readings[0], readings[number], memory, settings=Settings())
        memory = memory.fold(judgement.delta, START + timedelta(days=number), rebased=False)

    assert judge(readings[0], readings[step], memory, settings=Settings()).kind is Kind.CONTENT


def test_a_removed_not_on_a_long_page_is_content_where_the_fingerprint_sees_nothing() -> None:
    clauses = sentences(400)
    clauses[200] = "The operator shall not pass the register to third parties without consent."
    old = read(page(clauses))
    clauses[200] = clauses[200].replace("not ", "")
    new = read(page(clauses))

    judgement = judge(old, new, Memory.start(START), settings=Settings())

    assert bits(old, new) <= 3
    assert judgement.kind is Kind.CONTENT


def bits(old: Reading, new: Reading) -> int:
    return distance(fingerprint(old), fingerprint(new))

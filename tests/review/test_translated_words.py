"""What the diff and the judgement say, in German and Japanese: nothing stays English."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import translation

from monitoring.detection.diff import diff
from monitoring.models import Check
from review import explaining, rendering, sentences, visits
from tests.review.test_sentences import FIRST, FOURTH, NEW, THIRD, reading

LANGUAGES = ["de", "ja"]


def untranslated(language: str, words: dict[str, Callable[[], str]]) -> list[str]:
    """The names whose words are the English ones in this language."""
    english = {name: say() for name, say in words.items()}
    with translation.override(language):
        return [name for name, say in words.items() if say() == english[name]]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("n", [1, 2])
def test_every_count_is_translated(language: str, n: int) -> None:
    counts = {**sentences.HAPPENED, **sentences.IGNORED}

    assert untranslated(language, {name: lambda say=say: say(n) for name, say in counts.items()}) == []  # type: ignore[misc]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_is_translated(language: str) -> None:
    assert untranslated(language, explaining.LEFT_OUT) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_is_translated(language: str) -> None:
    data = {"blocks": 2, "visits": 3, "days": 4, "times": 2, "score": 0.9, "cut": 0.5, "distance": 9, "threshold": 3,
            "date": "2026-11-02", "host": "shop.example"}  # fmt: skip
    told: dict[str, Callable[[], str]] = {
        code: lambda tell=tell: " ".join((tell(data).strong, tell(data).rest))  # type: ignore[misc]
        for code, tell in explaining.TOLD.items()
    }

    assert untranslated(language, told) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_label_of_a_surface_is_translated(language: str) -> None:
    assert untranslated(language, rendering.SURFACES) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_answer_of_a_site_is_translated(language: str) -> None:
    assert untranslated(language, visits.WHY) == []


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "1 Passage umformuliert, 1 Absatz hinzugefügt"),
        ("ja", "文言の変更 1件、段落の追加 1件"),
    ],
)
def test_the_head_sentence_is_listed_as_the_language_does(language: str, said: str) -> None:
    document = diff(reading(FIRST, THIRD, FOURTH), reading(FIRST.replace("12", "24"), NEW + " " + NEW, THIRD, FOURTH))

    with translation.override(language):
        assert sentences.summary(document) == said


def test_german_has_its_own_plural_and_figures() -> None:
    row = {"op": "removed", "surface": "visible", "tag": "p", "heading": 0}

    with translation.override("de"):
        assert sentences.summary({"blocks": [row]}) == "1 Absatz entfernt"
        assert sentences.summary({"blocks": [row] * 1500}) == "1.500 Absätze entfernt"
        (score,) = explaining.sentences([{"code": "score", "data": {"score": 0.91, "cut": 0.5}}])
        assert "0,91" in score.rest


def test_japanese_sentences_follow_each_other_without_a_space() -> None:
    with translation.override("ja"):
        note = sentences.ignored_note({"blocks": [], "places": 0, "ignored": {"quotes": 2}, "left_out": 3})

    assert note == "本文の変更はありません。違いがあるのは：引用符 2箇所。3件の変更をノイズとして除外しました。"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "9 unchanged paragraphs, 2 left out as noise"),
        ("de", "9 unveränderte Absätze, 2 als Rauschen ausgelassen"),
        ("ja", "9段落は変更なし、2件をノイズとして除外"),
    ],
)
def test_a_fold_counts_in_the_readers_language(language: str, line: str) -> None:
    with translation.override(language):
        html, _cut = rendering.diff_html(
            {"blocks": [{"op": "fold", "count": 9, "left_out": 2, "sections": [], "blocks": []}]}
        )

    assert f"<span>{line}</span>" in html


def test_a_run_of_hidden_characters_is_counted_in_german() -> None:
    chip = ["!", "\u200b\u200b\u200b", "U+200B ZERO WIDTH SPACE and 2 more", "+"]

    with translation.override("de"):
        assert "U+200B ZERO WIDTH SPACE und 2 weitere" in rendering.segments_html([chip])


def test_a_visit_is_told_in_japanese() -> None:
    with translation.override("ja"):
        assert visits.visit_words(Check(reason="status-error", status=502)) == "サイトの応答はステータス502でした。"

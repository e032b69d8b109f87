"""What the change page says about its diff, as a reviewer reads it."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User

from monitoring.detection.diff import diff
from tests.factories import make_change
from tests.review.conftest import SignIn
from tests.review.test_sentences import FIRST, FOURTH, THIRD, reading

pytestmark = pytest.mark.usefixtures("strict_templates")


def document(*, edited: str = FIRST.replace("12", "24"), clock: str = "Read at 11:40.", **extra: Any) -> dict[str, Any]:
    """A diff in which a paragraph was edited and a clock went on."""
    old = reading(FIRST, THIRD, "Read at 09:14.", FOURTH)
    new = reading(edited, THIRD, clock, FOURTH)
    noise = {2: "volatile-pattern"}
    return diff(old, new, left_out_old=noise, left_out_new=noise) | extra


def page_of(found: dict[str, Any], person: User, sign_in: SignIn, *, view: str = "prior", language: str = "en") -> str:
    """The words of the change page with this diff, white space collapsed."""
    change = make_change(diff=found, added=found["added"], removed=found["removed"], places=found["places"])
    answer = sign_in(person).get(f"/c/{change.pk}/?view={view}", headers={"accept-language": language})
    return " ".join(BeautifulSoup(answer.content, "html.parser").get_text().split())


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "1 clause reworded. +1 −1 of {total} words"),
        ("de", "1 Passage umformuliert. +1 −1 (insgesamt {total} Wörter)"),
        ("ja", "文言の変更 1件。 +1 −1 （全{total}語）"),
    ],
)
def test_the_head_says_what_happened(analyst: User, sign_in: SignIn, language: str, said: str) -> None:
    found = document()

    assert said.format(total=found["total"]) in page_of(found, analyst, sign_in, language=language)


def test_large_sizes_are_grouped(analyst: User, sign_in: SignIn) -> None:
    assert "of 3,912 words" in page_of(document(total=3912), analyst, sign_in)


@pytest.mark.parametrize("view", ["prior", "split"])
def test_noise_stands_in_a_fold_with_its_rule(analyst: User, sign_in: SignIn, view: str) -> None:
    words = page_of(document(), analyst, sign_in, view=view)

    assert "1 left out as noise" in words
    assert "Left out: clock, counter or token" in words
    assert "1 change left out as noise." in words


def test_without_a_place_the_page_says_that_no_text_changed(analyst: User, sign_in: SignIn) -> None:
    words = page_of(document(edited=FIRST), analyst, sign_in)

    assert words.count("No text changed.") == 2  # once in the head, once with what did
    assert "No text changed. 1 change left out as noise." in words


def test_a_bound_that_was_met_is_admitted(analyst: User, sign_in: SignIn) -> None:
    words = page_of(document(simplified=True, rest=12), analyst, sign_in)

    assert "Simplified: the page is too long to compare word by word everywhere." in words
    assert "12 more changed paragraphs are not shown here; the snapshots hold them." in words

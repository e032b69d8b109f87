"""The extractor under test: the main region's text of a page."""

from __future__ import annotations

from monitoring.detection.read import main_text_of


def main_text(html: str) -> str:
    """The text of the page's main region; without its h1, which the ground truths of the public sets leave out."""
    return main_text_of(html, title=False)

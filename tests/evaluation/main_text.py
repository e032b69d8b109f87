"""The extractor under test: the main region's text of a page."""

from __future__ import annotations

from monitoring.detection.read import main_text_of


def main_text(html: str) -> str:
    """What a reader sees of the page's main region, furniture inside it left out."""
    return main_text_of(html)

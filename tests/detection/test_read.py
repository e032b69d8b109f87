"""The reading of a page: blocks as natural units, nothing lost."""

from __future__ import annotations

from monitoring.detection.blocks import Surface
from monitoring.detection.read import read


def texts(html: str, surface: Surface = Surface.VISIBLE) -> list[str]:
    return [b.text for b in read(html).blocks if b.surface is surface]


def test_inline_markup_does_not_split_a_paragraph() -> None:
    assert texts("<p>One <b>bo</b>ld <a href=/x>link</a>.</p>") == ["One bold link."]


def test_bare_text_around_blocks_is_kept_in_order() -> None:
    assert texts("<div>before<p>inside</p>after</div>") == ["before", "inside", "after"]


def test_a_table_row_is_one_block() -> None:
    assert texts("<table><tr><td>Fee<td>100<tr><td>Tax<td>7</table>") == ["Fee | 100", "Tax | 7"]

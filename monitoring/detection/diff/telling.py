"""What a document says in one sentence: for a queue row, a head line, a digest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

from monitoring.detection.diff.words import Segment

SAY_CHARACTERS = 200
_LEAD = 70
_ORDER = ("reworded", "rewritten", "removed", "added", "moved_to")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[」』）”’]*\s*")
_ENTRIES = frozenset(("li", "tr", "td", "th", "dt", "dd"))


def say(blocks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The one sentence of a queue row: the first reworded place, else rewritten, removed, added, moved.

    The main region goes before menus and footers, and what readers of the page see before what they do not.
    """
    first: dict[tuple[int, str], dict[str, Any]] = {}
    for row in blocks:
        if row["op"] != "fold":
            edited = row["op"] == "moved_to" and any(map(_is_mark, row["segments"]))
            first.setdefault((_standing(row), "reworded" if edited else row["op"]), row)
    for standing, op in product(range(3), _ORDER):
        if (standing, op) not in first:
            continue
        row = first[standing, op]
        if op == "rewritten":
            half = SAY_CHARACTERS // 2
            segments = _window(row["before"], half) + _window(row["after"], half)
        else:
            segments = _window(row["segments"], SAY_CHARACTERS)
        return {"op": op.removesuffix("_to"), "surface": row["surface"], "segments": segments}
    return {"op": "none", "surface": "visible", "segments": []}


def _standing(row: dict[str, Any]) -> int:
    if row["surface"] != "visible":
        return 2
    return 0 if row["region"] == "main" else 1


def _window(segments: list[Segment], room: int) -> list[Segment]:
    """About `room` characters of the segments, from a little before the first mark; cut ends get an ellipsis."""
    first = next((at for at, segment in enumerate(segments) if _is_mark(segment)), 0)
    lead: list[Segment] = []
    space = _LEAD
    for segment in reversed(segments[:first]):
        if len(segment[1]) > space:
            lead.append(_shortened(segment, space, from_end=True))
            break
        lead.append(_plain(segment))
        space -= len(segment[1])
    lead.reverse()
    window = lead
    room -= sum(len(segment[1]) for segment in lead)
    for at, segment in enumerate(segments[first:], first):
        # What was added must be seen even when much was removed: half of the room is kept for it.
        answered = segment[0] == "-" and at + 1 < len(segments) and segments[at + 1][0] == "+"
        share = max(room // 2, room - len(segments[at + 1][1])) if answered else room
        if len(segment[1]) > share:
            window.append(_shortened(segment, max(share, 1), from_end=False))
            if not answered:
                break
            room -= share
            continue
        window.append(_plain(segment))
        room -= len(segment[1])
        if room <= 0:
            break
    return window


def _is_mark(segment: Segment) -> bool:
    return segment[0] in ("-", "+") or (segment[0] == "!" and segment[3] != "=")


def _plain(segment: Segment) -> Segment:
    return segment[:2] if segment[0] == "=" else list(segment)


def _shortened(segment: Segment, room: int, *, from_end: bool) -> Segment:
    text = segment[1]
    if from_end:
        text = text[len(text) - room :]
        cut = text.find(" ")
        text = "…" + (text[cut + 1 :] if 0 <= cut < room // 2 else text)
    else:
        text = text[:room]
        cut = text.rfind(" ")
        text = (text[:cut] if cut > room // 2 else text) + "…"
    return [segment[0], text, *segment[2:]] if segment[0] == "!" else [segment[0], text]


# -- the head sentence -------------------------------------------------------------------


def summary(document: dict[str, Any]) -> list[tuple[str, int]]:
    """What happened, most telling first, as (code, count); the wording is the caller's.

    Codes are KIND-WHAT. KIND: `clause`, `sentence`, `paragraph`, `heading`, `entry` (of a list or table), or the surface
    where readers of the page do not see it (`hidden`, `attribute`, `embedded`, `style`, `link`). WHAT: `reworded`,
    `rewritten`, `added`, `removed`, `moved`. A document without changes gives [].
    """
    found: Counter[str] = Counter()
    for row in document["blocks"]:
        found.update(dict(_told(row)))
    rank = {what: at for at, what in enumerate(("reworded", "rewritten", "removed", "added", "moved"))}
    seen = frozenset(("clause", "sentence", "paragraph", "entry", "heading"))

    def order(item: tuple[str, int]) -> tuple[int, int, str]:
        kind, what = item[0].split("-")
        return (0 if kind in seen else 1), rank[what], kind

    return sorted(found.items(), key=order)


def _told(row: dict[str, Any]) -> list[tuple[str, int]]:
    op = row["op"]
    if op in ("equal", "fold", "moved_from"):
        return []
    what = op.removesuffix("_to")
    if row["surface"] != "visible":
        # Where unseen text stands is no news; an unseen block that moved is here because it was edited.
        return [(f"{row['surface']}-{'reworded' if what == 'moved' else what}", 1)]
    if what not in ("reworded", "moved"):
        return [(f"{_kind(row)}-{what}", 1)]
    removed, added = row.get("sentences", (0, 0))
    told = [("sentence-removed", removed), ("sentence-added", added)]
    if what == "moved":
        told.append((f"{_kind(row)}-moved", 1))
    if row.get("edits"):
        kind = _kind(row)
        told.append((f"{'clause' if kind == 'paragraph' else kind}-reworded", 1))
    return [(code, count) for code, count in told if count]


def _kind(row: dict[str, Any]) -> str:
    if row["heading"]:
        return "heading"
    return "entry" if row["tag"] in _ENTRIES else "paragraph"


# -- digests -----------------------------------------------------------------------------


def first_places(document: dict[str, Any], count: int) -> list[dict[str, str]]:
    """The first `count` places as whole sentences, for mail, where marks do not survive; the main region's first.

    Each is `{"op", "surface", "removed", "added"}`; a side without text is "".
    """
    places: list[dict[str, str]] = []
    rows = [row for row in document["blocks"] if row.get("place") is not None]
    for row in sorted(rows, key=_standing)[:count]:
        removed, added = _sides(row)
        places.append(
            {
                "op": row["op"].removesuffix("_to"),
                "surface": row["surface"],
                "removed": _limited(removed),
                "added": _limited(added),
            }
        )
    return places


_PLACE_CHARACTERS = 600


def _limited(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _PLACE_CHARACTERS else text[:_PLACE_CHARACTERS].rsplit(" ", 1)[0] + "…"


def _sides(row: dict[str, Any]) -> tuple[str, str]:
    if row["op"] == "rewritten":
        return _whole(row["before"]), _whole(row["after"])
    if row["op"] == "removed":
        return _whole(row["segments"]), ""
    if row["op"] == "added" or not any(_is_mark(segment) for segment in row["segments"]):
        return "", _whole(row["segments"])
    return _touched(row["segments"], "-", 2), _touched(row["segments"], "+", 3)


def _whole(segments: list[Segment]) -> str:
    return "".join(segment[1] for segment in segments)


def _touched(segments: list[Segment], mark: str, exact: int) -> str:
    """The sentences of one side that hold a change."""
    text = ""
    spots: list[tuple[int, int]] = []
    for segment in segments:
        kind = segment[3] if segment[0] == "!" else segment[0]
        if kind == "=":
            text += segment[exact] if segment[0] == "=" and len(segment) == 4 else segment[1]
        elif kind == mark:
            spots.append((len(text), len(text) + len(segment[1])))
            text += segment[1]
        else:
            spots.append((len(text), len(text)))
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    sentences = list(zip([0, *ends], [*ends, len(text)], strict=True))
    return "".join(text[start:end] for start, end in sentences if any(_meets(start, end, a, b, text) for a, b in spots))


def _meets(start: int, end: int, a: int, b: int, text: str) -> bool:
    """Whether a change at a..b lies in the sentence start..end; a point between two sentences is in neither."""
    if a != b:
        return a < end and b > start
    inside = text[start:a].strip() and text[a:end].strip()
    return start < a < end and bool(inside)

"""The diff document: what the page prints, as plain JSON values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from monitoring.detection.blocks import Block, Reading, Surface, page_of
from monitoring.detection.diff.chips import scrub, with_chips
from monitoring.detection.diff.pairing import PAIRED_LIKENESS, pair_blocks
from monitoring.detection.diff.telling import say
from monitoring.detection.diff.tokens import count_units, is_unspaced
from monitoring.detection.diff.words import Ignored, Segment, Vocabulary, Wording, compare_texts
from monitoring.detection.diff.work import Work

# JSON values have no more useful type; the shape is in docs/contracts.md.
Document = dict[str, Any]
BlockRow = dict[str, Any]

VERSION = 1
_SHORT = 40  # characters; a block this short is marked inside even when little of it is left
_SECTION_NAME = 80
_SECTION_NAMES = 40
_UNSPACED_LANGUAGES = frozenset(("ja", "zh", "th", "lo", "km", "my"))
_CHANGED = ("reworded", "rewritten", "added", "removed", "moved")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may get. Characters count text, not JSON.

    What is over `changed_blocks` or `changed_characters` is counted in `rest` and not shown; text that readers of the
    page do not see has a room of its own, `unseen_blocks`, so that no flood of visible changes can hide it;
    a single block over `block_characters` is shown round its changes; unchanged text over `kept_characters`
    keeps its place in the count of a fold.
    """

    changed_blocks: int = 400
    unseen_blocks: int = 100
    changed_characters: int = 200_000
    block_characters: int = 100_000
    kept_characters: int = 400_000


def diff(
    old: Reading,
    new: Reading,
    *,
    limits: Limits | None = None,
    left_out_old: Mapping[int, str] = MappingProxyType({}),
    left_out_new: Mapping[int, str] = MappingProxyType({}),
) -> Document:
    """The readable difference of two readings, as the document that docs/contracts.md describes.

    left_out_old, left_out_new: what a judgement explained as noise, by index into each reading's blocks, with the
    rule's code. A changed block that is left out on all its sides is no place and isn't counted; it stands in a fold.
    The same input gives the same document on every machine: what may be spent is counted in operations.
    """
    builder = _Builder(old, new, limits or Limits())
    builder.noise = {id(old.blocks[i]): code for i, code in left_out_old.items()}
    builder.noise |= {id(new.blocks[i]): code for i, code in left_out_new.items()}
    return builder.document()


@dataclass(slots=True)
class _Row:
    """One block of the merged order, before it is written: indexes into the stream's blocks, or -1."""

    op: str
    old: int
    new: int
    wording: Wording | None = None
    pair: int = 0
    left_out: str = ""


class _Builder:
    def __init__(self, old: Reading, new: Reading, limits: Limits) -> None:
        self.old = old
        self.new = new
        self.limits = limits
        self.work = Work()
        self.vocabulary = Vocabulary()
        self.ignored = Ignored()
        self.counts = dict.fromkeys(_CHANGED, 0)
        self.added = self.removed = 0
        self.places = 0
        self.shown = self.shown_characters = self.kept_characters = 0
        self.room = limits.changed_blocks
        self.rest = 0
        self.cut = 0
        self.shortened = False
        self.moves = 0
        self.noise: dict[int, str] = {}  # by identity: equal blocks may stand in many places
        self.left_out = 0

    def document(self) -> Document:
        blocks = self._visible()
        blocks += self._unseen()
        lang = self.new.lang or self.old.lang
        return {
            "version": VERSION,
            "lang": lang,
            "direction": self.new.direction,
            "unit": self._unit(lang),
            "added": self.added,
            "removed": self.removed,
            "total": sum(count_units(b.text) for b in self.new.visible),
            "places": self.places,
            "moved": self.counts["moved"],
            "simplified": self.work.simplified or self.shortened or self.rest > 0,
            "cut": self.cut,
            "rest": self.rest,
            "left_out": self.left_out,
            "counts": self.counts,
            "ignored": {
                "whitespace": self.ignored.whitespace,
                "quotes": self.ignored.quotes,
                "composition": self.ignored.composition,
                "markup": self.ignored.markup,
            },
            "say": say(blocks),
            "blocks": blocks,
        }

    def _unit(self, lang: str) -> str:
        if lang:
            return "characters" if lang.lower().split("-")[0] in _UNSPACED_LANGUAGES else "words"
        sample = "".join(b.text for b in self.new.visible[:200])[:4000]
        unspaced = sum(1 for c in sample if c > "\u0e00" and is_unspaced(c))
        return "characters" if unspaced * 3 > len(sample) else "words"

    # -- streams -------------------------------------------------------------------------

    def _visible(self) -> list[BlockRow]:
        old, new = self.old.visible, self.new.visible
        rows = self._rows(old, new)
        self._leave_out(rows, old, new)
        keep = _context(rows, new)
        return _folded(self._written(rows, old, new, keep, numbered=True), keep)

    def _unseen(self) -> list[BlockRow]:
        """Changed blocks that no reader of the page sees: hidden text, attributes, link targets."""
        old = tuple(b for b in self.old.blocks if b.surface is not Surface.VISIBLE)
        new = tuple(b for b in self.new.blocks if b.surface is not Surface.VISIBLE)
        rows = [row for row in self._rows(old, new, any_length=True) if not _is_quiet(row)]
        self._leave_out(rows, old, new)
        rows = [row for row in rows if not row.left_out]
        self.shown = self.shown_characters = 0
        self.room = self.limits.unseen_blocks
        written = self._written(rows, old, new, set(), numbered=False)
        return [row for row in written if row is not None]

    def _rows(self, old: Sequence[Block], new: Sequence[Block], *, any_length: bool = False) -> list[_Row]:
        """Both pages merged: order kept on either side, removed before added."""
        pairing = pair_blocks(old, new, self.work, move_any_length=any_length)
        wordings = self._wordings(old, new, pairing.pairs + pairing.moves)
        to_new = dict(pairing.moves)
        to_old = {j: i for i, j in pairing.moves}
        names = {i: self.moves + n for n, (i, _) in enumerate(pairing.moves, 1)}
        self.moves += len(names)
        rows: list[_Row] = []
        i = j = 0
        for at, to in [*pairing.pairs, (len(old), len(new))]:
            for k in range(i, at):
                if k in to_new:
                    rows.append(_Row("moved_from", k, to_new[k], wordings.get((k, to_new[k])), names[k]))
                else:
                    rows.append(_Row("removed", k, -1))
            for k in range(j, to):
                if k in to_old:
                    source = to_old[k]
                    rows.append(_Row("moved_to", source, k, wordings.get((source, k)), names[source]))
                else:
                    rows.append(_Row("added", -1, k))
            if at < len(old):
                rows.append(self._paired(at, to, old[at], new[to], wordings.get((at, to))))
            i, j = at + 1, to + 1
        return rows

    def _wordings(
        self, old: Sequence[Block], new: Sequence[Block], pairs: list[tuple[int, int]]
    ) -> dict[tuple[int, int], Wording]:
        """Word diffs of the pairs that differ, in an order that exchanging the sides does not change."""
        different = [(i, j) for i, j in pairs if old[i].text != new[j].text]
        different.sort(key=lambda pair: (min(pair), max(pair)))
        return {(i, j): self._wording(old[i], new[j]) for i, j in different}

    def _wording(self, was: Block, now: Block) -> Wording:
        by_space = was.surface is now.surface is Surface.LINK
        return compare_texts(was.text, now.text, self.work, self.vocabulary, by_space=by_space)

    def _paired(self, i: int, j: int, was: Block, now: Block, wording: Wording | None) -> _Row:
        if wording is None or not wording.changes:
            if (was.tag, was.heading) != (now.tag, now.heading):
                self.ignored.markup += 1
            return _Row("equal", i, j, wording)
        is_short = max(len(was.text), len(now.text)) <= _SHORT or was.surface is Surface.LINK
        if wording.likeness < PAIRED_LIKENESS and not wording.one_sided and not is_short:
            return _Row("rewritten", i, j, wording)
        return _Row("reworded", i, j, wording)

    def _leave_out(self, rows: list[_Row], old: Sequence[Block], new: Sequence[Block]) -> None:
        """Mark the changed rows that a judgement explained on all their sides."""
        for row in rows:
            if row.op == "equal" or not self.noise:
                continue
            sides = [id(old[row.old])] if row.old >= 0 else []
            sides += [id(new[row.new])] if row.new >= 0 else []
            if all(side in self.noise for side in sides):
                row.left_out = self.noise[sides[-1]]
                self.left_out += row.op != "moved_from"

    # -- writing -------------------------------------------------------------------------

    def _written(
        self, rows: list[_Row], old: Sequence[Block], new: Sequence[Block], keep: set[int], *, numbered: bool
    ) -> list[BlockRow | None]:
        """Each row as a block of the document; None where a limit leaves it out."""
        written: list[BlockRow | None] = []
        last = ""
        for at, row in enumerate(rows):
            if not row.left_out:
                self._tally(row, old, new)
            if row.left_out:
                written.append(None if self.rest else self._left(row, old, new))
                continue
            if row.op == "equal":
                written.append(None if self.rest else self._equal(row, new, always=at in keep))
            elif self._has_room():
                place = row.op != "moved_from" and not (row.op == last and row.op in ("added", "removed"))
                self.places += place
                written.append(self._changed(row, old, new, numbered=numbered, place=place))
            else:
                self.rest += row.op != "moved_from"
                written.append(None)
            last = row.op
        return written

    def _has_room(self) -> bool:
        return self.shown < self.room and self.shown_characters < self.limits.changed_characters

    def _tally(self, row: _Row, old: Sequence[Block], new: Sequence[Block]) -> None:
        if row.op == "added":
            self.added += count_units(new[row.new].text)
        elif row.op == "removed":
            self.removed += count_units(old[row.old].text)
        elif row.wording and row.op != "moved_from":
            self.added += row.wording.added
            self.removed += row.wording.removed
            for name in ("whitespace", "quotes", "composition"):
                setattr(self.ignored, name, getattr(self.ignored, name) + getattr(row.wording.ignored, name))
        if row.op == "moved_to":
            self.counts["moved"] += 1
            # An edit must not pass for a mere move.
            self.counts["reworded"] += row.wording is not None and row.wording.changes > 0
        elif row.op in self.counts:
            self.counts[row.op] += 1

    def _equal(self, row: _Row, new: Sequence[Block], *, always: bool) -> BlockRow:
        block = new[row.new]
        written = _block("equal", block, row.old + 1, row.new + 1)
        segments: list[Segment] = row.wording.segments if row.wording else [["=", block.text]]
        self.kept_characters += len(block.text)
        if not always and self.kept_characters > self.limits.kept_characters:
            written["cut"] = len(block.text)
            self.cut += len(block.text)
            segments = [["=", block.text[:_SECTION_NAME]]] if block.heading else []
        written["segments"] = [[scrub(part) for part in segment] for segment in segments if segment[1]]
        return written

    def _left(self, row: _Row, old: Sequence[Block], new: Sequence[Block]) -> BlockRow:
        """A changed block that was explained as noise: kept for the record, no place of its own."""
        written = self._changed(row, old, new, numbered=True, place=False)
        self.shown -= 1
        written["left_out"] = row.left_out
        return written

    def _changed(
        self, row: _Row, old: Sequence[Block], new: Sequence[Block], *, numbered: bool, place: bool
    ) -> BlockRow:
        block = new[row.new] if row.op not in ("removed", "moved_from") else old[row.old]
        has_old, has_new = row.old >= 0, row.new >= 0
        written = _block(
            row.op, block, row.old + 1 if numbered and has_old else None, row.new + 1 if numbered and has_new else None
        )
        if place:
            written["place"] = self.places
        if row.pair:
            written["pair"] = f"m{row.pair}"
        if row.op == "rewritten":
            written["before"] = self._fitted(written, [["-", old[row.old].text]])
            written["after"] = self._fitted(written, [["+", new[row.new].text]])
        else:
            written["segments"] = self._fitted(written, _segments(row, block))
        if row.wording:
            written["sentences"] = [row.wording.sentences_removed, row.wording.sentences_added]
            written["edits"] = row.wording.other_changes
        self.shown += 1
        return written

    def _fitted(self, written: BlockRow, segments: list[Segment]) -> list[Segment]:
        """The segments with chips, cut round their changes when the block is larger than a block may be."""
        size = sum(len(segment[1]) for segment in segments)
        if size > self.limits.block_characters:
            segments, left_out = _clipped(segments, self.limits.block_characters)
            self.cut += left_out
            self.shortened = True
            written["cut"] += left_out
            size -= left_out
        self.shown_characters += size
        return with_chips([segment for segment in segments if segment[1]])


def _context(rows: list[_Row], new: Sequence[Block]) -> set[int]:
    """Rows that stay open: changed ones, one block either side, and the heading above."""
    keep: set[int] = set()
    heading = -1
    for at, row in enumerate(rows):
        if row.op == "equal":
            if new[row.new].heading:
                heading = at
            continue
        if row.left_out:
            continue
        keep.add(at)
        if row.op == "moved_from":
            continue
        keep.update((at - 1, at + 1))
        if heading >= 0:
            keep.add(heading)
    return keep


def _is_quiet(row: _Row) -> bool:
    """Where a text that nobody sees stands in the page is no change; a moved one that was edited is."""
    if row.op == "moved_from":
        return row.wording is None or not row.wording.changes
    return row.op == "equal" or (row.op == "moved_to" and (row.wording is None or not row.wording.changes))


def _segments(row: _Row, block: Block) -> list[Segment]:
    if row.op == "added":
        return [["+", block.text]]
    if row.op == "removed":
        return [["-", block.text]]
    if row.wording and row.op != "moved_from":
        return row.wording.segments
    return [["=", block.text]]


def _block(op: str, block: Block, old: int | None, new: int | None) -> BlockRow:
    row: BlockRow = {
        "op": op,
        "tag": block.tag,
        "heading": block.heading,
        "surface": str(block.surface),
        "region": str(block.region),
        "old": old,
        "new": new,
        "place": None,
        "pair": "",
        "cut": 0,
        "left_out": "",
        "segments": [],
    }
    if page := page_of(block.path):
        row["page"] = page
    return row


def _clipped(segments: list[Segment], limit: int) -> tuple[list[Segment], int]:
    """Long segments shortened in the middle so that together they fit about; and how many characters went.

    Every change keeps its place: marks share three quarters of the room, what is unchanged the rest. Only where there are
    more segments than the room has for a word each, the last ones go.
    """
    marks = sum(1 for segment in segments if segment[0] != "=")
    share = {
        True: max(60, limit * 3 // 4 // max(1, marks)),
        False: max(40, limit // 4 // max(1, len(segments) - marks)),
    }
    clipped: list[Segment] = []
    left_out = 0
    room = limit * 2
    for segment in segments:
        text = segment[1]
        keep = min(len(text), share[segment[0] != "="], room)
        room -= keep
        if keep == len(text):
            clipped.append(segment)
            continue
        left_out += len(text) - keep
        half = keep // 2
        if keep:
            clipped.append([segment[0], f"{text[:half]} … {text[len(text) - half :]}"])
    return clipped, left_out


def _folded(written: list[BlockRow | None], keep: set[int]) -> list[BlockRow]:
    """Unchanged blocks away from any change, two or more at a time, behind one line that says what they are."""
    blocks: list[BlockRow] = []
    run: list[BlockRow] = []
    section = ""
    before = ""
    for at, row in enumerate(written):
        if row is None:
            continue
        if (row["op"] == "equal" and at not in keep) or row["left_out"]:
            if not run:
                before = section
            run.append(row)
        else:
            blocks += _fold(run, before)
            run = []
            blocks.append(row)
        if row["heading"] and row["op"] != "removed" and row["op"] != "moved_from":
            section = text_of(row, "new")[:_SECTION_NAME]
    return blocks + _fold(run, before)


def _fold(run: list[BlockRow], section: str) -> list[BlockRow]:
    noise = sum(1 for row in run if row["left_out"] and row["op"] != "moved_from")
    if len(run) < 2 and not (run and run[0]["left_out"]):
        return run
    names = [section] if section and not run[0]["heading"] else []
    names += [text_of(row, "new")[:_SECTION_NAME] for row in run if row["heading"]]
    if len(names) > _SECTION_NAMES:
        names = [*names[: _SECTION_NAMES - 1], names[-1]]
    shown = [row for row in run if not row["cut"]]
    unchanged = sum(1 for row in run if not row["left_out"])
    return [{"op": "fold", "count": unchanged, "left_out": noise, "sections": names, "blocks": shown}]


# -- reading a document ------------------------------------------------------------------


def apply(document: Document, side: str) -> list[str]:
    """The texts of one side's ("old" or "new") blocks, in order, rebuilt from the operations.

    Visible blocks first, all of them; then the changed blocks of the other surfaces. Exact unless the document
    says that something was left out (`cut`, `rest`). Lone surrogates and NUL come back as U+FFFD.
    """
    if side not in ("old", "new"):
        raise ValueError(f"side is 'old' or 'new', not {side!r}")
    absent = ("added", "moved_to") if side == "old" else ("removed", "moved_from")
    return [text_of(row, side) for row in rows_of(document) if row["op"] not in absent]


def rows_of(document: Document) -> Iterator[BlockRow]:
    """Every block of the document, those inside folds too."""
    for row in document["blocks"]:
        if row["op"] == "fold":
            yield from row["blocks"]
        else:
            yield row


def rows_at(document: Document, place: int) -> list[BlockRow]:
    """The blocks of a place: a run of added or removed ones counts as one, and only its first carries the number."""
    rows = [row for row in document.get("blocks", []) if row.get("op") != "fold"]
    for index, row in enumerate(rows):
        if row.get("place") == place:
            run = [row]
            for following in rows[index + 1 :]:
                if following.get("op") != row.get("op") or row.get("op") not in ("added", "removed"):
                    break
                if following.get("place"):
                    break
                run.append(following)
            return run
    return []


def text_of(row: BlockRow, side: str) -> str:
    """The text of a block on one side ("old" or "new"), rebuilt from its operations; empty where it has none there."""
    one_side = {"old": "before", "new": "after"}[side]
    segments = row[one_side if row["op"] == "rewritten" else "segments"]
    mark = "-" if side == "old" else "+"
    exact = 2 if side == "old" else 3
    parts = []
    for segment in segments:
        kind = segment[0]
        if kind == "!":
            if segment[3] in ("=", mark):
                parts.append(segment[1])
        elif kind == "=":
            parts.append(segment[exact] if len(segment) == 4 else segment[1])
        elif kind == mark:
            parts.append(segment[1])
    return "".join(parts)


def diff_hash(document: Document) -> str:
    """SHA-256 (64 hex digits) of the document in one canonical spelling; a verdict carries it."""
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


_EDITS = frozenset(("reworded", "rewritten", "added", "removed"))


def edit_hash(document: Document, *, among: str) -> str | None:
    """32 hex digits that two changes share when the same blocks lost and gained the same words; None where nobody can tell.

    among: who else it may be the same for, such as a team's id. White space aside, whole blocks count, so that "1" to "2" is
    not the same everywhere. A document that does not show everything has none: errs towards changes of their own.
    """
    if document["simplified"] or document["cut"]:
        return None
    edits = [
        [row["op"], row["surface"], *(" ".join(text_of(row, side).split()) for side in ("old", "new"))]
        for row in rows_of(document)
        if row["op"] in _EDITS and not row["left_out"]
    ]
    if not edits:
        return None
    canonical = json.dumps([among, edits], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:32]

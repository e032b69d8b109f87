"""Word diff of two texts that are known to belong together."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from monitoring.detection.diff.sequences import align
from monitoring.detection.diff.tokens import (
    count_characters,
    fold,
    is_japanese,
    is_unspaced,
    is_word,
    split_by_space,
    tokenise,
)
from monitoring.detection.diff.work import Work

Segment = list[str]
"""`["=", text]`, `["-", text]`, `["+", text]`; or `["=", shown, old, new]` where the sides differ unmarked."""

KEPT_WORDS = 2
"""Fewer unchanged words than this between two changes and the two become one."""

_ENDS_SENTENCE = frozenset(".!?…。！？")
_CLOSERS = frozenset("\"'”’»)]）」』")
_KEPT_APART = frozenset("、。・，；")
_BACK_OFF = 6  # words before the first difference that are looked at again: the longest date has five
_BOUNDARIES = " 。、，；！？"
_LONGEST_SLIDE = 400
_PAIR_CHARACTERS = 400  # what a pair costs before its first word, in characters of text
_LONGEST_LOOK = 2_000  # characters; only a text without spaces or stops has none in that many


@dataclass(slots=True)
class Ignored:
    """Differences that are counted and not marked."""

    whitespace: int = 0
    quotes: int = 0
    composition: int = 0
    markup: int = 0


@dataclass(slots=True)
class Hunk:
    """old[i1:i2] became new[j1:j2], in tokens; either may be empty, never both."""

    i1: int
    i2: int
    j1: int
    j2: int


@dataclass(slots=True)
class Wording:
    """How one text became another.

    `common`, `old_units` and `new_units` are words (characters in scripts without spaces); those outside the
    compared window are estimated by white space. `one_sided` says that text was only added or only removed.
    `sentences_added` and `sentences_removed` count insertions and deletions made of whole sentences;
    `other_changes` the rest.
    """

    segments: list[Segment]
    common: int = 0
    old_units: int = 0
    new_units: int = 0
    added: int = 0
    removed: int = 0
    changes: int = 0
    one_sided: bool = False
    sentences_added: int = 0
    sentences_removed: int = 0
    other_changes: int = 0
    ignored: Ignored = field(default_factory=Ignored)

    @property
    def likeness(self) -> float:
        """Share (0..1) of the words that both texts have in common, in order; 1.0 when nothing is marked."""
        total = self.old_units + self.new_units
        return 2 * self.common / total if total else 1.0


class Vocabulary:
    """What is known of every token met in one diff: its number, equal for tokens that compare equal, and its weight."""

    __slots__ = ("numbers", "units")

    def __init__(self) -> None:
        self.numbers = _Numbers()
        self.units = _Units()


class _Numbers(dict[str, int]):
    """Tokens, with the white space before them, to numbers; filled as they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.folded: dict[str, int] = {}

    def __missing__(self, token: str) -> int:
        bare = token.lstrip()
        number = self.folded.setdefault(bare if bare.isalnum() and bare.isascii() else fold(bare), len(self.folded))
        self[token] = number
        return number


class _Units(dict[str, int]):
    """Tokens to how many words they are: 0 for punctuation, 3 for a date, the characters where there are no spaces."""

    def __missing__(self, token: str) -> int:
        if token.isascii() and token[-1].isalnum():
            units = token.count(" ", 1) + 1
        elif is_word(token):
            units = count_characters(token) if is_unspaced(token) else len(token.split())
        else:
            units = 0
        self[token] = units
        return units


def compare_texts(
    old: str, new: str, work: Work, vocabulary: Vocabulary | None = None, *, by_space: bool = False
) -> Wording:
    """The words removed, added and kept between two texts; the same counts with the sides exchanged.

    `vocabulary` may be shared by the calls of one diff, which saves looking at each word again. `by_space` takes for a
    word whatever stands between spaces: addresses.
    """
    vocabulary = vocabulary or Vocabulary()
    head, tail = _common_ends(old, new)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    outside = _units(old[:head]) + _units(old[len(old) - tail :])
    if not work.take_characters(_PAIR_CHARACTERS + len(old_middle) + len(new_middle)):
        wording = replaced(old_middle, new_middle)
    else:
        wording = Wording(segments=[])
        if by_space:
            old_tokens, new_tokens = split_by_space(old_middle), split_by_space(new_middle)
        else:
            japanese = is_japanese(old_middle) or is_japanese(new_middle)
            old_tokens = tokenise(old_middle, japanese=japanese)
            new_tokens = tokenise(new_middle, japanese=japanese)
        hunks = _hunks(old_tokens, new_tokens, work, vocabulary)
        _Writer(wording, old_tokens, new_tokens, vocabulary).write(hunks)
        _end_space(wording, old_middle, new_middle)
    wording.common += outside
    wording.old_units += outside
    wording.new_units += outside
    wording.segments = _joined([["=", old[:head]], *wording.segments, ["=", old[len(old) - tail :]]])
    return wording


def _units(text: str) -> int:
    return len(text) if is_unspaced(text) else text.count(" ") + 1 if text else 0


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Lengths of what both texts share at either end, cut back to where no token can straddle the cut."""
    boundaries = _BOUNDARIES if is_unspaced(old) else " "
    size = min(len(old), len(new))
    head = _cut_back(old, _common_length(size, lambda n: old[:n] == new[:n]), boundaries)
    size -= head
    tail = _common_length(size, lambda n: n == 0 or old[-n:] == new[-n:])
    return head, _cut_forward(old, tail, boundaries)


def _common_length(size: int, equal: Callable[[int], bool]) -> int:
    """The largest n up to `size` for which `equal(n)` holds, where it holds for every smaller n too."""
    if equal(size):
        return size
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if equal(middle):
            low = middle
        else:
            high = middle
    return low


def _cut_back(text: str, at: int, boundaries: str) -> int:
    """Where the last few words before `at` begin; never further back than _LONGEST_LOOK."""
    furthest = max(0, at - _LONGEST_LOOK)
    for _ in range(_BACK_OFF):
        if len(boundaries) == 1:
            at = text.rfind(boundaries, furthest, at)
        else:
            at = max(text.rfind(mark, furthest, at) for mark in boundaries)
        if at < 0:
            return furthest
    return at


def _cut_forward(text: str, tail: int, boundaries: str) -> int:
    """How much of the common tail is left behind its first few words; never less by more than _LONGEST_LOOK."""
    at = len(text) - tail - 1
    furthest = min(len(text), at + 1 + _LONGEST_LOOK)
    for _ in range(_BACK_OFF):
        if len(boundaries) == 1:
            at = text.find(boundaries, at + 1, furthest)
        else:
            at = min((n for mark in boundaries if (n := text.find(mark, at + 1, furthest)) >= 0), default=-1)
        if at < 0:
            return len(text) - furthest
    return len(text) - at


def replaced(old: str, new: str) -> Wording:
    """Everything out, everything in: for what is one word, and when the budget is spent."""
    removed, added = _units(old), _units(new)
    was, now = old.lstrip(), new.lstrip()
    segments = _alike(old[: len(old) - len(was)], new[: len(new) - len(now)])
    segments += [["-", was.rstrip()], ["+", now.rstrip()]]
    segments += _alike(was[len(was.rstrip()) :], now[len(now.rstrip()) :])
    return Wording(
        segments=_joined(segments),
        old_units=removed,
        new_units=added,
        added=added,
        removed=removed,
        changes=1,
        other_changes=1,
    )


def _hunks(old: list[str], new: list[str], work: Work, vocabulary: Vocabulary) -> list[Hunk]:
    """The changes between two token lists, tidied; computed in one fixed direction so that counts mirror."""
    if (len(old), old) > (len(new), new):
        return [Hunk(h.j1, h.j2, h.i1, h.i2) for h in _hunks(new, old, work, vocabulary)]
    number = vocabulary.numbers.__getitem__
    left, right = list(map(number, old)), list(map(number, new))
    hunks = _between(align(left, right, work), len(left), len(right))
    _slide(hunks, left, right, old, new)
    return _without_confetti(hunks, old, vocabulary)


def _between(matches: list[tuple[int, int]], old_size: int, new_size: int) -> list[Hunk]:
    hunks = []
    i = j = 0
    for at, to in [*matches, (old_size, new_size)]:
        if i < at or j < to:
            hunks.append(Hunk(i, at, j, to))
        i, j = at + 1, to + 1
    return hunks


def _slide(hunks: list[Hunk], left: list[int], right: list[int], old: list[str], new: list[str]) -> None:
    """Move insertions and deletions to where a reader would put them: whole sentences, whole clauses.

    "A. [B. A.] C." and "A. B. [A. B.]" are the same edit; the one that starts after a full stop reads best.
    """
    for at, hunk in enumerate(hunks):
        if hunk.i1 != hunk.i2 and hunk.j1 != hunk.j2:
            continue
        inserted = hunk.i1 == hunk.i2
        start, end = (hunk.j1, hunk.j2) if inserted else (hunk.i1, hunk.i2)
        ids, tokens = (right, new) if inserted else (left, old)
        before = hunks[at - 1] if at else Hunk(0, 0, 0, 0)
        after = hunks[at + 1] if at + 1 < len(hunks) else Hunk(len(left), 0, len(right), 0)
        back = min(start - (before.j2 if inserted else before.i2), _LONGEST_SLIDE)
        ahead = min((after.j1 if inserted else after.i1) - end, _LONGEST_SLIDE)
        shift = _best_shift(ids, tokens, start, end, back, ahead)
        hunk.i1, hunk.i2, hunk.j1, hunk.j2 = (n + shift for n in (hunk.i1, hunk.i2, hunk.j1, hunk.j2))


def _best_shift(ids: list[int], tokens: list[str], start: int, end: int, back: int, ahead: int) -> int:
    lowest = 0
    while -lowest < back and ids[start + lowest - 1] == ids[end + lowest - 1]:
        lowest -= 1
    highest = 0
    while highest < ahead and ids[start + highest] == ids[end + highest]:
        highest += 1
    if lowest == highest:
        return 0
    # The latest of the best: text that was appended shows as appended.
    return max(
        range(lowest, highest + 1),
        key=lambda by: (_break_before(tokens, start + by) + _break_before(tokens, end + by), by),
    )


def _break_before(tokens: list[str], at: int) -> int:
    """How natural a cut before token `at` is: 3 between sentences, 1 after other punctuation, 0 inside."""
    if at == 0 or at >= len(tokens):
        return 3
    if _ends_sentence(tokens, at):
        return 3
    return 0 if is_word(tokens[at - 1]) else 1


def _without_confetti(hunks: list[Hunk], old: list[str], vocabulary: Vocabulary) -> list[Hunk]:
    """Joins changes with fewer than KEPT_WORDS unchanged words between them; never across 、。・，；."""
    kept: list[Hunk] = []
    for hunk in hunks:
        if kept and _too_close(old[kept[-1].i2 : hunk.i1], vocabulary):
            kept[-1].i2, kept[-1].j2 = hunk.i2, hunk.j2
        else:
            kept.append(hunk)
    return kept


def _too_close(between: list[str], vocabulary: Vocabulary) -> bool:
    words = 0
    for token in between:
        if token.lstrip() in _KEPT_APART:
            return False
        words += vocabulary.units[token]
        if words >= KEPT_WORDS:
            return False
    return True


class _Writer:
    """Turns hunks into segments and counts on the way."""

    def __init__(self, wording: Wording, old: list[str], new: list[str], vocabulary: Vocabulary) -> None:
        self.wording = wording
        self.units = vocabulary.units.__getitem__
        self.old = old
        self.new = new

    def write(self, hunks: list[Hunk]) -> None:
        wording = self.wording
        i = j = 0
        for hunk in hunks:
            self._keep(i, hunk.i1, j, hunk.j1, after_change=i > 0 or j > 0)
            self._change(hunk)
            i, j = hunk.i2, hunk.j2
        self._keep(i, len(self.old), j, len(self.new), after_change=bool(hunks))
        wording.changes = len(hunks)
        wording.one_sided = all(h.i1 == h.i2 for h in hunks) or all(h.j1 == h.j2 for h in hunks)
        wording.old_units = wording.common + wording.removed
        wording.new_units = wording.common + wording.added

    def _keep(self, i1: int, i2: int, j1: int, j2: int, *, after_change: bool) -> None:
        if i1 == i2:
            return
        self.wording.common += sum(map(self.units, self.old[i1:i2]))
        old, new = "".join(self.old[i1:i2]), "".join(self.new[j1:j2])
        if old == new:
            self.wording.segments.append(["=", old])
            return
        segments = self.wording.segments
        for at, (was, now) in enumerate(zip(self.old[i1:i2], self.new[j1:j2], strict=True)):
            was_bare, now_bare = was.lstrip(), now.lstrip()
            was_space, now_space = was[: len(was) - len(was_bare)], now[: len(now) - len(now_bare)]
            segments += _alike(was_space, now_space)
            if was_space != now_space and not (after_change and at == 0):
                self.wording.ignored.whitespace += 1
            segments += _alike(was_bare, now_bare)
            if was_bare != now_bare:
                self._count_ignored(was_bare, now_bare)

    def _count_ignored(self, was: str, now: str) -> None:
        ignored = self.wording.ignored
        if "".join(was.split()) == "".join(now.split()) or " ".join(was.split()) == " ".join(now.split()):
            ignored.whitespace += 1
        elif unicodedata.normalize("NFC", was) == unicodedata.normalize("NFC", now):
            ignored.composition += 1
        else:
            ignored.quotes += 1

    def _change(self, hunk: Hunk) -> None:
        wording = self.wording
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        was, now = "".join(old), "".join(new)
        was_bare, now_bare = was.lstrip(), now.lstrip()
        wording.segments += _alike(was[: len(was) - len(was_bare)], now[: len(now) - len(now_bare)])
        if was_bare:
            wording.segments.append(["-", was_bare])
        if now_bare:
            wording.segments.append(["+", now_bare])
        wording.removed += sum(map(self.units, old))
        wording.added += sum(map(self.units, new))
        if old and not new and _whole_sentences(self.old, hunk.i1, hunk.i2):
            wording.sentences_removed += _sentences(old)
        elif new and not old and _whole_sentences(self.new, hunk.j1, hunk.j2):
            wording.sentences_added += _sentences(new)
        else:
            wording.other_changes += 1


def _alike(old: str, new: str) -> list[Segment]:
    """Text that both sides have, if not letter by letter; shown as the new side has it."""
    if old == new:
        return [["=", old]] if old else []
    return [["=", new or old, old, new]]


def _whole_sentences(tokens: list[str], start: int, end: int) -> bool:
    begins = start == 0 or _ends_sentence(tokens, start)
    return begins and end - start > 2 and _ends_sentence(tokens, end)


def _ends_sentence(tokens: list[str], at: int) -> bool:
    """Whether a sentence ends right before token `at`, closing quotes and brackets included."""
    at -= 1
    while at > 0 and tokens[at] in _CLOSERS:
        at -= 1
    return at >= 0 and tokens[at].lstrip() in _ENDS_SENTENCE


def _sentences(tokens: list[str]) -> int:
    return sum(1 for token in tokens if token.strip() in _ENDS_SENTENCE) or 1


def _end_space(wording: Wording, old: str, new: str) -> None:
    """The white space at the end of the window, which no token carries."""
    was, now = old[len(old.rstrip()) :], new[len(new.rstrip()) :]
    if was == now:
        if was:
            wording.segments.append(["=", was])
        return
    wording.segments += _alike(was, now)
    wording.ignored.whitespace += 1


def _joined(segments: list[Segment]) -> list[Segment]:
    """Without empty segments, and with neighbours of one kind as one."""
    joined: list[Segment] = []
    for segment in segments:
        if not segment[1]:
            continue
        if joined and len(segment) == 2 and len(joined[-1]) == 2 and joined[-1][0] == segment[0]:
            joined[-1] = [segment[0], joined[-1][1] + segment[1]]
        else:
            joined.append(segment)
    return joined

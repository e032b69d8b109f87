"""Whether the difference of two captures matters, how much, and why.

`judge` compares a new reading with the baseline's, leaves out what a rule explains as noise, scores what is
left, and says why in sentences with stable codes. It keeps nothing: what it learned is in `Judgement.delta`,
which the caller stores with the check and folds into the monitor's `Memory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from monitoring.detection import explain as rules
from monitoring.detection.align import Pairing, align
from monitoring.detection.blocks import Block, Reading, Region, Surface
from monitoring.detection.explain import Facts, Scene
from monitoring.detection.fingerprint import distance, fingerprint
from monitoring.detection.judgement import FAR_SHARE, Edit, EditKind, Judgement, Kind, Reason, Settings, is_content
from monitoring.detection.memory import (
    EMPTY,
    Memory,
    Move,
    encode_delta,
    moment,
    slot_hash,
    text_key,
)
from monitoring.detection.score import WEIGHTS, Weights, combined, features

DETECTOR_VERSION = 1

LOW = "below-cut"  # an edit that no rule explains and that the model finds too slight


def judge(
    old: Reading,
    new: Reading,
    memory: Memory,
    *,
    settings: Settings,
    old_at: datetime | None = None,
    now: datetime | None = None,
    old_fingerprint: int | None = None,
    new_fingerprint: int | None = None,
    weights: Weights = WEIGHTS,
) -> Judgement:
    """The judgement of a new capture against the baseline.

    old, new: readings of good captures, made with the same options. memory: what the monitor has shown until
    now, this visit not included. old_at, now: when the two were captured; only used in the reasons.
    The fingerprints are computed when they are not given. Never raises for page content; the work is
    bounded by the number of blocks.
    """
    if old.blocks == new.blocks:
        same = encode_delta((), state=memory.state, rebased=False)
        return Judgement(Kind.NONE, 0.0, 0, settings, (_same(),), delta=same)
    pairing = align(old.blocks, new.blocks)
    facts = rules.gather(old, new, pairing)
    bits = distance(
        fingerprint(old) if old_fingerprint is None else old_fingerprint,
        fingerprint(new) if new_fingerprint is None else new_fingerprint,
    )
    scene = rules.scene_of(old, new, memory, settings, facts)
    edits = _edits(facts, scene, pairing, weights)
    edits = _resplit(edits, old, new)
    open_edits = [e for e in edits if not e.explained]
    score = combined([e.weight for e in open_edits])
    main = _main_weight(open_edits, old, new)
    matters = is_content(score, bits, main, cut=settings.cut, threshold=settings.threshold)
    kind = Kind.CONTENT if matters else Kind.NOISE
    state = memory.state
    if kind is Kind.CONTENT:
        state = _state(state, edits, facts, scene, pairing)
    limit = settings.cut * FAR_SHARE if kind is Kind.CONTENT else 1.0
    edits = [_slight(e, old, new, limit, kind) for e in edits]
    delta = encode_delta(_moves(edits, old, new), state=state, rebased=kind is Kind.CONTENT)
    reasons = _reasons(kind, score, main, bits, edits, facts, scene, old_at, now, state)
    return Judgement(
        kind=kind,
        score=round(score, 4),
        distance=bits,
        settings=settings,
        reasons=reasons,
        edits=tuple(edits),
        delta=delta,
        visible_difference=_differs_visibly(edits, old, new),
        main=round(main, 4),
    )


def observe(old: Reading, new: Reading) -> bytes:
    """The block delta between two calibration fetches, without a judgement; `fold` it with `quiet=True`."""
    pairing = align(old.blocks, new.blocks)
    edits = [Edit(EditKind.REWORDED, o, n) for o, n in pairing.reworded]
    edits += [Edit(EditKind.REMOVED, o, -1) for o in pairing.removed]
    edits += [Edit(EditKind.ADDED, -1, n) for n in pairing.added]
    return encode_delta(_moves(edits, old, new), state=0, rebased=False)


def weigh(old: Reading, new: Reading, memory: Memory, *, settings: Settings) -> list[dict[str, float]]:
    """The features of every edit that no rule explains: what the fitting command learns from."""
    pairing = align(old.blocks, new.blocks)
    facts = rules.gather(old, new, pairing)
    scene = rules.scene_of(old, new, memory, settings, facts)
    explained = {(e.old, e.new) for e in _resplit(_edits(facts, scene, pairing, WEIGHTS), old, new) if e.explained}
    peers = _peers(facts)
    return [features(f, scene, peers[f.block.path]) for f in facts if (f.old, f.new) not in explained]


def _edits(facts: list[Facts], scene: Scene, pairing: Pairing, weights: Weights) -> list[Edit]:
    peers = _peers(facts)
    edits = []
    for f in facts:
        code = rules.explain(f, scene)
        weight = 0.0 if code else weights.of(features(f, scene, peers[f.block.path]))
        edits.append(Edit(f.kind, f.old, f.new, code, round(weight, 4)))
    far = _far_moves(pairing, scene)
    edits += [_moved(o, n, scene, is_far=(o, n) in far) for o, n in pairing.moved]
    return edits


def _slight(edit: Edit, old: Reading, new: Reading, limit: float, kind: Kind) -> Edit:
    """The edit with the reason why it does not count, when it weighs no more than `limit`.

    Beside a change of substance only what stands in a place with a telling name is set aside; the rest is shown.
    """
    if edit.explained or edit.weight > limit:
        return edit
    place = rules.place_of((new.blocks[edit.new] if edit.new >= 0 else old.blocks[edit.old]).path)
    if place.consent:
        return replace(edit, explained="consent")
    if place.advert or place.related:
        return replace(edit, explained="advert")
    if place.structure or place.chrome:
        return replace(edit, explained="furniture")
    return edit if kind is Kind.CONTENT else replace(edit, explained=LOW)


def _moved(o: int, n: int, scene: Scene, *, is_far: bool) -> Edit:
    block = scene.new.blocks[n]
    if scene.settings.order_matters and block.surface is Surface.VISIBLE and rules.stands_alone(block):
        return Edit(EditKind.MOVED, o, n, "", 0.9)
    if is_far:
        return Edit(EditKind.MOVED, o, n, "", FAR_MOVE)
    return Edit(EditKind.MOVED, o, n, "reorder" if block.list_id >= 0 else "moved")


FAR_MOVE = 0.6
"""Weight of a clause that stands in another part of the text now: "optional" and "required" may lie between the two."""

FAR_MIN = 40  # characters of a clause
FAR_PAST = 5  # unmoved texts of the main region between the two places, where no heading tells the parts apart
FAR_MOST = 20  # more than so many are a rebuilt page: the same texts in another order


def _far_moves(pairing: Pairing, scene: Scene) -> set[tuple[int, int]]:
    """Moves of a clause to another part of the text: under another heading, or past several texts that stayed.

    Entries of lists and tables, links and what is no main text don't count: they are reordered all the time.
    """
    old, new = scene.old.blocks, scene.new.blocks
    clauses = [(o, n) for o, n in pairing.moved if _is_clause(old[o]) and _is_clause(new[n])]
    if not clauses or len(clauses) > FAR_MOST:
        return set()
    gone = {o for o, _ in pairing.moved}
    came = {n for _, n in pairing.moved}
    stayed = {b.text for i, b in enumerate(old) if i not in gone and _counts(b)}
    stayed &= {b.text for i, b in enumerate(new) if i not in came and _counts(b)}
    before_old, head_old = _standing(old, stayed)
    before_new, head_new = _standing(new, stayed)
    return {
        (o, n)
        for o, n in clauses
        if (past := abs(before_old[o] - before_new[n])) >= FAR_PAST or (past and head_old[o] != head_new[n])
    }


def _is_clause(block: Block) -> bool:
    return _counts(block) and block.list_id < 0 and len(block.text) >= FAR_MIN and block.link_density < 0.5


def _standing(blocks: Sequence[Block], stayed: set[str]) -> tuple[list[int], list[str]]:
    """For each block, how many texts that stayed stand before it, and the heading it stands under."""
    counts: list[int] = []
    heads: list[str] = []
    count, head = 0, ""
    for block in blocks:
        counts.append(count)
        heads.append(head)
        if _counts(block):
            count += block.text in stayed
            head = block.text if block.heading else head
    return counts, heads


def _peers(facts: list[Facts]) -> Counter[str]:
    return Counter(f.block.path for f in facts)


def _resplit(edits: list[Edit], old: Reading, new: Reading) -> list[Edit]:
    """Text that was only cut into blocks differently: all that went equals all that came, white space aside."""
    left = [e for e in edits if not e.explained and e.kind is not EditKind.MOVED]
    if len(left) < 2:
        return edits
    went = "".join(old.blocks[i].text for i in sorted(e.old for e in left if e.old >= 0))
    came = "".join(new.blocks[i].text for i in sorted(e.new for e in left if e.new >= 0))
    if len(went) > 400_000 or "".join(went.split()) != "".join(came.split()):
        return edits
    return [e if e.explained or e.kind is EditKind.MOVED else replace(e, explained="resplit") for e in edits]


def _moves(edits: Sequence[Edit], old: Reading, new: Reading) -> list[Move]:
    """The slots that differ, those explained as noise first, because their past is what memory is for."""
    rows = []
    for e in sorted(edits, key=lambda e: (not e.explained, e.new, e.old)):
        if e.kind is EditKind.MOVED:
            continue
        was: Block | None = old.blocks[e.old] if e.old >= 0 else None
        now: Block | None = new.blocks[e.new] if e.new >= 0 else None
        place = was or now
        if place is not None:
            rows.append(
                Move(
                    slot_hash(place.slot),
                    text_key(was.text) if was else 0,
                    text_key(now.text) if now else EMPTY,
                )
            )
    return rows


def _state(state: int, edits: Sequence[Edit], facts: Sequence[Facts], scene: Scene, pairing: Pairing) -> int:
    """The page's state after these edits: the baseline's, less the main texts that went, plus those that came.

    Edits that a look at the two texts alone explains take no part, so a page that returns to an earlier text has
    that text's state whatever its clocks say. What the memory explains does take part: it may have learned
    something between going and coming back.
    """
    skipped = {(e.old, e.new) for e in edits if e.explained in _STATELESS}
    skipped |= {(f.old, f.new) for f, e in zip(facts, edits, strict=False) if f.masked and e.explained}
    pairs = [*pairing.reworded, *((o, -1) for o in pairing.removed), *((-1, n) for n in pairing.added)]
    for o, n in pairs:
        if (o, n) in skipped:
            continue
        if o >= 0 and _counts(scene.old.blocks[o]):
            state -= text_key(scene.old.blocks[o].text)
        if n >= 0 and _counts(scene.new.blocks[n]):
            state += text_key(scene.new.blocks[n].text)
    return state & ((1 << 64) - 1)


_STATELESS = frozenset({"echo", "placeholder", "typography", "relative-time", "day-shift", "ignore-rule"})


def _counts(block: Block) -> bool:
    return block.region is Region.MAIN and block.surface is Surface.VISIBLE


def _main_weight(edits: Sequence[Edit], old: Reading, new: Reading) -> float:
    """The weight of the strongest unexplained edit of what readers see in the main region, 0 for none."""
    return max(
        (e.weight for e in edits if _counts(new.blocks[e.new] if e.new >= 0 else old.blocks[e.old])), default=0.0
    )


def _differs_visibly(edits: Sequence[Edit], old: Reading, new: Reading) -> bool:
    for e in edits:
        block = new.blocks[e.new] if e.new >= 0 else old.blocks[e.old]
        if block.surface is Surface.VISIBLE:
            return True
    return False


# ---------------------------------------------------------------- reasons


def _same() -> Reason:
    return Reason("same-text", "Every block is the same.")


def _reasons(
    kind: Kind,
    score: float,
    main: float,
    bits: int,
    edits: Sequence[Edit],
    facts: Sequence[Facts],
    scene: Scene,
    old_at: datetime | None,
    now: datetime | None,
    state: int,
) -> tuple[Reason, ...]:
    reasons: list[Reason] = []
    settings, memory = scene.settings, scene.memory
    open_edits = [e for e in edits if not e.explained]
    if kind is Kind.CONTENT:
        reasons.append(_changed(open_edits, scene, old_at, now))
        elsewhere = sum(e.kind is EditKind.MOVED for e in open_edits)
        if elsewhere:
            told = f"{_blocks(elsewhere)} moved to another part of the text."
            reasons.append(Reason("moved-far", told, {"blocks": elsewhere}))
        reasons += _back(state, memory)
    against = "reaches" if score >= settings.cut else "stays under"
    reasons.append(
        Reason(
            "score",
            f"Substance {score:.2f} {against} the cut of {settings.cut:.2f}.",
            {"score": round(score, 4), "cut": settings.cut, "main": round(main, 4)},
        )
    )
    over = "above" if bits > settings.threshold else "within"
    reasons.append(
        Reason(
            "distance",
            f"Distance {bits} bits, {over} the threshold of {settings.threshold}.",
            {"distance": bits, "threshold": settings.threshold},
        )
    )
    counts = Counter(e.explained for e in edits if e.explained)
    for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        reasons.append(Reason(f"left-out-{code}", LEFT_OUT.get(code, code).format(n=_blocks(count)), {"blocks": count}))
    reasons += _surfaces([e for e in edits if e.explained in ("", LOW)], scene)
    unseen = sum(f.same_folded for f, e in zip(facts, edits, strict=False) if not e.explained)
    if unseen:
        text = f"{_blocks(unseen)} with invisible or look-alike characters."
        reasons.append(Reason("look-alike", text, {"blocks": unseen}))
    return tuple(reasons)


LEFT_OUT = {
    "ignore-rule": "{n} left out by an ignore rule.",
    "typography": "{n} left out: only quotes, dashes, spaces or letter case differ.",
    "relative-time": "{n} left out: only a relative time moved on.",
    "day-shift": "{n} left out: every date moved by the same day, as a server's time zone does.",
    "volatile-slot": "{n} left out in places that keep moving.",
    "volatile-pattern": "{n} left out: a clock, counter or token.",
    "rotation": "{n} left out: a text this monitor has shown there before.",
    "echo": "{n} left out: the page title, repeated by a script.",
    "repeat": "{n} left out: one more or one less copy of a text that stayed.",
    "placeholder": "{n} left out: a loading notice.",
    "reorder": "{n} left out: the same list entries in another order.",
    "moved": "{n} left out: the same text in another place.",
    "resplit": "{n} left out: the same text, cut into blocks differently.",
    "furniture": "{n} left out in menus, footers and sidebars.",
    "consent": "{n} left out in a consent banner.",
    "advert": "{n} left out in advertising or recommendations.",
    LOW: "{n} left out as too slight.",
}


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _changed(edits: Sequence[Edit], scene: Scene, old_at: datetime | None, now: datetime | None) -> Reason:
    memory = scene.memory
    still = [memory.still_visits(scene.old.blocks[e.old].slot) for e in edits if e.old >= 0]
    text = f"{_blocks(len(edits))} changed"
    data: dict[str, str | int | float] = {"blocks": len(edits)}
    if still and min(still) == memory.visits and memory.visits > 0:
        visits = f"{memory.visits} visit" + ("" if memory.visits == 1 else "s")
        text += f" that had stood still for {visits}"
        data["visits"] = memory.visits
        if old_at is not None and now is not None and memory.started_s:
            days = (now - moment(memory.state_s)).days
            text += f" and {days} day" + ("" if days == 1 else "s")
            data["days"] = days
    return Reason("changed", text + ".", data)


def _back(state: int, memory: Memory) -> list[Reason]:
    past = memory.states.get(state)
    if past is None or state == memory.state:
        return []
    day = moment(past.last_s).date().isoformat()
    passing = memory.last_s == memory.state_s  # what it comes back from was seen on a single visit
    data: dict[str, str | int | float] = {"date": day, "times": past.times, "passing": int(passing)}
    reasons = [Reason("return", f"Back to the text of {day}.", data)]
    if past.times >= 2:
        reasons.append(
            Reason("flapping", f"The page has come back to this text {past.times} times.", {"times": past.times})
        )
    return reasons


def _surfaces(edits: Sequence[Edit], scene: Scene) -> list[Reason]:
    kinds: Counter[Surface] = Counter()
    for e in edits:
        block = scene.new.blocks[e.new] if e.new >= 0 else scene.old.blocks[e.old]
        aside = block.region is not Region.MAIN and block.surface in (Surface.LINK, Surface.ATTRIBUTE)
        kinds[block.surface] += not (e.explained and aside)
    names = {
        Surface.HIDDEN: ("hidden-text", "Hidden text changed ({n})."),
        Surface.ATTRIBUTE: ("attribute-text", "Text in an attribute changed ({n})."),
        Surface.EMBEDDED: ("embedded-text", "Text of an embedded frame changed ({n})."),
        Surface.STYLE: ("style-text", "Text written by a style sheet changed ({n})."),
        Surface.LINK: ("link-target", "A link leads elsewhere ({n})."),
    }
    return [
        Reason(code, text.format(n=_blocks(kinds[surface])), {"blocks": kinds[surface]})
        for surface, (code, text) in names.items()
        if kinds[surface]
    ]

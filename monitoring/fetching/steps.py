"""What is done on a page before it is captured: a short list of steps, checked before it is kept.

As JSON, for example `[{"do": "consent"}, {"do": "type", "selector": "#user", "value": "secret:SHOP_USER"},
{"do": "click", "text": "Sign in"}, {"do": "wait", "text": "My account"}]`. A step holds no code, and a secret only by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

MAX_STEPS = 20
MAX_TOTAL_S = 40.0  # what all steps together may take
MAX_STEP_S = 20.0
_MAX_TEXT = 500
SECRET = "secret:"  # noqa: S105 - the mark of a reference, no secret
_SECRET_NAME = re.compile(r"secret:[A-Z][A-Z0-9_]{0,63}")
# One key, or one with modifiers: "Enter", "Control+A", "x". No text: that is what typing is for.
_KEY = re.compile(r"(?:(?:Control|Shift|Alt|Meta)\+){0,3}(?:[A-Z][A-Za-z0-9]{1,19}|[!-~])")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class Do(StrEnum):
    """The kinds of step."""

    CLICK = "click"
    TYPE = "type"
    SELECT = "select"
    SCROLL = "scroll"
    CONSENT = "consent"
    PRESS = "press"
    WAIT = "wait"


class StepError(ValueError):
    """A step that can't be done; the sentence names it by its number, and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step; which members count depends on `do` (see `_RULES`).

    within_s: how long the page is given to show what the step is about. on: the host on which a secret may be typed,
    where that is not the host of the page's own address. count: so many elements at least.
    """

    do: Do
    selector: str = ""
    text: str = ""
    url: str = ""
    value: str = ""
    key: str = ""
    to: str = ""
    answer: str = ""
    on: str = ""
    gone: bool = False
    count: int = 0
    quiet_s: float = 0.0
    seconds: float = 0.0
    within_s: float = 5.0

    @property
    def words(self) -> str:
        """The step as a sentence names it, without the value."""
        target = self.selector or self.text or self.url or self.key or self.to
        if self.do is Do.WAIT and not target:
            return f"wait {self.quiet_s or self.seconds:g} s"
        name = {Do.TYPE: "type into", Do.SELECT: "select in", Do.SCROLL: "scroll to", Do.WAIT: "wait for"}.get(
            self.do, str(self.do)
        )
        return f"{name} “{target[:80]}”" if target else name

    @property
    def secret(self) -> str:
        """The name of the secret that this step types, or the empty string."""
        return self.value.removeprefix(SECRET) if self.value.startswith(SECRET) else ""

    @property
    def longest_s(self) -> float:
        """The most time that this step takes."""
        return self.seconds or max(self.within_s, self.quiet_s)

    def to_json(self) -> dict[str, Any]:
        """The members that say something, as they are stored."""
        plain = Step(do=self.do)
        kept = {name: value for name, value in asdict(self).items() if value != getattr(plain, name)}
        return {"do": str(self.do)} | kept


# Which members a kind of step takes, and of which groups exactly one must be there.
_RULES: dict[Do, tuple[frozenset[str], tuple[tuple[str, ...], ...]]] = {
    Do.CLICK: (frozenset({"selector", "text"}), (("selector", "text"),)),
    Do.TYPE: (frozenset({"selector", "value", "on"}), (("selector",), ("value",))),
    Do.SELECT: (frozenset({"selector", "value"}), (("selector",), ("value",))),
    Do.SCROLL: (frozenset({"selector", "to"}), (("selector", "to"),)),
    Do.CONSENT: (frozenset({"answer"}), ()),
    Do.PRESS: (frozenset({"key", "selector"}), (("key",),)),
    Do.WAIT: (
        frozenset({"selector", "text", "url", "gone", "count", "quiet_s", "seconds"}),
        (("selector", "text", "url", "quiet_s", "seconds"),),
    ),
}
_TYPES = {field.name: field.type for field in fields(Step)}
_WORDS: dict[str, frozenset[str]] = {
    "to": frozenset({"bottom", "top"}),
    "answer": frozenset({"reject", "accept"}),
}


def parse_steps(raw: object, *, check_selector: Callable[[str], str] = lambda text: "") -> tuple[Step, ...]:
    """The steps of a list as JSON gives it; raises `StepError`.

    `check_selector` gives what is wrong with a CSS selector, or the empty string.
    """
    if raw in (None, ""):
        return ()
    if not isinstance(raw, list):
        raise StepError('Expected a list of steps, such as [{"do": "click", "selector": "#more"}].')
    if len(raw) > MAX_STEPS:
        raise StepError(f"There are {len(raw)} steps; at most {MAX_STEPS} are done.")
    steps = tuple(_step(number, one, check_selector) for number, one in enumerate(raw, start=1))
    total = sum(step.longest_s for step in steps)
    longest_wait = sum(step.seconds or step.quiet_s for step in steps)
    if longest_wait > MAX_TOTAL_S:
        raise StepError(f"The waits of all steps add up to {total:g} s; at most {MAX_TOTAL_S:g} s are allowed.")
    return steps


def secrets_of(steps: Iterable[Step], *, home: str) -> frozenset[tuple[str, str]]:
    """Names of the secrets that these steps type, each with the host it is typed on: `home`, where a step names no other."""
    return frozenset((step.secret, step.on or home) for step in steps if step.secret)


def _step(number: int, raw: object, check_selector: Callable[[str], str]) -> Step:
    def wrong(what: str) -> StepError:
        return StepError(f"Step {number}: {what}")

    if not isinstance(raw, dict):
        raise wrong('expected an object such as {"do": "click", "selector": "#more"}.')
    if not isinstance(raw.get("do"), str) or raw["do"] not in set(Do):
        raise wrong(f"“do” is {str(raw.get('do'))[:40]!r}; expected one of {', '.join(Do)}.")
    do = Do(raw["do"])
    allowed, groups = _RULES[do]
    if unknown := sorted(str(name)[:40] for name in set(raw) - allowed - {"do", "within_s"}):
        raise wrong(f"{do} takes no {', '.join(unknown)}; it takes {', '.join(sorted(allowed | {'within_s'}))}.")
    values = {name: _value(name, raw[name], wrong) for name in raw if name != "do"}
    for group in groups:
        if sum(bool(values.get(name)) for name in group) != 1:
            raise wrong(f"{do} needs {'exactly one of ' if len(group) > 1 else ''}{', '.join(group)}.")
    step = Step(do=do, **values)
    _together(step, wrong)
    if step.selector and (fault := check_selector(step.selector)):
        raise wrong(fault)
    return step


def _value(name: str, value: object, wrong: Callable[[str], StepError]) -> Any:  # Any: one of the members' types
    kind = _TYPES[name]
    if kind == "str":
        if not isinstance(value, str) or len(value) > _MAX_TEXT or any(ord(c) < 0x20 for c in value):
            raise wrong(f"“{name}” must be text of at most {_MAX_TEXT} characters, without control characters.")
        if name in _WORDS and value not in _WORDS[name]:
            raise wrong(f"“{name}” must be one of {', '.join(sorted(_WORDS[name]))}.")
        return value
    if kind == "bool":
        if not isinstance(value, bool):
            raise wrong(f"“{name}” must be true or false.")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(f"“{name}” must be a number.")
    if kind == "int":
        if value != int(value) or not 1 <= value <= 1000:
            raise wrong(f"“{name}” must be a whole number from 1 to 1000.")
        return int(value)
    if not 0.1 <= value <= MAX_STEP_S:
        raise wrong(f"“{name}” must be from 0.1 to {MAX_STEP_S:g} seconds.")
    return float(value)


def _together(step: Step, wrong: Callable[[str], StepError]) -> None:
    """Raise where members do not go together."""
    if step.key and not _KEY.fullmatch(step.key):
        raise wrong("“key” must name one key, such as Enter, Escape or Control+A.")
    if step.value.startswith(SECRET):
        if step.do is not Do.TYPE:
            raise wrong("a secret can only be typed.")
        if (
            not _SECRET_NAME.fullmatch(step.value)
            or step.value == f"{SECRET}KEY"
            or step.value.endswith(("_FILE", "_HOSTS"))
        ):
            raise wrong(
                "a secret is written as secret:NAME, in capitals, digits and underscores; not KEY, …_FILE or …_HOSTS."
            )
    if step.on and (not _HOST.fullmatch(step.on) or not step.secret):
        raise wrong("“on” names the host on which a secret may be typed, such as login.example.org.")
    if (step.gone or step.count) and not step.selector:
        raise wrong("“gone” and “count” belong to a selector.")
    if step.gone and step.count:
        raise wrong("“gone” and “count” cannot stand together.")

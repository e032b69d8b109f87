"""Fictional sentences and pages for the tests of the judge. Nothing here is taken from a real site."""

from __future__ import annotations

import random
from collections.abc import Sequence

_WHO = [
    "The member",
    "The operator",
    "Our office",
    "A visitor",
    "The council",
    "Each supplier",
    "The harbour master",
    "A tenant",
]
_DOES = [
    "may inspect",
    "shall keep",
    "must return",
    "can request",
    "will publish",
    "should record",
    "has to renew",
    "is asked to confirm",
]
_WHAT = [
    "the mooring permit",
    "a copy of the register",
    "every delivery note",
    "the weekly report",
    "all spare keys",
    "the signed form",
    "its storage box",
    "the safety card",
]
_WHEN = [
    "before the end of the season",
    "within thirty days",
    "at the main desk",
    "without further notice",
    "for as long as needed",
    "on the first working day",
    "together with the invoice",
    "in writing",
]


ARTICLE = (
    "Nobody on the island of Marrow remembers when the lighthouse began to hum.",
    "Old Teodor says it was the winter the ferry froze, but his sister puts it two years later.",
    "A team of acousticians arrived in October with crates full of microphones and very little sleep.",
    "They rented the bakery's upper floor because it was the only warm room left after the fair.",
    "Their recordings show a tone near ninety hertz that fades whenever the wind turns to the south.",
    "One theory blames a cracked vent pipe; another suspects the copper roof that replaced the slate.",
    "Children have invented a dance to it, and the school choir tunes its warm-up to the same pitch.",
    "What began as a nuisance has brought three bus loads of listeners every weekend since spring.",
    "Not everyone is pleased: sheep avoid the upper meadow, claims a farmer who counts them daily.",
    "The keeper, who sleeps through everything, has asked only that visitors wipe their boots.",
    "In January the team will seal the vent for a week and compare both sets of tapes.",
    "If the hum stops, Marrow will have to decide whether it wants silence back.",
)
"""An article that shares no phrase with `sentences`."""


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """So many different sentences; the same seed gives the same ones."""
    rng = random.Random(seed)
    return [
        f"{rng.choice(_WHO)} {rng.choice(_DOES)} {rng.choice(_WHAT)} {rng.choice(_WHEN)} (item {seed * 1000 + number})."
        for number in range(count)
    ]


def page(paragraphs: Sequence[str], *, before: str = "", after: str = "", title: str = "Harbour rules") -> str:
    """A plain page: header, main with one paragraph each, footer."""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body>"
        f"<header><nav><ul><li><a href=/>Home</a><li><a href=/rules>Rules</a></ul></nav></header>{before}"
        f"<main><h1>{title}</h1>{body}</main>{after}<footer><p>Quayside Office, Pier 4</p></footer></body></html>"
    )

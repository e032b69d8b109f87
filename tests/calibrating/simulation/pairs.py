"""Pairs of captures of made-up pages, each with one substantive edit or one kind of noise. Same seed, same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.detection.prose import sentences

_NAMES = (
    "Ottar Lind",
    "Runa Falk",
    "Tove Brandt",
    "Iver Holm",
    "Sigrid Moe",
    "Aksel Rud",
    "Dagny Voll",
    "Eskil Tangen",
)
_STORIES = (
    "The ferry that never left the harbour", "How to mend a net in an afternoon", "Seven soups for a cold week", "A bell cast twice",
    "What the tide brought in", "Inside the rope works", "The last lamplighter", "Who paints the buoys",
)  # fmt: skip
_OFFERS = ("Tickets for the summer fair", "Two nights for one", "Join the rowing club", "A new app")
_ADVERTS = ("Boots that last", "A week by the lake", "Tea by post", "Quiet tyres", "Lamps for small rooms")
_MONTHS = ("January", "March", "May", "July", "September", "November")


@dataclass(slots=True)
class Page:
    """A page in parts, so that an edit is a change of one part."""

    paragraphs: list[str]
    rows: list[tuple[str, str]]
    points: list[str]
    seed: int
    promo: str = _OFFERS[0]
    advert: str = _ADVERTS[0]
    strap: str = "Open today until six"
    story: str = _STORIES[0]
    form: str = "form-1"
    archive: str = "Older notices of the harbour"
    state: str = "Crane out of order"
    button: str = "Reserve a berth"
    hidden: str = "Session ended, please reload"
    fee: int = 120
    notice: str = ""
    sidebar: str = "The slipway has been open again since Monday."

    def html(self) -> str:
        """The page as a server sends it."""
        paragraphs = "".join(
            f"<h2>Section {n // 4 + 1}</h2><p>{text}</p>" if n % 4 == 0 else f"<p>{text}</p>"
            for n, text in enumerate(self.paragraphs)
        )
        rows = "".join(f"<tr><td>{name}</td><td>{until}</td></tr>" for name, until in self.rows)
        points = "".join(f"<li>{point}</li>" for point in self.points)
        notice = f'<div class="bar"><p>{self.notice}</p></div>' if self.notice else ""
        return f"""<!doctype html><html lang="en"><head><title>Rules of the harbour {self.seed}</title></head><body>
<header><nav><ul><li><a href="/">Home</a></li><li><a href="/rules">Rules</a></li></ul></nav><p>{self.strap}</p></header>
<div class="promo"><p>{self.promo}</p></div>{notice}
<main><h1>Rules of the harbour</h1>{paragraphs}<table><tr><th>Permit</th><th>Valid until</th></tr>{rows}</table><ul>{points}</ul>
<p>See <a href="/{self.form}">the form</a> for it.</p><button>{self.button}</button>
<ul><li><a href="/x">{self.archive}</a></li></ul></main>
<div class="sidebar"><ul><li>{self.state}</li></ul><p>{self.sidebar}</p></div><aside><p>{self.story}</p></aside>
<div class="ad-slot"><a href="/ad1">{self.advert}</a></div><div hidden><p>{self.hidden}</p></div>
<footer><p>Fees are {self.fee} euros a berth</p><p>Quayside office, pier 4</p></footer></body></html>"""


def page(seed: int) -> Page:
    """The page with this number: between 8 and 40 paragraphs."""
    rng = random.Random(f"page/{seed}")
    texts = sentences(rng.choice((8, 14, 24, 40)), seed=seed + 1)
    rows = [
        (f"{rng.choice(_NAMES)}, berth {n + 2}", f"{rng.randrange(1, 28)} {rng.choice(_MONTHS)} 2027") for n in range(6)
    ]
    points = [
        f"{what} until {hour} o'clock"
        for what, hour in zip(("Crane", "Slipway", "Fuel", "Showers"), (18, 20, 16, 22), strict=True)
    ]
    return Page(texts, rows, points, seed)


type Change = Callable[[Page, random.Random], None]


def _words(p: Page, rng: random.Random) -> None:
    n = rng.randrange(len(p.paragraphs))
    p.paragraphs[n] = (
        p.paragraphs[n].replace(" the ", " a ", 1).replace(" may ", " may not ").replace(" shall ", " need not ")
    )
    p.paragraphs[n] = p.paragraphs[n].replace("(item", "except on holidays (item", 1)


def _added(p: Page, rng: random.Random) -> None:
    p.paragraphs.insert(rng.randrange(len(p.paragraphs)), rng.choice(sentences(9, seed=900 + p.seed)))


def _removed(p: Page, rng: random.Random) -> None:
    p.paragraphs.pop(rng.randrange(len(p.paragraphs)))


def _number(p: Page, rng: random.Random) -> None:
    n = rng.randrange(len(p.paragraphs))
    p.paragraphs[n] = p.paragraphs[n].replace("(item ", f"(item {rng.randrange(2, 9)}", 1)


def _row(p: Page, rng: random.Random) -> None:
    p.rows.pop(rng.randrange(len(p.rows)))


def _date(p: Page, rng: random.Random) -> None:
    n = rng.randrange(len(p.rows))
    p.rows[n] = (p.rows[n][0], f"{rng.randrange(1, 28)} {rng.choice(_MONTHS)} 2028")


def _point(p: Page, rng: random.Random) -> None:
    n = rng.randrange(len(p.points))
    p.points[n] = p.points[n].replace("until", "not before")


def _sidebar(p: Page, rng: random.Random) -> None:
    p.sidebar = rng.choice(
        ("The slipway stays closed until the autumn.", "The crane may be used by members only from now on.")
    )


def _notice(p: Page, rng: random.Random) -> None:
    p.notice = rng.choice(
        ("The north quay is closed from May.", "From 1 June fees rise by 12 percent.", "Dogs are no longer allowed.")
    )


EDITS: dict[str, Change] = {
    "words": _words, "added": _added, "removed": _removed, "number": _number, "row": _row, "date": _date, "point": _point,
    "sidebar": _sidebar, "notice": _notice,
}  # fmt: skip


def _promo(p: Page, rng: random.Random) -> None:
    p.promo = rng.choice(_OFFERS[1:])


def _advert(p: Page, rng: random.Random) -> None:
    p.advert = rng.choice(_ADVERTS[1:])


def _strap(p: Page, rng: random.Random) -> None:
    p.strap = rng.choice(("Closed for the holiday", "Open today until four", "Back on Monday"))


def _story(p: Page, rng: random.Random) -> None:
    p.story = rng.choice(_STORIES[1:])


def _form(p: Page, rng: random.Random) -> None:
    p.form = f"form-{rng.randrange(2, 90)}"


def _archive(p: Page, rng: random.Random) -> None:
    p.archive = rng.choice(("Newer notices of the harbour", "All notices of the harbour"))


def _state(p: Page, rng: random.Random) -> None:
    p.state = rng.choice(("Slipway open again", "Fuel pump works"))


def _button(p: Page, rng: random.Random) -> None:
    p.button = rng.choice(("Join the waiting list", "Ask for a berth"))


def _hidden(p: Page, rng: random.Random) -> None:
    p.hidden = rng.choice(("Your session has expired", "Please sign in again"))


def _mixed(*changes: Change) -> Change:
    def both(p: Page, rng: random.Random) -> None:
        for change in changes:
            change(p, rng)

    return both


QUIET_NOISE: dict[str, Change] = {
    "advert": _advert, "strap": _strap, "story": _story, "form": _form, "archive": _archive,
    "advert+strap": _mixed(_advert, _strap), "story+form": _mixed(_story, _form),
    "all of these": _mixed(_advert, _strap, _story, _form, _archive),
}  # fmt: skip
LOUD_NOISE: dict[str, Change] = {
    "promo": _promo, "state": _state, "button": _button, "hidden": _hidden, "promo+hidden": _mixed(_promo, _hidden),
}  # fmt: skip
NOISE = QUIET_NOISE | LOUD_NOISE


def pair(seed: int, kind: str) -> tuple[str, str]:
    """The page before and after one edit or noise of this kind."""
    before, after = page(seed), page(seed)
    change = EDITS.get(kind) or NOISE[kind]
    change(after, random.Random(f"{seed}/{kind}"))
    return before.html(), after.html()

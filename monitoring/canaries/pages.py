"""The canaries' own pages: what each shows is a function of its name, the number of its planting and the moment.

No planting ever shows a text that an earlier one showed: a page that comes back to known texts would be learned as such.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from monitoring.canaries.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Served:
    """What the page answers."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """One canary of our own. `expected` is the outcome that a visit after each planting must have."""

    key: str
    title: str
    expected: str
    page: Callable[[int, datetime, float], Served]

    def serve(self, at: datetime, schedule: Schedule) -> Served:
        """The page at a moment."""
        seconds = at.timestamp()
        return self.page(schedule.turn(seconds), at.astimezone(UTC), schedule.share(seconds))


def _html(title: str, body: str, *, lang: str = "en", head: str = "", charset: str = "utf-8") -> Served:
    text = (
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="{charset}"><title>{escape(title)}</title>{head}</head>\n'
        f"<body><main><h1>{escape(title)}</h1>\n{body}\n</main></body></html>\n"
    )
    return Served(text.encode(charset), f"text/html; charset={charset}")


def _generation(turn: int, place: int, places: int) -> int:
    """How often one of the places of a page has been renewed: each planting renews one, in turn."""
    return (turn - place) // places


_FIRST = (
    "Alder",
    "Birch",
    "Cedar",
    "Dogwood",
    "Elm",
    "Fir",
    "Gorse",
    "Hazel",
    "Ivy",
    "Juniper",
    "Kauri",
    "Larch",
    "Maple",
)
_SECOND = (
    "bridge",
    "field",
    "gate",
    "harbour",
    "hill",
    "lake",
    "mill",
    "point",
    "ridge",
    "ton",
    "vale",
    "wick",
    "wood",
)
_TRADE = (
    "Bakers",
    "Brewers",
    "Carriers",
    "Foundry",
    "Growers",
    "Millers",
    "Oils",
    "Paper",
    "Potters",
    "Tanners",
    "Weavers",
)
_ENTRIES = 12


def _entry(place: int, generation: int) -> str:
    rng = random.Random(f"entry/{place}/{generation}")  # noqa: S311 - a made-up name, no secret
    name = f"{rng.choice(_FIRST)}{rng.choice(_SECOND)} {rng.choice(_TRADE)}"
    town = f"{rng.choice(_FIRST)}{rng.choice(_SECOND)}"
    number = f"{chr(65 + place)}{generation % 1_000_000:06d}"
    return f"<tr><td>{name}</td><td>{town}</td><td>{number}</td></tr>"


def _list(turn: int, now: datetime, share: float) -> Served:
    """A list of certified suppliers, of which one is struck off and another one written down."""
    rows = "\n".join(_entry(place, _generation(turn, place, _ENTRIES)) for place in range(_ENTRIES))
    return _html(
        "Suppliers with a valid certificate",
        "<p>Only suppliers on this list may be ordered from. A supplier whose certificate has lapsed is struck off on the same day.</p>\n"
        f"<table><thead><tr><th>Supplier</th><th>Town</th><th>Certificate</th></tr></thead><tbody>\n{rows}\n</tbody></table>\n"
        "<p>An auditor who is paid by none of the parties visits a third of the suppliers twice a year.</p>",
    )


_CLAUSES = (
    ("利用者は、契約の日から{n}日以内であれば、理由を問わず契約を解除することができます。", "契約の日から{n}日を過ぎた後は、利用者による契約の解除を認めません。"),
    ("当社は、利用者の同意なく個人情報を第三者に提供することはありません。保存期間は{n}日です。", "当社は、提携先の事業者に個人情報を提供することがあります。提供先での保存期間は{n}日です。"),
    ("料金を改定する場合は、{n}日前までに書面で利用者に通知いたします。", "料金は{n}日ごとに見直され、事前の通知なく改定されることがあります。"),
    ("当社の責めに帰すべき事由による損害は、{n}万円を上限として当社が賠償いたします。", "損害の理由にかかわらず、当社は{n}万円を超える部分も含め一切の責任を負いません。"),
    ("記録は{n}日間保管した後、復元できない方法で確実に消去いたします。", "記録は期間の定めなく保管され、{n}日ごとに複製が作成されます。"),
    ("苦情の申し立てには、受け付けた日から{n}日以内に担当者が文書で回答いたします。", "苦情は電話でのみ受け付け、{n}日を経過した申し立てには回答いたしません。"),
)  # fmt: skip


def _clauses(turn: int, now: datetime, share: float) -> Served:
    """Terms in Japanese, of which one clause is turned into its opposite; the page's encoding changes along with it."""
    paragraphs = []
    for place, variants in enumerate(_CLAUSES):
        generation = _generation(turn, place, len(_CLAUSES))
        clause = variants[generation % 2].format(n=generation // 2 % 100_000 + 7)
        paragraphs.append(f"<h2>第{place + 1}条</h2>\n<p>{clause}</p>")
    return _html(
        "サービス利用規約",
        "<p>この規約は、当社のサービスを利用するすべての方に適用されます。</p>\n" + "\n".join(paragraphs),
        lang="ja",
        charset="shift_jis" if turn % 2 else "utf-8",
    )


def _date(turn: int, now: datetime, share: float) -> Served:
    """A notice of which only the date and a token move."""
    rng = random.Random(f"date/{now.timestamp()}")  # noqa: S311 - page furniture, no secret
    return _html(
        "Opening hours of the reading room",
        "<p>The reading room is open to everyone from Monday to Friday between nine and five, and on the first Saturday of a month "
        "until noon. Readers leave bags and coats at the desk.</p>\n"
        "<p>Books from the closed stacks are brought twice a day. Whoever asks before ten has them by eleven, everybody else after lunch.</p>\n"
        "<p>Photographs may be taken without flash. Copies of bound volumes are made by the staff, at cost.</p>\n"
        f"<p>Last updated: <time>{now:%d %B %Y, %H:%M:%S}</time></p>\n"
        f'<form action="#"><input type="hidden" name="csrf_token" value="{rng.getrandbits(64):016x}"></form>',
    )


def _price(turn: int, now: datetime, share: float) -> Served:
    """A product whose price moves, in the data beside the text alone."""
    price = f"{80 + turn % 9_000}.{turn * 7 % 100:02d}"
    head = (
        '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Kettle",'
        f'"offers":{{"@type":"Offer","price":"{price}","priceCurrency":"EUR"}}}}</script>'
    )
    return _html(
        "Kettle, 1.7 litres",
        "<p>A kettle that boils quietly and stops by itself. The body is brushed steel, the handle stays cool, and the lid opens wide "
        "enough for a hand and a cloth.</p>\n<ul><li>Holds 1.7 litres</li><li>Keeps 60, 80 or 95 degrees for half an hour</li>"
        "<li>Spare lids are kept in store for ten years</li></ul>\n<p>Five years of warranty on the heating element.</p>",
        head=head,
    )


BLOCKED_SHARE = 0.5  # of the time between two plantings


def _challenge(turn: int, now: datetime, share: float) -> Served:
    """A page behind a challenge during the first half of each turn, and open in the second."""
    if share < BLOCKED_SHARE:
        token = f"{random.Random(f'challenge/{now.timestamp()}').getrandbits(64):016x}"  # noqa: S311 - no secret
        page = (
            '<!doctype html>\n<html lang="en"><head><title>Attention required</title></head>\n'
            "<body><h1>Please verify that you are human</h1>\n<p>Your request looks automated. Complete the check to continue.</p>\n"
            f'<form><input type="hidden" name="captcha" value="{token}"></form>\n<p>Reference: {token}</p></body></html>\n'
        )
        return Served(page.encode(), status=403)
    return _html(
        "Minutes of the harbour board",
        "<p>The board met in the customs house. The chair welcomed two new members and read the minutes of the meeting before, which "
        "were agreed without a vote.</p>\n<p>The dredging of the inner basin begins after the herring season. The cost is shared between "
        "the town and the fishing cooperative, as it was ten years ago.</p>\n<p>The ferry company asked for a second berth. The "
        "harbour master will say by the next meeting what that would take.</p>",
    )


PLANS: tuple[Plan, ...] = (
    Plan("date", "Only a date moves", "noise", _date),
    Plan("entry", "An entry of a list is replaced", "content", _list),
    Plan("clause", "A clause is turned, and the encoding", "content", _clauses),
    Plan("price", "A price moves", "field", _price),
    Plan("challenge", "A challenge page", "blocked", _challenge),
)
BY_KEY = {plan.key: plan for plan in PLANS}

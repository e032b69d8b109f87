"""What changes at every load of a sample page without meaning anything: modules, clocks, tokens, variants, shuffles."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from html import escape

from monitoring.sample.pages import SamplePage


@dataclass(frozen=True, slots=True)
class Words:
    """The furniture's words in one language."""

    nav: tuple[str, ...]
    read_next: str
    stories: tuple[str, ...]
    tags: tuple[str, ...]
    promos: tuple[str, ...]
    stamp: str
    viewers: str
    ads: tuple[str, ...]
    rights: str


WORDS = {
    "en": Words(
        nav=("Home", "Products", "About us", "Help", "Contact"),
        read_next="You may also like",
        stories=(
            "Why the old ferry still runs",
            "Seven walks for a wet Sunday",
            "How to sharpen a kitchen knife",
            "The clock tower that tells no time",
            "Inside the night bakery",
            "What bees do in November",
            "A short history of the envelope",
            "Which lamp for which room",
        ),
        tags=("Accounts", "Archive", "Careers", "Delivery", "Press", "Security", "Status"),
        promos=("Try the new app on your telephone", "Invite a colleague and both save"),
        stamp="Page served on {date:%d %B %Y} at {date:%H:%M:%S}",
        viewers="{n} people are looking at this page",
        ads=(
            "Advertisement: boots that last",
            "Advertisement: a week by the lake",
            "Advertisement: tea by post",
            "Advertisement: quiet tyres",
        ),
        rights="All rights reserved",
    ),
    "de": Words(
        nav=("Startseite", "Angebote", "Über uns", "Hilfe", "Kontakt"),
        read_next="Das könnte Sie auch interessieren",
        stories=(
            "Warum die alte Fähre noch fährt",
            "Sieben Wege für einen Regensonntag",
            "So wird ein Messer wieder scharf",
            "Der Turm ohne Uhrzeit",
            "Nachts in der Backstube",
            "Was Bienen im November tun",
            "Kleine Geschichte des Umschlags",
            "Welche Lampe für welchen Raum",
        ),
        tags=("Archiv", "Karriere", "Konten", "Lieferung", "Presse", "Sicherheit", "Störungen"),
        promos=("Jetzt auch als App für Ihr Telefon", "Empfehlen und gemeinsam sparen"),
        stamp="Seite ausgeliefert am {date:%d.%m.%Y} um {date:%H:%M:%S} Uhr",
        viewers="{n} Personen sehen sich gerade diese Seite an",
        ads=(
            "Anzeige: Stiefel, die halten",
            "Anzeige: eine Woche am See",
            "Anzeige: Tee per Post",
            "Anzeige: leise Reifen",
        ),
        rights="Alle Rechte vorbehalten",
    ),
    "ja": Words(
        nav=("ホーム", "商品一覧", "会社案内", "よくある質問", "お問い合わせ"),
        read_next="こちらもおすすめ",
        stories=(
            "古い渡し船がまだ走る理由",
            "雨の日曜の散歩道",
            "包丁の研ぎ方",
            "時を告げない時計台",
            "夜のパン工房",
            "十一月のみつばち",
            "封筒の小さな歴史",
            "部屋に合う灯りの選び方",
        ),
        tags=("採用情報", "配送", "安全", "過去の記事", "報道の方へ", "稼働状況", "会員"),
        promos=("携帯電話用アプリができました", "ご紹介でお二人とも割引"),
        stamp="最終更新：{date:%Y}年{date:%m}月{date:%d}日 {date:%H}時{date:%M}分{date:%S}秒",
        viewers="現在{n}人が閲覧中",
        ads=("広告：長持ちする靴", "広告：湖畔の一週間", "広告：お茶の定期便", "広告：静かなタイヤ"),
        rights="無断転載を禁じます",
    ),
}

_turns: Counter[str] = Counter()  # loads of each page by this process

HEADLINES = (
    "Council votes to keep the market on Saturdays", "Lifeboat crew honoured for the January rescue", "School choir wins in the capital",
    "New timetable for the island ferry", "Fog delays the first herring boats", "Library opens until nine in winter",
    "Bridge repairs take two weeks longer", "A lighthouse keeper looks back",
)  # fmt: skip


def render(page: SamplePage, head: str, body: str, *, now: datetime, rng: random.Random) -> str:
    """The whole page as HTML: the body as given, with fresh furniture around it."""
    words = WORDS[page.lang]
    token = secrets.token_hex
    build = token(4)
    stories = rng.sample(words.stories, 3)
    _turns[page.slug] += 1
    variant = _turns[page.slug] % 2  # a site under test shows its two variants to every other visitor
    promo = f'<div class="promo" data-variant="{"AB"[variant]}"><b>{escape(words.promos[variant])}</b></div>'
    tags = list(words.tags)
    rng.shuffle(tags)
    nav = "".join(f'<li><a href="#{n}">{escape(item)}</a></li>' for n, item in enumerate(words.nav))
    aside = "".join(f'<li><a href="#s-{token(3)}">{escape(story)}</a></li>' for story in stories)
    cloud = "".join(f"<li><a href='#t-{escape(tag)}'>{escape(tag)}</a></li>" for tag in tags)
    return f"""<!doctype html>
<html lang="{page.lang}">
<head>
<meta charset="utf-8">
<title>{escape(page.title)} – {escape(page.site)}</title>
<meta name="csrf-token" content="{token(16)}">
<link rel="stylesheet" href="data:text/css,body%7Bfont-family:sans-serif%7D">
{head}
<script nonce="{token(8)}">window.state = {{"session": "{token(12)}", "t": {rng.randrange(10**12)}}};</script>
</head>
<body class="theme css-{build}">
<header class="top"><p class="brand">{escape(page.site)}</p><nav><ul>{nav}</ul></nav>
<p class="stamp"><time>{words.stamp.format(date=now)}</time></p></header>
{promo}
<main>
<article class="c-{build}">
<h1>{escape(page.title)}</h1>
{_front_page(rng) if page.kind == "news" else ""}{body}
</article>
</main>
<aside class="recommended"><h2>{escape(words.read_next)}</h2><ul>{aside}</ul></aside>
<div class="ad-slot" id="slot-{token(3)}"><a href="#ad-{token(5)}">{escape(rng.choice(words.ads))}</a></div>
<footer><ul class="tags">{cloud}</ul>
<p class="count">{words.viewers.format(n=rng.randrange(3, 900))}</p>
<form action="#search"><input type="hidden" name="csrf_token" value="{token(16)}"></form>
<p>© {now.year} {escape(page.site)}. {escape(words.rights)}</p></footer>
<script src="data:text/javascript,void(0)" data-build="{build}"></script>
</body>
</html>
"""


def _front_page(rng: random.Random) -> str:
    """A news home: six of the headlines, in an order of the moment."""
    picked = rng.sample(HEADLINES, 6)
    return (
        '<section class="headlines"><ul>'
        + "".join(f'<li><a href="#h{HEADLINES.index(line)}">{escape(line)}</a></li>' for line in picked)
        + "</ul></section>\n"
    )


BLOCK_PAGE = """<!doctype html>
<html lang="en"><head><title>Attention required</title></head>
<body><h1>Please verify that you are human</h1>
<p>Your request looks automated. Complete the check to continue.</p>
<form><input type="hidden" name="captcha" value="{token}"></form>
<p>Reference: {token}</p></body></html>
"""

"""Hostile inputs through the pure chain, each in a process of its own that may use little time and memory.

`python -m tests.hostile.chain` reads nothing and prints one JSON object a line; `outcomes` runs it and gives them.
What a page leads to: charset and type as the fetcher finds them, reading, quality gate, judgement, diff.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.diff import apply, diff, rows_of
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.reader import read_text
from monitoring.detection.documents.types import DocumentType, type_of
from monitoring.detection.joint import choose_jointly
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Settings
from monitoring.detection.memory import Memory
from monitoring.detection.quality import PageFacts, assess
from monitoring.detection.read import ReadLimits, read
from monitoring.fetching.capture import Limits
from monitoring.fetching.charset import decode_page
from monitoring.fetching.sniff import media_type, sniffed

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT.parent / "shared" / "hostile" / "hostile.py"
AREAS = ("content", "evasion", "differ", "encoding")
ADDRESS_SPACE = 3 << 30  # generous: only what runs away is stopped, the test looks at what was really used
CPU_S = 10
YESTERDAY = datetime(2026, 11, 29, 9, 0, tzinfo=UTC)
EDIT = "<p>The fee for every account is 900 euros a year from the first of May and is not refunded.</p>"
_UNFIT = re.compile("[\x00\ud800-\udfff]")
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the chain says of one input, and what it took (CPU seconds, MB at the peak)."""

    name: str
    refused: str = ""  # too-large or not-text: nothing was read
    quality: str = ""
    flags: tuple[str, ...] = ()
    charset: str = ""
    text: str = ""
    lost: int = 0
    kind: str = ""
    explained: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    simplified: bool = False
    rebuilt: bool = True
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer: its body, its content type, and the status it came with."""

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def one_page(name: str, page: Page) -> Told:
    """A page on its own: whether it is refused, suspect or flagged, and what is read of it."""
    if refused := _refused(page):
        return Told(name=name, refused=refused)
    decoded = decode_page(page.body, content_type=page.content_type)
    try:
        reading = _read(page, decoded.text)
    except DocumentFault as fault:
        return Told(name=name, quality="error", flags=(fault.code,), text=fault.sentence)
    quality = assess(_facts(page, decoded.text), reading, None)
    flags = [flag.code for flag in reading.flags] + (["damaged"] if "\ufffd" in decoded.text else [])
    return Told(
        name=name,
        quality=quality.outcome,
        flags=tuple(flags),
        charset=f"{decoded.charset} by {decoded.source}",
        text=reading.text[:3000],
        lost=reading.chars_seen - reading.chars_kept,
    )


def edited_page(name: str, page: Page) -> Told:
    """A page that gets one clause more: what is hostile in it must not keep that from being seen."""
    if refused := _refused(page):
        return Told(name=name, refused=refused)
    html = decode_page(page.body, content_type=page.content_type).text
    if _type_of(page, html) is not DocumentType.HTML:
        return Told(name=name, refused="not-a-page")
    return _judged(name, read(html), read(_edited(html)))


def _type_of(page: Page, text: str) -> DocumentType:
    return type_of(sniffed(page.body, media_type(page.content_type))[0], text)


def _read(page: Page, text: str) -> Reading:
    """The page as what it is."""
    kind = _type_of(page, text)
    return read(text) if kind is DocumentType.HTML else read_text(kind, text)


def two_pages(name: str, before: Page, after: Page) -> Told:
    """A page and what it became, as two visits of one monitor."""
    if refused := _refused(before) or _refused(after):
        return Told(name=name, refused=refused)
    texts = [decode_page(page.body, content_type=page.content_type).text for page in (before, after)]
    old = read(texts[0])
    new = read(texts[1], remembered_region=old.region_path)
    told = _judged(name, *choose_jointly(old, new))
    quality = assess(_facts(after, texts[1]), new, old)
    return _with(told, quality=quality.outcome, flags=tuple(flag.code for flag in new.flags), text=new.text[:3000])


def two_texts(name: str, before: str, after: str) -> Told:
    """Two texts straight to the judge and the differ, a block a line."""
    return _judged(name, _reading(before), _reading(after))


def _reading(text: str) -> Reading:
    return Reading(tuple(Block(line, "p", path="body/p", slot="") for line in text.split("\n")[: ReadLimits().blocks]))


def _refused(page: Page) -> str:
    if len(page.body) > Limits().max_bytes:
        return "too-large"
    _type, is_text = sniffed(page.body, media_type(page.content_type))
    return "" if is_text else "not-text"


def _facts(page: Page, html: str) -> PageFacts:
    return PageFacts(
        status=page.status,
        headers=page.headers,
        content_type=page.content_type,
        body_bytes=len(page.body),
        html=html,
    )


def _edited(html: str) -> str:
    """The page with one clause more, where its own text starts."""
    for tag in ("<body>", "</head>"):
        if tag in html:
            return html.replace(tag, tag + EDIT, 1)
    return EDIT + html


def _judged(name: str, old: Reading, new: Reading) -> Told:
    memory = Memory.start(YESTERDAY)
    judgement = judge(old, new, memory, settings=Settings(), old_at=YESTERDAY, now=YESTERDAY + timedelta(days=1))
    document = diff(old, new)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    rows = list(rows_of(document))
    segments = [s for row in rows for key in ("segments", "before", "after") for s in row.get(key, ())]
    whole = not (document["cut"] or document["rest"])
    return Told(
        name=name,
        kind=str(judgement.kind),
        explained=tuple(sorted({edit.explained for edit in judgement.edits if edit.explained})),
        chips=tuple(sorted({s[2].split(" ")[0] for s in segments if s[0] == "!"}))[:40],
        surfaces=tuple(sorted({row["surface"] for row in rows if row["op"] != "equal"})),
        simplified=bool(document["simplified"] or document["cut"] or document["rest"]),
        rebuilt=not whole or all(_rebuilt(document, side, page) for side, page in (("old", old), ("new", new))),
    )


def _rebuilt(document: dict[str, Any], side: str, page: Reading) -> bool:
    """Whether the document holds one side's visible text whole, but for what no database takes."""
    wanted = [_UNFIT.sub("\ufffd", block.text) for block in page.blocks if block.surface is Surface.VISIBLE]
    return apply(document, side)[: len(wanted)] == wanted


def _with(told: Told, **more: Any) -> Told:
    return Told(**{**asdict(told), **more})


# --- the catalogues ---------------------------------------------------------------------------------------------


def load(*, bomb_mb: int = 8) -> ModuleType | None:
    """The shared catalogue as a module, None where it is not beside this checkout."""
    if not CATALOGUE.is_file():
        return None
    os.environ["HOSTILE_BOMB_MB"] = str(bomb_mb)
    spec = importlib.util.spec_from_file_location("hostile_catalogue", CATALOGUE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def jobs_of_catalogue() -> Iterator[tuple[str, Callable[[], Told]]]:
    """Name and work of every case of the shared catalogue that the pure chain can meet."""
    module = load()
    for case in module.cases() if module else ():
        if case.area not in AREAS:
            continue
        if case.kind == "body":
            headers, body = case.payload
            page = Page(body, headers.get("Content-Type", ""), int(headers.get(":status", 200)), headers)
            yield case.name, lambda name=case.name, page=page: one_page(name, page)  # type: ignore[misc]
            if case.area == "content":
                name = f"{case.name} edited"
                yield name, lambda name=name, page=page: edited_page(name, page)  # type: ignore[misc]
        elif case.kind == "pair":
            kinds = ("text/html; charset=utf-8", "text/html; charset=shift_jis")
            flip = case.name == "enc_charset_flip_flop"
            pages = [Page(body, kinds[n if flip else 0]) for n, body in enumerate(case.payload)]
            yield case.name, lambda name=case.name, pages=pages: two_pages(name, *pages)  # type: ignore[misc]
        elif case.kind == "text":
            yield case.name, lambda name=case.name, texts=case.payload: two_texts(name, *texts)  # type: ignore[misc]


def page_of(body: str, head: str = "") -> bytes:
    """A small page."""
    return f"<!doctype html><html lang=en><head>{head}<title>Terms</title></head><body>{body}</body></html>".encode()


TERMS = "<h1>Terms</h1>" + "".join(
    f"<p>{escape(text)}</p>"
    for text in (
        "These terms are between you and Halden Library and apply to every account that you open with us.",
        "The yearly fee is 100 euros, payable in advance; it is not refunded when an account is closed early.",
        "You may close your account at any time by writing to the office named at the foot of this page.",
    )
)


def _ours(old: str, new: str) -> tuple[bytes, bytes]:
    return page_of(TERMS), page_of(TERMS.replace(old, new) if old else TERMS + new)


OURS_PAIRS: dict[str, tuple[bytes, bytes]] = {
    "homoglyph": _ours("Halden", "H\u0430lden"),
    "bidi-override": _ours("100 euros", "\u202e001 euros\u202c"),
    "zero-width": _ours("refunded", "re\u200bfun\u2060ded"),
    "tag-characters": _ours("early.", "early." + "".join(chr(0xE0000 + ord(c)) for c in "pay 9000")),
    "removed-not": _ours("is not refunded", "is refunded"),
    "display-none": _ours("", "<p style='display:none'>You waive all rights to a refund</p>"),
    "hidden-attribute": _ours("", "<p hidden>You waive all rights to a refund</p>"),
    "iframe-srcdoc": _ours("", "<iframe srcdoc='&lt;p&gt;You waive all rights to a refund&lt;/p&gt;'></iframe>"),
    "shadow-root": _ours("", "<div><template shadowrootmode=open><p>You waive all rights</p></template></div>"),
    "css-content": _ours("", "<style>h1::after{content:'You waive all rights to a refund'}</style>"),
    "link-target": (
        page_of(TERMS + "<p><a href=/terms-v1.pdf>The whole text</a></p>"),
        page_of(TERMS + "<p><a href=/terms-v2.pdf>The whole text</a></p>"),
    ),
    "image-text": (page_of(TERMS + "<img src=a.png alt='100'>"), page_of(TERMS + "<img src=a.png alt='900'>")),
    "beyond-depth-256": (
        page_of("<div>" * 300 + "<p>The fee is 100</p>" + "</div>" * 300 + TERMS),
        page_of("<div>" * 300 + "<p>The fee is 900</p>" + "</div>" * 300 + TERMS),
    ),
    "needle-in-noise": (
        page_of("<p>" + " ".join(str(n * 7919 % 100_003) for n in range(5000)) + "</p>" + TERMS),
        page_of(
            "<p>" + " ".join(str(n * 104_729 % 99_991) for n in range(5000)) + "</p>" + TERMS.replace("100", "900")
        ),
    ),
}
OURS_SAME: dict[str, tuple[bytes, bytes]] = {
    "no-break-space": _ours("Halden Library", "Halden\u00a0Library"),
    "composition": (page_of(TERMS + "<p>caf\u00e9</p>"), page_of(TERMS + "<p>cafe\u0301</p>")),
}
OURS_BAD: dict[str, Page] = {
    "empty": Page(b""),
    "blank": Page(b" \r\n\t" * 100),
    "denied": Page(page_of("<h1>Access Denied</h1><p>You don't have permission to access this server.</p>")),
    "captcha": Page(page_of("<div id=cf-challenge>Verify you are human</div>", "<title>Just a moment...</title>")),
    "not-found": Page(page_of("<h1>Sorry, the page you are looking for can't be found</h1>")),
    "login": Page(page_of("<form><input type=password name=p></form>Please sign in to continue")),
    "maintenance": Page(page_of("Down for maintenance"), status=503),
}
OURS_COSTLY: dict[str, Page] = {
    "nesting": Page(page_of("<div>" * 100_000 + "DEEPMARK" + "</div>" * 100_000 + "<p>TAIL</p>")),
    "unclosed": Page(b"<b><i><p>" * 200_000),
    "misnested": Page(b"<p>" + b"<b><a><nobr>" * 3000 + b"x" + b"</p>" * 3000),
    "attributes": Page(page_of("<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">v</p>")),
    "ampersands": Page(page_of("&" * (1 << 20))),
    "entities": Page(page_of("&#38;" * 200_000)),
    "marks": Page(page_of("<p>x" + "\u0301" * 200_000 + "</p>")),
    "one-word": Page(page_of("<p>" + "a" * 5_000_000 + "</p>")),
}


def jobs_of_ours() -> Iterator[tuple[str, Callable[[], Told]]]:
    """Name and work of our own few cases."""
    for name, pair in (OURS_PAIRS | OURS_SAME).items():
        yield name, lambda name=name, pair=pair: two_pages(name, Page(pair[0]), Page(pair[1]))  # type: ignore[misc]
    for name, page in (OURS_BAD | OURS_COSTLY).items():
        yield name, lambda name=name, page=page: one_page(name, page)  # type: ignore[misc]
    for name, page in OURS_COSTLY.items():
        again = f"{name} edited"
        yield again, lambda name=again, page=page: edited_page(name, page)  # type: ignore[misc]


# --- one process a case -----------------------------------------------------------------------------------------


def _apart(name: str, work: Callable[[], Told]) -> Told:
    """The work in a child process; what it said, its CPU time and its peak memory."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            with os.fdopen(writer, "w", encoding="utf-8") as out:
                json.dump(asdict(work()), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as said:
        text = said.read()
    _pid, code, used = os.wait4(child, 0)
    told = Told(**json.loads(text)) if text and code == 0 else Told(name=name, ended=f"status {code}")
    return _with(told, cpu_s=round(used.ru_utime + used.ru_stime, 3), peak_mb=round(used.ru_maxrss / 1024, 1))


def limit_s(name: str) -> float:
    """CPU seconds that a case may take: one for a page, and two where there are two pages."""
    return 2.0 if name.endswith(" edited") or name.startswith("hide_") or name in OURS_PAIRS else 1.0


def _quietest(name: str, work: Callable[[], Told]) -> Told:
    """The cheapest of up to three runs: a busy machine makes the same work cost more CPU time."""
    told = _apart(name, work)
    for _ in range(2):
        if told.cpu_s <= limit_s(name):
            break
        told = min(told, _apart(name, work), key=lambda one: one.cpu_s)
    return told


def main(which: str) -> None:
    """Work every case and print what was told, a line each."""
    jobs = jobs_of_ours() if which == "ours" else jobs_of_catalogue()
    # What is imported, compiled or built on first use is not a case's own cost.
    for old, new in (OURS_PAIRS["homoglyph"], OURS_PAIRS["removed-not"], OURS_SAME["composition"]):
        two_pages("warm", Page(old), Page(new))
        one_page("warm", Page(new, "text/html"))
    gc.freeze()
    for name, work in jobs:
        sys.stdout.write(json.dumps(asdict(_quietest(name, work))) + "\n")


def outcomes(which: str) -> dict[str, Told]:
    """What the chain tells of every case, by name; `which` is `ours` or `catalogue`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.chain", which],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [Told(**json.loads(line)) for line in done.stdout.splitlines()]
    return {told.name: told for told in found}


if __name__ == "__main__":
    main(sys.argv[1])

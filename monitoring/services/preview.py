"""A look at a page as a monitor would see it, before anything is kept: fetched once, read, nothing saved."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from monitoring.detection.blocks import Block, Region, Surface
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.types import DocumentType
from monitoring.detection.fields import FieldSpec, FieldValue, extract_fields
from monitoring.detection.fingerprint import fingerprint, to_hex
from monitoring.detection.ignore import compile_pattern
from monitoring.detection.normalise import mask
from monitoring.detection.quality import assess
from monitoring.fetching.capture import Capture, Exemption, Failure, FetchRequest, Hop, Limits, Outcome
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import fetch
from monitoring.models import DocumentKind, Monitor, Renderer, Site, Vantage
from monitoring.services import documents, following, rendering, vantages
from monitoring.services.egress import address_policy
from monitoring.services.judge import page_facts
from monitoring.services.rules import Rules
from monitoring.services.secrets import SecretError

BLOCKS_SHOWN = 1_500
CHARS_SHOWN = 200_000
PREVIEW_LIMITS = Limits(total_s=20.0)  # a person waits, and a web worker with them


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a block. `cls` is empty, a class of volatile text (clock, date, token ...) or `ignored`."""

    text: str
    cls: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBlock:
    """A block of the page: what it says, and what of it would be compared. `compared` is the folded text in pieces."""

    number: int
    tag: str
    heading: int
    text: str
    main: bool
    hidden: str
    compared: tuple[Piece, ...]

    @property
    def varies(self) -> bool:
        """Whether part of the block is taken for text that changes by itself, or is left out by a rule."""
        return any(piece.cls for piece in self.compared)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenField:
    """A field and its values on the page now, several for a list. `parsed` is false for text that is not of its type."""

    name: str
    type: str
    taken_from: str
    values: tuple[str, ...]
    found: bool
    parsed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a check of this page would see. With a `problem` the rest is empty: the page could not be had."""

    url: str
    problem: str = ""
    reason: str = ""
    final_url: str = ""
    status: int = 0
    redirects: tuple[Hop, ...] = ()
    duration_ms: int = 0
    size_bytes: int = 0
    content_type: str = ""
    document_type: str = ""
    link: str = ""
    charset: str = ""
    rendered: bool = False
    title: str = ""
    language: str = ""
    quality: str = ""
    quality_sentence: str = ""
    region: str = ""
    region_how: str = ""
    warnings: tuple[str, ...] = ()
    fields: tuple[SeenField, ...] = ()
    blocks: tuple[SeenBlock, ...] = ()
    left_off: int = 0
    words_main: int = 0
    words_all: int = 0
    fingerprint: str = ""

    @property
    def good(self) -> bool:
        """Whether this capture could become a baseline."""
        return self.quality == "good"

    @property
    def main(self) -> tuple[SeenBlock, ...]:
        """Blocks of the main region."""
        return tuple(block for block in self.blocks if block.main)

    @property
    def furniture(self) -> tuple[SeenBlock, ...]:
        """Blocks around it."""
        return tuple(block for block in self.blocks if not block.main)


def preview(
    *,
    url: str,
    vantage: Vantage,
    renderer: str = Renderer.HTTP,
    wait_selector: str = "",
    steps: list[dict[str, Any]] | None = None,
    main_selector: str = "",
    charset: str = "",
    document_type: str = DocumentKind.AUTO,
    json_path: str = "",
    link_selector: str = "",
    rules: Rules | None = None,
    site: Site | None = None,
    exemption: Exemption | None = None,
    policy: AddressPolicy | None = None,
) -> Preview:
    """The page as these settings show it. Writes nothing; a page that cannot be had is a `Preview` with a problem.

    site: whose cookies and sign-in are used, if it has any. url: an address the guard accepted; it is vetted again, and so is each redirect. Takes at most 20 s.
    """
    site = site or Site()
    monitor = Monitor(url=url, site=site, renderer=renderer, wait_selector=wait_selector, steps=steps or [])
    request = FetchRequest(
        key=0,
        url=url,
        vantage=vantages.spec_of(vantage),
        limits=PREVIEW_LIMITS,
        charset=charset,
        exemption=exemption,
    )
    asked = policy or address_policy()
    monitor.main_selector, monitor.document_type = main_selector, document_type
    monitor.json_path, monitor.link_selector = json_path, link_selector
    more: dict[str, Any] = {"monitor": monitor, "rules": rules or Rules()}

    def got(one: FetchRequest) -> Outcome:
        return following.fetched(one, link_selector, lambda part: _fetched(part, asked))

    try:
        plain = replace(request, cookies=rendering.cookies_of(site))
        spec = None if renderer == Renderer.HTTP else rendering.spec_of(monitor, screenshot=False)
    except (SecretError, ValidationError) as error:
        return _told(rendering.unresolved(monitor, error, now=timezone.now()), **more)
    if not monitor.uses_browser:
        seen = _told(got(plain), **more)
        if spec is None or (seen.quality != "blocked" and seen.reason != "link-missing"):
            return seen
    return _told(got(replace(request, render=spec)), **more)


def _told(outcome: Outcome, *, monitor: Monitor, rules: Rules) -> Preview:
    url = monitor.url
    if isinstance(outcome, Failure):
        return Preview(
            url=url,
            problem=outcome.message,
            reason=outcome.reason,
            final_url=outcome.final_url,
            redirects=outcome.redirects,
            duration_ms=outcome.duration_ms,
        )
    if monitor.link_selector and outcome.link is None and outcome.status < 400:
        return Preview(
            url=url,
            problem=_("The page has no link that “%(selector)s” matches.") % {"selector": monitor.link_selector[:100]},
            reason="link-missing",
            final_url=outcome.final_url,
            status=outcome.status,
            redirects=outcome.redirects,
            duration_ms=outcome.duration_ms,
        )
    return _seen(outcome, url=url, monitor=monitor, rules=rules)


def _fetched(request: FetchRequest, policy: AddressPolicy) -> Outcome:
    if request.render is None:
        return asyncio.run(fetch(request, policy=policy))
    from monitoring.fetching.browser import render  # Playwright takes a while to import; most previews need none

    return render(request, policy=policy, chromium_path=settings.CHROMIUM)


def _seen(capture: Capture, *, url: str, monitor: Monitor, rules: Rules) -> Preview:
    kind, pinned = documents.type_for(monitor, capture), documents.pinned_type(monitor)
    found = Preview(
        url=url,
        final_url=capture.final_url,
        status=capture.status,
        redirects=capture.redirects,
        duration_ms=capture.duration_ms,
        content_type=capture.content_type,
        document_type=str(DocumentKind(kind).label),
        link=capture.link.target if capture.link else "",
        size_bytes=len(capture.body),
    )
    if pinned is not None and kind is not pinned:
        words = _("The site sent another type of document than the one that is pinned: %(found)s, not %(pinned)s.")
        labels = {"found": DocumentKind(kind).label, "pinned": DocumentKind(pinned).label}
        return replace(found, problem=words % labels, reason="type-changed")
    try:
        source = documents.source_of(capture, kind, sha256=hashlib.sha256(capture.body).hexdigest())
        reading = documents.reading_of(source, monitor, rules)
    except DocumentFault as fault:
        return replace(found, problem=fault.sentence, reason=fault.code)
    quality = assess(page_facts(capture, kind), documents.assessed(kind, reading), None)
    shown = _shown(reading.blocks, rules.ignore_patterns)
    is_page = kind is DocumentType.HTML
    values = extract_fields(capture.html, rules.specs) if rules.specs and is_page else {}
    return replace(
        found,
        charset=capture.charset,
        rendered=capture.rendered,
        title=reading.title,
        language=reading.lang,
        quality=quality.outcome,
        quality_sentence=quality.sentence,
        region=reading.region_path,
        region_how=_region_words(reading.region_how) if is_page else "",
        warnings=tuple(_flag_words(flag.code, flag.detail) for flag in reading.flags),
        fields=tuple(_field(spec, values.get(spec.name)) for spec in rules.specs),
        blocks=shown,
        left_off=len(reading.blocks) - len(shown),
        words_main=len(reading.main_text.split()),
        words_all=len(reading.text.split()),
        fingerprint=to_hex(fingerprint(reading)),
    )


def _shown(blocks: Iterable[Block], patterns: tuple[str, ...]) -> tuple[SeenBlock, ...]:
    found: list[SeenBlock] = []
    left = CHARS_SHOWN
    for number, block in enumerate(blocks, start=1):
        left -= len(block.text)
        if number > BLOCKS_SHOWN or left < 0:
            break
        found.append(
            SeenBlock(
                number=number,
                tag=block.tag,
                heading=block.heading,
                text=block.text,
                main=block.region is Region.MAIN,
                hidden="" if block.surface is Surface.VISIBLE else _surface_words(block.surface),
                compared=pieces(block.text, patterns),
            )
        )
    return tuple(found)


def pieces(text: str, patterns: tuple[str, ...] = ()) -> tuple[Piece, ...]:
    """The folded text of a block, cut where parts of it are left out by a rule or taken for volatile.

    `Updated 12:30 today` becomes `updated `, `12:30` (clock), ` today`.
    """
    masked = mask(text)
    spans = [(span.start, span.end, str(span.cls)) for span in masked.spans]
    for pattern in patterns:
        spans += [(*match.span(), "ignored") for match in compile_pattern(pattern).finditer(masked.source)]
    found: list[Piece] = []
    at = 0
    for start, end, cls in sorted(spans):
        if end <= at or start == end:
            continue
        start = max(start, at)
        if start > at:
            found.append(Piece(masked.source[at:start]))
        found.append(Piece(masked.source[start:end], cls))
        at = end
    if at < len(masked.source):
        found.append(Piece(masked.source[at:]))
    return tuple(found)


def _field(spec: FieldSpec, found: FieldValue | None) -> SeenField:
    shown = [] if found is None else found.value
    return SeenField(
        name=spec.name,
        type=str(spec.type),
        taken_from=f"{spec.source}: {spec.selector}" + (f" [{spec.attribute}]" if spec.attribute else ""),
        values=(shown,) if isinstance(shown, str) else tuple(shown),
        found=found is not None,
        parsed=found is None or found.parsed,
    )


def _region_words(how: str) -> str:
    return {
        "selector": _("the selector you gave"),
        "remembered": _("where it was before"),
        "landmark": _("the page's own main landmark"),
        "prose": _("where most of the prose stands"),
        "whole": _("the whole page: nothing stands out"),
    }.get(how, how)


def _surface_words(surface: Surface) -> str:
    return {
        Surface.HIDDEN: _("hidden on the page"),
        Surface.ATTRIBUTE: _("in an attribute"),
        Surface.EMBEDDED: _("in an embedded document"),
        Surface.STYLE: _("from a style sheet"),
        Surface.LINK: _("a link's target"),
    }.get(surface, str(surface))


def _flag_words(code: str, detail: str) -> str:
    words = {
        "selector-missing": _("The main region's selector matches nothing on this page."),
        "size-limited": _("The page is very large; its end is not read."),
        "depth-limited": _("The page is nested very deeply; deep parts are read as flat text."),
        "nodes-limited": _("The page has very many elements; some are read together."),
        "embedded-limited": _("Some documents inside the page are not read."),
        "text-lost": _("Some text of the page may not be read."),
        "by-digest": _("This is no text; its bytes are compared as a whole, by their digest."),
        "no-text": _("This PDF holds no text, as a scan does: the pictures of its pages are compared by digest."),
        "pages-without-text": _("Some pages hold no text; their pictures are compared by digest."),
        "plaintext": _("The page switches to plain text; the rest is read as such."),
    }.get(code, code)
    return f"{words} ({detail})" if detail and code != "selector-missing" else words

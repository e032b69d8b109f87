"""Requests and captures: the values that go into the fetcher and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitoring.fetching.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class VantageSpec:
    """From where and as whom we ask; the same at every run of a monitor, so that only time differs.

    `proxy_url` may hold credentials (for example `http://customer-NAME-country-de:secret@host:port`) and is kept out of
    what this value prints. `proxy_fault` says why there is none although the vantage wants one: nothing is asked then.
    `locale` is what a browser formats by; empty, the first language.
    """

    name: str = "default"
    country: str = ""
    proxy_url: str = field(default="", repr=False)
    proxy_fault: str = ""
    language: str = "en-US,en;q=0.8"
    locale: str = ""
    user_agent: str = ""
    time_zone: str = "UTC"
    viewport: tuple[int, int] = (1280, 900)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets of one fetch. `total_s` is for the whole fetch, redirects included; bytes are decoded bytes.

    `connect_s` is for one connection, TLS included; `head_s` from there to the end of the answer's head.
    """

    total_s: float = 30.0
    connect_s: float = 10.0
    head_s: float = 20.0
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """The one way past the address guard: the product's own pages, exact origin and path prefix, no redirects."""

    origin: str
    path_prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a browser gets in where a visitor would sign in: cookies, and steps on the page to sign in.

    realm: whose access this is (the site); pages of different realms never share a browser. `cookies` are (name, value)
    for the origin of the page; `login_steps` are done on `login_url` once per realm and browser.
    """

    realm: str
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    login_url: str = ""
    login_steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSpec:
    """How a page that needs JavaScript is brought to rest: steps, then a selector, or a network quiet for `quiet_ms`.

    `secrets` are (name, value) for what the steps type; they are in no representation of this value.
    """

    wait_selector: str = ""
    quiet_ms: int = 500
    screenshot: bool = True
    steps: tuple[Step, ...] = ()
    access: Access | None = None
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The size of a screenshot in CSS pixels, and how high the page was; higher than `height` when it was cut."""

    width: int
    height: int
    page_height: int

    @property
    def cut_px(self) -> int:
        """How much of the page the picture lacks at its end."""
        return max(self.page_height - self.height, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """One page to fetch. `key` comes back on the result (the monitor's id).

    `etag` and `last_modified` are sent only to the address they came from: `validators_url` (the final URL of the
    capture that brought them), or `url` itself when that is empty. `charset_hint` is the charset of the last good
    capture; it decides only where the page itself does not say. `charset` is a person's choice and decides everywhere.
    `cookies` are sent to the origin of `url` and nowhere else; a browser gets its own by `render.access`.
    `linked_from` is the page whose link named `url`, if one did: from outside no link leads into an opened network.
    """

    key: int
    url: str
    vantage: VantageSpec = field(default_factory=VantageSpec)
    limits: Limits = field(default_factory=Limits)
    etag: str = ""
    last_modified: str = ""
    validators_url: str = ""
    charset_hint: str = ""
    charset: str = ""
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    render: RenderSpec | None = None
    exemption: Exemption | None = None
    linked_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One redirect that was followed. Status 0: a rendered page went on by itself, by script or meta refresh."""

    status: int
    url: str
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The link that led to a document: the page it stood on, its text, and its target as written and as an address."""

    page: str
    text: str
    href: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What the site answered. `body` is the decoded (decompressed) bytes; `html` the text in its charset.

    For a rendered page `html` is the serialised DOM, open shadow roots and frames of the same origin unfolded in it, and
    `body` its UTF-8 bytes; `screenshot` is a PNG from the top of the page, at most 16,000 pixels high, `thumbnail` a small
    WebP of its top, and `picture` the size of the first and of the page.
    `not_modified` is a 304: body and html are empty then. Where `is_text` is false (PDF, image, octet stream, also when
    one of these is labelled as HTML) `html` is empty, `content_type` is the type found, and `body` is for its digest.
    `link` is set where this is the document that a link of the monitor's page leads to.
    `peer_address` is empty behind a proxy. `charset_source` is one of bom, override, header, meta, utf-8, hint, guess,
    and `meta-over-header` or `header-mismatch` where the header's charset does not fit the bytes.
    """

    key: int
    url: str
    final_url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    html: str
    charset: str
    charset_source: str
    content_type: str
    redirects: tuple[Hop, ...]
    peer_address: str
    certificate_sha256: str
    started_at: datetime
    duration_ms: int
    not_modified: bool = False
    rendered: bool = False
    screenshot: bytes | None = None
    thumbnail: bytes | None = None
    picture: Picture | None = None
    is_text: bool = True
    link: Link | None = None

    def header(self, name: str) -> str:
        """First value of a response header, or the empty string."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A fetch that brought no page. `reason` is a stable code, `message` says what was found and expected.

    `transient` failures are worth a retry soon; the others wait for a person or for the site. `cause` is the finer
    code where one is known (`tls-expired`, `timeout-head`, `connect-refused`), and `data` its particulars. `evidence` is
    the page as it stood when a step before the capture failed; it is shown and never compared.
    """

    key: int
    url: str
    reason: str
    message: str
    transient: bool
    started_at: datetime
    duration_ms: int
    final_url: str = ""
    redirects: tuple[Hop, ...] = ()
    evidence: Capture | None = None
    cause: str = ""
    data: Mapping[str, str] = field(default_factory=dict)


type Outcome = Capture | Failure

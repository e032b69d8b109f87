"""From a page to the document behind one of its links: a second request, judged at every hop like the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from monitoring.detection.documents.links import first_link
from monitoring.fetching.capture import Capture, FetchRequest, Link, Outcome
from monitoring.models import Monitor


def link_of(page: Outcome, selector: str) -> Link | None:
    """The link to follow: None for a page that could not be had, is an error's, or does not have the link."""
    if not isinstance(page, Capture) or page.status >= 400 or not page.html:
        return None
    found = first_link(page.html, selector, page_url=page.final_url)
    return Link(page=page.final_url, text=found.text, href=found.href, target=found.target) if found else None


def request_to(link: Link, request: FetchRequest) -> FetchRequest:
    """The request for the document, asked for as the page was, but over HTTP and without the way past the guard.

    Cookies stay with the origin that they were given for, and a page outside leads into no network that was opened.
    """
    cookies = request.cookies if _origin(link.target) == _origin(request.url) else ()
    return replace(request, url=link.target, render=None, exemption=None, cookies=cookies, linked_from=link.page)


def is_same_host(monitor: Monitor, link: Link) -> bool:
    """Whether a link leads to the host of the monitor's own page."""
    return _origin(link.target)[1:] == _origin(monitor.url)[1:]


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return "", "", None


def document_of(outcome: Outcome, link: Link) -> Outcome:
    """What came of the second request, with the link that led there."""
    if isinstance(outcome, Capture):
        return replace(outcome, link=link)
    return replace(outcome, message=f"The linked document: {outcome.message}")


def fetched(request: FetchRequest, selector: str, fetch: Callable[[FetchRequest], Outcome]) -> Outcome:
    """The page, or with a selector the document behind its link; the page itself where that has no such link."""
    page = fetch(request)
    link = link_of(page, selector) if selector else None
    return page if link is None else document_of(fetch(request_to(link, request)), link)

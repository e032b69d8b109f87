"""Why a visit brought no page to compare, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from monitoring.models import Check, Outcome
from review import field_words

# By `Check.reason`: what fetching gives for a failure, what the quality gate gives for a page that isn't the page.
WHY: dict[str, Callable[[], str]] = {
    "refused-by-policy": lambda: _("The address is one that must not be visited."),
    "dns": lambda: _("The site's name could not be resolved."),
    "connect": lambda: _("No connection to the site came about."),
    "tls": lambda: _("The site's certificate or encryption could not be accepted."),
    "timeout": lambda: _("The site took too long to answer."),
    "too-large": lambda: _("The answer is larger than a page may be."),
    "too-many-redirects": lambda: _("The site forwarded too many times."),
    "robots-disallowed": lambda: _("The site's robots.txt asks us not to fetch this page."),
    "site-rests": lambda: _("The site is left alone for now; its page in the admin says until when."),
    "redirect-refused": lambda: _("The site forwarded to an address that must not be visited."),
    "protocol": lambda: _("The site's answer broke the rules of HTTP."),
    "encoding": lambda: _("The answer could not be decompressed."),
    "unsupported-type": lambda: _("The answer is of a kind that can't be read."),
    "renderer-failed": lambda: _("The browser could not render the page."),
    "step-failed": lambda: _("A step before the capture could not be done; the page as it stood is kept."),
    "login-failed": lambda: _("Signing in at the site failed."),
    "secret-missing": lambda: _("A secret that the settings refer to is not set in this deployment."),
    "storage": lambda: _("The capture could not be stored; the page is compared again at the next visit."),
    "human-check": lambda: _("The site asked to confirm that a person is visiting; the page itself was not shown."),
    "access-denied": lambda: _("The site answered that access is not allowed; the page itself was not shown."),
    "rate-limited": lambda: _("The site answered that requests come too fast; the page itself was not shown."),
    "login-wall": lambda: _("The site asked to sign in; the page itself was not shown."),
    "soft-404": lambda: _("The site says that there is no page at this address."),
    "status-gone": lambda: _("The site answered that there is no page at this address."),
    "maintenance": lambda: _("The site says that it is unavailable for a while."),
    "needs-script": lambda: _("The page shows its text only when its scripts run; render this monitor in a browser."),
    "consent-wall": lambda: _("The site showed a consent dialogue in place of the page."),
    "parked-domain": lambda: _("The domain shows a parking page in place of the site."),
    "application-error": lambda: _("The site showed an error message in place of the page."),
    "redirect-page": lambda: _("The site showed a forwarding page in place of the page."),
    "redirect-sink": lambda: _("The site forwarded to another page than the one asked for."),
    "redirect-home": lambda: _("The site showed its home page in place of the page."),
    "truncated": lambda: _("The transfer ended before the page was complete."),
    "not-html": lambda: _("What the site sent is not an HTML page."),
    "mojibake": lambda: _("The text arrived in a wrong character encoding."),
    "charset-flip": lambda: _(
        "The page is said to be in another character encoding, and its known text can't be read."
    ),
    "empty-body": lambda: _("The site sent an empty page."),
    "empty-text": lambda: _("The page the site sent holds no text."),
    "text-missing": lambda: _("Most of the page's text is missing."),
    "other-page": lambda: _("Nothing of the page's text is left; a much shorter text stands in its place."),
    "other-language": lambda: _("The site showed the page in another language."),
    "type-changed": lambda: _("The site sent another type of document than before."),
    "link-missing": lambda: _("The page no longer has the link to the document."),
    "json-broken": lambda: _("What the site sent as JSON can't be read as such."),
    "path-missing": lambda: _("The JSON path finds nothing in what the site sent."),
    "xml-broken": lambda: _("What the site sent as XML is not well formed."),
    "xml-entities": lambda: _("The XML declares entities of its own; these are never expanded."),
    "xml-too-large": lambda: _("The XML is nested too deeply or has too many elements."),
    "feed-broken": lambda: _("What the site sent is no feed."),
    "pdf-encrypted": lambda: _("The PDF is protected by a password."),
    "pdf-broken": lambda: _("The PDF is damaged and can't be read."),
    "pdf-too-costly": lambda: _("Reading the PDF takes too much time or memory."),
    "differs-by-vantage": lambda: _("Another vantage still shows the earlier text."),
    "our-change": lambda: _("The way this page is read has changed; it is the new baseline."),
}


type Data = Mapping[str, Any]

VENDORS = {
    "akamai": "Akamai",
    "aws waf": "AWS WAF",
    "cloudflare": "Cloudflare",
    "datadome": "DataDome",
    "hcaptcha": "hCaptcha",
    "imperva": "Imperva",
    "perimeterx": "PerimeterX",
    "recaptcha": "reCAPTCHA",
    "sucuri": "Sucuri",
    "turnstile": "Cloudflare Turnstile",
}


def _expired(data: Data) -> str:
    try:
        pattern = "j M Y" if (get_language() or "en").startswith("en") else "DATE_FORMAT"  # as other moments are told
        day = date_format(date.fromisoformat(str(data.get("on", ""))), pattern)
    except ValueError:
        return _("The site's certificate has expired.")
    return _("The site's certificate expired on %(day)s.") % {"day": day}


def _within(words: Callable[[], str]) -> Callable[[Data], str]:
    return lambda data: words() % {"seconds": data.get("seconds", "?")}


# The finer cause of a failed fetch, as its first reason holds it.
CAUSES: dict[str, Callable[[Data], str]] = {
    "dns-not-found": lambda data: _("There is no site of this name."),
    "dns-timeout": lambda data: _("No name server answered for the site's name."),
    "connect-refused": lambda data: _("The site's machine refused the connection."),
    "connect-unreachable": lambda data: _("There is no way to the site's machine from here."),
    "connect-reset": lambda data: _("The site's machine cut the connection off."),
    "timeout-lookup": _within(lambda: _("The site's name was not resolved within %(seconds)s s.")),
    "timeout-connect": _within(lambda: _("No connection to the site came about within %(seconds)s s.")),
    "timeout-tls": _within(lambda: _("No secure connection to the site came about within %(seconds)s s.")),
    "timeout-head": _within(lambda: _("The site took the request and did not answer within %(seconds)s s.")),
    "timeout-body": _within(lambda: _("The page did not arrive whole within %(seconds)s s.")),
    "tls-expired": _expired,
    "tls-not-yet-valid": lambda data: _("The site's certificate is not valid yet."),
    "tls-wrong-name": lambda data: _("The site's certificate is for another name."),
    "tls-self-signed": lambda data: _("The site's certificate is signed by itself and by no known authority."),
    "tls-unknown-issuer": lambda data: _(
        "The site's certificate can't be traced to an authority that is trusted here."
    ),
    "tls-revoked": lambda data: _("The site's certificate was revoked."),
    "tls-weak": lambda data: _("The site's certificate uses a key or method that is too weak."),
    "tls-invalid": lambda data: _("The site's certificate is not valid for it."),
    "tls-handshake": lambda data: _("No secure connection to the site could be agreed on."),
    "tls-date": lambda data: _("The site's certificate has expired, or is not valid yet."),
    "proxy-unusable": lambda data: _("The vantage's proxy can't be used as it is set up; nothing was asked."),
    "proxy-refused": lambda data: _("The vantage's proxy refused the connection."),
    "proxy-unreached": lambda data: _("The vantage's proxy could not be reached."),
    "truncated": lambda data: _("The transfer ended before the page was complete."),
    "storage-full": lambda data: _(
        "There was no space to store the capture; the page is compared again at the next visit."
    ),
    "disconnected": lambda data: _("The site closed the connection without an answer."),
}


def _flip(data: Data) -> str:
    names = {"was": data.get("was", "?"), "now": data.get("now", "?")}
    return _("The page is said to be in %(now)s and was in %(was)s; its known text can't be read.") % names


_SERVED = "served from "  # how the machine side writes down where a page went


def failure_words(reason: str, cause: str, data: Data, *, said: str) -> str:
    """One sentence on why there is no page; what the machine side said where no words of this language are known."""
    if cause in CAUSES:
        return CAUSES[cause](data)
    words = WHY.get(reason)
    return words() if words else said


def visit_words(check: Check) -> str:
    """One sentence on what a visit met; what the machine wrote down where no words of this language are known."""
    if check.reason == "status-error" and check.status:
        return _("The site answered with status %(status)s.") % {"status": check.status}
    if check.reason == "redirect-changed" and check.detail.startswith(_SERVED):
        return _("The page is now served from %(host)s.") % {"host": check.detail.removeprefix(_SERVED)}
    first = check.told[0] if check.told and isinstance(check.told[0], Mapping) else {}
    code, data = str(first.get("code", "")), first.get("data") or {}
    if check.outcome == "error" and code in CAUSES:
        return CAUSES[code](data)
    if check.reason == code == "charset-flip":
        return _flip(data)
    if check.outcome == Outcome.FIELD and (told := _fields(check)):
        return told
    words = WHY.get(check.reason)
    said = words() if words else check.detail
    vendor = VENDORS.get(str(data.get("vendor", ""))) if code == "evidence" else None
    if said and vendor and check.outcome == "blocked":
        return _("%(sentence)s It was %(vendor)s.") % {"sentence": said, "vendor": vendor}
    return said


def evidence_of(check: Check) -> str:
    """What the assessment of a blocked page rests on, as it was found; empty for none."""
    for reason in check.told:
        if isinstance(reason, Mapping) and reason.get("code") == "evidence":
            return str(reason.get("text", ""))
    return ""


def _fields(check: Check) -> str:
    """The fields that changed at a visit, from its reasons."""
    found = [reason for reason in check.reasons or [] if isinstance(reason, Mapping) and reason.get("code") == "field"]
    data = [(reason.get("data") or {}, str(reason.get("text", ""))) for reason in found]
    names = [str(facts.get("name", "")) or text.partition(":")[0] for facts, text in data]
    return "; ".join(
        f"{name}: {field_words.words(name, text, facts)}" for name, (facts, text) in zip(names, data, strict=True)
    )

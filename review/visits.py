"""Why a visit brought no page to compare, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from monitoring.models import Check

# By `Check.reason`: what fetching gives for a failure, what the quality gate gives for a page that isn't the page.
WHY: dict[str, Callable[[], str]] = {
    "refused-by-policy": lambda: _("The address is one that must not be visited."),
    "dns": lambda: _("The site's name could not be resolved."),
    "connect": lambda: _("No connection to the site came about."),
    "tls": lambda: _("The site's certificate or encryption could not be accepted."),
    "timeout": lambda: _("The site took too long to answer."),
    "too-large": lambda: _("The answer is larger than a page may be."),
    "too-many-redirects": lambda: _("The site forwarded too many times."),
    "redirect-refused": lambda: _("The site forwarded to an address that must not be visited."),
    "protocol": lambda: _("The site's answer broke the rules of HTTP."),
    "encoding": lambda: _("The answer could not be decompressed."),
    "unsupported-type": lambda: _("The answer is of a kind that can't be read."),
    "renderer-failed": lambda: _("The browser could not render the page."),
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
    "empty-body": lambda: _("The site sent an empty page."),
    "empty-text": lambda: _("The page the site sent holds no text."),
    "text-missing": lambda: _("Most of the page's text is missing."),
    "other-page": lambda: _("Nothing of the page's text is left; a much shorter text stands in its place."),
    "other-language": lambda: _("The site showed the page in another language."),
    "our-change": lambda: _("The way this page is read has changed; it is the new baseline."),
}


_SERVED = "served from "  # how the machine side writes down where a page went


def visit_words(check: Check) -> str:
    """One sentence on what a visit met; what the machine wrote down where no words of this language are known."""
    if check.reason == "status-error" and check.status:
        return _("The site answered with status %(status)s.") % {"status": check.status}
    if check.reason == "redirect-changed" and check.detail.startswith(_SERVED):
        return _("The page is now served from %(host)s.") % {"host": check.detail.removeprefix(_SERVED)}
    words = WHY.get(check.reason)
    return words() if words else check.detail

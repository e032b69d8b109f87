"""What a browser is to do for a monitor: its steps and its site's access, checked when written, resolved when used.

Settings hold secrets by reference (`secret:NAME`); their values exist only in the request of one visit.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from monitoring.detection.ignore import selector_fault
from monitoring.fetching.capture import Access, Failure, Limits, RenderSpec
from monitoring.fetching.steps import Step, StepError, parse_steps, secrets_of
from monitoring.models import Monitor, Renderer, Site
from monitoring.services.findings import Finding
from monitoring.services.secrets import PREFIX, SecretError, is_reference, name_of, resolve

LONGEST_S = 60.0  # for a page with steps; within a lease
PROBE_EVERY = 20  # every so many visits “auto” asks by HTTP again for a page that it gets by browser
TRY_AGAIN = timedelta(hours=6)  # so long “auto” does not start a browser again for a page that none could read
MAX_COOKIES = 20
_COOKIE_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# What a browser may make good: a page that is made by script, or shown to browsers only.
_ESCALATED = frozenset({"blocked"})


def check_steps(raw: object) -> list[dict[str, Any]]:
    """The steps as they are stored; raises ValidationError that names the step and what is expected."""
    return [step.to_json() for step in _parsed(raw)]


def _parsed(raw: object) -> tuple[Step, ...]:
    try:
        return parse_steps(raw, check_selector=lambda text: selector_fault(text) or "")
    except StepError as error:
        raise ValidationError(str(error), code="steps") from error


def parse_cookies(text: str) -> list[tuple[str, str]]:
    """Names and references of a site's cookies; raises ValidationError that names the line."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, reference = (part.strip() for part in line.partition("="))
        if not equals or not _COOKIE_NAME.fullmatch(name) or not is_reference(reference):
            raise ValidationError(
                _("Line %(number)d is no cookie; expected NAME=secret:REFERENCE, never the value itself.") % {"number": number},
                code="cookie",
            )  # fmt: skip
        try:
            name_of(reference)
        except SecretError as error:
            raise ValidationError(error.sentence, code="secret") from error
        found.append((name, reference))
    if len(found) > MAX_COOKIES:
        raise ValidationError(_("At most %(most)d cookies are kept.") % {"most": MAX_COOKIES}, code="cookies")
    return found


# -- at a visit --------------------------------------------------------------------------


def spec_of(monitor: Monitor, *, screenshot: bool = True) -> RenderSpec:
    """What the browser does for this monitor, secrets resolved; raises `SecretError`, or ValidationError for stored steps
    that a newer version of the product refuses."""
    steps = _parsed(monitor.steps)
    access = access_of(monitor.site)
    login = access.login_steps if access else ()
    typed = secrets_of(steps, home=_host(monitor.url))
    typed |= secrets_of(login, home=_host(access.login_url) if access else "")
    return RenderSpec(
        wait_selector=monitor.wait_selector,
        screenshot=screenshot,
        steps=steps,
        access=access,
        secrets=tuple(sorted((name, resolve(f"{PREFIX}{name}", host=host)) for name, host in typed)),
    )


def access_of(site: Site) -> Access | None:
    """The site's cookies and its way to sign in; None where it has neither. Raises `SecretError`."""
    if not site.cookies and not site.login_url:
        return None
    return Access(
        realm=site.host,
        cookies=cookies_of(site),
        login_url=site.login_url,
        login_steps=_parsed(site.login_steps) if site.login_url else (),
    )


def cookies_of(site: Site) -> tuple[tuple[str, str], ...]:
    """The site's cookies with their values; raises `SecretError`."""
    host = _host(f"//{site.host}")
    return tuple((name, resolve(reference, host=host)) for name, reference in parse_cookies(site.cookies))


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def limits_of(spec: RenderSpec) -> Limits:
    """Time for a page, and more where steps wait on it."""
    steps = (*spec.steps, *(spec.access.login_steps if spec.access else ()))
    usual = Limits().total_s
    more = sum(step.seconds or step.quiet_s or 1.0 for step in steps)
    return Limits(total_s=min(usual + more + (10.0 if spec.access and spec.access.login_url else 0.0), LONGEST_S))


def unresolved(monitor: Monitor, error: Exception, *, now: datetime) -> Failure:
    """The outcome of a visit that could not begin because a secret is missing or stored steps are no longer valid."""
    sentence = error.sentence if isinstance(error, SecretError) else "; ".join(getattr(error, "messages", [str(error)]))
    return Failure(
        key=monitor.pk,
        url=monitor.url,
        reason="secret-missing" if isinstance(error, SecretError) else "step-failed",
        message=sentence,
        transient=False,
        started_at=now,
        duration_ms=0,
        final_url=monitor.url,
    )


# -- “auto” ------------------------------------------------------------------------------


def is_probe(monitor: Monitor) -> bool:
    """Whether “auto”, which gets this page by browser, asks by HTTP this time to see whether that is enough by now."""
    return (
        monitor.renderer == Renderer.AUTO
        and monitor.uses_browser
        and not monitor.steps
        and (monitor.check_no + 1) % PROBE_EVERY == 0
        and monitor.baseline is not None
        and not monitor.rebaseline
    )


def wants_browser(monitor: Monitor, finding: Finding, *, now: datetime) -> bool:
    """Whether what HTTP brought is worth a browser: a shell, a block page or one without the link to follow, and none was tried in vain lately."""
    return (
        monitor.renderer == Renderer.AUTO
        and not monitor.uses_browser
        and finding.capture is not None
        and not finding.capture.rendered
        and (finding.outcome in _ESCALATED or finding.reason == "link-missing")
        and (monitor.browser_tried_at is None or monitor.browser_tried_at <= now - TRY_AGAIN)
    )


def is_enough(monitor: Monitor, finding: Finding) -> bool:
    """Whether what HTTP brought says the same as the baseline that a browser took."""
    return finding.good and bool(finding.text_hash) and finding.text_hash == monitor.baseline_text_hash

"""Pages that need JavaScript: a browser in a child process, which is killed with all its children on any doubt.

The browser runs in a child process (`browser_worker`), never in the caller's: a page can hang or crash it, and Playwright
brings an event loop that database code must not meet. This module starts the child, asks it for one page after the other
(each in a context of its own), and ends it: after so many pages, before a page of another realm, at a deadline, and
whenever something was not as expected.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from monitoring.fetching.browser_family import Folder, adopt_orphans, descendants, finish, kill, memory_bytes, naming
from monitoring.fetching.browser_pipe import Answer, PipeClosed, exchange
from monitoring.fetching.capture import (
    Access,
    Capture,
    Exemption,
    Failure,
    FetchRequest,
    Hop,
    Limits,
    Outcome,
    Picture,
    RenderSpec,
    VantageSpec,
)
from monitoring.fetching.errors import FetchError, TooLarge
from monitoring.fetching.guard import AddressPolicy, vet, without_userinfo
from monitoring.fetching.steps import Do, Step

logger = logging.getLogger(__name__)

RAN = "browser ran %s"  # what is said of a browser that had to be started with less than it should have

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_OWN_BROWSERS = (
    ".cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "Library/Caches/ms-playwright/chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)
_PROJECT = Path(__file__).resolve().parents[2]
# The child stops by itself at the deadline and says how far it came; this much later it is killed.
_GRACE_S = 2.0
# A browser with one ordinary page takes some 500 to 700 MB, its parts together.
_MAX_MEMORY_BYTES = 1_500_000_000
_LOOK_S = 0.5
# A browser's memory creeps upwards; after so many pages it is let go.
PAGES_PER_BROWSER = 50
# After these the browser may be in any state.
_DOUBTFUL = frozenset({"renderer-failed", "timeout", "too-large"})


@dataclass(frozen=True, slots=True)
class Job:
    """What the worker is asked for."""

    url: str
    vantage: VantageSpec
    limits: Limits
    spec: RenderSpec
    policy: AddressPolicy
    exemption: Exemption | None
    chromium: str
    budget_s: float

    def to_json(self) -> str:
        """Sets become sorted lists."""
        return json.dumps(asdict(self), default=sorted)

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The inverse of `to_json`."""
        raw: dict[str, Any] = json.loads(text)  # Any: our own JSON, written by to_json
        policy = {name: frozenset(map(_hashable, values)) for name, values in raw["policy"].items()}
        vantage = raw["vantage"] | {"viewport": tuple(raw["vantage"]["viewport"])}
        return cls(
            url=raw["url"],
            vantage=VantageSpec(**vantage),
            limits=Limits(**raw["limits"]),
            spec=_spec(raw["spec"]),
            policy=AddressPolicy(**policy),
            exemption=Exemption(**raw["exemption"]) if raw["exemption"] else None,
            chromium=raw["chromium"],
            budget_s=raw["budget_s"],
        )


def _spec(raw: dict[str, Any]) -> RenderSpec:
    access = raw["access"]
    return RenderSpec(
        **raw
        | {
            "steps": tuple(map(_step, raw["steps"])),
            "secrets": tuple(map(tuple, raw["secrets"])),
            "access": access
            and Access(
                **access
                | {
                    "cookies": tuple(map(tuple, access["cookies"])),
                    "login_steps": tuple(map(_step, access["login_steps"])),
                }
            ),
        }
    )


def _step(raw: dict[str, Any]) -> Step:
    return Step(**raw | {"do": Do(raw["do"])})


def _hashable(value: Any) -> Any:  # Any: JSON has lists where the policy has pairs
    return tuple(value) if isinstance(value, list) else value


def find_chromium(path: str = "") -> str:
    """The browser to use: the given path, else the system's, else Playwright's own; empty when there is none."""
    if path:
        return path if Path(path).is_file() else ""
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
    for pattern in _OWN_BROWSERS:
        for own in sorted(Path.home().glob(pattern), reverse=True):
            return str(own)
    return ""


def render(
    request: FetchRequest,
    *,
    policy: AddressPolicy,
    chromium_path: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """One page in a browser of its own; see `Renderer.render`."""
    with Renderer(policy=policy, chromium_path=chromium_path, clock=clock) as renderer:
        return renderer.render(request)


class Renderer:
    """A browser for several pages, one after the other. A context manager; nothing is left of it afterwards.

    It starts with the first page. Each page gets a context of its own (cookies, cache, storage), and pages of
    different realms (`Access.realm`) never share a browser.
    """

    def __init__(
        self,
        *,
        policy: AddressPolicy,
        chromium_path: str = "",
        pages: int = PAGES_PER_BROWSER,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policy, self._chromium_path, self._pages, self._clock = policy, chromium_path, pages, clock
        self._child: _Child | None = None
        self.started = 0  # browsers so far

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def render(self, request: FetchRequest) -> Outcome:
        """One page as a browser shows it; a site's fault or the browser's is a `Failure`, never an exception.

        Blocks for at most `limits.total_s` plus two seconds, the start of the browser included; one page costs about
        one CPU second, the start of a browser one more. `html` is the document after its scripts ran, open shadow roots
        and frames of the same origin unfolded (`data-shadow-root`, `data-frame`), frames of other origins left out.
        """
        started_at, start = self._clock(), time.monotonic()
        url = without_userinfo(request.url)
        try:
            url = vet(request.url, self._policy, exemption=request.exemption).url
            answer = self._ask(_job(request, url, self._policy, self._chromium_path))
            facts = answer.facts
            evidence = None
            if "final_url" in facts:
                evidence = _capture(request, answer, started_at, round((time.monotonic() - start) * 1000))
            if "reason" not in facts and evidence is not None:
                return evidence
            error = FetchError(
                facts["message"],
                reason=facts["reason"],
                transient=facts["transient"],
                cause=facts.get("cause", ""),
                data=facts.get("data"),
            )
        except FetchError as raised:
            error, evidence = raised, None
        return Failure(
            key=request.key,
            url=url,
            reason=error.reason,
            message=error.sentence,
            transient=error.transient,
            started_at=started_at,
            duration_ms=round((time.monotonic() - start) * 1000),
            final_url=url,
            evidence=evidence,
            cause=error.cause,
            data=error.data,
        )

    def _ask(self, job: Job) -> Answer:
        """The child's answer; whatever raises doubts about the browser ends it."""
        realm = job.spec.access.realm if job.spec.access else ""
        if self._child is not None and (self._child.realm != realm or self._child.served >= self._pages):
            self.close()
        if self._child is None:
            self._child = _Child(realm)
            self.started += 1
        try:
            answer = self._child.ask(job)
        except BaseException:
            self.close()
            raise
        if answer.facts.get("reason") in _DOUBTFUL or answer.facts.get("tired"):
            self.close()
        return answer


def _capture(request: FetchRequest, answer: Answer, started_at: datetime, duration_ms: int) -> Capture:
    facts = answer.facts
    html, shot, thumbnail = answer.parts
    return Capture(
        key=request.key,
        url=without_userinfo(request.url),
        final_url=facts["final_url"],
        status=facts["status"],
        headers=tuple((name, value) for name, value in facts["headers"]),
        body=html,
        html=html.decode("utf-8"),
        charset="utf-8",
        charset_source="utf-8",
        content_type=facts["content_type"],
        redirects=tuple(Hop(**hop) for hop in facts["redirects"]),
        peer_address=facts["peer_address"],
        certificate_sha256=facts["certificate_sha256"],
        started_at=started_at,
        duration_ms=duration_ms,
        rendered=True,
        screenshot=shot or None,
        thumbnail=thumbnail or None,
        picture=Picture(**facts["picture"]) if shot else None,
    )


def _job(request: FetchRequest, url: str, policy: AddressPolicy, chromium_path: str) -> Job:
    chromium = find_chromium(chromium_path)
    if not chromium:
        raise FetchError("No Chromium was found to render the page with.", reason="renderer-failed")
    return Job(
        url=url,
        vantage=request.vantage,
        limits=request.limits,
        spec=request.render or RenderSpec(),
        policy=policy,
        exemption=request.exemption,
        chromium=chromium,
        budget_s=request.limits.total_s,
    )


class _Child:
    """The child process with its folder: one browser, asked for pages until it is ended."""

    def __init__(self, realm: str) -> None:
        adopt_orphans()
        self.realm = realm
        self.served = 0
        self._seen: set[int] = set()  # processes of the browser, also such as have died or lost their parents since
        self._folder = Folder()
        try:
            self._log = (self._folder.path / "log").open("w+b")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "monitoring.fetching.browser_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=_environment(str(self._folder.path)),
                cwd=self._folder.path,
                start_new_session=True,
            )
        except BaseException:
            self._folder.remove()
            raise

    def ask(self, job: Job) -> Answer:
        """The answer to one job; raises `FetchError` where none came in time, and the child has to be ended then."""
        self.served += 1
        ends_at = time.monotonic() + job.budget_s + _GRACE_S

        def look() -> None:
            if time.monotonic() > ends_at:
                raise FetchError(
                    f"The page kept the browser busy for more than {job.budget_s:g} s.",
                    reason="timeout",
                    transient=True,
                )
            family = descendants(self._process.pid)
            self._seen.update(family)
            if sum(map(memory_bytes, family)) > _MAX_MEMORY_BYTES:
                raise TooLarge("The page makes the browser use more memory than allowed.")

        try:
            answer = exchange(self._process, job.to_json().encode() + b"\n", look=look, every_s=_LOOK_S)
        except PipeClosed as error:
            logger.error("renderer ended without a result said=%r", self._said()[-1000:])
            raise FetchError("The browser ended without a result.", reason="renderer-failed", transient=True) from error
        if answer.facts.get("reason") == "renderer-failed":
            logger.warning("renderer failed said=%r", self._said()[:1000])
        if answer.facts.get("remark"):
            logger.warning(RAN, answer.facts["remark"])
        return answer

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read(4000).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """Kill the child, all that descends from it, and what has left the family but names the child's folder.

        The browser leads a session of its own, and its crash reporter is nobody's child.
        """
        folder = str(self._folder.path)
        family = {self._process.pid, *self._seen, *descendants(self._process.pid), *naming(folder)}
        kill(family)
        self._process.wait()
        finish(family | {*naming(folder)})
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._folder.remove()


def _environment(folder: str) -> dict[str, str]:
    """What the child may know: where programs are and where to write; none of the deployment's secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "FONTCONFIG_PATH") if name in os.environ}
    return kept | {"HOME": folder, "TMPDIR": folder, "PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}

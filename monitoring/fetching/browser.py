"""Pages that need JavaScript: one browser process per page, which is killed with all its children at the deadline.

The browser runs in a child process (`browser_worker`), never in the caller's: a page can hang or crash it, and Playwright
brings an event loop that database code must not meet. This module starts the child, waits, and reads its answer.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monitoring.fetching.capture import (
    Capture,
    Exemption,
    Failure,
    FetchRequest,
    Hop,
    Limits,
    Outcome,
    RenderSpec,
    VantageSpec,
)
from monitoring.fetching.errors import FetchError, TooLarge
from monitoring.fetching.guard import AddressPolicy, vet, without_userinfo

logger = logging.getLogger(__name__)

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
            spec=RenderSpec(**raw["spec"]),
            policy=AddressPolicy(**policy),
            exemption=Exemption(**raw["exemption"]) if raw["exemption"] else None,
            chromium=raw["chromium"],
            budget_s=raw["budget_s"],
        )


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
    """One page as a browser shows it; a site's fault or the browser's is a `Failure`, never an exception.

    Blocks for at most `limits.total_s` plus two seconds, the start of the browser included; one page costs about two CPU
    seconds. `html` is the document after its scripts ran, open shadow roots and frames of the same origin
    unfolded (`data-shadow-root`, `data-frame`), frames of other origins left out.
    """
    started_at, start = clock(), time.monotonic()
    url = without_userinfo(request.url)
    try:
        url = vet(request.url, policy, exemption=request.exemption).url
        facts, html, shot = _run(_job(request, url, policy, chromium_path))
        if "reason" in facts:
            raise FetchError(facts["message"], reason=facts["reason"], transient=facts["transient"])
    except FetchError as error:
        return Failure(
            key=request.key,
            url=url,
            reason=error.reason,
            message=error.sentence,
            transient=error.transient,
            started_at=started_at,
            duration_ms=round((time.monotonic() - start) * 1000),
            final_url=url,
        )
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
        duration_ms=round((time.monotonic() - start) * 1000),
        rendered=True,
        screenshot=shot or None,
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


def _run(job: Job) -> tuple[dict[str, Any], bytes, bytes]:
    """The child's answer: facts, HTML, screenshot. Its folder and its processes are gone afterwards."""
    with (
        TemporaryDirectory(prefix="tideline-render-", ignore_cleanup_errors=True) as folder,
        (Path(folder) / "log").open("w+b") as log,
    ):
        child = subprocess.Popen(
            [sys.executable, "-m", "monitoring.fetching.browser_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(folder),
            cwd=folder,
            start_new_session=True,
        )
        try:
            answer = _answer(child, job)
        finally:
            _kill(child, folder)
        log.seek(0)
        said = log.read(4000).decode("utf-8", "replace").strip()
        if child.returncode != 0 or b"\n" not in answer:
            logger.error("renderer ended without a result code=%s said=%r", child.returncode, said[-1000:])
            raise FetchError("The browser ended without a result.", reason="renderer-failed", transient=True)
    line, _, rest = answer.partition(b"\n")
    facts: dict[str, Any] = json.loads(line)  # Any: the worker's own JSON
    if facts.get("reason") == "renderer-failed":
        logger.warning("renderer failed said=%r", said[:1000])
    if facts.get("remark"):
        logger.warning("browser ran %s", facts["remark"])
    html_bytes = facts["html_bytes"]
    return facts, rest[:html_bytes], rest[html_bytes : html_bytes + facts["shot_bytes"]]


def _answer(child: subprocess.Popen[bytes], job: Job) -> bytes:
    """What the child writes until it ends; raises when it takes too long or its browser takes too much memory."""
    ends_at = time.monotonic() + job.budget_s + _GRACE_S
    question: bytes | None = job.to_json().encode()
    while True:
        try:
            answer, _ = child.communicate(question, timeout=_LOOK_S)
        except subprocess.TimeoutExpired as error:
            question = None  # it is on its way; asking again only goes on waiting
            if time.monotonic() > ends_at:
                raise FetchError(
                    f"The page kept the browser busy for more than {job.budget_s:g} s.",
                    reason="timeout",
                    transient=True,
                ) from error
            if sum(map(_memory_bytes, _descendants(child.pid))) > _MAX_MEMORY_BYTES:
                raise TooLarge("The page makes the browser use more memory than allowed.") from error
        else:
            return answer


def _memory_bytes(pid: int) -> int:
    """A process's share of memory (Linux's PSS, in which shared pages count once over all), 0 where unknown."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _environment(folder: str) -> dict[str, str]:
    """What the child may know: where programs are and where to write; none of the deployment's secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "FONTCONFIG_PATH") if name in os.environ}
    return kept | {"HOME": folder, "TMPDIR": folder, "PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}


def _kill(child: subprocess.Popen[bytes], folder: str) -> None:
    """Kill the child, all that descends from it, and what has left the family but names the render's own folder.

    The browser leads a session of its own, and its crash reporter is nobody's child.
    """
    family = _descendants(child.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for pid in {*family, *_naming(folder)}:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _naming(folder: str) -> list[int]:
    """Processes with this folder in their command line, where the system tells (Linux)."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if folder.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def _descendants(root: int) -> list[int]:
    """Processes that descend from this one now, where the system tells (Linux); empty elsewhere."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything; the parent is the second field after it.
            parent = int(entry.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    found: list[int] = []
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), []):
            found.append(pid)
            pending.append(pid)
    return found

"""Many renders in a row, and what they leave behind: `python -m tests.fetching.soak --renders 1000`.

Every page is different and does some work: scripts, images, storage, a worker, a fetch.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from monitoring.fetching.browser import PAGES_PER_BROWSER, Renderer
from monitoring.fetching.browser_family import descendants
from monitoring.fetching.capture import Capture, RenderSpec
from tests.fetching.rendering import allowing, html, make_request, running
from tests.fetching.server import Answer, Request, response

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cfc000000301010018dd8db00000000049454e44ae426082"
)
BODY = """<main><h1>Page {n}</h1>{text}</main><img src=/pixel.png?{n}>
<script>
localStorage.n = (+localStorage.n || 0) + 1; document.cookie = "seen={n}";
new Worker(URL.createObjectURL(new Blob(["let a = []; for (let i = 0; i < 1e5; i++) a.push(i)"])));
fetch("/data?{n}").then(r => r.text()).then(t => {{
  document.querySelector("h1").textContent += " " + t + " visit " + localStorage.n;
}});
</script>"""


@dataclass
class Figures:
    """What a soak measured; bytes of memory after each page, by the page's place in its browser's life."""

    renders: int = 0
    failures: list[str] = field(default_factory=list)
    browsers: int = 0
    left: list[str] = field(default_factory=list)  # processes, as the system describes them
    folders: int = 0
    worker: list[int] = field(default_factory=list)
    family: list[int] = field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def zombies(self) -> int:
        """Processes that ended and that nobody took note of."""
        return sum(") Z" in line for line in self.left)

    @property
    def worker_drift(self) -> float:
        """How much more memory the worker's own process holds at the end, as a share."""
        return _drift(self.worker)

    @property
    def family_drift(self) -> float:
        """The same for the browser and its driver, which are renewed again and again."""
        return _drift(self.family)

    def table(self) -> str:
        """The figures as lines to print."""
        rows = [
            ("renders", f"{self.renders}"),
            ("failed", f"{len(self.failures)}"),
            ("browsers started", f"{self.browsers}"),
            ("seconds a render", f"{self.wall_s / self.renders:.2f}"),
            ("CPU seconds a render", f"{self.cpu_s / self.renders:.2f}"),
            ("zombies left", f"{self.zombies}"),
            ("processes left", f"{len(self.left)}"),
            ("folders left", f"{self.folders}"),
            ("worker's memory, MB", f"{statistics.mean(self.worker) / 1e6:.0f}, drift {self.worker_drift:+.1%}"),
            ("browser's memory, MB", f"{statistics.mean(self.family) / 1e6:.0f}, drift {self.family_drift:+.1%}"),
        ]
        return "\n".join(f"| {name:<22} | {value:>26} |" for name, value in rows)


def _drift(samples: list[int]) -> float:
    """The mean of the last third against that of the first."""
    third = max(len(samples) // 3, 1)
    return statistics.mean(samples[-third:]) / statistics.mean(samples[:third]) - 1


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder for all that is temporary: what others leave in the machine's is none of ours."""
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    folder.chmod(0o711)  # a browser may run as a user without rights
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before[0]
        os.environ.pop("TMPDIR")
        if before[1] is not None:
            os.environ["TMPDIR"] = before[1]
        shutil.rmtree(folder, ignore_errors=True)


def soak(renders: int, *, pages: int = PAGES_PER_BROWSER) -> Figures:
    """The figures of so many renders in a row, in one worker. A few go before, which are not measured."""
    with _own_folder() as folder:
        return _soak(renders, pages, folder)


def _soak(renders: int, pages: int, folder: Path) -> Figures:
    figures = Figures()

    async def page(request: Request, writer: asyncio.StreamWriter) -> None:
        number = request.target.rpartition("/")[2]
        text = "".join(f"<p>Clause {i} of page {number}: {'words of a contract ' * 12}</p>" for i in range(60))
        writer.write(html(BODY.format(n=number, text=text)))
        await writer.drain()

    answers: dict[str, Answer] = {
        "*": page,
        "/pixel.png": response(PIXEL, content_type="image/png"),
        "/data": response("done"),
    }
    with running(answers) as site, Renderer(policy=allowing(site), pages=pages) as renderer:
        spec = RenderSpec(quiet_ms=100)
        for _ in range(3):
            renderer.render(make_request(f"{site.url}/page/0", render=spec))
        renderer.close()  # so that every life of a browser is measured from its beginning
        renderer.started = 0
        begun, cpu = time.monotonic(), _cpu_s()
        for number in range(1, renders + 1):
            outcome = renderer.render(make_request(f"{site.url}/page/{number}", render=spec))
            if not isinstance(outcome, Capture):
                figures.failures.append(outcome.message)
            elif f"Page {number} done visit 1<" not in outcome.html or not outcome.screenshot:
                figures.failures.append(f"page {number} came incomplete, or saw another page's storage")
            site.requests.clear()  # our own server's memory of them is not what is measured
            figures.worker.append(_rss_bytes())
            figures.family.append(sum(map(_own_bytes, descendants(os.getpid()))))
        renderer.close()
        figures.wall_s, figures.cpu_s = time.monotonic() - begun, _cpu_s() - cpu
        figures.renders, figures.browsers = renders, renderer.started
    figures.left = [facts for pid in descendants(os.getpid()) if (facts := facts_of(pid))]
    figures.folders = len(list(folder.iterdir()))
    return figures


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _own_bytes(pid: int) -> int:
    """Memory that a process made itself, without files it maps: those count by how many others map them just now."""
    with suppress(OSError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
        return sum(
            int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith(("Pss_Anon:", "Pss_Shmem:"))
        )
    return 0


def facts_of(pid: int) -> str:
    with suppress(OSError):
        return " ".join(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").split()[:7])
    return ""


def main() -> int:
    """Print the table; 1 when something was left behind or memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renders", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=PAGES_PER_BROWSER, help="pages a browser shows before it is renewed"
    )
    chosen = parser.parse_args()
    figures = soak(chosen.renders, pages=chosen.pages)
    print(figures.table())
    for message in [*figures.failures[:10], *figures.left[:10]]:
        print(f"trouble: {message}")
    grew = max(figures.worker_drift, figures.family_drift) >= 0.05
    return int(bool(figures.failures or figures.left or figures.folders or grew))


if __name__ == "__main__":
    raise SystemExit(main())

"""A browser that dies, hangs or runs away: the worker is free in time, and nothing is left of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from monitoring.fetching import browser_family
from monitoring.fetching.browser import Renderer
from monitoring.fetching.browser_family import PREFIX, Folder, descendants, sweep
from monitoring.fetching.browser_pipe import PipeClosed, encode, exchange
from monitoring.fetching.capture import Capture, Failure, Limits, RenderSpec
from tests.fetching.rendering import allowing, capture_of, html, left_behind, make_request, needs_browser, running
from tests.fetching.server import Answer, Request, response
from tests.fetching.soak import facts_of, soak

DEADLINE_S = 8.0
SPEC = RenderSpec(quiet_ms=100, screenshot=False)


def _processes(scratch: Path, mark: bytes) -> list[int]:
    """Our descendants whose command line holds this mark."""
    found = []
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


_OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def others() -> None:
    """What descended from this process before the test: other tests' orphans, adopted since rendering adopts them."""
    _OTHERS.clear()
    _OTHERS.update(descendants(os.getpid()))


def strays() -> list[str]:
    """What descends from this process since the test began and should not."""
    return [facts_of(pid) for pid in descendants(os.getpid()) if pid not in _OTHERS]


class TestKills:
    pytestmark = needs_browser

    @pytest.mark.parametrize(
        "mark",
        [b"--type=renderer", b"--headless", b"--type=gpu-process", b"playwright/driver", b"browser_worker"],
        ids=["renderer", "browser", "gpu", "driver", "worker"],
    )
    def test_a_part_that_is_killed_ends_the_page_and_not_the_next(self, mark: bytes, scratch: Path) -> None:
        killed: list[int] = []

        async def kill(request: Request, writer: asyncio.StreamWriter) -> None:
            if not killed:
                killed.extend(_processes(scratch, mark))
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
            writer.write(response("done"))
            await writer.drain()

        answers: dict[str, Answer] = {
            "/": html("<p>text</p><script src=/kill></script>"),
            "/kill": kill,
            "/next": html("<p>next</p>"),
        }
        with running(answers) as site, Renderer(policy=allowing(site)) as renderer:
            begun = time.monotonic()
            first = renderer.render(make_request(site.url, render=SPEC, limits=Limits(total_s=DEADLINE_S)))
            took = time.monotonic() - begun
            after = renderer.render(make_request(f"{site.url}/next", render=SPEC))

        assert killed
        assert took < DEADLINE_S + 5
        assert "next" in capture_of(after).html
        # The graphics process is started anew by the browser itself, and the page may come after all.
        assert isinstance(first, Failure) or b"gpu" in mark
        assert left_behind(scratch) == []
        assert strays() == []

    @pytest.mark.parametrize(
        "page",
        [
            "<p>text</p><script>for (;;) alert('stop')</script>",
            "<p>text</p><script>setTimeout(() => { for (;;); }, 50)</script>",
            "<script>location = '/?' + Math.random()</script>",
            "<script>onload = () => setTimeout(() => { location = '/?' + Math.random() }, 20)</script>",
            "<script>for (;;) window.open('/x')</script>",
            "<script>onbeforeunload = () => { for (;;); }</script><p>text</p>",
            "<script>const grow = () => { document.body.innerHTML += document.body.innerHTML; setTimeout(grow) }; onload = grow</script>abc",
        ],
        ids=["alert", "endless script", "navigation", "late navigation", "windows", "unload", "growth"],
    )
    def test_a_page_that_does_not_end_is_given_up_in_time(self, page: str, scratch: Path) -> None:
        with running({"*": html(page)}) as site, Renderer(policy=allowing(site)) as renderer:
            begun = time.monotonic()
            outcome = renderer.render(make_request(site.url, render=SPEC, limits=Limits(total_s=DEADLINE_S)))
            renderer.close()
            took = time.monotonic() - begun

        assert took < DEADLINE_S + 5
        assert isinstance(outcome, Failure | Capture)
        assert left_behind(scratch) == []
        assert strays() == []

    def test_a_page_that_moves_on_without_end_is_named(self) -> None:
        page = "<script>onload = () => setTimeout(() => { location = '/?' + Math.random() }, 10)</script>"
        with running({"*": html(page)}) as site, Renderer(policy=allowing(site)) as renderer:
            outcomes = [renderer.render(make_request(site.url, render=SPEC)) for _ in range(3)]

        # On a busy machine a page may stand still for long enough to be captured; not three times.
        assert "too-many-redirects" in [outcome.reason for outcome in outcomes if isinstance(outcome, Failure)]

    @pytest.mark.slow
    def test_a_worker_that_is_killed_takes_its_browser_with_it(self, scratch: Path) -> None:
        script = """
import sys
from monitoring.fetching.browser import Renderer
from monitoring.fetching.capture import FetchRequest, RenderSpec
from monitoring.fetching.guard import AddressPolicy
port = int(sys.argv[1])
with Renderer(policy=AddressPolicy(allow=frozenset({("127.0.0.1", port)}))) as renderer:
    renderer.render(FetchRequest(key=1, url=f"http://127.0.0.1:{port}/", render=RenderSpec()))
"""
        came = []

        async def kill(request: Request, writer: asyncio.StreamWriter) -> None:
            came.append(worker.pid)
            worker.kill()

        with running({"/": html("<script src=/kill></script>"), "/kill": kill}) as site:
            worker = subprocess.Popen(
                [sys.executable, "-c", script, str(site.port)],
                env=os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parents[2])},
                cwd=scratch.parent,
            )
            worker.wait(60)

        assert came
        assert left_behind(scratch) == []

    @pytest.mark.slow
    def test_thirty_renders_leave_nothing_behind(self, scratch: Path) -> None:
        figures = soak(30, pages=10)

        assert figures.failures == []
        assert (figures.browsers, figures.folders, figures.left) == (3, 0, [])
        assert figures.worker_drift < 0.05
        assert figures.family_drift < 0.05
        assert left_behind(scratch) == []


# -- without a browser ---------------------------------------------------------------------------------------------


def test_folders_of_dead_owners_are_swept_and_those_of_living_ones_stay(scratch: Path) -> None:
    mine = Folder()
    dead = scratch / f"{PREFIX}dead"
    dead.mkdir()
    (dead / "owner").write_text("")
    (dead / "inner").mkdir()
    strange = scratch / f"{PREFIX}link"
    strange.symlink_to(scratch.parent)

    removed = sweep(younger_s=-1)

    assert removed == 1
    assert not dead.exists()
    assert strange.is_symlink()
    assert mine.path.is_dir()
    mine.remove()
    assert not mine.path.exists()


def test_a_folder_that_is_just_being_made_is_not_swept(scratch: Path) -> None:
    (scratch / f"{PREFIX}new").mkdir()

    assert sweep() == 0


def _child(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ended(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def test_an_answer_in_pieces_is_put_together() -> None:
    data = encode({"status": 200}, (b"html\n", b"", b"\0" * 300_000))
    child = _child(f"import sys; sys.stdin.readline(); sys.stdout.buffer.write({data[:40]!r}); sys.stdout.flush(); "
                   f"sys.stdout.buffer.write({data[40:60]!r} + b'\\0' * {len(data) - 60})")  # fmt: skip
    try:
        answer = exchange(child, b"x" * 200_000 + b"\n", look=lambda: None, every_s=5)
    finally:
        _ended(child)

    assert answer.facts == {"status": 200}
    assert answer.parts == (b"html\n", b"", b"\0" * 300_000)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no json\n",
        b"{}\n",
        b'{"sizes": [1, 2]}\nabc',
        b'{"sizes": [-1, 0, 0]}\n',
        b'{"sizes": [999999999999, 0, 0]}\n',
        b'{"sizes": [9, 0, 0]}\nabc',
    ],
)
def test_an_answer_that_is_none_is_told_from_one(said: bytes) -> None:
    child = _child(f"import sys; sys.stdout.buffer.write({said!r})")
    try:
        with pytest.raises(PipeClosed):
            exchange(child, b"question\n", look=lambda: None, every_s=5)
    finally:
        _ended(child)


def test_a_child_that_reads_nothing_and_says_nothing_does_not_hold_us() -> None:
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise TimeoutError

    child = _child("import time; time.sleep(60)")
    try:
        with pytest.raises(TimeoutError):
            exchange(child, b"x" * 5_000_000 + b"\n", look=look, every_s=0.02)
    finally:
        _ended(child)


def test_orphans_are_adopted_and_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    browser_family.adopt_orphans()
    script = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL).pid, flush=True)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    output, _ = parent.communicate(timeout=20)
    orphan = int(output)

    browser_family.finish({orphan})

    assert not Path(f"/proc/{orphan}").exists()

"""A newcomer's first two minutes: start everything, and the queue shows what really changed and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
FINDS: set[tuple[str, ...]] = {
    ("halden/privacy", "content"),
    ("orrin/certificates", "field"),
    ("alpenrad/lieferkette", "content"),
    ("hoshino/privacy", "content"),
    ("measures/notices", "content"),
    ("pelago/partners", "gone"),
}
WITHIN_S = 150


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Product:
    """`manage.py run` in a folder of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.data, self.log = folder / "data", folder / "run.log"
        self.port = free_port()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("TIDELINE_", "DJANGO_", "PYTEST_"))}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run", "--port", str(self.port), *arguments],
                cwd=ROOT,
                env=environment | {"TIDELINE_DATA": str(self.data)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def rows(self, sql: str) -> set[tuple[str, ...]]:
        """What a query on the product's database finds; nothing while there is no database yet."""
        path = self.data / "tideline.sqlite3"
        if not path.exists():
            return set()
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
                return {tuple(map(str, row)) for row in database.execute(sql)}
        except sqlite3.OperationalError:
            return set()

    def finds(self) -> set[tuple[str, ...]]:
        """The queue, as (page, kind)."""
        found = self.rows(
            "select m.url, c.kind from monitoring_change c join monitoring_monitor m on m.id = c.monitor_id where not m.is_canary"
        )
        return {(re.sub(r".*/sample/(.*)/$", r"\1", url), kind) for url, kind in found}

    def wait_for(self, what: set[tuple[str, ...]], within_s: float) -> bool:
        """Whether the queue holds at least these before the time is up."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and self.process.poll() is None:
            if what <= self.finds():
                return True
            time.sleep(1)
        return what <= self.finds()

    def part(self, word: str) -> psutil.Process | None:
        """The process of web, workers or ticker whose command holds the word, if it runs."""
        found = [child for child in psutil.Process(self.process.pid).children() if word in child.cmdline()]
        return found[0] if found else None

    def starts_again(self, word: str, within_s: float = 60.0) -> bool:
        """Whether another process takes the place of one that is killed."""
        killed = self.part(word)
        assert killed is not None
        killed.kill()
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            with contextlib.suppress(psutil.Error):  # one that ends while it is looked at
                now = self.part(word)
                if now is not None and now.pid != killed.pid:
                    return True
            time.sleep(0.2)
        return False

    def stop(self) -> int:
        """Ctrl-C; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    started = Product(tmp_path)
    yield started
    started.stop()


@pytest.mark.slow
def test_the_queue_shows_the_true_finds_and_none_of_the_noise(product: Product) -> None:
    assert product.wait_for(FINDS, WITHIN_S), f"found only {product.finds()}\n{product.log.read_text()[-3000:]}"

    assert product.finds() == FINDS
    assert product.rows(
        "select text from monitoring_fieldchange f join monitoring_monitor m on m.id = f.monitor_id where f.name = 'price' and not m.is_canary"
    ) == {("price: 89.00 -> 79.00",)}
    states = product.rows("select url, state from monitoring_monitor where state != 'ok' and not is_canary")
    assert {state for _, state in states} == {"blocked", "gone"}
    assert all(product.starts_again(word) for word in ("qcluster", "tick", "gunicorn"))
    assert product.stop() == 0
    output = product.log.read_text()
    assert output.count("Password:") == 1
    assert "Traceback" not in output
    with closing(socket.socket()) as probe:
        assert probe.connect_ex(("127.0.0.1", product.port)) != 0  # nothing is left listening


@pytest.mark.slow
def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = subprocess.run(
            [sys.executable, "manage.py", "run", "--port", str(port)],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TIDELINE_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert found.returncode == 1
    assert f"Port {port} is in use" in found.stderr
    assert "make run PORT=" in found.stderr

"""A PostgreSQL and a Redis of our own, to be stopped and started; both are known by their folder and port alone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _await(port: int, *, there: bool) -> None:
    ends = time.monotonic() + 30
    while listens(port) != there:
        if time.monotonic() > ends:
            raise RuntimeError(f"port {port} {'is still silent' if there else 'still answers'}")
        time.sleep(0.05)


def _postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server."""

    folder: str
    port: int

    @property
    def url(self) -> str:
        """Of its database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @staticmethod
    def is_there() -> bool:
        """Whether one can be made here: the programs, and an account for them where we are root."""
        if _postgres_programs() is None:
            return False
        with contextlib.suppress(KeyError):
            return os.getuid() != 0 or bool(pwd.getpwnam("postgres"))
        return False

    def make(self) -> None:
        """An empty server, started."""
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-D", f"{self.folder}/data")
        self.start()

    def start(self) -> None:
        """Start it again."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB -c max_connections=60"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-o", options, "-w", "start")

    def stop(self) -> None:
        """Stop it as a power cut would."""
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        folder = _postgres_programs()
        assert folder is not None
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        subprocess.run(
            [str(folder / program), *arguments], check=True, cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user,  # type: ignore[call-overload]
        )  # fmt: skip


@dataclass(frozen=True)
class Redis:
    """A Redis server that keeps nothing on disk."""

    folder: str
    port: int

    @property
    def url(self) -> str:
        """Of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    @staticmethod
    def is_there() -> bool:
        """Whether one can be made here."""
        return shutil.which("redis-server") is not None

    def start(self) -> None:
        """Start it, empty."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        command += ["--dir", self.folder, "--pidfile", f"{self.folder}/redis.pid", "--daemonize", "yes"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        _await(self.port, there=True)

    def stop(self) -> None:
        """SIGKILL."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(Path(self.folder, "redis.pid").read_text()), signal.SIGKILL)
        _await(self.port, there=False)


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL until the block ends."""
    place = folder / "postgres"
    place.mkdir(mode=0o700)
    folder.chmod(0o711)
    server = Postgres(str(place), free_port())
    server.make()
    try:
        yield server
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.stop()


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[Redis]:
    """A Redis until the block ends."""
    place = folder / "redis"
    place.mkdir()
    server = Redis(str(place), free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()

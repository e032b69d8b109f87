"""The catalogue's server in a process of its own: cases that send without end share no interpreter with the others.

Run with the longest answer in seconds as argument; prints the port, and ends when its input does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.hostile import chain

GREEDY = ("endless_", "million_", "huge_", "many_", "gzip_", "brotli_", "zstd_", "slow_", "20MB")
"""How the names of cases begin that keep a server busy."""


def is_greedy(name: str) -> bool:
    """Whether a case is served apart."""
    return name.startswith(GREEDY)


@contextmanager
def served_apart(max_seconds: float) -> Iterator[int]:
    """The port of a server in another process."""
    command = [sys.executable, "-m", "tests.hostile.serving", str(max_seconds)]
    with subprocess.Popen(command, cwd=chain.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def main() -> None:
    """Serve until the input ends."""
    assert chain.load(bomb_mb=64) is not None
    server = sys.modules["hostile_catalogue"].HostileServer(max_seconds=float(sys.argv[1]))
    print(server.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

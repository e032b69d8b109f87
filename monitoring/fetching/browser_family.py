"""The processes and the folder of a browser: finding them all, killing them, and leaving nothing behind.

Where the system tells of its processes (Linux) the list is complete; elsewhere the process group has to do.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "tideline-render-"
_LOCK = "owner"
_SETTLED_S = 60.0  # a folder younger than this may be about to be locked
_REAP_S = 3.0
_PR_SET_CHILD_SUBREAPER = 36
_adopting = False


class Folder:
    """A private temporary folder, locked as long as its owner lives; folders whose owners died are removed first."""

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        remove_tree(self.path)
        os.close(self._lock)


def sweep(*, younger_s: float = _SETTLED_S) -> int:
    """How many folders of dead owners were removed, their browsers killed; a killed worker can't do so itself."""
    removed = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            facts = path.lstat()
            if not path.is_dir() or path.is_symlink() or facts.st_uid != os.geteuid():
                continue
            if time.time() - facts.st_mtime < younger_s or _is_owned(path):
                continue
            finish(naming(str(path)))
            remove_tree(path)
            removed += 1
    return removed


def _is_owned(path: Path) -> bool:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def remove_tree(path: Path) -> None:
    """Remove a folder; a process that is about to die may still write into it, so a few times."""
    for attempt in range(20):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.01 * (attempt + 1))


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, so that killed browsers don't stay as zombies (Linux).

    In a container the first process often reaps nobody; this needs none that does.
    """
    global _adopting
    if _adopting or not sys.platform.startswith("linux"):
        return
    _adopting = True
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill(pids: Iterable[int]) -> None:
    """Kill these processes, so far as they are there and ours to kill."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def finish(family: Iterable[int]) -> None:
    """Kill these processes and all of their sessions, and wait until they are gone, reaped where they are ours by now.

    A browser leads a session of its own. What it was starting when it was killed is known by that alone; what had died
    before anybody looked, by its name.
    """
    known = set(family)
    sessions = (known | {facts.session for pid, facts in _all().items() if pid in known}) - {0, os.getsid(0)}
    ends_at = time.monotonic() + _REAP_S
    while time.monotonic() < ends_at:
        left = {
            pid: facts
            for pid, facts in _all().items()
            if pid in known or facts.session in sessions or (facts.is_our_zombie and facts.is_browser)
        }
        left.pop(os.getpid(), None)
        ours = [pid for pid, facts in left.items() if facts.is_our_zombie]
        for pid in ours:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        alive = [pid for pid, facts in left.items() if facts.state != "Z"]
        if not alive and not ours:
            return
        kill(alive)
        time.sleep(0.005)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the system says of a process."""

    name: str
    state: str
    parent: int
    session: int

    @property
    def is_our_zombie(self) -> bool:
        return self.state == "Z" and self.parent == os.getpid()

    @property
    def is_browser(self) -> bool:
        return self.name.startswith(("chrom", "google-chrome", "headless_shell")) and self.session != os.getsid(0)


def _all() -> dict[int, _Facts]:
    """All processes, where the system tells (Linux); empty elsewhere."""
    found: dict[int, _Facts] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything; the fields that matter come after it.
            head, _, rest = entry.read_text("utf-8", "replace").rpartition(")")
            state, parent, _group, session = rest.split()[:4]
            found[int(entry.parent.name)] = _Facts(head.partition("(")[2], state, int(parent), int(session))
    return found


def memory_bytes(pid: int) -> int:
    """A process's share of memory (Linux's PSS, in which shared pages count once over all), 0 where unknown."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def naming(folder: str) -> list[int]:
    """Processes with this folder in their command line or environment, where the system tells (Linux)."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        for part in ("cmdline", "environ"):
            with suppress(OSError):
                if folder.encode() in (entry / part).read_bytes():
                    found.append(int(entry.name))
                    break
    return found


def descendants(root: int) -> list[int]:
    """Processes that descend from this one now, where the system tells (Linux); empty elsewhere."""
    children: dict[int, list[int]] = {}
    for pid, facts in _all().items():
        children.setdefault(facts.parent, []).append(pid)
    found: list[int] = []
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), []):
            found.append(pid)
            pending.append(pid)
    return found

"""How Chromium is started: as nobody in particular, with its own sandbox, or with less of that where it must be.

Chromium refuses its sandbox as root. So a worker that runs as root starts the browser under a user number of its own,
which owns nothing but the profile. Where the system allows no sandbox (many containers), the browser runs without it,
still unprivileged, and the log says so at every render.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

# Numbers that systemd hands out to services for the time they run; nobody's files carry them.
_FIRST_UID, _UIDS = 61184, 4000


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to start the browser, and what to say about it."""

    executable: str
    sandbox: bool
    remark: str = ""


def launches(chromium: str, folder: Path) -> list[Launch]:
    """Ways to start this browser, the safest first; `folder` is the render's own and will hold a start script."""
    if os.geteuid() != 0:
        return [Launch(chromium, sandbox=True), Launch(chromium, sandbox=False, remark="without its sandbox")]
    setpriv = shutil.which("setpriv")
    if setpriv is None or not _is_for_everyone(Path(chromium)) or not _is_passable(folder.parent):
        return [Launch(chromium, sandbox=False, remark="as root and without its sandbox")]
    script = _start_script(chromium, setpriv, folder)
    return [Launch(script, sandbox=True), Launch(script, sandbox=False, remark="without its sandbox")]


def _is_for_everyone(program: Path) -> bool:
    """Whether a user without rights may run this program."""
    resolved = program.resolve()
    if not resolved.is_file() or not resolved.stat().st_mode & stat.S_IXOTH:
        return False
    return _is_passable(resolved.parent)


def _is_passable(folder: Path) -> bool:
    """Whether a user without rights may go through this folder and all above it."""
    resolved = folder.resolve()
    return all(place.stat().st_mode & stat.S_IXOTH for place in (resolved, *resolved.parents))


def _start_script(chromium: str, setpriv: str, folder: Path) -> str:
    """A script that hands the profile to an unprivileged user and becomes the browser under it."""
    uid = _FIRST_UID + os.getpid() % _UIDS
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, uid, uid)
    folder.chmod(0o711)
    script = folder / "start"
    script.write_text(
        f"""#!/bin/sh
for word in "$@"; do
  case "$word" in --user-data-dir=*) chown -R {uid}:{uid} "${{word#--user-data-dir=}}" ;; esac
done
export HOME={shlex.quote(str(home))} TMPDIR={shlex.quote(str(home))}
exec {shlex.quote(setpriv)} --reuid={uid} --regid={uid} --clear-groups --no-new-privs {shlex.quote(chromium)} "$@"
""",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return str(script)

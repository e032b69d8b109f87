"""Where the compiled twins of the hot modules lie, if there are any for exactly these sources.

mypyc compiles the typed modules below to C: same sources, same results, about half the time (ADR 0008). The folder's name
is a hash of the sources and of the interpreter, so an edited source is never shadowed by what was compiled before it.
`python -X pure` leaves compiled twins alone.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from pathlib import Path
from typing import Final

MODULES: Final = ("address", "furniture", "read", "region", "script", "walk")
_HERE: Final = Path(__file__).parent


def key() -> str:
    """The name of these sources on this interpreter: 24 hexadecimal characters."""
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}".encode())
    for name in MODULES:
        digest.update(hashlib.sha256((_HERE / f"{name}.py").read_bytes()).digest())
    return digest.hexdigest()[:24]


def home() -> Path:
    """The folder in which compiled twins of all versions lie: inside the environment, which they belong to."""
    return Path(sys.prefix) / "tideline-native"


def folder() -> Path | None:
    """The folder of the twins of these sources, None without any."""
    if "pure" in sys._xoptions:
        return None
    try:
        found = home() / key()
    except OSError:  # the sources are not files, say in a zip archive
        return None
    return found if (found / "complete").exists() else None


def is_native() -> bool:
    """Whether the modules of this process are compiled ones."""
    walk = sys.modules.get("monitoring.detection.walk")
    return walk is not None and not str(getattr(walk, "__file__", "")).endswith(".py")

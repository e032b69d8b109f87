"""This machine: memory, files, names, time zones, Python, disk, store and broker."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sys
import threading
import time
import zoneinfo
from pathlib import Path
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.db import DatabaseError

from monitoring import storage
from monitoring.detection import native
from monitoring.models import Site
from monitoring.services import brokers, health, storeprobe
from monitoring.services.doctor.lines import Line, Lines, ok, problem, warning
from monitoring.services.doctor.outside import mail_options

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

WORKER_MB, BROWSER_MB = 300, 1500  # what a worker and one with a browser hold in practice
SPARE_FILES = 200
LOOKUP_S = 5.0
ZONES = ("Europe/Berlin", "Asia/Tokyo", "America/New_York")
EVICTING = "allkeys"


def memory() -> Lines:
    """Whether workers fit into memory, and whether they are bounded."""
    have = memory_mb()
    want = settings.WORKERS * WORKER_MB + settings.BROWSER_WORKERS * BROWSER_MB
    yield memory_line(have_mb=have, want_mb=want)
    if not settings.WORKER_MEMORY_MB:
        yield warning(
            "memory", "workers have no limit: one hostile page may take all there is",
            "Set TIDELINE_WORKER_MEMORY_MB to 1024.",
        )  # fmt: skip
    else:
        yield ok("memory", f"a worker may allocate {settings.WORKER_MEMORY_MB} MB")


def memory_mb(group: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Memory of this machine or of the container's share of it; 0 where the system does not tell."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0
    try:
        text = group.read_text(encoding="ascii").strip()
        share = int(text) if text.isdigit() else whole
    except OSError:
        share = whole
    return min(whole, share) >> 20


def memory_line(*, have_mb: int, want_mb: int) -> Line:
    """Whether what is wanted is there."""
    if have_mb and want_mb > have_mb:
        return warning(
            "memory", f"{settings.WORKERS} workers and {settings.BROWSER_WORKERS} with a browser hold some {want_mb} MB; there are {have_mb} MB",
            "Lower TIDELINE_WORKERS or TIDELINE_BROWSER_WORKERS.",
        )  # fmt: skip
    return ok("memory", f"workers hold some {want_mb} MB of {have_mb} MB")


def files() -> Lines:
    """Whether a process may open enough files: each page on its way holds one or two."""
    if resource is not None:
        yield files_line(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def files_line(allowed: int) -> Line:
    """Whether so many are enough."""
    want = settings.FETCH_CONCURRENCY * 4 + SPARE_FILES
    if allowed != resource.RLIM_INFINITY and allowed < want:
        return problem(
            "files", f"a process may open {allowed} files; a worker may want {want}",
            "Raise LimitNOFILE of the service (ulimit -n), or lower TIDELINE_FETCH_CONCURRENCY.",
        )  # fmt: skip
    return ok("files", f"a process may open {allowed} files; a worker may want {want}")


def names() -> Lines:
    """Whether names can be looked up: those of the interface, the mail server, and a few sites."""
    hosts = [urlsplit(settings.APP_ORIGIN).hostname, urlsplit(settings.FRAME_ORIGIN).hostname]
    hosts.append(mail_options().get("host"))
    with contextlib.suppress(DatabaseError):
        hosts += list(Site.objects.exclude(host__startswith="127.").order_by("pk").values_list("host", flat=True)[:3])
    for host in dict.fromkeys(str(host).partition(":")[0] for host in hosts if host):
        began = time.monotonic()
        if why := why_unknown(host):
            yield warning("names", f"{host}: {why}", "See /etc/resolv.conf and whether the name is right.")
        else:
            yield ok("names", f"{host} is found in {(time.monotonic() - began) * 1000:.0f} ms")


def why_unknown(host: str, *, timeout_s: float = LOOKUP_S) -> str:
    """Why a name can't be looked up, or the empty string."""
    answer: list[str] = []

    def look() -> None:
        try:
            socket.getaddrinfo(host, None)
        except (OSError, UnicodeError) as error:
            answer.append(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        else:
            answer.append("")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return answer[0] if answer else f"no answer within {timeout_s:g} s"


def python() -> Lines:
    """The interpreter, and whether pages are read by compiled modules."""
    yield ok("python", f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}")  # fmt: skip
    if sys.flags.optimize:
        yield warning("python", "runs with -O", "Start it without -O.")
    if native.folder() is None:
        yield warning(
            "python", "pages are read by uncompiled modules: twice the processor time",
            "Install a C compiler and Python's headers, then run sh scripts/build-native.",
        )  # fmt: skip
    else:
        yield ok("python", "pages are read by compiled modules")


def zones() -> Lines:
    """Whether the system or the tzdata package knows time zones; people choose theirs."""
    for name in ZONES:
        try:
            zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:
            yield problem("time zones", f"{name} is unknown: {type(error).__name__}", "Install tzdata.")
            return
    yield ok("time zones", f"{', '.join(ZONES)} are known")


def store() -> Lines:
    """The store of page bytes: written to, read back, removed from; and the room that is left."""
    where = storage.store().where
    began = time.monotonic()
    if why := storeprobe.try_store():
        yield problem(
            "storage", f"{where}: {why}", "See TIDELINE_STORAGE or TIDELINE_DATA: rights, space, and the service."
        )
    else:
        took = (time.monotonic() - began) * 1000
        yield ok("storage", f"{where}: 64 bytes written, read back, compared and removed in {took:.0f} ms")
    for room in storeprobe.rooms():
        yield room_line(room)


def room_line(room: storeprobe.Room) -> Line:
    """Whether a disk has room."""
    found = f"{room.path}: {room.free_bytes / (1 << 30):.1f} of {room.total_bytes / (1 << 30):.1f} GiB free"
    if room.free_bytes < health.ROOM_PROBLEM:
        return problem("storage", found, "Make room or shorten retention; visits end as errors when it is full.")
    if room.free_bytes < health.ROOM_WARNING:
        return warning("storage", found, "Make room in time.")
    return ok("storage", found)


def broker() -> Lines:
    """There and back through the broker, and whether it may throw things away."""
    if not settings.REDIS_URL:
        yield ok("broker", "the database; TIDELINE_REDIS is for several machines")
        return
    try:
        began = time.monotonic()
        brokers.round_trip()
        took = (time.monotonic() - began) * 1000
        facts = brokers.facts()
    except (redis.RedisError, ValueError) as error:
        yield problem("broker", f"Redis: {type(error).__name__}: {error}", "Start it, or mend TIDELINE_REDIS.")
        return
    yield ok("broker", f"Redis {facts.version}: there and back in {took:.0f} ms")
    if facts.policy.startswith(EVICTING):
        yield warning(
            "broker", f"Redis may throw any key away when memory is short (maxmemory-policy {facts.policy})",
            "Set maxmemory-policy to volatile-lru: sessions of work are lost otherwise, and made again later.",
        )  # fmt: skip

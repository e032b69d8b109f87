"""Settings that start well and go wrong later, and the files that hold secrets."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import ERROR, WARNING, run_checks

from config import environment
from monitoring.models import Monitor, Site, Vantage
from monitoring.services import capture, secrets
from monitoring.services.doctor.lines import Lines, ok, problem, warning

SHORTEST_LEASE_S = 45  # a page over HTTP may take 30 s and is given a sign of life for only when it is there
LONGEST_LEASE_S = 900
MONITORS_LOOKED_AT = 1000
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


def times() -> Lines:
    """A task ends before the broker hands it out again, a batch before its task, and a lease lasts as long as a page."""
    base: dict[str, Any] = settings.Q_CLUSTER  # Any: values of many types
    others: dict[str, dict[str, Any]] = base.get("ALT_CLUSTERS", {})
    longest = capture.BUDGET_S + capture.OVERTIME_S
    for name, over in [("", {}), *others.items()]:
        timeout, retry = (over.get(key, base[key]) for key in ("timeout", "retry"))
        of = f" of {name}" if name else ""
        if timeout >= retry:
            yield problem(
                "times", f"timeout{of} is {timeout} s, retry {retry} s: a task is handed out while it still runs",
                "In config/settings.py make Q_CLUSTER's timeout less than its retry.",
            )  # fmt: skip
        elif timeout <= longest:
            yield problem(
                "times", f"timeout{of} is {timeout} s; a batch may take {longest:.0f} s and is killed before it ends",
                "In config/settings.py raise Q_CLUSTER's timeout, and its retry above that.",
            )  # fmt: skip
        else:
            yield ok("times", f"batch {longest:.0f} s < timeout{of} {timeout} s < retry {retry} s")
    lease = settings.LEASE_S
    if lease < SHORTEST_LEASE_S:
        yield warning(
            "times", f"the lease of {lease} s is shorter than a slow page takes: its worker is taken for dead",
            f"Set TIDELINE_LEASE_S to {SHORTEST_LEASE_S} or more; 90 is usual.",
        )  # fmt: skip
    elif lease > LONGEST_LEASE_S:
        yield warning(
            "times", f"the lease is {lease} s: what a dead worker held waits as long",
            "Set TIDELINE_LEASE_S to 90, or to what your slowest page needs.",
        )  # fmt: skip
    else:
        yield ok("times", f"lease {lease} s; signs of life are given within a third of it")


def deployment() -> Lines:
    """Conveniences of development, and Django's own checks for deployment."""
    host = urlsplit(settings.APP_ORIGIN).hostname
    if settings.DEBUG:
        yield problem("deployment", "DEBUG is on: errors show settings and source", "Unset TIDELINE_DEBUG.")
    if settings.TEST_ALLOWED_ADDRESSES:
        yield problem(
            "deployment", "TIDELINE_TEST_ALLOWED_ADDRESSES opens the address guard", "Unset it; it is for tests."
        )
    if not settings.PRODUCTION and host not in _LOCAL:
        yield warning(
            "deployment", f"the interface is at {host}, and TIDELINE_PRODUCTION is not set",
            "Set TIDELINE_PRODUCTION=1: it refuses to start with conveniences of development.",
        )  # fmt: skip
    if host not in _LOCAL and not settings.HTTPS:
        yield warning(
            "deployment", "passwords and sessions cross the network in the clear",
            "Put a web server with TLS in front and set TIDELINE_ORIGIN to its https address.",
        )  # fmt: skip
    found = [
        message for message in run_checks(include_deployment_checks=settings.PRODUCTION) if not message.is_silenced()
    ]
    for message in found:
        if message.level >= ERROR:
            yield problem("deployment", f"{message.id}: {message.msg}", message.hint or "See Django's system checks.")
        elif message.level >= WARNING:
            yield warning("deployment", f"{message.id}: {message.msg}", message.hint or "See Django's system checks.")
    if not found:
        kind = "check --deploy" if settings.PRODUCTION else "check"
        yield ok("deployment", f"{kind} finds nothing; TIDELINE_PRODUCTION={int(settings.PRODUCTION)}")


def secret_files() -> Lines:
    """Files with secrets are for their owner alone."""
    own_key = Path(settings.DATA_DIR) / "secret-key"
    files = {**environment.files_read(), **({"the signing key": own_key} if own_key.exists() else {})}
    if settings.SECRETS.file:
        files["TIDELINE_SECRETS_FILE"] = Path(settings.SECRETS.file)
    for name, path in files.items():
        try:
            mode = path.stat().st_mode
            with path.open("rb"):
                pass
        except OSError as error:
            yield problem(
                "secrets", f"{name}: {path} can't be read: {error.strerror}", "Let the service's user read it."
            )
            continue
        if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
            yield problem(
                "secrets", f"{name}: everybody on this machine may read or change {path} (mode {stat.S_IMODE(mode):03o})",
                f"chmod 600 {path}, and replace what it held.",
            )  # fmt: skip
        else:
            yield ok("secrets", f"{name}: {path} has mode {stat.S_IMODE(mode):03o}")
    if len(settings.SECRET_KEY) < 50:
        yield problem("secrets", "the signing key is shorter than 50 characters", "Set TIDELINE_SECRET_KEY anew.")


def referred_secrets() -> Lines:
    """Each secret that a site, a vantage or a monitor refers to is there."""
    missing: dict[str, str] = {}
    known: set[str] = set()
    for where, name in _references():
        if name in known or name in missing:
            continue
        try:
            if not settings.SECRETS.get(secrets.name_of(f"{secrets.PREFIX}{name}")):
                missing[name] = f"{where} refers to secret:{name}, which is not set"
        except secrets.SecretError as error:
            missing[name] = f"{where}: {error.sentence}"
        except OSError as error:
            missing[name] = f"{where} refers to secret:{name}, which can't be read: {error}"
        known.add(name)
    for name, found in missing.items():
        yield problem("secrets", found, f"Set TIDELINE_SECRET_{name}, or add a line {name}=… to the secrets file.")
    if not missing:
        yield ok("secrets", f"{len(known)} that sites, vantages and monitors refer to, all there")


_REFERENCE = re.compile(r"secret:([A-Za-z0-9_]+)")


def _references() -> Iterator[tuple[str, str]]:
    for name, cookies, steps in Site.objects.exclude(cookies="", login_steps=[]).values_list(
        "name", "cookies", "login_steps"
    ):
        yield from ((f"site {name}", found) for found in _REFERENCE.findall(cookies + json.dumps(steps)))
    for name, proxy in Vantage.objects.exclude(proxy_url="").values_list("name", "proxy_url"):
        yield from ((f"vantage {name}", found) for found in _REFERENCE.findall(proxy))
    by_browser = Monitor.objects.filter(enabled=True).exclude(renderer="http").exclude(steps=[])
    for pk, steps in by_browser.order_by("pk").values_list("pk", "steps")[:MONITORS_LOOKED_AT]:
        yield from ((f"monitor {pk}", found) for found in _REFERENCE.findall(json.dumps(steps)))

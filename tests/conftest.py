"""Fixtures for everyone: the network guard, people with roles, and make_* functions for rows."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

from tests import tables


def _leave_out_the_long(items: list[pytest.Item]) -> None:
    """What takes long and is shown by others too is run only where it is asked for."""
    if os.environ.get("TIDELINE_TEST_LONG") == "1":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes long; make test LONG=1 runs it"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave nothing on the database server, once all workers are done."""
    if not hasattr(session.config, "workerinput"):
        tables.drop_template()


class NetworkUsedError(AssertionError):
    """A test tried to leave loopback."""


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Let the tests' own database begin with its tables, where that is one in memory."""
    tables.begin_with_tables()


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto

    def checked(address: Any) -> None:
        if isinstance(address, tuple) and str(address[0]) not in {"127.0.0.1", "::1", "localhost", "0.0.0.0"}:
            raise NetworkUsedError(f"a test tried to reach {address[0]}; tests stay on loopback")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        checked(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        checked(address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, *args: Any) -> int:
        checked(args[-1])
        return sendto(self, *args)

    socket.socket.connect = guarded_connect  # type: ignore[method-assign,assignment]
    socket.socket.connect_ex = guarded_connect_ex  # type: ignore[method-assign,assignment]
    socket.socket.sendto = guarded_sendto  # type: ignore[method-assign,assignment]
    yield
    socket.socket.connect, socket.socket.connect_ex = connect, connect_ex  # type: ignore[method-assign]
    socket.socket.sendto = sendto  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, settings: Any) -> None:
    """Payloads and mail files of each test go to a folder of its own."""
    settings.PAYLOAD_DIR, settings.STORAGE = tmp_path / "payloads", None
    settings.MAIL_DIR = tmp_path / "mail"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()  # whitenoise warns where it is missing
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # a real one takes a second a person


@pytest.fixture(autouse=True)
def one_language() -> Iterator[None]:
    """A request in Japanese leaves its language in the thread; the next test starts in English again."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def no_limits_left() -> Iterator[None]:
    """A limit on this process that a test leaves behind would fail others, far from here."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    yield
    after = resource.getrlimit(resource.RLIMIT_DATA)
    if after != before:
        resource.setrlimit(resource.RLIMIT_DATA, before)
        pytest.fail(f"the test left a memory limit of {after[0]} bytes on its process")


@pytest.fixture
def shared() -> Path:
    """The folder of shared benchmarks and hostile inputs; the test is skipped where it is absent."""
    path = Path(__file__).resolve().parents[2] / "shared"
    if not path.is_dir():
        pytest.skip("the shared benchmark folder is not beside this checkout")
    return path


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the long tests out, so that each worker starts with its share of them (`--dist worksteal` cuts evenly)."""
    _leave_out_the_long(items)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    piles: list[list[pytest.Item]] = [[] for _ in range(workers)]
    long_ones = [item for mark in ("slow", "services", "browser") for item in items if item.get_closest_marker(mark)]
    long_ones = list(dict.fromkeys(long_ones))
    known = set(long_ones)
    for number, item in enumerate([*long_ones, *(item for item in items if item not in known)]):
        piles[number % workers].append(item)
    items[:] = [item for pile in piles for item in pile]

"""Addresses of database and Redis: what is understood, and what is told without showing a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from config import servers
from config.environment import EnvironmentProblem

DATA = Path("/data")
SECRET = "hunter2-and-more"


@pytest.fixture(autouse=True)
def no_addresses_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine that runs the tests has set plays no part."""
    for name in ("TIDELINE_DATABASE", "DATABASE_URL", "TIDELINE_REDIS", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


def database(monkeypatch: pytest.MonkeyPatch, **given: str) -> dict[str, object]:
    """The settings made of these variables."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return servers.database("TIDELINE_DATABASE", "DATABASE_URL", DATA)


def redis(monkeypatch: pytest.MonkeyPatch, **given: str) -> str:
    """The address made of these variables."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return servers.redis("TIDELINE_REDIS", "REDIS_URL")


def test_without_an_address_the_database_is_a_file_of_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    found = database(monkeypatch)

    assert found["NAME"] == "/data/tideline.sqlite3"
    assert "journal_mode=WAL" in str(found["OPTIONS"])
    assert redis(monkeypatch) == ""


@pytest.mark.parametrize("name", ["TIDELINE_DATABASE", "DATABASE_URL"])
def test_either_name_is_understood(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = database(monkeypatch, **{name: "postgres://w%40tch:p%2Fw%3A%25@db.example:5433/pages?sslmode=require"})

    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"], found["NAME"]) == (
        "w@tch", "p/w:%", "db.example", 5433, "pages",
    )  # fmt: skip
    assert found["OPTIONS"] == {"connect_timeout": servers.CONNECT_TIMEOUT_S, "sslmode": "require"}


def test_both_names_may_be_set_when_they_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql://u@h/n"

    assert database(monkeypatch, TIDELINE_DATABASE=address, DATABASE_URL=address)["NAME"] == "n"


def test_two_addresses_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentProblem, match="TIDELINE_DATABASE and DATABASE_URL are both set and differ") as told:
        database(monkeypatch, TIDELINE_DATABASE=f"postgresql://u:{SECRET}@h/n", DATABASE_URL="postgresql://u@h/n")
    assert SECRET not in str(told.value)

    with pytest.raises(EnvironmentProblem, match="TIDELINE_REDIS and REDIS_URL are both set and differ"):
        redis(monkeypatch, TIDELINE_REDIS="redis://a/0", REDIS_URL="redis://b/0")


def test_the_address_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://u:p@h/n\n")

    assert database(monkeypatch, DATABASE_URL_FILE=str(file))["PASSWORD"] == "p"


def test_options_of_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    found = database(
        monkeypatch,
        DATABASE_URL="postgresql://u@h/n?sslmode=verify-full&sslrootcert=/etc/ca.pem&connect_timeout=3"
        "&CONN_MAX_AGE=0&conn_health_checks=off&disable_server_side_cursors=1",
    )

    assert found["OPTIONS"] == {"connect_timeout": 3, "sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}
    assert (found["CONN_MAX_AGE"], found["CONN_HEALTH_CHECKS"]) == (0, False)
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_connections_may_be_kept_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    assert database(monkeypatch, DATABASE_URL="postgresql://u@h/n?conn_max_age=None")["CONN_MAX_AGE"] is None


@pytest.mark.parametrize(
    "address", ["postgresql://u@%2FRun%2Fpg/n", "postgresql://u@/n?host=/Run/pg", "postgresql:///n?host=/Run/pg"]
)
def test_a_socket_of_postgresql(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    assert database(monkeypatch, DATABASE_URL=address)["HOST"] == "/Run/pg"


def test_a_file_with_blanks_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert database(monkeypatch, DATABASE_URL="sqlite:////srv/my%20data/x.sqlite3")["NAME"] == "//srv/my data/x.sqlite3"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"postgresql://u:{SECRET}/x@h/n", "can't be read as an address"),
        (f"postgresql://u:{SECRET}#x@h/n", "holds a '#'"),
        (f"postgresql://u:{SECRET}@x@h/n", "holds an '@' too many"),
        (f"postgresql://u:12?{SECRET}=1@h/n", "holds an '@' too many"),
        (f"postgresql://u:{SECRET}@h:port/n", "can't be read as an address"),
        (f"postgresql://u:{SECRET}@[h/n", "can't be read as an address"),
        (f"postgresql://u:{SECRET}@h /n", "holds a blank"),
        (f"postgresql://u:{SECRET}@h/n?password={SECRET}", "has an option 'password'; known are"),
        (f"postgresql://u:{SECRET}@h/n?sslmode=on", "has the sslmode 'on'; expected one of disable"),
        (f"postgresql://u:{SECRET}@h/n?connect_timeout=long", "'connect_timeout' that is no whole number"),
        (f"postgresql://u:{SECRET}@h/n?conn_health_checks=maybe", "'conn_health_checks' that is neither 1 nor 0"),
        (f"postgresql://u:{SECRET}@h/n?sslmode", "options that can't be read"),
        (f"postgresql://u:{SECRET}@h/n?sslmode=require&sslmode=disable", "names an option twice"),
        (f"postgresql://u:{SECRET}@h", "names no database"),
        (f"mysql://u:{SECRET}@h/n", "has the scheme 'mysql'; expected sqlite or postgresql"),
        ("sqlite://srv/x.sqlite3", "needs three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///x?mode=ro", "has options"),
    ],
)
def test_a_wrong_database_address_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, address: str, expected: str
) -> None:
    with pytest.raises(EnvironmentProblem) as told:
        database(monkeypatch, DATABASE_URL=address)

    assert expected in str(told.value)
    assert "DATABASE_URL" in str(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "redis://127.0.0.1:6379/5",
        "rediss://:p%40ss@cache.example:6380/0?ssl_cert_reqs=required",
        "unix:///run/redis/redis.sock?db=3",
        "redis://h?db=2&socket_timeout=5",
    ],
)
def test_addresses_that_the_client_of_redis_takes(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    from redis import from_url

    assert redis(monkeypatch, REDIS_URL=address) == address
    from_url(address).close()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"http://:{SECRET}@h", "has the scheme 'http'; expected redis, rediss or unix"),
        (f"redis://:{SECRET}@", "names no host"),
        (f"redis://:{SECRET}@h/tideline", "names the database 'tideline'; expected a number"),
        (f"redis://:{SECRET}@h/0?db=x", "'db' that is no number"),
        (f"redis://:{SECRET}@h/0?socket_timeout=1", "'socket_timeout' below 2 seconds"),
        (f"redis://:{SECRET}@h/0?socket_timeout=soon", "'socket_timeout' that is no number"),
        (f"redis://:{SECRET}@h/0?password=x", "has an option 'password'"),
        (f"redis://:{SECRET}/x@h/0", "can't be read as an address"),
        ("unix://redis.sock", "names no socket"),
    ],
)
def test_a_wrong_address_of_redis_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, address: str, expected: str
) -> None:
    with pytest.raises(EnvironmentProblem) as told:
        redis(monkeypatch, TIDELINE_REDIS=address)

    assert expected in str(told.value)
    assert "TIDELINE_REDIS" in str(told.value)
    assert SECRET not in str(told.value)

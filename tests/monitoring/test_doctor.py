"""Each fault makes its line red, and says what to do; what is sound is green."""

from __future__ import annotations

import io
import json
import socket
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from django.core import checks
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from config import environment
from monitoring.detection import native
from monitoring.fetching import browser
from monitoring.models import Process, Site, Vantage
from monitoring.services import brokers, doctor, heartbeat, storeprobe
from monitoring.services.doctor import Grade, Line, configuration, databases, machine, outside
from monitoring.services.heartbeat import Heart
from tests.factories import make_monitor

pytestmark = pytest.mark.django_db
OK, WARNING, PROBLEM = Grade.OK, Grade.WARNING, Grade.PROBLEM


def grades(lines: Iterator[Line]) -> set[Grade]:
    """All grades among the lines."""
    return {line.grade for line in lines}


def told(lines: Iterator[Line], grade: Grade) -> str:
    """What is said at this grade; each of these lines says what to do, too."""
    found = [line for line in lines if line.grade == grade]
    assert all(line.advice for line in found if line.grade != OK)
    return " | ".join(f"{line.found} -> {line.advice}" for line in found)


# -- settings ----------------------------------------------------------------------------


def test_sound_times() -> None:
    assert grades(configuration.times()) == {OK}


@pytest.mark.parametrize(
    ("timeout", "retry", "said"),
    [(300, 300, "handed out while it still runs"), (190, 300, "killed before it ends")],
)
def test_times_that_do_not_fit(settings: Any, timeout: int, retry: int, said: str) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "timeout": timeout, "retry": retry}

    assert said in told(configuration.times(), PROBLEM)


def test_times_of_a_class_of_workers_are_looked_at_too(settings: Any) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "ALT_CLUSTERS": {"tideline-browser": {"timeout": 400}}}

    assert "of tideline-browser is 400 s" in told(configuration.times(), PROBLEM)


@pytest.mark.parametrize(("lease", "said"), [(20, "taken for dead"), (2000, "waits as long")])
def test_leases_that_are_odd(settings: Any, lease: int, said: str) -> None:
    settings.LEASE_S = lease

    assert said in told(configuration.times(), WARNING)


def test_a_sound_deployment(settings: Any) -> None:
    assert grades(configuration.deployment()) == {OK}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("DEBUG", True, "DEBUG is on"), ("TEST_ALLOWED_ADDRESSES", ["127.0.0.1:80"], "opens the address guard")],
)
def test_conveniences_of_development(settings: Any, name: str, value: object, said: str) -> None:
    setattr(settings, name, value)

    assert said in told(configuration.deployment(), PROBLEM)


def test_a_public_address_without_production_and_https(settings: Any) -> None:
    settings.APP_ORIGIN = "http://watch.example.org"
    said = told(configuration.deployment(), WARNING)

    assert "TIDELINE_PRODUCTION is not set" in said
    assert "in the clear" in said


def test_djangos_checks_for_deployment_are_told_in_production(settings: Any) -> None:
    settings.PRODUCTION = True  # without https cookies and redirects are not as they should be

    assert "security.W" in told(configuration.deployment(), WARNING)


def test_an_error_of_djangos_checks_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "run_checks", lambda **_: [checks.Error("models clash", id="models.E1")])

    assert "models.E1: models clash" in told(configuration.deployment(), PROBLEM)


@pytest.mark.parametrize(("mode", "grade"), [(0o600, OK), (0o640, OK), (0o644, PROBLEM), (0o662, PROBLEM)])
def test_modes_of_secret_files(
    settings: Any, tmp_path: Path, mode: int, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr("config.environment.files_read", dict)  # not what other tests had read
    key = tmp_path / "secret-key"
    key.write_text("x" * 60)
    key.chmod(mode)

    assert grade in grades(configuration.secret_files())
    assert (grade == OK) == (PROBLEM not in grades(configuration.secret_files()))


def test_a_file_that_a_variable_names_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "_files", {})
    path = tmp_path / "smtp"
    path.write_text("canary")
    path.chmod(0o644)
    monkeypatch.setenv("TIDELINE_SMTP_PASSWORD_FILE", str(path))
    environment.text("TIDELINE_SMTP_PASSWORD")
    said = told(configuration.secret_files(), PROBLEM)

    assert "TIDELINE_SMTP_PASSWORD_FILE" in said
    assert "canary" not in said


def test_a_secrets_file_that_is_gone(settings: Any, tmp_path: Path) -> None:
    settings.SECRETS = environment.Secrets("TIDELINE_SECRET_", str(tmp_path / "gone"))

    assert "can't be read" in told(configuration.secret_files(), PROBLEM)


def test_a_short_signing_key(settings: Any) -> None:
    settings.SECRET_KEY = "short"

    assert "shorter than 50" in told(configuration.secret_files(), PROBLEM)


def test_secrets_that_are_referred_to(settings: Any, tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    file.write_text("LOGIN=canary-one\nPROXY=canary-two\nSTEP=canary-three\n")
    settings.SECRETS = environment.Secrets("TIDELINE_SECRET_", str(file))
    Site.objects.create(name="A", host="a.example", cookies="sid=secret:LOGIN")
    Vantage.objects.create(name="B", proxy_url="http://u:{secret:PROXY}@proxy.example:3128")
    make_monitor(renderer="browser", steps=[{"do": "type", "text": "secret:STEP"}])
    assert grades(configuration.referred_secrets()) == {OK}
    file.write_text("LOGIN=canary-one\n")
    said = told(configuration.referred_secrets(), PROBLEM)

    assert "vantage B refers to secret:PROXY" in said
    assert "secret:STEP" in said
    assert "LOGIN" not in said
    assert "canary" not in said


# -- database and processes --------------------------------------------------------------


def test_the_database_of_these_tests_is_looked_at_to_the_end() -> None:
    """How a server of somebody else's is set up is not ours to say here; a sound one is tried below."""
    found = list(databases.database())

    assert [line.grade for line in found[:2]] == [OK, OK]  # it answers, and all migrations are applied
    assert len(found) >= 6
    if connection.vendor == "sqlite":
        assert PROBLEM not in grades(iter(found))


def test_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def ensure_connection(self) -> None:
            raise OperationalError("connection refused")

    monkeypatch.setattr(databases, "connection", Away())

    assert "connection refused" in told(databases.database(), PROBLEM)


def test_a_missing_migration() -> None:
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="monitoring").latest("pk").delete()

    assert "Run manage.py migrate." in told(databases.database(), PROBLEM)


@pytest.mark.parametrize(("pragma", "value"), [("journal_mode", "delete"), ("synchronous", 1), ("foreign_keys", 0)])
def test_pragmas_that_lose_things(settings: Any, monkeypatch: pytest.MonkeyPatch, pragma: str, value: object) -> None:
    sound: dict[str, object] = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    monkeypatch.setattr(databases, "_one", lambda sql: {**sound, pragma: value}[sql.removeprefix("PRAGMA ")])
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", "/data/x.sqlite3")

    assert f"{pragma} is {value}" in told(databases._sqlite(), PROBLEM)


def test_transactions_that_take_the_lock_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"transaction_mode": "DEFERRED"})
    monkeypatch.setattr(databases, "_one", lambda sql: 1)

    assert "database is locked" in told(databases._sqlite(), PROBLEM)


SOUND: dict[str, object] = {
    "SHOW server_version_num": "150004", "SHOW fsync": "on", "SHOW full_page_writes": "on",
    "SHOW synchronous_commit": "on", "SHOW server_encoding": "UTF8", "SHOW TimeZone": "UTC",
    "SHOW default_transaction_isolation": "read committed", "SHOW max_connections": "100",
    "SHOW superuser_reserved_connections": "3", "SHOW autovacuum": "on", "SHOW track_counts": "on",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "grade"),
    [
        ("SHOW server_version_num", "150004", OK),
        ("SHOW server_version_num", "130009", PROBLEM),
        ("SHOW fsync", "off", PROBLEM),
        ("SHOW full_page_writes", "off", PROBLEM),
        ("SHOW synchronous_commit", "off", PROBLEM),
        ("SHOW server_encoding", "LATIN1", PROBLEM),
        ("SHOW TimeZone", "Europe/Berlin", WARNING),
        ("SHOW default_transaction_isolation", "serializable", PROBLEM),
        ("SHOW max_connections", "5", PROBLEM),
        ("SHOW autovacuum", "off", PROBLEM),
        ("age", 7200.0, WARNING),
    ],
)
def test_settings_of_postgresql(monkeypatch: pytest.MonkeyPatch, name: str, value: object, grade: Grade) -> None:
    answers = {**SOUND, name: value}

    def one(sql: str) -> object:
        if sql in answers:
            return answers[sql]
        return answers.get("age", 1.0) if "xact_start" in sql else 4

    monkeypatch.setattr(databases, "_one", one)
    if answers["SHOW autovacuum"] == "on":
        monkeypatch.setattr(databases, "_statistics", lambda: iter(()))

    found = grades(databases._postgresql())
    assert grade in found
    assert (grade == OK) == (found == {OK})


@pytest.mark.parametrize(
    ("most", "used", "processes", "grade"),
    [(97, 20, 4, OK), (97, 20, 11, WARNING), (97, 20, 13, PROBLEM), (97, 98, 1, PROBLEM)],
)
def test_room_for_connections(most: int, used: int, processes: int, grade: Grade) -> None:
    assert databases.connections_line(most=most, used=used, processes=processes).grade == grade


@pytest.mark.parametrize(
    ("live", "dead", "days", "said"),
    [
        (1_000_000, 10, 1, None),
        (100, 10, None, None),
        (1_000_000, 10, None, "never"),
        (1_000_000, 10, 9, "9 days ago"),
        (20_000, 30_000, 1, "more dead rows"),
    ],
)
def test_upkeep_of_large_tables(live: int, dead: int, days: int | None, said: str | None) -> None:
    now = timezone.now()
    at = None if days is None else now - timedelta(days=days)
    line = databases.table_line("monitoring_check", live, dead, at, now=now)

    assert (line is None) if said is None else (line is not None and said in line.found and line.grade == WARNING)


def test_a_wrong_clock() -> None:
    Heart(Process.Kind.WORKER).beat()
    assert grades(databases.clocks()) == {OK}
    Process.objects.update(clock_off_s=44)

    assert "NTP" in told(databases.clocks(), PROBLEM)


def test_processes_that_are_missing() -> None:
    assert "Start manage.py tick." in told(databases.processes(), PROBLEM)
    Heart(Process.Kind.TICKER).beat()
    for queue in heartbeat.expected():
        Heart(Process.Kind.WORKER, queue=queue).beat()

    assert grades(databases.processes()) == {OK}


def test_processes_of_another_release() -> None:
    Heart(Process.Kind.WORKER).beat()
    Process.objects.update(version="0.0.9")

    assert "another release: 0.0.9" in told(databases.processes(), WARNING)


# -- the machine -------------------------------------------------------------------------


@pytest.mark.parametrize(("have", "grade"), [(8000, OK), (0, OK), (1000, WARNING)])
def test_memory(have: int, grade: Grade) -> None:
    assert machine.memory_line(have_mb=have, want_mb=2100).grade == grade


def test_a_containers_share_counts(tmp_path: Path) -> None:
    (tmp_path / "max").write_text(f"{512 << 20}\n")

    assert machine.memory_mb(tmp_path / "max") == 512
    (tmp_path / "max").write_text("max\n")
    assert machine.memory_mb(tmp_path / "max") == machine.memory_mb(tmp_path / "none") > 512


def test_workers_without_a_limit(settings: Any) -> None:
    settings.WORKER_MEMORY_MB = 0

    assert "no limit" in told(machine.memory(), WARNING)


@pytest.mark.parametrize(("allowed", "grade"), [(1024, OK), (250, PROBLEM)])
def test_open_files(allowed: int, grade: Grade) -> None:
    assert machine.files_line(allowed).grade == grade


def test_names_that_are_known_and_one_that_is_not(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(host: str, port: object) -> None:
        if host == "gone.example":
            raise OSError(-2, "Name or service not known")

    settings.APP_ORIGIN = "https://gone.example"
    monkeypatch.setattr("socket.getaddrinfo", look)

    assert "gone.example: Name or service not known" in told(machine.names(), WARNING)
    assert OK in grades(machine.names())


def test_a_resolver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    never = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda host, port: never.wait(30))

    assert machine.why_unknown("x.example", timeout_s=0.05) == "no answer within 0.05 s"
    never.set()


@pytest.mark.parametrize("compiled", [True, False])
def test_compiled_reading(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    monkeypatch.setattr(native, "folder", lambda: Path("x") if compiled else None)

    assert (WARNING in grades(machine.python())) is not compiled


def test_time_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grades(machine.zones()) == {OK}
    monkeypatch.setattr(machine, "ZONES", ("Europe/Atlantis",))

    assert "Install tzdata." in told(machine.zones(), PROBLEM)


def test_the_store(settings: Any, tmp_path: Path) -> None:
    assert PROBLEM not in grades(machine.store())
    settings.PAYLOAD_DIR = tmp_path / "file"
    settings.PAYLOAD_DIR.write_text("in the way")

    assert str(settings.PAYLOAD_DIR) in told(machine.store(), PROBLEM)


@pytest.mark.parametrize(("free", "grade"), [(3 << 30, OK), (1 << 30, WARNING), (1 << 20, PROBLEM)])
def test_room_on_the_disk(free: int, grade: Grade) -> None:
    assert machine.room_line(storeprobe.Room(Path("/data"), free, 9 << 30)).grade == grade


def test_the_database_as_broker() -> None:
    assert grades(machine.broker()) == {OK}


def test_redis_that_is_away(settings: Any) -> None:
    settings.REDIS_URL = "redis://:canary@127.0.0.1:1/0"
    said = told(machine.broker(), PROBLEM)

    assert "ConnectionError" in said
    assert "canary" not in said


@pytest.mark.parametrize(("policy", "grade"), [("noeviction", OK), ("allkeys-lru", WARNING)])
def test_redis_that_may_throw_keys_away(
    settings: Any, monkeypatch: pytest.MonkeyPatch, policy: str, grade: Grade
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:6379/4"
    monkeypatch.setattr(brokers, "round_trip", lambda: None)
    monkeypatch.setattr(brokers, "facts", lambda: brokers.Facts("7.0", policy))

    assert (WARNING in grades(machine.broker())) == (grade == WARNING)


@pytest.mark.services
def test_there_and_back_through_redis(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:6379/4"

    assert "there and back" in told(machine.broker(), OK)


# -- mail --------------------------------------------------------------------------------


class Desk:
    """A mail server's handler that keeps what it gets."""

    def __init__(self) -> None:
        self.got: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.got.append(envelope)
        return "250 taken"


def knows(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    """Only one password is right."""
    return AuthResult(success=data.password == b"right", handled=False)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[Controller]:
    """A mail server with STARTTLS and accounts."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    desk = Controller(Desk(), "127.0.0.1", free_port(), tls_context=context, require_starttls=True, authenticator=knows, auth_required=True)  # fmt: skip
    desk.start()
    yield desk
    desk.stop()


@pytest.fixture
def post(settings: Any, server: Controller) -> dict[str, Any]:
    """Settings of mail that name the server."""
    options = {"host": "127.0.0.1", "port": server.port, "username": "tideline", "password": "right", "use_tls": True, "timeout": 5}  # fmt: skip
    settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}}
    return options


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, authority: trustme.CA) -> None:
    """The server's certificate is trusted."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    monkeypatch.setattr(ssl, "create_default_context", lambda *args, **how: context)


def test_a_mail_server_that_takes_the_account(post: dict[str, Any], server: Controller, trusted: None) -> None:
    assert "encrypted, and takes the account" in told(outside.mail(), OK)
    assert server.handler.got == []


def test_a_mail_is_sent_only_when_asked(
    post: dict[str, Any], server: Controller, trusted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "_sent", lambda to: iter([Line("mail", OK, to)]))

    assert "ines@example.test" in told(outside.mail("ines@example.test"), OK)
    assert "ines" not in told(outside.mail(), OK)


def test_a_wrong_password(post: dict[str, Any], trusted: None) -> None:
    post["password"] = "canary-wrong"
    said = told(outside.mail(), PROBLEM)

    assert "refused the account 'tideline'" in said
    assert "canary" not in said


def test_a_certificate_that_nobody_trusts(post: dict[str, Any]) -> None:
    assert "not trusted" in told(outside.mail(), PROBLEM)


def test_a_server_without_starttls(settings: Any) -> None:
    desk = Controller(Desk(), "127.0.0.1", free_port())
    desk.start()
    options = {"host": "127.0.0.1", "port": desk.port, "username": "", "password": "", "use_tls": True}  # fmt: skip
    settings.MAILERS = {"default": {"BACKEND": "x", "OPTIONS": options}}
    try:
        assert "STARTTLS" in told(outside.mail(), PROBLEM)
    finally:
        desk.stop()


def test_a_mail_server_that_is_away(settings: Any) -> None:
    settings.MAILERS = {"default": {"BACKEND": "x", "OPTIONS": {"host": "127.0.0.1", "port": 1, "username": "", "password": "", "use_tls": True}}}  # fmt: skip

    assert "ConnectionRefusedError" in told(outside.mail(), PROBLEM)


def test_no_mail_server(settings: Any) -> None:
    settings.MAILERS = {"default": {"BACKEND": "x", "OPTIONS": {"file_path": "x"}}}

    assert "mails become files" in told(outside.mail(), WARNING)


def test_a_test_mail_that_is_taken(settings: Any) -> None:
    assert "was taken" in told(outside._sent("ines@example.test"), OK)


def test_a_test_mail_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def send_messages(self, messages: list[Any]) -> int:
            raise OSError("552 no room")

    monkeypatch.setattr(outside, "mailers", {"default": Refusing()})

    assert "552 no room" in told(outside._sent("ines@example.test"), PROBLEM)


# -- browser -----------------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "grade"), [(1, PROBLEM), (0, WARNING)])
def test_no_browser(settings: Any, workers: int, grade: Grade) -> None:
    settings.CHROMIUM, settings.BROWSER_WORKERS = "/nowhere/chromium", workers

    assert "/nowhere/chromium is no file" in told(outside.chromium(), grade)


def test_a_browser_that_does_not_start(settings: Any, tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho Chromium 0; exit 1\n")
    broken.chmod(0o755)
    settings.CHROMIUM = str(broken)

    assert "was not rendered" in told(outside.chromium(), PROBLEM)


def test_what_the_renderer_remarks_is_told() -> None:
    with outside._remarks() as heard:
        browser.logger.warning(browser.RAN, "without its sandbox")
        browser.logger.warning("something else %s", "x")

    assert heard == ["without its sandbox"]


@pytest.mark.browser
def test_a_browser_that_works() -> None:
    found = list(outside.chromium())

    assert "a page of our own was rendered" in told(iter(found), OK)
    assert PROBLEM not in grades(iter(found))


# -- the command -------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    out = io.StringIO()
    try:
        call_command("doctor", *arguments, stdout=out, no_color=True)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_sound_topics_end_well() -> None:
    code, said = run("--only", "times", "--only", "time zones")

    assert code == 0
    assert "0 warnings, 0 problems" in said


def test_a_problem_ends_with_one_and_says_what_to_do(settings: Any) -> None:
    settings.DEBUG = True
    code, said = run("--only", "deployment")

    assert code == 1
    assert "problem  deployment  DEBUG is on" in said
    assert "→ Unset TIDELINE_DEBUG." in said


def test_json_has_every_line(settings: Any) -> None:
    settings.DEBUG = True
    code, said = run("--only", "deployment", "--json")

    assert code == 1
    assert {"topic": "deployment", "grade": "problem", "found": "DEBUG is on: errors show settings and source", "advice": "Unset TIDELINE_DEBUG."} in json.loads(said)["lines"]  # fmt: skip


def test_topics_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def examine(topics: list[str], *, send_to: str) -> list[Line]:
        asked.extend(topics)
        return []

    monkeypatch.setattr("monitoring.management.commands.doctor.examine", examine)
    run("--skip", "browser", "--skip", "mail")

    assert set(asked) == set(doctor.TOPICS) - {"browser", "mail"}


def test_a_look_that_breaks_is_a_problem_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Line]:
        raise ZeroDivisionError("of ours")

    monkeypatch.setitem(doctor.TOPICS, "files", (broken,))
    found = list(doctor.examine(["files", "time zones"]))

    assert [line.grade for line in found] == [PROBLEM, OK]
    assert "ZeroDivisionError: of ours" in found[0].found


def test_each_topic_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text()
    section = page.partition("## The doctor")[2].partition("\n## ")[0]

    assert all(f"`{name}`" in section for name in doctor.TOPICS)

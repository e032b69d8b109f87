"""Rows by the million, made inside the database by INSERT .. SELECT, with the distributions of a real fleet.

Every column that is not named here gets its field's default, so that a new column needs nothing here. Checks go in
in the order of their time, as workers write them: that is what fills the pages of an index as they are filled in life.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection, models

from monitoring.models import Change, Check, FieldChange, Monitor, PageType, Payload, Site, Snapshot, Team, Vantage
from review.models import Verdict

BUSY = 7  # the monitor with many checks
TEAMS, TYPES = 6, 4
SPAN = timedelta(days=14)  # over which the checks lie
CHUNK = 250_000
PENDING = 0.02
DIFF = (
    '{"version": 1, "lang": "en", "direction": "ltr", "unit": "words", "added": 1, "removed": 1, "total": 9, "places": 1, '
    '"moved": 0, "simplified": false, "counts": {"reworded": 1}, "ignored": {}, "blocks": [{"op": "reworded", "tag": "p", '
    '"heading": 0, "surface": "visible", "region": "main", "old": 1, "new": 1, "place": 1, "segments": [["=", "We "], '
    '["-", "will not"], ["+", "may"], ["=", " share it."]], "sentences": [0, 0], "edits": 1}]}'
)
SAY = '[["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]]'
NOISE = (
    '[{"code": "score", "text": "Score 0.21, below the cut 0.50.", "data": {"score": 0.21, "cut": 0.5}}, {"code": "distance", '
    '"text": "Distance 2 of threshold 3.", "data": {"distance": 2, "threshold": 3}}, {"code": "clock", "text": "A time.", "data": {}}]'
)


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows of each kind."""

    monitors: int = 1_000_000
    checks: int = 10_000_000
    changes: int = 1_000_000
    sites: int = 10_000
    busy: int = 50_000

    @classmethod
    def of(cls, monitors: int) -> Size:
        """A fleet of so many monitors, all else in proportion."""
        share = monitors / 1_000_000
        return cls(
            monitors,
            monitors * 10,
            monitors,
            max(int(10_000 * share), 20),
            max(int(50_000 * share), 500),
        )


class Sql:
    """The few things that the two databases spell differently."""

    def __init__(self, now: datetime) -> None:
        self.now = now.timestamp()
        self.postgres = connection.vendor == "postgresql"

    def numbers(self, first: int, last: int) -> str:
        """A FROM item `s` with the column n."""
        if self.postgres:
            return f"generate_series({first}::bigint, {last}::bigint) AS s(n)"
        return f"(WITH RECURSIVE r(n) AS (VALUES({first}) UNION ALL SELECT n + 1 FROM r WHERE n < {last}) SELECT n FROM r) AS s"

    def moment(self, seconds: str) -> str:
        """A point of time, from seconds since 1970."""
        if self.postgres:
            return f"to_timestamp({seconds})"
        return f"strftime('%Y-%m-%d %H:%M:%f', {seconds}, 'unixepoch') || '417'"

    def ago(self, days: str) -> str:
        """A point of time so many days ago."""
        return self.moment(f"({self.now} - 86400.0 * ({days}))")

    def random(self, salt: int, of: str = "n") -> str:
        """A number in [0, 1) that depends on a column: no two salts agree, the same for every run."""
        prime = (7919, 104729, 1299709, 15485863, 32452843, 49979687, 67867967, 86028121)[salt % 8]
        return f"((({of} * {prime} + ({of} / 97) * 31337 + {salt * 977}) % 100003) / 100003.0)"

    def pick(self, of: str, *choices: tuple[float, str]) -> str:
        """One of some literals, each up to a share that `of` is below."""
        whens = " ".join(f"WHEN {of} < {share} THEN {value}" for share, value in choices[:-1])
        return f"CASE {whens} ELSE {choices[-1][1]} END"

    def text(self, *parts: str) -> str:
        """Texts and numbers joined."""
        return " || ".join(part if part.startswith("'") else f"CAST({part} AS text)" for part in parts)


def quoted(text: str) -> str:
    """A literal."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def _default(field: Any) -> str:  # Any: fields are generic in what they take and give
    if field.null and not field.has_default():
        return "NULL"
    if isinstance(field, models.DateTimeField):
        return "CURRENT_TIMESTAMP"
    value = field.get_db_prep_save(field.get_default(), connection)
    if isinstance(field, models.BinaryField):
        return "''::bytea" if connection.vendor == "postgresql" else "x''"
    if isinstance(field, models.JSONField):
        text = "[]" if field.get_default() == [] else "{}"
        return f"'{text}'::jsonb" if connection.vendor == "postgresql" else f"'{text}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else str(value)


def insert(model: type[models.Model], given: Mapping[str, str], source: str) -> None:
    """INSERT .. SELECT of the expressions by column name, and of the defaults of all other columns."""
    fields: list[Any] = [f for f in model._meta.local_concrete_fields if f.attname in given or not f.primary_key]
    unknown = set(given) - {f.attname for f in fields}
    assert not unknown, f"{model.__name__} has no {unknown}"
    names = ", ".join(connection.ops.quote_name(f.column) for f in fields)
    values = []
    for field in fields:
        value = given.get(field.attname) or _default(field)
        if connection.vendor == "postgresql" and isinstance(field, models.JSONField) and "::" not in value:
            value = f"({value})::jsonb"
        values.append(value)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {model._meta.db_table} ({names}) SELECT {', '.join(values)} FROM {source}")


def run(sql: str) -> None:
    """One statement without parameters."""
    with connection.cursor() as cursor:
        cursor.execute(sql)


def fleet(size: Size, now: datetime, say: Callable[[str], None] = print) -> None:
    """Everything but the checks and what refers to them: people, teams, types, sites, monitors."""
    sql = Sql(now)
    teams = [Team.objects.get_or_create(name=f"Team {n}")[0] for n in range(1, TEAMS + 1)]
    types = [PageType.objects.get_or_create(slug=f"type-{n}", defaults={"name": f"Type {n}"})[0] for n in range(TYPES)]
    vantage = Vantage.objects.get_or_create(name="default")[0]
    Team.objects.filter(pk__in=[t.pk for t in teams[::2]]).update(budget=size.monitors // TEAMS)
    people(teams)
    first_site = (Site.objects.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1
    insert(
        Site,
        {
            "id": f"n + {first_site - 1}",
            "name": sql.text("'Site '", "n"),
            "host": sql.text("'site'", "n", "'.example'"),
        },
        sql.numbers(1, size.sites),
    )
    for first in range(1, size.monitors + 1, CHUNK):
        last = min(first + CHUNK - 1, size.monitors)
        _monitors(sql, size, first, last, teams, types, vantage, first_site)
        say(f"monitors {last:,}")
    _sequences(Site, Monitor)


def people(teams: list[Team]) -> None:
    """A superuser, a lead of all teams but one, and an analyst of one."""
    boss, made = User.objects.get_or_create(
        username="boss", defaults={"is_superuser": True, "is_staff": True, "email": "boss@example.test"}
    )
    for name, role, own in (("lead", "lead", teams[:-1]), ("ana", "analyst", teams[:1])):
        person, made = User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.test"})
        if made:
            person.groups.add(Group.objects.get_or_create(name=role)[0])
        for team in own:
            team.members.add(person)
    teams[0].members.add(boss)


def one_vantage() -> None:
    """What checks can't do without; whoever only weighs checks needs no monitors."""
    Vantage.objects.get_or_create(name="default")


def visits_of(size: Size, n: str) -> str:
    """How many visits the monitor of that number has had: few many, many few."""
    share = size.checks / size.monitors / 10
    hot, warm, cold = (max(1, round(x * share)) for x in (200, 30, 5))
    return f"(CASE WHEN {n} = {BUSY} THEN {size.busy} WHEN {n} % 100 = 0 THEN {hot} WHEN {n} % 100 <= 10 THEN {warm} ELSE {cold} END)"


def _monitors(
    sql: Sql, size: Size, first: int, last: int, teams: list[Team], types: list[PageType], vantage: Vantage, site: int
) -> None:
    done = visits_of(size, "n")
    every = f"({SPAN.total_seconds()} / {done})"
    bad = sql.random(5)
    insert(
        Monitor,
        {
            "id": "n",
            "name": sql.text(sql.pick(sql.random(1), (0.4, "'Terms '"), (0.7, "'Privacy notice '"), (1, "'Prices '")), "n"),
            "url": sql.text("'https://site'", f"(n % {size.sites}) + 1", "'.example/legal/page-'", "n", "'.html'"),
            "site_id": f"{site} + n % {size.sites}",
            "team_id": f"{teams[0].pk} + (n / 7) % {TEAMS}",
            "page_type_id": f"{types[0].pk} + (n / 11) % {TYPES}",
            "vantage_id": str(vantage.pk),
            "created_at": sql.ago("60"),
            "interval_s": f"CASE WHEN n % 5 = 0 THEN 86400 ELSE {'NULL::integer' if sql.postgres else 'NULL'} END",
            "check_no": done,
            "last_checked_at": sql.moment(f"{sql.now} - {every} * {sql.random(2)}"),
            "last_ok_at": sql.moment(f"{sql.now} - {every} * {sql.random(2)}"),
            "last_full_at": sql.moment(f"{sql.now} - {every} * {sql.random(2)}"),
            "next_check_at": sql.moment(f"{sql.now} + {every} * (1 - {sql.random(2)}) + 5"),
            "deadline_at": sql.moment(f"{sql.now} + 604800 - {every} * {sql.random(2)}"),
            "planned_s": f"CAST({every} AS integer)",
            "plan_reason": "'expected-change'",
            "plan_price": "1.0",
            "rate_a": f"0.5 + 3 * {sql.random(3)}",
            "rate_b": f"5 + 60 * {sql.random(4)}",
            "state": sql.pick(bad, (0.008, "'blocked'"), (0.016, "'error'"), (0.018, "'gone'"), (0.02, "'unread'"), (1, "'ok'")),
            "fail_no": sql.pick(bad, (0.016, "3"), (1, "0")),
            "state_since": sql.ago("9"),
            "baseline_raw_sha256": sql.text("'5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace'", "10000 + n % 89999"),
            "baseline_text_hash": sql.text("'9b74c9897bac770ffc029102a20'", "10000 + n % 89999"),
            "baseline_fingerprint": "'a1b2c3d4e5f60718'",
            "etag": sql.text("'\"5e2-'", "n", "'\"'"),
            "region_path": "'html>body>main'",
        },
        sql.numbers(first, last),
    )  # fmt: skip


def _sequences(*made: type[models.Model]) -> None:
    """Rows with given ids move no sequence on PostgreSQL."""
    from django.core.management.color import no_style

    for statement in connection.ops.sequence_reset_sql(no_style(), list(made)):
        run(statement)


# -- checks ------------------------------------------------------------------------------


def visits(size: Size, now: datetime) -> int:
    """A table of all visits (m, no, at), in the order of their time; how many."""
    sql = Sql(now)
    done = visits_of(size, "n")
    table = "UNLOGGED TABLE" if sql.postgres else "TABLE"
    run("DROP TABLE IF EXISTS scale_visit")
    most = max(size.busy, round(200 * size.checks / size.monitors / 10))
    counts = f"(SELECT n AS m, {done} AS c FROM {sql.numbers(1, size.monitors)}) AS k"
    serial = (
        sql.numbers(1, most)
        if sql.postgres
        else "(WITH RECURSIVE r(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM r WHERE n < k.c) SELECT n FROM r) AS s"
    )
    if sql.postgres:
        serial = "LATERAL generate_series(1, k.c) AS s(n)"
        source = f"{counts} CROSS JOIN {serial}"
    else:
        run("DROP TABLE IF EXISTS scale_n")
        run(f"CREATE TABLE scale_n AS SELECT n FROM {sql.numbers(1, most)}")
        run("CREATE UNIQUE INDEX scale_n_n ON scale_n(n)")
        source = f"{counts} JOIN scale_n AS s ON s.n <= k.c"
    at = f"{sql.now} - {SPAN.total_seconds()} * (k.c - s.n + {sql.random(2, 'k.m')}) / k.c"
    run(f"CREATE {table} scale_visit AS SELECT k.m AS m, s.n AS no, {at} AS at FROM {source} ORDER BY 3")
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM scale_visit")
        return int(cursor.fetchone()[0])


def checks(now: datetime, *, only_unchanged: bool, chunk: int = 1_000_000, say: Callable[[str], None] = print) -> None:
    """The visits as check rows. With `only_unchanged` all of them are such as found nothing."""
    sql = Sql(now)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT MIN({_row(sql)}), MAX({_row(sql)}) FROM scale_visit"
            if not sql.postgres
            else "SELECT 1, COUNT(*) FROM scale_visit"
        )
        first, last = cursor.fetchone()
    where = "" if only_unchanged else "all"
    vantage = Vantage.objects.order_by("pk").values_list("pk", flat=True)[0]
    if sql.postgres:  # no row numbers there: it is read once, in the order in which it was written
        insert(
            Check,
            _columns(sql, vantage, found=bool(where)),
            "(SELECT m, no, at, row_number() OVER () AS n FROM scale_visit) AS v",
        )
    else:
        for start in range(first, last + 1, chunk):
            insert(
                Check, _columns(sql, vantage, found=bool(where)),
                f"(SELECT m, no, at, rowid AS n FROM scale_visit WHERE rowid BETWEEN {start} AND {start + chunk - 1} ORDER BY rowid) AS v",
            )  # fmt: skip
            say(f"checks {min(start + chunk - 1, last):,}")


def _row(sql: Sql) -> str:
    return "rowid"


def _columns(sql: Sql, vantage: int, *, found: bool) -> dict[str, str]:
    lot = sql.random(6) if found else "1"
    price = sql.random(7, "m")
    null = "NULL::double precision" if sql.postgres else "NULL"
    null_id = "NULL::bigint" if sql.postgres else "NULL"
    answer = sql.pick(sql.random(3), (0.3, "'not-modified'"), (1, "'same-bytes'"))
    return {
        "monitor_id": "m",
        "check_no": "no",
        "started_at": sql.moment("at"),
        "duration_ms": f"CAST(90 + 900 * {sql.random(1)} AS integer)",
        "outcome": sql.pick(lot, (0.008, "'content'"), (0.01, "'field'"), (0.015, "'blocked'"), (0.02, "'error'"), (0.07, "'noise'"), (1, "'none'")),
        "reason": sql.pick(lot, (0.01, "''"), (0.015, "'human-check'"), (0.02, "'timeout'"), (0.06, "'markup-only'"), (0.07, "'clock'"), (1, f"({answer})")),
        "status": "200",
        "not_modified": f"(({answer}) = 'not-modified' AND ({lot}) >= 0.07)",
        "size_bytes": f"CAST(20000 + 300000 * {sql.random(2)} AS integer)",
        "score": sql.pick(lot, (0.008, "0.81"), (0.06, null), (0.07, f"0.1 + 0.3 * {sql.random(4)}"), (1, null)),
        "cut": sql.pick(lot, (0.008, "0.5"), (0.06, null), (0.07, "0.5"), (1, null)),
        "reasons": sql.pick(lot, (0.01, quoted(NOISE)), (0.06, "'[]'"), (0.07, quoted(NOISE)), (1, "'[]'")),
        "vantage_id": sql.pick(lot, (0.02, str(vantage)), (0.06, null_id), (0.07, str(vantage)), (1, null_id)),
        "detector_version": sql.pick(lot, (0.02, "'2.3'"), (0.06, "''"), (0.07, "'2.3'"), (1, "''")),
        "next_check_at": sql.moment(f"at + 3600 + 400000 * {sql.random(5)}"),
        "plan_reason": sql.pick(sql.random(0), (0.15, "'max-age'"), (1, "''")),
        "rate_a": f"0.5 + {sql.random(3)}",
        "rate_b": f"5 + {sql.random(4)}",
        "plan_price": f"CASE WHEN ({price}) < 0.5 THEN ({price}) ELSE {null} END",
    }  # fmt: skip


# -- what was found ----------------------------------------------------------------------


def evidence(size: Size, now: datetime, say: Callable[[str], None] = print) -> None:
    """Payloads, snapshots, changes with verdicts, field changes. Changes hang on checks that found something."""
    sql = Sql(now)
    with connection.cursor() as cursor:
        cursor.execute("SELECT MIN(id), COUNT(*) FROM monitoring_check")
        first_check, checks_made = map(int, cursor.fetchone())
        cursor.execute("SELECT MIN(id) FROM auth_user")
        person = int(cursor.fetchone()[0])
    insert(
        Payload,
        {"id": "n", "sha256": sql.text("'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b'", "10000000 + n"), "size_bytes": "90000", "stored_bytes": "9000"},
        sql.numbers(1, max(1, size.changes // 5)),
    )  # fmt: skip
    shots = size.changes
    for first in range(1, 2 * shots + 1, CHUNK):
        last = min(first + CHUNK - 1, 2 * shots)
        insert(
            Snapshot,
            {
                "id": "n",
                "monitor_id": f"1 + n % {size.monitors}",
                "role": "CASE WHEN n % 2 = 0 THEN 'baseline' ELSE 'change' END",
                "payload_id": f"1 + n % {max(1, size.changes // 5)}",
                "taken_at": sql.ago(f"200 * {sql.random(2)}"),
                "url": sql.text("'https://site.example/legal/page-'", f"1 + n % {size.monitors}"),
                "final_url": sql.text("'https://site.example/legal/page-'", f"1 + n % {size.monitors}"),
                "status": "200", "title": sql.text("'Privacy notice '", "n"), "detector_version": "'2.3'", "product_version": "'0.1'",
            },
            sql.numbers(first, last),
        )  # fmt: skip
    say(f"snapshots {2 * shots:,}")
    _changes(sql, size, first_check, checks_made, say)
    _verdicts(sql, size, person, say)
    _fields(sql, size, first_check, checks_made, say)
    run(
        f"UPDATE monitoring_monitor SET baseline_id = id * 2 WHERE id <= {min(size.monitors, size.changes)} AND state <> 'unread'"
    )
    _sequences(Payload, Snapshot, Change, Verdict, FieldChange, Check)


def _changes(sql: Sql, size: Size, first_check: int, checks_made: int, say: Callable[[str], None]) -> None:
    pending = f"(n % {round(1 / PENDING)} = 0)"
    for first in range(1, size.changes + 1, CHUNK):
        last = min(first + CHUNK - 1, size.changes)
        insert(
            Change,
            {
                "id": "n",
                "monitor_id": f"1 + n % {size.monitors}",
                "check_row_id": f"{first_check} + (n * 9) % {checks_made}",
                "prior_id": "n * 2",
                "new_id": "n * 2 - 1",
                "kind": sql.pick(sql.random(3), (0.2, "'field'"), (1, "'content'")),
                "state": f"CASE WHEN {pending} THEN CASE WHEN {sql.random(4)} < 0.05 THEN 'snoozed' ELSE 'open' END WHEN {sql.random(1)} < 0.6 THEN 'approved' ELSE 'dismissed' END",
                "opened_at": sql.ago(f"CASE WHEN {pending} THEN 5 * {sql.random(2)} ELSE 180 * {sql.random(2)} END"),
                "updated_at": sql.ago(f"CASE WHEN {pending} THEN 4 * {sql.random(2)} ELSE 179 * {sql.random(2)} END"),
                "priority": sql.pick(sql.random(5), (0.05, "3"), (0.2, "2"), (0.9, "1"), (1, "0")),
                "score": f"0.5 + 0.5 * {sql.random(6)}", "cut": "0.5", "distance": "5", "threshold": "3",
                "reasons": quoted(NOISE), "diff": quoted(DIFF), "say": quoted(SAY), "diff_hash": sql.text("'0000000000000000000000000000000000000000000000000000000'", "100000000 + n"),
                "added": "1", "removed": "1", "places": "1",
                "search_text": sql.text("'privacy notice '", f"1 + n % {size.monitors}", "' example legal page\nwe will not may share it with partner '", "n % 5000"),
            },
            sql.numbers(first, last),
        )  # fmt: skip
        say(f"changes {last:,}")


def _verdicts(sql: Sql, size: Size, person: int, say: Callable[[str], None]) -> None:
    insert(
        Verdict,
        {
            "change_id": "v.id", "actor_id": str(person),
            "action": "CASE WHEN v.state = 'approved' THEN 'approve' ELSE 'dismiss' END",
            "version_seen": "1", "score": "v.score", "distance": "v.distance", "idempotency_key": sql.text("'k'", "v.id"),
            "at": "v.updated_at",
        },
        "(SELECT id, state, score, distance, updated_at FROM monitoring_change WHERE state IN ('approved', 'dismissed') ORDER BY id) AS v",
    )  # fmt: skip
    say("verdicts")


def _fields(sql: Sql, size: Size, first_check: int, checks_made: int, say: Callable[[str], None]) -> None:
    insert(
        FieldChange,
        {
            "monitor_id": f"1 + (n * 13) % {size.monitors}",
            "check_row_id": f"{first_check} + (n * 9) % {checks_made}",
            "name": sql.pick(sql.random(2), (0.5, "'price'"), (0.8, "'title'"), (0.9, "'version'"), (1, "'effective-date'")),
            "type": "'text'", "state": "'changed'", "old": "'\"1\"'", "new": "'\"2\"'",
            "text": "'from 1 to 2'", "at": sql.ago(f"180 * {sql.random(3)}"),
        },
        sql.numbers(1, size.changes),
    )  # fmt: skip
    say("field changes")


def fast() -> None:
    """Settings of this connection for loading: nothing is synced, and keys that the load itself gives are not looked up."""
    if connection.vendor == "postgresql":
        run("SET synchronous_commit = off")
        run("SET session_replication_role = replica")
        run("SET work_mem = '256MB'")
        return
    for pragma in ("synchronous=OFF", "foreign_keys=OFF", "cache_size=-1000000", "temp_store=MEMORY"):
        run(f"PRAGMA {pragma}")


def empty_checks() -> None:
    """No checks, and their numbers from one again."""
    if connection.vendor == "postgresql":
        run("TRUNCATE monitoring_check RESTART IDENTITY CASCADE")
        return
    run("DELETE FROM monitoring_check")
    run("DELETE FROM sqlite_sequence WHERE name = 'monitoring_check'")


def analyze() -> None:
    """Statistics for the planner, as autovacuum or the daily sweep makes them."""
    if connection.vendor == "postgresql":
        run("VACUUM ANALYZE")
    else:
        run("ANALYZE")


def moment_now() -> datetime:
    """One moment for a whole load."""
    return datetime.now(UTC).replace(microsecond=0)

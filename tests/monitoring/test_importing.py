"""Monitors from a CSV file: what is read, what is refused and how it is said, what is added."""

from __future__ import annotations

import csv
import io
import itertools
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitoring.models import Monitor, SettingChange, Site, Team, Vantage
from monitoring.services import importing
from tests.factories import NOW, make_monitor, make_page_type, make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rows() -> None:
    make_team()
    make_page_type("terms", name="Terms and conditions")
    make_page_type("news", name="News home page")
    Vantage.objects.create(name="Germany")


def look(text: str) -> importing.Report:
    return importing.look(text, teams=Team.objects.all())


def problems(text: str) -> list[tuple[str, ...]]:
    return [line.problems for line in look(text).lines]


def add(text: str) -> importing.Report:
    return importing.add(text, teams=Team.objects.all(), actor=make_user(role="admin"), now=NOW)


def test_a_line_with_address_and_page_type_is_enough() -> None:
    report = look("url,page_type\nhttps://halden.example/terms,terms\n")

    assert [line.good for line in report.lines] == [True]
    assert report.lines[0].name == "halden.example/terms"


def test_looking_writes_nothing() -> None:
    look("url,page_type\nhttps://halden.example/terms,terms\n")

    assert not Monitor.objects.exists()
    assert not Site.objects.exists()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_in_the_first_line(delimiter: str) -> None:
    text = delimiter.join(["name", "url", "page_type"]) + "\n" + delimiter.join(["A", "https://a.example/", "terms"])

    assert look(text).lines[0].good


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings_of_common_spreadsheets_are_read(encoding: str) -> None:
    data = "name;url;page_type\nDatenschutzerklärung;https://a.example/;terms\n".encode(encoding)

    assert look(importing.decode(data)).lines[0].name == "Datenschutzerklärung"


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(importing.UnreadableFileError, match="neither UTF-8 nor"):
        importing.decode(b"url\n\x81\x8d\x90")


def test_a_file_over_a_megabyte_is_refused() -> None:
    with pytest.raises(importing.UnreadableFileError, match="at most 1,000,000"):
        importing.decode(b"u" * 1_000_001)


def test_a_file_of_too_many_lines_is_refused() -> None:
    text = "url,page_type\n" + "x,terms\n" * 5_001

    with pytest.raises(importing.UnreadableFileError, match="more than 5,000 lines"):
        look(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("name,page_type\na,terms\n", "no column “url”"),
        ("url,page_type,is_sample\nx,terms,1\n", "Unknown columns: is_sample"),
        ("url,lease_token\nx,1\n", "Unknown columns: lease_token"),
        ("url,url\nx,y\n", "stand there twice: url"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_as_a_whole(text: str, said: str) -> None:
    with pytest.raises(importing.UnreadableFileError, match=said):
        look(text)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("javascript:alert(1),terms", "scheme"),
        ("http://127.0.0.1/,terms", "no public address"),
        ("http://[::ffff:10.0.0.1]/,terms", "no public address"),
        ("https://user:secret@a.example/,terms", "user name or password"),
        (",terms", "url: is missing"),
        ("https://a.example/,novel", "“novel” is no page type"),
        ("https://a.example/,", "page_type: is missing"),
        ("https://a.example/,terms,extra", "3 cells"),
        ("https://a.example/\x00,terms", "U+0000"),
    ],
)
def test_what_is_wrong_with_a_line_is_named(cells: str, said: str) -> None:
    found = problems(f"url,page_type\n{cells}\n")

    assert said in " ".join(found[0])


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("interval", "soon", "no length of time"),
        ("interval", "1 s", "out of range"),
        ("min_interval", "9 d", "shorter than the minimum"),
        ("threshold", "65", "out of range"),
        ("threshold", "many", "no number"),
        ("cut", "nan", "out of range"),
        ("weight", "0", "out of range"),
        ("main_selector", "main[", "does not parse"),
        ("wait_selector", "#ready", "only a browser"),
        ("steps", "[{'do'", "is no JSON"),
        ("steps", '"[{""do"": ""consent""}]"', "only a browser does steps"),
        ("renderer", "curl", "expected http, browser or auto"),
        ("order_matters", "maybe", "neither yes nor no"),
        ("team", "Nobody", "no team you can use"),
        ("vantage", "Mars", "no vantage you can use"),
        ("name", "n" * 201, "at most 200"),
    ],
)
def test_what_is_wrong_with_a_cell_is_named(column: str, cell: str, said: str) -> None:
    found = problems(f"url,page_type,{column}\nhttps://a.example/,terms,{cell}\n")

    assert said in " ".join(found[0])


def test_problems_of_one_line_are_all_named() -> None:
    found = problems("url,page_type,cut\nfile:///etc/passwd,novel,2\n")

    assert len(found[0]) == 3


def test_another_line_is_not_touched_by_a_bad_one() -> None:
    report = add("url,page_type\nhttp://10.0.0.1/,terms\nhttps://a.example/,terms\n")

    assert [line.number for line in report.bad] == [2]
    assert Monitor.objects.get().url == "https://a.example/"


def test_a_second_line_of_the_same_page_says_where_the_first_is() -> None:
    found = look("url,page_type\nhttps://a.example/,terms\nHTTPS://A.example:443/,terms\n")

    assert found.lines[1].duplicate
    assert "line 2" in found.lines[1].problems[0]


def test_what_is_watched_already_is_reported() -> None:
    make_monitor(url="https://a.example/", vantage=Vantage.objects.get(name="Germany"))

    found = look("url,page_type,vantage\nhttps://a.example/,terms,germany\n")

    assert found.lines[0].duplicate


def test_a_team_that_is_not_mine_does_not_exist() -> None:
    make_team("Legal")

    found = importing.look(
        "url,page_type,team\nhttps://a.example/,terms,Legal\n", teams=Team.objects.filter(name="Compliance")
    )

    assert "no team you can use" in found.lines[0].problems[0]


def test_added_monitors_carry_what_the_line_says() -> None:
    add(
        "name;url;page_type;renderer;wait_selector;main_selector;interval;threshold;cut;order_matters\n"
        "Terms;https://a.example/t;Terms and conditions;browser;#ready;main;6 h;4;0,4;yes\n"
    )

    monitor = Monitor.objects.get()
    assert (monitor.name, monitor.page_type.slug, monitor.renderer) == ("Terms", "terms", "browser")
    assert (monitor.wait_selector, monitor.main_selector) == ("#ready", "main")
    assert (monitor.interval_s, monitor.threshold, monitor.cut) == (21_600, 4, 0.4)
    assert monitor.order_matters is True
    assert monitor.site.host == "a.example"


def test_first_checks_of_an_import_are_spread() -> None:
    lines = "".join(f"https://h{n % 3}.example/{n},terms\n" for n in range(30))

    add("url,page_type\n" + lines)

    times = sorted(at for at in Monitor.objects.values_list("next_check_at", flat=True) if at)
    gaps = {after - before for before, after in itertools.pairwise(times)}
    assert times[0] == NOW
    assert gaps == {timedelta(seconds=5)}


def test_who_added_a_monitor_is_on_record() -> None:
    add("url,page_type\nhttps://a.example/,terms\n")

    row = SettingChange.objects.get()
    assert (row.name, row.actor_name, row.new, row.reason) == ("created", "ines", "https://a.example/", "import")


def test_adding_the_same_file_again_adds_nothing() -> None:
    text = "url,page_type\nhttps://a.example/,terms\n"
    add(text)

    again = importing.add(text, teams=Team.objects.all(), actor=None, now=NOW)

    assert again.added == ()
    assert Monitor.objects.count() == 1


def test_a_thousand_lines_take_few_queries(django_assert_max_num_queries: object) -> None:
    lines = "".join(f"https://h{n}.example/,terms\n" for n in range(1000))

    with django_assert_max_num_queries(40):  # type: ignore[operator]
        add("url,page_type\n" + lines)

    assert Monitor.objects.count() == 1000


def test_the_command_only_looks_without_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.csv"
    file.write_text("url,page_type\nhttps://a.example/,terms\nhttp://10.1.1.1/,terms\n", encoding="utf-8")

    call_command("import_monitors", str(file))

    said = capsys.readouterr().out
    assert "line 3: http://10.1.1.1/" in said
    assert "1 can be added" in said
    assert not Monitor.objects.exists()


def test_the_command_adds_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.csv"
    file.write_text("url,page_type\nhttps://a.example/,terms\n", encoding="utf-8")

    call_command("import_monitors", str(file), add=True)

    assert "1 added" in capsys.readouterr().out
    assert Monitor.objects.count() == 1


def test_the_command_refuses_an_unknown_account(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("url\n", encoding="utf-8")

    with pytest.raises(CommandError, match="no account"):
        call_command("import_monitors", str(file), user="nobody")


@given(st.binary(max_size=400))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_reported_on_or_refused_in_a_sentence(data: bytes) -> None:
    try:
        report, refusal = look(importing.decode(data)), ""
    except importing.UnreadableFileError as error:
        report, refusal = None, str(error)

    assert refusal.endswith(".") if report is None else all(line.good or line.problems for line in report.lines)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), max_size=8))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_gets_in_that_could_not_be_stored(cells: list[str]) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", "url", "page_type", "main_selector"])
    writer.writerows([cell, "https://a.example/", "terms", ""] for cell in cells)

    report = look(out.getvalue())

    for line in report.good:
        assert line.monitor is not None
        assert len(line.monitor.name) <= 200
        assert not any(ord(character) < 32 for character in line.monitor.name)

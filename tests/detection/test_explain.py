"""The rules that call an edit noise, each with the edit next to it that they must not swallow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitoring.detection.judge import judge, observe
from monitoring.detection.judgement import Kind, Settings
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from tests.detection.prose import page, sentences

START = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = sentences(20)


def codes(
    old: str, new: str, *, memory: Memory | None = None, settings: Settings | None = None
) -> tuple[Kind, set[str]]:
    """The kind, and the rules that explained at least one block."""
    judgement = judge(read(old), read(new), memory or Memory.start(START), settings=settings or Settings())
    return judgement.kind, {edit.explained for edit in judgement.edits if edit.explained}


def visited(*pages: str, quiet: bool = False) -> Memory:
    """The memory after these captures, each compared with the first (or, when quiet, with the one before)."""
    memory = Memory.start(START)
    readings = [read(html) for html in pages]
    for number in range(1, len(readings)):
        at = START + timedelta(days=number)
        if quiet:
            memory = memory.fold(observe(readings[number - 1], readings[number]), at, quiet=True)
        else:
            delta = judge(readings[0], readings[number], memory, settings=Settings()).delta
            memory = memory.fold(delta, at, rebased=False)
    return memory


def line(text: str) -> str:
    """The page with one more paragraph in front of the main region."""
    return page(TEXT, before=f'<p class="meta">{text}</p>')


@pytest.mark.parametrize(
    ("was", "now", "code"),
    [
        ("Updated 4 May 2026, 09:14", "Updated 6 May 2026, 17:52", "volatile-pattern"),
        ("Page generated in 0.31 s", "Page generated in 0.77 s", "volatile-pattern"),
        ("1,204 views", "1,377 views", "volatile-pattern"),
        ("Posted 5 minutes ago", "Posted 3 hours ago", "relative-time"),
        ("Updated this week", "Updated over a week ago", "relative-time"),
        ("Aktualisiert vor 2 Tagen", "Aktualisiert gestern", "relative-time"),
        ("Build 1.290.0.680", "Build 1.291.0.734", "volatile-pattern"),
        ("“Quoted” – text", '"Quoted" - text', "typography"),
        ("Loading…", "Harbour notes", ""),
    ],
)
def test_stamps_are_explained_by_their_rule(was: str, now: str, code: str) -> None:
    _, found = codes(line(was), line(now))

    assert (code in found) if code else ("volatile-pattern" not in found)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Valid until 2027-03-31", "Valid until 2026-03-31"),
        ("The fee is 40 €", "The fee is 60 €"),
        ("Open from 9:00 to 17:00", "Open from 9:00 to 12:00"),
    ],
)
def test_a_date_price_or_hour_that_stood_still_is_substance(was: str, now: str) -> None:
    memory = visited(*[page([*TEXT, was])] * 5)

    assert codes(page([*TEXT, was]), page([*TEXT, now]), memory=memory)[0] is Kind.CONTENT


def test_a_clock_that_stood_still_for_long_is_substance_in_the_main_text() -> None:
    was, now = page([*TEXT, "Updated 4 May 2026, 09:14"]), page([*TEXT, "Updated 6 May 2026, 17:52"])

    assert codes(was, now, memory=visited(*[was] * 6))[0] is Kind.CONTENT


def test_a_date_in_a_slot_that_keeps_moving_is_noise() -> None:
    stamps = [page(["As of " + day, *TEXT]) for day in ("1 May 2026", "2 May 2026", "3 May 2026", "4 May 2026")]

    kind, found = codes(stamps[0], stamps[3], memory=visited(*stamps[:3]))

    assert kind is Kind.NOISE
    assert found == {"volatile-slot"}


def test_prose_of_the_main_region_is_volatile_only_after_quiet_fetches() -> None:
    variants = [
        page([f"Today our chef recommends {dish} with bread and butter.", *TEXT])
        for dish in ("cod", "ham", "eel", "pie")
    ]

    assert codes(variants[0], variants[3], memory=visited(*variants[:3]))[0] is Kind.CONTENT
    assert codes(variants[0], variants[3], memory=visited(*variants[:3], quiet=True))[0] is Kind.NOISE


def test_dates_that_all_move_by_one_day_are_a_time_zone() -> None:
    old = page([*TEXT, "30 September 2021", "4 May 2020", "31 August 2018"])
    new = page([*TEXT, "1 October 2021", "5 May 2020", "1 September 2018"])

    assert codes(old, new) == (Kind.NOISE, {"day-shift"})


def test_one_date_that_moves_by_one_day_is_a_change() -> None:
    assert codes(page([*TEXT, "30 September 2021"]), page([*TEXT, "1 October 2021"]))[0] is Kind.CONTENT


def test_dates_that_move_by_different_days_are_a_change() -> None:
    old = page([*TEXT, "30 September 2021", "4 May 2020"])
    new = page([*TEXT, "1 October 2021", "9 May 2020"])

    assert codes(old, new)[0] is Kind.CONTENT


def test_another_order_is_noise_unless_order_matters() -> None:
    old, new = page(TEXT), page([TEXT[3], *TEXT[:3], *TEXT[4:]])

    assert codes(old, new)[0] is Kind.NOISE
    assert codes(old, new, settings=Settings(order_matters=True))[0] is Kind.CONTENT


def test_a_clause_that_moved_far_is_content() -> None:
    old, new = page(TEXT), page([TEXT[6], *TEXT[:6], *TEXT[7:]])

    judgement = judge(read(old), read(new), Memory.start(START), settings=Settings())

    assert judgement.kind is Kind.CONTENT
    assert "moved-far" in {reason.code for reason in judgement.reasons}


def test_a_clause_under_another_heading_is_content_and_a_moved_link_list_is_not() -> None:
    optional, required = "<h2>Optional</h2>", "<h2>Required</h2>"
    clause = "<p>Each holder brings a valid certificate of training to the gate.</p>"
    links = (
        "<ul>"
        + "".join(f"<li><a href=/{n}>Another page of the harbour, number {n}</a></li>" for n in range(4))
        + "</ul>"
    )
    kept = "".join(f"<p>{text}</p>" for text in TEXT)

    under = f"<main>{kept}{optional}{clause}<p>Or a card.</p>{required}<p>A ticket.</p></main>"
    moved = f"<main>{kept}{optional}<p>Or a card.</p>{required}<p>A ticket.</p>{clause}</main>"
    assert codes(under, moved)[0] is Kind.CONTENT

    before = f"<main>{links}{kept}</main>"
    after = f"<main>{kept}{links}</main>"
    assert codes(before, after)[0] is Kind.NOISE


def test_letter_case_is_noise_unless_case_matters() -> None:
    old, new = page([*TEXT, "The Products are defined."]), page([*TEXT, "The products are defined."])

    assert codes(old, new)[0] is Kind.NOISE
    assert codes(old, new, settings=Settings(case_matters=True))[0] is Kind.CONTENT


def test_a_letter_of_another_alphabet_is_no_typography() -> None:
    old, new = page([*TEXT, "Pay to account ACE"]), page([*TEXT, "Pay to account \u0410\u0421\u0415"])

    assert codes(old, new)[0] is Kind.CONTENT


def test_the_title_written_by_a_script_is_an_echo() -> None:
    announcer = '<div id="announcer"><p>Harbour rules</p></div>'

    assert codes(page(TEXT), page(TEXT, after=announcer)) == (Kind.NOISE, {"echo"})


def test_an_ignore_rule_is_named_as_the_reason() -> None:
    old, new = page([*TEXT, "Water level 3.2 m"]), page([*TEXT, "Water level 3.9 m"])

    assert codes(old, new)[0] is Kind.CONTENT
    assert codes(old, new, settings=Settings(ignore_patterns=(r"Water level [\d.]+ m",))) == (
        Kind.NOISE,
        {"ignore-rule"},
    )


def test_a_paragraph_cut_in_two_is_noise() -> None:
    old = page([*TEXT, "First half of it. Second half of it."])
    new = page([*TEXT, "First half of it.", "Second half of it."])

    assert codes(old, new)[0] is Kind.NOISE


def test_a_whole_consent_banner_is_noise_and_a_sentence_inside_one_is_not() -> None:
    banner = '<div id="cookie-consent" role="dialog"><p>We use cookies to improve your visit. Accept all</p>{}</div>'
    clause = "<p>By closing this notice you agree that we may pass your address and your bookings to our partners abroad.</p>"

    assert codes(page(TEXT), page(TEXT, after=banner.format(""))) == (Kind.NOISE, {"consent"})
    assert "consent" not in codes(page(TEXT, after=banner.format("")), page(TEXT, after=banner.format(clause)))[1]


def test_a_counter_outside_the_main_text_is_noise_even_after_a_cache_held_it() -> None:
    was, now = line("1,204 views"), line("1,377 views")

    assert codes(was, now, memory=visited(*[was] * 6)) == (Kind.NOISE, {"volatile-pattern"})


def test_the_copyright_year_is_noise_after_any_number_of_visits() -> None:
    was, now = line("© 2026 Quayside Office"), line("© 2027 Quayside Office")

    assert codes(was, now, memory=visited(*[was] * 6)) == (Kind.NOISE, {"volatile-pattern"})


def test_a_price_that_changes_at_every_visit_is_never_volatile() -> None:
    prices = [page(["Day ticket", f"{euros},00 €", *TEXT]) for euros in (12, 13, 11, 14, 12, 15)]

    assert codes(prices[0], prices[-1], memory=visited(*prices[:-1]))[0] is Kind.CONTENT


def test_a_certificate_that_comes_back_is_a_change() -> None:
    def listed(*entries: str) -> str:
        return page([*TEXT, "<ul>" + "".join(f"<li>{entry}</li>" for entry in entries) + "</ul>"])

    full, short = listed("ISO 9001", "ISO 14001", "ISO 45001"), listed("ISO 9001", "ISO 45001")
    memory = Memory.start(START)
    for number, (old, new) in enumerate([(full, short), (short, full), (full, short)], 1):
        delta = judge(read(old), read(new), memory, settings=Settings()).delta
        memory = memory.fold(delta, START + timedelta(days=number), rebased=True)

    assert codes(short, full, memory=memory)[0] is Kind.CONTENT

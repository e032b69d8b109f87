"""The figures that the review interface must reach, measured in a real Chromium: `python -m tests.e2e.figures`.

Starts the product on a folder of its own with at least sixty changes: the fictional workspace, the page pairs of `tests/pages`, and
edits of the fictional texts. Prints one line a figure and ends with 1 where one is missed (times only with `--times`).
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.browser import launch_options
from tests.e2e.seed import PASSWORD

ROOT = Path(__file__).resolve().parents[2]
CHANGES = 60
SIZES = ((1440, 900), (1024, 768))
WIDTHS = (320, 390, 768, 1024)
OWN_BYTES, PAGE_BYTES = 24 * 1024, 60 * 1024
TWELVE_LINES_PX = 12 * 28

# Below the bars at the top, above the decision bar: what a reader sees without scrolling.
IN_VIEW = """([twelve]) => {
  const place = document.querySelector('[data-place]');
  if (!place) return null;
  const box = place.getBoundingClientRect();
  const bar = document.querySelector('.decide')?.getBoundingClientRect().top ?? innerHeight;
  const top = document.querySelector('.top').getBoundingClientRect().bottom;
  return box.top >= top - 1 && Math.min(box.bottom, box.top + twelve) <= bar + 1;
}"""
# Painted: two frames after the heading of the next change stands in the document.
WATCH = """() => {
  window.__shown = null;
  const before = document.querySelector('[data-change]').dataset.change;
  const seen = new MutationObserver(() => {
    const now = document.querySelector('[data-change]');
    if (!now || now.dataset.change === before) return;
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.__shown = performance.now(); }));
  });
  seen.observe(document.body, { childList: true, subtree: true });
  addEventListener('keydown', () => { window.__pressed = performance.now(); }, { capture: true, once: true });
}"""
SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value; })
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => done(sum), 300);
})"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report."""

    name: str
    found: str
    wanted: str
    reached: bool
    timed: bool = False


def more_changes(count: int) -> int:
    """Fill up a seeded workspace to `count` waiting changes; how many there are."""
    from datetime import UTC, datetime

    from monitoring.models import Change, Team
    from tests.e2e import seed

    rng, now, team = random.Random(3), datetime.now(UTC), Team.objects.get(name="Compliance")
    number = Change.objects.filter(state="open").count()
    for folder in sorted((ROOT / "tests" / "pages").iterdir()):
        if number >= count:
            break
        number += _pair(folder, team, now, rng, number)
    texts = [story for story in seed.STORIES if len(story.lines) > 6]
    while number < count:
        story = texts[number % len(texts)]
        edits = _edits(story.lines, rng)
        fresh = replace(
            story, name=f"{story.name} {number}", host=f"n{number}.{story.host}", edits=edits, moves=None,
            hours=rng.uniform(0.5, 60), score=rng.uniform(0.5, 1.0), priority=rng.randrange(4),
        )  # fmt: skip
        number += seed.make_story(fresh, team, now, rng, number % 40).places > 0
    return Change.objects.filter(state="open").count()


def _edits(lines: list[str], rng: random.Random) -> list[tuple[str, str | None]]:
    """One to four edits somewhere in a text: reworded, taken out, or put behind."""
    found: list[tuple[str, str | None]] = []
    prose = [line for line in lines if len(line) > 30 and not line.startswith("#")]
    for line in rng.sample(prose, min(len(prose), rng.randrange(1, 5))):
        words = line.split(" ")
        place = rng.randrange(len(words))
        how = rng.randrange(3)
        if how == 0:
            found.append((line, " ".join([*words[:place], "notwithstanding", "anything", *words[place + 2 :]])))
        elif how == 1:
            found.append((line, None))
        else:
            found.append((line, f"{line} We may change this at any time and without notice to you or anybody else."))
    return found


def _pair(folder: Path, team: Any, now: Any, rng: random.Random, number: int) -> int:
    """A page pair as a waiting change; 0 where it has no text change."""
    from monitoring import storage
    from monitoring.detection.diff import diff, diff_hash
    from monitoring.detection.read import read
    from monitoring.models import Change
    from tests.factories import make_check, make_monitor, make_page_type, make_snapshot

    old_path, new_path = folder / "old.html", folder / "new.html"
    if not old_path.exists() or not new_path.exists():
        return 0
    before, after = old_path.read_bytes(), new_path.read_bytes()
    document = diff(read(before.decode("utf-8", "replace")), read(after.decode("utf-8", "replace")))
    if not document.get("places"):
        return 0
    monitor = make_monitor(name=folder.name.replace("_", " "), team=team, page_type=make_page_type("pair"))
    sides = [
        make_snapshot(
            monitor, payload=storage.put(body), role=role, content_type="text/html", charset="utf-8",
            language=str(document.get("lang", "")), document_type="html",
        )
        for body, role in ((before, "baseline"), (after, "change"))
    ]  # fmt: skip
    Change.objects.create(
        monitor=monitor, check_row=make_check(monitor), prior=sides[0], new=sides[1], kind="content", opened_at=now,
        updated_at=now, priority=1, score=rng.uniform(0.5, 1.0), cut=0.5, diff=document, diff_hash=diff_hash(document),
        say=document.get("say", {}).get("segments", []), added=document["added"], removed=document["removed"],
        places=document["places"],
    )  # fmt: skip
    return 1


def signed_in(browser: Browser, origin: str, width: int, height: int, **options: Any) -> Page:
    """A page of a reviewer at a size."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, locale="en-GB", reduced_motion="reduce", **options
    )
    page = context.new_page()
    page.goto(f"{origin}/login/")
    page.fill("input[name=username]", "ines")
    page.fill("input[name=password]", PASSWORD)
    page.click("main button.primary")
    page.wait_for_selector(".avatar")
    return page


def first_places(browser: Browser, origin: str, ids: list[int]) -> list[Figure]:
    """How often the first changed place is in view as the page stands when it has come up."""
    found = []
    for width, height in SIZES:
        page = signed_in(browser, origin, width, height)
        missed, seen = [], 0
        for pk in ids:
            page.goto(f"{origin}/c/{pk}/?view=prior")
            page.wait_for_selector("[data-place].now")
            inside = page.evaluate(IN_VIEW, [TWELVE_LINES_PX])
            seen += bool(inside)
            if not inside:
                missed.append(pk)
        share = 100 * seen / len(ids)
        words = f"{seen} of {len(ids)} ({share:.0f} %)" + (f", not in {missed[:6]}" if missed else "")
        found.append(Figure(f"first place in view, {width}x{height}", words, ">= 95 %", share >= 95))
        page.context.close()
    return found


def key_to_paint(browser: Browser, origin: str, ids: list[int]) -> list[Figure]:
    """From the key to the next change on the screen, with it fetched ahead and without."""
    found = []
    for words, ahead, most in (("preloaded", True, 100), ("not preloaded", False, 400)):
        page = signed_in(browser, origin, 1440, 900)
        times = []
        page.goto(f"{origin}/queue/")
        page.click("[data-start]")
        page.wait_for_selector("[data-place].now")
        for _turn in range(15):
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(500)  # the next one is on its way for a moment
            page.evaluate(WATCH)
            if not ahead:  # whatever was fetched ahead is thrown away: the change is asked for anew
                page.evaluate("document.querySelector('[data-decide]').dataset.next += '?fresh=1'")
            page.keyboard.press("d")
            for _wait in range(1_000):  # the policy forbids what Playwright's own waiting would evaluate
                if page.evaluate("window.__shown") is not None:
                    break
                page.wait_for_timeout(20)
            times.append(page.evaluate("window.__shown - window.__pressed"))
        times.sort()
        half, most_seen = statistics.median(times), times[int(len(times) * 0.95)]
        found.append(
            Figure(f"key to next change painted, {words}", f"median {half:.0f} ms, p95 {most_seen:.0f} ms", f"<= {most} ms",
                   half <= most, timed=True)
        )  # fmt: skip
        page.context.close()
    return found


def weights(browser: Browser, origin: str, pk: int) -> list[Figure]:
    """Our own style sheets and scripts, and a whole change page, as they travel."""
    own = sum(
        len(gzip.compress(path.read_bytes(), 6))
        for path in [*(ROOT / "static/css").glob("*.css"), *(ROOT / "static/js").glob("*.js")]
    )
    page = signed_in(browser, origin, 1440, 900)
    html = page.request.get(f"{origin}/c/{pk}/").body()
    whole = own + len(gzip.compress(html, 6))
    fonts = [path for path in (ROOT / "static").rglob("*") if path.suffix in (".woff", ".woff2", ".ttf", ".otf")]
    page.context.close()
    return [
        Figure("own CSS and JS, gzip", f"{own / 1024:.1f} KB", "<= 24 KB", own <= OWN_BYTES),
        Figure("whole change page, gzip", f"{whole / 1024:.1f} KB", "<= 60 KB", whole <= PAGE_BYTES),
        Figure("font files", str(len(fonts)), "0", not fonts),
    ]


def steadiness(browser: Browser, origin: str, pk: int) -> list[Figure]:
    """Layout shift, sideways scrolling, and what the console and the policy have to complain about."""
    paths = ["/queue/", f"/c/{pk}/?view=prior", f"/c/{pk}/?view=split", f"/c/{pk}/?view=rendered", f"/c/{pk}/?view=fields",
             "/queue/?q=zzz", "/queue/?view=snoozed"]  # fmt: skip
    worst, wide, said = 0.0, [], []
    for width in (1440, *WIDTHS):
        page = signed_in(browser, origin, width, 800)
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        for path in paths:
            page.goto(origin + path)
            worst = max(worst, page.evaluate(SHIFT))
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(f"{path} at {width}")
        page.context.close()
    return [
        Figure("layout shift, worst page", f"{worst:.4f}", "0", worst < 0.001),
        Figure("sideways scrolling", ", ".join(wide) or "none", "none", not wide),
        Figure("console and policy messages", "; ".join(sorted(set(said)))[:300] or "0", "0", not said),
    ]


def without_script(browser: Browser, origin: str, ids: list[int]) -> list[Figure]:
    """Every view read, and each kind of verdict given and taken back, with script off."""
    page = signed_in(browser, origin, 1440, 900, java_script_enabled=False)
    wrong = []
    for view in ("prior", "split", "rendered", "fields"):
        page.goto(f"{origin}/c/{ids[1]}/?view={view}")
        if not page.locator("#diff").is_visible():
            wrong.append(view)
    for do in ("approve", "dismiss", "snooze"):
        page.goto(f"{origin}/c/{ids[1]}/?view=prior")
        page.locator(f'#decide button[value^="{do}"]').first.click()
        if "/c/" not in page.url and "/queue/" not in page.url:
            wrong.append(do)
        page.goto(f"{origin}/c/{ids[1]}/?view=prior")
        done = page.locator(".notice.over").count() > 0
        page.locator('#decide button[value="undo"]').click()
        page.goto(f"{origin}/c/{ids[1]}/?view=prior")
        if not done or page.locator('#decide button[value="approve"]').count() != 1:
            wrong.append(f"{do} and undo")
    page.context.close()
    return [Figure("read and decided with script off", ", ".join(wrong) or "everything", "everything", not wrong)]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", action="store_true", help="let missed times fail too; for an idle machine")
    options = parser.parse_args()
    from tests.e2e.screenshots import product

    with tempfile.TemporaryDirectory() as folder, product(Path(folder)) as origin, sync_playwright() as playwright:
        ids = _fill(Path(folder))
        browser = playwright.chromium.launch(**launch_options())
        parts: list[Callable[[], list[Figure]]] = [
            lambda: weights(browser, origin, ids[0]),
            lambda: first_places(browser, origin, ids),
            lambda: steadiness(browser, origin, ids[0]),
            lambda: without_script(browser, origin, ids),
            lambda: key_to_paint(browser, origin, ids),
        ]
        missed = 0
        for part in parts:
            for figure in part():
                print(
                    f"{'ok  ' if figure.reached else 'MISS'} {figure.name:38} {figure.found}   (to reach: {figure.wanted})",
                    flush=True,
                )
                missed += not figure.reached and (options.times or not figure.timed)
        browser.close()
    sys.exit(1 if missed else 0)


def _fill(data: Path) -> list[int]:
    """More changes in the product's own database; the ids of all that wait, in order."""
    import subprocess

    environment = {**os.environ, "TIDELINE_DATA": str(data)}
    code = (
        "import django; django.setup(); from tests.e2e import figures; from monitoring.models import Change; "
        f"figures.more_changes({CHANGES}); "
        "print(*Change.objects.filter(state='open', places__gt=0).order_by('-priority', 'opened_at').values_list('pk', flat=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True,
        env=environment | {"DJANGO_SETTINGS_MODULE": "config.settings"},
    )  # fmt: skip
    return [int(pk) for pk in done.stdout.split()]


if __name__ == "__main__":
    main()

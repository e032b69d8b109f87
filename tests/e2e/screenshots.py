"""Pictures of every page at three widths, two themes and three languages: `python -m tests.e2e.screenshots OUT`.

Starts the product on a folder of its own with a fictional workspace, and drives a real Chromium.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from playwright.sync_api import Browser, sync_playwright

from tests import tables
from tests.e2e.browser import launch_options
from tests.e2e.seed import PASSWORD

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {1440: 900, 1024: 768, 390: 844}
PAGES = {
    "today": "/",
    "queue": "/queue/",
    "change": "/c/3/?view=prior",
    "change-split": "/c/3/?view=split",
    "change-rendered": "/c/3/?view=rendered",
    "change-fields": "/c/3/?view=fields",
    "change-old-link": "/c/3/?d=000000000000&view=prior",
    "ignore": "/c/3/ignore/1/",
    "compare": "/m/3/compare/",
    "queue-searched": "/queue/?q=data",
    "queue-too-narrow": "/queue/?q=nowhere&priority=3",
    "queue-empty-view": "/queue/?view=snoozed",
    "change-cert": "/c/4/?view=prior",
    "change-de": "/c/2/?view=prior",
    "change-ja": "/c/7/?view=prior",
    "monitor": "/m/3/",
    "selector": "/m/3/selector/?q=h2",
    "monitors": "/monitors/",
    "canaries": "/canaries/",
    "sites": "/sites/?show=all",
    "site": "/sites/3/",
    "site-blocked": "/sites/10/",
    "fleet": "/fleet/",
    "overdue": "/fleet/overdue/",
    "calibration": "/calibration/privacy-policy/",
    "verdicts": "/verdicts/",
    "verdict-report": "/verdicts/report/",
    "fields": "/fields/",
    "fields-of-page": "/fields/?monitor=12",
    "field": "/fields/?monitor=12&name=price",
    "held-back": "/queue/?kind=noise",
    "preferences": "/me/",
    "not-found": "/nowhere/",
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def product(data: Path) -> Iterator[str]:
    """The product serving a seeded database in `data`; gives its address."""
    port = _free_port()
    origin = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "TIDELINE_DATA": str(data),
        "TIDELINE_ORIGIN": origin,
        "TIDELINE_FRAME_ORIGIN": f"http://localhost:{port}",
    }
    python = sys.executable
    tables.fill(f"sqlite://{data}/tideline.sqlite3", environment)
    for command in (
        ["manage.py", "collectstatic", "--noinput", "-v0"],
        ["-m", "tests.e2e.seed"],
    ):
        subprocess.run([python, *command], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(
        [
            python,
            "-m",
            "gunicorn",
            "config.wsgi",
            "--bind",
            f"127.0.0.1:{port}",
            "--threads",
            "8",
            "--log-level",
            "error",
        ],
        cwd=ROOT,
        env=environment,
    )
    try:
        for _attempt in range(100):
            try:
                urllib.request.urlopen(f"{origin}/login/", timeout=10).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield origin
    finally:
        server.terminate()
        server.wait(timeout=10)


def _take(browser: Browser, origin: str, out: Path, *, width: int, theme: str, language: str, names: list[str]) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]},
        color_scheme="dark" if theme == "dark" else "light",
        locale={"en": "en-GB", "de": "de-DE", "ja": "ja-JP"}[language],
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{origin}/login/")
    suffix = f"{width}-{theme}" + ("" if language == "en" else f"-{language}")
    page.screenshot(path=out / f"login-{suffix}.png")
    page.fill("input[name=username]", "ines")
    page.fill("input[name=password]", PASSWORD)
    page.click("button.primary")
    page.wait_for_selector(".avatar")
    for name in names:
        page.goto(origin + PAGES[name], wait_until="networkidle")
        page.screenshot(path=out / f"{name}-{suffix}.png")
    context.close()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="comma-separated page names")
    parser.add_argument("--quick", action="store_true", help="1440 and 390 light, 1440 dark, English only")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = [n for n in PAGES if not options.only or n in options.only.split(",")]
    with tempfile.TemporaryDirectory() as folder, product(Path(folder)) as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        rounds = [(w, t, lang) for lang in ("en", "de", "ja") for w in WIDTHS for t in ("light", "dark")]
        if options.quick:
            rounds = [(1440, "light", "en"), (1440, "dark", "en"), (390, "light", "en")]
        for width, theme, language in rounds:
            _take(browser, origin, options.out, width=width, theme=theme, language=language, names=names)
        browser.close()


if __name__ == "__main__":
    main()

"""Prints the judgement for two files or addresses, with its reasons: for support, bug reports and trust."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from monitoring.detection.blocks import Reading
from monitoring.detection.diff import diff
from monitoring.detection.fingerprint import fingerprint
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Settings
from monitoring.detection.memory import Memory
from monitoring.detection.quality import PageFacts, assess
from monitoring.detection.read import read
from monitoring.fetching.capture import Failure, FetchRequest
from monitoring.fetching.charset import decode_page
from monitoring.fetching.http import fetch, printable
from monitoring.services.egress import address_policy


class Command(BaseCommand):
    """`manage.py judge OLD NEW [--history ...]`."""

    help = "Judge two pages, files or addresses: kind, score, distance and reasons."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("old", help="file or address of the earlier page")
        parser.add_argument("new", help="file or address of the later page")
        parser.add_argument("--history", nargs="*", default=[], help="what the page showed before, oldest first")
        parser.add_argument("--threshold", type=int, default=3, help="bits of distance, 0 to 64")
        parser.add_argument("--cut", type=float, default=0.5, help="score from which it is content, 0 to 1")
        parser.add_argument("--main", default="", help="CSS selector of the main region")
        parser.add_argument("--order-matters", action="store_true")
        parser.add_argument("--case-matters", action="store_true")
        parser.add_argument("--ignore", action="append", default=[], help="pattern to leave out; may be repeated")
        parser.add_argument("--diff", action="store_true", help="print the changed places too")

    def handle(self, *args: Any, **options: Any) -> None:
        settings = Settings(
            threshold=options["threshold"],
            cut=options["cut"],
            order_matters=options["order_matters"],
            case_matters=options["case_matters"],
            ignore_patterns=tuple(options["ignore"]),
        )
        old_text, new_text = self._text(options["old"]), self._text(options["new"])
        old = read(old_text, main_selector=options["main"])
        new = read(new_text, main_selector=options["main"], remembered_region=old.region_path)
        quality = assess(PageFacts(html=new_text), new, old)
        self.stdout.write(
            f"quality   {quality.outcome}{f' ({quality.code}): {quality.sentence}' if quality.code else ''}"
        )
        memory = self._memory([*options["history"]], old, settings, options["main"])
        found = judge(old, new, memory, settings=settings, now=timezone.now())
        self.stdout.write(f"kind      {found.kind if quality.is_good else quality.outcome}")
        self.stdout.write(f"score     {found.score:.2f} (cut {settings.cut:.2f})")
        self.stdout.write(f"distance  {found.distance} bits (threshold {settings.threshold})")
        self.stdout.write(f"prints    {fingerprint(old):016x} {fingerprint(new):016x}")
        for reason in found.reasons:
            self.stdout.write(printable(f"  {reason.code:<24} {reason.text}"))
        if options["diff"]:
            self._print(diff(old, new))

    def _memory(self, names: list[str], last: Reading, settings: Settings, main: str) -> Memory:
        """What visits to the history, and then to the old page, leave behind."""
        pages = [read(self._text(name), main_selector=main) for name in names]
        memory = Memory.start(timezone.now())
        if not pages:
            return memory
        base = pages[0]
        for page in [*pages[1:], last]:
            found = judge(base, page, memory, settings=settings)
            # The old page is the baseline, whatever led to it.
            rebased = found.kind == "content" or page is last
            memory = memory.fold(found.delta, timezone.now(), rebased=rebased)
            base = page if rebased else base
        return memory

    def _text(self, name: str) -> str:
        if name.startswith(("http://", "https://")):
            outcome = asyncio.run(fetch(FetchRequest(key=0, url=name), policy=address_policy()))
            if isinstance(outcome, Failure):
                raise CommandError(f"{name}: {outcome.message} ({outcome.reason})")
            return outcome.html
        try:
            body = Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        return decode_page(body, content_type="text/html").text

    def _print(self, document: Any) -> None:
        for row in document["blocks"]:
            if row["op"] in {"fold", "equal"}:
                continue
            if row["op"] == "rewritten":
                parts = [*(("-", s[1]) for s in row["before"]), *(("+", s[1]) for s in row["after"])]
            else:
                parts = [(s[0], s[1]) for s in row["segments"]]
            marks = {"=": "{}", "-": "[-{}-]", "+": "{{+{}+}}", "!": "<{}>"}
            told = "".join(marks[kind].format(text) for kind, text in parts)
            self.stdout.write(printable(f"  {row['op']:<10} {told}"))  # a page's controls are not for a terminal

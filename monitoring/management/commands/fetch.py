"""Prints the whole story of one fetch: for support, for site owners who ask, and to see what a monitor would see."""

from __future__ import annotations

import asyncio
import itertools
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from monitoring.detection.quality import assess
from monitoring.detection.read import read
from monitoring.fetching.capture import Capture, Failure, FetchRequest, Outcome, RenderSpec
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import AddressPolicy, Target, vet, without_userinfo
from monitoring.fetching.http import fetch, printable
from monitoring.fetching.resolver import SystemLookup
from monitoring.fetching.robots import parse as parse_robots
from monitoring.models import Monitor, RobotsPolicy, Site, Vantage
from monitoring.services import robots, vantages
from monitoring.services.egress import address_policy
from monitoring.services.judge import page_facts
from monitoring.services.monitors import mask_proxy, site_host

GOOD, REFUSED, NO_PAGE, NOT_GOOD, FORBIDDEN = 0, 3, 4, 5, 6
# Their values are a password while they last.
_SECRET_HEADERS = frozenset({"set-cookie", "www-authenticate", "proxy-authenticate", "authorization"})
_CHARSET_WHY = {
    "bom": "the byte order mark at its start",
    "header": "the Content-Type header",
    "meta": "a meta tag in the page",
    "utf-8": "the bytes, which are valid UTF-8",
    "hint": "the last good capture",
    "guess": "a guess from the bytes",
    "meta-over-header": "a meta tag, since the header's charset does not fit the bytes",
    "header-mismatch": "the header, although its charset does not fit the bytes",
}


class Command(BaseCommand):
    """`manage.py fetch URL [--vantage NAME] [--render] [--explain] [--anyway]`."""

    help = (
        "Fetch one page as a monitor would and tell the whole story. Saves nothing. Ends with 0 for a good page, "
        "3 refused by policy, 4 no page, 5 a page that is none (blocked, gone, error), 6 forbidden by robots.txt."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url")
        parser.add_argument("--vantage", default="", help="name of the vantage to ask from; the first one otherwise")
        parser.add_argument("--render", action="store_true", help="in a browser, as pages made by scripts need")
        parser.add_argument("--explain", action="store_true", help="also every header, each address and the rules")
        parser.add_argument("--anyway", action="store_true", help="fetch it although robots.txt forbids it")

    def handle(self, *args: Any, **options: Any) -> None:
        self.explain: bool = options["explain"]
        policy, vantage = address_policy(), self._vantage(options["vantage"])
        try:
            target = vet(options["url"], policy)
        except Refused as error:
            self._say("address", without_userinfo(options["url"]))
            self._say("policy", f"refused ({error.code}): {error.sentence}")
            sys.exit(REFUSED)
        self._say("address", target.url)
        self._say("policy", f"{target.scheme}, port {target.port}: allowed")
        self._say_vantage(vantage)
        self._say_lookup(target, policy)
        forbidden = self._say_robots(target, vantage, policy)
        if forbidden and not options["anyway"]:
            self._say("end", "not fetched; --anyway fetches it all the same")
            sys.exit(FORBIDDEN)
        request = FetchRequest(
            key=0,
            url=target.url,
            vantage=vantages.spec_of(vantage),
            render=RenderSpec(screenshot=False) if options["render"] else None,
        )
        sys.exit(self._say_outcome(self._fetched(request, policy)))

    def _vantage(self, name: str) -> Vantage:
        if not name:
            return Vantage.objects.first() or Vantage(name="default")
        found = Vantage.objects.filter(name=name).first()
        if found is None:
            known = ", ".join(Vantage.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no vantage {name!r}; there are: {known}.")
        return found

    def _say(self, what: str, text: str) -> None:
        self.stdout.write(f"{what:<10} {printable(text)}")

    def _say_vantage(self, vantage: Vantage) -> None:
        proxy = f", through {mask_proxy(vantage.proxy_url)}" if vantage.proxy_url else ", direct"
        self._say("vantage", f"{vantage.name}{f' ({vantage.country})' if vantage.country else ''}{proxy}")
        self._say("we are", vantage.user_agent or settings.USER_AGENT)

    def _say_lookup(self, target: Target, policy: AddressPolicy) -> None:
        """What the name resolves to, and what the policy says of each address."""
        if target.address is not None:
            self._say("lookup", "none: the address is written out")
            return

        async def look_up() -> list[str]:
            lookup = SystemLookup(1)
            try:
                async with asyncio.timeout(10):
                    return await lookup(target.host)
            finally:
                lookup.close()

        try:
            found = asyncio.run(look_up())
        except (OSError, TimeoutError, UnicodeError) as error:
            self._say("lookup", f"{target.host} was not resolved ({type(error).__name__})")
            return
        verdicts = [(text, policy.objection(text, target.port)) for text in found]
        shown = verdicts if self.explain else verdicts[:2]
        told = ", ".join(f"{text}{f' REFUSED: {why}' if why else ''}" for text, why in shown)
        more = f" and {len(verdicts) - len(shown)} more" if len(verdicts) > len(shown) else ""
        self._say("lookup", f"{target.host} is {told}{more}")

    def _say_robots(self, target: Target, vantage: Vantage, policy: AddressPolicy) -> bool:
        """What robots.txt says now, under the site's policy; whether that forbids the page."""
        site = Site.objects.filter(host=site_host(target.url)).first()
        chosen = site.robots_policy if site else RobotsPolicy.OBEY
        if site is not None and chosen == RobotsPolicy.IGNORE:
            self._say("robots", f"ignored for this site: {site.robots_reason}")
            return False
        asked = robots.request_for(Monitor(url=target.url, site_id=0), vantages.spec_of(vantage))
        outcome = asyncio.run(fetch(asked, policy=policy))
        if isinstance(outcome, Failure):
            self._say("robots", f"robots.txt could not be had: {outcome.message}")
            return False
        if not 200 <= outcome.status < 300:
            fails = outcome.status == 429 or outcome.status >= 500
            then = (
                "the last copy counts; without one it forbids every page after a day"
                if fails
                else "nothing is forbidden"
            )
            self._say("robots", f"robots.txt answers {outcome.status}: {then}")
            return False
        rules = parse_robots(outcome.body, settings.ROBOT_NAME)
        rule = rules.rule_for(target.path + target.query)
        allowed = rule is None or rule.allow
        whose = f"rules for {settings.ROBOT_NAME}" if rules.named else "rules for everybody"
        decided = f"decided by “{rule.text}”" if rule else "no rule matches"
        self._say("robots", f"{'allowed' if allowed else 'FORBIDDEN'}, {decided} ({whose}; policy here: {chosen})")
        if self.explain:
            if rules.crawl_delay_s:
                self._say("", f"Crawl-delay {rules.crawl_delay_s:g} s")
            for line in [*(rule.text for rule in rules.rules[:50]), *(f"Sitemap: {url}" for url in rules.sitemaps)]:
                self._say("", line)
        return not allowed and chosen == RobotsPolicy.OBEY

    def _fetched(self, request: FetchRequest, policy: AddressPolicy) -> Outcome:
        if request.render is not None:
            from monitoring.fetching.browser import render  # Playwright takes a while to import

            return render(request, policy=policy, chromium_path=settings.CHROMIUM)
        heard: list[tuple[int, str, str]] = []
        outcome = asyncio.run(fetch(request, policy=policy, tell=lambda *event: heard.append(event)))
        self._say_stages(heard, outcome.duration_ms)
        return outcome

    def _say_stages(self, heard: list[tuple[int, str, str]], end_ms: int) -> None:
        """When each stage began and how long it took."""
        stages = [event for event in heard if event[1] not in {"peer", "sizes"}]
        ends = {id(event): after[0] for event, after in itertools.pairwise(stages)}
        for event in heard:
            at, what, detail = event
            if what in {"peer", "sizes"}:
                self._say("", f"{'connected to ' if what == 'peer' else ''}{detail}")
                continue
            took = ends.get(id(event), max(end_ms, at)) - at
            self._say("stage", f"{at:>6} ms  {what:<8} {took:>5} ms  {detail}")

    def _say_outcome(self, outcome: Outcome) -> int:
        for hop in outcome.redirects:
            self._say("hop", f"{hop.status or 'script'} {hop.url} to {hop.location}")
        if isinstance(outcome, Failure):
            self._say(
                "end",
                f"no page after {outcome.duration_ms} ms: {outcome.reason}{f' ({outcome.cause})' if outcome.cause else ''}",
            )
            self._say("", outcome.message)
            return REFUSED if outcome.reason in {"refused-by-policy", "redirect-refused"} else NO_PAGE
        self._say("answer", f"{outcome.status} from {outcome.final_url} in {outcome.duration_ms} ms")
        self._say_headers(outcome)
        if outcome.certificate_sha256:
            self._say("TLS", f"certificate {outcome.certificate_sha256[:32]}…")
        label = outcome.header("Content-Type") or "none"
        self._say("type", f"{outcome.content_type or 'unknown'} (labelled {label}); {len(outcome.body)} bytes decoded")
        if not outcome.is_text:
            self._say("end", "no text: compared by its digest")
            return GOOD if outcome.status < 400 else NOT_GOOD
        if outcome.charset:
            why = _CHARSET_WHY.get(outcome.charset_source, outcome.charset_source)
            self._say("charset", f"{outcome.charset}, known from {why}")
        reading = read(outcome.html)
        quality = assess(page_facts(outcome), reading, None)
        self._say(
            "text",
            f"{len(reading.blocks)} blocks, {len(reading.main_text.split())} words in the main region; title “{reading.title[:80]}”",
        )
        if quality.is_good:
            self._say("end", "a good page")
            return GOOD
        self._say("end", f"{quality.outcome} ({quality.code}): {quality.sentence}")
        if self.explain:
            for line in quality.evidence:
                self._say("", str(line)[:200])
        return NOT_GOOD

    def _say_headers(self, capture: Capture) -> None:
        shown = {"content-type", "content-encoding", "etag", "last-modified", "retry-after", "server", "cache-control"}
        for name, value in capture.headers:
            if self.explain or name.lower() in shown:
                told = f"({len(value)} characters, not shown)" if name.lower() in _SECRET_HEADERS else value[:200]
                self._say("", f"{name}: {told}")

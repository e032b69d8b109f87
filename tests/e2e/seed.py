"""A fictional workspace with real diffs: for the end-to-end tests, the pictures, and for looking at the interface.

`python -m tests.e2e.seed` fills the configured database (give TIDELINE_DATA a folder of its own).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from monitoring.models import Change, Monitor, PageType, Site, Team

PASSWORD = "correct horse battery"

PRIVACY = [
    "# Privacy notice",
    "Halden Cloud AB (“Halden”, “we”) operates the services described in this notice and is the controller of your personal data.",
    "This notice applies to customers, visitors and people who contact us.",
    "## 1. Who we are",
    "Our registered office is at Strandvägen 4 in Halden. You reach our data protection officer at privacy@halden.example.",
    "We act as controller for account data and as processor for content that customers store with us.",
    "## 2. Where data comes from",
    "Most data comes from you, when you register, pay, or write to us.",
    "Some data is produced by your use of the services, such as the time of a request and the features used.",
    "## 3. What we collect",
    "We collect account data, usage data, payment data and the content of support conversations.",
    "Children: Our services are not directed to people under 16, and we do not knowingly collect their personal data.",
    "We do not buy data about you from brokers.",
    "## 4. How we share personal data",
    "We share personal data only as described in this section. We require every recipient to protect it to the standard set out in this notice.",
    "4.2 We will not share your usage data with third parties without your consent. Aggregated statistics that cannot identify you are not usage data.",
    "4.3 Service providers process personal data on our behalf, under written instructions, and may not use it for their own purposes.",
    "4.4 We disclose personal data where the law requires it and we will tell you first unless we are forbidden to.",
    "## 5. International transfers",
    "Data is stored in the European Economic Area. Transfers elsewhere rest on standard contractual clauses.",
    "A copy of the clauses is available on request.",
    "## 6. How long we keep it",
    "We keep account records for as long as your account is open and for 12 months afterwards. Backups are overwritten after 35 days.",
    "You may ask us to erase your data sooner; section 8 explains how.",
    "## 7. Security",
    "We protect personal data with encryption in transit and at rest.",
    "Access is limited to staff who need it and is recorded.",
    "## 8. Your rights",
    "You may ask for access, correction, erasure and portability, and you may object to processing.",
    "We answer within one month.",
    "## 9. Changes to this notice",
    "We will publish changes to this notice on this page.",
    "## 10. Contact",
    "Write to privacy@halden.example or to our registered office.",
]
CERTIFICATES = [
    "# Approved suppliers and certificates",
    "Every supplier on this list holds a certificate that we have checked against the register of its issuer.",
    "* Abrel Mills · BRCGS Food Safety · AB-40031 · valid to 30 Jun 2027",
    "* Brunvik Grain · ISO 22000 · BG-10448 · valid to 11 May 2027",
    "* Kelder Oils · ISO 22000 · KO-88120 · valid to 14 Mar 2027",
    "* Lysne Seafood · MSC Chain of Custody · LS-51907 · valid to 31 Dec 2026",
    "* Marrow & Finch · Organic EU 2018/848 · MF-20418 · valid to 30 Nov 2026",
    "* Nordale Dairy · FSSC 22000 · ND-77340 · valid to 02 Sep 2027",
    "* Oster Grain · ISO 22000 · OG-11874 · valid to 11 May 2027",
    "* Pelmar Fruit · GLOBALG.A.P. · PF-30127 · valid to 19 Aug 2027",
    "## Notes",
    "This list is updated as certificates are issued, renewed or withdrawn, and was last reviewed by the quality team in October.",
]
GERMAN = [
    "# Lieferkettenerklärung",
    "Die Alpenrad Werke bekennen sich zu ihrer Verantwortung für Menschen und Umwelt entlang der gesamten Lieferkette.",
    "## 1. Grundsätze",
    "Wir achten die international anerkannten Menschenrechte und erwarten dies auch von unseren Geschäftspartnern.",
    "## 2. Sorgfaltspflichten",
    "Alle unmittelbaren Zulieferer verpflichten sich vertraglich zur Einhaltung des Verhaltenskodex. Verstöße werden dokumentiert.",
    "Die Risikoanalyse wird jährlich sowie anlassbezogen durchgeführt und vom Vorstand gebilligt.",
    "## 3. Beschwerdeverfahren",
    "Hinweise nehmen wir vertraulich entgegen und beantworten sie innerhalb von 14 Tagen.",
]
JAPANESE = [
    "# プライバシーポリシー",
    "汐見クラウド株式会社（以下「当社」）は、お客様の個人情報を適切に取り扱います。",
    "## 1. 利用目的",
    "当社は、サービスの提供、料金の請求およびお問い合わせへの対応のために個人情報を利用します。",
    "## 2. 第三者提供",
    "利用状況に関する情報は、ご本人の同意を得た場合に限り、第三者に提供します。統計情報はこの限りではありません。",
    "法令に基づく場合は、事前にお知らせしたうえで開示します。",
    "## 3. 保存期間",
    "アカウント情報は、契約終了後12か月間保存します。",
]
TERMS = [
    "# Terms of service",
    "These terms govern your use of Pelago Pay and form a contract between you and Pelago Payments Ltd.",
    "## Fees",
    "Fees are due within 30 days of the invoice.",
    "## Disputes",
    "Disputes are resolved in the courts of your country of residence. You may also contact the ombudsman.",
    "## Ending the contract",
    "Either side may end this contract with one month's notice.",
]
COOKIES = [
    "# Cookie policy",
    "We set cookies that the service needs, and no others.",
    "Last updated: 14 November 2026.",
]


@dataclass(frozen=True, slots=True)
class Story:
    """A fictional page and what became of it. `edits` are (find, replace); None takes the paragraph out."""

    name: str
    site: str
    host: str
    page_type: str
    lang: str
    lines: list[str]
    edits: list[tuple[str, str | None]]
    hours: float
    priority: int
    score: float
    kind: str = "content"
    moves: tuple[int, int] | None = None


STORIES = [
    Story("Terms of service", "Pelago Pay", "pelago.example", "Terms", "en", TERMS,
          [("in the courts of your country of residence", "by binding arbitration in Valletta"), ("30 days", "14 days")], 27, 2, 0.94),
    Story("Lieferkettenerklärung", "Alpenrad Werke", "alpenrad.example", "Sustainability", "de", GERMAN,
          [("verpflichten sich vertraglich zur Einhaltung des Verhaltenskodex",
            "bestätigen die Kenntnisnahme des Verhaltenskodex im Rahmen einer Selbstauskunft"),
           ("innerhalb von 14 Tagen", "in angemessener Frist")], 5, 2, 0.87),
    Story("Privacy notice", "Halden Cloud", "halden.example", "Privacy policy", "en", PRIVACY,
          [("will not share your usage data with third parties without your consent",
            "may share your usage data with our affiliates and selected advertising partners unless you opt out in account settings"),
           ("12 months afterwards.", "24 months afterwards. Support conversations are kept for five years.")],
          2, 2, 0.91, moves=(11, 28)),
    Story("Approved suppliers and certificates", "Orrin Foods", "orrin.example", "Certificate list", "en", CERTIFICATES,
          [("Lysne Seafood", None), ("30 Nov 2026", "31 Jan 2027"),
           ("This list is updated as certificates are issued, renewed or withdrawn, and was last reviewed by the quality team in October.",
            "The quality team reads this page monthly. Entries under renewal stay until a decision is made.")], 2, 2, 0.83),
    Story("Responsible sourcing", "Cordell Textiles", "cordell.example", "Sustainability", "en",
          ["# Responsible sourcing", "We audit mills every year and publish the results.", "Wages are checked against local living costs."],
          [("audit mills every year", "audit tier-one mills every two years")], 51, 1, 0.68),
    Story("Circular 14/2026, notes for reporting firms", "Meridian Conduct Authority", "meridian.example", "Regulator page", "en",
          ["# Circular 14/2026", "Firms submit the return by 31 March.", "Late returns carry a fee."],
          [("by 31 March", "within 20 working days of the period end")], 21, 1, 0.72),
    Story("プライバシーポリシー", "汐見クラウド", "shiomi.example", "Privacy policy", "ja", JAPANESE,
          [("ご本人の同意を得た場合に限り、第三者に提供します", "第三者に提供することがあります"), ("12か月間", "24か月間")], 5, 1, 0.88),
    Story("Cookie policy", "Brunvik Energi", "brunvik.example", "Privacy policy", "en", COOKIES,
          [("14 November", "21 November")], 49, 0, 0.52, "audit"),
    Story("Supplier code of conduct", "Fennick Group", "fennick.example", "Sustainability", "en",
          ["# Supplier code of conduct", "Suppliers shall not employ anyone under 15.", "The hotline is open at all hours."],
          [("shall not employ anyone under 15", "should avoid employing anyone under 15")], 0.4, 1, 0.79),
]  # fmt: skip


def to_html(lines: list[str], *, lang: str, title: str, site: str, clock: str = "") -> str:
    """A fictional page from lines: `#` headings, `*` list entries, else paragraphs."""
    parts, in_list = [], False
    for line in lines:
        item = line.startswith("* ")
        if item and not in_list:
            parts.append("<ul>")
        if in_list and not item:
            parts.append("</ul>")
        in_list = item
        if line.startswith("## "):
            parts.append(f"<h2>{line[3:]}</h2>")
        elif line.startswith("# "):
            parts.append(f"<h1>{line[2:]}</h1>")
        elif item:
            parts.append(f"<li>{line[2:].replace('&', '&amp;')}</li>")
        else:
            parts.append(f"<p>{line.replace('&', '&amp;')}</p>")
    if in_list:
        parts.append("</ul>")
    style = (
        "body{margin:0;font:15px/1.65 Verdana,Arial,'DejaVu Sans',sans-serif;color:#222}"
        "header{background:#17324d;color:#fff;padding:12px 18px}main{padding:10px 18px 60px;max-width:720px}"
        "h1{font-size:23px}h2{font-size:16px;margin:22px 0 4px}p{margin:8px 0}"
    )
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title><style>{style}</style></head>'
        f"<body><header><b>{site}</b></header><main>{''.join(parts)}</main>"
        f"<footer><p>© {site} {clock}</p></footer></body></html>"
    )


def edited(story: Story) -> list[str]:
    """The page's lines after what happened to it."""
    lines = list(story.lines)
    if story.moves:
        taken = lines.pop(story.moves[0])
        lines.insert(story.moves[1], taken)
    for old, new in story.edits:
        where = next(i for i, line in enumerate(lines) if old in line)
        if new is None:
            lines.pop(where)
        else:
            lines[where] = lines[where].replace(old, new)
    return lines


def _slug(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")


def make_people(team: Team) -> dict[str, User]:
    """One person of each role."""
    from django.contrib.auth.models import Group, User

    people = {}
    for name, first, last, role in (
        ("ines", "Ines", "Toth", "lead"),
        ("mara", "Mara", "Klein", "analyst"),
        ("otto", "Otto", "Lind", "auditor"),
        ("ada", "Ada", "Moreau", "admin"),
    ):
        user = User.objects.filter(username=name).first() or User.objects.create_user(
            name, f"{name}@example.test", PASSWORD, first_name=first, last_name=last
        )
        user.is_staff = role == "admin"
        user.save()
        user.groups.add(Group.objects.get_or_create(name=role)[0])
        team.members.add(user)
        people[name] = user
    return people


def make_monitor(story: Story, team: Team, page_type: PageType, now: datetime) -> Monitor:
    """The story's monitor, read and quiet for months."""
    from monitoring.models import Monitor, Site, Vantage

    site, _ = Site.objects.get_or_create(host=story.host, defaults={"name": story.site})
    vantage, _ = Vantage.objects.get_or_create(name="fra-2", defaults={"country": "DE", "language": "de-DE,de;q=0.8"})
    return Monitor.objects.create(
        name=story.name,
        url=f"https://www.{story.host}/legal/{_slug(story.name) or 'privacy'}",
        site=site,
        team=team,
        page_type=page_type,
        vantage=vantage,
        state="ok",
        state_since=now - timedelta(days=200),
        next_check_at=now + timedelta(hours=3, minutes=12),
        last_checked_at=now - timedelta(hours=story.hours),
        last_ok_at=now - timedelta(hours=story.hours),
        plan_reason="fixed-interval",
    )


def make_history(monitor: Monitor, now: datetime, rng: random.Random) -> None:
    """A year of checks: mostly noise and nothing."""
    from monitoring.models import Check

    rows = []
    for number in range(1, 101):
        at = now - timedelta(days=360 - 3.5 * number, minutes=rng.randrange(600))
        noisy = rng.random() < 0.6
        rows.append(
            Check(
                monitor=monitor,
                check_no=number,
                started_at=at,
                duration_ms=rng.randrange(80, 300),
                outcome="noise" if noisy else "none",
                status=200,
                size_bytes=41_200,
                distance=rng.randrange(1, 4) if noisy else 0,
                threshold=3,
                score=min(0.49, abs(rng.gauss(0.14, 0.1))) if noisy else 0.0,
                cut=0.45 if number < 55 else 0.5,
                reasons=[{"code": "left-out-volatile-pattern", "text": "1 block left out.", "data": {"blocks": 1}}]
                if noisy
                else [],
                detector_version="1",
            )
        )
    Check.objects.bulk_create(rows)
    monitor.check_no = 101
    monitor.save(update_fields=["check_no"])


def make_story(story: Story, team: Team, now: datetime, rng: random.Random, number: int) -> Change:
    """The story as monitor, history, two snapshots and one waiting change with its real diff."""
    from monitoring import storage
    from monitoring.detection.diff import diff, diff_hash
    from monitoring.detection.read import read
    from monitoring.models import Change, Check, PageType, Snapshot
    from monitoring.services import searching

    page_type, _ = PageType.objects.get_or_create(
        slug=_slug(story.page_type), defaults={"name": story.page_type, "weight": 1.0 + story.priority}
    )
    monitor = make_monitor(story, team, page_type, now)
    make_history(monitor, now, rng)
    before = to_html(story.lines, lang=story.lang, title=story.name, site=story.site, clock="2026")
    after = to_html(edited(story), lang=story.lang, title=story.name, site=story.site, clock="2026")
    at = now - timedelta(hours=story.hours)
    snapshots = []
    for html, role, taken in ((before, "baseline", at - timedelta(days=14)), (after, "change", at)):
        snapshots.append(
            Snapshot.objects.create(
                monitor=monitor,
                role=role,
                payload=storage.put(html.encode()),
                taken_at=taken,
                duration_ms=184,
                url=monitor.url,
                final_url=monitor.url,
                status=200,
                headers=[
                    ["etag", f'W/"9f3c-{rng.randrange(9999):04x}"'],
                    ["last-modified", taken.strftime("%a, %d %b %Y %H:%M:%S GMT")],
                    ["content-type", "text/html; charset=utf-8"],
                ],
                content_type="text/html",
                charset="utf-8",
                language=story.lang,
                vantage={"name": "fra-2", "country": "DE", "language": "de-DE"},
                title=story.name,
                detector_version="1",
                product_version="0.1.0",
            )
        )
    old, new = read(before), read(after)
    document = diff(old, new)
    check = Check.objects.create(
        monitor=monitor,
        check_no=101,
        started_at=at,
        duration_ms=184,
        outcome="content",
        status=200,
        size_bytes=len(after),
        distance=6 + number,
        threshold=3,
        score=story.score,
        cut=0.5,
        detector_version="1",
    )
    monitor.baseline = snapshots[0]
    monitor.save(update_fields=["baseline"])
    return Change.objects.create(
        monitor=monitor,
        check_row=check,
        prior=snapshots[0],
        new=snapshots[1],
        kind=story.kind,
        opened_at=at,
        updated_at=at,
        priority=story.priority,
        score=story.score,
        cut=0.5,
        distance=6 + number,
        threshold=3,
        reasons=[
            {
                "code": "changed",
                "text": "2 blocks changed.",
                "data": {"blocks": max(1, int(document.get("places", 1))), "visits": 61, "days": 212},
            },
            {"code": "score", "text": "", "data": {"score": story.score, "cut": 0.5}},
            {"code": "distance", "text": "", "data": {"distance": 6 + number, "threshold": 3}},
            {"code": "left-out-volatile-pattern", "text": "", "data": {"blocks": 1}},
        ],
        flags=["blocked-before"] if number == 0 else [],
        diff=document,
        diff_hash=diff_hash(document),
        say=document.get("say", {}).get("segments", []),
        added=int(document.get("added", 0)),
        removed=int(document.get("removed", 0)),
        places=int(document.get("places", 0)),
        search_text=searching.of_change(monitor, f"{old.text} {new.text}", limit=8_000),
    )


def seed(now: datetime | None = None) -> dict[str, User]:
    """Fill an empty database; gives the people by name."""
    from monitoring.models import Team
    from review.models import Assignment

    now = now or datetime.now(UTC)
    rng = random.Random(7)
    team, _ = Team.objects.get_or_create(name="Compliance")
    people = make_people(team)
    changes = [make_story(story, team, now, rng, number) for number, story in enumerate(STORIES)]
    for index, name in ((1, "mara"), (2, "ines"), (3, "ines"), (5, "mara")):
        Assignment.objects.create(change=changes[index], assignee=people[name], assigned_by=people["ada"])
    return people


def past_verdicts(people: dict[str, User], now: datetime | None = None) -> None:
    """Decided changes of the last months, so that charts, log and calibration have something to show."""
    from monitoring.models import Change, Check, Monitor
    from review.models import Verdict

    now = now or datetime.now(UTC)
    rng = random.Random(11)
    for monitor in Monitor.objects.select_related("page_type"):
        template = monitor.changes.first()
        if template is None:
            continue
        for index in range(12):
            at = now - timedelta(days=12 + index * 13, hours=rng.randrange(20))
            approve = rng.random() < 0.55
            score = min(0.99, max(0.5, rng.gauss(0.82 if approve else 0.58, 0.07)))
            check = Check.objects.create(
                monitor=monitor, check_no=1000 + index, started_at=at, outcome="content", status=200,
                score=score, cut=0.5, distance=rng.randrange(4, 14), threshold=3, detector_version="1",
            )  # fmt: skip
            change = Change.objects.create(
                monitor=monitor, check_row=check, prior=template.prior, new=template.new, kind="content",
                state="approved" if approve else "dismissed", version=2, opened_at=at, updated_at=at,
                closed_at=at + timedelta(hours=5), score=score, cut=0.5, distance=check.distance, threshold=3,
                diff=template.diff, diff_hash=template.diff_hash, say=template.say, added=template.added,
                removed=template.removed, places=template.places,
            )  # fmt: skip
            Verdict.objects.create(
                change=change, actor=people["ines" if index % 2 else "mara"], action="approve" if approve else "dismiss",
                reason="" if approve else rng.choice(["date", "furniture", "rotating"]), state_before="open",
                version_seen=1, diff_hash=change.diff_hash, score=score, distance=check.distance,
                seconds_on_screen=9.0, idempotency_key=f"seed-{monitor.pk}-{index}", at=at + timedelta(hours=5),
            )  # fmt: skip


def more_shapes(people: dict[str, User], now: datetime | None = None) -> None:
    """A blocked monitor, one not yet read, and a price that changed."""
    from monitoring.models import Check, Monitor, PageType, Site, Team, Vantage

    now = now or datetime.now(UTC)
    team = Team.objects.get(name="Compliance")
    vantage = Vantage.objects.get(name="fra-2")
    product, _ = PageType.objects.get_or_create(slug="product-page", defaults={"name": "Product page"})
    site, _ = Site.objects.get_or_create(host="tarn.example", defaults={"name": "Tarn Outdoor"})
    common = {"site": site, "team": team, "page_type": product, "vantage": vantage}
    blocked = Monitor.objects.create(
        name="Shipping terms", url="https://www.tarn.example/shipping", state="blocked",
        state_since=now - timedelta(days=2), next_check_at=now + timedelta(hours=1), **common,
    )  # fmt: skip
    Monitor.objects.create(name="Returns", url="https://www.tarn.example/returns", next_check_at=now, **common)
    product_page = Monitor.objects.create(
        name="Trail jacket", url="https://www.tarn.example/jacket", state="ok",
        fields={"price": {"type": "price", "value": "79.00", "currency": "EUR"}, "stock": {"type": "availability", "value": "in stock"}},
        next_check_at=now + timedelta(minutes=40), **common,
    )  # fmt: skip
    for index in range(3):
        Check.objects.create(
            monitor=blocked, check_no=index + 1, started_at=now - timedelta(hours=4 * index + 1), outcome="blocked",
            reason="challenge", detail="A challenge page stood where the page should be.", status=403, detector_version="1",
        )  # fmt: skip
    price_history(product_page, now)
    out_of_the_ordinary(site, now)


def out_of_the_ordinary(site: Site, now: datetime) -> None:
    """Days of every site added up, and an alarm of one that blocks us."""
    from monitoring.models import Alarm
    from monitoring.services import watching

    watching.fold(now=now)
    Alarm.objects.create(
        site=site, kind="blocked", since=now, looks=3, looked_at=now, began_at=now - timedelta(days=2),
        raised_at=now - timedelta(days=2), told_at=now, facts={"share": 1.0, "visits": 3.0},
    )  # fmt: skip


def price_history(monitor: Monitor, now: datetime) -> None:
    """A price over half a year, and whether the thing was to be had."""
    from monitoring.models import Check, FieldChange

    def price(amount: str) -> dict[str, str]:
        return {"type": "price", "value": amount, "currency": "EUR"}

    def stock(words: str) -> dict[str, str]:
        return {"type": "availability", "value": words}

    story = [
        (150, "price", price("94.00"), price("99.00")), (121, "stock", stock("in stock"), stock("out of stock")),
        (96, "stock", stock("out of stock"), stock("in stock")), (74, "price", price("99.00"), price("84.00")),
        (30, "price", price("84.00"), price("89.00")), (0, "price", price("89.00"), price("79.00")),
    ]  # fmt: skip
    for number, (days, name, old, new) in enumerate(story, start=1):
        at = now - timedelta(days=days, hours=1)
        check = Check.objects.create(
            monitor=monitor, check_no=number, started_at=at, outcome="field", status=200, detector_version="1"
        )
        FieldChange.objects.create(
            monitor=monitor, check_row=check, name=name, type=old["type"], state="changed", old=old, new=new,
            text=f"{name}: {old['value']} -> {new['value']}", important=name == "price", at=at,
        )  # fmt: skip
    monitor.page_type.field_rules.get_or_create(
        name="price", defaults={"source": "jsonld", "selector": "offers.price", "type": "price", "important": True}
    )


def facts() -> dict[str, int]:
    """How many rows there are; printed by the command."""
    from monitoring.models import Change, Monitor

    return {"monitors": Monitor.objects.count(), "changes": Change.objects.count()}


def plantings(now: datetime | None = None) -> None:
    """Our canaries with thirty plantings each, of which one was missed a while ago and one just now."""
    from monitoring.models import Canary, Planting
    from monitoring.services import canary_setup

    now = now or datetime.now(UTC)
    canary_setup.ensure(now=now)
    Canary.objects.update(looked_at=now)
    for canary in Canary.objects.all():
        for back in range(30):
            at = now - timedelta(hours=back + 1)
            missed = (canary.key, back) in {("entry", 9), ("challenge", 0)}
            Planting.objects.create(
                canary=canary, planted_at=at, state="wrong" if missed else "seen", seen="none" if missed else canary.expected,
                seen_at=at + timedelta(minutes=4), score=0.81 if canary.expected == "content" else None,
            )  # fmt: skip


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    made = seed()
    past_verdicts(made)
    more_shapes(made)
    plantings()
    print(facts())

"""The fictional pages: their text, and what is edited in it when.

All companies, people and offices here are made up. An edit is a plain replacement in the page's body that takes effect
so many seconds after the workspace was made; the noise around the body is another matter (see `noise`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """From `at_s` seconds on, `old` reads `new`."""

    at_s: int
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePage:
    """One page under watch. `blocked` is a span of seconds in which a block page is served; `gone_at_s` ends it."""

    slug: str
    site: str
    title: str
    lang: str
    page_type: str
    body: str
    edits: tuple[Edit, ...] = ()
    blocked: tuple[int, int] | None = None
    gone_at_s: int | None = None
    head: str = ""
    kind: str = "article"

    def text_at(self, elapsed_s: float) -> tuple[str, str]:
        """Head and body as they read after so many seconds."""
        head, body = self.head, self.body
        for edit in self.edits:
            if elapsed_s >= edit.at_s:
                head, body = head.replace(edit.old, edit.new), body.replace(edit.old, edit.new)
        return head, body


def _paragraphs(*parts: str) -> str:
    """Parts that start with "#" are headings, with "-" list items; the rest are paragraphs."""
    out: list[str] = []
    in_list = False
    for part in parts:
        item = part.startswith("- ")
        if item != in_list:
            out.append("<ul>" if item else "</ul>")
            in_list = item
        if item:
            out.append(f"<li>{part[2:]}</li>")
        elif part.startswith("# "):
            out.append(f"<h2>{part[2:]}</h2>")
        else:
            out.append(f"<p>{part}</p>")
    if in_list:
        out.append("</ul>")
    return "\n".join(out)


HALDEN_PRIVACY = SamplePage(
    slug="halden/privacy",
    site="Halden Cloud",
    title="Privacy notice",
    lang="en",
    page_type="privacy-policy",
    body=_paragraphs(
        "Halden Cloud AB runs file storage for small firms. This notice says which personal data we hold, why, and what you can do about it. It applies to customers, to people who visit our pages and to everyone who writes to us.",
        "# 1. Who is responsible",
        "Halden Cloud AB, Ragnvalds gata 14, Karlskrona, is the controller. Our data protection officer answers at the same address and reads every letter herself.",
        "# 2. What we collect",
        "We hold the name, e-mail address and invoice address of each account, and a record of which device signed in when. The files you store are yours: they are encrypted before they reach our disks, and we hold no key.",
        "When you write to support, we keep the conversation together with the notes our staff made while they looked into it.",
        "# 3. Why we use it",
        "- To provide the service that you ordered and to send you its invoices",
        "- To find out why something broke, and to keep others from breaking in",
        "- To meet what bookkeeping law asks of us",
        "# 4. How we share it",
        "We work with three processors: a printing house for invoices, a company that answers the telephone at night, and the data centre itself. Each of them acts on written instructions.",
        "We will not share your usage data with third parties without your consent. Figures that cannot be traced to a person are not usage data.",
        "Where a court orders us to hand something over, we tell you first unless the order forbids it.",
        "# 5. How long we keep it",
        "Account records stay for as long as the account is open and for 12 months afterwards. Support conversations are erased after two years. Backups are overwritten after 35 days.",
        "# 6. Your rights",
        "You may see, correct, export and erase what we hold about you. Write to us, and a person answers within ten days. If the answer does not satisfy you, the supervisory authority of your country will hear your complaint.",
        "# 7. Changes to this notice",
        "We publish changes here and mail them to account owners thirty days before they take effect.",
    ),
    edits=(
        Edit(50, "We will not share your usage data", "We will share your usage data"),
        Edit(2400, "and for 12 months afterwards", "and for 24 months afterwards"),
    ),
)

ORRIN_CERTIFICATES = SamplePage(
    slug="orrin/certificates",
    site="Orrin Foods",
    title="Approved suppliers and certificates",
    lang="en",
    page_type="certificate-list",
    body=_paragraphs(
        "The suppliers below hold a valid certificate for the goods named. A supplier whose certificate has lapsed is taken off this list on the same day and may not be ordered from.",
        "# Cocoa and coffee",
    )
    + """
<table class="certs"><thead><tr><th>Supplier</th><th>Standard</th><th>Number</th><th>Valid until</th></tr></thead><tbody>
<tr><td>Asante Growers Union</td><td>Fair Harvest 3.1</td><td>FH-20417</td><td>2027-03-31</td></tr>
<tr><td>Cooperativa Río Claro</td><td>Fair Harvest 3.1</td><td>FH-20533</td><td>2027-08-15</td></tr>
<tr><td>Lamington Estates</td><td>Shade Grown B</td><td>SG-B-1180</td><td>2026-12-31</td></tr>
<tr><td>Nyeri Highland Mills</td><td>Shade Grown A</td><td>SG-A-0962</td><td>2027-05-30</td></tr>
</tbody></table>
<h2>Palm and nut oils</h2>
<table class="certs"><thead><tr><th>Supplier</th><th>Standard</th><th>Number</th><th>Valid until</th></tr></thead><tbody>
<tr><td>Bukit Hijau Processing</td><td>Clear Origin 2</td><td>CO2-77120</td><td>2027-01-20</td></tr>
<tr><td>Harrow and Tain</td><td>Clear Origin 2</td><td>CO2-77348</td><td>2027-09-01</td></tr>
<tr><td>Selva Verde Oils</td><td>Clear Origin 2</td><td>CO2-76904</td><td>2027-02-28</td></tr>
</tbody></table>
"""
    + _paragraphs(
        "# How we check",
        "Twice a year an auditor who is paid by none of the parties visits a third of the suppliers. Her reports are open to customers on request.",
    ),
    edits=(
        Edit(
            58, "<tr><td>Selva Verde Oils</td><td>Clear Origin 2</td><td>CO2-76904</td><td>2027-02-28</td></tr>\n", ""
        ),
        Edit(3600, "<td>SG-B-1180</td><td>2026-12-31</td>", "<td>SG-B-1180</td><td>2027-12-31</td>"),
    ),
)

BRUNVIK_KETTLE = SamplePage(
    slug="brunvik/kettle",
    site="Brunvik Husgeråd",
    title="Fjäll kettle, 1.7 litres",
    lang="en",
    page_type="product-page",
    kind="product",
    head="""<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Fjäll kettle, 1.7 litres","sku":"BR-4417","offers":{"@type":"Offer","price":"89.00","priceCurrency":"EUR","availability":"https://schema.org/InStock"}}</script>""",
    body="""<div class="buy"><p class="price">€ 89.00</p><p class="stock">In stock, sent within two days</p><button type="button">Add to basket</button></div>
"""
    + _paragraphs(
        "A kettle that boils quietly and stops by itself. The body is brushed steel, the handle stays cool, and the lid opens wide enough for a hand and a cloth.",
        "# Details",
        "- Holds 1.7 litres, boils one litre in 2 minutes 40 seconds",
        "- Keeps 60, 80 or 95 degrees for half an hour",
        "- Filter can be taken out and rinsed",
        "- Cable of 75 centimetres winds up under the base",
        "# Warranty",
        "Five years on the heating element, two years on everything else. Spare lids, filters and bases are kept in store for ten years after the last kettle of a series was sold.",
    ),
    edits=(Edit(54, "89.00", "79.00"), Edit(2700, "79.00", "84.00")),
)

PELAGO_TERMS = SamplePage(
    slug="pelago/terms",
    site="Pelago Pay",
    title="Terms of service",
    lang="en",
    page_type="terms",
    body=_paragraphs(
        "These terms govern the use of Pelago Pay by merchants. By taking a payment through us you accept them in the wording that stood here on that day.",
        "# 1. Account",
        "An account belongs to one business. You name the people who may act for it, and you tell us within five days when one of them leaves.",
        "# 2. Fees",
        "We charge 1.4 per cent and 25 cents for each card payment, and nothing for a payment that fails. A refund returns the percentage but not the fixed part.",
        "# 3. Payouts",
        "Money reaches your bank account on the second working day after the payment. We may hold a payout back for up to ten days where a sale looks unlike your others, and we tell you when we do.",
        "# 4. Disputes with card holders",
        "When a card holder disputes a payment you have fourteen days to send us what shows that the goods were delivered.",
        "# 5. Liability",
        "We answer for damage that we cause by intent or gross neglect, and for slight neglect up to the fees of the last twelve months.",
        "# 6. Law and courts",
        "Disputes are resolved in the courts of your country of residence. Maltese law applies where your own has no rule that you may not waive.",
        "# 7. Ending the contract",
        "Either side may end the contract with thirty days' notice. We end it at once where a law obliges us to.",
    ),
    edits=(Edit(900, "in the courts of your country of residence", "by binding arbitration in Valletta"),),
)

PELAGO_PARTNERS = SamplePage(
    slug="pelago/partners",
    site="Pelago Pay",
    title="Partner programme",
    lang="en",
    page_type="terms",
    body=_paragraphs(
        "Partners bring merchants to Pelago Pay and keep a share of the fees for two years.",
        "# Who can join",
        "Accountants, shop builders and payment advisers with a registered business in the Union may join. There is no fee and no least number of merchants.",
        "# What partners receive",
        "A fifth of the percentage fee of each merchant they brought, paid out every quarter once it comes to fifty euros.",
        "# Conduct",
        "Partners describe our fees as they stand in the terms of service, disclose that they are paid, and do not bid on our name in search engines.",
    ),
    gone_at_s=60,
)

ALPENRAD_SUPPLY = SamplePage(
    slug="alpenrad/lieferkette",
    site="Alpenrad Werke",
    title="Lieferkettenerklärung",
    lang="de",
    page_type="sustainability-statement",
    body=_paragraphs(
        "Die Alpenrad Werke bauen Fahrräder und Lastenanhänger in Immenstadt. Diese Erklärung beschreibt, wie wir darauf achten, dass Menschenrechte und Umwelt in unserer Lieferkette gewahrt bleiben.",
        "# Grundsätze",
        "Wir kaufen nur bei Betrieben, deren Arbeitsbedingungen wir kennen. Kinderarbeit, Zwangsarbeit und die Behinderung von Gewerkschaften führen zum sofortigen Ende der Zusammenarbeit.",
        "# Zulieferer",
        "Alle unmittelbaren Zulieferer verpflichten sich vertraglich zur Einhaltung des Verhaltenskodex. Mittelbare Zulieferer werden nach Risiko ausgewählt und stichprobenweise besucht.",
        "Im vergangenen Geschäftsjahr haben wir 41 Betriebe besucht, davon sieben ohne Ankündigung. In drei Fällen wurden Mängel beim Brandschutz festgestellt und innerhalb von acht Wochen behoben.",
        "# Rohstoffe",
        "Aluminium beziehen wir zu 62 Prozent aus Wiederverwertung. Für Naturkautschuk liegt seit zwei Jahren ein Herkunftsnachweis für jede Lieferung vor.",
        "# Beschwerden",
        "Hinweise nimmt eine unabhängige Ombudsfrau entgegen, auf Wunsch ohne Namen und in elf Sprachen. Niemand erleidet durch einen Hinweis einen Nachteil.",
        "# Verantwortung",
        "Die Geschäftsleitung berät viermal im Jahr über diesen Bericht; der Betriebsrat erhält ihn vorab.",
    ),
    edits=(
        Edit(
            52,
            "verpflichten sich vertraglich zur Einhaltung des Verhaltenskodex",
            "bestätigen die Kenntnisnahme des Verhaltenskodex im Rahmen einer Selbstauskunft",
        ),
    ),
)

SEEBLICK_PRIVACY = SamplePage(
    slug="seeblick/datenschutz",
    site="Seeblick Bank",
    title="Datenschutzerklärung",
    lang="de",
    page_type="privacy-policy",
    body=_paragraphs(
        "Der Schutz Ihrer Daten ist Teil des Bankgeheimnisses. Im Folgenden erfahren Sie, welche Daten wir verarbeiten, wenn Sie unsere Seiten besuchen oder ein Konto bei uns führen.",
        "# Verantwortliche Stelle",
        "Seeblick Bank eG, Uferstraße 3, Lindau. Den Datenschutzbeauftragten erreichen Sie unter derselben Anschrift.",
        "# Besuch unserer Seiten",
        "Unser Server hält für sieben Tage fest, welche Seite wann abgerufen wurde. Die Adresse Ihres Anschlusses wird dabei um die letzten Stellen gekürzt.",
        "# Kontoführung",
        "Für die Führung Ihres Kontos verarbeiten wir Stammdaten, Umsätze und die Angaben, die das Geldwäschegesetz verlangt. Eine Weitergabe zu Werbezwecken findet nicht statt.",
        "# Speicherdauer",
        "Buchungsbelege bewahren wir zehn Jahre auf, Beratungsprotokolle fünf Jahre. Danach werden sie gelöscht.",
        "# Ihre Rechte",
        "Sie können Auskunft, Berichtigung, Löschung und Übertragung verlangen und der Verarbeitung widersprechen. Zuständig für Beschwerden ist die Aufsichtsbehörde in Ansbach.",
    ),
    edits=(Edit(1500, "für sieben Tage fest", "für dreißig Tage fest"),),
)

KRANICH_TERMS = SamplePage(
    slug="kranich/agb",
    site="Kranich Reisen",
    title="Allgemeine Geschäftsbedingungen",
    lang="de",
    page_type="terms",
    body=_paragraphs(
        "Diese Bedingungen gelten für Pauschalreisen der Kranich Reisen GmbH. Abweichende Vereinbarungen bedürfen der Textform.",
        "# Abschluss des Vertrags",
        "Mit der Buchung bieten Sie uns den Abschluss eines Reisevertrags an. Er kommt mit unserer Bestätigung zustande.",
        "# Zahlung",
        "Mit Erhalt des Sicherungsscheins wird eine Anzahlung von 20 Prozent fällig, der Rest vier Wochen vor Reisebeginn.",
        "# Rücktritt",
        "Sie können jederzeit zurücktreten. Bis zum 31. Tag vor Reisebeginn beträgt die Entschädigung 20 Prozent, danach steigt sie bis auf 80 Prozent am Reisetag.",
        "# Haftung",
        "Unsere Haftung für Schäden, die keine Körperschäden sind, ist auf den dreifachen Reisepreis beschränkt, soweit wir sie nicht schuldhaft herbeigeführt haben.",
    ),
    blocked=(56, 1800),
)

HOSHINO_PRIVACY = SamplePage(
    slug="hoshino/privacy",
    site="星野照明",
    title="個人情報保護方針",
    lang="ja",
    page_type="privacy-policy",
    body=_paragraphs(
        "株式会社星野照明（以下「当社」といいます）は、お客様からお預かりした個人情報を大切に扱います。この方針は、当社の通信販売と修理の受付に適用されます。",
        "# 取得する情報",
        "ご注文の際に、お名前、ご住所、電話番号、お届け先を伺います。お支払いの情報は決済会社が保管し、当社は保存しません。",
        "# 利用の目的",
        "お預かりした情報は、商品の発送、修理のご連絡、保証期間の確認のために利用します。",
        "# 第三者への提供",
        "当社は、法令に基づく場合を除き、お客様の同意なく個人情報を第三者に提供しません。配送に必要な範囲に限り、運送会社に住所とお名前を伝えます。",
        "# 保存期間",
        "ご注文の記録は、最後のお取引から三年間保存し、その後、復元できない方法で消去します。",
        "# 開示と訂正",
        "ご本人から開示、訂正、利用停止のお求めがあったときは、二週間以内に書面でお答えします。",
        "# お問い合わせ",
        "個人情報の窓口は総務部です。受付は平日の午前九時から午後五時までです。",
    ),
    edits=(Edit(53, "最後のお取引から三年間保存し", "最後のお取引から十年間保存し"),),
)

HOSHINO_LAMP = SamplePage(
    slug="hoshino/lamp",
    site="星野照明",
    title="卓上灯「宵」",
    lang="ja",
    page_type="product-page",
    kind="product",
    head="""<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Product","name":"卓上灯「宵」","offers":[{"@type":"Offer","price":"18700","priceCurrency":"JPY","availability":"https://schema.org/InStock"}]}]}</script>""",
    body="""<div class="buy"><p class="price">18,700円（税込）</p><p class="stock">在庫あり</p><button type="button">かごに入れる</button></div>
"""
    + _paragraphs(
        "和紙を二重に張った卓上灯です。光は柔らかく、手元を照らすには十分な明るさがあります。",
        "# 仕様",
        "- 高さ三十二センチ、重さ一・四キログラム",
        "- 明るさは四段階、色は電球色",
        "- 和紙は美濃の職人が漉いたもの",
        "# 保証",
        "灯具は三年、和紙の張り替えは一度まで無料で承ります。",
    ),
    edits=(
        Edit(1200, "https://schema.org/InStock", "https://schema.org/OutOfStock"),
        Edit(1200, "在庫あり", "入荷待ち"),
    ),
)

MEASURES_NOTICES = SamplePage(
    slug="measures/notices",
    site="Office for Fair Measures",
    title="Notices to the trade",
    lang="en",
    page_type="regulator-page",
    body=_paragraphs(
        "The Office publishes here what it asks of makers and sellers of measuring instruments. A notice binds from the day named in it.",
        "# Notices in force",
        "- Notice 14 of 2026: shop scales above 15 kilograms carry the inspection mark on the front, from 1 March 2026",
        "- Notice 11 of 2026: fuel dispensers show the price of the last sale until the nozzle is lifted again, from 1 February 2026",
        "- Notice 32 of 2025: water meters may be read at a distance only where the household has agreed in writing, from 1 October 2025",
        "- Notice 27 of 2025: tape measures of class III may no longer be used in trade, from 1 September 2025",
        "# How to comment",
        "Drafts stand open for eight weeks. Comments are published with the name of the sender unless there is a reason not to.",
        "# Enforcement",
        "Inspectors visit without notice. A first breach leads to a written warning, a second to a charge of up to two per cent of the yearly turnover.",
    ),
    edits=(
        Edit(
            56,
            "- Notice 14 of 2026".replace("- ", "<li>"),
            "<li>Notice 15 of 2026: taxi meters are sealed again after every change of tyre size, from 1 July 2026</li>\n<li>Notice 14 of 2026",
        ),
    ),
)

HARBOUR_HOME = SamplePage(
    slug="harbour/home",
    site="The Harbour Post",
    title="The Harbour Post",
    lang="en",
    page_type="news-home-page",
    kind="news",
    body=_paragraphs(
        "# About this paper",
        "The Harbour Post has been printed in Skerry Bay since 1911 and is owned by those who read it. Letters are answered, corrections are printed on the page where the mistake stood.",
    ),
)

PAGES: tuple[SamplePage, ...] = (
    HALDEN_PRIVACY,
    ORRIN_CERTIFICATES,
    BRUNVIK_KETTLE,
    PELAGO_TERMS,
    PELAGO_PARTNERS,
    ALPENRAD_SUPPLY,
    SEEBLICK_PRIVACY,
    KRANICH_TERMS,
    HOSHINO_PRIVACY,
    HOSHINO_LAMP,
    MEASURES_NOTICES,
    HARBOUR_HOME,
)

BY_SLUG = {page.slug: page for page in PAGES}

"""The table of volatile fragments: class, language, pattern, what it must match and what it must not.

Patterns are RE2 syntax over *folded* text (see `normalise`): lower case, straight quotes, plain
hyphens, single spaces, compatibility forms resolved. Rows of class `keep` are guards: they are tried
first and protect what merely looks volatile (standard numbers, prices, telephone numbers, sections).
A repetition is bounded unless the row already matches when it begins to repeat: a fragment must never
be scanned far and then given up, or the next search would start over from far back.

Change a row and `VOLATILE_VERSION` goes up: stored fingerprints are only compared within a version.
"""

from __future__ import annotations

from dataclasses import dataclass

VOLATILE_VERSION = 1

KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of fragment. `examples` and `counters` are texts a test walks, before folding.

    An example is matched whole by the row. In a counter-example the row's class is found nowhere.
    `check` names a further condition of `volatile` on the matched text, for what RE2 cannot say.
    """

    cls: str
    lang: str
    pattern: str
    examples: tuple[str, ...]
    counters: tuple[str, ...] = ()
    check: str = ""


_EN_FULL = "january|february|april|june|july|august|september|october|november|december"
_EN = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DE = (
    "jan(?:uar)?|jänner|feb(?:ruar)?|märz|mär|april?|mai|juni?|juli?|aug(?:ust)?"
    "|sept?(?:ember)?|okt(?:ober)?|nov(?:ember)?|dez(?:ember)?"
)
_DE_FULL = "januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
_FR = (
    "janv(?:ier)?|févr?(?:ier)?|fevr?(?:ier)?|mars|avr(?:il)?|mai|juin|juil(?:let)?|août|aout"
    "|sept(?:embre)?|oct(?:obre)?|nov(?:embre)?|déc(?:embre)?|dec(?:embre)?"
)
_FR_FULL = "janvier|février|fevrier|mars|avril|mai|juin|juillet|août|aout|septembre|octobre|novembre|décembre|decembre"
_ES_FULL = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre"
_ES = _ES_FULL + "|ene|feb|mar|abr|may|jun|jul|ago|sept?|oct|nov|dic"
_IT_FULL = "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre"
_IT = _IT_FULL + "|gen|feb|mar|apr|mag|giu|lug|ago|sett?|ott|nov|dic"
_NL_FULL = "januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december"
_NL = _NL_FULL + "|jan|feb|mrt|apr|jun|jul|aug|sept?|okt|nov|dec"
_PT_FULL = "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
_PT = _PT_FULL + "|jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez"
_PL_FULL = (
    "stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|wrzesnia|października"
    "|pazdziernika|listopada|grudnia"
)
_PL = _PL_FULL + "|sty|lut|mar|kwi|maj|cze|lip|sie|wrz|paź|paz|lis|gru"
_PL_NOMINATIVE = "styczeń|luty|marzec|kwiecień|maj|czerwiec|lipiec|sierpień|wrzesień|październik|listopad|grudzień"

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:19|20)\d\d"
_HOUR = r"(?:[01]?\d|2[0-3])"
_COUNT = r"\d{1,9}(?:[.,' ]\d{3}){0,4}(?:[.,]\d{1,2})?"

KEEPS: tuple[Row, ...] = (
    Row(
        KEEP,
        "",
        r"\b(?:iso|iec|din|en|bs|nf|uni|une|nen|pn|jis|ks|gb|astm|ieee|ansi|sae|vda|haccp|ohsas)"
        r"(?:[ /-]{1,3}(?:iso|iec|en|ts|tr|t|tc|pas|q|x|z|f|iatf)){0,3}[ -]{0,2}[a-z]?\d{2,6}"
        r"(?:-\d{1,4}){0,3}(?:[ ]?:[ ]?\d{4}(?:-\d{2})?)?(?:[ ]?[+/][ ]?a[c\d]{1,3}(?::\d{4})?)?",
        (
            "ISO 9001:2015",
            "ISO/IEC 27001:2013",
            "DIN EN ISO 14001:2015-11",
            "EN 71-1:2014",
            "GB/T 19001-2016",
            "JIS Q 9001:2015",
        ),
    ),
    Row(
        KEEP,
        "",
        r"\b\d{4,6}:(?:19|20)\d\d\b",
        ("9001:2015", "27001:2022"),
    ),
    Row(
        KEEP,
        "",
        r"(?:§{1,2}|\b(?:sections?|sec\.|clauses?|articles?|art\.|paragraphs?|para\.|chapters?|annex|appendix"
        r"|rule|regulation|abschnitt|absatz|abs\.|ziffer|ziff\.|nr\.|artikel|kapitel|anlage|anhang"
        r"|alinéa|chapitre|annexe|artículo|sección|apartado|capítulo|articolo|sezione|comma|capo"
        r"|hoofdstuk|lid|artigo|secção|seção|artykuł|rozdział|ust\.|pkt|par\.|no\.|n°|nº|num\.)"
        r"|第|제)[ ]?\d{1,4}(?:[.:/-]\d{1,4}){1,5}[a-z]?\b",
        (
            "§ 13:20",
            "Section 10.12.24",
            "Art. 6.1",
            "clause 12:30",
            "Abschnitt 3.4.21",
            "第10.12.24条",
            "No. 2024-05-17",
        ),
    ),
    Row(
        KEEP,
        "",
        r"\b(?:v|ver\.?|version|release|rel\.|build|firmware|edition|python|revision|rev\.)[ ]?\d{1,6}"
        r"(?:[.:-]\d{1,6}){1,5}\b",
        ("v10.12.24", "Version 2.10.2024", "build 12:30"),
    ),
    Row(KEEP, "", r"\b\d{1,5}(?:\.\d{1,5}){3,7}\b", ("192.168.10.12", "1.2.3.4.5")),
    Row(
        KEEP,
        "",
        r"\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b",
        ("12:34:56:78:9a:bc", "2001:db8:0:0:1:2:3:4"),
    ),
    Row(
        KEEP,
        "",
        r"(?:\+|\b00)[1-9]\d{0,2}[ ().\d/-]{5,22}\d\b",
        ("+49 30 12-10-2024", "+1 (555) 010-1234", "0049 30 123456"),
    ),
    Row(
        KEEP,
        "",
        r"(?:\b(?:tel|phone|telephone|telefon|téléphone|teléfono|telefono|telefoon|telefone|fax|mobile|hotline"
        r"|mobil)|電話|电话|전화)\.?[ ]?:?[ ]?[+(]?\d[ ().\d/-]{4,22}\d\b",
        ("Tel.: 030 12-10-2024", "Fax 01/02/2003", "電話 03-1234-5678", "電話 010-2024-0517", "전화 02-10-2024"),
    ),
    Row(
        KEEP,
        "",
        r"(?:[$€£¥₩₹₽₺₫฿]|\b(?:usd|eur|gbp|chf|jpy|cny|krw|pln|sek|nok|dkk|czk|brl|cad|aud|rmb|us\$|r\$|zł|kr))"
        r"[ ]?\d{1,9}(?:[.,' ]\d{3}){0,4}(?:[.,]\d{1,2}|,-)?",
        ("$1,234.50", "€ 10.12", "EUR 1.234,56", "¥1,200", "zł 12", "CHF 1'234.50"),
    ),
    Row(
        KEEP,
        "",
        r"\b\d{1,9}(?:[.,' ]\d{3}){0,4}(?:[.,]\d{1,2}|,-)?[ ]?(?:[$€£¥₩₹₽₺₫฿]|(?:usd|eur|gbp|chf|jpy|cny|krw|pln"
        r"|sek|nok|dkk|czk|brl|zł|kr|kč|euro|euros|dollars?)\b|円|元|원)",
        ("1.234,56 €", "1 234,56 zł", "12,50 EUR", "1200円", "99元", "12,000원"),
    ),
    Row(
        KEEP,
        "",
        r"\b(?:ratio|scale|maßstab|massstab|verhältnis|échelle|proporción|schaal|skala|mixing)[a-z ]{0,10}"
        r"\d{1,4}:\d{1,4}\b",
        ("scale 1:50", "Maßstab 1:25"),
    ),
)

CLOCKS: tuple[Row, ...] = (
    Row(
        "clock",
        "",
        rf"\b{_HOUR}:[0-5]\d(?::[0-5]\d(?:[.,]\d{{1,6}})?)?(?: ?(?:a\.?m\b\.?|p\.?m\b\.?|uhr\b|h\b|hrs?\b|uur\b)|\b)"
        r"(?: ?\(?(?:utc|gmt|mesz|mez|cest|cet|est|edt|pst|pdt|cst|cdt|bst|jst|kst|ist)\b(?:[+-]\d{1,2}(?::?\d\d)?)?\)?)?",
        ("12:30", "9:05:59", "9:30 am", "11:59 p.m.", "14:05 Uhr", "14:30 UTC+2", "08:00 GMT", "23:59:59.123"),
        ("9001:2015", "§ 13:20", "ISO 27001:2013", "16:9", "4:3", "25:61", "1:234", "Section 12:30"),
    ),
    Row(
        "clock",
        "en",
        r"\b(?:1[0-2]|0?[1-9]) ?(?:a\.m\.|p\.m\.|am\b|pm\b)",
        ("3 pm", "11 a.m.", "12pm"),
        ("13 pm", "I am 3", "7 amps", "5 pmol"),
    ),
    Row(
        "clock",
        "de fr nl pl",
        rf"\b{_HOUR}[.h][0-5]\d (?:uhr|uur|h)\b|\b{_HOUR}h[0-5]\d\b|\b{_HOUR} uhr\b|\bkl\. ?{_HOUR}\.[0-5]\d\b"
        rf"|\bgodz\. ?{_HOUR}[.:][0-5]\d\b|\b{_HOUR} ?h ?[0-5]\d ?min\b",
        ("14.30 Uhr", "14h30", "9 Uhr", "kl. 14.30", "godz. 12.45", "14.05 uur", "14 h 05 min"),
        ("14.30", "24h", "14h90", "12 uhren"),
    ),
    Row(
        "clock",
        "ja zh",
        r"(?:(?:午前|午後|上午|下午|凌晨|晚上|中午)[ ]?)?\d{1,2}(?:時|时|點|点)\d{1,2}分(?:\d{1,2}秒)?|(?:午前|午後|上午|下午|凌晨|晚上)[ ]?\d{1,2}(?:時|时|點|点)半?"
        r"|(?:午前|午後|上午|下午|凌晨|晚上)[ ]?\d{1,2}:\d\d",
        ("午後3時20分", "15時05分", "下午3点20分", "上午9点", "下午3:20"),
        ("24時間", "3分", "100点", "時価"),
    ),
    Row(
        "clock",
        "ko",
        r"(?:오전|오후|새벽|밤) ?\d{1,2}(?:시(?: ?\d{1,2}분)?|:\d\d)|\b\d{1,2}시 ?\d{1,2}분(?: ?\d{1,2}초)?",
        ("오후 3시 20분", "오전 9시", "15시 05분", "오후 3:20"),
        ("24시간", "3분", "시장"),
    ),
)

DATES: tuple[Row, ...] = (
    Row(
        "date",
        "",
        rf"\b{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}(?:[t ,]{{1,2}}{_HOUR}:[0-5]\d(?::[0-5]\d(?:[.,]\d{{1,9}})?)?"
        r"(?:z|[+-]\d\d:?\d\d)?)?\b\.?",
        (
            "2024-05-17",
            "2024-05-17T10:20:30Z",
            "2024/5/7",
            "2024.05.17",
            "2024-05-17 10:20:30",
            "2024-05-17T10:20:30.123+02:00",
        ),
        ("2024-13-45", "3024-05-17", "ISO 2024-05", "v2024.05.17", "+49 2024-05-17-1"),
    ),
    Row("date", "", r"\b20\d{6}t\d{6}z?\b", ("20240517T102030Z",), ("20240517",)),
    Row(
        "date",
        "",
        rf"\b{_DAY}[-/.] ?{_MONTH}[-/.] ?(?:{_YEAR}|\d\d)\b|\b{_MONTH}[-/]{_DAY}[-/](?:{_YEAR}|\d\d)\b",
        ("17.05.2024", "17/05/2024", "05/17/2024", "1.5.24", "17. 05. 2024", "17-05-2024"),
        ("192.168.10.12", "1.2.3", "v10.12.24", "Section 10.12.24", "45.67.2024", "+49 30 12-10-2024", "€10.12"),
    ),
    Row(
        "date",
        "en",
        rf"\b(?:{_EN})\.? {_DAY}(?:st|nd|rd|th)?(?:,? {_YEAR})\b|\b(?:{_EN_FULL}) {_DAY}(?:st|nd|rd|th)?\b"
        rf"|\b{_DAY}(?:st|nd|rd|th)?(?: day)?(?: of)? (?:{_EN})\.?,? {_YEAR}\b|\b{_DAY}(?:st|nd|rd|th)?(?: of)? (?:{_EN_FULL})\b"
        rf"|\b(?:{_EN})\.?,? {_YEAR}\b|\b{_DAY}-(?:{_EN})-(?:{_YEAR}|\d\d)\b",
        (
            "May 17, 2024",
            "17 May 2024",
            "17th of May 2024",
            "January 5",
            "5 January",
            "Sept. 3, 2023",
            "May 2024",
            "17-May-2024",
            "March 3rd, 2025",
        ),
        ("Clause 4 may be changed", "may 10 people", "March on", "in 2024", "august body", "decision 2024"),
    ),
    Row(
        "date",
        "de",
        rf"\b{_DAY}\. ?(?:{_DE})\.? {_YEAR}\b|\b{_DAY}\. ?(?:{_DE_FULL})\b|\b(?:{_DE})\.? {_YEAR}\b",
        ("17. Mai 2024", "3. März", "1. Jänner 2025", "März 2024", "5. Okt. 2023"),
        ("Artikel 17 Abs. 2", "Mai", "3 märzen"),
    ),
    Row(
        "date",
        "fr",
        rf"\b(?:{_DAY}|1er) (?:{_FR})\.?,? {_YEAR}\b|\b(?:{_DAY}|1er) (?:{_FR_FULL})\b|\b(?:{_FR})\.? {_YEAR}\b",
        ("17 mai 2024", "1er janvier 2025", "3 août", "févr. 2024", "12 déc. 2023"),
        ("article 6 mais", "mars", "12 marsouins"),
    ),
    Row(
        "date",
        "es pt",
        rf"\b(?:{_DAY}|1º|1o)(?: de | del |[ /-])(?:{_ES}|{_PT})\.?(?: de | del |[ ,/-]{{1,2}}){_YEAR}\b"
        rf"|\b(?:{_DAY}|1º) de (?:{_ES_FULL}|{_PT_FULL})\b|\b(?:{_ES_FULL}|{_PT_FULL})(?: de| del|,)? {_YEAR}\b",
        (
            "17 de mayo de 2024",
            "3 de março de 2024",
            "5 de enero",
            "mayo de 2024",
            "17 mayo 2024",
            "1 ago 2024",
            "12 out 2023",
        ),
        ("2 out of 3", "5 ago", "mar 3", "marca de 2024"),
    ),
    Row(
        "date",
        "it",
        rf"\b(?:{_DAY}|1º|1°) (?:{_IT})\.?,? {_YEAR}\b|\b(?:{_DAY}|1º) (?:{_IT_FULL})\b|\b(?:{_IT_FULL}) {_YEAR}\b",
        ("17 maggio 2024", "3 marzo", "dicembre 2023", "5 gen 2024"),
        ("10 set", "art. 5", "mag 3"),
    ),
    Row(
        "date",
        "nl",
        rf"\b{_DAY} (?:{_NL})\.? {_YEAR}\b|\b{_DAY} (?:{_NL_FULL})\b|\b(?:{_NL_FULL}) {_YEAR}\b",
        ("17 mei 2024", "3 maart", "augustus 2023", "5 mrt. 2024"),
        ("artikel 5", "mei", "12 meisjes"),
    ),
    Row(
        "date",
        "pl",
        rf"\b{_DAY} (?:{_PL})\.? {_YEAR}\b(?: r\.| roku)?|\b{_DAY} (?:{_PL_FULL})\b|\b(?:{_PL_NOMINATIVE}|{_PL_FULL}) {_YEAR}\b(?: r\.| roku)?",
        ("17 maja 2024", "3 marca", "17 maja 2024 r.", "styczeń 2024", "5 paź 2023", "17 maja 2024 roku"),
        ("ust. 5", "maja", "12 marcepanów"),
    ),
    Row(
        "date",
        "ja zh",
        r"(?:\b(?:19|20)\d\d|(?:令和|平成|昭和|大正|明治|民国|民國) ?(?:元|\d{1,3}))年(?:度)?(?: ?\d{1,2}月(?: ?\d{1,2}(?:日|号|號))?)?(?: ?[((]?(?:星期|周|週)?[月火水木金土日一二三四五六](?:曜日|曜)?[))])?"
        r"|\b\d{1,2}月 ?\d{1,2}(?:日|号|號)",
        (
            "2024年5月17日",
            "令和6年5月17日",
            "平成元年",
            "5月17日",
            "2024年5月",
            "昭和64年1月7日",
            "民國113年5月17日",
            "2024年5月17日(金)",
        ),
        ("3年", "10年間", "12か月", "5日", "第3月"),
    ),
    Row(
        "date",
        "ko",
        r"\b(?:19|20)\d\d년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|\b\d{1,2}월 ?\d{1,2}일|\b(?:19|20)\d\d\. ?\d{1,2}\. ?\d{1,2}\.?",
        ("2024년 5월 17일", "5월 17일", "2024년", "2024. 5. 17."),
        ("3년", "10일", "2개월"),
    ),
)

_EN_UNIT = r"(?:sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|[smhdwy]|mo)"

RELATIVE: tuple[Row, ...] = (
    Row(
        "relative",
        "en",
        rf"\b(?:about |over |almost |less than )?(?:\d{{1,4}}|an?|one|two|three|a few|several) ?{_EN_UNIT} ago\b|\bjust now\b|\bmoments ago\b",
        ("5 minutes ago", "an hour ago", "a few seconds ago", "3h ago", "about 2 days ago", "just now", "2 weeks ago"),
        ("within 5 days", "long ago", "30 days after", "5 minute talk"),
    ),
    Row(
        "relative",
        "de",
        r"\bvor (?:etwa |ca\. |rund |über )?(?:\d{1,4}|einer|einem|wenigen|ein paar|zwei|drei) "
        r"(?:sek(?:unden?|\.)|min(?:uten?|\.)|std\.|stunden?|tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?)|\b(?:gerade eben|soeben)\b",
        ("vor 3 Tagen", "vor einer Stunde", "vor 5 Min.", "vor wenigen Minuten", "gerade eben"),
        ("vor dem Tag", "innerhalb von 3 Tagen", "vor 3 Personen"),
    ),
    Row(
        "relative",
        "fr",
        r"\bil y a (?:environ |plus de |moins d')?(?:\d{1,4}|une?|quelques|deux|trois) ?(?:s|sec(?:ondes?)?|min(?:utes?)?|h(?:eures?)?|j(?:ours?)?|semaines?|mois|ans?|instants?)\b"
        r"|à l'instant\b",
        ("il y a 5 minutes", "il y a une heure", "il y a quelques secondes", "il y a 3 h", "à l'instant"),
        ("il y a un problème", "dans 5 jours"),
    ),
    Row(
        "relative",
        "es",
        r"\bhace (?:unos |unas |más de |casi )?(?:\d{1,4}|una?|unos|unas|dos|tres|pocos|pocas) ?(?:s|seg(?:undos?)?|min(?:utos?)?|h(?:oras?)?|días?|dias?|semanas?|mes(?:es)?|años?|momentos?|instantes?)\b",
        ("hace 5 minutos", "hace una hora", "hace unos segundos", "hace 3 días"),
        ("hace falta", "en 5 días"),
    ),
    Row(
        "relative",
        "it",
        r"\b(?:circa )?(?:\d{1,4}|un|una|due|tre|pochi|poche|alcuni) ?(?:sec(?:ond[oi])?|min(?:ut[oi])?|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]) fa\b|\bun'ora fa\b|\bpoco fa\b",
        ("5 minuti fa", "un'ora fa", "3 giorni fa", "pochi secondi fa"),
        ("entro 5 giorni", "si fa"),
    ),
    Row(
        "relative",
        "nl",
        r"\b(?:ongeveer |ruim )?(?:\d{1,4}|een|enkele|twee|drie) ?(?:sec(?:onden?|\.)?|min(?:uut|uten|\.)?|uur|uren|dag(?:en)?|week|weken|maand(?:en)?|jaar|jaren) geleden\b|\bzojuist\b",
        ("5 minuten geleden", "een uur geleden", "3 dagen geleden", "zojuist"),
        ("binnen 5 dagen", "lang geleden"),
    ),
    Row(
        "relative",
        "pt",
        r"\b(?:há|ha|faz) (?:cerca de |mais de )?(?:\d{1,4}|uma?|alguns|algumas|poucos|poucas|dois|duas) ?(?:s|seg(?:undos?)?|min(?:utos?)?|h(?:oras?)?|dias?|semanas?|m[eê]s(?:es)?|anos?|instantes?)\b(?: atrás)?"
        r"|\b\d{1,4} (?:segundos?|minutos?|horas?|dias?|semanas?|mes(?:es)?|anos?) atrás\b",
        ("há 5 minutos", "há uma hora", "há alguns segundos", "3 dias atrás"),
        ("em 5 dias", "há um problema"),
    ),
    Row(
        "relative",
        "pl",
        r"\b(?:około )?(?:\d{1,4} ?|kilka |parę )?(?:sek(?:und(?:ę|y)?|\.)?|min(?:ut(?:ę|y)?|\.)?|godz(?:in(?:ę|y)?|\.)?|dni|dzień|tydzień|tygodni[ea]?|miesi(?:ąc|ące|ęcy)|rok|lata?) temu\b|\bprzed chwilą",
        ("5 minut temu", "godzinę temu", "3 dni temu", "kilka sekund temu", "przed chwilą"),
        ("w ciągu 5 dni", "dawno temu"),
    ),
    Row(
        "relative",
        "ja zh",
        r"(?:約|约)?\d{1,4} ?(?:秒|分|分間|分钟|分鐘|時間|小时|小時|日|天|週間|周|週|か月|ヶ月|カ月|ケ月|个月|個月|年)(?:前|以前|之前)|\bたった今|刚刚|剛剛",
        ("5分前", "3時間前", "2日前", "5分钟前", "3小时前", "2天前", "1か月前", "刚刚", "3個月前"),
        ("5分", "3時間", "午前", "前日"),
    ),
    Row(
        "relative",
        "ko",
        r"(?:약 )?\d{1,4} ?(?:초|분|시간|일|주|주일|개월|달|년) ?전|방금(?: 전)?",
        ("5분 전", "3시간 전", "2일 전", "방금 전", "1개월전"),
        ("5분", "3시간", "전화"),
    ),
)

COUNTERS: tuple[Row, ...] = (
    Row(
        "counter",
        "en",
        rf"\b{_COUNT} ?[kmb]?\+? (?:views?|comments?|likes?|shares?|followers?|subscribers?|downloads?|votes?|replies|reply|reads|retweets?|reposts?|reactions?|"
        r"visitors?(?: online)?|users? online|people (?:are )?(?:viewing|watching|online)|watching|listens?|plays?|clicks?|upvotes?|ratings?|reviews?|bookmarks?|stars|forks)\b"
        rf"|\b(?:views|comments|likes|shares|followers|downloads|replies|reviews|ratings) ?(?:: ?{_COUNT}[km]?\b|\({_COUNT}[km]?\))",
        (
            "12,345 views",
            "3 comments",
            "1.2k likes",
            "1 reply",
            "Comments (12)",
            "Views: 1,024",
            "5 people are viewing",
            "12 users online",
            "1,024 reviews",
        ),
        ("3 certificates", "12,345 employees", "5 commentaries", "$5 shares", "24 sites"),
    ),
    Row(
        "counter",
        "de nl",
        rf"\b{_COUNT} ?(?:tsd\.?|mio\.?)? ?(?:kommentare?|aufrufe?|bewertung(?:en)?|antwort(?:en)?|downloads?|abonnenten|besucher|leser|mal (?:gelesen|geteilt|angesehen|angeschaut|aufgerufen)|(?:personen|nutzer|kunden) (?:online|sehen sich)(?: das gerade an| diese seite gerade an| diesen artikel an)?|(?:mensen|personen) bekijken(?: dit nu| deze pagina)?|gefällt mir|reacties?|weergaven|keer bekeken|volgers|beoordeling(?:en)?|lezers|bezoekers)\b"
        rf"|\b(?:kommentare?|aufrufe|bewertungen|reacties) ?(?:: ?{_COUNT}\b|\({_COUNT}\))",
        (
            "3 Kommentare",
            "1.234 Aufrufe",
            "12 Bewertungen",
            "5 reacties",
            "1.024 keer bekeken",
            "12 Personen sehen sich das gerade an",
            "12 mensen bekijken dit nu",
            "3 Mal gelesen",
            "Kommentare (5)",
        ),
        ("3 Zertifikate", "12 Standorte"),
    ),
    Row(
        "counter",
        "fr",
        rf"\b{_COUNT} ?(?:k|m)? ?(?:vues?|commentaires?|j'aime|partages?|abonnés?|avis|réponses?|téléchargements?|lectures?|visiteurs?|personnes? (?:regardent|consultent|en ligne)(?: cette page| cet article| ce produit)?)\b"
        rf"|\b(?:commentaires|vues|avis) ?(?:: ?{_COUNT}\b|\({_COUNT}\))",
        ("1 234 vues", "3 commentaires", "12 avis", "Commentaires (4)", "12 personnes regardent cette page"),
        ("3 certificats", "12 sites"),
    ),
    Row(
        "counter",
        "es pt it",
        rf"\b{_COUNT} ?(?:mil|k|m)? ?(?:vistas|visitas|comentarios?|comentários?|me gusta|compartidos|seguidores|reseñas|opiniones|respuestas?|descargas|visualizaciones|visualizações|curtidas|avaliações|respostas?|commenti|commento|visualizzazioni|mi piace|condivisioni|recensioni|risposte|letture|personas (?:están )?(?:viendo|mirando)(?: esto| esta página)?|pessoas (?:estão )?(?:vendo|a ver)(?: isto| esta página)?|persone stanno guardando(?: questa pagina)?)\b"
        rf"|\b(?:comentarios|comentários|commenti|visitas) ?(?:: ?{_COUNT}\b|\({_COUNT}\))",
        (
            "1.234 visitas",
            "3 comentarios",
            "5 comentários",
            "12 commenti",
            "1.024 visualizzazioni",
            "12 personas están viendo esta página",
            "12 persone stanno guardando",
        ),
        ("3 certificados", "12 sedi"),
    ),
    Row(
        "counter",
        "pl",
        rf"\b{_COUNT} ?(?:tys\.?)? ?(?:(?:komentarz[ey]?|wyświetlenia|odsłony?|polubienia|opinii|opinie|oceny?|odpowiedzi)\b|wyświetleń|polubień|udostępnień|osób ogląda|osoby oglądają)"
        rf"|\bkomentarze ?(?:: ?{_COUNT}\b|\({_COUNT}\))",
        ("3 komentarze", "1 234 wyświetleń", "12 opinii", "12 osób ogląda", "Komentarze (3)"),
        ("3 certyfikaty",),
    ),
    Row(
        "counter",
        "ja zh ko",
        rf"\b{_COUNT} ?(?:万|萬|만|천)?(?:件の(?:コメント|レビュー|評価|口コミ)|回視聴|回再生|回表示|回閲覧|人が見ています|人正在看|人在看|ビュー|いいね|人が閲覧中|条评论|條評論|次浏览|次瀏覽|次观看|次觀看|人浏览|个赞|個讚|次阅读|次閱讀|人阅读)"
        rf"|(?:コメント|閲覧数|评论|評論|浏览|瀏覽|阅读|閱讀|조회(?:수)?|댓글|좋아요|추천) ?[::(]? ?{_COUNT}\b[)]?件?|\b{_COUNT} ?(?:만|천)? ?(?:개의 댓글|회 조회|명 조회|조회)",
        (
            "12件のコメント",
            "1,234回視聴",
            "3条评论",
            "1234次浏览",
            "조회수 1,234",
            "댓글 12",
            "コメント(5)",
            "コメント7256件",
            "コメント5件",
            "1,234回表示",
            "12人が見ています",
            "12人正在看",
            "1.2万次观看",
        ),
        ("3件の認証", "12か所", "3条"),
    ),
)

TOKENS: tuple[Row, ...] = (
    Row(
        "token",
        "",
        r"\b(?:csrf|xsrf|nonce|token|session|sessionid|sid|phpsessid|jsessionid|requestid|request[ _-]id|trace[ _-]id|ray[ _-]id|correlation[ _-]id|"
        r"incident[ _-]id|build[ _-]id|cache[ _-]key|etag|hash)[a-z0-9_-]{0,24} ?[=:#] ?[\"']?[a-z_.-]{0,16}\d[a-z0-9_.-]*",
        (
            "csrf=a8f3k2",
            "nonce: 9f8e7d6c",
            "session=abc123def456",
            "Ray ID: 8c3f0e1d2a4b5c6d",
            "csrf_token=x1y2z3",
            "request id: 7f3a-11",
        ),
        ("session: the time you spend", "a token of thanks", "nonce words"),
        check="opaque_value",
    ),
    Row(
        "id",
        "",
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        ("550e8400-e29b-41d4-a716-446655440000",),
        ("550e8400-e29b-41d4",),
    ),
    Row(
        "id",
        "",
        r"\b[0-9a-f]{24,}\b",
        ("9f86d081884c7d659a2feaa0c55ad015", "5f2b6c9e8d7a1b3c4d5e6f70"),
        ("123456789012345678901234", "deadbeef", "abcdef"),
        check="letters_and_digits",
    ),
    Row(
        "id",
        "",
        r"\b[a-z0-9_-]{22,}={0,2}",
        ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9x7", "dGhpcyBpcyBhIHRlc3Q0Mg1x9z2k8a7b=="),
        (
            "terms-and-conditions-of-use-for-customers",
            "internationalisation-guidelines",
            "GB29NWBK60161331926819",
            "certificate-12-100-55321-tms",
            "2024-annual-report-for-shareholders",
        ),
        check="scrambled",
    ),
)

FOOTERS: tuple[Row, ...] = (
    Row(
        "copyright",
        "",
        rf"(?:©|\(c\)|\bcopyright\b|\bcopr\.)[ ,]{{0,2}}(?:©|\(c\))?[ ]?{_YEAR}(?: ?[-,] ?(?:{_YEAR}|\d\d\b)){{0,3}}",
        ("© 2024", "Copyright © 2011-2024", "(c) 2024", "copyright 2019, 2024"),
        ("copyright law of 2024", "© Example"),
    ),
    Row(
        "generated",
        "en",
        r"\b(?:page |this page was |document )?(?:generated|rendered|created|loaded|served|executed|processed|built) (?:in|within|took) \d{1,6}(?:[.,]\d{1,9})? ?(?:ms|s|sec\.?|seconds?|milliseconds?|µs|μs)\b",
        ("Page generated in 0.023 seconds", "rendered in 12 ms", "generated in 1.5s"),
        ("generated in 2 steps", "created in 1999"),
    ),
    Row(
        "generated",
        "de fr es it nl pt pl",
        r"\b(?:seite (?:erzeugt|erstellt|generiert|geladen) in|erzeugt in|generiert in|(?:page )?générée? en|página generada en|generada en|generata in|pagina generata in|gegenereerd in|gerada em|wygenerowan[aeo] w) \d{1,6}(?:[.,]\d{1,9})? ?(?:ms|s|sek(?:unden?|\.)?|sec(?:onden?|ondes?|ondi|\.)?|segundos?|sekund(?:y)?)\b",
        (
            "Seite erzeugt in 0,12 Sekunden",
            "générée en 0,03 secondes",
            "generata in 0,5 secondi",
            "Página generada en 0,2 segundos",
        ),
        ("Seite in 3 Teilen",),
    ),
)

ROWS: tuple[Row, ...] = (*DATES, *CLOCKS, *RELATIVE, *COUNTERS, *TOKENS, *FOOTERS)

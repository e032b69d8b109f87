"""The gate before comparison: what is a page, and what stands in its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection import quality_phrases as said
from monitoring.detection.blocks import Reading
from monitoring.detection.normalise import normalise
from monitoring.detection.quality import PageFacts, Quality, State, assess
from monitoring.detection.read import read

SENTENCE = "We process personal data only for the purposes named in section {} of this policy and as the law allows."
POLICY = "".join(f"<h2>{n}. Purpose number {n}</h2><p>{SENTENCE.format(n)}</p>" for n in range(40))


def make_html(body: str, *, title: str = "Privacy policy", head: str = "") -> str:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def judged(html: str, *, baseline: str = "", **facts: object) -> Quality:
    before = read(baseline) if baseline else None
    return assess(PageFacts(html=html, **facts), read(html), before)  # type: ignore[arg-type]


GOOD_PAGE = make_html(f"<main><h1>Privacy policy</h1>{POLICY}</main>")
MENU = (
    "<nav>"
    + "".join(f'<a href="/{w}">{w}</a> ' for w in ["home", "shop", "news", "help", "jobs", "about", "press"])
    + "</nav>"
)

INSTEAD = {
    "cloudflare": (
        make_html('<div id="cf-challenge">Verify you are human</div>', title="Just a moment..."),
        said.CAPTCHA,
    ),
    "akamai": (
        make_html("<h1>Access Denied</h1>You don't have permission to access this server. Reference #18.2"),
        said.DENIED,
    ),
    "incapsula": (
        make_html('<iframe src="/_Incapsula_Resource?x=1">Request unsuccessful. Incapsula incident ID: 1-2</iframe>'),
        said.CAPTCHA,
    ),
    "datadome": (
        make_html(
            '<script src="https://geo.captcha-delivery.com/c.js"></script><p>Please enable JS and disable any ad blocker</p>'
        ),
        said.SCRIPT,
    ),
    "perimeterx": (make_html('<div id="px-captcha"></div>'), said.CAPTCHA),
    "aws": (make_html("<script>window.gokuProps = {}</script>"), said.CAPTCHA),
    "geo": (make_html("<h1>Not available in your region</h1>"), said.DENIED),
    "rate": (make_html("<h1>429 Too Many Requests</h1>"), said.LIMITED),
    "soft 404": (make_html(MENU + "<h1>Sorry, the page you are looking for can't be found</h1>"), said.GONE),
    "bare 404": (make_html(MENU + "<h1>404</h1><p>Oops!</p>", title="404"), said.GONE),
    "login": (make_html('<form><input type="password" name="p"></form>Please sign in to continue'), said.LOGIN),
    "login by title": (make_html("<form>E-mail <input> <input type=password></form>", title="Log in"), said.LOGIN),
    "maintenance": (make_html("<h1>We'll be back soon</h1><p>The site is down for maintenance.</p>"), said.MAINTENANCE),
    "shell": (make_html('<div id="root"></div><script src="/app.js"></script>'), said.SCRIPT),
    "noscript shell": (
        make_html("<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>"),
        said.SCRIPT,
    ),
    "loading": (make_html("<div>Loading…</div>"), said.SCRIPT),
    "parked": (make_html("<h1>example.test</h1><p>This domain is for sale! Buy this domain</p>"), said.PARKED),
    "exception": (make_html("<h2>Application error: a client-side exception has occurred</h2>"), said.FAILURE),
    "forwarding": (make_html("<p>You should be redirected quickly, if not click here.</p>"), said.REDIRECT),
    "consent": (
        make_html("<h2>Before you continue</h2><button>Accept all cookies</button><button>Reject all</button>"),
        said.CONSENT,
    ),
}


@pytest.mark.parametrize(("html", "code"), INSTEAD.values(), ids=INSTEAD)
def test_what_stands_in_place_of_a_page_is_named_without_a_baseline(html: str, code: str) -> None:
    quality = judged(html)

    assert quality.code == code
    assert quality.outcome == said.MEANING[code][0]
    assert quality.evidence


@pytest.mark.parametrize(("html", "code"), INSTEAD.values(), ids=INSTEAD)
def test_and_with_one(html: str, code: str) -> None:
    quality = judged(html, baseline=GOOD_PAGE)

    assert not quality.is_good
    assert quality.code in (code, "text-missing")


TRANSLATED = [
    ("Bestätigen Sie, dass Sie ein Mensch sind", said.CAPTCHA),
    ("Vérifiez que vous êtes humain", said.CAPTCHA),
    ("Verifica que eres humano", said.CAPTCHA),
    ("Verifica di essere umano", said.CAPTCHA),
    ("Bevestig dat u een mens bent", said.CAPTCHA),
    ("Verifique se você é humano", said.CAPTCHA),
    ("Potwierdź, że jesteś człowiekiem", said.CAPTCHA),
    ("私はロボットではありません", said.CAPTCHA),
    ("请完成验证", said.CAPTCHA),
    ("로봇이 아닙니다", said.CAPTCHA),
    ("Zugriff verweigert", said.DENIED),
    ("Accès refusé", said.DENIED),
    ("Acceso denegado", said.DENIED),
    ("Accesso negato", said.DENIED),
    ("Toegang geweigerd", said.DENIED),
    ("Acesso negado", said.DENIED),
    ("Odmowa dostępu", said.DENIED),
    ("アクセスが拒否されました", said.DENIED),
    ("访问被拒绝", said.DENIED),
    ("접근이 거부되었습니다", said.DENIED),
    ("Seite nicht gefunden", said.GONE),
    ("Page introuvable", said.GONE),
    ("Página no encontrada", said.GONE),
    ("Pagina non trovata", said.GONE),
    ("Pagina niet gevonden", said.GONE),
    ("Página não encontrada", said.GONE),
    ("Nie znaleziono strony", said.GONE),
    ("ページが見つかりません", said.GONE),
    ("页面不存在", said.GONE),
    ("페이지를 찾을 수 없습니다", said.GONE),
    ("Wir führen gerade Wartungsarbeiten durch", said.MAINTENANCE),
    ("Site en maintenance", said.MAINTENANCE),
    ("Sitio en mantenimiento", said.MAINTENANCE),
    ("Sito in manutenzione", said.MAINTENANCE),
    ("Tijdelijk niet beschikbaar", said.MAINTENANCE),
    ("Site em manutenção", said.MAINTENANCE),
    ("Przerwa techniczna", said.MAINTENANCE),
    ("ただいまメンテナンス中です", said.MAINTENANCE),
    ("系统维护", said.MAINTENANCE),
    ("서비스 점검 안내", said.MAINTENANCE),
]


@pytest.mark.parametrize(("text", "code"), TRANSLATED, ids=[t for t, _ in TRANSLATED])
def test_eleven_languages(text: str, code: str) -> None:
    assert judged(make_html(f"<h1>{text}</h1>", title="")).code == code


LONG = "<p>" + SENTENCE.format(1) * 12 + "</p>"
GOOD = {
    "policy": GOOD_PAGE,
    "policy about captchas": make_html(
        f"<h1>Security</h1>{POLICY}<p>We use a captcha to verify you are human. If access denied is shown, please sign in to "
        "continue, or write to us. Page not found errors are logged. The site may be down for maintenance.</p>"
    ),
    "short help page on being blocked": make_html(
        f"<h1>My account has been blocked</h1>{LONG}<p>Too many requests? Wait.</p>"
    ),
    "short product": make_html(
        '<h1>Kettle</h1><p>Steel, 1.7 litres.</p><p>89,00 €</p><p>In stock</p><a href="/login">Log in</a>'
    ),
    "page with a login box": make_html(f"{MENU}<form>Sign in <input type=password> Forgot password?</form>{POLICY}"),
    "page with recaptcha": make_html(f'<h1>Contact</h1>{LONG}<div class="g-recaptcha"></div>'),
    "page with a cookie banner": make_html(
        f"{POLICY}<div>We value your privacy <button>Accept all cookies</button></div>"
    ),
    "cloudflare script on a good page": make_html(f'{POLICY}<script src="/cdn-cgi/challenge-platform/x.js"></script>'),
    "notice": make_html("<h1>Legal notice</h1><p>Published by Acme, 1 Main Street. Director: A. Nyman.</p>"),
    "japanese": make_html("<h1>個人情報保護方針</h1><p>" + "当社は個人情報を適切に取り扱います。" * 20 + "</p>"),
    "no closing tags": "<title>x</title><h1>Privacy</h1>" + POLICY,
    "section 404": make_html(f"<h1>Section 404 of the Act</h1>{POLICY}"),
}


@pytest.mark.parametrize("html", GOOD.values(), ids=GOOD)
def test_a_good_page_is_good_with_and_without_a_baseline(html: str) -> None:
    assert judged(html) == Quality(State.GOOD)
    assert judged(html, baseline=html) == Quality(State.GOOD)
    assert judged(html, baseline=html, status=200, headers={"CF-Ray": "1", "X-DataDome": "protected"}).is_good


@pytest.mark.parametrize(
    ("status", "headers", "outcome", "code"),
    [
        (404, {}, "gone", "status-gone"),
        (410, {}, "gone", "status-gone"),
        (401, {}, "blocked", said.LOGIN),
        (403, {"Server": "AkamaiGHost"}, "blocked", said.DENIED),
        (403, {"cf-mitigated": "challenge"}, "blocked", said.CAPTCHA),
        (405, {"X-Amzn-Waf-Action": "captcha"}, "blocked", said.CAPTCHA),
        (403, {"X-DataDome": "protected"}, "blocked", said.CAPTCHA),
        (429, {}, "blocked", said.LIMITED),
        (451, {}, "blocked", said.DENIED),
        (500, {}, "error", "status-error"),
        (503, {}, "error", said.MAINTENANCE),
        (204, {}, "error", "status-error"),
        (206, {}, "error", "status-error"),
        (200, {"cf-mitigated": "challenge"}, "blocked", said.CAPTCHA),
    ],
)
def test_status_and_vendor_headers(status: int, headers: dict[str, str], outcome: str, code: str) -> None:
    quality = judged(GOOD_PAGE, status=status, headers=headers)

    assert (quality.outcome, quality.code) == (outcome, code)


def test_a_vendor_is_named_in_the_evidence() -> None:
    quality = judged(GOOD_PAGE, status=403, headers={"Server": "AkamaiGHost", "X-CDN": "Incapsula"})

    assert "served by akamai (header server)" in quality.evidence
    assert "served by imperva (header x-cdn)" in quality.evidence


@pytest.mark.parametrize(
    ("final", "code"),
    [
        ("https://a.test/login?next=/privacy", "redirect-sink"),
        ("https://a.test/sorry/index", "redirect-sink"),
        ("https://b.test/unblock", "redirect-sink"),
        ("https://a.test/en/privacy", ""),
        ("https://a.test/login-security-policy-of-2024x", ""),
    ],
)
def test_redirects_to_a_sink(final: str, code: str) -> None:
    assert judged(GOOD_PAGE, requested_url="https://a.test/privacy", final_url=final).code in (code,)


def test_a_redirect_to_the_home_page_needs_the_text_to_be_another() -> None:
    home = make_html(
        "".join(f"<p>{n} reasons to visit our lovely shop today and find what you like best.</p>" for n in range(30))
    )
    facts = {"requested_url": "https://a.test/privacy", "final_url": "https://a.test/"}

    found = judged(home, baseline=GOOD_PAGE, **facts)
    assert (found.outcome, found.code) == ("gone", "redirect-home")
    assert judged(GOOD_PAGE, baseline=GOOD_PAGE, **facts).is_good


def test_a_home_page_in_place_of_the_page_is_known_by_its_canonical_address() -> None:
    body = "".join(f"<p>{n} reasons to visit our lovely shop today and find what you like best.</p>" for n in range(30))
    canonical = '<link rel="canonical" href="https://a.test/">'
    home = make_html(body, title="Acme, the lovely shop", head=canonical)

    found = judged(home, baseline=GOOD_PAGE)
    assert (found.outcome, found.code) == ("gone", "redirect-home")
    assert judged(make_html(body, title="Our privacy policy", head=canonical), baseline=GOOD_PAGE).is_good
    assert judged(home, baseline=home).is_good


@pytest.mark.parametrize("body", ["", " \r\n\t" * 100])
def test_an_empty_body(body: str) -> None:
    assert judged(body, body_bytes=len(body)).outcome == "blocked"


def test_a_page_cut_inside_a_tag_or_without_its_end_is_truncated() -> None:
    cut_in_tag = GOOD_PAGE[: GOOD_PAGE.index("<h2>7.")] + '<a href="/x'
    cut_short = GOOD_PAGE[: GOOD_PAGE.index("<h2>7.") - 20]

    assert judged(cut_in_tag).code == "truncated"
    assert judged(cut_short).is_good
    assert judged(cut_short, baseline=GOOD_PAGE).code == "truncated"
    assert judged(GOOD_PAGE, truncated=True).code == "truncated"


def test_a_page_that_lost_its_last_sections_in_good_form_is_a_change_and_not_a_fault() -> None:
    shorter = make_html(f"<main><h1>Privacy policy</h1>{POLICY[: POLICY.index('<h2>28.')]}</main>")

    assert judged(shorter, baseline=GOOD_PAGE).is_good


def test_most_of_the_text_missing_with_nothing_in_its_place() -> None:
    frame = make_html(f"{MENU}<main><h1>Privacy policy</h1></main><footer><p>Acme, 1 Main Street</p></footer>")

    quality = judged(frame, baseline=GOOD_PAGE)

    assert (quality.outcome, quality.code) == ("blocked", "text-missing")
    assert "in the last good capture" in quality.evidence[0]


def test_a_far_shorter_text_with_nothing_of_the_old_one_is_another_page() -> None:
    body = "".join(f"<p>Reason {n} to join us today and to tell all of your friends.</p>" for n in range(9))

    assert judged(make_html(body, title="Join us"), baseline=GOOD_PAGE).code == "other-page"
    assert judged(make_html(body, title="Privacy policy in short"), baseline=GOOD_PAGE).is_good


def test_a_page_written_anew_is_a_change() -> None:
    anew = make_html(
        "<main>"
        + "".join(f"<p>Chapter {n}: everything on this page was written anew by other people.</p>" for n in range(30))
        + "</main>"
    )

    assert judged(anew, baseline=GOOD_PAGE).is_good


def test_a_phrase_the_baseline_has_too_is_no_evidence() -> None:
    page = make_html("<h1>Access denied</h1><p>A short film by A. Nyman, 12 minutes.</p>")

    assert judged(page, baseline=page).is_good
    assert judged(page.replace("12", "13"), baseline=page).is_good


def test_a_short_page_that_still_stands_may_speak_of_being_unavailable() -> None:
    product = make_html("<h1>Kettle</h1><p>Steel kettle, 1.7 litres, made to last.</p><p>89,00 €</p><p>In stock</p>")

    assert judged(product.replace("In stock", "Temporarily unavailable"), baseline=product).is_good


def test_mojibake_is_an_error_unless_the_page_always_had_it() -> None:
    text = "Der Schutz Ihrer persönlichen Daten ist uns wichtig; wir prüfen und löschen sie regelmäßig. " * 20
    good, bad = make_html(f"<p>{text}</p>"), make_html(f"<p>{text.encode().decode('cp1252')}</p>")

    assert judged(good).is_good
    assert judged(bad).code == "mojibake"
    assert judged(bad, baseline=good).code == "mojibake"
    assert judged(bad, baseline=bad).is_good


BROKEN = {
    "cyrillic": ("Защита ваших данных важна для нас, и мы храним их бережно. " * 10)
    .encode()
    .decode("cp1252", "replace"),
    "japanese": ("お客様の情報は大切に保管されます。" * 10).encode().decode("latin-1"),
    "french": ("Nous protégeons vos données à caractère privé « sans délai ». " * 10)
    .encode()
    .decode("cp1252", "replace"),
    "gone": "Der Schutz pers\ufffdnlicher Daten ist f\ufffdr uns sehr wichtig. " * 10,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_mojibake_of_several_scripts(text: str) -> None:
    assert judged(make_html(f"<p>{text}</p>")).code == "mojibake"


SOUND = {
    "french": "Voilà « déjà » l’été : où êtes-vous ? Ça va… à « Orléans », naïvement. " * 10,
    "portuguese": "“NÃO”, disse; “IRMÔ e “VERÔ são três. Á «mão» não há pão. " * 10,
    "vietnamese": "Chúng tôi bảo vệ dữ liệu cá nhân của bạn và sẽ trả lời ngay. " * 10,
    "russian": "Мы храним данные бережно. " * 10,
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_sound_text_with_many_accents_is_no_mojibake(text: str) -> None:
    assert judged(make_html(f"<p>{text}</p>")).is_good


@pytest.mark.parametrize("html", ["%PDF-1.7\n%âãÏÓ", "\x00\x01\x02\x00\x00\x00\x00\x00GIF"])
def test_what_is_no_page_is_an_error(html: str) -> None:
    assert judged(html).outcome == "error"


@pytest.mark.parametrize("cls", said.PHRASES)
def test_phrases_are_folded_unique_and_have_a_meaning(cls: str) -> None:
    everywhere = [p for phrases in said.PHRASES.values() for p in phrases]

    assert all(normalise(p) == p for p in said.PHRASES[cls])
    assert all(everywhere.count(p) == 1 for p in said.PHRASES[cls])
    assert State(said.MEANING[cls][0]) is not State.GOOD


def test_sentences_are_neutral() -> None:
    sentences = [sentence for _, sentence in said.MEANING.values()]

    assert all(s.endswith(".") and s[0].isupper() for s in sentences)
    assert not any(
        word in s.lower() for s in sentences for word in ("bot", "anti", "attack", "hostile", "refuse", "cloak", "evad")
    )


def test_an_assessment_without_any_facts_works() -> None:
    assert assess(PageFacts(), Reading(blocks=())).outcome == "blocked"
    assert assess(PageFacts(), read(GOOD_PAGE)).is_good


@pytest.mark.parametrize(
    "html", ["Ã" * 500_000, "<p>" + "access denied " * 70_000, "canonical" * 100_000, "<input " * 100_000]
)
def test_hostile_markup_costs_at_most_a_second(html: str) -> None:
    reading = read(html)
    start = time.process_time()

    assess(PageFacts(html=html), reading, reading)

    assert time.process_time() - start < 10  # quadratic work takes minutes here


@given(st.text(alphabet=st.sampled_from("<>/\"'= abzé中\x00\ud800&;!-"), max_size=120), st.sampled_from([0, 200, 403]))
@settings(max_examples=100, deadline=None)
def test_any_markup_is_assessed(html: str, status: int) -> None:
    quality = judged(html, baseline=GOOD_PAGE, status=status)

    assert quality.outcome in ("good", "blocked", "gone", "error")
    assert quality.is_good or quality.sentence

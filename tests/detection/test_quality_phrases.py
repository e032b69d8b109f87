"""How sites say that this is not the page, in eleven languages: frequent phrasings, each on a short page of its own."""

from __future__ import annotations

import pytest

from monitoring.detection import quality_phrases as said
from tests.detection.test_quality import judged, make_html

NOT_FOUND = {
    "en": ["Document not found", "Not Found", "The document you requested does not exist", "File not found", "We can't find what you're looking for", "This page is gone", "Sorry, this page is unavailable", "The URL you entered does not exist"],
    "de": ["Dokument nicht gefunden", "Nicht gefunden", "Die Seite wurde leider nicht gefunden", "Diese Seite ist nicht mehr verfügbar", "Die Seite, die Sie suchen, existiert nicht mehr", "Datei nicht gefunden", "Inhalt nicht gefunden"],
    "fr": ["Document introuvable", "Introuvable", "La page est introuvable", "Nous ne trouvons pas la page", "Cette page n'existe plus", "Ce contenu n'est plus disponible", "Oups, cette page a disparu", "Fichier introuvable"],
    "es": ["Documento no encontrado", "No encontrado", "La página no se encuentra", "Esta página ya no existe", "El contenido ya no está disponible", "No hemos encontrado la página", "Archivo no encontrado"],
    "it": ["Documento non trovato", "Non trovato", "Questa pagina non esiste più", "Impossibile trovare la pagina", "Il contenuto non è più disponibile", "La pagina non è disponibile", "File non trovato"],
    "nl": ["Document niet gevonden", "Niet gevonden", "Deze pagina bestaat niet meer", "We kunnen de pagina niet vinden", "Deze inhoud is niet meer beschikbaar", "Bestand niet gevonden", "De pagina kan niet worden gevonden"],
    "pt": ["Documento não encontrado", "Não encontrado", "Esta página já não existe", "A página não foi encontrada", "Não foi possível encontrar a página", "Este conteúdo não está mais disponível", "Ficheiro não encontrado"],
    "pl": ["Nie znaleziono dokumentu", "Nie znaleziono", "Strona już nie istnieje", "Nie możemy znaleźć strony", "Strona jest niedostępna", "Nie znaleziono pliku", "Podana strona nie istnieje"],
    "ja": ["文書が見つかりません", "見つかりませんでした", "このページは削除されました", "ページが存在しません", "お探しのコンテンツは見つかりませんでした", "ファイルが見つかりません", "このページは現在ご利用いただけません"],
    "zh": ["文档不存在", "未找到", "抱歉,您要找的页面不存在", "该页面已不存在", "内容不存在或已删除", "網頁不存在", "找不到文件", "抱歉,找不到您要的頁面"],
    "ko": ["문서를 찾을 수 없습니다", "찾을 수 없음", "페이지가 없습니다", "삭제된 페이지입니다", "요청하신 문서가 존재하지 않습니다", "더 이상 존재하지 않는 페이지입니다", "잘못된 주소입니다"],
}  # fmt: skip
MOVED = {
    "en": ["This page has moved", "This page has been moved", "Moved Permanently", "This content has moved"],
    "de": ["Diese Seite ist umgezogen", "Die Seite wurde verschoben", "Dieser Inhalt wurde verschoben"],
    "fr": ["Cette page a été déplacée", "Cette page a changé d'adresse", "Notre site a changé d'adresse", "Ce contenu a été déplacé"],
    "es": ["Esta página se ha trasladado", "La página ha sido movida", "Esta página ha cambiado de dirección"],
    "it": ["Questa pagina è stata spostata", "La pagina ha cambiato indirizzo", "Il sito si è trasferito", "Questo contenuto è stato spostato"],
    "nl": ["Deze pagina is verplaatst", "Deze pagina is verhuisd", "Onze website is verhuisd", "Deze inhoud is verplaatst"],
    "pt": ["Esta página foi movida", "A página mudou de endereço", "O nosso site mudou de endereço", "Este conteúdo foi movido"],
    "pl": ["Strona została przeniesiona", "Ta strona zmieniła adres", "Nasza strona została przeniesiona", "Ta treść została przeniesiona"],
    "ja": ["このページは移動しました", "ページが移転しました", "サイトを移転しました", "URLが変更されました"],
    "zh": ["此页面已移动", "页面已迁移", "网站已迁移", "本網頁已移至新網址"],
    "ko": ["페이지가 이동되었습니다", "이 페이지는 이전되었습니다", "사이트가 이전되었습니다", "페이지 주소가 변경되었습니다"],
}  # fmt: skip
SIGN_IN = {
    "en": ["Please log in to continue", "You need to log in to view this page", "Sign in required", "Please sign in to your account", "Members only: log in"],
    "de": ["Bitte melden Sie sich an", "Anmeldung erforderlich", "Sie müssen sich anmelden, um diese Seite zu sehen", "Sie sind nicht angemeldet", "Bitte loggen Sie sich ein"],
    "fr": ["Veuillez vous identifier", "Vous devez être connecté pour voir cette page", "Connectez-vous à votre compte", "Identifiez-vous pour continuer", "Authentification requise"],
    "es": ["Debes iniciar sesión para ver esta página", "Inicia sesión en tu cuenta", "Inicio de sesión requerido", "Debe identificarse para continuar", "Por favor, inicie sesión"],
    "it": ["Devi accedere per vedere questa pagina", "Accedi al tuo account", "Accesso richiesto", "È necessario effettuare il login", "Autenticazione richiesta"],
    "nl": ["U moet inloggen om deze pagina te bekijken", "Log in op je account", "Inloggen vereist", "Je moet ingelogd zijn", "Meld je aan om verder te gaan"],
    "pt": ["É preciso iniciar sessão", "Entre na sua conta", "Faça o login para continuar", "Precisa de iniciar sessão para ver esta página", "Login necessário"],
    "pl": ["Zaloguj się, aby kontynuować", "Wymagane logowanie", "Musisz być zalogowany", "Zaloguj się na swoje konto", "Proszę się zalogować"],
    "ja": ["ログインしてください", "このページを表示するにはログインが必要です", "アカウントにログイン", "会員ログイン", "サインインしてください"],
    "zh": ["请先登录", "登录后查看", "您尚未登录", "請先登入", "需要登录才能访问"],
    "ko": ["로그인이 필요합니다", "로그인 후 이용해 주세요", "로그인해 주세요", "계정에 로그인", "회원 전용 페이지입니다"],
}  # fmt: skip
CONSENTS = {
    "en": ["We value your privacy. Accept all cookies", "Before you continue, choose your cookie settings", "Accept all. Reject all. Manage options", "Accept cookies to continue"],
    "de": ["Wir schätzen Ihre Privatsphäre. Alle akzeptieren", "Bevor Sie fortfahren", "Mit Werbung weiterlesen oder Abo abschließen", "Alle ablehnen. Alle annehmen", "Zustimmen und weiter"],
    "fr": ["Avant de continuer", "Tout refuser. Tout accepter", "Accepter et continuer", "Continuer sans accepter", "Nous respectons votre vie privée. Accepter tous les cookies"],
    "es": ["Antes de continuar", "Rechazar todo. Aceptar todo", "Aceptar y continuar", "Valoramos tu privacidad. Aceptar todas las cookies"],
    "it": ["Prima di continuare", "Rifiuta tutto. Accetta tutto", "Accetta e continua", "Continua senza accettare", "Accetta tutti i cookie"],
    "nl": ["Voordat je verdergaat", "Alles weigeren. Alles accepteren", "Accepteren en doorgaan", "Cookies accepteren om verder te gaan"],
    "pt": ["Antes de continuar", "Rejeitar tudo. Aceitar tudo", "Aceitar e continuar", "Aceitar todos os cookies"],
    "pl": ["Zanim przejdziesz dalej", "Odrzuć wszystko. Zaakceptuj wszystko", "Akceptuję i przechodzę do serwisu", "Zezwól na wszystkie"],
    "ja": ["続行する前に", "すべて拒否 すべて同意", "すべてのCookieを受け入れる", "同意して続行"],
    "zh": ["继续之前", "全部拒绝 全部接受", "接受所有 Cookie", "同意并继续", "接受所有Cookie"],
    "ko": ["계속하기 전에", "모두 거부 모두 동의", "모든 쿠키 허용", "동의하고 계속하기", "모든 쿠키 수락"],
}  # fmt: skip
UPKEEP = {
    "en": ["We are down for maintenance", "Site under maintenance", "We are performing scheduled maintenance", "We'll be right back", "This service is temporarily unavailable", "The site is undergoing planned maintenance"],
    "de": ["Wir führen Wartungsarbeiten durch", "Diese Seite befindet sich im Wartungsmodus", "Wir sind gleich wieder da", "Wegen Wartung geschlossen", "Wir sind bald wieder für Sie da", "Der Dienst ist vorübergehend nicht verfügbar"],
    "fr": ["Site en maintenance", "Maintenance en cours", "Nous serons bientôt de retour", "Le service est temporairement indisponible", "Notre site est en cours de maintenance", "De retour dans quelques instants"],
    "es": ["Sitio en mantenimiento", "Estamos realizando tareas de mantenimiento", "Volvemos enseguida", "Volveremos pronto", "El servicio no está disponible temporalmente"],
    "it": ["Sito in manutenzione", "Stiamo effettuando lavori di manutenzione", "Torneremo presto online", "Torniamo subito", "Il servizio è temporaneamente non disponibile"],
    "nl": ["Deze website is in onderhoud", "We zijn bezig met onderhoud", "We zijn zo terug", "Gepland onderhoud", "De dienst is tijdelijk niet beschikbaar", "We zijn snel weer terug"],
    "pt": ["Site em manutenção", "Estamos em manutenção", "Voltamos já", "Voltaremos em breve", "O serviço está temporariamente indisponível"],
    "pl": ["Strona w trakcie konserwacji", "Trwają prace serwisowe", "Przerwa techniczna", "Wkrótce wracamy", "Serwis jest chwilowo niedostępny", "Strona tymczasowo niedostępna"],
    "ja": ["ただいまメンテナンス中です", "システムメンテナンスのお知らせ ただいまご利用いただけません", "現在メンテナンスを行っております", "サービスは一時的に利用できません", "しばらくしてから再度アクセスしてください"],
    "zh": ["系统维护中", "网站正在维护", "系統維護中", "网站升级中", "服务暂时不可用", "暂停服务"],
    "ko": ["시스템 점검 중입니다", "서비스 점검 안내", "현재 점검 중입니다", "일시적으로 서비스를 이용할 수 없습니다", "잠시 후 다시 이용해 주세요"],
}  # fmt: skip
HUMAN = {
    "en": ["Verify you are human", "Are you a robot?", "Please complete the captcha", "Checking your browser before accessing", "Let's confirm you are human", "Enter the code shown in the image", "Please prove that you are human"],
    "de": ["Bitte bestätigen Sie, dass Sie kein Roboter sind", "Sind Sie ein Mensch?", "Ihr Browser wird überprüft", "Bitte lösen Sie das Captcha", "Sicherheitsabfrage", "Bestätigen Sie, dass Sie ein Mensch sind"],
    "fr": ["Vérifions que vous êtes humain", "Confirmez que vous n'êtes pas un robot", "Êtes-vous un robot ?", "Veuillez compléter le captcha", "Vérification de votre navigateur", "Prouvez que vous êtes humain"],
    "es": ["Confirma que no eres un robot", "¿Eres un robot?", "Verifique que usted es humano", "Complete el captcha", "Comprobando su navegador", "Verifica que eres una persona"],
    "it": ["Conferma di non essere un robot", "Sei un robot?", "Verifica che sei umano", "Completa il captcha", "Controllo del browser in corso", "Dimostra di essere umano"],
    "nl": ["Bevestig dat je een mens bent", "Bent u een robot?", "Los de captcha op", "Uw browser wordt gecontroleerd", "Controleer of u een mens bent"],
    "pt": ["Confirme que você não é um robô", "Você é um robô?", "Verifique que é humano", "Resolva o captcha", "A verificar o seu navegador", "Verificando seu navegador"],
    "pl": ["Potwierdź, że nie jesteś robotem", "Czy jesteś robotem?", "Sprawdzanie przeglądarki", "Rozwiąż captcha", "Weryfikacja, czy jesteś człowiekiem"],
    "ja": ["あなたがロボットでないことを確認してください", "ロボットではありません", "人間であることを証明してください", "ブラウザを確認しています", "画像に表示されている文字を入力してください"],
    "zh": ["请验证您是人类", "确认您是真人", "请输入验证码", "正在检查您的浏览器", "請輸入驗證碼", "请拖动滑块完成验证", "確認您是真人"],
    "ko": ["로봇이 아님을 확인해 주세요", "사람인지 확인하십시오", "브라우저를 확인하는 중", "보안문자를 입력하세요", "자동 입력 방지 문자를 입력하세요"],
}  # fmt: skip
REFUSED = {
    "en": ["Access denied", "Forbidden", "You don't have permission to view this page", "You do not have access to this page", "Access to this resource is denied", "This content is not available in your country", "Unauthorized"],
    "de": ["Zugriff verweigert", "Kein Zugriff", "Sie haben keine Berechtigung", "Zugriff auf diese Seite nicht gestattet", "Ihr Zugriff wurde blockiert", "Dieser Inhalt ist in Ihrem Land nicht verfügbar", "Zugang gesperrt"],
    "fr": ["Accès refusé", "Accès interdit", "Vous n'avez pas la permission d'accéder à cette page", "Vous n'êtes pas autorisé à accéder à cette page", "Votre accès a été bloqué", "Accès non autorisé", "Ce contenu n'est pas disponible dans votre région"],
    "es": ["Acceso denegado", "Prohibido", "No tienes permiso para ver esta página", "No está autorizado a acceder", "Su acceso ha sido bloqueado", "Acceso no autorizado", "Este contenido no está disponible en tu región"],
    "it": ["Accesso negato", "Accesso vietato", "Non hai il permesso di vedere questa pagina", "Non sei autorizzato ad accedere", "Il tuo accesso è stato bloccato", "Accesso non autorizzato", "Contenuto non disponibile nel tuo paese"],
    "nl": ["Toegang geweigerd", "Verboden toegang", "U heeft geen toegang tot deze pagina", "Je hebt geen toestemming om deze pagina te bekijken", "Uw toegang is geblokkeerd", "Deze inhoud is niet beschikbaar in uw land"],
    "pt": ["Acesso negado", "Acesso proibido", "Você não tem permissão para acessar esta página", "Acesso não autorizado", "O seu acesso foi bloqueado", "Este conteúdo não está disponível no seu país", "Acesso recusado"],
    "pl": ["Odmowa dostępu", "Dostęp zabroniony", "Nie masz uprawnień do przeglądania tej strony", "Nie masz dostępu do tej strony", "Twój dostęp został zablokowany", "Brak dostępu", "Treść niedostępna w Twoim kraju"],
    "ja": ["アクセスが拒否されました", "アクセス権がありません", "このページを表示する権限がありません", "アクセスは許可されていません", "お住まいの国ではご利用いただけません", "アクセスがブロックされました"],
    "zh": ["访问被拒绝", "您没有权限访问此页面", "禁止访问", "您的访问已被阻止", "拒絕訪問", "您沒有權限存取此頁面", "此内容在您的国家/地区不可用", "无权访问"],
    "ko": ["접근이 거부되었습니다", "권한이 없습니다", "이 페이지에 접근할 권한이 없습니다", "접근 금지", "접속이 차단되었습니다", "해당 국가에서는 이용할 수 없습니다"],
}  # fmt: skip

SAYINGS = [
    pytest.param(lang, text, {*codes}, id=f"{lang}-{text}")
    for table, codes in (
        (NOT_FOUND, {said.GONE}),
        (MOVED, {said.GONE, said.REDIRECT}),
        (UPKEEP, {said.MAINTENANCE}),
        (HUMAN, {said.CAPTCHA}),
        (REFUSED, {said.DENIED, said.LOGIN}),
    )
    for lang, texts in table.items()
    for text in texts
]
PASSWORD = '<form action="/session"><input name="name"><input name="secret" type="password"><button>OK</button></form>'
LINKS = '<nav><a href="/">Halden</a> <a href="/2">Quay 2</a> <a href="/3">Quay 3</a></nav>'


def short_page(text: str, *, lang: str, more: str = "") -> str:
    html = make_html(f"{LINKS}<main><h1>{text}</h1>{more}</main>", title="Halden Library")
    return html.replace("<html>", f'<html lang="{lang}">')


@pytest.mark.parametrize(("lang", "text", "codes"), SAYINGS)
def test_a_short_page_that_says_so_is_not_the_page(lang: str, text: str, codes: set[str]) -> None:
    quality = judged(short_page(text, lang=lang))

    assert quality.code in codes


@pytest.mark.parametrize(
    ("lang", "text"), [pytest.param(lang, t, id=f"{lang}-{t}") for lang, texts in SIGN_IN.items() for t in texts]
)
def test_a_form_that_asks_to_sign_in_is_not_the_page(lang: str, text: str) -> None:
    assert judged(short_page(text, lang=lang, more=PASSWORD)).code in {said.LOGIN, said.DENIED}


@pytest.mark.parametrize(
    ("lang", "text"), [pytest.param(lang, t, id=f"{lang}-{t}") for lang, texts in CONSENTS.items() for t in texts]
)
def test_a_consent_dialogue_alone_is_not_the_page(lang: str, text: str) -> None:
    assert judged(short_page(text, lang=lang)).code == said.CONSENT


def test_two_words_for_a_whole_page_or_behind_the_name_of_the_site_are_enough() -> None:
    assert judged(make_html("<p>Not Found</p>", title="Halden Library")).code == said.GONE
    assert judged(make_html("<p>Try the catalogue.</p>", title="Nicht gefunden – Halden")).code == said.GONE


def test_two_words_among_others_are_not() -> None:
    html = make_html("<h1>Lost or not found</h1><p>Ask at the desk.</p>", title="Forbidden books: an exhibition")

    assert judged(html).is_good


# -- pages that say such words and are the page ---------------------------------------------

PROSE = {
    "en": "Members may borrow up to six books at a time and keep each of them for four weeks. A loan is renewed at the desk or by letter unless somebody else waits for the book. What is returned late costs nothing, but no further book is lent until it is back.",
    "de": "Mitglieder dürfen bis zu sechs Bücher zugleich entleihen und jedes davon vier Wochen behalten. Eine Leihe wird am Schalter oder per Brief verlängert, sofern niemand auf das Buch wartet. Verspätete Rückgabe kostet nichts, doch wird bis dahin kein weiteres Buch verliehen.",
    "fr": "Les membres peuvent emprunter jusqu'à six livres à la fois et garder chacun d'eux quatre semaines. Un prêt est prolongé au guichet ou par courrier si personne d'autre n'attend le livre. Un retour tardif ne coûte rien, mais aucun autre livre n'est prêté avant le retour.",
    "es": "Los miembros pueden llevarse hasta seis libros a la vez y tener cada uno cuatro semanas. El préstamo se renueva en el mostrador o por carta si nadie más espera el libro. Devolver tarde no cuesta nada, pero no se presta otro libro hasta entonces.",
    "it": "I soci possono prendere fino a sei libri per volta e tenere ciascuno quattro settimane. Il prestito si rinnova allo sportello o per lettera se nessun altro aspetta il libro. Restituire tardi non costa nulla, ma nessun altro libro viene prestato fino ad allora.",
    "nl": "Leden mogen zes boeken tegelijk lenen en elk daarvan vier weken houden. Een lening wordt aan de balie of per brief verlengd als niemand anders op het boek wacht. Te laat terugbrengen kost niets, maar tot dan wordt geen ander boek uitgeleend.",
    "pt": "Os sócios podem levar até seis livros de cada vez e ficar com cada um quatro semanas. O empréstimo renova-se ao balcão ou por carta se ninguém mais esperar pelo livro. Devolver tarde não custa nada, mas até lá não se empresta outro livro.",
    "pl": "Członkowie mogą wypożyczyć do sześciu książek naraz i zatrzymać każdą przez cztery tygodnie. Wypożyczenie przedłuża się przy ladzie lub listownie, jeśli nikt inny nie czeka na książkę. Spóźniony zwrot nic nie kosztuje, ale do tego czasu nie wypożyczamy kolejnej książki.",
    "ja": "会員は一度に六冊まで借りることができ、それぞれ四週間手元に置くことができます。ほかに待っている人がいなければ、窓口または手紙で貸出期間を延長できます。返却が遅れても費用はかかりませんが、返却されるまで次の本は貸し出しません。この規則は毎年春に見直されます。",
    "zh": "会员一次最多可以借阅六本书,每本可以保留四个星期。如果没有其他人等候,可以在柜台或者写信办理续借。逾期归还不收取费用,但是在归还之前不再借出其他图书。本规则每年春天修订一次,修订后的内容会张贴在入口处的布告栏上。",
    "ko": "회원은 한 번에 여섯 권까지 빌릴 수 있으며 각 책을 네 주 동안 보관할 수 있습니다. 다른 사람이 기다리지 않으면 창구나 편지로 대출을 연장할 수 있습니다. 늦게 반납해도 비용은 없지만 반납할 때까지 다른 책은 빌려주지 않습니다. 이 규칙은 해마다 봄에 다시 검토합니다.",
}  # fmt: skip
ALL_SAYINGS = [
    (lang, text)
    for table in (NOT_FOUND, MOVED, SIGN_IN, CONSENTS, UPKEEP, HUMAN, REFUSED)
    for lang, texts in table.items()
    for text in texts
]


@pytest.mark.parametrize(("lang", "text"), ALL_SAYINGS, ids=[f"{lang}-{text}" for lang, text in ALL_SAYINGS])
def test_a_rule_that_speaks_of_it_is_the_page(lang: str, text: str) -> None:
    rules = f"<h1>Halden</h1><p>{PROSE[lang]}</p><p>“{text}” – {PROSE[lang]}</p><p>{PROSE[lang][:90]}</p>"

    html = make_html(f"{LINKS}<main>{rules}</main>", title="Halden Library")

    assert judged(html).is_good
    assert judged(html, baseline=html.replace(text, "Halden")).is_good


@pytest.mark.parametrize(
    "text",
    [
        "Our reading room is unavailable to groups on Mondays",
        "The lending desk has moved to the first floor",
        "Lost and found: umbrellas, gloves and one blue bicycle",
        "Maintenance of boats and berths",
        "Wartung von Heizungen und Kesseln",
        "Manutenzione di caldaie e impianti",
        "Mantenimiento de barcos",
        "Onderhoud aan uw fiets",
        "Umzug der Bibliothek im Mai",
        "Déménagement de la bibliothèque",
        "Anmeldung zum Kurs",
        "Zugang zum Archiv",
        "Formulaire de contact",
        "Kontakt und Anfahrt",
        "開館時間のお知らせ",
        "图书馆开放时间",
        "도서관 이용 안내",
        "Robots in the workshop: a talk for children",
        "Captcha: how it works",
        "Forbidden books, an exhibition",
        "Verboden boeken, een tentoonstelling",
        "Nothing found under the floor of the old quay",
    ],
)
def test_a_short_page_about_something_else_is_good(text: str) -> None:
    html = make_html(f"{LINKS}<main><h1>{text}</h1><p>Open from nine to five.</p></main>", title="Halden Library")

    assert judged(html).is_good


def test_a_page_that_lists_error_codes_is_good() -> None:
    rows = "".join(
        f"<tr><td>{code}</td><td>{meaning}</td><td>{PROSE['en'][:70]}</td></tr>"
        for code, meaning in ((403, "Forbidden"), (404, "Not Found"), (410, "Gone"), (503, "Service Unavailable"))
    )
    html = make_html(f"<main><h1>Answers of our catalogue</h1><p>{PROSE['en']}</p><table>{rows}</table></main>")

    assert judged(html).is_good

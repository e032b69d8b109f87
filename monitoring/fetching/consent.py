"""What the buttons of cookie notices say, in the languages of most sites; no site is named here.

Three kinds of button, matched against the whole name: to refuse, to allow only what is necessary, to agree to all.
"""

from __future__ import annotations

import re


def _any_of(*words: str) -> re.Pattern[str]:
    return re.compile(r"^\W*(?:" + "|".join(words) + r")\W*$", re.IGNORECASE)


_ALL = r"(?: all| everything| all cookies| cookies| optional cookies| non-essential(?: cookies)?)?"
REFUSE = _any_of(
    rf"(?:reject|decline|refuse|deny|disagree to){_ALL}", r"no,? thanks?", r"do not (?:accept|agree|consent)",
    r"(?:alles?|alle cookies|cookies)? ?ablehnen", r"nicht (?:zustimmen|einverstanden)", r"ohne einwilligung fortfahren",
    r"(?:tout |tous les cookies )?refuser(?: tout| tous les cookies)?", r"continuer sans accepter", r"je refuse",
    r"rechazar(?: todo| todas| todas las cookies)?", r"no aceptar", r"denegar",
    r"rifiuta(?: tutto| tutti| tutti i cookie)?", r"continua senza accettare", r"non accetto",
    r"(?:alles |alle cookies )?weigeren", r"(?:alles )?afwijzen", r"rejeitar(?: tudo| todos)?", r"recusar(?: tudo| todos)?",
    r"odrzuć(?: wszystkie| wszystko)?", r"nie zgadzam się", r"odmítnout(?: vše| všechny)?", r"neka(?: alla)?", r"avvisa(?: alla)?",
    r"afvis(?: alle)?", r"avslå(?: alle)?", r"hylkää(?: kaikki)?", r"kieltäydy", r"reddet", r"tümünü reddet",
    r"отклонить(?: все| всё)?", r"відхилити(?: все| усі)?",
    r"(?:すべて|全て)?(?:を)?拒否(?:する|します)?", r"同意しない", r"拒绝(?:全部|所有)?", r"全部拒绝", r"拒絕(?:全部)?", r"全部拒絕", r"(?:모두 )?거부",
)  # fmt: skip
ESSENTIAL = _any_of(
    r"(?:accept |allow |use |only )*(?:strictly )?(?:necessary|essential|required)(?: cookies)?(?: only)?",
    r"(?:nur )?(?:notwendige|erforderliche|essenzielle|technisch notwendige)(?: cookies)?(?: akzeptieren| erlauben| zulassen)?",
    r"(?:uniquement les |cookies )?(?:cookies )?(?:nécessaires|essentiels)(?: uniquement)?",
    r"(?:solo |sólo )?(?:las )?(?:cookies )?(?:necesarias|esenciales)", r"(?:solo )?(?:i )?(?:cookie )?(?:necessari|essenziali|tecnici)",
    r"(?:alleen )?(?:noodzakelijke|essentiële)(?: cookies)?", r"(?:apenas |somente )?(?:cookies )?(?:necessários|essenciais)",
    r"tylko niezbędne(?: pliki cookie)?", r"(?:endast |bara )?nödvändiga(?: cookies)?", r"(?:kun |bare )?nødvendige(?: cookies)?",
    r"vain välttämättömät(?: evästeet)?", r"必要な(?:cookie|クッキー)のみ.*", r"必須(?:cookie|クッキー)?のみ.*", r"仅(?:必要|必需).*", r"필수.*만.*",
)  # fmt: skip
ACCEPT = _any_of(
    rf"(?:i )?(?:accept|agree|allow|consent)(?: to)?{_ALL}(?: and (?:continue|close))?", r"got it", r"ok(?:ay)?", r"i understand",
    r"(?:alles?|alle cookies|cookies)? ?(?:akzeptieren|zulassen|annehmen|erlauben)", r"(?:ich )?(?:stimme zu|zustimmen|einverstanden)", r"verstanden",
    r"(?:tout |j[’']?)?accepte[rz]?(?: tout| et fermer| et continuer| tous les cookies)?", r"d[’']accord",
    r"aceptar(?: todo| todas| todas las cookies| y continuar)?", r"acepto", r"de acuerdo", r"accetta(?: tutto| tutti| tutti i cookie)?", r"accetto",
    r"(?:alles |alle cookies )?(?:accepteren|toestaan)", r"akkoord", r"aceitar(?: tudo| todos)?", r"concordo",
    r"(?:za)?akceptuj(?:ę)?(?: wszystkie| wszystko)?", r"zgadzam się", r"přijmout(?: vše| všechny)?", r"souhlasím",
    r"(?:acceptera|godkänn|tillåt)(?: alla)?", r"(?:accepter|godkend|tillad|godta|aksepter)(?: alle)?", r"hyväksy(?: kaikki)?", r"(?:tümünü )?kabul et",
    r"принять(?: все| всё)?", r"согласен", r"прийняти(?: все| усі)?",
    r"(?:すべて|全て)?(?:に|を)?(?:同意|許可|承諾)(?:する|します)?", r"(?:全部|所有)?接受(?:全部|所有)?", r"同意", r"(?:모두 )?(?:동의|허용|수락)",
)  # fmt: skip
# What a notice speaks of; as JavaScript reads patterns too.
NEAR = (
    r"cookie|consent|gdpr|dsgvo|tracking|privacy|datenschutz|einwilligung|confidentialité|traceurs|privacidad|consentimiento|"
    r"riservatezza|consenso|privacidade|prywatno|soukrom|integritet|personvern|evästee|tietosuoj|çerez|куки|кук|クッキー|プライバシー|"
    r"隐私|隱私|쿠키|개인정보"
)

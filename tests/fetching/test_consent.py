"""What the buttons of cookie notices are taken for."""

from __future__ import annotations

import pytest

from monitoring.fetching.consent import ACCEPT, ESSENTIAL, REFUSE


@pytest.mark.parametrize(
    "name",
    ["Reject all", "Decline", "Alle ablehnen", "Tout refuser", "Continuer sans accepter", "Rechazar todo", "Rifiuta tutti", "Alles weigeren",
     "Odrzuć wszystkie", "Neka alla", "すべて拒否する", "拒否", "全部拒绝", "모두 거부", "✕ Reject all"],
)  # fmt: skip
def test_refusing_is_known(name: str) -> None:
    assert REFUSE.match(name)
    assert not ACCEPT.match(name)


@pytest.mark.parametrize(
    "name",
    ["Only necessary", "Strictly necessary cookies only", "Nur notwendige Cookies", "Uniquement les cookies nécessaires", "Solo necessari",
     "Tylko niezbędne", "必須Cookieのみ許可"],
)  # fmt: skip
def test_only_what_is_necessary_is_known(name: str) -> None:
    assert ESSENTIAL.match(name)
    assert not ACCEPT.match(name)


@pytest.mark.parametrize(
    "name",
    ["Accept all", "I agree", "Got it!", "OK", "Alle akzeptieren", "Zustimmen", "Tout accepter", "J’accepte", "Aceptar todas", "Accetta",
     "Akkoord", "Zgadzam się", "Godkänn alla", "同意する", "すべて許可", "接受全部", "동의"],
)  # fmt: skip
def test_agreeing_is_known(name: str) -> None:
    assert ACCEPT.match(name)
    assert not REFUSE.match(name)


@pytest.mark.parametrize(
    "name",
    [
        "Accept the offer of 12 May",
        "Cookies",
        "Settings",
        "Reject the invoice",
        "Manage preferences",
        "Buy now",
        "",
        "Einstellungen",
        "Okapi",
    ],
)
def test_other_buttons_are_left_alone(name: str) -> None:
    assert not any(words.match(name) for words in (REFUSE, ESSENTIAL, ACCEPT))

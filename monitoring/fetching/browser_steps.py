"""The steps of a list done on a page, and what they type kept out of everything that is written."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import quote, quote_plus, urlsplit

from playwright.async_api import Error as BrowserError
from playwright.async_api import Frame, Locator, Page

from monitoring.fetching.capture import Access
from monitoring.fetching.consent import ACCEPT, ESSENTIAL, NEAR, REFUSE
from monitoring.fetching.errors import FetchError
from monitoring.fetching.steps import MAX_TOTAL_S, Do, Step

POLL_S = 0.05
LEFT_OUT = "(secret)"
_MOST_CANDIDATES = 6
_BETWEEN_S = 0.3  # after a step the page is given this long without traffic before the next

_NOTICE_S = 1.0  # notices come a little after the page

# Whether an element, or one of the boxes around it, speaks of cookies or consent. The page itself is no such box (a
# frame's may be: many notices come in one), and neither is one that holds much else.
_IS_NEAR_CONSENT = """
(element, words) => {
  const speaks = new RegExp(words, "i");
  for (let box = element, n = 0; box && n < 12; n++) {
    if (window === window.top && /^(BODY|HTML|MAIN|ARTICLE)$/.test(box.nodeName)) return false;
    const text = (box instanceof ShadowRoot ? box.textContent : box.innerText) || "";
    if (text.length > 6000) return false;
    if (speaks.test(text)) return true;
    box = box instanceof ShadowRoot ? box.host : box.parentNode;
  }
  return false;
}
"""
_COVER = "element => element.style.setProperty('-webkit-text-security', 'disc', 'important')"


class Secrets:
    """The values that must not leave this process, and how texts are cleared of them."""

    def __init__(self, secrets: Sequence[tuple[str, str]], access: Access | None) -> None:
        self._values = dict(secrets)
        known = [*self._values.values(), *(value for _, value in (access.cookies if access else ()))]
        forms = {form for value in known if value for form in _forms(value)}
        self._pattern = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))
        self._any = bool(forms)

    def value(self, name: str) -> str:
        """The secret of this name; raises KeyError."""
        return self._values[name]

    def left_out(self, text: str) -> str:
        """The text with a mark in place of each secret, also where it stands as part of an address or of markup."""
        return self._pattern.sub(LEFT_OUT, text) if self._any else text


def _forms(value: str) -> set[str]:
    return {
        value,
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        html.escape(value),
        html.escape(value, quote=False),
    }


class StepFailed(FetchError):  # noqa: N818 - the name says what happened
    """A step that the page did not let us do."""

    reason = "step-failed"

    def __init__(self, number: int, step: Step, why: str) -> None:
        super().__init__(f"Step {number} ({step.words}) failed: {why}")


class _Refusal(Exception):  # noqa: N818
    """Why a step is not done, in words."""


class Actor:
    """Does steps on one page."""

    def __init__(
        self, page: Page, secrets: Secrets, *, left_s: Callable[[], float], is_quiet: Callable[[float], bool]
    ) -> None:
        self._page, self.secrets, self._left_s, self._is_quiet = page, secrets, left_s, is_quiet
        self._typed: list[Locator] = []
        self._home = ""
        self._work: dict[Do, Callable[[Step, float], Awaitable[None]]] = {
            Do.CLICK: self._click,
            Do.TYPE: self._type,
            Do.SELECT: self._select,
            Do.SCROLL: self._scroll,
            Do.CONSENT: self._consent,
            Do.PRESS: self._press,
            Do.WAIT: self._wait,
        }

    async def work(self, steps: Sequence[Step], *, home: str) -> None:
        """Do all steps in order; raises `StepFailed`. Secrets are typed on the host of `home` only, or where a step says."""
        self._home = home
        ends_at = time.monotonic() + MAX_TOTAL_S
        for number, step in enumerate(steps, start=1):
            left_s = min(ends_at - time.monotonic(), self._left_s())
            if left_s <= POLL_S:
                raise StepFailed(number, step, "no time was left for it.")
            try:
                async with asyncio.timeout(min(left_s, step.longest_s + 1.0)):
                    await self._work[step.do](step, min(step.within_s, left_s))
            except (_Refusal, BrowserError, TimeoutError) as error:
                why = str(error) if isinstance(error, _Refusal) else _words_of(step)
                raise StepFailed(number, step, why) from None  # the browser's message may hold what was typed
            await self._until(lambda: self._is_quiet(_BETWEEN_S), within_s=min(_BETWEEN_S * 3, left_s))

    async def cover_secrets(self) -> None:
        """Hide what was typed from a picture; a field that is gone hides itself."""
        for locator in self._typed:
            with suppress(BrowserError):
                await locator.evaluate(_COVER, timeout=500)

    # -- the kinds -----------------------------------------------------------------------

    def _at(self, step: Step) -> Locator:
        return self._page.locator(f"css={step.selector}").first

    async def _click(self, step: Step, within_s: float) -> None:
        target = self._at(step) if step.selector else self._named(step.text)
        await target.click(timeout=within_s * 1000)

    def _named(self, text: str) -> Locator:
        """What a person would click who is told this text: a button or link of that name, else the text itself."""
        page = self._page
        by_role = page.get_by_role("button", name=text).or_(page.get_by_role("link", name=text))
        return by_role.or_(page.get_by_text(text)).first

    async def _type(self, step: Step, within_s: float) -> None:
        target = self._at(step)
        value = step.value
        if step.secret:
            self._check_place(step)
            try:
                value = self.secrets.value(step.secret)
            except KeyError:
                raise _Refusal(f"the secret {step.secret} is not known.") from None
            self._typed.append(target)
        elif await target.get_attribute("type", timeout=within_s * 1000) == "password":
            raise _Refusal("a password is typed by reference only; write secret:NAME for its value.")
        await target.fill(value, timeout=within_s * 1000)

    def _check_place(self, step: Step) -> None:
        """Raise where the page is not the one that the secret belongs to."""
        here, home = urlsplit(self._page.url), urlsplit(self._home)
        wanted = step.on or home.hostname
        if here.hostname != wanted or (here.scheme != "https" and here.scheme != home.scheme):
            raise _Refusal(f"the page stands at {here.hostname}, and the secret belongs to {wanted}.")

    async def _select(self, step: Step, within_s: float) -> None:
        target = self._at(step)
        await target.wait_for(state="attached", timeout=within_s * 1000)
        options = await target.locator("option").evaluate_all("all => all.map(one => [one.value, one.label])")
        chosen = next((value for value, label in options if step.value in (value, label)), None)
        if chosen is None:
            raise _Refusal(f"there is no option “{step.value[:80]}”.")
        await target.select_option(value=chosen, timeout=within_s * 1000)

    async def _scroll(self, step: Step, within_s: float) -> None:
        if step.selector:
            await self._at(step).scroll_into_view_if_needed(timeout=within_s * 1000)
            return
        await self._page.evaluate(
            "to => window.scrollTo(0, to === 'top' ? 0 : document.documentElement.scrollHeight)", step.to
        )

    async def _press(self, step: Step, within_s: float) -> None:
        if step.selector:
            await self._at(step).press(step.key, timeout=within_s * 1000)
        else:
            await self._page.keyboard.press(step.key)

    async def _wait(self, step: Step, within_s: float) -> None:
        if step.seconds:
            await asyncio.sleep(step.seconds)
        elif step.quiet_s:
            if not await self._until(lambda: self._is_quiet(step.quiet_s), within_s=max(within_s, step.quiet_s + 0.5)):
                raise _Refusal("the network did not rest.")
        elif step.url:
            if not await self._until(lambda: step.url in self._page.url, within_s=within_s):
                raise _Refusal("the page's address does not hold it.")
        elif step.text:
            await self._page.get_by_text(step.text).first.wait_for(state="visible", timeout=within_s * 1000)
        elif step.gone:
            await self._at(step).wait_for(state="hidden", timeout=within_s * 1000)
        else:
            await (
                self._page.locator(f"css={step.selector}")
                .nth(max(step.count, 1) - 1)
                .wait_for(state="attached", timeout=within_s * 1000)
            )

    async def _until(self, condition: Callable[[], bool], *, within_s: float) -> bool:
        ends_at = time.monotonic() + within_s
        while not (met := condition()) and time.monotonic() < ends_at:
            await asyncio.sleep(POLL_S)
        return met

    # -- consent -------------------------------------------------------------------------

    async def _consent(self, step: Step, within_s: float) -> None:
        """Click a notice about cookies away, if there is one; refuse what can be refused. Without a notice nothing happens."""
        wanted = (ACCEPT,) if step.answer == "accept" else (REFUSE, ESSENTIAL, ACCEPT)
        begun = time.monotonic()
        while True:
            for words in wanted:
                for frame in self._page.frames:
                    if await self._clicked_away(frame, words):
                        return
            passed = time.monotonic() - begun
            if passed > within_s or (passed > _NOTICE_S and self._is_quiet(_BETWEEN_S)):
                return
            await asyncio.sleep(POLL_S)

    async def _clicked_away(self, frame: Frame, words: re.Pattern[str]) -> bool:
        with suppress(BrowserError):
            named = frame.get_by_role("button", name=words).or_(frame.get_by_role("link", name=words))
            for number in range(min(await named.count(), _MOST_CANDIDATES)):
                button = named.nth(number)
                if await button.is_visible() and await button.evaluate(_IS_NEAR_CONSENT, NEAR, timeout=1000):
                    await button.click(timeout=2000)
                    return True
        return False


def _words_of(step: Step) -> str:
    """What was missing when a step's time was up."""
    if step.do is Do.CONSENT:
        return "the notice could not be clicked away."
    if step.do is Do.WAIT:
        return f"it was not so within {step.within_s:g} s."
    return f"nothing on the page let it be done within {step.within_s:g} s."

"""Forms of the configuration: each refusal says what was found and what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models import DocumentKind, FieldRule, IgnoreRule, Monitor, PageType, Site, Vantage
from monitoring.services import monitors, rendering, vetting
from monitoring.services.intervals import format_interval, parse_interval

if TYPE_CHECKING:

    class _ModelForm[M: models.Model](forms.ModelForm[M]):
        """Generic for the type checker only; Django's own class takes no parameter when it runs."""

    class _Returning[M: models.Model](_ModelForm[M]):
        """The same for a form that another page leads back to."""
else:

    class _ModelForm[M](forms.ModelForm):
        """A model's form."""

    class _Returning[M](_ModelForm):
        """A model's form that another page leads back to."""

        def is_valid(self):
            """Never valid when a preview was asked for, or a preview or trial left: such a form is looked at, not saved."""
            return super().is_valid() and not {"_preview", "_edit"} & set(self.data)


LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*|\*")
_CUT = _("Score, 0 to 1. Empty: as the page type says.")
_BITS = _("Bits, 0 to 64. Empty: as the page type says.")
_JSON = {"class": "vLargeTextField selector", "rows": "4", "spellcheck": "false"}
HOST = re.compile(r"[a-z0-9.-]+(:\d{1,5})?|\[[0-9a-f:.]+\](:\d{1,5})?")


class IntervalField(forms.CharField):
    """A length of time such as `6 h`, kept as whole seconds; empty is None."""

    def __init__(self, *, low_s: int = 60, high_s: int = 31_536_000, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 20)
        super().__init__(**kwargs)
        self.low_s, self.high_s = low_s, high_s
        self.widget.attrs.setdefault("size", "12")

    def prepare_value(self, value: Any) -> Any:
        return format_interval(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            seconds = parse_interval(text)
        except ValueError:
            raise ValidationError(
                _("“%(text)s” is no length of time; write for example 30 min, 6 h or 2 days."),
                code="interval",
                params={"text": text},
            ) from None
        if not self.low_s <= seconds <= self.high_s:
            raise ValidationError(
                _("%(found)s is out of range; expected %(low)s to %(high)s."),
                code="interval-range",
                params={
                    "found": format_interval(seconds),
                    "low": format_interval(self.low_s),
                    "high": format_interval(self.high_s),
                },
            )
        return seconds

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(initial != self.clean(data))
        except ValidationError:
            return True


class MonitorForm(_Returning[Monitor]):
    """What a person sets on a monitor. The site follows from the address."""

    interval_s = IntervalField(
        label=_("Interval"), required=False, help_text=_("For example 30 min, 6 h, 2 d. Empty: as the page type says.")
    )
    min_interval_s = IntervalField(label=_("Minimum interval"), initial=300)
    max_interval_s = IntervalField(label=_("Maximum interval"), initial=604_800)
    cut = forms.FloatField(label=_("Cut"), required=False, min_value=0, max_value=1, help_text=_CUT)
    threshold = forms.IntegerField(label=_("Threshold"), required=False, min_value=0, max_value=64, help_text=_BITS)
    weight = forms.FloatField(
        label=_("Weight"), required=False, min_value=0.01, max_value=100, help_text=_("Empty: as the page type says.")
    )
    reason = forms.CharField(
        label=_("Reason for the change"),
        required=False,
        max_length=300,
        help_text=_("Stands in the record of settings beside your name."),
    )

    class Meta:
        model = Monitor
        fields = list(monitors.MONITOR_SETTINGS)
        widgets = {
            "name": forms.TextInput(attrs={"class": "vLargeTextField"}),
            "url": forms.TextInput(attrs={"class": "vLargeTextField", "inputmode": "url", "spellcheck": "false"}),
            "wait_selector": forms.TextInput(attrs={"class": "vLargeTextField selector", "spellcheck": "false"}),
            "main_selector": forms.TextInput(attrs={"class": "vLargeTextField selector", "spellcheck": "false"}),
            "link_selector": forms.TextInput(attrs={"class": "vLargeTextField selector", "spellcheck": "false"}),
            "json_path": forms.TextInput(attrs={"class": "vLargeTextField selector", "spellcheck": "false"}),
            "steps": forms.Textarea(attrs=_JSON),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "document_type" in self.fields:  # an auditor sees values, not fields
            self.fields["document_type"].required = False  # nothing chosen: found by itself

    def clean_document_type(self) -> str:
        return self.cleaned_data["document_type"] or DocumentKind.AUTO

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if self.instance.pk and url == self.instance.url:
            return url  # unchanged: also a sample page of our own, which nobody could enter
        return monitors.canonical_url(url)

    def clean_main_selector(self) -> str:
        return _selector(self.cleaned_data["main_selector"])

    def clean_wait_selector(self) -> str:
        return _selector(self.cleaned_data["wait_selector"])

    def clean_charset_override(self) -> str:
        return vetting.check_charset(self.cleaned_data["charset_override"])

    def clean_steps(self) -> list[dict[str, Any]]:
        return rendering.check_steps(self.cleaned_data["steps"])

    def clean_link_selector(self) -> str:
        return _selector(self.cleaned_data["link_selector"])

    def clean_json_path(self) -> str:
        return _checked(self.cleaned_data["json_path"], vetting.check_json_path)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("confirm_vantage") and cleaned["confirm_vantage"] == cleaned.get("vantage"):
            text = _("This is the vantage it is asked from anyway; choose another one, or none.")
            self.add_error("confirm_vantage", ValidationError(text, code="vantage"))
        low, high = cleaned.get("min_interval_s"), cleaned.get("max_interval_s")
        if low and high and low > high:
            self.add_error("max_interval_s", ValidationError(_("Shorter than the minimum interval."), code="order"))
        if cleaned.get("steps") and cleaned.get("renderer") == "http":
            self.add_error(
                "steps",
                ValidationError(_("Only a browser does steps; choose it under “fetched by”."), code="renderer"),
            )
        if cleaned.get("wait_selector") and cleaned.get("renderer") == "http":
            self.add_error(
                "wait_selector",
                ValidationError(_("Only a browser can wait for a selector; choose it under “fetched by”."), code="renderer"),
            )  # fmt: skip
        if cleaned.get("json_path") and cleaned.get("document_type") not in (DocumentKind.AUTO, DocumentKind.JSON):
            self.add_error(
                "json_path",
                ValidationError(_("Only JSON has paths; choose it, or “found by itself”, as the document type."), code="type"),
            )  # fmt: skip
        return cleaned


def _selector(text: str) -> str:
    return _checked(text, vetting.check_selector)


def _checked(text: str, check: Callable[[str], None]) -> str:
    text = text.strip()
    if text:
        check(text)
    return text


class PageTypeForm(_Returning[PageType]):
    """Thresholds and defaults of a kind of page."""

    default_interval_s = IntervalField(
        label=_("Interval"), initial=21_600, help_text=_("For example 30 min, 6 h, 2 d.")
    )
    max_interval_s = IntervalField(
        label=_("At least every"),
        required=False,
        help_text=_("A promise for all its monitors, where shorter than their own maximum interval; empty: none."),
    )
    min_interval_s = IntervalField(
        label=_("Minimum interval"),
        required=False,
        help_text=_("For all its monitors, where longer than their own; empty: none."),
    )
    cut = forms.FloatField(
        label=_("Cut"),
        initial=0.5,
        min_value=0,
        max_value=1,
        help_text=_("Score from which a change goes to the queue."),
    )
    threshold = forms.IntegerField(
        label=_("Threshold"),
        initial=3,
        min_value=0,
        max_value=64,
        help_text=_("Bits of fingerprint distance above which a difference speaks for content."),
    )
    weight = forms.FloatField(
        label=_("Weight"),
        initial=1,
        min_value=0.01,
        max_value=100,
        help_text=_("In scheduling and in the queue's order."),
    )
    audit_share = forms.FloatField(
        label=_("Audit share"),
        initial=0,
        min_value=0,
        max_value=1,
        help_text=_("Share of noise that goes to the queue as a sample, so that misses are measured."),
    )
    auto_cut = forms.FloatField(
        label=_("Applied by itself up to"),
        initial=0,
        min_value=0,
        max_value=1,
        required=False,
        help_text=_("Once a week a proposal that moves the cut by at most this much is applied; 0: never."),
    )
    tell_after = forms.IntegerField(
        label=_("Told after"),
        initial=3,
        min_value=1,
        max_value=50,
        help_text=_("Visits in a row that bring no page to compare before the team is told by mail."),
    )
    remind_days = forms.IntegerField(
        label=_("Reminded after, days"),
        initial=7,
        min_value=0,
        max_value=365,
        help_text=_("While it lasts; 0: never."),
    )
    keep_days = forms.IntegerField(
        label=_("Snapshots kept, days"),
        required=False,
        min_value=1,
        max_value=36_500,
        help_text=_("Changes and baselines keep theirs, and so does a legal hold; empty: without limit."),
    )
    keep_snapshots = forms.IntegerField(
        label=_("Snapshots kept per monitor"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=_("The newest ones, and besides them what changes and baselines rest on; empty: all."),
    )
    keep_checks_days = forms.IntegerField(
        label=_("Checks kept, days"),
        required=False,
        min_value=30,
        max_value=36_500,
        help_text=_("Visits that found nothing and left no snapshot; empty: without limit."),
    )
    reason = forms.CharField(label=_("Reason for the change"), required=False, max_length=300)

    class Meta:
        model = PageType
        fields = list(monitors.PAGE_TYPE_SETTINGS)

    def clean_auto_cut(self) -> float:
        """Left empty is never."""
        return self.cleaned_data["auto_cut"] or 0.0


class FieldRuleForm(_ModelForm[FieldRule]):
    """A field; the selector or path is tried out before it is kept."""

    class Meta:
        model = FieldRule
        fields = ["monitor", "page_type", "name", "source", "selector", "attribute", "type", "important", "review", "enabled"]  # fmt: skip
        widgets = {"selector": forms.TextInput(attrs={"class": "vTextField selector", "spellcheck": "false"})}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and {"source", "selector", "type"} <= set(cleaned):
            try:
                vetting.check_field(
                    name=cleaned["name"],
                    source=cleaned["source"],
                    selector=cleaned["selector"],
                    attribute=cleaned.get("attribute", ""),
                    type=cleaned["type"],
                )
            except ValidationError as error:
                self.add_error("selector", error)
        return cleaned


class IgnoreRuleForm(_Returning[IgnoreRule]):
    """Something to leave out of the comparison; a pattern is compiled, a selector parsed."""

    class Meta:
        model = IgnoreRule
        fields = ["monitor", "page_type", "kind", "value", "note"]
        widgets = {"value": forms.TextInput(attrs={"class": "vTextField selector", "spellcheck": "false"})}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and {"kind", "value"} <= set(cleaned):
            try:
                vetting.check_ignore(kind=cleaned["kind"], value=cleaned["value"])
            except ValidationError as error:
                self.add_error("value", error)
        return cleaned


class SiteForm(_ModelForm[Site]):
    """A host as readers know it."""

    class Meta:
        model = Site
        fields = [*monitors.SITE_SETTINGS, *monitors.SITE_ACCESS]
        widgets = {
            "robots_reason": forms.TextInput(attrs={"class": "vLargeTextField"}),
            "hint_url": forms.TextInput(attrs={"class": "vLargeTextField", "spellcheck": "false"}),
            "cookies": forms.Textarea(attrs=_JSON),
            "login_url": forms.TextInput(attrs={"class": "vLargeTextField", "inputmode": "url", "spellcheck": "false"}),
            "login_steps": forms.Textarea(attrs=_JSON),
        }

    def clean_cookies(self) -> str:
        text: str = self.cleaned_data["cookies"]
        rendering.parse_cookies(text)
        return text

    def clean_login_url(self) -> str:
        url: str = self.cleaned_data["login_url"].strip()
        return monitors.canonical_url(url) if url else ""

    def clean_login_steps(self) -> list[dict[str, Any]]:
        return rendering.check_steps(self.cleaned_data["login_steps"])

    def clean_host(self) -> str:
        host: str = self.cleaned_data["host"].strip().lower()
        if not HOST.fullmatch(host):
            raise ValidationError(
                _("“%(host)s” is no host; expected a name such as www.example.org, with the port where it is not the usual one."),
                code="host",
                params={"host": host},
            )  # fmt: skip
        return monitors.site_host(monitors.canonical_url(f"https://{host}/"))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("login_url") and "login_steps" in cleaned and not cleaned["login_steps"]:
            text = _("Signing in takes steps; say what to type and click there.")
            self.add_error("login_steps", ValidationError(text))
        found = Site(**{name: cleaned.get(name, getattr(self.instance, name)) for name in monitors.SITE_SETTINGS})
        try:
            monitors.check_site(found)
        except ValidationError as error:
            self.add_error(None if hasattr(error, "error_dict") else "hint_url", error)
        else:
            cleaned["hint_url"] = found.hint_url
        return cleaned


class VantageForm(_ModelForm[Vantage]):
    """From where and as whom we ask. The proxy's password is taken and never given back."""

    class Meta:
        model = Vantage
        fields = list(monitors.VANTAGE_SETTINGS)
        widgets = {
            "proxy_url": forms.TextInput(attrs={"class": "vLargeTextField", "autocomplete": "off", "spellcheck": "false"}),
            "country": forms.TextInput(attrs={"size": "4"}),
        }  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stored_proxy = self.instance.proxy_url
        if self._stored_proxy:
            self.initial["proxy_url"] = monitors.mask_proxy(self._stored_proxy)

    def clean_country(self) -> str:
        country: str = self.cleaned_data["country"].strip().upper()
        if country and not (len(country) == 2 and country.isascii() and country.isalpha()):
            raise ValidationError(
                _("“%(country)s” is no country; expected two letters such as DE."),
                code="country",
                params={"country": country},
            )
        return country

    def clean_proxy_url(self) -> str:
        """The proxy's address; the stored one, password and all, when the masked one came back unchanged."""
        text: str = self.cleaned_data["proxy_url"].strip()
        if not text:
            return ""
        if self._stored_proxy and text == monitors.mask_proxy(self._stored_proxy):
            return self._stored_proxy
        if "•" in text:
            # Otherwise a new host would be sent the password that was meant for the old one.
            raise ValidationError(_("Enter the password again: it belongs to the address as it was."), code="password")
        proxy = vetting.check_proxy(text)
        if "{country}" in proxy and not self.data.get(self.add_prefix("country"), "").strip():
            raise ValidationError(_("The proxy's address holds {country}; say which country."), code="proxy-country")
        return proxy

    def clean_language(self) -> str:
        language: str = self.cleaned_data["language"].strip()
        for part in language.split(","):
            tag, _separator, quality = part.strip().partition(";")
            if not LANGUAGE.fullmatch(tag.strip()) or (
                quality and not re.fullmatch(r"\s*q=(0(\.\d{1,3})?|1(\.0{1,3})?)", quality)
            ):
                raise ValidationError(
                    _("“%(part)s” is no language; expected a header such as de-DE,de;q=0.9,en;q=0.5."),
                    code="language",
                    params={"part": part.strip()},
                )
        return language

    def clean_user_agent(self) -> str:
        agent: str = self.cleaned_data["user_agent"].strip()
        if not (agent.isascii() and agent.isprintable()):
            raise ValidationError(_("A user agent holds printable ASCII characters only."), code="user-agent")
        return agent

    def clean_locale(self) -> str:
        locale: str = self.cleaned_data["locale"].strip()
        if locale and (locale == "*" or not LANGUAGE.fullmatch(locale)):
            raise ValidationError(
                _("“%(locale)s” is no locale; expected one such as de-AT."), code="locale", params={"locale": locale}
            )
        return locale

    def clean_time_zone(self) -> str:
        zone: str = self.cleaned_data["time_zone"].strip()
        if zone not in available_timezones():
            raise ValidationError(
                _("“%(zone)s” is no time zone; expected a name such as Europe/Berlin."),
                code="time-zone",
                params={"zone": zone},
            )
        return zone

    def clean_viewport_width(self) -> int:
        return self._within("viewport_width", 240, 3840)

    def clean_viewport_height(self) -> int:
        return self._within("viewport_height", 240, 4320)

    def _within(self, name: str, low: int, high: int) -> int:
        value: int = self.cleaned_data[name]
        if not low <= value <= high:
            raise ValidationError(
                _("%(value)d is out of range; expected %(low)d to %(high)d pixels."),
                code="range",
                params={"value": value, "low": low, "high": high},
            )
        return value


class MoveForm(forms.Form):
    """To which page type the chosen monitors go."""

    page_type = forms.ModelChoiceField(PageType.objects.all(), label=_("Page type"))
    reason = forms.CharField(label=_("Reason"), required=False, max_length=300)


class HoldForm(forms.Form):
    """Why a legal hold is put or lifted."""

    reason = forms.CharField(label=_("Reason"), max_length=300)


class ImportForm(forms.Form):
    """A file of monitors to add."""

    file = forms.FileField(
        label=_("File"),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv,text/plain"}),
        help_text=_("CSV, UTF-8 or Windows-1252, comma or semicolon; at most 5,000 lines and 1 MB."),
    )

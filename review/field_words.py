"""What happened to a field, in the reader's language: from stored values, or from the sentence of an older row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.detection.field_values import FieldValue
from monitoring.detection.fields import FieldEdit, edit_of
from monitoring.models import FieldChange

type Facts = Mapping[str, Any]

_ENTRY = re.compile(r"(^|, )(removed|added) (?=“)")
_MORE = re.compile(r" and (\d+) more$")
_GONE, _NEW = " -> no longer on the page", "not on the page -> "


def sentence(row: FieldChange) -> str:
    """A row of the dataset in one line: "price: 89.00 → 79.00"."""
    edit = _edit(row)
    words = from_facts(edit.facts) if edit is not None else from_text(row.name, row.text)
    return f"{row.name}: {words}"


def words(name: str, text: str, facts: Facts) -> str:
    """What happened to a field, without its name; `text` is what a reason without facts has."""
    return from_facts(facts) if "state" in facts else from_text(name, text)


def from_facts(facts: Facts) -> str:
    """What happened, from the figures that a judgement stores (see `FieldEdit.facts`)."""
    if "removed" in facts or "added" in facts:
        return _entries(facts)
    before, after = _value(facts.get("before")), _value(facts.get("after"))
    if facts.get("state") == "vanished":
        return _("%(value)s → no longer on the page") % {"value": before}
    if facts.get("state") == "appeared":
        return _("not on the page before → %(value)s") % {"value": after}
    return f"{before} → {after}"


def _entries(facts: Facts) -> str:
    parts = [_("removed “%(entry)s”") % {"entry": entry} for entry in facts.get("removed", ())]
    parts += [_("added “%(entry)s”") % {"entry": entry} for entry in facts.get("added", ())]
    found = ", ".join(parts)
    more = int(facts.get("more", 0))
    return f"{found} " + _("and %(n)s more") % {"n": more} if more else found


def _value(value: Any) -> str:
    if isinstance(value, int):
        return ngettext("%(n)s entry", "%(n)s entries", value) % {"n": value}
    return str(value or "") or _("empty")


def from_text(name: str, text: str) -> str:
    """What happened, from the English sentence that older rows have and nothing else."""
    values = text.removeprefix(name).removeprefix(":").strip()
    if values.endswith(_GONE):
        return _("%(value)s → no longer on the page") % {"value": values.removesuffix(_GONE)}
    if values.startswith(_NEW):
        return _("not on the page before → %(value)s") % {"value": values.removeprefix(_NEW)}
    if _ENTRY.match(values):
        kinds = {"removed": _("removed"), "added": _("added")}
        rest = _ENTRY.sub(lambda found: f"{found[1]}{kinds[found[2]]} ", values)
        return _MORE.sub(lambda found: " " + _("and %(n)s more") % {"n": found[1]}, rest)
    return values.replace(" -> ", " → ")


def _edit(row: FieldChange) -> FieldEdit | None:
    """The edit that the row's stored values make; None where they are not as this version stores them."""
    try:
        old, new = (None if value is None else FieldValue.from_json(value) for value in (row.old, row.new))
    except (AttributeError, ValueError):
        return None
    return edit_of(row.name, old, new)

"""Filters for the written part of mails."""

from __future__ import annotations

import textwrap

from django import template
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def labelled(line: str, what: str) -> str:
    """A removed or added sentence, labelled and wrapped at 70 columns, for readers without colour."""
    label = f"   - {_('REMOVED')}: " if what == "removed" else f"   + {_('ADDED')}: "
    return textwrap.fill(
        line, width=70, initial_indent=label, subsequent_indent="     ", break_long_words=False, break_on_hyphens=False
    )

"""The diff that people read: blocks paired first, words compared only inside a pair, bounded by work."""

from monitoring.detection.diff.document import Limits, apply, diff, diff_hash, edit_hash, rows_at, rows_of, text_of
from monitoring.detection.diff.telling import first_places, summary

__all__ = [
    "Limits",
    "apply",
    "diff",
    "diff_hash",
    "edit_hash",
    "first_places",
    "rows_at",
    "rows_of",
    "summary",
    "text_of",
]

"""The human side's tables."""

from review.models.desk import KeyTerms, SavedView, Visit
from review.models.digest import Digest, DigestSubscription
from review.models.notice import TroubleNotice
from review.models.preferences import Preferences
from review.models.routing import Absence, Route
from review.models.verdict import Assignment, Note, Verdict

__all__ = [
    "Absence",
    "Assignment",
    "Digest",
    "DigestSubscription",
    "KeyTerms",
    "Note",
    "Preferences",
    "Route",
    "SavedView",
    "TroubleNotice",
    "Verdict",
    "Visit",
]

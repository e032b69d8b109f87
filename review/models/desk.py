"""What people keep at hand: saved views, what they last looked at, and the words their team watches for."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models import Change, Snapshot, Team


class SavedView(models.Model):
    """A filter and an order of the queue under a name, for one person or for a whole team."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="saved_views")
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(max_length=600)  # as in the address of the queue
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"], condition=models.Q(team__isnull=True), name="saved_view_of_person"
            ),
            models.UniqueConstraint(
                fields=["team", "name"], condition=models.Q(team__isnull=False), name="saved_view_of_team"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Visit(models.Model):
    """That a person looked at a change: since when this time, until when, and at which of its diffs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="visits")
    since = models.DateTimeField()
    seen_at = models.DateTimeField()  # the newest heartbeat
    snapshot = models.ForeignKey(Snapshot, on_delete=models.SET_NULL, null=True, related_name="+")  # the new side
    version = models.PositiveIntegerField(default=0)
    before = models.ForeignKey(Snapshot, on_delete=models.SET_NULL, null=True, related_name="+")  # of the visit before
    before_at = models.DateTimeField(null=True)  # when that ended

    class Meta:
        verbose_name = _("visit of a person")
        verbose_name_plural = _("visits of people")
        constraints = [models.UniqueConstraint(fields=["change", "user"], name="visit_once")]

    def __str__(self) -> str:
        return f"{self.user_id} at change {self.change_id}"


class KeyTerms(models.Model):
    """Words that a team wants to see at once wherever they stand in a diff."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="key_terms")
    terms = models.TextField(_("key terms"), max_length=4000, help_text=_("One word or phrase a line."))
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("key terms")
        verbose_name_plural = _("key terms")

    def __str__(self) -> str:
        return f"key terms of team {self.team_id}"

    @property
    def listed(self) -> list[str]:
        """The terms, trimmed, each once, the longest first so that a phrase wins over a word in it."""
        found = {" ".join(line.split()).casefold(): " ".join(line.split()) for line in self.terms.splitlines()}
        return sorted((term for term in found.values() if len(term) > 1), key=len, reverse=True)[:100]

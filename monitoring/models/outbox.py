"""The outbox: mail that is written with the fact it tells of, and sent later."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class OutboxMessage(models.Model):
    """One mail to one recipient. `key` makes a second enqueueing of the same news a no-op."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        FAILED = "failed", _("given up")

    key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=20)
    recipient = models.EmailField(max_length=254)
    subject = models.CharField(max_length=250)
    text = models.TextField()
    html = models.TextField(blank=True)
    headers = models.JSONField(default=dict, blank=True)
    message_id = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=32, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("outgoing mail")
        verbose_name_plural = _("outgoing mail")
        indexes = [
            # the sender: WHERE state = waiting AND next_attempt_at <= now ORDER BY next_attempt_at
            models.Index(fields=["next_attempt_at"], name="outbox_waiting", condition=models.Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.recipient}"

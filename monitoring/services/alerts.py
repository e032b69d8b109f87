"""News that may not wait: sent as a signal inside the transaction that records it.

The human side listens and writes mail to the outbox; the same transaction holds both, so neither is without the other.
"""

from __future__ import annotations

from django.dispatch import Signal

important_field_changed = Signal()
"""Arguments: `field_change` (the FieldChange row), `monitor`, `now`. A receiver that raises undoes the check."""

change_opened = Signal()
"""Arguments: `change`, `monitor`, `now`. Sent when a change is opened, not when a newer capture folds into one."""

promise_told = Signal()
"""Arguments: `alarm` (the PromiseAlarm), `event` (the PromiseAlarmEvent: raised, grown, told again or over), `now`."""

"""When to visit which page: arithmetic alone, without a clock, a database or chance.

What `simulate.py --planner monitoring.scheduling` drives is what the worker calls.
"""

from monitoring.scheduling.budget import measured_spend, trimmed, unchanged_cost
from monitoring.scheduling.core import (
    Plan,
    Rate,
    Settings,
    Terms,
    chance_of_change,
    fitted_prior,
    hash01,
    loosened,
    observe,
    plan,
    rate_range,
    retry_days,
    solve_price,
)
from monitoring.scheduling.hosts import fitting_gap_s, fitting_promise_s, host_factor, host_factors, host_load
from monitoring.scheduling.overdue import LATE_DAYS, Overdue, is_savable, order_overdue

__all__ = [
    "LATE_DAYS",
    "Overdue",
    "Plan",
    "Rate",
    "Settings",
    "Terms",
    "chance_of_change",
    "fitted_prior",
    "fitting_gap_s",
    "fitting_promise_s",
    "hash01",
    "host_factor",
    "host_factors",
    "host_load",
    "is_savable",
    "loosened",
    "measured_spend",
    "observe",
    "order_overdue",
    "plan",
    "rate_range",
    "retry_days",
    "solve_price",
    "trimmed",
    "unchanged_cost",
]

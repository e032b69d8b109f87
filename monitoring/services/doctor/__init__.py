"""A thorough look at an installation: each thing that must be right for it to work, tried where it can be tried."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from monitoring.services.doctor import configuration, databases, machine, outside
from monitoring.services.doctor.lines import Grade, Line, Lines, problem

__all__ = ["TOPICS", "Grade", "Line", "examine"]

logger = logging.getLogger(__name__)

type Look = Callable[[], Lines]

# By the name that `--only` takes. The database first: much of the rest asks it.
TOPICS: dict[str, tuple[Look, ...]] = {
    "database": (databases.database,),
    "clock": (databases.clocks,),
    "processes": (databases.processes,),
    "times": (configuration.times,),
    "deployment": (configuration.deployment,),
    "secrets": (configuration.secret_files, configuration.referred_secrets),
    "storage": (machine.store,),
    "broker": (machine.broker,),
    "memory": (machine.memory,),
    "files": (machine.files,),
    "names": (machine.names,),
    "python": (machine.python,),
    "time zones": (machine.zones,),
    "browser": (outside.chromium,),
    "mail": (outside.mail,),
}


def examine(topics: Iterator[str] | list[str], *, send_to: str = "") -> Iterator[Line]:
    """The lines, one after the other. A look that breaks is a line as well."""
    for topic in topics:
        for look in TOPICS[topic]:
            try:
                yield from outside.mail(send_to) if topic == "mail" else look()
            except Exception as error:
                logger.exception("doctor topic=%s", topic)
                said = " ".join(str(error).split())[:200]
                yield problem(
                    topic, f"could not be looked at: {type(error).__name__}: {said}", "See above, or the log."
                )

"""The broker, seen from those who run the product: is it there, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_S = 1.0


def name() -> str:
    """What serves as broker."""
    return "Redis" if settings.REDIS_URL else "the database"


def why_away(timeout_s: float = TIMEOUT_S) -> str:
    """Why the broker can't be used, or the empty string; the database as broker is asked for elsewhere."""
    if not settings.REDIS_URL:
        return ""
    try:
        with _client(timeout_s) as client:
            client.ping()
    except redis.RedisError as problem:
        return f"Redis does not answer: {type(problem).__name__}"
    return ""


def waiting(timeout_s: float = TIMEOUT_S) -> dict[str, int] | None:
    """Messages in each queue, by class of workers; None where the broker is away. Raises where the database is."""
    if not settings.REDIS_URL:
        from django_q.models import OrmQ

        return {queue: OrmQ.objects.filter(key=key)[:10_000].count() for queue, key in settings.QUEUES.items()}
    try:
        with _client(timeout_s) as client:
            return {queue: int(client.llen(f"django_q:{key}:q")) for queue, key in settings.QUEUES.items()}
    except redis.RedisError:
        return None


def round_trip(timeout_s: float = TIMEOUT_S) -> None:
    """Put something into Redis and take it out again. Raises `redis.RedisError`, and ValueError for another value."""
    key, word = "tideline:doctor", "there and back"
    with _client(timeout_s) as client:
        client.set(key, word, ex=60)
        found = client.getdel(key)
    if found != word.encode():
        raise ValueError(f"got {found!r} back")


@dataclass(frozen=True, slots=True)
class Facts:
    """What Redis tells of itself; the policy is empty where it does not."""

    version: str
    policy: str


def facts(timeout_s: float = TIMEOUT_S) -> Facts:
    """Redis' version and what it does when memory is short. Raises `redis.RedisError`."""
    with _client(timeout_s) as client:
        server, memory = client.info("server"), client.info("memory")
    return Facts(str(server.get("redis_version", "")), str(memory.get("maxmemory_policy", "")))


def _client(timeout_s: float) -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=timeout_s, socket_timeout=timeout_s, retry=Retry(NoBackoff(), 0)
    )

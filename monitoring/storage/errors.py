"""What can go wrong in the store of page bytes."""

from __future__ import annotations


class StorageError(Exception):
    """The store can't do what was asked."""


class StorageWriteError(StorageError):
    """Bytes could not be written: no space, no permission, a broken disk, a service that is away or stores other bytes."""

    def __init__(self, message: str, *, no_space: bool = False) -> None:
        super().__init__(message)
        self.no_space = no_space


class StorageUnavailableError(StorageError):
    """The store does not answer just now. Nothing is known about what it holds; ask again later."""

    no_space = False


class PayloadDamageError(StorageError):
    """A payload's object is missing, can't be decompressed, or holds other bytes than its name says."""


class ObjectMissingError(PayloadDamageError):
    """The store answers, and holds no object of that name."""

"""Objects in a service that speaks S3, through django-storages. Imported only where it is used: boto3 takes 36 MB.

What was written is read back before it counts as written. A checksum goes with every object, so that the service refuses
bytes that were garbled on the way; that it echoes the checksum proves nothing about what it keeps, so it is not relied on.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from storages.backends.s3 import S3Storage

from monitoring.storage.errors import ObjectMissingError, StorageError, StorageUnavailableError, StorageWriteError
from monitoring.storage.stores import SUFFIX, StoredObject, key_of
from monitoring.storeaddress import S3Place

CONNECT_S, READ_S, ATTEMPTS = 5, 10, 2
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})
_NO_SPACE = frozenset({"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "507"})


class S3Store:
    """Objects of one bucket, below a prefix."""

    reads = 3

    def __init__(self, place: S3Place) -> None:
        self._place = place
        self._storage = S3Storage(
            bucket_name=place.bucket,
            location=place.prefix,
            endpoint_url=place.endpoint,
            region_name=place.region,
            access_key=place.key or None,
            secret_key=place.secret or None,
            verify=place.verify,
            client_config=Config(
                s3={"addressing_style": "path" if place.endpoint else "auto"},
                signature_version="s3v4",
                connect_timeout=CONNECT_S,
                read_timeout=READ_S,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                request_checksum_calculation="when_required",  # services that are not Amazon's mostly know no others
                response_checksum_validation="when_required",
                proxies={},
            ),
        )

    @property
    def where(self) -> str:
        return self._place.where

    def write(self, name: str, data: bytes) -> None:
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        try:
            with _answering(name):
                self._bucket.put_object(
                    Key=self._key(name), Body=data, ChecksumSHA256=digest, ContentType="application/zstd"
                )
            if self.read(name) != data:
                raise StorageWriteError(f"payload {name}: the service gives back other bytes than were written")
        except StorageWriteError:
            raise
        except StorageError as error:
            raise StorageWriteError(str(error), no_space=getattr(error, "no_space", False)) from error

    def read(self, name: str) -> bytes:
        with _answering(name):
            body: bytes = self._bucket.Object(self._key(name)).get()["Body"].read()
            return body

    def delete(self, name: str) -> None:
        with _answering(name):
            self._bucket.Object(self._key(name)).delete()

    def objects(self) -> Iterator[StoredObject]:
        with _answering("list"):
            for found in self._bucket.objects.filter(Prefix=self._place.root):
                name = found.key.rpartition("/")[2]
                if name.endswith(SUFFIX):
                    yield StoredObject(name.removesuffix(SUFFIX), found.size, found.last_modified)

    def sweep(self, before: datetime) -> int:
        """Nothing: an object is there whole or not at all."""
        return 0

    @property
    def _bucket(self) -> Any:  # Any: boto3 makes its classes at run time
        return self._storage.bucket

    def _key(self, name: str) -> str:
        return self._place.root + key_of(name)


@contextmanager
def _answering(name: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        answer = error.response
        code = str(answer.get("Error", {}).get("Code", ""))
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", "?")
        if code in _MISSING:
            raise ObjectMissingError(f"payload {name}: the service has no such object") from error
        unavailable = StorageUnavailableError(f"payload {name}: the service answered {status} {code}")
        unavailable.no_space = code in _NO_SPACE or status == 507
        raise unavailable from error
    except (BotoCoreError, HTTPClientError, Boto3Error, OSError) as error:
        raise StorageUnavailableError(f"payload {name}: {type(error).__name__}") from error


logging.getLogger("botocore.credentials").setLevel(logging.WARNING)

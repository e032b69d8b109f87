"""Why a fetch brought no page.

FetchError          reason code, sentence, finer cause with its data, worth a retry soon or not
├── Refused         our own policy forbids it; nothing was connected to
├── LookupFailed    the name has no address now
├── TooLarge        a bound on bytes was met
├── Undecodable     the bytes are not what Content-Encoding says
└── BrokenAnswer    the site does not speak HTTP as agreed
"""

# ruff: noqa: N818 - the names say what happened, as the tree above does
from __future__ import annotations

from collections.abc import Mapping


class FetchError(Exception):
    """A fetch that ends without a page; becomes a `Failure` with this reason."""

    reason = "protocol"
    transient = False

    def __init__(
        self,
        sentence: str,
        *,
        reason: str = "",
        transient: bool | None = None,
        cause: str = "",
        data: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.cause = cause
        self.data = dict(data or {})
        if reason:
            self.reason = reason
        if transient is not None:
            self.transient = transient


class Refused(FetchError):
    """A URL or address that we do not go to. `code` names the rule, the sentence is fit for a form."""

    reason = "refused-by-policy"

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence, cause="proxy-unusable" if code == "proxy" else "")
        self.code = code


class LookupFailed(FetchError):
    """The name could not be resolved."""

    reason = "dns"
    transient = True


class TooLarge(FetchError):
    """More bytes than the limit, on the wire or after decompression."""

    reason = "too-large"


class Undecodable(FetchError):
    """A body that does not decode as its Content-Encoding, or one we do not support."""

    reason = "encoding"


class BrokenAnswer(FetchError):
    """An answer that is not a whole HTTP response to what was asked."""

    reason = "protocol"

"""Why a document could not be read; a page with a fault is never compared and never becomes a baseline."""

from __future__ import annotations


class DocumentFault(ValueError):  # noqa: N818 - it is the document's fault, not the program's
    """A document that cannot be read as its type. `code` is stable; the sentence says what was found and what to do."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence

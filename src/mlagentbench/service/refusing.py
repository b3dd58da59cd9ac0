"""A request to the chat endpoint that is not passed on."""

from __future__ import annotations


class ChatRefusedError(Exception):
    """A sentence, a status and OpenAI's words for the kind."""

    def __init__(
        self, words: str, status: int = 400, kind: str = "invalid_request_error", code: str = ""
    ) -> None:
        super().__init__(words)
        self.status = status
        self.kind = kind
        self.code = code

"""Servers on loopback that speak each provider's wire format, and misbehave on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mlagentbench.model.trial import QUESTION

TOO_LONG = {
    "openai": (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
    "anthropic": (400, "prompt is too long: 208310 tokens > 200000 maximum"),
    "google": (
        400,
        "The input token count (2551556) exceeds the maximum number of tokens allowed (1048576).",
    ),
}
ANSWER = "Hello from the other side."


class Wire:
    """How one provider's API looks from the server's side."""

    provider: str
    key_variable: str
    model: str

    def url(self, root: str) -> str:
        return root

    def reply(self, text: str = ANSWER) -> dict[str, Any]:
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        raise NotImplementedError

    def seen(self, body: dict[str, Any]) -> dict[str, Any]:
        """Budget, temperature, stop, seed and key of a request, as this API names them."""
        raise NotImplementedError


class OpenAIWire(Wire):
    provider, key_variable, model = "openai", "OPENAI_API_KEY", "openai/gpt-test"

    def url(self, root: str) -> str:
        return f"{root}/v1"

    def reply(self, text: str = ANSWER) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-test-2026-01-01",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {
                "prompt_tokens": 120,
                "completion_tokens": 30,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def seen(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "budget": body.get("max_tokens", body.get("max_completion_tokens")),
            "temperature": body.get("temperature"),
            "stop": body.get("stop"),
            "seed": body.get("seed"),
        }


class AnthropicWire(Wire):
    provider, key_variable, model = "anthropic", "ANTHROPIC_API_KEY", "anthropic/claude-test"

    def reply(self, text: str = ANSWER) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test-20260101",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "text", "text": text},
            ],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 10,
                "output_tokens": 30,
                "output_tokens_details": {"thinking_tokens": 20},
            },
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kinds |= {500: "api_error", 529: "overloaded_error"}
        return {
            "type": "error",
            "error": {"type": kinds.get(status, "invalid_request_error"), "message": message},
        }

    def seen(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "budget": body.get("max_tokens"),
            "temperature": body.get("temperature"),
            "stop": body.get("stop_sequences"),
            "seed": None,
        }


class GoogleWire(Wire):
    provider, key_variable, model = "google", "GEMINI_API_KEY", "google/gemini-test"

    def reply(self, text: str = ANSWER) -> dict[str, Any]:
        return {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"text": "Let me think.", "thought": True}, {"text": text}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 120,
                "cachedContentTokenCount": 100,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 150,
            },
            "modelVersion": "gemini-test-001",
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": kinds.get(status, "INTERNAL")}}

    def seen(self, body: dict[str, Any]) -> dict[str, Any]:
        config = body["generationConfig"]
        return {
            "budget": config.get("maxOutputTokens"),
            "temperature": config.get("temperature"),
            "stop": config.get("stopSequences"),
            "seed": config.get("seed"),
        }


WIRES = (OpenAIWire(), AnthropicWire(), GoogleWire())


@dataclass
class Asked:
    """A request that a server got."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Behaviour = Callable[["Handler"], None]


@dataclass
class Server:
    """What a server does, request by request; when `behaviours` is used up, it answers rightly."""

    wire: Wire
    behaviours: Iterator[Behaviour] = field(default_factory=lambda: iter(()))
    asked: list[Asked] = field(default_factory=list)
    tried: list[Asked] = field(default_factory=list)
    """Trials before a run, which are apart from what it asks."""
    in_trial: Behaviour = field(default_factory=lambda: answer("OK"))
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def does(self, *behaviours: Behaviour) -> None:
        self.behaviours = iter(behaviours)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: Server

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, body)
        if QUESTION in json.dumps(body):
            state.tried.append(asked)
            state.in_trial(self)
            return
        state.asked.append(asked)
        next(state.behaviours, answer())(self)

    def send(
        self, status: int, content: bytes, headers: Iterable[tuple[str, str]] = (), length: int = -1
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) if length < 0 else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(wire: Wire) -> Iterator[Server]:
    """A server of this provider's API on a free port of loopback."""
    state = Server(wire)
    handler = type("OwnHandler", (Handler,), {"server_state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    state.url = wire.url(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answer(text: str = ANSWER) -> Behaviour:
    return lambda handler: handler.send(200, json.dumps(handler.server_state.wire.reply(text)).encode())


def body(content: dict[str, Any]) -> Behaviour:
    return lambda handler: handler.send(200, json.dumps(content).encode())


def fail(status: int, message: str = "It went wrong.", **headers: str) -> Behaviour:
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]

    def behave(handler: Handler) -> None:
        handler.send(status, json.dumps(handler.server_state.wire.error(status, message)).encode(), named)

    return behave


def too_long(handler: Handler) -> None:
    status, message = TOO_LONG[handler.server_state.wire.provider]
    fail(status, message)(handler)


def hang(handler: Handler) -> None:
    """Takes the request, and never answers."""
    handler.server_state.over.wait(30)
    handler.close_connection = True


def stall(handler: Handler) -> None:
    """Sends half of an answer, and then nothing, keeping the connection."""
    content = json.dumps(handler.server_state.wire.reply()).encode()
    handler.send(200, content[: len(content) // 2], length=len(content))
    handler.server_state.over.wait(30)
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """Keeps the connection alive with a byte now and then, for ever."""
    handler.send(200, b"", length=10_000)
    while not handler.server_state.over.wait(0.05):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            break
    handler.close_connection = True


def cut(handler: Handler) -> None:
    """Says how long the answer is, sends half of it, and hangs up."""
    content = json.dumps(handler.server_state.wire.reply()).encode()
    handler.send(200, content[: len(content) // 2], length=len(content))
    handler.close_connection = True


def half_json(handler: Handler) -> None:
    """Sends half of an answer as if it were all."""
    content = json.dumps(handler.server_state.wire.reply()).encode()
    handler.send(200, content[: len(content) // 2])


def not_json(handler: Handler) -> None:
    handler.send(200, b"<html>Welcome to the proxy</html>")


def other_json(handler: Handler) -> None:
    handler.send(200, b'{"status": "fine"}')


def empty(handler: Handler) -> None:
    answer("")(handler)


def page(handler: Handler) -> None:
    """A page for people, as a proxy or a wrong address gives it."""
    handler.send(200, b"<!doctype html><html><body>Welcome</body></html>")


def endless(status: int, *, sent: list[int]) -> Behaviour:
    """Sends megabytes until the client hangs up, and says in `sent` how many."""

    def behave(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        sent.append(0)
        try:
            while sent[-1] < 500:
                handler.wfile.write(b"x" * 1_000_000)
                sent[-1] += 1
        except OSError:
            pass

    return behave


def packed(content: bytes, encoding: str = "gzip", status: int = 200) -> Behaviour:
    return lambda handler: handler.send(status, content, [("Content-Encoding", encoding)])


def redirect(location: str, status: int = 307) -> Behaviour:
    return lambda handler: handler.send(status, b"", [("Location", location)])

"""llama.cpp's own server, in this process: behind a key that is ours alone, or at an address for others."""

from __future__ import annotations

import atexit
import http.client
import importlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import ModelError, RefusedError, TooLongError, UnavailableError
from mlagentbench.model.waiting import waiting_for

DEFAULT_CONTEXT = 8192
LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8080
"""llama.cpp's own."""

# A request that was given up is noticed between batches of its prompt: 128 tokens are seconds even where a model
# reads slowly, and larger batches are no faster on a CPU.
_BATCH = 128
_PROMPTS_KEPT_MIB = 512
_SILENT, _ERRORS = 0, 1
_LONGEST_EXPLANATION = 300.0


@dataclass(frozen=True)
class Offer:
    """A GGUF file and how it is offered."""

    file: Path
    context: int = DEFAULT_CONTEXT
    """Tokens of prompt and output together."""
    threads: int = 1
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    """0: any that is free."""
    name: str = ""
    """What the model is called in answers; the file's name if empty."""
    key: str = field(default="", repr=False)
    """What a request must bring; nothing if empty."""


class Served:
    """A model that is loaded and answers requests until it is closed."""

    def __init__(self, offer: Offer) -> None:
        _refuse_taken(offer.host, offer.port)
        try:
            self._server: Any = _start(offer, _SILENT)
        except RuntimeError:
            raise ModelError(f"{offer.file} cannot be served: {_explanation(offer)}.") from None
        self.address: str = self._server.listening_address

    @property
    def base_url(self) -> str:
        """What clients of the OpenAI API are given."""
        return f"{self.address}/v1"

    def close(self) -> None:
        """Stop answering and let go of the memory. What is being answered is cut off."""
        self._server = None


def serve(offer: Offer) -> Served:
    """Load the model and offer it; a typed error says why it cannot be.

    `/v1/chat/completions` with streaming, `stop`, `seed`, `max_tokens`, `response_format`, usage; `/v1/models`.
    """
    return Served(offer)


def _refuse_taken(host: str, port: int) -> None:
    """Before a model is loaded for nothing: see whether its address is to be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{host}:{port} cannot be listened at: {reason}. Choose another --port (0 is any free one) or --host."
        ) from None


def _start(offer: Offer, verbosity: int) -> Any:
    library = _library()
    params = library.CommonParams()
    params.model.path = str(offer.file)
    params.model_alias = {offer.name or offer.file.stem}
    params.n_ctx = offer.context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = offer.threads
    params.cache_ram_mib = _PROMPTS_KEPT_MIB
    params.hostnames = [offer.host]
    params.port = offer.port
    params.api_keys = [offer.key] if offer.key else []
    params.verbosity = verbosity
    params.ui = False
    params.endpoint_slots = False
    # Pages in a browser on this machine must not use the model.
    params.cors_origins = ""
    params.cors_credentials = False
    return library.Server(params)


def _library() -> ModuleType:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelError(
            f"Local models need xllamacpp ({error}): run `pip install 'mlagentbench[local]'`."
        ) from None


def _explanation(offer: Offer) -> str:
    """llama.cpp says why only on standard error, which belongs to the whole process; so ask it in another one."""
    what = map(str, (offer.file, offer.context, offer.host, offer.port))
    command = [sys.executable, "-m", __name__, *what]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LONGEST_EXPLANATION, check=False
        )
    except subprocess.TimeoutExpired:
        return "llama.cpp does not say why"
    lines = [line.partition(" E ")[2] for line in done.stderr.splitlines() if " E " in line]
    return lines[0].partition(": ")[2].strip().rstrip(".") if lines else "llama.cpp does not say why"


def _explain(file: str, context: str, host: str, port: str) -> None:
    try:
        _start(Offer(Path(file), int(context), host=host, port=int(port)), _ERRORS)
    except RuntimeError:
        sys.exit(1)


class Engine:
    """A loaded model. It is asked over a connection, because a request, unlike a call of the library, ends when Ctrl-C
    ends the wait for it. It listens on loopback, and a key that only this process knows keeps everybody else out, code
    of agents above all. There is nothing on disk that a killed process could leave behind."""

    def __init__(self, offer: Offer) -> None:
        self.lock = threading.Lock()
        """Held while a request is answered: one model answers one at a time."""
        key = secrets.token_urlsafe()
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._served = serve(replace(offer, host=LOOPBACK, port=0, key=key))
        self.address = self._served.address
        """Where it listens, on loopback."""

    @cached_property
    def _properties(self) -> dict[str, Any]:
        return self._request("GET", "/props", None)

    @property
    def context(self) -> int:
        """As loaded, which is at most what the model was trained for."""
        return int(self._properties["default_generation_settings"]["n_ctx"])

    @property
    def speaks_tools(self) -> bool:
        able = self._properties["chat_template_caps"]
        return bool(able["supports_tools"] and able["supports_tool_calls"])

    def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body, ensure_ascii=False)
        return self._request("POST", path, text.encode("utf-8", "replace"))

    def _request(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc)
        try:
            connection.request(method, path, body, self._headers)
            answer = connection.getresponse()
            status, content = answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnavailableError(f"llama.cpp did not answer in this process: {error!r}.") from None
        finally:
            connection.close()
        if status == 200 and isinstance(content, dict):
            return content
        raise _error(status, content)

    def close(self) -> None:
        self._served.close()


def _error(status: int, content: Any) -> ModelError:
    problem = content.get("error", {}) if isinstance(content, dict) else {}
    words = f"llama.cpp said: {str(problem.get('message', content)).rstrip('.')} ({status})."
    if problem.get("type") == "exceed_context_size_error":
        return TooLongError(words)
    return RefusedError(words) if status < 500 else ModelError(words)


_engines: dict[tuple[int, Offer], Engine] = {}
_loading = threading.Lock()


def loaded(offer: Offer) -> Engine:
    """Kept for the life of the process; a forked child loads its own, for threads do not survive a fork."""
    key = (os.getpid(), offer)
    with _loading:
        if key not in _engines:
            if not _engines:
                atexit.register(_unload)
            with waiting_for(f"Loading {offer.name or offer.file.name}"):
                _engines[key] = Engine(offer)
        return _engines[key]


def _unload() -> None:
    for (process, _), engine in _engines.items():
        if process == os.getpid():
            engine.close()
    _engines.clear()


if __name__ == "__main__":
    _explain(*sys.argv[1:])

"""llama.cpp's own server, in this process: behind a socket that is ours alone, or at an address for others."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from mlagentbench.model.errors import ModelError

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
    """An address, or the path of a socket that does not exist yet and ends with `.sock`."""
    port: int = DEFAULT_PORT
    """0: any that is free. Not used with a socket."""
    name: str = ""
    """What the model is called in answers; the file's name if empty."""


class Served:
    """A model that is loaded and answers requests until it is closed."""

    def __init__(self, offer: Offer) -> None:
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
    host = offer.host.removesuffix(".sock") + "-again.sock" if offer.host.endswith(".sock") else offer.host
    command = [sys.executable, "-m", __name__, str(offer.file), str(offer.context), host, str(offer.port)]
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


if __name__ == "__main__":
    _explain(*sys.argv[1:])

"""Models of the Hugging Face hub, or of a folder, run on this machine with transformers."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError, UnavailableError
from mlagentbench.model.hosted import cut_at
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, Usage

_TOKENS_WITHOUT_TEXT = 16
"""More tokens than characters are looked at, since some tokens are parts of a character, or none."""


class HuggingFaceModel:
    """`huggingface/ORGANISATION/NAME`, or `huggingface//path/to/a/folder`; on a GPU where there is one."""

    speaks_tools = False

    def __init__(self, options: ModelOptions) -> None:
        self._torch = importlib.import_module("torch")
        self._transformers = transformers = importlib.import_module("transformers")
        self.name = options.full_name
        self._extra = dict(options.extra)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(options.name)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(options.name, dtype="auto")
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.name} could not be loaded: {str(error).splitlines()[0]}.") from None
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._model.to(self._device).eval()
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        prompt = self._tokenizer(self._prompt(messages), return_tensors="pt", add_special_tokens=False)
        read = int(prompt["input_ids"].shape[1])
        self._check_length(read, sampling.max_tokens)
        begun = time.monotonic()
        with self._lock, self._torch.random.fork_rng(), self._torch.inference_mode():
            if sampling.seed is not None:
                self._torch.manual_seed(sampling.seed)
            output = self._model.generate(
                **prompt.to(self._device),
                **self._how(sampling, read),
                **self._extra,
                max_new_tokens=sampling.max_tokens,
                pad_token_id=self._padding(),
            )
        new = output[0][read:]
        text, stopped = cut_at(self._tokenizer.decode(new, skip_special_tokens=True), sampling.stop)
        ended = stopped or len(new) < sampling.max_tokens or int(new[-1]) in self._ends()
        if not text and ended and not stopped:
            raise UnavailableError(f"{self.name} gave an empty completion.")
        notes = ["The JSON schema was left out: transformers does not constrain what is written."]
        return Completion(
            text=text,
            usage=Usage(input=read, output=len(new)),
            stop_reason="stop" if ended else "length",
            model=self.name.partition("/")[2],
            latency=time.monotonic() - begun,
            notes=tuple(notes if sampling.json_schema is not None else ()),
        )

    def _prompt(self, messages: Sequence[Message]) -> str:
        """The messages by the model's chat template; for a model without one, as plain text with the roles named."""
        turns = [
            {"role": "user" if message.role == "tool" else message.role, "content": message.content}
            for message in messages
        ]
        if not self._tokenizer.chat_template:
            return "".join(f"{turn['role']}: {turn['content']}\n\n" for turn in turns) + "assistant: "
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _how(self, sampling: Sampling, read: int) -> dict[str, Any]:
        how: dict[str, Any] = {"do_sample": False}
        if sampling.temperature is None or sampling.temperature > 0:
            # Only what is asked for shapes the sampling, not what the model's authors left in its settings.
            how = {"do_sample": True, "top_k": 0, "top_p": 1.0, "temperature": sampling.temperature or 1.0}
        if sampling.stop:
            how["stopping_criteria"] = self._transformers.StoppingCriteriaList(
                [self._until(sampling.stop, read)]
            )
        return how

    def _until(self, stop: Sequence[str], read: int) -> Callable[..., Any]:
        """Whether the end of what was written so far holds a stop sequence; asked after each token."""
        enough = max(map(len, stop)) + _TOKENS_WITHOUT_TEXT

        def met(ids: Any, scores: Any, **others: Any) -> Any:
            written = ids[0][max(read, len(ids[0]) - enough) :]
            text = self._tokenizer.decode(written, skip_special_tokens=True)
            found = any(sequence in text for sequence in stop)
            return self._torch.full((1,), found, dtype=self._torch.bool, device=ids.device)

        return met

    def _check_length(self, read: int, budget: int) -> None:
        longest = getattr(self._model.config, "max_position_embeddings", None)
        if longest is not None and read + budget > longest:
            raise TooLongError(
                f"The prompt does not fit {self.name}: {read} tokens and {budget} for the answer are more than its "
                f"context of {longest}."
            )

    def _ends(self) -> set[int]:
        ids = self._model.generation_config.eos_token_id
        return set(ids) if isinstance(ids, list) else {ids} if ids is not None else set()

    def _padding(self) -> int | None:
        padding: int | None = self._tokenizer.pad_token_id
        return padding if padding is not None else self._tokenizer.eos_token_id

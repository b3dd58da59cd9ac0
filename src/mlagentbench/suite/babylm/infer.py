"""Scores the workspace's language model on the hidden text: `python infer.py INPUTS OUTPUTS`, in the workspace.

All code that runs here is ours, transformers' and tokenizers': of the workspace only the bytes of three files in
`model/` are read. Either the negative log-likelihood of each hidden file is written, or the sentence with which the
submission is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What a file may have at most, in bytes.
CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
LARGEST = {CONFIG: 1_000_000, TOKENIZER: 100_000_000, WEIGHTS: 2_000_000_000}
FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
# Keys of a configuration that name code, other models or packed weights, wherever in it they are.
FORBIDDEN = {
    "auto_map", "custom_pipelines", "custom_generate", "trust_remote_code", "quantization_config", "compression_config",
    "attn_implementation", "experts_implementation", "backbone", "use_timm_backbone", "adapters", "peft_config",
    "code_revision", "kernel_config", "use_kernels",
}  # fmt: skip
PASSAGE_WORDS = 2_000
LONGEST_CONTEXT, USUAL_CONTEXT = 1_024, 512
CUTS = 8
"""Places a file, at most, after which the text is replaced."""
TOLERANCE = 1e-3
"""By how much a log-probability may change when the text after it does: what rounding does is far below."""
ELEMENTS = 4_000_000
"""Of logits at a time."""


class RefusedError(Exception):
    """The submission cannot be scored; the message is one sentence."""


def main(inputs: Path, outputs: Path) -> None:
    settings = json.loads((inputs / "settings.json").read_text(encoding="utf-8"))
    texts = {file.name: file.read_bytes().decode("utf-8") for file in sorted(inputs.glob("*.test"))}
    model = Path.cwd() / "model"
    # What libraries say about the hidden text is for nobody.
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    with tempfile.TemporaryDirectory() as aside:
        os.chdir(aside)
        os.environ.update(
            HOME=aside,
            HF_HOME=aside,
            HF_HUB_OFFLINE="1",
            USE_HUB_KERNELS="NO",
            TOKENIZERS_PARALLELISM="false",
        )
        result = judged(model, texts, settings["seconds"], Path(aside))
        os.chdir("/")
    (outputs / "result.json").write_text(json.dumps(result), encoding="utf-8")


def judged(model: Path, texts: dict[str, str], seconds: float, aside: Path) -> dict[str, object]:
    """The scores of a folder, or why there are none."""

    def stop(*_: object) -> None:
        raise RefusedError(
            f"The model needs more than {seconds:g} seconds of CPU time for the hidden text; make it smaller."
        )

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        return scores(model, texts, aside)
    except RefusedError as refusal:
        return {"refused": str(refusal)}
    except BaseException as error:  # noqa: BLE001  a panic in tokenizers is no Exception
        line = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == __file__
        ][-1]
        return {
            "refused": f"The model could not be scored: {type(error).__name__} in line {line} of infer.py."
        }
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def scores(folder: Path, texts: dict[str, str], aside: Path) -> dict[str, object]:
    copy(folder, aside)
    config = checked_config(aside / CONFIG)
    stored = checked_weights(aside / WEIGHTS)
    # Cheap checks come first: these libraries take seconds to load.
    tokenizer = Tokenizer(aside / TOKENIZER)
    passages = {name: [tokenizer.encode(text) for text in cut(whole)] for name, whole in texts.items()}
    model = Model(aside, config, stored, tokenizer)
    for index, some in enumerate(passages.values()):
        model.demand_causality(some[0], index, len(passages))
    files = {
        name: {"nll": math.fsum(map(model.surprise, some)), "tokens": sum(map(len, some))}
        for name, some in passages.items()
    }
    return {"files": files, "mass": model.worst_mass, "context": model.context}


def copy(folder: Path, aside: Path) -> None:
    """The three files, and nothing else, away from what the workspace may hold beside them."""
    if not os.path.lexists(folder):
        raise RefusedError("There is no folder model; train.py must save the model there.")
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise RefusedError("model is not a folder; save the model in a folder of that name, and no link.")
    for name, largest in LARGEST.items():
        file = folder / name
        if not os.path.lexists(file):
            raise RefusedError(
                f"There is no model/{name}; save config.json, model.safetensors and tokenizer.json."
            )
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise RefusedError(f"model/{name} is not a file; a link or a folder is not read.")
        if about.st_size > largest:
            raise RefusedError(f"model/{name} has more than {largest:,} bytes.")
        shutil.copyfile(file, aside / name, follow_symlinks=False)


def checked_config(file: Path) -> dict[str, object]:
    try:
        config = json.loads(file.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError):
        raise RefusedError("model/config.json is not JSON; save it with save_pretrained.") from None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise RefusedError("model/config.json names no model_type; save it with save_pretrained.")
    for key in keys(config):
        if key in FORBIDDEN or key.startswith(("_attn_", "_experts_")):
            raise RefusedError(
                f"model/config.json has {key[:40]!r}, which asks for code or weights from elsewhere; only stock "
                "architectures with plain weights are scored."
            )
    return config


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def checked_weights(file: Path) -> int:
    """How many numbers the file holds, as its header says."""
    wrong = RefusedError(
        "model/model.safetensors is not a safetensors file; save the weights with save_pretrained."
    )
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(100_000_000, file.stat().st_size):
            raise wrong
        try:
            header = json.loads(stream.read(length).decode("utf-8"))
            tensors = {name: about for name, about in header.items() if name != "__metadata__"}
            kinds = {str(about["dtype"]) for about in tensors.values()}
            count = sum(math.prod(map(int, about["shape"])) for about in tensors.values())
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise wrong from None
    if kinds - FLOATS.keys():
        raise RefusedError(
            f"model/model.safetensors has numbers of the kind {min(kinds - FLOATS.keys())[:20]!r}; only "
            f"{', '.join(FLOATS)} are read."
        )
    return count


def cut(text: str) -> list[str]:
    """Passages of whole lines, each of the stated number of words or a little more, the last of what is left."""
    *lines, last = text.split("\n")
    passages, words = [""], 0
    for line in [*(f"{line}\n" for line in lines), last]:
        if words >= PASSAGE_WORDS:
            passages.append("")
            words = 0
        passages[-1] += line
        words += len(line.split())
    return [passage for passage in passages if passage]


class Tokenizer:
    """The submitted tokeniser, held to giving back the text that it was given."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer as Library

        try:
            text = file.read_bytes().decode("utf-8")
            dropout = json.loads(text)["model"].get("dropout")
            self._library = Library.from_str(text)
        except Exception as error:  # noqa: BLE001  the library raises bare exceptions
            raise RefusedError(f"model/tokenizer.json cannot be read by tokenizers: {told(error)}") from None
        if dropout:
            raise RefusedError(
                "model/tokenizer.json has dropout, so that it cuts the same text in different ways."
            )
        self._library.no_truncation()
        self._library.no_padding()
        self.size = 1 + max(self._library.get_vocab(with_added_tokens=True).values(), default=-1)

    def encode(self, text: str) -> list[int]:
        try:
            tokens = self._library.encode(text, add_special_tokens=False).ids
            back = self._library.decode(tokens, skip_special_tokens=False)
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001
            raise RefusedError(f"The tokeniser fails on the hidden text ({type(error).__name__}).") from None
        if back != text:
            # Where, but not what: a refusal tells nothing of the hidden text.
            same = next(
                (i for i, (a, b) in enumerate(zip(text, back, strict=False)) if a != b),
                min(len(text), len(back)),
            )
            raise RefusedError(
                f"The tokeniser does not give the hidden text back: a passage of {len(text)} characters differs "
                f"from character {same + 1} on. Every text must survive encode and decode unchanged."
            )
        if len(tokens) > 2 * len(text.encode()):
            raise RefusedError("The tokeniser makes more than two tokens of a byte of text.")
        return list(tokens)


class Model:
    """The submitted weights in transformers' own code."""

    def __init__(self, folder: Path, config: dict[str, object], stored: int, tokenizer: Tokenizer) -> None:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, logging
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(1)
        torch.manual_seed(0)
        if config["model_type"] not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            raise RefusedError(
                f"model/config.json has the model_type {str(config['model_type'])[:40]!r}, which is none of "
                "transformers' own causal language models."
            )
        try:
            settings = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            settings.use_cache = False
            with torch.device("meta"):
                empty = AutoModelForCausalLM.from_config(settings, trust_remote_code=False)
            described = sum(parameter.numel() for parameter in empty.parameters())
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a strange configuration leads to
            raise RefusedError(f"transformers makes no model of model/config.json: {told(error)}") from None
        if described > stored:
            raise RefusedError(
                f"model/config.json describes {described:,} weights, but model.safetensors has only {stored:,}."
            )
        try:
            self._model, loading = AutoModelForCausalLM.from_pretrained(
                folder,
                config=settings,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001
            raise RefusedError(f"transformers cannot load the weights: {told(error)}") from None
        for what in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
            if loading.get(what):
                first = min(each if isinstance(each, str) else str(each[0]) for each in loading[what])[:80]
                raise RefusedError(
                    f"model.safetensors does not fit model/config.json: {what.replace('_', ' ')}, the first {first!r}."
                )
        self._torch = torch
        self._model.eval()
        text = settings.get_text_config()
        self.width = getattr(text, "vocab_size", None)
        if type(self.width) is not int or self.width < tokenizer.size:
            raise RefusedError(
                f"The model has a vocabulary of {self.width}, but the tokeniser uses {tokenizer.size} numbers."
            )
        starts = [getattr(text, name, None) for name in ("bos_token_id", "eos_token_id")]
        starts = [start for start in starts if type(start) is int and 0 <= start < self.width]
        if not starts:
            raise RefusedError(
                "model/config.json has neither a bos_token_id nor an eos_token_id within the vocabulary; one of them "
                "must stand before each passage."
            )
        self._start = starts[0]
        longest = getattr(text, "max_position_embeddings", None)
        if longest == 1:
            raise RefusedError("The model has a context of one token; it must have at least two.")
        self.context = (
            min(longest, LONGEST_CONTEXT) if type(longest) is int and longest > 1 else USUAL_CONTEXT
        )
        self.worst_mass = 0.0

    def surprise(self, tokens: list[int]) -> float:
        """The negative log-likelihood of a passage in nats, each token counted once."""
        sequence = [self._start, *tokens]
        by_length: dict[int, list[tuple[int, int, int]]] = {}
        for begin, first, end in windows(len(sequence), self.context):
            by_length.setdefault(end - begin, []).append((begin, first, end))
        total = 0.0
        for length, some in by_length.items():
            rows = max(1, ELEMENTS // (length * self.width))
            for at in range(0, len(some), rows):
                batch = some[at : at + rows]
                logits = self._logits([sequence[begin:end] for begin, _, end in batch]).double()
                mass = logits.logsumexp(dim=2)
                for row, (begin, first, end) in enumerate(batch):
                    places = slice(first - 1 - begin, end - 1 - begin)
                    scored = self._torch.tensor(sequence[first:end]).unsqueeze(1)
                    total += (
                        (mass[row, places] - logits[row, places].gather(1, scored).squeeze(1)).sum().item()
                    )
        return max(float(total), 0.0)

    def demand_causality(self, tokens: list[int], index: int, of: int) -> None:
        """Where tokens after a place are replaced, nothing that was said about those before may change.

        Every file has its share of the places in a window, so that together they are all of a short one; which window
        it is, and which places of a long one, comes from the hidden text, so that nobody can prepare for it.
        """
        sequence = [self._start, *tokens]
        rng = random.Random(hashlib.sha256(repr(sequence).encode()).digest())
        some = list(windows(len(sequence), self.context))
        begin, _, end = some[rng.randrange(len(some)) if index else 0]
        window = sequence[begin:end]
        places = cuts(len(window), index, of, rng)
        rows = [window]
        for place in places:
            changed = [
                (token + rng.randrange(1, max(self.width, 2))) % self.width for token in window[place + 1 :]
            ]
            rows.append(window[: place + 1] + changed)
        right = self._chances([window])[0]
        at_once = max(1, ELEMENTS // (len(window) * self.width))
        for at in range(0, len(rows), at_once):
            chances = self._chances(rows[at : at + at_once])
            for row, place in enumerate([len(window) - 1, *places][at : at + at_once]):
                before, after = right[: place + 1], chances[row, : place + 1]
                # What has no chance at all is left out: there, rounding is all that is seen.
                apart = (after - before).abs()[(before > -30) | (after > -30)].max().item()
                if apart > TOLERANCE:
                    raise RefusedError(
                        f"The model looks ahead: replacing the text after token {place} changes what it says before by "
                        f"up to {apart:.3g} in log-probability; a causal model's does not change."
                    )

    def _chances(self, rows: list[list[int]]) -> Any:
        """Log-probabilities of the next token after each, of each row; that they are normalised is looked at."""
        chances = self._logits(rows).double().log_softmax(dim=2)
        self.worst_mass = max(self.worst_mass, (chances.exp().sum(dim=2) - 1).abs().max().item())
        return chances

    def _logits(self, rows: list[list[int]]) -> Any:
        torch = self._torch
        try:
            with torch.inference_mode():
                logits = self._model(input_ids=torch.tensor(rows)).logits
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001
            raise RefusedError(f"The model cannot be run: {told(error)}") from None
        expected = (len(rows), len(rows[0]), self.width)
        if tuple(logits.shape) != expected:
            raise RefusedError(f"The model gives logits of the shape {tuple(logits.shape)}, not {expected}.")
        if not bool(torch.isfinite(logits).all()):
            raise RefusedError("The model gives logits that are not finite numbers.")
        return logits


def windows(length: int, context: int) -> Iterator[tuple[int, int, int]]:
    """Where each window begins, the first place in it that counts, and where it ends. Place 0 is not counted."""
    begin, first = 0, 1
    while first < length:
        end = min(begin + context, length)
        yield begin, first, end
        begin, first = end - max(context // 4, 1), end


def cuts(length: int, index: int, of: int, rng: random.Random) -> list[int]:
    """Places of a window after which something follows: the share of one of so many files, and some of it at most."""
    places = range(index % of, length - 1, of)
    return rng.sample(places, min(CUTS, len(places)))


def told(error: BaseException) -> str:
    """An error of a library in a line."""
    line = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {line}".rstrip(": .") + "."


if __name__ == "__main__":
    if not sys.flags.isolated:
        # Started anew without the current folder, the script's folder and the environment's say in what is imported.
        os.execv(sys.executable, [sys.executable, "-I", "-B", *sys.argv])
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())

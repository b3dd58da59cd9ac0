"""A model to serve, example prompts for the agent, and other prompts for grading."""

from __future__ import annotations

import hashlib
import json
import runpy
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
PROMPT_TOKENS = 128
LIKELY = 50
EXAMPLES = 4
HIDDEN = {"mini": 16, "full": 8}
ROUNDS = 3
"""As often is a submission timed, each time with other prompts."""
POOL = 512
"""Prompts more, of which each round of a grading takes some."""
NEW_TOKENS = {"mini": 32, "full": 24}
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")
TEXTS = {"validation": 3760, "test": 4358}
"""Rows of each published part."""
MODEL_ADVICE = "take these files of a causal language model's repository on huggingface.co as they are"
TEXT_ADVICE = (
    "take the Parquet files of wikitext-2-raw-v1 in Salesforce/wikitext on huggingface.co as they are"
)


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        examples, prompts = made_up(public / "model", seed)
    elif source is None:
        raise PreparationError(
            "llama-inference full is made from a model and a text of the hub; give their folder."
        )
    else:
        tokenise = place_model(source / "model", public / "model")
        examples, prompts = (
            chosen(seed, part, tokenise(paragraphs(source / "text", part)), count, most)
            for part, count, most in (
                ("validation", EXAMPLES, EXAMPLES),
                ("test", (1 + ROUNDS) * HIDDEN[variant], HIDDEN[variant] + POOL),
            )
        )
    write(public / "prompts.json", examples, NEW_TOKENS[variant])
    (private / "inputs").mkdir()
    write(private / "inputs" / "prompts.json", prompts[: HIDDEN[variant]], NEW_TOKENS[variant])
    write(private / "pool.json", prompts[HIDDEN[variant] :], NEW_TOKENS[variant])


def made_up(folder: Path, seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Trains a small model of a made-up language, and gives texts of that language as prompts."""
    synthetic = runpy.run_path(str(HERE / "synthetic.py"))
    language = synthetic["Language"](int.from_bytes(_hash(seed, "language"), "big"))
    synthetic["train"](language, int.from_bytes(_hash(seed, "weights")[:7], "big"), folder)
    prompts = language.texts(EXAMPLES + HIDDEN["mini"], PROMPT_TOKENS).tolist()
    known = {tuple(prompt) for prompt in prompts}
    more = [prompt for prompt in language.texts(POOL, PROMPT_TOKENS).tolist() if tuple(prompt) not in known]
    return prompts[:EXAMPLES], prompts[EXAMPLES:] + more


def place_model(source: Path, place: Path):
    """Copies the model's files, and gives the function from texts to tokens."""
    missing = [name for name in MODEL_FILES if not (source / name).is_file()]
    if missing:
        raise PreparationError(f"{source} lacks {', '.join(missing)}; {MODEL_ADVICE}.")
    vocabulary = _vocabulary_of(source / "config.json")
    _check_weights(source / "model.safetensors")
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise PreparationError(
            f"{source / 'tokenizer.json'} is not a tokeniser ({error}); {MODEL_ADVICE}."
        ) from None
    if tokenizer.get_vocab_size() > vocabulary:
        raise PreparationError(
            f"{source / 'tokenizer.json'} has {tokenizer.get_vocab_size()} tokens and the model of config.json only "
            f"{vocabulary}; {MODEL_ADVICE}, all of the same model."
        )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    place.mkdir()
    for name in MODEL_FILES:
        shutil.copyfile(source / name, place / name)
    return lambda texts: [tokenizer.encode(text).ids for text in texts]


def _vocabulary_of(path: Path) -> int:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        architectures, vocabulary = config.get("architectures"), config.get("vocab_size")
    except (ValueError, AttributeError):
        raise PreparationError(f"{path} is not a JSON object; {MODEL_ADVICE}.") from None
    if "auto_map" in config:
        raise PreparationError(
            f"{path} asks for code of its own (auto_map), which is never run; choose a model without."
        )
    if not isinstance(architectures, list) or not any(
        str(name).endswith(("ForCausalLM", "LMHeadModel")) for name in architectures
    ):
        raise PreparationError(
            f"{path} has the architectures {architectures!r}, none of which is a causal language model's; "
            f"{MODEL_ADVICE}."
        )
    if not isinstance(vocabulary, int) or vocabulary <= LIKELY:
        raise PreparationError(
            f"{path} has the vocab_size {vocabulary!r}, not a number above {LIKELY}; {MODEL_ADVICE}."
        )
    return vocabulary


def _check_weights(path: Path) -> None:
    """That a safetensors file is whole: its header names for each tensor where it lies, up to the end of the file."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, size)))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        whole = 8 + length + max(ends)
    except (struct.error, ValueError, AttributeError, KeyError, IndexError, TypeError):
        raise PreparationError(f"{path} is not a safetensors file; {MODEL_ADVICE}.") from None
    if whole != size:
        raise PreparationError(f"{path} has {size} bytes, and its header describes {whole}; {MODEL_ADVICE}.")


def paragraphs(folder: Path, part: str) -> list[str]:
    """The published rows of a part that are no headings."""
    path = folder / "wikitext-2-raw-v1" / f"{part}-00000-of-00001.parquet"
    try:
        from pyarrow import ArrowException, parquet, types
    except ModuleNotFoundError:
        raise PreparationError(
            "llama-inference full reads Parquet files, for which this interpreter lacks pyarrow; install pyarrow into "
            "it."
        ) from None
    if not path.is_file():
        raise PreparationError(f"{path} does not exist; {TEXT_ADVICE}.")
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError, ValueError) as error:
        raise PreparationError(f"{path} is not a Parquet file ({error}); {TEXT_ADVICE}.") from None
    if table.column_names != ["text"]:
        raise PreparationError(
            f"{path} has the columns {', '.join(table.column_names)}, not text alone; {TEXT_ADVICE}."
        )
    kind = table.schema.field("text").type
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise PreparationError(f"{path} has text as {kind}, not as string; {TEXT_ADVICE}.")
    if table.num_rows != TEXTS[part]:
        raise PreparationError(f"{path} has {table.num_rows} rows, not {TEXTS[part]}; {TEXT_ADVICE}.")
    rows = [row.strip() for row in table.column("text").to_pylist() if row]
    return [row for row in rows if row and not row.startswith("= ")]


def chosen(seed: int, part: str, texts: Iterable[list[int]], count: int, most: int) -> list[list[int]]:
    """The first tokens of paragraphs that are long enough, by a keyed hash: at least `count`, at most `most`."""
    prompts = {tuple(tokens[:PROMPT_TOKENS]) for tokens in texts if len(tokens) >= PROMPT_TOKENS}
    if len(prompts) < count:
        raise PreparationError(
            f"Only {len(prompts)} paragraphs of the {part} part have {PROMPT_TOKENS} tokens, and {count} are needed; "
            f"{TEXT_ADVICE}."
        )
    ordered = sorted(prompts, key=lambda prompt: _hash(seed, f"{part} {prompt}"))
    return [list(prompt) for prompt in ordered[:most]]


def write(path: Path, prompts: list[list[int]], new_tokens: int) -> None:
    path.write_text(json.dumps({"new_tokens": new_tokens, "prompts": prompts}) + "\n", encoding="utf-8")


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()

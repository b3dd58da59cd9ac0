"""A made-up language model and made-up paragraphs as the Hugging Face hub has them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from support.sources_imdb import write_parquet

PARTS = {"validation": 12, "test": 60}
SIZES = {"TEXTS": PARTS}
"""What prepare.py must take for the rows of each published part."""
WORDS = [f"w{number}" for number in range(98)]


def config(**changes: object) -> dict[str, object]:
    """Of a Llama that computes nothing worth knowing."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": 4,
        "intermediate_size": 4,
        "num_hidden_layers": 0,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "rms_norm_eps": 1e-05,
        "rope_theta": 100000,
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "vocab_size": 100,
    } | changes


def weights(values: int = 100 * 4) -> bytes:
    """A safetensors file with one tensor."""
    tensor = {"dtype": "F32", "shape": [values // 4, 4], "data_offsets": [0, 4 * values]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "model.embed_tokens.weight": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4 * values)


def tokenizer(words: list[str] = WORDS) -> dict[str, object]:
    """One token a word, between spaces."""
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0} | {word: number for number, word in enumerate(words, 1)},
            "unk_token": "[UNK]",
        },
    }


def texts(part: str, rows: int) -> list[object]:
    """Rows as WikiText has them: headings, empty rows, short paragraphs, and long ones, each with a newline."""
    found: list[object] = ["", " = A thing = \n", "", " It is short . \n"]
    for number in range(len(found), rows):
        offset = number + (50 if part == "test" else 0)
        found.append(" " + " ".join(WORDS[(offset * place) % len(WORDS)] for place in range(140)) + " \n")
    return found


def parquet_files(folder: Path) -> dict[str, Path]:
    place = folder / "text" / "wikitext-2-raw-v1"
    return {part: place / f"{part}-00000-of-00001.parquet" for part in PARTS}


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds what both repositories hold."""
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text(json.dumps(config()))
    (folder / "model" / "model.safetensors").write_bytes(weights())
    (folder / "model" / "tokenizer.json").write_text(json.dumps(tokenizer()))
    write_parquet({file: {"text": texts(part, PARTS[part])} for part, file in parquet_files(folder).items()})
    return folder

"""A made-up language of numbers, and a small Llama that has read a little of it.

A text begins with a name of each kind. Most words have one usual successor and a few rarer ones; some lead to a verb,
and after a verb comes the text's name of the kind that the verb asks for. So what comes next is mostly clear, and some
of it is clear only to a model that looks back.
"""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path

import numpy as np

VOCABULARY = 512
VERBS_AFTER = 4
"""One of so many words usually leads to a verb."""
KINDS = 2
NAMES, VERBS = 8 * KINDS, 4 * KINDS
SUCCESSORS = [0.8, 0.12, 0.05, 0.03]
LENGTH = 128
STEPS, BATCH, RATE = 180, 4, 8e-3
SIZES = {
    "hidden_size": 128,
    "intermediate_size": 352,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


class Language:
    """Which word follows which is drawn from the seed, once; each call of `texts` goes on from there."""

    def __init__(self, entropy: int) -> None:
        self._rng = np.random.default_rng(entropy)
        words = np.arange(NAMES + VERBS, VOCABULARY)
        self._successors = self._rng.choice(words, (VOCABULARY, len(SUCCESSORS)))
        before_verbs = self._rng.choice(words, len(words) // VERBS_AFTER, replace=False)
        self._successors[before_verbs, 0] = NAMES + np.arange(len(before_verbs)) % VERBS

    def texts(self, count: int, length: int) -> np.ndarray:
        """Rows of tokens. Name and verb are of the same kind if they leave the same rest by the number of kinds."""
        kinds = np.arange(KINDS)
        names = KINDS * self._rng.integers(0, NAMES // KINDS, (count, KINDS)) + kinds
        tokens = np.empty((count, length), dtype=np.int64)
        tokens[:, :KINDS] = self._rng.permuted(names, axis=1)
        choices = self._rng.choice(len(SUCCESSORS), (count, length), p=SUCCESSORS)
        for place in range(KINDS, length):
            last = tokens[:, place - 1]
            is_verb = (last >= NAMES) & (last < NAMES + VERBS)
            named = names[np.arange(count), (last - NAMES) % KINDS]
            tokens[:, place] = np.where(is_verb, named, self._successors[last, choices[:, place]])
        return tokens


def train(language: Language, seed: int, folder: Path) -> None:
    """A model in `folder`, as the library transformers saves one. The same bytes each time, on one machine."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        **SIZES,
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS, pct_start=0.1)
    for _ in range(STEPS):
        tokens = torch.from_numpy(language.texts(BATCH, LENGTH))
        logits = model(input_ids=tokens, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()

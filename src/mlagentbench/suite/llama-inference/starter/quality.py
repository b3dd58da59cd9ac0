"""Does a generator still say what the model says? Run it for the example prompts: `python quality.py`.

The model itself, in single precision, is asked at every place of the generated texts for its distribution of the next
token, which is compared with the one that the generator told. Grading does the same with other prompts.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

LIKELY = 50
LARGEST_DIVERGENCE = 0.01
"""Mean divergence of what is told from the model's distribution, in nats."""
SMALLEST_AGREEMENT = 0.97
CLEAR = 0.1
"""The model's choice is clear where its most likely token is more probable than the next one by more than this."""
ROUNDING = 1e-3
"""By so much may probabilities sum to more than one."""


class Quality(NamedTuple):
    divergence: float
    agreement: float
    """Share of clear places at which the model's most likely token was chosen."""
    closeness: float
    """Share of all places at which no token is more probable than the chosen one by more than `CLEAR`."""


def flaw(tokens, likely, logprobs, vocabulary):
    """A sentence that says why these cannot be distributions of which the most likely token was chosen, or ""."""
    for name, array in (("tokens", tokens), ("likely", likely)):
        if ((array < 0) | (array >= vocabulary)).any():
            place = tuple(map(int, np.argwhere((array < 0) | (array >= vocabulary))[0]))
            return f"{name} has at {place} the number {int(array[place])}, and there are {vocabulary} tokens."
    wrong = ~np.isfinite(logprobs) | (logprobs > ROUNDING)
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        return f"logprobs has at {place} {float(logprobs[place])!r}, which is no logarithm of a probability."
    ordered = np.sort(likely, axis=2)
    twice = (ordered[..., 1:] == ordered[..., :-1]).any(axis=2)
    if twice.any():
        return f"likely has at {_first(twice)} the same token twice."
    chosen = np.where(likely == tokens[..., None], logprobs, -np.inf).max(axis=2)
    if (chosen < logprobs.max(axis=2)).any():
        return f"At {_first(chosen < logprobs.max(axis=2))} the chosen token is not the most likely one of those told."
    probabilities = np.exp(logprobs.astype(np.float64))
    total = probabilities.sum(axis=2)
    if (total > 1 + ROUNDING).any():
        place = _first(total > 1 + ROUNDING)
        return f"At {place} the probabilities sum to {total[place]:.4f}, which is more than 1."
    possible = (vocabulary - LIKELY) * probabilities.min(axis=2)
    if (1 - total > possible + ROUNDING).any():
        return (
            f"At {_first(1 - total > possible + ROUNDING)} tokens that are not told must be more likely than some that "
            f"are, since the {LIKELY} probabilities leave too much; tell the most likely ones."
        )
    return ""


def compare(model, tokens, likely, logprobs):
    """The quality of what was told; `model` gives for each text the model's own logarithms of probabilities."""
    divergences, clear, right, close = [], [], [], []
    for told, own in zip(zip(tokens, likely, logprobs, strict=True), model, strict=True):
        for token, names, logarithms, truth in zip(*told, own, strict=True):
            p = np.exp(truth.astype(np.float64))
            p /= p.sum()
            divergences.append(_divergence(p, names, np.exp(logarithms.astype(np.float64))))
            second, first = np.partition(p, -2)[-2:]
            clear.append(first - second > CLEAR)
            right.append(p[token] == first)
            close.append(first - p[token] <= CLEAR)
    clear, right = np.array(clear), np.array(right)
    agreement = float(right[clear].mean()) if clear.any() else 1.0
    return Quality(float(np.mean(divergences)), agreement, float(np.mean(close)))


def _divergence(p, told, q):
    """How much the model's distribution `p` diverges from one of which these tokens are told, in nats.

    All tokens that are told, and all that the model has among its most likely, count one by one, the others together.
    A token of the model's that is not told counts as the most that what is told leaves for it.
    """
    q = q / max(1.0, q.sum())
    rest = max(1 - q.sum(), 1e-9)
    own = np.argpartition(p, -LIKELY)[-LIKELY:]
    untold = np.setdiff1d(own, told)
    each = min(q.min(), rest / (len(untold) + 1))
    singles = np.concatenate([p[told], p[untold]])
    p = np.append(singles, max(1 - singles.sum(), 0.0))
    q = np.concatenate([q, np.full(len(untold), each), [rest - each * len(untold)]])
    some = p > 0
    return float((p[some] * np.log(p[some] / q[some])).sum())


def distributions(folder, prompts, tokens):
    """For each text, (new tokens, vocabulary): the model's logarithms of probabilities for what follows the prompt."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()
    for prompt, new in zip(prompts, tokens, strict=True):
        text = torch.tensor([[*prompt, *map(int, new[:-1])]])
        with torch.inference_mode():
            logits = model(input_ids=text, use_cache=False).logits[0, len(prompt) - 1 :]
            yield logits.log_softmax(-1).numpy()


def _first(places):
    return tuple(map(int, np.argwhere(places)[0]))


def main():
    from inference import Generator

    example = json.loads(Path("prompts.json").read_text(encoding="utf-8"))
    vocabulary = json.loads(Path("model/config.json").read_text(encoding="utf-8"))["vocab_size"]
    told = Generator(Path("model")).generate(example["prompts"], example["new_tokens"])
    tokens, likely, logprobs = map(np.asarray, told)
    if sentence := flaw(tokens, likely, logprobs, vocabulary):
        raise SystemExit(sentence)
    quality = compare(distributions(Path("model"), example["prompts"], tokens), tokens, likely, logprobs)
    print(f"validation divergence: {quality.divergence:.6f} (at most {LARGEST_DIVERGENCE})")
    print(f"validation agreement where the choice is clear: {quality.agreement:.4f}")
    print(f"validation share of likely choices: {quality.closeness:.4f} (both at least {SMALLEST_AGREEMENT})")


if __name__ == "__main__":
    main()

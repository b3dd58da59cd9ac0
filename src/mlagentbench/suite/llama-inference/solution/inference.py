"""Generates with a causal language model, greedily, and says how long a token takes on the example prompts.

A Llama runs on NumPy alone, which starts in a fraction of the time that PyTorch takes: all prompts at once, keys and
values of earlier places kept, projections of one input joined into one matrix product, logits for last places only.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import time
from pathlib import Path

import numpy as np

LIKELY = 50
"""So many of the most likely tokens are told at each position."""


def read_weights(file):
    """The tensors of a safetensors file in single precision."""
    content = np.memmap(file, dtype=np.uint8, mode="r")
    start = 8 + int(content[:8].view("<u8")[0])
    header = json.loads(content[8:start].tobytes())
    header.pop("__metadata__", None)
    weights = {}
    for name, tensor in header.items():
        first, end = tensor["data_offsets"]
        raw = content[start + first : start + end]
        if tensor["dtype"] == "BF16":
            # The upper half of a single-precision number.
            values = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = raw.view({"F32": "<f4", "F16": "<f2"}[tensor["dtype"]]).astype(np.float32)
        weights[name] = values.reshape(tensor["shape"])
    return weights


class Llama:
    def __init__(self, config, weights):
        self.heads = config["num_attention_heads"]
        self.shared_heads = config.get("num_key_value_heads") or self.heads
        self.width = config.get("head_dim") or config["hidden_size"] // self.heads
        self.eps = np.float32(config["rms_norm_eps"])
        rope = config.get("rope_parameters") or config
        self.theta = rope.get("rope_theta", 10000.0)
        self.embedding = weights["model.embed_tokens.weight"]

        def joined(norm, *names):
            """Projections of one input as one matrix, with the weight of the norm before them folded in."""
            return (
                np.concatenate([weights[f"{name}.weight"] for name in names]) * weights[f"{norm}.weight"]
            ).T

        head = "model.embed_tokens" if config.get("tie_word_embeddings") else "lm_head"
        self.head = joined("model.norm", head)
        self.layers = []
        for layer in range(config["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            attention, mlp = f"{name}.self_attn", f"{name}.mlp"
            self.layers.append(
                (
                    joined(f"{name}.input_layernorm", *(f"{attention}.{each}_proj" for each in "qkv")),
                    weights[f"{attention}.o_proj.weight"].T,
                    joined(f"{name}.post_attention_layernorm", f"{mlp}.gate_proj", f"{mlp}.up_proj"),
                    weights[f"{mlp}.down_proj.weight"].T,
                )
            )

    def start(self, texts, places):
        """Make room for the keys and values of so many texts of so many tokens."""
        shape = (2, texts, self.shared_heads, places, self.width)
        self.kept = [np.empty(shape, np.float32) for _ in self.layers]
        self.places = 0
        speeds = self.theta ** (-np.arange(0, self.width, 2) / self.width)
        angles = np.arange(places)[:, None, None] * np.concatenate([speeds, speeds])
        self.cos, self.sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        self.sin[..., : self.width // 2] *= -1

    def __call__(self, tokens):
        """From the new tokens of each text, (texts, new), to the logits of what follows the last of them."""
        texts, new = tokens.shape
        first, last = self.places, self.places + new
        self.places = last
        cos, sin = self.cos[first:last], self.sin[first:last]
        group, half = self.heads // self.shared_heads, self.width // 2
        later = np.where(
            np.arange(last) > np.arange(first, last)[:, None], np.float32(-np.inf), np.float32(0)
        )
        later = np.tile(later, (group, 1))
        x = self.embedding[tokens.reshape(-1)]
        for (qkv, output, gate_up, down), kept in zip(self.layers, self.kept, strict=True):
            y = (self.norm(x) @ qkv).reshape(texts, new, self.heads + 2 * self.shared_heads, self.width)
            turned = y[:, :, : -self.shared_heads]
            turned = turned * cos + np.concatenate([turned[..., half:], turned[..., :half]], axis=3) * sin
            kept[0, :, :, first:last] = turned[:, :, self.heads :].transpose(0, 2, 1, 3)
            kept[1, :, :, first:last] = y[:, :, -self.shared_heads :].transpose(0, 2, 1, 3)
            key, value = kept[:, :, :, :last]
            query = turned[:, :, : self.heads].transpose(0, 2, 1, 3) * np.float32(self.width**-0.5)
            # Heads that share keys and values become rows of one product.
            query = query.reshape(texts, self.shared_heads, group * new, self.width)
            scores = query @ key.transpose(0, 1, 3, 2)
            if new > 1:
                scores += later
            scores -= scores.max(axis=3, keepdims=True)
            np.exp(scores, out=scores)
            mixed = scores @ value
            mixed /= scores.sum(axis=3, keepdims=True)
            mixed = mixed.reshape(texts, self.heads, new, self.width).transpose(0, 2, 1, 3)
            x += mixed.reshape(texts * new, -1) @ output
            y = self.norm(x) @ gate_up
            gate, up = np.split(y, 2, axis=1)
            x += (gate / (1 + np.exp(-gate)) * up) @ down
        return self.norm(x.reshape(texts, new, -1)[:, -1]) @ self.head

    def norm(self, x):
        """Without the weight, which is folded into what follows."""
        return x / np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / x.shape[1] + self.eps)


class Other:
    """Any other model, by the library transformers, with its cache."""

    def __init__(self, folder):
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self.torch = torch
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def start(self, texts, places):
        self.kept = None

    def __call__(self, tokens):
        with self.torch.inference_mode():
            new = self.torch.from_numpy(tokens)
            output = self.model(input_ids=new, past_key_values=self.kept, use_cache=True)
        self.kept = output.past_key_values
        return output.logits[:, -1].numpy()


def is_plain_llama(config):
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config["model_type"] == "llama"
        and config.get("hidden_act", "silu") == "silu"
        and not config.get("attention_bias")
        and not config.get("mlp_bias")
        and rope.get("rope_type", "default") == "default"
    )


def load(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if is_plain_llama(config):
        return Llama(config, read_weights(folder / "model.safetensors"))
    return Other(folder)


class Generator:
    """A model that is ready to generate."""

    def __init__(self, model: Path):
        self.model = load(model)

    def generate(self, prompts: list[list[int]], new_tokens: int):
        """The most likely token, again and again, after each prompt. Three arrays:

        tokens: (prompts, new tokens), the tokens that were chosen
        likely: (prompts, new tokens, 50), the 50 most likely tokens at each place, in any order
        logprobs: (prompts, new tokens, 50), the natural logarithms of their probabilities
        """
        told = []
        new = np.array(prompts, dtype=np.int64)
        self.model.start(len(prompts), new.shape[1] + new_tokens)
        for _ in range(new_tokens):
            logits = self.model(new)
            likely = np.argpartition(logits, -LIKELY, axis=1)[:, -LIKELY:]
            most = logits.max(axis=1, keepdims=True)
            total = np.log(np.exp(logits - most).sum(axis=1, keepdims=True))
            logprobs = np.take_along_axis(logits, likely, axis=1) - most - total
            new = np.take_along_axis(likely, logprobs.argmax(axis=1)[:, None], axis=1)
            told.append((new[:, 0], likely, logprobs))
        tokens, likely, logprobs = (np.stack(each, axis=1) for each in zip(*told, strict=True))
        return tokens, likely, logprobs.astype(np.float32)


def main():
    example = json.loads(Path("prompts.json").read_text(encoding="utf-8"))
    start = time.process_time()
    generator = Generator(Path("model"))
    tokens, _, _ = generator.generate(example["prompts"], example["new_tokens"])
    seconds = time.process_time() - start
    print(f"after the first prompt: {tokens[0].tolist()}")
    print(f"validation CPU seconds per token: {seconds / tokens.size:.5f}")


if __name__ == "__main__":
    main()

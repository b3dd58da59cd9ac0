"""Generates with a causal language model, greedily, and says how long a token takes on the example prompts."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import json
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

LIKELY = 50
"""So many of the most likely tokens are told at each position."""

torch.set_num_threads(1)


class Llama:
    """The forward pass of a Llama, written down plainly."""

    def __init__(self, config, weights):
        self.config = config
        self.weights = {name: tensor.float() for name, tensor in weights.items()}
        self.heads = config["num_attention_heads"]
        self.shared_heads = config.get("num_key_value_heads") or self.heads
        self.width = config.get("head_dim") or config["hidden_size"] // self.heads
        rope = config.get("rope_parameters") or config
        self.theta = rope.get("rope_theta", 10000.0)

    def __call__(self, tokens):
        """From (texts, length) to the logits of the next token at each place: (texts, length, vocabulary)."""
        weights = self.weights
        x = weights["model.embed_tokens.weight"][tokens]
        for layer in range(self.config["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            x = x + self.attention(name, self.norm(x, f"{name}.input_layernorm"))
            x = x + self.mlp(name, self.norm(x, f"{name}.post_attention_layernorm"))
        x = self.norm(x, "model.norm")
        head = "model.embed_tokens" if self.config.get("tie_word_embeddings") else "lm_head"
        return x @ weights[f"{head}.weight"].T

    def norm(self, x, name):
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + self.config["rms_norm_eps"])
        return x * scale * self.weights[f"{name}.weight"]

    def attention(self, name, x):
        texts, length, _ = x.shape

        def project(which, heads):
            y = x @ self.weights[f"{name}.self_attn.{which}_proj.weight"].T
            return y.view(texts, length, heads, self.width).transpose(1, 2)

        query = self.rotate(project("q", self.heads))
        key = self.rotate(project("k", self.shared_heads))
        value = project("v", self.shared_heads)
        key = key.repeat_interleave(self.heads // self.shared_heads, dim=1)
        value = value.repeat_interleave(self.heads // self.shared_heads, dim=1)
        scores = query @ key.transpose(2, 3) / self.width**0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ value
        mixed = mixed.transpose(1, 2).reshape(texts, length, self.heads * self.width)
        return mixed @ self.weights[f"{name}.self_attn.o_proj.weight"].T

    def rotate(self, x):
        """Turns each pair of values by an angle that grows with the place in the text."""
        speeds = self.theta ** (-torch.arange(0, self.width, 2) / self.width)
        angles = torch.arange(x.shape[2])[:, None] * speeds
        angles = torch.cat([angles, angles], dim=1)
        one, other = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat([-other, one], dim=-1) * angles.sin()

    def mlp(self, name, x):
        gate = x @ self.weights[f"{name}.mlp.gate_proj.weight"].T
        up = x @ self.weights[f"{name}.mlp.up_proj.weight"].T
        return (torch.nn.functional.silu(gate) * up) @ self.weights[f"{name}.mlp.down_proj.weight"].T


def is_plain_llama(config):
    """Whether `Llama` above computes this model; others are left to the library transformers."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config["model_type"] == "llama"
        and config.get("hidden_act", "silu") == "silu"
        and not config.get("attention_bias")
        and not config.get("mlp_bias")
        and rope.get("rope_type", "default") == "default"
    )


def load(folder):
    """The function from tokens to logits that the files of a model stand for."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if is_plain_llama(config):
        return Llama(config, load_file(folder / "model.safetensors"))
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return lambda tokens: model(input_ids=tokens, use_cache=False).logits


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
        shape = (len(prompts), new_tokens)
        tokens = np.zeros(shape, dtype=np.int64)
        likely = np.zeros((*shape, LIKELY), dtype=np.int64)
        logprobs = np.zeros((*shape, LIKELY), dtype=np.float32)
        with torch.no_grad():
            for row, prompt in enumerate(prompts):
                text = list(prompt)
                for place in range(new_tokens):
                    logits = self.model(torch.tensor([text]))[0, -1]
                    top = logits.log_softmax(-1).topk(LIKELY)
                    text.append(int(top.indices[0]))
                    tokens[row, place] = text[-1]
                    likely[row, place] = top.indices
                    logprobs[row, place] = top.values
        return tokens, likely, logprobs


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

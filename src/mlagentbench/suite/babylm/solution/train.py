"""Rotary positions and gated layers, all of the text gone through in turn, and a high learning rate let down slowly."""

import math
import os
from itertools import islice
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

SEED = int(os.environ.get("SEED", "0"))
# A large corpus gets a larger vocabulary and network.
LARGE = sum(file.stat().st_size for file in Path("babylm_10M").iterdir()) > 10_000_000
VOCABULARY = 12_000 if LARGE else 2_000
CONTEXT = 256 if LARGE else 64
WIDTH = 384 if LARGE else 64
LAYERS = 8 if LARGE else 2
STEPS = 12_000 if LARGE else 650
BATCH = 32 if LARGE else 8
RATE = 1.5e-3 if LARGE else 5e-3
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(SEED)
torch.set_num_threads(1)


def texts(folder):
    return [file.read_bytes().decode("utf-8") for file in sorted(Path(folder).iterdir())]


# Pieces that cover most words as a whole: what the network need not put together, it need not learn.
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=VOCABULARY,
    special_tokens=["<s>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(texts("babylm_10M"), trainer)
START = tokenizer.token_to_id("<s>")


def encoded(text):
    return tokenizer.encode(text, add_special_tokens=False).ids


tokens = torch.tensor([token for text in texts("babylm_10M") for token in [START, *encoded(text)]])

config = LlamaConfig(
    vocab_size=tokenizer.get_vocab_size(),
    max_position_embeddings=CONTEXT,
    hidden_size=WIDTH,
    intermediate_size=2 * WIDTH,
    num_hidden_layers=LAYERS,
    num_attention_heads=WIDTH // 32,
    num_key_value_heads=WIDTH // 32,
    initializer_range=0.04 if WIDTH < 128 else 0.02,
    tie_word_embeddings=True,
    bos_token_id=START,
    eos_token_id=START,
    use_cache=False,
)
model = LlamaForCausalLM(config).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
WARM = STEPS // 10
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min((step + 1) / WARM, (STEPS - step) / (STEPS - WARM))
)


def batches():
    """All of the text in pieces, again and again, each time in another order and cut at other places."""
    while True:
        starts = torch.arange(int(torch.randint(CONTEXT, ())), len(tokens) - CONTEXT, CONTEXT)
        for some in starts[torch.randperm(len(starts))].split(BATCH):
            yield torch.stack([tokens[start : start + CONTEXT] for start in some.tolist()]).to(DEVICE)


model.train()
for batch in islice(batches(), STEPS):
    logits = model(input_ids=batch).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def word_perplexity(some):
    """As it is graded: the negative log-likelihood of all tokens, per word; windows overlap by a quarter."""
    model.eval()
    total, words = 0.0, 0
    for text in some:
        ids = [START, *encoded(text)]
        begin, counted = 0, 1
        while counted < len(ids):
            end = min(begin + CONTEXT, len(ids))
            window = torch.tensor([ids[begin:end]], device=DEVICE)
            with torch.no_grad():
                chances = model(input_ids=window).logits[0].double().log_softmax(dim=1)
            places = torch.arange(counted, end, device=DEVICE) - begin
            total -= chances[places - 1, window[0, places]].sum().item()
            begin, counted = end - CONTEXT // 4, end
        words += len(text.split())
    return math.exp(total / words)


print(f"validation word perplexity: {word_perplexity(text[:5_000] for text in texts('babylm_dev')):.2f}")

model.save_pretrained("model")
tokenizer.save("model/tokenizer.json")

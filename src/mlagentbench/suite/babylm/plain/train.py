"""A larger network, trained longer with a learning rate that rises and falls: what a practitioner tries first."""

import math
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

SEED = int(os.environ.get("SEED", "0"))
# A large corpus gets a larger vocabulary and network.
LARGE = sum(file.stat().st_size for file in Path("babylm_10M").iterdir()) > 10_000_000
VOCABULARY = 8_000 if LARGE else 2_000
CONTEXT = 128 if LARGE else 64
WIDTH = 256 if LARGE else 64
LAYERS = 4 if LARGE else 2
STEPS = 3_000 if LARGE else 400
BATCH = 16 if LARGE else 8

torch.manual_seed(SEED)
torch.set_num_threads(1)


def texts(folder):
    return [file.read_bytes().decode("utf-8") for file in sorted(Path(folder).iterdir())]


# Pieces of words over all 256 bytes: every text can be written with them, and read back as it was.
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

config = GPT2Config(
    vocab_size=tokenizer.get_vocab_size(),
    n_positions=CONTEXT,
    n_embd=WIDTH,
    n_layer=LAYERS,
    n_head=WIDTH // 32,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
    resid_pdrop=0.0,
    bos_token_id=START,
    eos_token_id=START,
)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3 if LARGE else 4e-3, weight_decay=0.01)
schedule = get_cosine_schedule_with_warmup(optimizer, STEPS // 20, STEPS)

model.train()
for _ in range(STEPS):
    places = torch.randint(len(tokens) - CONTEXT, (BATCH,)).tolist()
    batch = torch.stack([tokens[place : place + CONTEXT] for place in places])
    loss = model(input_ids=batch, labels=batch).loss
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
            window = torch.tensor([ids[begin:end]])
            with torch.no_grad():
                chances = model(input_ids=window).logits[0].double().log_softmax(dim=1)
            places = torch.arange(counted, end) - begin
            total -= chances[places - 1, window[0, places]].sum().item()
            begin, counted = end - CONTEXT // 4, end
        words += len(text.split())
    return math.exp(total / words)


print(f"validation word perplexity: {word_perplexity(text[:5_000] for text in texts('babylm_dev')):.2f}")

model.save_pretrained("model")
tokenizer.save("model/tokenizer.json")

"""Trains the network of model.py on pointers and, with the help of hints, on the lengths of paths."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from model import Model
from safetensors.torch import save_file
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
SIZES = (4, 7, 11, 13, 16)
EPOCHS = 10
BATCH = 10
LEARNING_RATE = 4e-3

torch.manual_seed(SEED)
torch.set_num_threads(1)


def load(size):
    """Inputs, lengths of shortest paths, where there are any, and pointers."""
    with np.load(f"train-{size}.npz") as file:
        inputs = [torch.from_numpy(file[name]).float() for name in ("pos", "A", "adj")]
        # The last hint is the state before the last step.
        length = torch.from_numpy(file["D"][:, -1])
        reached = torch.from_numpy(file["msk"][:, -1]) > 0
        pointers = torch.from_numpy(file["Pi"]).long()
    return [*inputs, length, reached, pointers]


def accuracy(model, runs):
    *inputs, _, _, pointers = runs
    return (model.predict(*inputs) == pointers).float().mean().item()


# A fifth of the largest graphs is held out.
training = {size: load(size) for size in SIZES}
order = torch.randperm(len(training[SIZES[-1]][0]))
held_out = [array[order[: len(order) // 5]] for array in training[SIZES[-1]]]
training[SIZES[-1]] = [array[order[len(order) // 5 :]] for array in training[SIZES[-1]]]

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
steps = EPOCHS * sum(-(-len(runs[0]) // BATCH) for runs in training.values())
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
for _ in range(EPOCHS):
    batches = [
        (size, rows) for size, runs in training.items() for rows in torch.randperm(len(runs[0])).split(BATCH)
    ]
    for index in torch.randperm(len(batches)).tolist():
        size, rows = batches[index]
        *inputs, length, reached, pointers = (array[rows] for array in training[size])
        optimizer.zero_grad()
        scores, predicted = model(*inputs)
        loss = nn.functional.cross_entropy(scores.flatten(0, 2), pointers.flatten())
        loss = loss + ((predicted - length) ** 2 * reached).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()

print(f"validation score: {accuracy(model, held_out):.4f}")
save_file(model.state_dict(), "checkpoint.safetensors")

"""Trains the network of model.py on runs of Floyd-Warshall and writes its weights to checkpoint.safetensors."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from model import Model
from safetensors.torch import save_file
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
SIZES = (4, 7, 11, 13, 16)
EPOCHS = 14
BATCH = 10
LEARNING_RATE = 1e-2

torch.manual_seed(SEED)
torch.set_num_threads(1)


def load(size):
    """The inputs and the output of the runs over graphs of one size; the hints in the file are not used."""
    with np.load(f"train-{size}.npz") as file:
        inputs = [torch.from_numpy(file[name]).float() for name in ("pos", "A", "adj")]
        return [*inputs, torch.from_numpy(file["Pi"]).long()]


def accuracy(model, runs):
    *inputs, pointers = runs
    return (model.predict(*inputs) == pointers).float().mean().item()


# A fifth of the largest graphs is held out.
training = {size: load(size) for size in SIZES}
order = torch.randperm(len(training[SIZES[-1]][0]))
held_out = [array[order[: len(order) // 5]] for array in training[SIZES[-1]]]
training[SIZES[-1]] = [array[order[len(order) // 5 :]] for array in training[SIZES[-1]]]

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
for _ in range(EPOCHS):
    batches = [
        (size, rows) for size, runs in training.items() for rows in torch.randperm(len(runs[0])).split(BATCH)
    ]
    for index in torch.randperm(len(batches)).tolist():
        size, rows = batches[index]
        *inputs, pointers = (array[rows] for array in training[size])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(*inputs).flatten(0, 2), pointers.flatten())
        loss.backward()
        optimizer.step()
    schedule.step()

print(f"validation score: {accuracy(model, held_out):.4f}")
save_file(model.state_dict(), "checkpoint.safetensors")

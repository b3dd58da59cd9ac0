"""Tells what pictures show: a convolutional network, trained on varied copies of them.

The pictures are arrays beside the tables, in the order of their rows: train_images.npy beside train.csv.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from pathlib import Path

import numpy as np
import torch
from recipe_data import SEED, asked, labels, score, split, submit
from torch import nn

METRIC = "accuracy"
CHANNELS = 16
BLOCKS = 3
EPOCHS = 20
BATCH = 32
LEARNING_RATE = 3e-3
FLIP = True
SHIFT = 0
"""Pictures are moved by so many pixels at most."""

torch.manual_seed(SEED)
torch.set_num_threads(1)
problem = asked(METRIC)
if problem.classes is None:
    raise SystemExit("What the pictures show is a number.")


def pictures_of(part, rows):
    found = sorted(Path().glob(f"{part}*.npy"))
    array = np.load(found[0]) if found else np.zeros(0)
    if array.ndim != 4 or len(array) != rows:
        raise SystemExit(f"There is no array of pictures for {part}.csv.")
    pixels = torch.from_numpy(array).float()
    return (pixels if pixels.shape[1] <= 4 else pixels.permute(0, 3, 1, 2)).contiguous()


images = pictures_of("train", len(problem.train))
mean, spread = images.mean(dim=(0, 2, 3), keepdim=True), images.std(dim=(0, 2, 3), keepdim=True) + 1e-6
images = (images - mean) / spread
tests = (pictures_of("test", len(problem.test)) - mean) / spread
truth = torch.tensor([problem.classes.index(label) for label in problem.y])
fitted, held_out = map(torch.as_tensor, split(problem))


def network():
    """Each block halves the picture; the first has one layer, since there the picture is large."""
    layers, before = [], images.shape[1]
    for block in range(BLOCKS):
        after = CHANNELS * 2**block
        for first in (before,) if block == 0 else (before, after):
            layers += [nn.Conv2d(first, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
        before = after
    layers += [
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(before, len(problem.classes)),
    ]
    return nn.Sequential(*layers)


def varied(batch):
    if FLIP:
        mirrored = torch.rand(len(batch)) < 0.5
        batch = torch.where(mirrored[:, None, None, None], batch.flip(3), batch)
    if SHIFT:
        down, right = torch.randint(-SHIFT, SHIFT + 1, (2,)).tolist()
        batch = batch.roll((down, right), (2, 3))
    return batch


model = network()
optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
steps = EPOCHS * -(-len(fitted) // BATCH)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
for _ in range(EPOCHS):
    model.train()
    for batch in fitted[torch.randperm(len(fitted))].split(BATCH):
        loss = nn.functional.cross_entropy(model(varied(images[batch])), truth[batch], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def told(pictures):
    model.eval()
    with torch.no_grad():
        views = [pictures, pictures.flip(3)] if FLIP else [pictures]
        parts = [torch.cat([model(part).softmax(dim=1) for part in view.split(500)]) for view in views]
    return torch.stack(parts).mean(dim=0).numpy()


right = score(problem, problem.y.iloc[held_out.numpy()], labels(problem, told(images[held_out])))
print(f"validation {METRIC}: {right:.6g}")
submit(problem, told(tests))

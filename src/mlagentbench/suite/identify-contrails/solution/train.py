"""U-Nets over several bands and times, against what the sky around looks like; turned and mirrored images to learn
from, shares of annotators as targets, and a threshold from records that were held out."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from encode import encode
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)
torch.set_num_threads(1)
rng = np.random.default_rng(SEED)

LABELLED = 4
BATCH = 8
records = sorted(Path("train").iterdir())
tests = sorted(Path("test").iterdir())
rng.shuffle(records)
side = len(np.load(records[0] / "band_14.npy", mmap_mode="r"))
SMALL = side * side * len(records) < 1_000_000
WIDTH = 12 if SMALL else 32
EPOCHS = 36 if SMALL else 15
FOLDS = 3


def channels(record):
    """Differences of bands and times, each against the record's own middle."""
    b11, b13, b14, b15 = (np.load(record / f"band_{band}.npy") for band in (11, 13, 14, 15))
    ice, dust = (b15 - b14) / 0.6, (b14 - b11) / 1.0
    cold = b14 / 6
    now = [
        ice[:, :, LABELLED],
        dust[:, :, LABELLED],
        cold[:, :, LABELLED],
        ((b15 - b13) / 0.6)[:, :, LABELLED],
    ]
    # What is still stands out in the mean over time; what has just come, against the earlier images.
    thin = ice + dust
    around = [thin.mean(axis=2), cold.mean(axis=2)]
    around += [thin[:, :, time] for time in (0, 2, 3, 5, 7)]
    around += [cold[:, :, time] for time in (1, 3, 5)]
    stack = np.stack([*now, *around])
    stack -= np.median(stack, axis=(1, 2), keepdims=True)
    lines = [
        ridges(thin[:, :, LABELLED]),
        ridges(thin[:, :, LABELLED - 1]),
        ridges(thin[:, :, :3].mean(axis=2)),
    ]
    return np.clip(np.concatenate([stack, lines]), -6, 6).astype(np.float32)


def filters(length=13, orientations=8):
    """Each answers to a cold line of one direction."""
    y, x = np.mgrid[0:length, 0:length] - length // 2
    found = []
    for angle in np.pi * np.arange(orientations) / orientations:
        across, along = y * np.cos(angle) - x * np.sin(angle), y * np.sin(angle) + x * np.cos(angle)
        kernel = (across**2 - 1.2) * np.exp(-0.5 * across**2 / 1.2 - 0.5 * (along / 3.5) ** 2)
        found.append((kernel - kernel.mean()) / np.abs(kernel).sum())
    return torch.tensor(np.array(found), dtype=torch.float32)[:, None]


FILTERS = filters()


def ridges(image):
    """How much of a line a pixel lies on, in the direction in which that is most."""
    padded = nn.functional.pad(torch.from_numpy(image)[None, None], (6, 6, 6, 6), mode="reflect")
    return 4 * nn.functional.conv2d(padded, FILTERS)[0].amax(dim=0).numpy()


def shares(record):
    """How many of the annotators marked a pixel, half way towards what the majority said."""
    drawn = np.load(record / "human_individual_masks.npy").mean(axis=3)[:, :, 0]
    return (0.5 * drawn + 0.5 * truth([record])[0]).astype(np.float32)


# Small data are read once, large ones whenever they are needed.
if SMALL:
    channels, shares = functools.cache(channels), functools.cache(shares)


def inputs(some):
    return torch.from_numpy(np.stack([channels(record) for record in some]))


def target(some):
    return torch.from_numpy(np.stack([shares(record) for record in some]))


def truth(some):
    return np.stack([np.load(record / "human_pixel_masks.npy")[:, :, 0] for record in some]) > 0


def block(before, after):
    layers = []
    for number in (before, after):
        layers += [nn.Conv2d(number, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class Network(nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.first, self.second, self.third = (
            block(seen, WIDTH),
            block(WIDTH, 2 * WIDTH),
            block(2 * WIDTH, 4 * WIDTH),
        )
        self.fourth, self.fifth = block(6 * WIDTH, 2 * WIDTH), block(3 * WIDTH, WIDTH)
        self.last = nn.Conv2d(WIDTH, 1, 1)

    def forward(self, x):
        fine = self.first(x)
        middle = self.second(nn.functional.max_pool2d(fine, 2))
        coarse = self.third(nn.functional.max_pool2d(middle, 2))
        middle = self.fourth(torch.cat([middle, nn.functional.interpolate(coarse, scale_factor=2)], dim=1))
        return self.last(
            self.fifth(torch.cat([fine, nn.functional.interpolate(middle, scale_factor=2)], dim=1))
        )[:, 0]


def turned(images, number):
    """One of the eight ways to lay a square."""
    images = torch.rot90(images, number % 4, dims=(-2, -1))
    return images.flip(-1) if number >= 4 else images


def turned_back(images, number):
    images = images.flip(-1) if number >= 4 else images
    return torch.rot90(images, -(number % 4), dims=(-2, -1))


def loss_of(output, wanted):
    """Cross entropy, and one minus a soft Dice over the batch, which is what is graded."""
    entropy = nn.functional.binary_cross_entropy_with_logits(output, wanted)
    marked = torch.sigmoid(output)
    return entropy + 0.3 * (1 - (2 * (marked * wanted).sum() + 1) / (marked.sum() + wanted.sum() + 1))


def fit(some):
    model = Network(inputs(some[:1]).shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004, weight_decay=0.01)
    steps = EPOCHS * -(-len(some) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    for _ in range(EPOCHS):
        order = rng.permutation(len(some))
        for first in range(0, len(some), BATCH):
            batch = [some[place] for place in order[first : first + BATCH]]
            number = int(rng.integers(8))
            loss = loss_of(model(turned(inputs(batch), number)), turned(target(batch), number))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def predict(model, some):
    """Probabilities, as a mean over all ways to lay the image."""
    parts = []
    with torch.no_grad():
        for first in range(0, len(some), BATCH):
            images = inputs(some[first : first + BATCH])
            ways = [turned_back(torch.sigmoid(model(turned(images, number))), number) for number in range(8)]
            parts.append(torch.stack(ways).mean(dim=0).numpy())
    return np.concatenate(parts)


def dice(marked, true):
    return 2 * (marked & true).sum() / max(1, marked.sum() + true.sum())


held_out, on_tests = [], []
for fold in range(FOLDS):
    model = fit([record for place, record in enumerate(records) if place % FOLDS != fold])
    held_out.append(predict(model, records[fold::FOLDS]))
    on_tests.append(predict(model, tests))
held_out = np.concatenate(held_out)
true = truth([record for fold in range(FOLDS) for record in records[fold::FOLDS]])
thresholds = np.linspace(0.2, 0.7, 26)
threshold = max(thresholds, key=lambda value: dice(held_out > value, true))
print(f"validation Dice: {dice(held_out > threshold, true):.4f}")

masks = np.mean(on_tests, axis=0) > threshold
submission = pd.DataFrame(
    {"record_id": [record.name for record in tests], "encoded_pixels": map(encode, masks)}
)
submission.to_csv("submission.csv", index=False)

"""A small U-Net on the false colours of the labelled image: what a practitioner tries first."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from encode import encode
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)
torch.set_num_threads(1)

LABELLED = 4
EPOCHS = 20
BATCH = 8


def scaled(values, low, high):
    return np.clip((values - low) / (high - low), 0, 1)


def image(record):
    """The false colours of the labelled image: see data_description.txt."""
    b11, b14, b15 = (np.load(record / f"band_{band}.npy")[:, :, LABELLED] for band in (11, 14, 15))
    return np.stack([scaled(b15 - b14, -4, 2), scaled(b14 - b11, -4, 5), scaled(b14, 243, 303)])


def mask(record):
    return np.load(record / "human_pixel_masks.npy")[:, :, 0]


records = sorted(Path("train").iterdir())
np.random.default_rng(SEED).shuffle(records)
held_out = len(records) // 5
X = torch.tensor(np.stack([image(record) for record in records]), dtype=torch.float32)
y = torch.tensor(np.stack([mask(record) for record in records]), dtype=torch.float32)
train_X, valid_X, train_y, valid_y = X[held_out:], X[:held_out], y[held_out:], y[:held_out]


class Network(nn.Module):
    """Down to a quarter of the size and up again, with what was seen on the way down beside it."""

    def __init__(self, width=12):
        super().__init__()
        self.first, self.second, self.third = (
            block(3, width),
            block(width, 2 * width),
            block(2 * width, 4 * width),
        )
        self.fourth, self.fifth = block(6 * width, 2 * width), block(3 * width, width)
        self.last = nn.Conv2d(width, 1, kernel_size=1)

    def forward(self, x):
        fine = self.first(x)
        middle = self.second(nn.functional.max_pool2d(fine, 2))
        coarse = self.third(nn.functional.max_pool2d(middle, 2))
        middle = self.fourth(torch.cat([middle, nn.functional.interpolate(coarse, scale_factor=2)], dim=1))
        return self.last(
            self.fifth(torch.cat([fine, nn.functional.interpolate(middle, scale_factor=2)], dim=1))
        )


def block(before, after):
    layers = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, kernel_size=3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


model = Network()

optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
for _ in range(EPOCHS):
    model.train()
    for batch in torch.randperm(len(train_X)).split(BATCH):
        output = model(train_X[batch])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(output, train_y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()


def predict(images):
    model.eval()
    with torch.no_grad():
        return (model(images)[:, 0] > 0).numpy()


marked, true = predict(valid_X), valid_y.numpy() > 0
print(f"validation Dice: {2 * (marked & true).sum() / (marked.sum() + true.sum()):.4f}")

tests = sorted(Path("test").iterdir())
masks = predict(torch.tensor(np.stack([image(record) for record in tests]), dtype=torch.float32))
submission = pd.DataFrame(
    {"record_id": [record.name for record in tests], "encoded_pixels": map(encode, masks)}
)
submission.to_csv("submission.csv", index=False)

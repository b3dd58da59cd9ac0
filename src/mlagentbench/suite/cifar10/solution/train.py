"""A deeper network with varied pictures, a learning rate that rises and falls, averaged weights and mirrored views."""

import copy
import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

SEED = int(os.environ.get("SEED", "0"))

torch.manual_seed(SEED)
torch.set_num_threads(1)

CLASSES = pd.read_csv("classes.txt", header=None)[0].tolist()
train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")
# The published data get a wider network; few pictures are gone through more often.
LARGE = len(train) > 10_000
WIDTH = 64 if LARGE else 16
EPOCHS = 40 if LARGE else 22
BATCH = 128 if LARGE else 32
RATE = 0.01 if LARGE else 0.012
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def pixels(file):
    return torch.from_numpy(np.load(file)).permute(0, 3, 1, 2).float() / 127.5 - 1


def convolution(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(convolution(width, width), convolution(width, width))

    def forward(self, x):
        return x + self.inner(x)


def network():
    return nn.Sequential(
        convolution(3, WIDTH), nn.MaxPool2d(2),
        convolution(WIDTH, 2 * WIDTH), nn.MaxPool2d(2),
        convolution(2 * WIDTH, 4 * WIDTH), Residual(4 * WIDTH), nn.AdaptiveMaxPool2d(1),
        nn.Flatten(), nn.Linear(4 * WIDTH, len(CLASSES)),
    ).to(DEVICE)  # fmt: skip


def varied(pictures):
    """Each picture mirrored or not, moved, turned, scaled, with other light, and with a patch left out."""
    n = len(pictures)
    turn = (torch.rand(n) - 0.5) * 0.7
    scale = 1 + (torch.rand(n) - 0.5) * 0.4
    mirror = torch.where(torch.rand(n) < 0.5, 1.0, -1.0)
    cos, sin = scale * turn.cos(), scale * turn.sin()
    move = (torch.rand(2, n) - 0.5) * 0.5
    place = torch.stack(
        [torch.stack([cos * mirror, -sin, move[0]], 1), torch.stack([sin * mirror, cos, move[1]], 1)], 1
    )
    grid = F.affine_grid(place.to(pictures.device), pictures.shape, align_corners=False)
    pictures = F.grid_sample(pictures, grid, padding_mode="reflection", align_corners=False)
    gain = 1 + (torch.rand(n, 3, 1, 1) - 0.5) * 0.5
    shift = (torch.rand(n, 3, 1, 1) - 0.5) * 0.5
    pictures = pictures * gain.to(pictures.device) + shift.to(pictures.device)
    rows = (torch.arange(32) - torch.randint(0, 32, (n, 1))).abs() < 5
    columns = (torch.arange(32) - torch.randint(0, 32, (n, 1))).abs() < 5
    patch = (rows[:, :, None] & columns[:, None, :])[:, None]
    return pictures.masked_fill(patch.to(pictures.device), 0.0)


def fit(images, labels):
    """A trained network whose weights are an average over the last steps."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.25)
    averaged = copy.deepcopy(model)
    for _ in range(EPOCHS):
        model.train()
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            guess = model(varied(images[batch].to(DEVICE)))
            F.cross_entropy(guess, labels[batch].to(DEVICE), label_smoothing=0.05).backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                for kept, new in zip(
                    averaged.state_dict().values(), model.state_dict().values(), strict=True
                ):
                    kept.lerp_(new, 0.03) if kept.is_floating_point() else kept.copy_(new)
    return averaged.eval()


def probabilities(model, pictures):
    with torch.no_grad():
        return torch.cat(
            [
                (model(part).softmax(dim=1) + model(part.flip(3)).softmax(dim=1)).cpu() / 2
                for part in pictures.to(DEVICE).split(500)
            ]
        )


images = pixels("train_images.npy")
labels = torch.tensor([CLASSES.index(name) for name in train["label"]])
order = torch.randperm(len(images))
held_out, fitted = order[: len(order) // 10], order[len(order) // 10 :]
model = fit(images[fitted], labels[fitted])
right = probabilities(model, images[held_out]).argmax(dim=1) == labels[held_out]
print(f"validation accuracy: {right.float().mean():.4f}")

submission = pd.DataFrame(probabilities(model, pixels("test_images.npy")).numpy(), columns=CLASSES)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)

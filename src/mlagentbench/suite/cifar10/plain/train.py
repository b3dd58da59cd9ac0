"""Three convolutions with batch normalisation on moved and mirrored pictures: what a practitioner tries first."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
EPOCHS = 18
BATCH = 24

torch.manual_seed(SEED)
torch.set_num_threads(1)

CLASSES = pd.read_csv("classes.txt", header=None)[0].tolist()
train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")


def pixels(file):
    return torch.from_numpy(np.load(file)).permute(0, 3, 1, 2).float() / 127.5 - 1


def block(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)
    )


images = pixels("train_images.npy")
labels = torch.tensor([CLASSES.index(name) for name in train["label"]])
order = torch.randperm(len(images))
held_out, fitted = order[: len(order) // 5], order[len(order) // 5 :]

model = nn.Sequential(
    block(3, 16),
    block(16, 32),
    block(32, 64),
    nn.Flatten(),
    nn.Dropout(0.3),
    nn.Linear(64 * 4 * 4, len(CLASSES)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)

for _ in range(EPOCHS):
    model.train()
    for batch in fitted[torch.randperm(len(fitted))].split(BATCH):
        optimizer.zero_grad()
        pictures = images[batch]
        mirrored = torch.rand(len(batch)) < 0.5
        pictures[mirrored] = pictures[mirrored].flip(3)
        down, right = torch.randint(-3, 4, (2,)).tolist()
        pictures = pictures.roll((down, right), dims=(2, 3))
        nn.functional.cross_entropy(model(pictures), labels[batch]).backward()
        optimizer.step()
    schedule.step()


def probabilities(pictures):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(part).softmax(dim=1) for part in pictures.split(500)])


right = probabilities(images[held_out]).argmax(dim=1) == labels[held_out]
print(f"validation accuracy: {right.float().mean():.4f}")

submission = pd.DataFrame(probabilities(pixels("test_images.npy")).numpy(), columns=CLASSES)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)

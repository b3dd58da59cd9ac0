"""A small convolutional network for whole pictures; unsure is taken for unknown: what a practitioner tries first."""

import json
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
SIZE = 48
EPOCHS = 10
BATCH = 32

torch.manual_seed(SEED)
torch.set_num_threads(1)


def pixels(names):
    small = [np.asarray(Image.open(f"images/{name}").convert("RGB").resize((SIZE, SIZE))) for name in names]
    return torch.from_numpy(np.stack(small)).permute(0, 3, 1, 2).float() / 127.5 - 1


def mean_average_precision(scores, truth):
    ranked = scores.argsort(dim=1, descending=True)[:, :20]
    hits = truth.gather(1, ranked)
    precision = hits.cumsum(dim=1) / torch.arange(1, ranked.shape[1] + 1)
    return float(((precision * hits).sum(dim=1) / truth.sum(dim=1).clamp(1, 20)).mean())


def block(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)
    )


key = pd.read_csv("category_key.csv")
CATEGORIES = key["id"].tolist()
train = pd.read_csv("multilabel_classification/train.csv")
with open("object_detection/train.json") as file:
    train_names = [image["file_name"] for image in json.load(file)["images"]]
with open("object_detection/eval.json") as file:
    test_names = [image["file_name"] for image in json.load(file)["images"]]

place = {category: index for index, category in enumerate(CATEGORIES)}
by_id = {
    row.id: [place[int(category)] for category in json.loads(row.categories)] for row in train.itertuples()
}
labels = torch.zeros(len(train_names), len(CATEGORIES))
for index, name in enumerate(train_names):
    labels[index, by_id[Path(name).stem]] = 1
order = torch.randperm(len(train_names))
held_out, fitted = order[: len(order) // 5], order[len(order) // 5 :]
images = pixels(train_names)

model = nn.Sequential(
    block(3, 16), block(16, 32), block(32, 64),
    nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, len(CATEGORIES)),
)  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(EPOCHS):
    model.train()
    for batch in fitted[torch.randperm(len(fitted))].split(BATCH):
        optimizer.zero_grad()
        pictures = images[batch]
        mirrored = torch.rand(len(batch)) < 0.5
        pictures[mirrored] = pictures[mirrored].flip(3)
        nn.functional.binary_cross_entropy_with_logits(model(pictures), labels[batch]).backward()
        optimizer.step()


def predict(pictures):
    """For each picture a probability for every category, and how far the highest of them is from certain."""
    model.eval()
    with torch.no_grad():
        probabilities = torch.cat([model(part).sigmoid() for part in pictures.split(200)])
    return probabilities, 1 - probabilities.max(dim=1).values


scores, _ = predict(images[held_out])
print(f"validation MAP@20: {mean_average_precision(scores, labels[held_out]):.4f}")

scores, unknown = predict(pixels(test_names))
ranked = scores.argsort(dim=1, descending=True)[:, :20].tolist()
submission = pd.DataFrame(
    {
        "id": [Path(name).stem for name in test_names],
        "categories": [" ".join(str(CATEGORIES[index]) for index in row) for row in ranked],
        "osd": unknown.numpy(),
    }
)
submission.to_csv("submission.csv", index=False)

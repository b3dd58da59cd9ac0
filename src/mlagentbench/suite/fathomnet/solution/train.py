"""A network that finds each animal with the help of the boxes, names it, and calls unknown what it cannot name."""

import json
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

SEED = int(os.environ.get("SEED", "0"))

torch.manual_seed(SEED)
torch.set_num_threads(1)


def annotations(name):
    with open(f"object_detection/{name}.json") as file:
        return json.load(file)


learned, asked = annotations("train"), annotations("eval")
CATEGORIES = pd.read_csv("category_key.csv")["id"].tolist()
# Photographs get a wider network and more pixels than small drawings.
LARGE = max(image["width"] for image in learned["images"]) > 100
SIZE = 256 if LARGE else 48
WIDTH = 48 if LARGE else 16
EPOCHS = 30 if LARGE else 15
BATCH = 32
RATE = 0.01
STRIDE = 4
CELLS = SIZE // STRIDE
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def pixels(images):
    small = [
        np.asarray(Image.open(f"images/{image['file_name']}").convert("RGB").resize((SIZE, SIZE)))
        for image in images
    ]
    return torch.from_numpy(np.stack(small)).permute(0, 3, 1, 2)


def maps(document):
    """For each cell of a picture the category of the animal there, -1 where there is none, -2 at the edge of one."""
    place = {category: index for index, category in enumerate(CATEGORIES)}
    rows = {image["id"]: index for index, image in enumerate(document["images"])}
    shape = {image["id"]: (image["width"], image["height"]) for image in document["images"]}
    target = torch.full((len(rows), CELLS, CELLS), -1)
    labels = torch.zeros(len(rows), len(CATEGORIES))
    middle = torch.arange(CELLS) + 0.5
    largest_first = sorted(document["annotations"], key=lambda box: -box["bbox"][2] * box["bbox"][3])
    for edge in (True, False):
        for box in largest_first:
            row, (left, top, across, down) = rows[box["image_id"]], box["bbox"]
            width, height = shape[box["image_id"]]
            x, y = (left + across / 2) / width * CELLS, (top + down / 2) / height * CELLS
            share = 0.5 if edge else 0.27
            inside_x = (middle - x).abs() <= max(share * across / width * CELLS, 0.51)
            inside_y = (middle - y).abs() <= max(share * down / height * CELLS, 0.51)
            inside = inside_y[:, None] & inside_x[None, :]
            target[row][inside] = -2 if edge else place[box["category_id"]]
            labels[row, place[box["category_id"]]] = 1
    return target, labels


def convolution(before, after, spread=1):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=spread, dilation=spread, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


def network():
    """For each cell how likely an animal is there, and of which category."""
    return nn.Sequential(
        convolution(3, WIDTH), nn.MaxPool2d(2),
        convolution(WIDTH, 2 * WIDTH), nn.MaxPool2d(2),
        convolution(2 * WIDTH, 4 * WIDTH), convolution(4 * WIDTH, 4 * WIDTH, 2),
        nn.Dropout2d(0.1), nn.Conv2d(4 * WIDTH, 1 + len(CATEGORIES), 1),
    ).to(DEVICE)  # fmt: skip


def turned(pictures, target):
    """Both turned and mirrored alike, and pictures with another light."""
    turns = int(torch.randint(0, 4, ()))
    pictures, target = pictures.rot90(turns, (2, 3)), target.rot90(turns, (1, 2))
    if torch.rand(()) < 0.5:
        pictures, target = pictures.flip(3), target.flip(2)
    light = 1 + (torch.rand(len(pictures), 3, 1, 1) - 0.5) * 0.3
    return pictures * light.to(pictures.device), target


def ready(pictures):
    """Values around 0, with each picture's own colour of water taken away in part."""
    pictures = pictures.to(DEVICE).float() / 255
    mean = pictures.mean(dim=(2, 3), keepdim=True)
    return (pictures - mean) / (mean + 0.1)


def fit(pictures, target):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    steps = EPOCHS * -(-len(pictures) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.25)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(pictures)).split(BATCH):
            shown, wanted = turned(ready(pictures[batch]), target[batch].to(DEVICE))
            guess = model(shown)
            there, kinds = guess[:, 0], guess[:, 1:]
            clear = wanted != -2
            found = F.binary_cross_entropy_with_logits(there[clear], (wanted[clear] >= 0).float())
            named = F.cross_entropy(kinds, wanted.clamp(min=-1), ignore_index=-1, label_smoothing=0.05)
            optimizer.zero_grad()
            (4 * found + named).backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def predict(model, pictures):
    """For each picture a score for every category, and for what is there but has no name."""
    scores, unknown = [], []
    with torch.no_grad():
        for part in pictures.split(100):
            shown = ready(part)
            views = [model(shown.rot90(turns, (2, 3))).rot90(-turns, (2, 3)) for turns in range(4)]
            there = torch.stack([view[:, 0].sigmoid() for view in views]).mean(dim=0)
            kinds = torch.stack([view[:, 1:].softmax(dim=1) for view in views]).mean(dim=0)
            scores.append((there[:, None] * kinds).amax(dim=(2, 3)).cpu())
            strange = there * (1 - kinds.amax(dim=1))
            unknown.append(strange.amax(dim=(1, 2)).cpu())
    return torch.cat(scores), torch.cat(unknown)


def mean_average_precision(scores, truth):
    ranked = scores.argsort(dim=1, descending=True)[:, :20]
    hits = truth.gather(1, ranked)
    precision = hits.cumsum(dim=1) / torch.arange(1, ranked.shape[1] + 1)
    return float(((precision * hits).sum(dim=1) / truth.sum(dim=1).clamp(1, 20)).mean())


images = pixels(learned["images"])
target, labels = maps(learned)
order = torch.randperm(len(images))
held_out, fitted = order[: len(order) // 10], order[len(order) // 10 :]
model = fit(images[fitted], target[fitted])
scores, _ = predict(model, images[held_out])
print(f"validation MAP@20: {mean_average_precision(scores, labels[held_out]):.4f}")

scores, unknown = predict(model, pixels(asked["images"]))
ranked = scores.argsort(dim=1, descending=True)[:, :20].tolist()
submission = pd.DataFrame(
    {
        "id": [Path(image["file_name"]).stem for image in asked["images"]],
        "categories": [" ".join(str(CATEGORIES[index]) for index in row) for row in ranked],
        "osd": unknown.clamp(0, 1).numpy(),
    }
)
submission.to_csv("submission.csv", index=False)

"""Predicts the area of papers: reads the graph, trains a small network on the training part, writes a submission."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import pandas as pd
import torch
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
torch.manual_seed(SEED)
torch.set_num_threads(1)


def read(name):
    return torch.tensor(pd.read_csv(f"arxiv/{name}.csv.gz", header=None).to_numpy())


features = read("raw/node-feat").float()
labels = read("raw/node-label")[:, 0]
train, valid, test = (read(f"split/time/{part}")[:, 0] for part in ("train", "valid", "test"))

# The network looks at each paper on its own. Citations are in raw/edge.csv.gz: see data_description.txt.
HIDDEN = 64
EPOCHS = 3
LEARNING_RATE = 0.003
BATCH = 64

model = nn.Sequential(
    nn.Linear(features.shape[1], HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 40)
)
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)


def predict(nodes):
    model.eval()
    with torch.no_grad():
        return model(features[nodes]).argmax(dim=1)


for epoch in range(EPOCHS):
    model.train()
    for batch in train[torch.randperm(len(train))].split(BATCH):
        loss = nn.functional.cross_entropy(model(features[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    accuracy = (predict(valid) == labels[valid]).float().mean().item()
    print(f"epoch {epoch + 1}: validation accuracy {accuracy:.4f}")

print(f"validation accuracy: {accuracy:.4f}")

submission = pd.DataFrame({"node": test.numpy(), "label": predict(test).numpy()})
submission.to_csv("submission.csv", index=False)

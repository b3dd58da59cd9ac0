"""Networks over what a paper's neighbourhood says: features and known areas of the papers that it cites, of those that
cite it and of those around them, each direction on its own; then the predictions of neighbours are mixed in."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
torch.set_num_threads(1)

AREAS = 40


def read(name):
    return pd.read_csv(f"arxiv/{name}.csv.gz", header=None).to_numpy()


features = read("raw/node-feat").astype(np.float32)
labels = read("raw/node-label")[:, 0]
years = read("raw/node_year")[:, 0]
train, valid, test = (read(f"split/time/{part}")[:, 0] for part in ("train", "valid", "test"))
edges = read("raw/edge")

nodes = len(features)
SMALL = nodes < 20_000
NETWORKS = 3
HIDDEN = 192 if SMALL else 512
EPOCHS = 24 if SMALL else 60
BATCH = 256 if SMALL else 4096

cites = sparse.csr_array((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
around = ((cites + cites.T) > 0).astype(np.float32).tocsr()


def averaging(graph):
    """The mean over neighbours, as a matrix."""
    return sparse.diags_array(1 / np.maximum(graph.sum(axis=1), 1)).astype(np.float32) @ graph


down, up, both = averaging(cites), averaging(cites.T.tocsr()), averaging(around)


def standard(table):
    table = table - table.mean(axis=0)
    return table / (table.std(axis=0) + 1e-6)


def seen_features():
    """What does not depend on labels: features near and far, years and degrees."""
    x = standard(features)
    near = [x, down @ x, up @ x, both @ (both @ x), down @ (down @ x)]
    degrees = np.log1p(np.stack([cites.sum(axis=1), cites.sum(axis=0)], axis=1))
    when = ((years - years.max()) / 5)[:, None]
    # The nearer a citation is in time, the more it says.
    ages = (years[edges[:, 0]] - years[edges[:, 1]]).clip(0, 10)
    recent = sparse.csr_array(
        (np.exp(-ages / 3).astype(np.float32), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes)
    )
    near.append(averaging(recent) @ x)
    return np.concatenate([*map(standard, near), standard(degrees), when], axis=1).astype(np.float32)


def seen_labels(known):
    """The areas of known papers as they arrive over citations, and how many there are of them."""
    start = np.zeros((nodes, AREAS), np.float32)
    start[known, labels[known]] = 1
    sums = [cites @ start, cites.T @ start, around @ (both @ start)]
    # A paper's own area comes back over paths of two steps.
    back = around @ (1 / np.maximum(around.sum(axis=1), 1))
    sums[2] -= back[:, None] * start
    far = down @ (both @ (both @ start))
    counts = [table.sum(axis=1, keepdims=True) for table in sums]
    shares = [table / np.maximum(count, 1e-6) for table, count in zip(sums, counts, strict=True)]
    return np.concatenate([*shares, far * 3, *map(np.log1p, counts)], axis=1).astype(np.float32)


def network(width):
    return nn.Sequential(
        nn.Dropout(0.3), nn.Linear(width, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(),
        nn.Dropout(0.5), nn.Linear(HIDDEN, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(),
        nn.Dropout(0.5), nn.Linear(HIDDEN, AREAS),
    )  # fmt: skip


def fit(fixed, known, index):
    """Probabilities for all papers from a network that has learnt from the `known` ones."""
    torch.manual_seed(SEED * NETWORKS + index)
    rng = np.random.default_rng([SEED, index])
    final = torch.from_numpy(seen_labels(known))
    model = network(fixed.shape[1] + final.shape[1])
    # Late papers are more like those to predict.
    weights = torch.from_numpy(np.exp((years - years[known].max()) / 6).astype(np.float32))
    target = torch.from_numpy(labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.02)
    steps = EPOCHS * (len(known) // BATCH + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.006, total_steps=steps)
    for _ in range(EPOCHS):
        # Labels of the papers to learn from are hidden, so that none of them sees its own. More of the late ones,
        # because the papers to predict have few neighbours of their own age with a label.
        asked = rng.random(len(known)) < np.where(years[known] >= years[known].max() - 1, 0.7, 0.4)
        partly = torch.from_numpy(seen_labels(known[~asked]))
        order = torch.from_numpy(rng.permutation(known[asked]))
        model.train()
        for batch in order.split(BATCH):
            if len(batch) < 2:
                continue
            output = model(torch.cat([fixed[batch], partly[batch]], dim=1))
            losses = nn.functional.cross_entropy(output, target[batch], reduction="none", label_smoothing=0.1)
            loss = (losses * weights[batch]).sum() / weights[batch].sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        rows = torch.arange(nodes).split(8192)
        return torch.cat([model(torch.cat([fixed[r], final[r]], dim=1)).softmax(dim=1) for r in rows]).numpy()


def smooth(probabilities, known):
    """Neighbours that are not known vote with what was predicted for them."""
    start = probabilities.copy()
    start[known] = np.eye(AREAS, dtype=np.float32)[labels[known]]
    mixed = start
    for _ in range(4):
        mixed = 0.75 * probabilities + 0.25 * (both @ mixed)
        mixed[known] = start[known]
    return mixed


def predict(known):
    fixed = torch.from_numpy(seen_features())
    return smooth(np.mean([fit(fixed, known, index) for index in range(NETWORKS)], axis=0), known).argmax(
        axis=1
    )


accuracy = (predict(train)[valid] == labels[valid]).mean()
print(f"validation accuracy: {accuracy:.4f}")

predicted = predict(np.concatenate([train, valid]))[test]
pd.DataFrame({"node": test, "label": predicted}).to_csv("submission.csv", index=False)

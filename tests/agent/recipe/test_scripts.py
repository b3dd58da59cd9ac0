"""The scripts of the recipe on small data made up here, of another content than any task's."""

from __future__ import annotations

import json

import pytest
from support.acting import execute, executing, writing

from mlagentbench.agent.measuring import error_line, validation_score
from mlagentbench.agent.recipe.book import LOOK, SHARED, book, script
from mlagentbench.agent.recipe.knobs import with_constants

FAMILIES = {family.name: family for family in book().families}
SAMPLE = """
import numpy as np, pandas as pd
from pathlib import Path
rng = np.random.default_rng(0)
def write(train, test, sample):
    for name, table in {"train": train, "test": test, "sample_submission": sample}.items():
        table.to_csv(f"{name}.csv", index=False)
"""
NUMBERS = """
n = 300
x, kind = rng.normal(size=n), rng.choice(["red", "green", None], n)
code = [f"{a}/{b}" for a, b in zip(rng.choice(list("AB"), n), rng.integers(0, 9, n))]
y = np.exp(1 + x + (kind == "red") + np.array([c[0] == "A" for c in code]))
table = pd.DataFrame({"row": [f"{i // 2}_{i % 2}" for i in range(n)], "x": x, "kind": kind, "code": code, "y": y})
table.loc[::7, "x"] = np.nan
write(table[:200], table[200:].drop(columns="y"), table[200:][["row", "y"]].assign(y=0.0))
"""
FATES = NUMBERS.replace('"y": y}', '"y": y > 3}').replace("y=0.0", "y=False")
TEXTS = """
n = 300
label = rng.integers(0, 2, n)
kinds = [["warm", "bright", "film", "plot"], ["dull", "flat", "film", "plot"]]
words = [" ".join(rng.choice(kinds[each], 12)) for each in label]
table = pd.DataFrame({"id": range(n), "words": words, "mood": label})
write(table[:200], table[200:].drop(columns="mood"), pd.DataFrame({"id": range(200, 300), "good": 0.5, "bad": 0.5}))
"""
PICTURES = """
n = 160
label = rng.choice(["dim", "bright"], n)
images = rng.integers(0, 60, (n, 16, 16, 3), dtype=np.uint8)
images[label == "bright", :, :8] += 120
table = pd.DataFrame({"id": range(n), "light": label})
np.save("train_pictures.npy", images[:100]); np.save("test_pictures.npy", images[100:])
write(table[:100], table[100:].drop(columns="light"), pd.DataFrame({"id": range(100, n), "dim": 0.5, "bright": 0.5}))
"""
GRAPH = """
n = 200
label = rng.integers(0, 3, n)
edges = [(i, j) for i in range(n) for j in rng.choice(np.flatnonzero(label == label[i]), 3)]
features = rng.normal(size=(n, 4)) + 0.3 * label[:, None]
hidden = np.where(np.arange(n) < 120, label, -1)
for name, data in {"raw/edge": edges, "raw/node-feat": features, "raw/node-label": hidden,
                   "split/time/train": range(80),
                   "split/time/valid": range(80, 120), "split/time/test": range(120, n)}.items():
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(data).to_csv(f"{name}.csv.gz", header=False, index=False)
pd.DataFrame({"node": range(120, n), "label": 0}).to_csv("sample_submission.csv", index=False)
"""
CASES = {
    "numbers": ("table", NUMBERS, "mean absolute error", {"LOG_TARGET": True, "SPLIT_CODES": True, "SUMS": True}),
    "fates": ("table", FATES, "accuracy", {"MODELS": ["linear", "boosting", "trees"], "ITERATIONS": 20}),
    "texts": ("text", TEXTS, "accuracy", {"STYLE": True, "MODELS": ["linear", "boosting"], "TOPICS": 3}),
    "pictures": ("pictures", PICTURES, "accuracy", {"FLIP": False, "SHIFT": 1, "EPOCHS": 6, "CHANNELS": 4}),
    "graph": ("graph", GRAPH, "accuracy", {"HOPS": 2, "NEIGHBOUR_LABELS": True, "SPREAD": 1}),
}  # fmt: skip
INSIDE = """import os, runpy, sys
os.chdir(sys.argv[1])
sys.path[0] = "."
for name in sys.argv[2:]:
    runpy.run_path(f"{name}.py")
"""
CHECK = """
import json, pandas as pd
sample, made = pd.read_csv("sample_submission.csv"), pd.read_csv("submission.csv")
print(json.dumps({"same": list(sample.columns) == list(made.columns) and sample.iloc[:, 0].equals(made.iloc[:, 0]),
                  "kind": made.dtypes.iloc[1].kind, "distinct": int(made.iloc[:, 1].nunique())}))
"""


@pytest.fixture
def lab(open_env):
    """Runs scripts one after the other in a folder of a workspace whose interpreter has the libraries for them."""
    env = open_env(task="cifar10")
    env.step(writing("inside.py", INSIDE))

    def run_inside(folder: str, scripts: dict[str, str]) -> str:
        for name, code in {SHARED.removesuffix(".py"): script(SHARED), **scripts}.items():
            assert env.step(writing(f"{folder}/{name}.py", code)).ok
        return env.step(executing("inside.py", folder, *scripts)).text

    return run_inside


@pytest.mark.parametrize("name", CASES)
def test_each_family_learns_from_data_of_its_form_and_writes_what_is_asked_for(lab, name):
    family, data, metric, values = CASES[name]
    script = with_constants(FAMILIES[family].script, {"METRIC": metric} | values)
    told = lab(name, {"data": SAMPLE + data, "train": script, "check": CHECK})
    score = validation_score(told)
    assert score is not None, told
    assert score < 4 if name == "numbers" else score > 0.75
    check = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    assert check["same"] and check["distinct"] > 1
    assert (check["kind"] == "b") == (name == "fates")


def test_what_is_not_of_a_form_is_refused_in_words(lab):
    lab("odd", {"data": SAMPLE + NUMBERS})
    for family, metric, words in [
        ("text", "mean absolute error", "There is no column of texts."),
        ("graph", "accuracy", "There is no file edge.csv."),
        ("table", "beauty", "This cannot compute the metric 'beauty'."),
    ]:
        told = lab("odd", {"train": with_constants(FAMILIES[family].script, {"METRIC": metric})})
        assert validation_score(told) is None and error_line(told) == words


def test_families_are_told_apart_by_the_files_that_are_there(env):
    env.step(writing("a/raw/edge.csv", ""))
    listed = execute(env, script(LOOK), name=LOOK).text.splitlines()
    assert {"train.csv", "test.csv", "sample_submission.csv", "a/raw/edge.csv"} <= {
        *listed,
        "sample_submission.csv",
    }
    tables = ["train.csv", "test.csv", "sample_submission.csv"]
    assert [name for name, family in FAMILIES.items() if family.suits(tables)] == ["text", "table"]
    assert FAMILIES["pictures"].suits([*tables, "train_images.npy", "test_images.npy"])
    graph = [
        "g/raw/edge.csv.gz",
        "g/raw/node-feat.csv.gz",
        "g/raw/node-label.csv.gz",
        "g/split/time/train.csv.gz",
    ]
    assert FAMILIES["graph"].suits([*graph, "sample_submission.csv"]) and not FAMILIES["graph"].suits(graph)

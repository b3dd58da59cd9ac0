"""What the scripts of the recipe share: what is asked for, how it is scored, and how it is handed in."""

import os
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.model_selection import GroupShuffleSplit
from threadpoolctl import threadpool_limits

SEED = int(os.environ.get("SEED", "0"))
HELD_OUT = 0.2
threadpool_limits(1)

REGRESSION = {
    "absolute|mae": metrics.mean_absolute_error,
    "root mean squared|rmse": metrics.root_mean_squared_error,
    "squared|mse": metrics.mean_squared_error,
    "r2|determination": metrics.r2_score,
}
"""What a metric's name says, and how it is computed; of several that fit, the first counts."""
LABELS = {
    "balanced accuracy": metrics.balanced_accuracy_score,
    "accuracy": metrics.accuracy_score,
    "f1": lambda true, told: metrics.f1_score(true, told, average="macro"),
}


@dataclass
class Asked:
    """What a table of training rows and the form of a submission say about the problem."""

    train: pd.DataFrame
    test: pd.DataFrame
    id: str
    columns: list[str]
    """Of the submission, besides the id."""
    targets: list[str]
    """Columns of the training rows that are to be predicted."""
    classes: list | None
    """The labels there are, in the order of `columns` where these are probabilities; none for numbers."""
    inputs: list[str]
    metric: str

    @property
    def y(self):
        return self.train[self.targets[0]] if len(self.targets) == 1 else self.train[self.targets]


def asked(metric):
    """Read the tables; a refusal where they are not of the form that this can tell."""
    train, test, sample = (pd.read_csv(f"{name}.csv") for name in ("train", "test", "sample_submission"))
    key, *columns = sample.columns
    if key not in train or key not in test:
        raise SystemExit(f"The column {key} is not in both tables.")
    inputs = [name for name in train.columns if name in test.columns and name != key]
    unknown = [name for name in train.columns if name not in test.columns]
    numbers = is_regression(metric)
    if set(columns) <= set(train.columns):
        targets, classes = columns, None if numbers else sorted(train[columns[0]].unique())
    elif len(unknown) == 1 and train[unknown[0]].nunique() == len(columns) and not numbers:
        targets, classes = unknown, sorted(train[unknown[0]].unique())
        if set(columns) == set(map(str, classes)):
            classes = sorted(classes, key=lambda label: columns.index(str(label)))
    else:
        raise SystemExit(f"It is not clear what {', '.join(columns)} are to be made from.")
    if classes is not None and len(targets) > 1:
        raise SystemExit("There are several labels to predict.")
    return Asked(train, test, key, columns, targets, classes, inputs, metric)


def is_regression(metric):
    if _found(REGRESSION, metric):
        return True
    if _found(LABELS, metric):
        return False
    raise SystemExit(f"This cannot compute the metric {metric!r}.")


def score(problem, true, predicted):
    """As the metric's name says; of several columns the mean."""
    known = REGRESSION if problem.classes is None else LABELS
    return float(_found(known, problem.metric)(true, predicted))


def _found(known, metric):
    return next((how for words, how in known.items() if re.search(words, metric, re.I)), None)


def split(problem):
    """Rows to fit and rows held out. Ids such as 0012_01 name groups, which stay together."""
    ids = problem.train[problem.id].astype(str)
    groups = ids.str.split("_").str[0] if ids.str.fullmatch(r"\w+_\w+").all() else ids
    splitter = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=SEED)
    return next(splitter.split(ids, groups=groups))


def measure_and_submit(problem, X, X_test, fit):
    """Tell the score on rows held out, then learn from all of them and write what is asked for.

    `fit(X, y)` returns a function from rows to predictions: numbers, or a probability for each class.
    """
    fitted, held_out = split(problem)
    y = problem.y
    told = fit(rows_of(X, fitted), y.iloc[fitted])(rows_of(X, held_out))
    print(f"validation {problem.metric}: {score(problem, y.iloc[held_out], labels(problem, told)):.6g}")
    submit(problem, fit(X, y)(X_test))


def rows_of(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def labels(problem, told):
    return told if problem.classes is None else np.array(problem.classes)[told.argmax(axis=1)]


def submit(problem, told):
    """`told` has a row for each test row, in order."""
    values = told if len(problem.columns) > 1 else labels(problem, told)
    table = pd.DataFrame(np.asarray(values).reshape(len(problem.test), -1), columns=problem.columns)
    table.insert(0, problem.id, problem.test[problem.id])
    table.to_csv("submission.csv", index=False)

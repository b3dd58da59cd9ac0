"""Predicts a column of a table from the others: numbers and categories, all of them."""

import numpy as np
import pandas as pd
from recipe_data import SEED, asked, measure_and_submit
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

METRIC = "accuracy"
MODELS = ("linear",)
"""Of linear, trees and boosting; of several, the mean of what they predict."""
SPLIT_CODES = False
"""Whether columns of codes such as B/12/P become several columns."""
SUMS = False
"""Whether numbers in a row are summed up, and its empty places counted."""
LOG_TARGET = False
LEARNING_RATE = 0.1
ITERATIONS = 150
MOST_CATEGORIES = 60

problem = asked(METRIC)
both = pd.concat([problem.train[problem.inputs], problem.test[problem.inputs]], ignore_index=True)


def with_parts(table):
    """Codes split at a separator that each of their values has equally often."""
    for name in table.select_dtypes(exclude="number").columns:
        values = table[name].dropna().astype(str)
        for separator in "/_-":
            counts = values.str.count(separator)
            if len(counts) and counts.min() == counts.max() > 0:
                parts = table[name].astype("str").where(table[name].notna()).str.split(separator, expand=True)
                for index in parts.columns:
                    numbers = pd.to_numeric(parts[index], errors="coerce")
                    usable = numbers.notna().sum() > 0.9 * parts[index].notna().sum()
                    table[f"{name} {index}"] = numbers if usable else parts[index]
                break
    return table


def with_sums(table):
    numbers = table.select_dtypes("number")
    return table.assign(**{"sum of all": numbers.sum(axis=1), "empty places": table.isna().sum(axis=1)})


both = with_sums(both) if SUMS else both
both = with_parts(both) if SPLIT_CODES else both
numeric = [name for name in both if pd.api.types.is_numeric_dtype(both[name])]
numeric = [name for name in numeric if both[name].dtype != bool]
categories = [name for name in both if name not in numeric and both[name].nunique() <= MOST_CATEGORIES]
frequent = [name for name in both if name not in numeric and name not in categories]
for name in frequent:
    both[name] = both[name].map(both[name].value_counts())
both[categories] = both[categories].astype("object").where(both[categories].notna(), "none").astype(str)
numeric = numeric + frequent
X, X_test = both.iloc[: len(problem.train)], both.iloc[len(problem.train) :]


def linear_inputs():
    skewed = FunctionTransformer(lambda values: np.sign(values) * np.log1p(np.abs(values)))
    numbers = make_pipeline(SimpleImputer(strategy="median"), skewed, StandardScaler())
    return make_column_transformer(
        (numbers, numeric), (OneHotEncoder(handle_unknown="ignore", min_frequency=5), categories)
    )


def tree_inputs(empty):
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = SimpleImputer(strategy="median") if empty == "filled" else "passthrough"
    return make_column_transformer((numbers, numeric), (codes, categories))


def regressor(kind):
    match kind:
        case "linear":
            return make_pipeline(linear_inputs(), RidgeCV(np.logspace(-2, 4, 13)))
        case "trees":
            trees = ExtraTreesRegressor(ITERATIONS, min_samples_leaf=2, max_features=0.5, random_state=SEED)
            return make_pipeline(tree_inputs("filled"), trees)
        case _:
            loss = "absolute_error" if "absolute" in METRIC.lower() else "squared_error"
            boosting = HistGradientBoostingRegressor(
                loss=loss,
                learning_rate=LEARNING_RATE,
                max_iter=ITERATIONS,
                max_leaf_nodes=15,
                random_state=SEED,
            )
            several = len(problem.targets) > 1
            return make_pipeline(tree_inputs("kept"), MultiOutputRegressor(boosting) if several else boosting)


def classifier(kind):
    match kind:
        case "linear":
            return make_pipeline(linear_inputs(), LogisticRegression(max_iter=1000))
        case "trees":
            trees = ExtraTreesClassifier(ITERATIONS, min_samples_leaf=2, random_state=SEED)
            return make_pipeline(tree_inputs("filled"), trees)
        case _:
            boosting = HistGradientBoostingClassifier(
                learning_rate=LEARNING_RATE, max_iter=ITERATIONS, max_leaf_nodes=15, random_state=SEED
            )
            return make_pipeline(tree_inputs("kept"), boosting)


def fit(X, y):
    models = []
    for kind in MODELS:
        if problem.classes is not None:
            model = classifier(kind)
        elif LOG_TARGET:
            model = TransformedTargetRegressor(regressor(kind), func=np.log1p, inverse_func=np.expm1)
        else:
            model = regressor(kind)
        models.append(model.fit(X, y))
    if problem.classes is None:
        return lambda rows: np.mean([model.predict(rows) for model in models], axis=0)
    order = [list(models[0].classes_).index(label) for label in problem.classes]
    return lambda rows: np.mean([model.predict_proba(rows)[:, order] for model in models], axis=0)


measure_and_submit(problem, X, X_test, fit)

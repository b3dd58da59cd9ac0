"""Boosted trees and a linear model on what the columns tell together: place in the ship, group, family, gaps."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from threadpoolctl import threadpool_limits

SEED = int(os.environ.get("SEED", "0"))
BOOSTED = 5
AMENITIES = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
CATEGORIES = ["HomePlanet", "Destination", "Deck", "Side"]
threadpool_limits(1)


def group_of(passengers):
    return passengers.index.str.split("_").str[0]


def describe(passengers):
    """What can be said of each passenger without knowing anybody's fate."""
    f = passengers.drop(columns="Transported", errors="ignore").copy()
    f["Missing"] = f.isna().sum(axis=1)
    group = pd.Series(group_of(f).astype(int), f.index)
    parts = f.pop("Cabin").str.split("/", expand=True)
    f["Deck"], f["Number"], f["Side"] = parts[0], parts[1].astype(float), parts[2]
    f["Surname"] = f.pop("Name").str.split().str[-1]

    # Fellow travellers share planet, deck and side, and mostly cabin and family.
    for column in ["HomePlanet", "Deck", "Side", "Number", "Surname", "Destination"]:
        f[column] = f[column].fillna(f.groupby(group)[column].transform("first"))
    by_deck = f.groupby("Deck")["HomePlanet"].agg(lambda names: names.mode().get(0))
    f["HomePlanet"] = f["HomePlanet"].fillna(f["Deck"].map(by_deck))

    # Who sleeps does not spend, and who spends does not sleep.
    spent = f[AMENITIES]
    total = spent.sum(axis=1)
    asleep = f["CryoSleep"].map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0})
    f["CryoSleep"] = asleep.fillna((total == 0).astype(float))
    f["VIP"] = f["VIP"].map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0}).fillna(0.0)
    f["Age"] = f["Age"].fillna(f["Age"].median())
    f[AMENITIES] = np.log1p(spent.fillna(0.0))
    f["Total"] = np.log1p(total)

    # Cabins were dealt out in the order of groups: where in the ship somebody is follows from either.
    order = group.rank(method="dense") / group.nunique()
    f["Along"] = f["Number"] / f.groupby(["Deck", "Side"])["Number"].transform("max")
    f["Along"] = f["Along"].fillna(order)
    f["Order"] = order

    f["Size"] = group.map(group.value_counts())
    for column in [*AMENITIES, "Total", "CryoSleep", "Age"]:
        others = f.groupby(group)[column].transform("sum") - f[column]
        f["Others" + column] = (others / (f["Size"] - 1).clip(1)).where(f["Size"] > 1, 0.0)
    return f


def family_signs(surnames, y, groups, of):
    """How often members of a family vanished, each group counted once, pulled towards the mean where few are known."""
    known = pd.DataFrame({"name": surnames.to_numpy(), "y": y.to_numpy(), "group": groups})
    once = known.groupby(["name", "group"])["y"].mean().groupby("name").agg(["sum", "count"])
    signs = (once["sum"] + 4 * y.mean()) / (once["count"] + 4)
    return of.map(signs).fillna(y.mean()).to_numpy()


def tables(train, test):
    """Features of both parts. Families are scored on the training part, each fold by the others."""
    both = describe(
        pd.concat([train.drop(columns="Transported"), test.drop(columns="Transported", errors="ignore")])
    )
    y, groups = train["Transported"].astype(float), group_of(train)
    names, test_names = both["Surname"].iloc[: len(train)], both["Surname"].iloc[len(train) :]
    signs = np.empty(len(train))
    for known, asked in GroupKFold(10, shuffle=True, random_state=SEED).split(train, groups=groups):
        signs[asked] = family_signs(names.iloc[known], y.iloc[known], groups[known], names.iloc[asked])
    both["Family"] = np.concatenate([signs, family_signs(names, y, groups, test_names)])
    both = both.drop(columns="Surname")
    indicators = pd.get_dummies(both[CATEGORIES], dtype=float)
    crossed = pd.get_dummies(both["HomePlanet"] + " " + both["Destination"], dtype=float)
    X = pd.concat([both.drop(columns=CATEGORIES), indicators, crossed], axis=1)
    return X.iloc[: len(train)], X.iloc[len(train) :], y


def smooth(X):
    """For the linear model: waves along each side of the ship, and what differs between planets."""
    parts = [X.drop(columns=["Number"]).to_numpy()]
    waves = SplineTransformer(10, include_bias=False).fit_transform(X[["Along"]])
    parts += [waves, waves * X[["Side_S"]].to_numpy()]
    varied = X[["CryoSleep", "Age", "Total"]].to_numpy()
    parts += [varied * X[[column]].to_numpy() for column in X.columns if column.startswith("HomePlanet")]
    parts.append(np.column_stack([X["Age"] < 13, X["Size"] == 1, X["Size"] > 3, X["Missing"] > 0]))
    return np.column_stack(parts)


def predict(train, test):
    X, test_X, y = tables(train, test)
    trees = [
        HistGradientBoostingClassifier(
            max_iter=180, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=20, l2_regularization=5.0,
            max_features=0.3, random_state=SEED * BOOSTED + index,
        ).fit(X, y).predict_proba(test_X)[:, 1]
        for index in range(BOOSTED)
    ]  # fmt: skip
    both = smooth(pd.concat([X, test_X]))
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    linear.fit(both[: len(X)], y)
    return 0.5 * np.mean(trees, axis=0) + 0.5 * linear.predict_proba(both[len(X) :])[:, 1] > 0.5


train = pd.read_csv("train.csv", index_col="PassengerId")
test = pd.read_csv("test.csv", index_col="PassengerId")

splitter = GroupShuffleSplit(1, test_size=0.2, random_state=SEED)
fitted, held_out = next(splitter.split(train, groups=group_of(train)))
validation = predict(train.iloc[fitted], train.iloc[held_out])
print(f"validation accuracy: {accuracy_score(train['Transported'].iloc[held_out], validation):.4f}")

submission = pd.DataFrame({"PassengerId": test.index, "Transported": predict(train, test)})
submission.to_csv("submission.csv", index=False)

"""What samples and visits tell of each patient as a whole, then the rating with the least expected error.

A sample's thickness is taken out of it, ridge regressions draw a few scores of a patient from all of their samples, and
forests turn scores and months into a distribution over ratings, from which the rating is chosen for the metric.
"""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import GroupShuffleSplit, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

SEED = int(os.environ.get("SEED", "0"))
PARTS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
AHEAD = [0, 6, 12, 24]
TREES = 150
threadpool_limits(1)


def smape(true, predicted):
    """Of the ratings plus one, in percent, where there is a rating."""
    known = true.notna()
    true, predicted = true[known] + 1, predicted[known] + 1
    return 100 * np.mean(2 * np.abs(true - predicted) / (true + predicted))


def questions_about(visits):
    """Each part, 0, 6, 12 and 24 months after each visit; the month that this is."""
    asked = visits[["visit_id", "patient_id", "visit_month"]].drop_duplicates()
    asked = asked.merge(pd.DataFrame({"part": PARTS}), how="cross").merge(
        pd.DataFrame({"ahead": AHEAD}), how="cross"
    )
    asked["month"] = asked["visit_month"] + asked["ahead"]
    asked["prediction_id"] = (
        asked["visit_id"] + "_" + asked["part"] + "_plus_" + asked["ahead"].astype(str) + "_months"
    )
    return asked


def truth(questions, clinical):
    ratings = clinical.melt(["patient_id", "visit_month"], PARTS, "part", "rating")
    ratings = ratings.rename(columns={"visit_month": "month"})
    return questions.merge(ratings, on=["patient_id", "month", "part"], how="left")["rating"]


def amounts(kind, name, value):
    """The logarithm of what was measured, a row for each visit, with what all of a sample has in common taken out."""
    measured = pd.concat([pd.read_csv(f"train_{kind}.csv"), pd.read_csv(f"test_{kind}.csv")])
    wide = np.log1p(measured.pivot_table(values=value, index=["patient_id", "visit_month"], columns=name))
    wide = wide[wide.columns[wide.notna().mean() > 0.3]]
    centred = wide - wide.median()
    return centred.sub(centred.median(axis=1), axis=0)


def describe(visits, samples):
    """What is known of each patient without any rating: means of the samples, their trend, and how visits lie."""
    by_patient = samples.groupby("patient_id")
    mean = by_patient.mean()
    month = samples.index.get_level_values("visit_month").to_numpy()
    later = pd.Series(month, samples.index).groupby("patient_id").transform("mean").to_numpy()
    trend = samples.mul(month - later, axis=0).groupby("patient_id").sum()
    spread = pd.Series((month - later) ** 2, samples.index).groupby("patient_id").sum()
    trend = trend.div(spread + 500, axis=0)
    gone = samples.isna().groupby("patient_id").mean()
    table = pd.concat([mean, (24 * trend).add_suffix(" trend"), gone.add_suffix(" gone")], axis=1)

    visits = visits[["patient_id", "visit_month"]].drop_duplicates()
    months = visits.groupby("patient_id")["visit_month"]
    schedule = pd.DataFrame(
        {
            "visits": months.size(),
            "last": months.max(),
            "between": months.apply(lambda m: (m % 12 == 6).sum() / (1 + m.max() // 12)),
            "early": months.apply(lambda m: m.isin([3, 9]).sum()),
            "sampled": by_patient.size(),
        }
    )
    schedule = schedule[schedule.index.isin(visits["patient_id"])].fillna(0)
    table = table.reindex(schedule.index)
    table = table.loc[:, table.std() > 0]
    return table.fillna(table.mean()), schedule


def levels(clinical):
    """How each patient stands, and how fast that changes, in each part, compared with all in the same months."""
    found = {}
    for part in PARTS:
        rated = clinical.dropna(subset=part)
        y = np.log1p(rated[part])
        month = rated[["visit_month"]].to_numpy()
        rest = y - LinearRegression().fit(month, y).predict(month)
        centred = rated["visit_month"] - rated.groupby("patient_id")["visit_month"].transform("mean")
        by_patient = rest.groupby(rated["patient_id"])
        found[part] = by_patient.sum() / (by_patient.size() + 0.3)
        slope = (rest * centred).groupby(rated["patient_id"]).sum()
        found[part + " pace"] = slope / ((centred**2).groupby(rated["patient_id"]).sum() + 200)
    return pd.DataFrame(found)


def scores(clinical, table, schedule):
    """Ridge regressions of the levels for every patient; those who taught are scored by folds that left them out."""
    known = levels(clinical)
    X = table.join(schedule)
    result = pd.DataFrame(0.0, X.index, known.columns)
    for column in known:
        y = known[column].dropna()
        ridge = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(3, 30 * X.shape[1], 12)))
        for fitted, asked in KFold(8, shuffle=True, random_state=SEED).split(y):
            ridge.fit(X.loc[y.index[fitted]], y.iloc[fitted])
            result.loc[y.index[asked], column] = ridge.predict(X.loc[y.index[asked]])
        rest = X.index.difference(y.index)
        result.loc[rest, column] = ridge.fit(X.loc[y.index], y).predict(X.loc[rest])
    return result


def best_rating(weights, ratings):
    """For each row of weights over `ratings`, the whole rating with the least expected error."""
    values = np.arange(ratings.max() + 1)
    cost = 2 * np.abs(values[:, None] - values) / (values[:, None] + values + 2)
    shares = weights @ (ratings[:, None] == values)
    return values[np.argmin(shares @ cost.T, axis=1)]


def predict(clinical, questions, visits):
    """Ratings for the questions, which are about patients of whom `clinical` holds nothing."""
    table, schedule = describe(visits, SAMPLES)
    traits = scores(clinical, table, schedule).join(schedule)

    def features(patients, month, part):
        known = traits.loc[patients]
        # Where a straight line from the patient's level and pace leads.
        ahead = known[part] + known[part + " pace"] * (month - 24)
        return np.column_stack([month, ahead, known])

    asked = questions.drop_duplicates(["patient_id", "month", "part"])
    answers = []
    for part in PARTS:
        rated, wanted = clinical.dropna(subset=part), asked[asked["part"] == part]
        X = features(rated["patient_id"], rated["visit_month"].to_numpy(), part)
        test_X = features(wanted["patient_id"], wanted["month"].to_numpy(), part)
        ratings = rated[part].to_numpy().round().astype(int)
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=8, max_features=0.5, random_state=SEED, n_jobs=1)
        forest.fit(X, np.log1p(ratings))
        weights = np.zeros((len(test_X), len(X)))
        for leaf, test_leaf in zip(forest.apply(X).T, forest.apply(test_X).T, strict=True):
            together = test_leaf[:, None] == leaf
            weights += together / together.sum(axis=1, keepdims=True)
        answers.append(
            wanted[["patient_id", "month", "part"]].assign(rating=best_rating(weights / TREES, ratings))
        )
    return questions.merge(pd.concat(answers), on=["patient_id", "month", "part"], how="left")["rating"]


clinical, test = pd.read_csv("train_clinical_data.csv"), pd.read_csv("test.csv")
visits = pd.concat([clinical, test])
SAMPLES = amounts("proteins", "UniProt", "NPX").join(amounts("peptides", "Peptide", "PeptideAbundance"))

splitter = GroupShuffleSplit(1, test_size=0.2, random_state=SEED)
fitted, held_out = next(splitter.split(clinical, groups=clinical["patient_id"]))
questions = questions_about(clinical.iloc[held_out])
validation = predict(clinical.iloc[fitted], questions, visits)
print(f"validation SMAPE: {smape(truth(questions, clinical), validation):.3f}")

questions = questions_about(test)
submission = questions[["prediction_id"]].assign(rating=predict(clinical, questions, visits))
submission.to_csv("submission.csv", index=False)

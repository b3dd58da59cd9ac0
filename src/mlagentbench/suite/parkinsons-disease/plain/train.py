"""A random forest for each part on the month and the proteins of the visit: what a practitioner tries first."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GroupShuffleSplit
from threadpoolctl import threadpool_limits

SEED = int(os.environ.get("SEED", "0"))
PARTS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
AHEAD = [0, 6, 12, 24]
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


clinical = pd.read_csv("train_clinical_data.csv")
measured = pd.concat([pd.read_csv("train_proteins.csv"), pd.read_csv("test_proteins.csv")])
proteins = measured.pivot_table(values="NPX", index="visit_id", columns="UniProt")


def features(questions):
    wide = proteins.reindex(questions["visit_id"]).fillna(proteins.median()).to_numpy()
    return np.column_stack([questions[["visit_month", "ahead", "month"]].to_numpy(), wide])


def fit(clinical):
    questions = questions_about(clinical)
    ratings = truth(questions, clinical)
    models = {}
    for part in PARTS:
        rated = (questions["part"] == part) & ratings.notna()
        forest = RandomForestRegressor(60, min_samples_leaf=10, max_features=0.3, random_state=SEED, n_jobs=1)
        models[part] = forest.fit(features(questions[rated]), ratings[rated])
    return models


def predict(models, questions):
    predicted = pd.Series(0.0, questions.index)
    for part in PARTS:
        asked = questions["part"] == part
        predicted[asked] = models[part].predict(features(questions[asked]))
    return predicted.clip(0, 132)


splitter = GroupShuffleSplit(1, test_size=0.2, random_state=SEED)
fitted, held_out = next(splitter.split(clinical, groups=clinical["patient_id"]))
questions = questions_about(clinical.iloc[held_out])
validation = predict(fit(clinical.iloc[fitted]), questions)
print(f"validation SMAPE: {smape(truth(questions, clinical), validation):.3f}")

questions = questions_about(pd.read_csv("test.csv"))
submission = questions[["prediction_id"]].assign(rating=predict(fit(clinical), questions))
submission.to_csv("submission.csv", index=False)

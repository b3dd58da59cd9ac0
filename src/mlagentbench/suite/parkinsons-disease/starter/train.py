"""Predicts ratings: reads the data, holds out a validation part, fits a model, writes a submission."""

import os

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
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
# There are proteins and peptides as well: see data_description.txt.


# ---- Your model goes here. This one only makes the script run: a straight line for each part. ----
def fit(clinical):
    models = {}
    for part in PARTS:
        rated = clinical.dropna(subset=part)
        models[part] = LinearRegression().fit(rated[["visit_month"]].to_numpy(), rated[part])
    return models


def predict(models, questions):
    predicted = pd.Series(0.0, questions.index)
    for part in PARTS:
        asked = questions["part"] == part
        predicted[asked] = models[part].predict(questions.loc[asked, ["month"]].to_numpy())
    return predicted.clip(0, 132)


# --------------------------------------------------------------------------------------------------


splitter = GroupShuffleSplit(1, test_size=0.2, random_state=SEED)
fitted, held_out = next(splitter.split(clinical, groups=clinical["patient_id"]))
models = fit(clinical.iloc[fitted])
questions = questions_about(clinical.iloc[held_out])
print(f"validation SMAPE: {smape(truth(questions, clinical), predict(models, questions)):.3f}")

questions = questions_about(pd.read_csv("test.csv"))
submission = questions[["prediction_id"]].assign(rating=predict(models, questions))
submission.to_csv("submission.csv", index=False)

"""Tells praise from blame: reads the reviews, holds out a validation part, fits a model, writes a submission."""

import os

import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

threadpool_limits(1)
SEED = int(os.environ.get("SEED", "0"))

train = pd.read_csv("train.csv", index_col="id")
test = pd.read_csv("test.csv", index_col="id")

train_X, valid_X, train_y, valid_y = train_test_split(
    train["text"], train["label"], test_size=0.2, random_state=SEED
)

# ---- Your model goes here. This one only makes the script run. ----
# Which of a few hundred frequent words a review holds, in no order.
model = make_pipeline(CountVectorizer(max_features=300, binary=True), LogisticRegression(max_iter=1000))
model.fit(train_X, train_y)
# -------------------------------------------------------------------

print(f"validation accuracy: {accuracy_score(valid_y, model.predict(valid_X)):.4f}")

probabilities = pd.DataFrame(
    model.predict_proba(test["text"]), index=test.index, columns=["negative", "positive"]
)
probabilities.to_csv("submission.csv")

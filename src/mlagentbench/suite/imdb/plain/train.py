"""A logistic regression on the frequencies of words and pairs of words: what a practitioner tries first."""

import os

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
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

model = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), LogisticRegression(C=3.0, max_iter=1000)
)
model.fit(train_X, train_y)
print(f"validation accuracy: {accuracy_score(valid_y, model.predict(valid_X)):.4f}")

model.fit(train["text"], train["label"])
probabilities = pd.DataFrame(
    model.predict_proba(test["text"]), index=test.index, columns=["negative", "positive"]
)
probabilities.to_csv("submission.csv")

"""A ridge regression on the frequencies of words and pairs of words: what a practitioner tries first."""

import os

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

threadpool_limits(1)
SEED = int(os.environ.get("SEED", "0"))
SCORES = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]

train = pd.read_csv("train.csv", index_col="text_id")
test = pd.read_csv("test.csv", index_col="text_id")
fitted, held_out = train_test_split(train, test_size=0.2, random_state=SEED)

model = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True),
    Ridge(alpha=3.0, solver="sparse_cg", random_state=SEED),
)
model.fit(fitted["full_text"], fitted[SCORES])
print(
    f"validation MCRMSE: {root_mean_squared_error(held_out[SCORES], model.predict(held_out['full_text'])):.4f}"
)

model.fit(train["full_text"], train[SCORES])
predicted = pd.DataFrame(model.predict(test["full_text"]), index=test.index, columns=SCORES)
predicted.to_csv("submission.csv")

"""Predicts labels or numbers from a column of texts: words, letters, and how it is written."""

import re

import numpy as np
from recipe_data import SEED, asked, measure_and_submit
from scipy.sparse import csr_matrix, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import StandardScaler

METRIC = "accuracy"
MODELS = ("linear",)
"""Of linear and boosting; of several, the mean of what they predict."""
WORDS = 1
"""So many words in a row are one term at most."""
LETTERS = 0
"""The same for letters; 0: none."""
STYLE = False
"""Whether lengths, marks and the like are counted."""
RARE = 2
"""Terms of fewer texts are left out."""
ALPHA = 3.0
"""How strongly linear models are held back."""
TOPICS = 64
"""What boosting sees of the terms."""
ITERATIONS = 100

problem = asked(METRIC)
texts = problem.train.select_dtypes(exclude="number")
lengths = {
    name: texts[name].astype(str).str.split().str.len().mean() for name in texts if name in problem.inputs
}
column = max(lengths, key=lengths.get, default=None)
if column is None or lengths[column] < 5:
    raise SystemExit("There is no column of texts.")
train, test = problem.train[column].fillna(""), problem.test[column].fillna("")


def style(texts):
    """Numbers that say how something is written rather than what."""
    rows = []
    for text in texts:
        words = re.findall(r"[^\W\d_]+", text) or [""]
        sentences = [each for each in re.split(r"[.!?]+", text) if each.strip()] or [""]
        size = len(text) + 1
        rows.append(
            [
                np.log(len(words)),
                np.mean([len(word) for word in words]),
                len(set(map(str.lower, words))) / len(words),
                np.log(len(sentences)),
                len(words) / len(sentences),
                np.mean([each.strip()[:1].isupper() for each in sentences]),
                np.mean([word[:1].isupper() for word in words]),
                np.mean([len(word) > 7 for word in words]),
                text.count("\n\n"),
                *(text.count(mark) / size for mark in ",.;:!?'\"()\n"),
                len(re.findall(r"[ ]{2,}| [,.!?]|[,.!?][^\W\d_]", text)) / size,
                len(re.findall(r"\bi\b", text)) / size,
            ]
        )
    return np.array(rows)


terms = []
if WORDS:
    pattern = r"(?u)\b\w+\b|[!?]"
    vectorizer = TfidfVectorizer(
        ngram_range=(1, WORDS), min_df=RARE, sublinear_tf=True, token_pattern=pattern
    )
    terms.append(vectorizer.fit(train))
if LETTERS:
    terms.append(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, LETTERS), min_df=RARE, sublinear_tf=True).fit(
            train
        )
    )
X, X_test = (hstack([each.transform(some) for each in terms]).tocsr() for some in (train, test))
dense, dense_test = np.zeros((len(train), 0)), np.zeros((len(test), 0))
if STYLE:
    scaler = StandardScaler().fit(style(train))
    dense, dense_test = scaler.transform(style(train)), scaler.transform(style(test))
if "boosting" in MODELS:
    reduced = TruncatedSVD(TOPICS, random_state=SEED).fit(X)
    boosted, boosted_test = (
        np.hstack([reduced.transform(some), numbers]) for some, numbers in ((X, dense), (X_test, dense_test))
    )
else:
    boosted, boosted_test = dense, dense_test
# One matrix of everything: first what linear models see, then what boosting sees.
SEEN = X.shape[1] + dense.shape[1]
X = hstack([X, csr_matrix(dense), csr_matrix(boosted)]).tocsr()
X_test = hstack([X_test, csr_matrix(dense_test), csr_matrix(boosted_test)]).tocsr()


def part(kind, rows):
    return rows[:, :SEEN] if kind == "linear" else rows[:, SEEN:].toarray()


def model_of(kind):
    if problem.classes is not None:
        if kind == "linear":
            return LogisticRegression(C=10 / ALPHA, max_iter=1000)
        return HistGradientBoostingClassifier(max_iter=ITERATIONS, max_leaf_nodes=15, random_state=SEED)
    if kind == "linear":
        return Ridge(ALPHA)
    boosting = HistGradientBoostingRegressor(
        max_iter=ITERATIONS, max_leaf_nodes=15, learning_rate=0.07, random_state=SEED
    )
    return MultiOutputRegressor(boosting) if len(problem.targets) > 1 else boosting


def fit(X, y):
    models = [(kind, model_of(kind).fit(part(kind, X), y)) for kind in MODELS]
    if problem.classes is None:
        return lambda rows: np.mean([model.predict(part(kind, rows)) for kind, model in models], axis=0)
    order = [list(models[0][1].classes_).index(label) for label in problem.classes]
    return lambda rows: np.mean(
        [model.predict_proba(part(kind, rows))[:, order] for kind, model in models], axis=0
    )


measure_and_submit(problem, X, X_test, fit)

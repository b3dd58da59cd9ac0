"""Measures of each kind of writing skill, beside the words and their patterns; ridge regressions and boosted trees."""

import os
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

threadpool_limits(1)
SEED = int(os.environ.get("SEED", "0"))
SCORES = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
PENALTIES = np.geomspace(1, 10_000, 17)
COMPONENTS = 120
FREQUENT = 120
"""How many of the commonest words count as function words, which keep their form in a sentence's skeleton."""
ENDINGS = ("tion", "ment", "ity", "ance", "ing", "ed", "ly", "ies", "es", "s")

train = pd.read_csv("train.csv", index_col="text_id")
test = pd.read_csv("test.csv", index_col="text_id")


def sentences_of(text):
    return [
        re.findall(r"[a-z']+|[,;:]", part.lower()) for part in re.split(r"[.!?]+|\n+", text) if part.strip()
    ]


def rate(count, total):
    """A logarithm, since each step of skill halves the errors rather than taking away some."""
    return np.log((count + 0.5) / (total + 1))


class Measures:
    """What the essays as a whole say of each essay: which words exist, and which follow each other. Needs no scores."""

    def __init__(self, texts):
        documents, words, pairs, before, after = Counter(), Counter(), Counter(), Counter(), Counter()
        self.parsed = {text: sentences_of(text) for text in texts}
        for sentences in self.parsed.values():
            documents.update({word for sentence in sentences for word in sentence})
            for sentence in sentences:
                words.update(sentence)
                for pair in pairwise(sentence):
                    pairs[pair] += 1
                    before[pair[0]] += 1
                    after[pair[1]] += 1
        self.documents, self.words, self.pairs, self.before, self.after = (
            documents,
            words,
            pairs,
            before,
            after,
        )
        self.total = sum(pairs.values())
        self.function = {word for word, _ in words.most_common(FREQUENT)}
        self.openings = Counter(
            " ".join(sentence[: sentence.index(",")])
            for sentences in self.parsed.values()
            for sentence in sentences
            if "," in sentence[:5]
        )

    def known(self, word):
        return self.documents[word] > max(3, len(self.parsed) / 400)

    def skeleton(self, sentences):
        """Sentences with content words replaced by their ending, so that patterns of grammar repeat."""
        shown = []
        for sentence in sentences:
            shown.append("<s>")
            for word in sentence:
                if word in self.function or word in ",;:":
                    shown.append("," if word in ",;:" else word)
                else:
                    shown.append("-" + next((ending for ending in ENDINGS if word.endswith(ending)), "x"))
        return " ".join(shown)

    def of(self, text):
        sentences = self.parsed[text]
        words = [word for sentence in sentences for word in sentence if word not in ",;:"]
        n, lines = max(1, len(words)), max(1, len(sentences))
        content = [word for word in words if word not in self.function]
        good = [word for word in content if self.known(word)]
        unknown = sum(not self.known(word) for word in words)
        lengths = np.array([len(sentence) for sentence in sentences] or [0])
        odd = surprising = 0
        information = []
        for sentence in sentences:
            for first, second in pairwise(sentence):
                if not (self.known(first) and self.known(second)):
                    continue
                expected = self.before[first] * self.after[second] / self.total
                information.append(np.log((self.pairs[first, second] + 0.5) / (expected + 0.5)))
                odd += expected > 1.5 and self.pairs[first, second] < 0.35 * expected
                surprising += (
                    second in self.function and self.pairs[first, second] < 0.06 * self.before[first]
                )
        stems = [{word[:5] for word in sentence if word not in self.function} for sentence in sentences]
        overlaps = [bool(one & other) for one, other in pairwise(stems)]
        openings = [
            opening
            for sentence in sentences
            if "," in sentence[:5]
            and self.openings[opening := " ".join(sentence[: sentence.index(",")])] > 20
        ]
        starts = re.findall(r"(?:^|[.!?]\s+|\n)(\w)", text)
        return {
            "words": np.log(n),
            "sentences": np.log(lines),
            "paragraphs": np.log(text.count("\n\n") + 1),
            "sentence length": lengths.mean(),
            "sentence spread": lengths.std(),
            "short sentences": rate((lengths < 5).sum(), lines),
            "long sentences": rate((lengths > 18).sum(), lines),
            "unknown words": rate(unknown, n),
            "odd pairs": rate(odd, n),
            "surprising pairs": rate(surprising, n),
            "information": np.mean(information or [0]),
            "information low": np.mean(np.minimum(information or [0], 0)),
            "different words": len(set(good)) / np.sqrt(max(1, len(good))),
            "different stems": rate(len({word[:5] for word in good}), len(good)),
            "repetition": sum((c / max(1, len(good))) ** 2 for c in Counter(good).values()),
            "rarity": np.mean([-np.log(self.documents[word] / len(self.parsed)) for word in good] or [0]),
            "word length": np.mean([len(word) for word in good] or [0]),
            "long words": rate(sum(len(word) > 8 for word in good), n),
            "commas": rate(text.count(","), lines),
            "small starts": rate(sum(letter.islower() for letter in starts), len(starts)),
            "small i": rate(len(re.findall(r"\bi\b", text)), n),
            "capital inside": rate(len(re.findall(r"[a-z,] [A-Z][a-z]", text)), n),
            "no apostrophe": rate(len(re.findall(r"\b(?:dont|cant|wont|didnt|isnt|im)\b", text, re.I)), n),
            "exclamations": rate(text.count("!"), lines),
            "overlap": np.mean(overlaps or [0]),
            "openings": rate(len(openings), lines),
            "different openings": len(set(openings)) / np.sqrt(max(1, len(openings))),
            "plain openings": rate(sum(s[0] in ("and", "but", "so", "also") for s in sentences if s), lines),
            "subordinate": rate(
                sum(
                    w in ("because", "although", "while", "since", "unless", "which", "who", "if")
                    for w in words
                ),
                n,
            ),
            "plural and s": rate(len(re.findall(r"\b\w+[^s\W]s (?:is|was|has|\w+[^s\W]s)\b", text)), n),
        }


class Tables:
    """Everything that a model may look at, for all essays at once; no scores are used."""

    def __init__(self, texts):
        measures = Measures(texts)
        table = pd.DataFrame([measures.of(text) for text in texts])
        self.measures = StandardScaler().fit_transform(table)
        skeletons = [measures.skeleton(measures.parsed[text]) for text in texts]
        patterns = TfidfVectorizer(
            ngram_range=(1, 3), min_df=5, sublinear_tf=True, token_pattern=r"\S+", max_features=20_000
        ).fit_transform(skeletons)
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=4, sublinear_tf=True, max_features=20_000)
        both = sparse.hstack([patterns, words.fit_transform(texts)]).tocsr()
        reduced = TruncatedSVD(COMPONENTS, random_state=SEED).fit_transform(both)
        self.wide = np.hstack([self.measures, 0.5 * StandardScaler().fit_transform(reduced)])
        self.narrow = np.hstack([self.measures, reduced[:, :10]])


def predict(tables, known, scores, wanted):
    """Two views, each with its model; trees learn what the linear model leaves over."""
    linear = make_pipeline(StandardScaler(with_std=False), RidgeCV(PENALTIES)).fit(tables.wide[known], scores)
    small = make_pipeline(StandardScaler(with_std=False), RidgeCV(PENALTIES)).fit(
        tables.measures[known], scores
    )
    first = 0.5 * linear.predict(tables.wide[wanted]) + 0.5 * small.predict(tables.measures[wanted])
    trees = np.column_stack(
        [
            HistGradientBoostingRegressor(
                max_iter=120, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=20, l2_regularization=5.0,
                max_features=0.4, random_state=SEED,
            ).fit(tables.narrow[known], column).predict(tables.narrow[wanted])
            for column in scores.T
        ]
    )  # fmt: skip
    return np.clip(0.6 * first + 0.4 * trees, 1, 5)


tables = Tables([*train["full_text"], *test["full_text"]])
scores = train[SCORES].to_numpy()
rows = np.arange(len(train))
fitted, held_out = train_test_split(rows, test_size=0.2, random_state=SEED)
validation = predict(tables, fitted, scores[fitted], held_out)
print(f"validation MCRMSE: {root_mean_squared_error(scores[held_out], validation):.4f}")

wanted = np.arange(len(train), len(train) + len(test))
predicted = pd.DataFrame(predict(tables, rows, scores, wanted), index=test.index, columns=SCORES)
predicted.to_csv("submission.csv")

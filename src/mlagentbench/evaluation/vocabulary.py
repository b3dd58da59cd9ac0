"""The words by which numbers are told apart: what is measured, what is chosen, what is hoped for.

They are English, as are the prompts. `docs/process.md` says how they are used.
"""

from __future__ import annotations

from typing import Literal

Direction = Literal["", "up", "down", "better", "worse"]
Split = Literal["", "train", "held out"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _by_word(listed: dict[str, str]) -> dict[str, str]:
    return {word: name for name, words in listed.items() for word in words.split()}


METRICS = _by_word(
    {
        "accuracy": "accuracy accuracies acc correct correctly",
        "loss": "loss losses nll logloss crossentropy entropy bce",
        "mae": "mae",
        "rmse": "rmse mcrmse rmsle",
        "mse": "mse",
        "smape": "smape mape",
        "error": "error errors",
        "r2": "r2 r² rsquared",
        "auc": "auc roc auroc rocauc",
        "f1": "f1 fscore",
        "precision": "precision",
        "recall": "recall sensitivity",
        "map": "ndcg map",
        "dice": "dice iou jaccard",
        "perplexity": "perplexity ppl",
        "agreement": "bleu rouge kappa mcc correlation",
        "spread": "std deviation spread",
        "time": "time runtime took takes elapsed duration latency wall cpu",
        "memory": "memory ram",
        "throughput": "throughput",
        "speedup": "speedup",
        "score": "score scores metric performance result results",
    }
)
"""Words for what is measured, by what they mean."""

METRIC_PAIRS = {
    ("absolute", "error"): "mae",
    ("squared", "error"): "mse",
    ("percentage", "error"): "smape",
    ("error", "rate"): "error",
    ("cross", "entropy"): "loss",
    ("log", "loss"): "loss",
    ("average", "precision"): "map",
    ("f1", "score"): "f1",
    ("dice", "score"): "dice",
    ("dice", "coefficient"): "dice",
    ("r", "squared"): "r2",
    ("auc", "score"): "auc",
    ("roc", "auc"): "auc",
    ("accuracy", "score"): "accuracy",
    ("speed", "up"): "speedup",
    ("success", "rate"): "score",
    ("per", "second"): "throughput",
}
"""Two words that say together what neither says alone."""

ERRORS = _set("mae rmse mse smape loss error")
APART = _set("time memory throughput speedup spread")
"""What no word for a score in general means."""
FRACTIONS = _set("accuracy f1 auc precision recall map dice score r2 error agreement spread")
"""What is written as a share or in per cent, as one likes."""
FALLING = _set("mae rmse mse smape loss error perplexity time memory spread")
"""What is better when it is lower."""

SPLITS: dict[str, Split] = {
    **dict.fromkeys(_set("train training"), "train"),
    **dict.fromkeys(_set("val valid validation test testing dev holdout heldout held cv oob"), "held out"),
}
"""Words for a part of the data. Validation and test are not told apart: agents use either word for what is held out."""

PLACES = _set(
    """
    epoch epochs fold step steps iteration iter line lines batch status seed layer version python round trial attempt
    experiment run part section table figure stage phase point item option approach no number
    """
)
"""Words before a number that only says which one."""

SETTINGS = PLACES | _set(
    """
    threshold rate lr size depth width dropout alpha beta gamma lambda momentum decay weight estimators trees leaves
    units neurons hidden dim dimension dimensions heads patience workers ratio degree neighbors k n c limit budget top
    class category year month day week quantile percentile confidence significance level exponent tolerance temperature
    scale factor kernel stride padding penalty regularization regularisation window length deadline gpu core cores
    model id probability fraction column row page
    """
)
"""Words before a number that was chosen and not measured."""

COUNTED = _set(
    """
    epochs folds trees layers features rows columns samples images classes steps iterations rounds components units
    neurons heads seeds runs experiments models parameters tokens words characters lines files estimators people batches
    groups categories data examples observations houses fold layer epoch way kinds tasks gpu cores iteration step
    feature sample row column
    """
)
"""Words after a number of things."""
MEASURED_IN = _set("dollars euros metres meters degrees usd eur")
"""What errors are given in, though it looks like things that are counted."""
SHARES = _set("of for split validation test train")
"""After a number of per cent: how data were divided."""
VERBS = _set(
    """
    indicates shows suggests means represents reflects demonstrates gives implies is was has remains seems looks appears
    confirms exceeds corresponds comes needs falls drops improves across versus vs plus as this thus less loss
    """
)
"""What ends in s, and is no plural."""

TARGETS = _set(
    """
    goal goals target targets targeted aim aims aiming expect expects expected expecting expectation hope hopes hoping
    hopefully objective desired ideally if unless until whether guess guessed guessing assume assumed assuming assumes
    assumption hypothesis hypothesize hypothetical would could might potentially presumably probably likely estimated
    estimate typically usually typical suppose supposed anticipate anticipated predict achievable required requirement
    possible
    """
)
"""A number in the same clause is wished for, expected or supposed."""
TARGETS_AFTER = TARGETS | {"needed"}
MODALS = _set("will should shall may can must try trying next plan plans planning want wants going let ll")
"""A number in the same clause is still to come, unless one of the FACTS stands between."""
FACTS = _set(
    """
    is was were has achieved obtained got gave gives yielded yields measured observed current currently previous
    previously dropped rose fell scored reported had resulted remained found shows showed reached
    """
)
INFINITIVES = _set(
    """
    achieve reach get obtain be exceed beat improve reduce lower increase decrease boost bring raise attain hit surpass
    """
)
"""After `to`, a number is still to come, unless one of the ABLE stands before."""
ABLE = _set("able managed helped allowed us it succeeded led enabled used seems appears found")
UNSURE = _set(
    "guess guessed assumed assumption unconfirmed unverified hypothetical imagined invented unknown"
)
"""Nothing in such a sentence is claimed."""
UNSURE_AFTER_NOT = _set("confirmed observed measured supported known verified shown yet")

CHANGES: dict[str, Direction] = {
    **dict.fromkeys(
        _set("improved improves improve improvement improvements improving better gain gains gained boost"),
        "better",
    ),
    **dict.fromkeys(_set("worse worsened degraded degradation"), "worse"),
    **dict.fromkeys(_set("increased increases increase rose rise higher grew raised growth more"), "up"),
    **dict.fromkeys(
        _set(
            """
            decreased decreases decrease reduced reduces reduction reduce dropped drop drops fell fall lower lowered cut
            shrank less
            """
        ),
        "down",
    ),
    **dict.fromkeys(
        _set("faster speedup quicker sped slower speed change changed difference differs relative"), ""
    ),
}
"""Words for a change, and which way it goes."""
NAMED_CHANGES = _set(
    """
    improvement improvements gain increase decrease reduction drop speedup boost rise change difference growth
    degradation
    """
)
CHANGES_AFTER = NAMED_CHANGES | _set(
    "better worse lower higher faster slower quicker relative less more absolute"
)

LINKS = _set(
    "of is was are were at to the a an = : ( about only just equal equals being be as around ~ ≈ ` * ' \""
)
"""What may stand between a name and its number."""
MODIFIERS = _set(
    "validation test train training valid mean final overall average macro micro weighted cross in for of on the"
)
BETWEEN = LINKS | MODIFIERS | _set("and , respectively % score")
ROUGH = _set("about around approximately roughly nearly almost ~ ≈ approx circa close")
ABOVE = _set("above over exceeds exceeding exceeded > ≥ beyond")
BELOW = _set("below under < ≤ within")
MORE = _set("more higher greater better larger")
LESS = _set("less lower fewer smaller worse")
RESULTS = _set(
    """
    achieved achieves reached reaches obtained got scored yielded gave previous baseline best result improved dropped
    increased decreased compared higher lower better worse from measured observed resulting starter initial respectively
    gives yields
    """
)
"""A sentence with one of these speaks of a result, though it may not say of what."""
CLAUSE_ENDS = _set(", ; ) — – but while whereas which since because although though so")
DATA_WORDS = _set("set data part split subset fold folds")

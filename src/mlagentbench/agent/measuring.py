"""The score that a script gives itself: read from what it printed, never guessed."""

from __future__ import annotations

import math
import re

_SCORE = re.compile(
    r"^[^\S\n]*validation[^\S\n]+[^:\n]{1,80}:[^\S\n]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\b",
    re.M | re.I,
)


def validation_score(output: str) -> float | None:
    """The last line `validation <metric>: <number>` of an output; None where there is none.

    >>> validation_score("epoch 1\\nvalidation MAE: 3.5\\nvalidation MAE: 2.25\\n")
    2.25
    >>> validation_score("validation accuracy is 0.9") is None
    True
    """
    found = _SCORE.findall(output)
    value = float(found[-1]) if found else math.nan
    return value if math.isfinite(value) else None

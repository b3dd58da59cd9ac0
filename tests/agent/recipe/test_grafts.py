"""Another model takes the place of the one that a script fits, where the script shows one that is known."""

from __future__ import annotations

import ast

from mlagentbench.agent.recipe.book import Swap, book
from mlagentbench.agent.recipe.grafts import networked, swapped

FITTING = '''"""Fits."""

from __future__ import annotations

import os
from sklearn.linear_model import LinearRegression

models = [LinearRegression().fit(X, y[part]) for part in ("ä", "b")]
'''
TREES = Swap.model_validate(
    {"about": "trees", "of": ["LinearRegression"], "import": "from trees import Trees", "code": "Trees(n=2)"}
)


def network(layer: str, about: str) -> str:
    return (
        f"from torch import nn\n\nmodel = {layer}\noptimizer = Adam(model.parameters(), lr=0.1)  # {about}\n"
    )


def test_an_estimator_takes_the_place_of_another_with_its_import():
    assert swapped(FITTING, TREES) == FITTING.replace("LinearRegression().fit", "Trees(n=2).fit").replace(
        "import os\n", "from trees import Trees\nimport os\n"
    )


def test_a_script_without_a_known_model_is_left_alone():
    assert swapped("import os\nmodel = Something()\n", TREES) is None
    assert swapped("import os\nmodel = Trees(n=2)\n", TREES.model_copy(update={"of": ("Trees",)})) is None
    for each in book().networks:
        assert networked(network("nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU())", "two"), each) is None
        assert networked(network("Conv2d(3, 1, 1)", "the module is not known"), each) is None
        assert (
            networked(
                f"class Net(nn.Module):\n    def __init__(self):\n        self.a = nn.{each.layer}(1, 2)\n",
                each,
            )
            is None
        )


def test_a_network_of_one_layer_becomes_deeper_and_learns_more_slowly():
    tried = {
        "Conv2d": network("torch.nn.Conv2d(BANDS, 1, kernel_size=1)", "pixels"),
        "Linear": network("nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE, len(KINDS)))", "pictures"),
    }
    for each in book().networks:
        changed = networked(tried[each.layer], each)
        assert changed is not None and "lr=0.1" not in changed and "$" not in changed
        assert f"lr={each.learning_rate!r}" in changed
        code = ast.unparse(ast.parse(changed))
        assert "torch.nn.Conv2d(BANDS, 16" in code if each.layer == "Conv2d" else "len(KINDS))" in code


def test_every_model_that_is_put_in_is_python():
    for swap in book().swaps:
        ast.parse(f"{swap.imports}\n{swap.code}")

"""Other models in the place of the one that a script fits, wherever its syntax tree shows one that is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from string import Template

from mlagentbench.agent.recipe.book import Network, Swap
from mlagentbench.agent.recipe.knobs import knobs_of, replaced, turned

_RATES = {"lr", "learning_rate"}


def swapped(source: str, swap: Swap) -> str | None:
    """The script with another estimator; None where it has none of those that this one stands in for."""
    tree = ast.parse(source)
    calls = [node for node in _calls(tree) if _name(node.func) in swap.of]
    if not calls or all(
        ast.unparse(node) == ast.unparse(ast.parse(swap.code, mode="eval")) for node in calls
    ):
        return None
    outer = [
        node for node in calls if not any(node is not other and node in ast.walk(other) for other in calls)
    ]
    return _imported(replaced(source, [(node, swap.code) for node in outer]), swap.imports)


def networked(source: str, network: Network) -> str | None:
    """The script with a deeper network and a learning rate that suits it; None where its own is not a single layer."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        if not isinstance(node.targets[0], ast.Name):  # a layer among others of a module
            continue
        layer = _single_layer(node.value)
        if layer is None or _name(layer.func) != network.layer or len(layer.args) < 2:
            continue
        inputs, outputs = (ast.unparse(argument) for argument in layer.args[:2])
        module = ast.unparse(layer.func).rpartition(".")[0]
        if not module:
            continue
        code = Template(network.code.strip()).substitute(inputs=inputs, outputs=outputs, nn=module)
        return _slower(replaced(source, [(node.value, code)]), network.learning_rate)
    return None


def _single_layer(call: ast.Call) -> ast.Call | None:
    """The layer itself, or what follows `Flatten` in a sequence of these two."""
    if _name(call.func) != "Sequential":
        return call
    layers = [each for each in call.args if isinstance(each, ast.Call)]
    if len(layers) == len(call.args) == 2 and _name(layers[0].func) == "Flatten":
        return layers[1]
    return None


def _slower(source: str, rate: float) -> str:
    for knob in knobs_of(source):
        if knob.name.lower() in _RATES and knob.value > rate:
            source = turned(source, knob, rate)
    return source


def _imported(source: str, statement: str) -> str:
    """With an import before the first statement that may follow one."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return "".join([*lines[: node.lineno - 1], f"{statement}\n", *lines[node.lineno - 1 :]])
    return source


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""

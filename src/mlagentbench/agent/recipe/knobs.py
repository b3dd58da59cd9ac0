"""Numbers of a script that can be turned: found in its syntax tree by their names, and changed where they stand."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Number: TypeAlias = int | float
_LONGEST = 100_000


@dataclass(frozen=True)
class Knob:
    """A number in a script; `index` tells apart those of one name, in the order of the text."""

    name: str
    index: int
    value: Number

    def times(self, factor: float) -> Number | None:
        """The value turned by a factor; None where that changes nothing, or is no such number any more."""
        turned = self.value * factor
        turned = round(turned) if isinstance(self.value, int) else float(f"{turned:.3g}")
        return turned if turned > 0 and turned != self.value else None


def is_script(source: str) -> bool:
    """Whether it is Python, and of a length that can be looked at."""
    if len(source) > _LONGEST:
        return False
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def knobs_of(source: str) -> list[Knob]:
    """Constants of the module, arguments by name, and arguments of the script's own functions by their parameters.

    >>> [(knob.name, knob.value) for knob in knobs_of("EPOCHS = 3\\nmodel = Net(lr=1e-3, name='a')\\n")]
    [('EPOCHS', 3), ('lr', 0.001)]
    """
    return [knob for knob, _ in _found(source)]


def turned(source: str, knob: Knob, value: Number) -> str:
    """The script with another number in the place of a knob."""
    node = next(node for each, node in _found(source) if (each.name, each.index) == (knob.name, knob.index))
    return replaced(source, [(node, repr(value))])


def with_constants(source: str, values: dict[str, object]) -> str:
    """The script with other values of its module's constants; every one of them must be there."""
    places = {
        node.targets[0].id: node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return replaced(source, [(places[name], repr(value)) for name, value in values.items()])


def replaced(source: str, changes: Sequence[tuple[ast.expr, str]]) -> str:
    """The script with other text in the place of some expressions, of which none is inside of another."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = b"".join(lines)
    for node, text in sorted(
        changes, key=lambda change: (change[0].lineno, change[0].col_offset), reverse=True
    ):
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        data = data[:begin] + text.encode() + data[end:]
    return data.decode()


def _found(source: str) -> Iterator[tuple[Knob, ast.expr]]:
    tree = ast.parse(source)
    named = [
        (node.targets[0].id, node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named += [(each.arg, each.value) for each in node.keywords if each.arg]
            if isinstance(node.func, ast.Name) and node.func.id in functions:
                parameters = functions[node.func.id].args.args
                named += [(each.arg, value) for each, value in zip(parameters, node.args, strict=False)]
    named.sort(key=lambda pair: (pair[1].lineno, pair[1].col_offset))
    seen: Counter[str] = Counter()
    for name, value in named:
        if isinstance(value, ast.Constant) and type(value.value) in (int, float):
            assert isinstance(value.value, int | float)
            yield Knob(name, seen[name], value.value), value
            seen[name] += 1

"""Reading the file of an experiment; every mistake in it is told at once, with the nearest known word."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.launch.plan import Plan
from mlagentbench.validation import problems_of

_NO_PATHS = ("name", "description")


def read_plan(file: Path, instead: Mapping[str, Any] | None = None) -> Plan:
    """The plan in a YAML file, with what the user says `instead` of parts of it."""
    content = _with_paths_from(file.parent.absolute(), _load(file))
    content.setdefault("name", file.stem)
    return make_plan(content | dict(instead or {}), str(file))


def make_plan(content: Mapping[str, Any], source: str) -> Plan:
    """The plan that this says; what is a path in it is found from here, also when the plan is read again elsewhere."""
    try:
        return Plan.model_validate(_with_paths_from(Path.cwd(), content))
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
    except ValidationError as error:
        problems = problems_of(error, Plan)
        raise UsageError(
            "\n  ".join([f"{source} is not an experiment that can be run:", *problems])
        ) from None


def _load(file: Path) -> dict[str, Any]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that stands twice, of which only the last would count."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for key in keys:
                if keys.count(key) > 1:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} stands twice", node.start_mark
                    )
            return super().construct_mapping(node, deep)

    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The experiment {file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{file} is not valid YAML: {_fault(error)}. Fix the file and try again.") from None
    if not isinstance(content, dict):
        raise UsageError(
            f"{file} must hold keys and values, as in `tasks: [house-price]`; see docs/experiments.md."
        )
    return content


def _fault(error: Any) -> str:
    """What the parser of YAML stumbled over, and where."""
    mark = getattr(error, "problem_mark", None)
    told = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{told} (line {mark.line + 1}, column {mark.column + 1})" if mark else told


def _with_paths_from(folder: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each if key in _NO_PATHS else _found_from(folder, each) for key, each in content.items()}


def _found_from(folder: Path, value: Any) -> Any:
    """Paths that begin with a dot are found from where the file lies, or the command is given, and mean the same
    wherever they are read again; that of a scripted model too."""
    if isinstance(value, dict):
        return {key: _found_from(folder, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_found_from(folder, each) for each in value]
    if isinstance(value, str):
        before = "mock/" if value.startswith("mock/") else ""
        if (path := value.removeprefix(before)).startswith(("./", "../")):
            return before + os.path.normpath(folder / path)
    return value

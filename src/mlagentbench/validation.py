"""What is wrong with what somebody wrote, in sentences: which entry, what it holds, what it may hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import GenericAlias, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mlagentbench.errors import UsageError

_LONGEST = 60
_MUST_BE: dict[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "text",
    "bytes": "text",
    "none_required": "null",
    "tuple": "a list, as in [a, b]",
    "list": "a list, as in [a, b]",
    "set": "a list, as in [a, b]",
    "frozen_set": "a list, as in [a, b]",
    "iterable": "a list, as in [a, b]",
    "dict": "keys and values",
    "mapping": "keys and values",
    "model": "keys and values",
    "dataclass": "keys and values",
    "typed_dict": "keys and values",
    "path": "a path",
}
"""By the beginning of what pydantic calls the fault."""
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
_Read = TypeVar("_Read")
_Written = TypeVar("_Written")


def problems_of(error: ValidationError, model: Any, what: str = "key") -> list[str]:
    """A sentence for each problem, which begins with the place of the entry that it is about. `what` says what entries
    are called there.

    >>> class Wanted(BaseModel, extra="forbid"):
    ...     steps: int
    >>> try:
    ...     Wanted.model_validate({"step": 1})
    ... except ValidationError as error:
    ...     problems_of(error, Wanted)
    ['steps: it is missing, and required.', "step: there is no such key. Did you mean 'steps'?"]
    """
    return [_sentence(problem, model, what) for problem in error.errors(include_url=False)]


def problem_of(error: ValidationError, model: Any, what: str = "key") -> tuple[str, str]:
    """The place of the first problem, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    return place_of(first["loc"]), wrong_with(first, model, what)


def place_of(names: Sequence[int | str]) -> str:
    """`agents[0].settings`: where an entry stands."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in names).lstrip(".")


def nearest(name: str, known: Iterable[str], what: str = "") -> str:
    """The known name that was probably meant, as a question; else all of them."""
    names = list(known)
    lower = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(name.lower(), lower, 1, cutoff=0.5)
    if near:
        return f"Did you mean {lower[near[0]]!r}?"
    return f"{what or 'Known are'}: {', '.join(names)}." if names else ""


def as_value_error(parse: Callable[[_Written], _Read]) -> Callable[[_Written], _Read]:
    """A parser of ours as part of a pydantic type: what it refuses is told with the place of the entry."""

    def parsed(value: _Written) -> _Read:
        try:
            return parse(value)
        except UsageError as error:
            raise ValueError(str(error)) from None

    return parsed


def _sentence(problem: ErrorDetails, model: Any, what: str) -> str:
    wrong, place = wrong_with(problem, model, what), place_of(problem["loc"])
    return f"{place}: {wrong}" if place else wrong


def wrong_with(problem: ErrorDetails, model: Any, what: str = "key") -> str:
    """What is wrong with one entry."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(problem["loc"][-1])
        hint = nearest(name, _known_at(model, problem["loc"][:-1]))
        return f"there is no such {what}. {hint}".strip()
    if kind == "missing":
        return "it is missing, and required."
    if kind in ("value_error", "assertion_error"):
        return _ended(str(context.get("error") or problem["msg"].partition(", ")[2]))
    if kind == "json_invalid":
        return f"it is not valid JSON: {context.get('error', 'it breaks off')}."
    if kind in ("literal_error", "enum"):
        allowed = str(context["expected"])
        given = problem["input"]
        near = nearest(given, _quoted(allowed)) if isinstance(given, str) else ""
        hint = f" {near}" if near.startswith("Did") else ""
        return f"{_shown(given)} is not possible here. Possible are {allowed.replace(' or ', ' and ')}.{hint}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"it must be {words} {context[key]}, and is {_shown(problem['input'])}."
    if kind in ("too_short", "string_too_short"):
        least = context["min_length"]
        return "it must not be empty." if least == 1 else f"it must have at least {least} {_parts(kind)}."
    if kind in ("too_long", "string_too_long"):
        return f"it may have at most {context['max_length']} {_parts(kind)}."
    if kind == "string_pattern_mismatch":
        return f"{_shown(problem['input'])} does not have the form {context['pattern']}."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"it has an unknown {context['discriminator']}."
    if must_be := _must_be(kind):
        return f"it must be {must_be}, and is {_shown(problem['input'])}."
    return _ended(problem["msg"].replace("Input should be", "it must be"))


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _parts(kind: str) -> str:
    return "characters" if kind.startswith("string") else "entries"


def _must_be(kind: str) -> str:
    begins = (name for name in sorted(_MUST_BE, key=len, reverse=True) if kind.startswith(name))
    return _MUST_BE.get(next(begins, ""), "")


def _quoted(allowed: str) -> list[str]:
    return [each.strip(" '\"") for each in allowed.replace(" or ", ", ").split(",")]


def _shown(value: Any) -> str:
    """What was given, as the person wrote it, and cut where it is long."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    match value:
        case str():
            text = repr(value)
        case Mapping():
            return "a set of keys and values"
        case list() | tuple() | set() | frozenset():
            return "a list"
        case _:
            try:
                text = json.dumps(value)
            except (TypeError, ValueError):
                text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _known_at(model: Any, place: Sequence[int | str]) -> list[str]:
    """The names of entries at a place below a model."""
    for model_there in _models_in(_type_at(model, place)):
        return [field.alias or name for name, field in model_there.model_fields.items()]
    return []


def _type_at(kind: Any, place: Sequence[int | str]) -> Any:
    for name in place:
        found = [
            model.model_fields[name].annotation for model in _models_in(kind) if name in model.model_fields
        ]
        if found:
            kind = found[0]
        elif inner := _inner(kind):
            kind = inner
    return kind


def _models_in(kind: Any) -> list[type[BaseModel]]:
    """The models that a type is, or that it is a choice of."""
    if isinstance(kind, type) and not isinstance(kind, GenericAlias) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) in (Union, UnionType):
        return [found for each in get_args(kind) for found in _models_in(each)]
    if get_origin(kind) is Annotated:
        return _models_in(get_args(kind)[0])
    return []


def _inner(kind: Any) -> Any:
    """What a list or a mapping holds."""
    if get_origin(kind) in (Union, UnionType):
        return next((inner for each in get_args(kind) if (inner := _inner(each)) is not None), None)
    if get_origin(kind) is Annotated:
        return _inner(get_args(kind)[0])
    arguments = [each for each in get_args(kind) if each is not Ellipsis]
    return arguments[-1] if arguments else None

"""What is wrong with a file or an option is told in our words: which entry, what it holds, what it may hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, create_model

import mlagentbench
from mlagentbench.validation import problems_of

PYDANTIC = re.compile(
    r"Input should|Extra inputs|Field required|Value error|String should|pydantic|type=|\[type"
)
FIELDS: dict[str, Any] = {
    "whole": int,
    "number": float,
    "yes": bool,
    "text": str,
    "listed": tuple[int, ...],
    "named": dict[str, int],
    "choice": Literal["mean", "median"],
    "small": Annotated[int, Field(ge=1, lt=10)],
    "short": Annotated[str, Field(min_length=1, max_length=3)],
    "formed": Annotated[str, Field(pattern="^a+$")],
    "some": Annotated[tuple[int, ...], Field(min_length=1, max_length=2)],
    "finite": Annotated[float, Field(allow_inf_nan=False)],
    "place": Path,
    "maybe": int | None,
}


@pytest.mark.parametrize(
    "value", ["", "many", -1, 77, 1.5, None, True, [], ["x"], [1, 2, 3], {}, {"a": "b"}], ids=repr
)
@pytest.mark.parametrize("field", FIELDS)
def test_no_words_of_the_library_reach_people(field: str, value: object):
    model = create_model("Wanted", **{field: (FIELDS[field], ...)})
    try:
        model.model_validate({field: value})
    except ValidationError as error:
        for sentence in problems_of(error, model):
            assert sentence.startswith(field) and sentence.endswith((".", "?"))
            assert not PYDANTIC.search(sentence), sentence


class Inner(BaseModel, extra="forbid"):
    colour: str = ""


class Outer(BaseModel, extra="forbid"):
    inner: Inner | None = None
    several: tuple[Annotated[Inner, Field()], ...] = ()
    by_name: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"iner": {}}, "iner: there is no such key. Did you mean 'inner'?"),
        ({"inner": {"color": 1}}, "inner.color: there is no such key. Did you mean 'colour'?"),
        ({"several": [{}, {"Colour": 1}]}, "several[1].Colour: there is no such key. Did you mean 'colour'?"),
        ({"by_name": {"a": {"zzz": 1}}}, "by_name.a.zzz: there is no such key. Known are: colour."),
        ({"several": 3}, "several: it must be a list, as in [a, b], and is 3."),
        ({"inner": "red"}, "inner: it must be keys and values, and is 'red'."),
        ({"inner": {"colour": "x" * 9, "x": 1}}, "inner.x: there is no such key. Known are: colour."),
    ],
)
def test_the_nearest_right_name_is_that_of_the_place(given: dict[str, Any], sentence: str):
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate(given)
    assert problems_of(raised.value, Outer) == [sentence]


def test_one_function_alone_reads_what_the_library_says():
    package = Path(mlagentbench.__file__).parent
    readers = [file for file in package.rglob("*.py") if re.search(r"""\[["']msg["']\]""", file.read_text())]
    assert [file.name for file in readers] == ["validation.py"]


def refused(place: Any, *arguments: object, status: int = 2) -> str:
    done = place(*arguments, status=status)
    assert "Traceback" not in done.stderr and not PYDANTIC.search(done.stderr), done.stderr
    return " ".join(done.stderr.split())


def test_a_setting_a_limit_and_a_profile_that_do_not_fit(place: Any):
    run = ("run", place.task, "-m", "mock/none.txt", "-a")
    Path(place.folder / "none.txt").write_text("x")
    said = refused(place, *run, "act", "-c", "max_token=5")
    assert "there is no such setting. Did you mean 'max_tokens'?" in said
    assert "it must be at least 1, and is 0." in refused(place, *run, "act", "-c", "max_tokens=0")
    assert "Possible are 'published' and 'small'. Did you mean 'small'?" in refused(
        place, *run, "act", "--profile", "smal"
    )
    (place.folder / "mine.json").write_text('{"temperature": "warm"}')
    assert "'temperature'" in refused(place, *run, "act", "-c", "mine.json")


def test_a_task_that_is_not_described(place: Any, tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "task.toml").write_text(
        'name = "mine"\ntitel = "x"\n[limits]\ntime = "soon"\n[metric]\nname = "mae"\ngoal = "minimise"\n'
    )
    said = refused(place, "info", folder, status=1)
    assert f"{folder}/task.toml does not describe a task" in said
    assert "titel: there is no such key. Did you mean 'title'?" in said
    assert "limits.time: 'soon' is not a duration; write it like 90s, 10m or 5h." in said
    assert "Did you mean 'minimize'?" in said and "title: it is missing, and required." in said


def test_a_run_that_is_damaged(place: Any):
    folder = place.json("run", place.task, "-a", "starter")["runs"][0]["folder"]
    file = Path(folder) / "run.json"
    content = json.loads(file.read_text())
    del content["seed"]
    file.write_text(json.dumps(content))
    said = refused(place, "show", folder, status=1)
    assert f"{file} is damaged: seed: it is missing, and required." in said

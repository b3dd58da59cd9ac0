"""Names of models, and what is said when one is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model import Completion, ModelOptions, Sampling, Usage, load_model
from mlagentbench.model.human import HumanModel


class OwnModel:
    """A model as a user would write one."""

    speaks_tools = False

    def __init__(self, options: ModelOptions) -> None:
        self.name = options.full_name
        self.options = options

    def complete(self, messages, sampling, tools=()):
        return Completion(text=self.options.name, usage=Usage(), stop_reason="stop", model="own", latency=0)


@pytest.fixture
def own_module(monkeypatch):
    import types

    module = types.ModuleType("own_models")
    module.OwnModel = OwnModel
    monkeypatch.setitem(sys.modules, "own_models", module)


def test_a_class_of_the_users_own_is_named_by_its_path(own_module):
    model = load_model("own_models:OwnModel/size/7b", base_url="http://127.0.0.1:1", extra={"a": 1})
    assert model.complete([], Sampling()).text == "size/7b"
    assert model.inner.options.base_url == "http://127.0.0.1:1"
    assert model.inner.options.extra == {"a": 1}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai/gpt-4.1", "Did you mean openai/gpt-4.1?"),
        ("antropic/claude", "Did you mean anthropic/claude?"),
        ("zzz/x", "The providers are openai, anthropic"),
        ("gpt-4.1", "There is no provider of models 'gpt-4.1'"),
        ("openai", "names no model: write openai/NAME"),
        ("openai/", "names no model"),
        ("no_such_module_here:Thing/x", "could not be loaded"),
        ("own_models:Missing/x", "could not be loaded"),
    ],
)
def test_a_wrong_name_is_answered_with_what_would_be_right(name, said, own_module):
    with pytest.raises(UsageError) as caught:
        load_model(name)
    assert said in str(caught.value)


def test_a_person_needs_no_name():
    assert isinstance(load_model("human").inner, HumanModel)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("openai/x", "openai", "openai"),
        ("ollama/x", "openai", "openai"),
        ("anthropic/x", "anthropic", "anthropic"),
        ("google/x", "google.genai", "google"),
        ("huggingface/x", "torch", "huggingface"),
        ("inspect/x/y", "inspect_ai", "inspect"),
    ],
)
def test_a_missing_library_is_told_with_the_one_command(name, module, extra, monkeypatch):
    for loaded in [known for known in sys.modules if known == module or known.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, loaded)

    class Absent:
        def find_spec(self, wanted, path=None, target=None):
            if wanted == module or wanted.startswith(f"{module}."):
                raise ModuleNotFoundError(f"No module named {wanted!r}", name=wanted)

    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(UsageError) as caught:
        load_model(name)
    assert f"pip install 'mlagentbench[{extra}]'" in str(caught.value)


def test_nothing_heavy_is_imported_before_a_model_is_loaded():
    code = (
        "import sys, mlagentbench.model as m; m.load_model; m.MockModel; m.cost; m.Meter\n"
        "heavy = {'openai', 'anthropic', 'google.genai', 'httpx2', 'torch', 'transformers', 'inspect_ai', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_a_defect_inside_a_users_class_is_not_taken_for_a_wrong_name(own_module):
    class Broken(OwnModel):
        def __init__(self, options):
            self.nothing_of_that_name  # noqa: B018

    sys.modules["own_models"].Broken = Broken
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        load_model("own_models:Broken")

"""Models are opened before there is a run, once, and are the run's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlagentbench import run
from mlagentbench.environment import models
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import UsageError


def said(tmp_path: Path) -> str:
    (tmp_path / "said.txt").write_text("one\n%%%\ntwo\n")
    return f"mock/{tmp_path / 'said.txt'}"


def test_what_was_opened_ahead_is_given_out_once(tmp_path: Path) -> None:
    ahead = ModelChoice(act=said(tmp_path), edit="human").opened()
    first, second = ahead.open(Silence())[0], ahead.open(Silence())[0]
    assert first.keys() == second.keys()
    assert first["act"] is not second["act"], "another run's answers are its own"
    assert ModelChoice().opened().open(Silence())[0] == {}


def test_a_model_is_loaded_once_for_a_run(
    tmp_path: Path, tiny_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load = ModelChoice._load

    def counting(self: ModelChoice, name: str) -> models.Model:
        loaded.append(name)
        return load(self, name)

    monkeypatch.setattr(ModelChoice, "_load", counting)
    run(tiny_task, "starter", said(tmp_path), runs=tmp_path / "runs")
    assert loaded == [said(tmp_path)]


def test_a_hosted_model_without_its_library_makes_no_run(
    tmp_path: Path, tiny_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(UsageError, match=r"mlagentbench\[anthropic\]"):
        run(tiny_task, "research", "anthropic/claude-sonnet-4-5", runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_local_model_without_its_library_makes_no_run(
    tmp_path: Path, tiny_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"mlagentbench\[local\]"):
        run(tiny_task, "react", "local/smollm2-135m", runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()

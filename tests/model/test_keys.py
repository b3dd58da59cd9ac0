"""Keys: where they come from, and that they stay there."""

from __future__ import annotations

import copy
import logging
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model.conftest import CANARY
from model.servers import fail

from mlagentbench.model import BadCredentialsError, Message, ModelError, Sampling, load_model
from mlagentbench.model.keys import Key, find_key, read_env_file, redact


def test_the_environment_comes_before_the_file_and_the_first_variable_before_the_second(monkeypatch):
    Path(".env").write_text("MY_KEY=from-file\nOTHER_KEY=other-file\n")
    assert find_key("MY_KEY").value == "from-file"
    monkeypatch.setenv("OTHER_KEY", "from-environment")
    assert find_key("MY_KEY", "OTHER_KEY").value == "from-environment"
    assert find_key("NO_SUCH_KEY") is None


def test_the_file_is_that_of_the_current_folder_only(tmp_path, monkeypatch):
    Path(".env").write_text("MY_KEY=parent\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert find_key("MY_KEY") is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("  A = b  ", "b"),
        ("A='b c'", "b c"),
        ('A="b # c" # said', "b # c"),
        ("A=b # said", "b"),
        ("A=b#c", "b#c"),
        ("A=b=c", "b=c"),
        ("A=", ""),
    ],
)
def test_lines_of_an_env_file(line, value):
    Path(".env").write_text(line + "\n")
    assert read_env_file(Path(".env")) == {"A": value}


@pytest.mark.parametrize("line", ["# A=b", "A", "=b", "1A=b", ""])
def test_lines_that_say_nothing(line):
    Path(".env").write_text(line + "\n")
    assert read_env_file(Path(".env")) == {}


def test_a_file_that_is_no_text_holds_no_keys():
    Path(".env").write_bytes(b"\xff\xfe\x00A=b")
    assert read_env_file(Path(".env")) == {}


def test_a_missing_key_is_told_with_what_to_set(wire, monkeypatch):
    monkeypatch.delenv(wire.key_variable)
    with pytest.raises(BadCredentialsError, match=wire.key_variable):
        load_model(wire.model)


def test_a_key_shows_itself_nowhere():
    key = Key("very-secret-thing")
    assert "secret" not in f"{key} {key!r} {[key]}"
    for written in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            written(key)


@given(before=st.text(), after=st.text())
def test_a_known_key_is_taken_out_of_any_text(before, after):
    secret = Key("sk-0123456789abcdef").value
    assert secret not in redact(before + secret + after)


def test_keys_in_urls_are_taken_out_even_if_unknown():
    said = redact("GET https://user:pass@host/v1?key=AIzaUnknown&alt=json")
    assert "AIza" not in said
    assert "user:pass" not in said
    assert said.endswith("&alt=json")


def test_no_key_is_logged_even_where_everything_is(server, connect, caplog):
    server.does(fail(401, "That is not a key."))
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError):
        connect(server).complete([Message(role="user", content="x")], Sampling())
    assert caplog.records
    assert CANARY not in caplog.text

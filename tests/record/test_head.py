"""The last hash of a log, found from its end."""

from __future__ import annotations

import pytest
from support.histories import History
from support.runs import write_run


@pytest.mark.parametrize("size", [1, 1000, 65_400, 65_536, 200_000])
def test_the_head_is_that_of_the_whole_history_however_long_the_last_line_is(tmp_path, size):
    folder = write_run(tmp_path, "one", History().step("a", "x" * 70_000).step("b", "x" * size).events)
    assert folder.head() == folder.history().head


def test_a_torn_last_line_does_not_count(tmp_path):
    folder = write_run(tmp_path, "one", History().step("a").step("b").events)
    head = folder.head()
    with folder.events_file.open("ab") as file:
        file.write(b'{"hash":"' + b"0" * 70_000)
    assert folder.head() == head == folder.history().head


def test_a_run_without_events_has_the_head_of_its_request(tmp_path):
    folder = write_run(tmp_path, "one", [])
    assert folder.head() == folder.history().head
    folder.events_file.unlink()
    assert folder.head() == folder.history().head
    folder.events_file.write_bytes(b"torn")
    assert folder.head() == folder.history().head

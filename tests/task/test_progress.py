from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.task.progress import Lines


def told(*chunks: bytes) -> list[str]:
    said: list[str] = []
    lines = Lines(said.append)
    for chunk in chunks:
        lines.feed(chunk)
    lines.close()
    return said


def test_each_state_of_a_progress_bar_is_a_line():
    assert told(b"10 %\r20 %\r", b"30 %\r\ndone") == ["10 %", "20 %", "30 %", "done"]


@given(st.text(alphabet="ab é€\n\r"), st.integers(1, 5))
def test_where_the_chunks_are_cut_makes_no_difference(text, size):
    content = text.encode()
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    assert told(*chunks) == told(content)


def test_bytes_that_are_no_text_do_no_harm():
    assert told(b"\xff\xfe ok\n") == ["�� ok"]

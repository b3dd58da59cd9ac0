"""Submitted tables: every way of being wrong has its own sentence, and no bytes are a traceback."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.errors import SubmissionRefusedError
from mlagentbench.grading.table import choice, number, read_submission, text

IDS = ["1", "2", "3"]
GOOD = "Id,Price\n1,10\n2,20.5\n3,-3e2\n"


def read(tmp_path: Path, content: bytes | str) -> dict[str, float]:
    file = tmp_path / "submission.csv"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return {key: row["Price"] for key, row in read_submission(file, "Id", {"Price": number()}, IDS).items()}


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        "Price,Id\n20.5,2\n-3e2,3\n10,1\n",
        'Id,Price\n"1","10"\n 2 , 20.5\t\n3,-300.\n',
    ],
)
def test_usual_ways_of_writing_a_csv_file_are_read_alike(tmp_path, content):
    assert read(tmp_path, content) == {"1": 10.0, "2": 20.5, "3": -300.0}


REFUSALS = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n\r\n", "it is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "it is empty"),
    "header only": (b"Id,Price\n", "there is a header and no row"),
    "missing id": (b"Id,Price\n1,1\n3,3\n", "1 of 3 ids are missing, among them '2'"),
    "extra id": (GOOD.encode() + b"4,4\n", "line 5 has the Id '4', which is not in the test set"),
    "duplicate id": (GOOD.encode() + b"2,4\n", "the Id '2' is on line 3 and again on line 5"),
    "missing column": (b"Id,Prize\n1,1\n", "there is no column 'Price', only 'Id', 'Prize'"),
    "other separator": (b"Id;Price\n1;1\n", "only 'Id;Price'; the header must be Id,Price"),
    "extra column": (b"Id,Price,x\n1,1,1\n", "there is a column 'x' too many"),
    "index of pandas": (b",Id,Price\n0,1,1\n", "index=False"),
    "duplicate column": (b"Id,Price,Price\n1,1,1\n", "there is more than one column 'Price'"),
    "short row": (b"Id,Price\n1,1\n2\n", "line 3 has 1 fields where the header has 2"),
    "long row": (b"Id,Price\n1,1,000\n", "line 2 has 3 fields where the header has 2"),
    "empty value": (b"Id,Price\n1,\n", "line 2, Id '1': Price is empty"),
    "nan": (b"Id,Price\n1,nan\n", "Price is 'nan'; write a finite number"),
    "infinity": (b"Id,Price\n1,-inf\n", "Price is '-inf'; write a finite number"),
    "overflow": (b"Id,Price\n1,1e999\n", "too large for a 64-bit float"),
    "underscores": (b"Id,Price\n1,1_000\n", "Price is '1_000'"),
    "hexadecimal": (b"Id,Price\n1,0x10\n", "Price is '0x10'"),
    "other digits": ("Id,Price\n1,١٢\n".encode(), "Price is '١٢'"),
    "words": (b"Id,Price\n1,cheap\n", "Price is 'cheap'"),
    "very long number": (b"Id,Price\n1," + b"9" * 500 + b"\n", "Price has 500 characters"),
    "huge field": (
        b"Id,Price\n" + b"1" * 300_000 + b",1\n",
        "(300000 characters), which is not in the test set",
    ),
    "NUL byte": (b"Id,Price\n1,1\x00\n", "line 2 holds a NUL byte"),
    "not UTF-8": (b"Id,Price\n1,1\n2,\xff\n", "line 3 is not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "NUL byte"),
    "quoted line break": (b'Id,Price\n1,"1\n"\n', "a value that ends on line 3 holds a line break"),
    "open quote": (b'Id,Price\n1,"1', "line 2 is not CSV"),
    "text after a quote": (b'Id,Price\n1,"1"2\n', "line 2 is not CSV"),
    "too large": (GOOD.encode() + b"\n" * 17 * 2**20, "it is larger than 16777216 bytes"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_defect_is_refused_with_its_own_sentence(tmp_path, kind):
    content, sentence = REFUSALS[kind]
    with pytest.raises(SubmissionRefusedError) as refusal:
        read(tmp_path, content)
    assert sentence in str(refusal.value)
    assert str(refusal.value).startswith("submission.csv: ")


def test_far_too_many_rows_are_refused_at_the_first_one_too_many(tmp_path):
    many = "Id,Price\n" + "".join(f"{index},1\n" for index in range(1, 200_000))
    with pytest.raises(SubmissionRefusedError, match="line 5 has the Id '4'"):
        read(tmp_path, many)


def test_a_number_outside_of_its_range_is_refused(tmp_path):
    with pytest.raises(ValueError, match="write a number from 0 to 1"):
        number(0, 1)("1.5")


def test_choices_have_meanings_and_other_spellings_are_refused():
    boolean = choice({"True": True, "False": False})
    assert boolean(" True") is True
    with pytest.raises(ValueError, match="is 'yes'; write one of 'True', 'False'"):
        boolean("yes")


def test_text_is_kept_as_it_is_up_to_its_length():
    assert text(longest=3)(" a ") == " a "
    with pytest.raises(ValueError, match="has 4 characters; 3 are the most"):
        text(longest=3)("abcd")


def test_columns_of_different_kinds_are_read_together(tmp_path):
    file = tmp_path / "submission.csv"
    file.write_text("image,osd,categories\nb,0.5,3 1\na,1,\n")
    rows = read_submission(file, "image", {"categories": text(20), "osd": number(0, 1)}, ["a", "b"])
    assert rows == {"a": {"categories": "", "osd": 1.0}, "b": {"categories": "3 1", "osd": 0.5}}


def test_reading_leaves_the_limit_of_the_csv_module_as_it_was(tmp_path):
    before = csv.field_size_limit()
    for kind in ("huge field", "open quote"):
        with pytest.raises(SubmissionRefusedError):
            read(tmp_path, REFUSALS[kind][0])
    assert csv.field_size_limit() == before


a_cell = st.one_of(
    st.sampled_from(["1", "2", "3", "Id", "Price", "nan", "1e999", '"', '""', "\r", "\n", "\0", "\ufeff"]),
    st.text(max_size=5),
    st.floats().map(repr),
)
csv_like = st.lists(st.lists(a_cell, max_size=4).map(",".join), max_size=6).map("\n".join)
any_bytes = st.one_of(
    st.binary(max_size=200),
    csv_like.map(lambda content: content.encode("utf-8", "surrogatepass")),
    csv_like.map(lambda content: b"Id,Price\n" + content.encode("utf-8", "surrogatepass")),
)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=500)


@in_one_folder
@given(content=any_bytes)
def test_any_bytes_are_numbers_or_a_sentence(tmp_path, content):
    try:
        values = read(tmp_path, content)
    except SubmissionRefusedError as refusal:
        assert str(refusal).endswith(".") and "\n" not in str(refusal)
    else:
        assert list(values) == IDS and all(map(math.isfinite, values.values()))


@in_one_folder
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    order=st.permutations(range(3)),
)
def test_the_order_of_rows_changes_nothing_and_floats_survive_exactly(tmp_path, values, order):
    lines = "".join(f"{IDS[index]},{values[index]!r}\n" for index in order)
    assert list(read(tmp_path, "Id,Price\n" + lines).items()) == list(zip(IDS, values, strict=True))

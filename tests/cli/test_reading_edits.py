"""What a person is shown of changes: each once, code before data, and of data only a little."""

from __future__ import annotations

import json

from mlagentbench.cli.reading import is_code


def test_the_difference_of_an_edit_by_a_model_is_shown_once(place):
    edit = {"script_name": "train.py", "edit_instruction": "Say it.", "save_name": "train.py"}
    replies = place.folder / "replies.txt"
    starter = (place.task / "starter" / "train.py").read_text()
    replies.write_text(f"```python\n{starter}\nprint('only once here')\n```\n")
    actions = place.folder / "actions.jsonl"
    actions.write_text(
        json.dumps({"name": "Edit Script (AI)", "args": edit})
        + "\n"
        + json.dumps({"name": "Append File", "args": {"file_name": "notes.txt", "content": "a note"}})
    )
    told = place.json(
        "run", place.task, "-a", "scripted", "-c", f"file={actions}", "-m", f"mock/{replies}", status=1
    )
    folder = told["runs"][0]["folder"]
    shown = place("show", folder, "1").stdout
    assert shown.count("only once here") == 1 and "+print('only once here')" in shown
    assert "+a note" in place("show", folder, "2").stdout
    assert "only once here" in place.json("show", folder, "1")["diff"]


def test_a_failed_edit_advises_nothing_that_is_not_shown(place):
    replies = place.folder / "replies.txt"
    replies.write_text("No block at all.\n---\n" * 20)
    actions = place.folder / "actions.jsonl"
    edit = {"script_name": "train.py", "edit_instruction": "Say it.", "save_name": "train.py"}
    actions.write_text(json.dumps({"name": "Edit Script (AI)", "args": edit}))
    told = place.json(
        "run", place.task, "-a", "scripted", "-c", f"file={actions}", "-m", f"mock/{replies}", status=1
    )
    shown = " ".join(place("show", told["runs"][0]["folder"], "1").stdout.split())
    assert "was not saved" in shown and "smaller edit" in shown and "yourself" not in shown


def test_assist_shows_code_before_data_and_little_of_the_data(place):
    project = place.folder / "project"
    project.mkdir()
    (project / "train.py").write_text("print(1)\n")
    actions = place.folder / "actions.jsonl"
    rows = "".join(f"{number},{number}\n" for number in range(400))
    script = "".join(f"print({number})\n" for number in range(50))
    actions.write_text(
        "\n".join(
            json.dumps({"name": name, "args": args})
            for name, args in (
                ("Write File", {"file_name": "a_result.csv", "content": rows}),
                ("Write File", {"file_name": "train.py", "content": script}),
                ("Final Answer", {"final_answer": "Done."}),
            )
        )
    )
    place.environment["MLAGENTBENCH_STATE"] = str(place.folder / "state")
    done = place("assist", project, "Do it.", "-a", "scripted", "-c", f"file={actions}", "--yes")
    shown = done.stdout[done.stdout.index("changes ") :]
    assert shown.index("+++ b/train.py") < shown.index("a_result.csv")
    assert "+print(49)" in shown and "+5,5" in shown and "+100,100" not in shown
    assert "more lines of a_result.csv" in shown


def test_what_people_write_is_told_by_its_name():
    assert all(map(is_code, ("a/b.py", "Makefile", "conf.YAML", "requirements-dev.txt", "x.ipynb")))
    assert not any(map(is_code, ("data.csv", "log.txt", "a.json", "py", "model.bin", "b.py.orig")))

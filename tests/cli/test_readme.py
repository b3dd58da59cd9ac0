"""What the pages show is true: their examples run, and they name nothing that is not there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mlagentbench.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_agent_of_the_readme_has_at_most_twenty_lines_and_works(place):
    (agent,) = [block for block in blocks(README, "python") if block.startswith("# my_agent.py")]
    assert sum(bool(line.strip()) for line in agent.splitlines()) <= 20
    (place.folder / "my_agent.py").write_text(agent)
    (run,) = place.json("run", "house-price", "-a", "my_agent:ModelPicker")["runs"]
    assert run["summary"]["ended"] == "submitted", run["summary"]["detail"]
    assert run["summary"]["grade"]["success"] is True
    assert "the same verdict" in place("verify", "last").stdout


def test_the_agent_of_the_readme_is_graded_where_a_limit_comes_before_its_end(place):
    (agent,) = [block for block in blocks(README, "python") if block.startswith("# my_agent.py")]
    (place.folder / "my_agent.py").write_text(agent)
    asked = ("-a", "my_agent:ModelPicker", "--max-steps", 5)
    (run,) = place.json("run", "house-price", *asked)["runs"]
    assert run["summary"]["ended"] == "limit" and run["summary"]["steps"] == 5
    assert run["summary"]["grade"]["valid"] is True
    assert "This run has ended: there is nothing to resume." in place("resume", "last").stdout
    many = place.json("experiment", "-t", "house-price", *asked, "-w", "mine")
    assert many["complete"] and [each["summary"]["ended"] for each in many["runs"]] == ["limit"]


def test_the_way_from_an_own_agent_and_an_own_task_to_a_report_can_be_gone(place):
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    (agent,) = [block for block in blocks(page, "python") if block.startswith("# more_data.py")]
    (place.folder / "more_data.py").write_text(agent)
    place("new-task", "my-task")
    agents = "starter,more_data:MoreData,oracle"
    place("experiment", "-t", "house-price,./my-task", "-a", agents, "--runs", 1, "-w", "mine")
    place("report", "mine", "-o", "report")
    told = (place.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "more_data:MoreData" in told and "my-task" in told


def test_the_other_programs_of_the_pages_run(place):
    programs = [
        block
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"), "python")
        if "import mlagentbench" in block
    ]
    assert len(programs) >= 3
    for program in programs:
        subprocess.run(
            [sys.executable, "-c", program], cwd=place.folder, env=place.environment, check=True, timeout=1800
        )


def test_the_page_of_commands_is_the_one_that_the_commands_make():
    kept = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    # In a process of its own: what earlier tests called changes what the library keeps of a command's help.
    command = [sys.executable, "-m", "mlagentbench.cli.reference"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert kept.split() == made.split(), "python -m mlagentbench.cli.reference > docs/commands.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist_with_their_flags(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^\$ (?:\S*/)?mlagentbench (.+)$", text, re.MULTILINE):
        for part in re.split(r"&& *\S*mlagentbench ", line):
            words = shlex.split(part, comments=True)
            assert words[0] in COMMANDS, part
            command = cli.get_command(click.Context(cli), words[0])
            assert command is not None
            flags = {
                flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)
            }
            assert {word for word in words if word.startswith("-")} <= flags, part

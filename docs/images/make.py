"""Makes run.svg from a real run of the README's own agent: `python docs/images/make.py`."""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from mlagentbench import Action, run
from mlagentbench.cli.finding import find_run
from mlagentbench.cli.live import LiveWatch, tell_end
from mlagentbench.cli.screen import RichScreen

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"


class Picture(LiveWatch):
    """Leaves out what is said while the data are made ready, and the path of the scratch folder."""

    def __init__(self, screen: RichScreen, runs: Path) -> None:
        super().__init__(screen)
        self._runs = runs

    def action(self, index: int, action: Action) -> None:
        if self.folder is None:
            self.started(find_run("last", self._runs))
        super().action(index, action)

    def note(self, text: str) -> None:
        pass


def main() -> None:
    agent = re.findall(r"```python\n(# my_agent.py.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    console = Console(file=StringIO(), record=True, force_terminal=True, width=118, highlight=False)
    console.print("$ mlagentbench run house-price -a my_agent:ModelPicker", style="bold")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "my_agent.py").write_text(agent, encoding="utf-8")
        sys.path.append(folder)
        screen = RichScreen(console)
        runs = Path(folder, "runs")
        done = run("house-price", "my_agent:ModelPicker", runs=runs, watch=Picture(screen, runs))
        tell_end(screen, replace(done, folder=done.folder.relative_to(folder)))
    drawn = console.export_svg(title="mlagentbench", unique_id="run")
    # A picture must not fetch anything; the reader's own monospaced font will do.
    (HERE / "run.svg").write_text(
        re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL), encoding="utf-8"
    )


if __name__ == "__main__":
    main()

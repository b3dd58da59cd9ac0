"""Attacks by agent code, each with what must happen on each backend. `docs/sandbox.md` prints this table.

The attacker is told everything: the paths of the answers, the number of the harness's process, the ports on which
the host listens (environment variables, see `scene.py`). Whether an attack got through is judged from outside.
"""

from __future__ import annotations

from attacks.attack import STOPPED, Attack
from attacks.confusing import CONFUSING
from attacks.exhausting import EXHAUSTING
from attacks.network import NETWORK
from attacks.privileges import PRIVILEGES
from attacks.reading import READING
from attacks.surviving import SURVIVING
from attacks.writing import WRITING

__all__ = ["ATTACKS", "GROUPS", "STOPPED", "Attack", "table"]

GROUPS: dict[str, tuple[Attack, ...]] = {
    "Read what is hidden": READING,
    "Change what is not its own": WRITING,
    "Reach the network and other processes": NETWORK,
    "Outlive its step, hurt the harness": SURVIVING,
    "Exhaust the machine": EXHAUSTING,
    "Crash the harness by what lies in the workspace": CONFUSING,
    "Gain privileges": PRIVILEGES,
}
ATTACKS = {attack.name: attack for group in GROUPS.values() for attack in group}


def table() -> str:
    """All of them as Markdown, for the documentation."""
    lines = []
    for title, group in GROUPS.items():
        lines += [
            f"### {title}",
            "",
            "| attack | bubblewrap, namespaces | Landlock fallback | judged by |",
            "|---|---|---|---|",
        ]
        lines += [f"| {a.name} | {a.bwrap} | {a.landlock} | {a.judge.how} |" for a in group]
        lines.append("")
    return "\n".join(lines)

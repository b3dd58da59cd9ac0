"""A field of research that does not exist, made from a seed: for tasks about finding and citing papers.

It needs the standard library only, so that a task's `prepare.py` can import it.
"""

from __future__ import annotations

from mlagentbench.task.fiction.field import Field, Paper, Topic, make_fields

__all__ = ["Field", "Paper", "Topic", "make_fields"]

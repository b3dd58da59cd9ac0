"""What commands say to machines: one JSON document on standard output."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel


def print_json(value: Any) -> None:
    click.echo(json.dumps(plain(value), indent=1, ensure_ascii=True, allow_nan=False))


def plain(value: Any) -> Any:
    """Models, data classes and paths as JSON has them; what is no number becomes null."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

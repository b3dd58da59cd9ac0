"""Where this package keeps things: what can be made again, and what cannot."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Where data, interpreters, weights and downloads lie: `$MLAGENTBENCH_CACHE`, or where caches belong."""
    if own := os.environ.get("MLAGENTBENCH_CACHE"):
        return Path(own).expanduser().absolute()
    if (xdg := os.environ.get("XDG_CACHE_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "mlagentbench"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mlagentbench"
    return Path.home() / ".cache" / "mlagentbench"


def state_folder() -> Path:
    """Where runs on people's own problems lie unless somebody says where: `$MLAGENTBENCH_STATE`, or where what programs
    must keep belongs."""
    if own := os.environ.get("MLAGENTBENCH_STATE"):
        return Path(own).expanduser().absolute()
    if (xdg := os.environ.get("XDG_STATE_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "mlagentbench"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "mlagentbench"
    return Path.home() / ".local" / "state" / "mlagentbench"


def signing_key_file() -> Path:
    """Where the key of this installation lies: `$MLAGENTBENCH_SIGNING_KEY`, or beside what else must be kept. It lies
    never among runs, and what an agent wrote never sees it."""
    if own := os.environ.get("MLAGENTBENCH_SIGNING_KEY"):
        return Path(own).expanduser().absolute()
    return state_folder() / "signing.key"

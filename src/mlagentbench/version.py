"""The version of this package, kept equal to that in pyproject.toml by a test."""

__version__ = "0.1.0"

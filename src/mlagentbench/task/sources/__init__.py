"""Raw files of variants that are not made from a seed: fetched once and kept, or given by a person."""

from mlagentbench.task.sources.fetching import fetch_all

__all__ = ["fetch_all"]

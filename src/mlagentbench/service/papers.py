"""The paper index as programs see it: arXiv's Atom API and a scholar search, both over one file."""

from __future__ import annotations

from mlagentbench.service.atom import PATH, AtomApi, error_feed
from mlagentbench.service.catalogue import Catalogue
from mlagentbench.service.scholar import ROOT, ScholarApi, error_json
from mlagentbench.service.web import Answered, Asked, Site


def papers_site(catalogue: Catalogue) -> Site:
    """`/api/query` and `/graph/v1/paper/…`; GET only."""
    atom, scholar = AtomApi(catalogue), ScholarApi(catalogue)

    def answer(asked: Asked) -> Answered:
        is_atom = asked.path.rstrip("/") == PATH
        if not is_atom and not asked.path.startswith(ROOT):
            return error_json(404, f"There is {PATH} and {ROOT}search, {ROOT}ID, and nothing else.")
        if asked.method != "GET":
            refuse = error_feed if is_atom else error_json
            return refuse(405, "Only GET is answered.")
        return atom.answer(asked) if is_atom else scholar.answer(asked)

    return Site(answer, error_json)

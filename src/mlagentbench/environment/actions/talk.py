"""Actions that speak to people: asking for help, and submitting."""

from __future__ import annotations

from pydantic import Field

from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.outcome import Outcome, refused, told
from mlagentbench.environment.workbench import Workbench
from mlagentbench.record.steps import Observation


class RequestHelp(Arguments):
    request: str = Field(description="what you want to know from the person")


@action("Request Help", RequestHelp, effect="reads")
def request_help(bench: Workbench, args: RequestHelp) -> Outcome:
    """Ask the person who started this run."""
    if bench.ask is None:
        return refused("Nobody is there to answer: this run is not interactive. Go on without help.")
    return told(bench.ask(args.request))


class FinalAnswer(Arguments):
    final_answer: str = Field(description="what was done and what came of it, in a few sentences")


@action("Final Answer", FinalAnswer, shown=True, effect="ends")
def final_answer(bench: Workbench, args: FinalAnswer) -> Outcome:
    """Submit the workspace as it is. It ends the run and can be done once, so check before."""
    return Outcome(Observation(text="The workspace is submitted."), final=True)

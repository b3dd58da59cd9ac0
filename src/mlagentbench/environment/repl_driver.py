"""Runs inside the sandbox, on the task's interpreter, as `python -c`: executes what it is sent, keeps the state.

One JSON string a line comes in on standard input; when it was executed, one line goes out on the control channel.
"""

import ast
import json
import os
import sys
import traceback


def _main() -> None:
    commands = os.fdopen(os.dup(0), encoding="utf-8")
    control = int(os.environ.pop("MLAGENTBENCH_CONTROL_FD"))
    os.set_inheritable(control, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.argv = [""]
    sys.path.insert(0, "")
    state: dict[str, object] = {"__name__": "__main__", "__builtins__": __builtins__}
    for line in commands:
        ok = _execute(json.loads(line), state)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                ok = False
        os.write(control, b"done\n" if ok else b"failed\n")


def _execute(code: str, state: dict[str, object]) -> bool:
    try:
        tree = ast.parse(code, "<repl>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<repl>", "exec"), state)
        if last is not None:
            exec(compile(ast.Interactive([last]), "<repl>", "single"), state)
    except SystemExit as end:
        if end.code not in (None, 0):
            print(f"SystemExit: {end.code}", file=sys.stderr)
        return end.code in (None, 0)
    except BaseException:  # noqa: BLE001 - the agent's code may raise anything, and the interpreter must stay
        kind, error, trace = sys.exc_info()
        traceback.print_exception(kind, error, trace.tb_next if trace else None)
        return False
    return True


_main()

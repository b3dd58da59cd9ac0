"""Whether a script is Python at all: asked of the task's own interpreter, in the sandbox, because any text may come."""

from __future__ import annotations

from mlagentbench.environment.workbench import Workbench

_CHECK = """
import sys
try:
    compile(sys.stdin.buffer.read(), "script", "exec", dont_inherit=True)
except SyntaxError as error:
    print(f"line {error.lineno}: {error.msg}")
except Exception as error:
    print(f"{type(error).__name__}: {error}")
else:
    print("fine")
"""
_LONGEST = 300


def syntax_error(bench: Workbench, script: str) -> str:
    """Why `script` is no valid Python, in words; empty where it is."""
    said = bytearray()
    job = bench.job((str(bench.interpreter.python), "-I", "-W", "ignore", "-c", _CHECK))
    result = bench.sandbox.run(job, said.extend, stdin=script.encode())
    text = said.decode("utf-8", "replace").strip()
    if text == "fine" and result.exit_status == 0:
        return ""
    return text[-_LONGEST:] or "it cannot be compiled"

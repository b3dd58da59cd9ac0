"""A program that is an agent: reads the problem, asks its model for a script, writes it, runs it, looks at the score.

It knows nothing of this package: a few variables of its environment are all that it is told. Standard library only.
"""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path

problem = Path(os.environ["MLAGENTBENCH_PROBLEM"]).read_text()
messages = [{"role": "user", "content": f"{problem}\n\nReply with a whole train.py in one block of code."}]
for turn in range(int(os.environ.get("TURNS", "2"))):
    body = json.dumps({"model": os.environ["MLAGENTBENCH_MODEL"], "messages": messages}).encode()
    request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body)
    request.add_header("Authorization", f"Bearer {os.environ['OPENAI_API_KEY']}")
    with urllib.request.urlopen(request) as answered:
        said = json.load(answered)["choices"][0]["message"]["content"]
    print(f"turn {turn + 1}: {said[:60]!r}", flush=True)
    Path("train.py").write_text(re.search(r"```python\n(.*?)```", said, re.DOTALL)[1])
    done = subprocess.run(["python", "train.py"], capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, flush=True)
    messages += [
        {"role": "assistant", "content": said},
        {"role": "user", "content": done.stdout + done.stderr},
    ]
if not Path(os.environ["MLAGENTBENCH_SUBMISSION"]).exists():
    raise SystemExit("nothing to submit")

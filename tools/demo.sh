#!/bin/sh
# Prepares a task and compares two agents on it, three runs each. `make demo` calls it with the installed command.
set -eu

command=${1:-mlagentbench}
runs=${2:-runs}

again=""
[ "$runs" = runs ] || again=" -o $runs"

say() {
    printf '\n== %s\n' "$1"
}

say "What works on this machine"
"$command" doctor

say "Preparing house-price, mini variant (synthetic data; no account needed)"
"$command" prepare house-price --variant mini

say "starter: runs the code that every agent finds, and submits"
"$command" run house-price --agent starter --runs 3 --experiment demo --folder "$runs"

say "oracle: lays the task's own solution over it, runs it, and submits"
"$command" run house-price --agent oracle --runs 3 --experiment demo --folder "$runs"

say "Compared"
"$command" compare "$runs/demo"

say "The runs lie in $runs/demo. What to try next:"
cat <<NEXT
  read the last run                     $command show last$again
  its first step, with the diff         $command show last 1$again
  go on from there yourself             $command fork last --step 1 -a human$again
  be the agent from the beginning       $command run house-price -a human$again
  another task                          $command run vectorization -a starter$again
  check that every run is what it says  $command verify $runs/demo
  a real language model, without a key  $(dirname "$command")/pip install -q '.[local]' && $command model fetch qwen2.5-coder-1.5b
                                        $command run house-price -a research --profile small -m local/qwen2.5-coder-1.5b$again
NEXT

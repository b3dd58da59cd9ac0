#!/bin/sh
# Installs bubblewrap where it is missing and we may; otherwise says so and lets the next backend serve.
set -eu
if command -v bwrap >/dev/null 2>&1; then exit 0; fi
if [ "$(uname -s)" != Linux ]; then
    echo "Not Linux: bubblewrap is not available here. 'mlagentbench doctor' says what to use instead."
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing bubblewrap, the default sandbox ..."
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap; } >/dev/null 2>&1; then exit 0; fi
elif [ "$(id -u)" = 0 ] && command -v dnf >/dev/null 2>&1; then
    if dnf install -y -q bubblewrap >/dev/null 2>&1; then exit 0; fi
fi
echo "bubblewrap is missing and was not installed; going on with the next backend. 'mlagentbench doctor' says what helps."

#!/bin/sh
# Installs tmux, in which tests sit at a terminal, where it is missing and we may; otherwise those tests are skipped.
set -eu
if command -v tmux >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing tmux, for tests ..."
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq tmux; } >/dev/null 2>&1; then exit 0; fi
elif [ "$(id -u)" = 0 ] && command -v dnf >/dev/null 2>&1; then
    if dnf install -y -q tmux >/dev/null 2>&1; then exit 0; fi
fi
echo "tmux is missing and was not installed; tests that need it are skipped."

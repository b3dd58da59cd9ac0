#!/bin/sh
# Installs bubblewrap where it is missing and we may; otherwise says what happens without it.
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
echo "bubblewrap is not installed, so runs use the strongest other sandbox that works here, first namespaces, then Landlock; 'mlagentbench doctor' says which."

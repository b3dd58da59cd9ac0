#!/bin/sh
# Installs Chromium, which the tests open reports in, where it is missing and we may; otherwise those tests are skipped.
set -eu
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium, for the tests of reports ..."
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1; then exit 0; fi
elif [ "$(id -u)" = 0 ] && command -v dnf >/dev/null 2>&1; then
    if dnf install -y -q chromium >/dev/null 2>&1; then exit 0; fi
fi
echo "Chromium is missing and was not installed; the tests that open a report in it are skipped."

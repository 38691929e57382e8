#!/usr/bin/env bash
# Install what tests use beside the platform, where there is apt-get. A test whose program is missing nevertheless is skipped and says so; with
# CI set it fails.
set -uo pipefail
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >/dev/null; }

# The browser routes of the command server drive it.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
command -v apt-get >/dev/null || exit 0
echo "installing chromium"
install chromium || { as_root apt-get update -q >/dev/null && install chromium; } || echo "chromium could not be installed" >&2

#!/usr/bin/env bash
# Install what tests look through and Debian has: tmux as a real terminal, zsh and fish for their completion scripts, a browser for pages and for
# the browser routes of the command server. Where that is not possible the tests that need them are skipped and say so; with CI set they fail.
set -uo pipefail
missing=()
for tool in tmux zsh fish; do command -v "$tool" >/dev/null || missing+=("$tool"); done
for name in chromium chromium-browser google-chrome ""; do command -v "$name" >/dev/null && break; done
[ -n "$name" ] || missing+=(chromium)
if [ ${#missing[@]} -eq 0 ] || ! command -v apt-get >/dev/null; then exit 0; fi
echo "installing ${missing[*]}" >&2
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2; }
install || { as_root apt-get update -q >&2 && install; } || echo "${missing[*]} could not be installed" >&2

#!/usr/bin/env bash
# Install what tests look through and Debian has: tmux as a real terminal, zsh and fish for their completion scripts.
# Where that is not possible the tests that need them are skipped.
set -uo pipefail
missing=()
for tool in tmux zsh fish; do command -v "$tool" >/dev/null || missing+=("$tool"); done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing ${missing[*]}" >&2
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2; }
install || { as_root apt-get update -q >&2 && install; } || echo "${missing[*]} could not be installed; the tests that need them are skipped" >&2

#!/usr/bin/env bash
# Fail when gen/ is not what scripts/generate.sh writes from proto/ and openapi/.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$root/scripts/generate.sh" "$fresh"
if ! diff -r "$root/gen" "$fresh/gen"; then
  echo "gen/ is stale: run 'make generate' and commit the result (< is what is committed, > is what proto/ and openapi/ give)" >&2
  exit 1
fi

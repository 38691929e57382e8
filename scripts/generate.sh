#!/usr/bin/env bash
# Write gen/ from proto/ and openapi/: the only writer of it, and the same input gives the same bytes.
# Usage: scripts/generate.sh [directory that gets gen/, default the repository]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
destination=$(mkdir -p "${1:-$root}" && cd "${1:-$root}" && pwd)
cd "$root"
PATH="$("$root/scripts/toolchain.sh"):$root/node_modules/.bin:$PATH"
export PATH REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

buf generate --output "$destination"

rm -rf "$destination/gen/openapi"
mkdir -p "$destination/gen/openapi"
for document in openapi/*.yaml; do
  name=$(basename "$document" .yaml)
  # These serve nothing themselves; the others refer to them and their bundles contain what they use of them.
  case "$name" in common | isolation | network | records | templates | volumes) continue ;; esac
  bundle="$destination/gen/openapi/$name"
  # YAML for readers, JSON for the control plane, which validates requests and answers with it.
  redocly bundle "$document" --output "$bundle.yaml" 2>"$destination/gen/openapi/log" || { cat "$destination/gen/openapi/log" >&2; exit 1; }
  redocly bundle "$document" --output "$bundle.json" 2>"$destination/gen/openapi/log" || { cat "$destination/gen/openapi/log" >&2; exit 1; }
  rm -f "$destination/gen/openapi/log"
  # A field with a default may still be left out of a request, so defaults do not make it required.
  openapi-typescript "$bundle.yaml" --output "$bundle.ts" --default-non-nullable false >/dev/null
done

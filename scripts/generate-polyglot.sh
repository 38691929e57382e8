#!/usr/bin/env bash
# Write Python and Go for the whole contract: messages and clients from proto/, REST types from openapi/. Nothing of it is committed.
# Usage: scripts/generate-polyglot.sh [python|go] [directory], by default both, each below test/conformance/generated-<language>/gen/.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
PATH="$("$root/scripts/toolchain.sh"):$root/node_modules/.bin:$PATH"
export PATH
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

prepare_python() {
  local suite=$root/test/conformance/generated-python
  if ! cmp -s "$suite/requirements.txt" "$suite/.venv/.installed-requirements"; then
    rm -rf "$suite/.venv"
    python3 -m venv "$suite/.venv" 2>/dev/null || {
      as_root apt-get install -q -y --no-install-recommends python3-venv >&2
      rm -rf "$suite/.venv" && python3 -m venv "$suite/.venv"
    }
    "$suite/.venv/bin/pip" install --quiet --disable-pip-version-check --no-input --only-binary :all: --requirement "$suite/requirements.txt"
    cp "$suite/requirements.txt" "$suite/.venv/.installed-requirements"
  fi
  PATH="$suite/.venv/bin:$PATH"
}

prepare_go() {
  local suite=$root/test/conformance/generated-go
  if ! cmp -s "$suite/go.mod" "$suite/.bin/.built-go.mod"; then
    mkdir -p "$suite/.bin"
    (cd "$suite" && GOTOOLCHAIN=local GOBIN="$suite/.bin" go install tool)
    cp "$suite/go.mod" "$suite/.bin/.built-go.mod"
  fi
  PATH="$suite/.bin:$PATH"
}

rest_python() {
  datamodel-codegen --input gen/openapi/lifecycle.yaml --input-file-type openapi --output "$1/gen/python/lifecycle_rest.py" \
    --output-model-type dataclasses.dataclass --formatters builtin --target-python-version 3.11 --disable-timestamp
}

rest_go() {
  mkdir -p "$1/gen/go/lifecycle"
  local settings
  settings=$(mktemp)
  printf '%s\n' 'package: lifecycle' "output: $1/gen/go/lifecycle/lifecycle.go" 'generate: {models: true}' \
    'output-options: {skip-prune: true, resolve-type-name-collisions: true}' >"$settings"
  oapi-codegen -config "$settings" gen/openapi/lifecycle.yaml
  rm -f "$settings"
}

generate() {
  local language=$1 directory=$2 template
  "prepare_$language"
  mkdir -p "$directory"
  template=$(node -p 'const it = require("yaml").parse(fs.readFileSync("buf.gen.polyglot.yaml", "utf8")); it.plugins = it.plugins.filter(({ out }) => out === `gen/${process.argv[1]}`); JSON.stringify(it)' "$language")
  buf generate --template "$template" --output "$directory"
  "rest_$language" "$directory"
  echo "wrote $directory/gen/$language"
}

for language in ${1:-python go}; do
  generate "$language" "${2:-$root/test/conformance/generated-$language}"
done

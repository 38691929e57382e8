#!/usr/bin/env bash
# Drive our platform with clients that are not ours, unmodified, and our entry with the programs of such a client.
# Usage: scripts/conformance.sh [--install-only] [suite ...], suites: e2b-js e2b-cli e2b-versions e2b-entry e2b-python
# code-interpreter-js code-interpreter-python server-python generated-python generated-go. All of them when none is named.
# Needs `npm run build` and `abx setup`; those that run code build their template when it is missing. A run of all suites compares
# docs/compatibility-matrix.md with what it gave.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$("$root/scripts/toolchain.sh"):$PATH" || exit 1
export PATH
cd "$root/test/conformance" || exit 1

install_npm() (
  cd "$1" && { cmp -s package-lock.json node_modules/.installed-lock || { npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock; }; }
)

make_venv() {
  rm -rf .venv
  python3 -m venv .venv 2>/dev/null || {
    echo "installing python3-venv" >&2
    { [ "$(id -u)" = 0 ] && as_root= || as_root=sudo; } && $as_root apt-get install -q -y --no-install-recommends python3-venv >&2
    rm -rf .venv && python3 -m venv .venv
  }
}
pip_install() { .venv/bin/pip install --quiet --disable-pip-version-check --no-input "$@"; }

# A virtual environment with what the suite's requirements.txt names.
install_pypi() (
  cd "$1" || exit 1
  cmp -s requirements.txt .venv/.installed-requirements && exit 0
  make_venv && pip_install --only-binary :all: --requirement requirements.txt && cp requirements.txt .venv/.installed-requirements
)

# Beside each other in one virtual environment, a folder for each requirements-<release>.txt.
install_pypi_releases() (
  cd "$1" || exit 1
  cat requirements-*.txt | cmp -s - .venv/.installed-requirements && exit 0
  make_venv || exit 1
  for file in requirements-*.txt; do
    release=${file#requirements-}
    pip_install --only-binary :all: --target ".venv/releases/${release%.txt}" --requirement "$file" || exit 1
  done
  cat requirements-*.txt >.venv/.installed-requirements
)

# Debian's own Go is too old for the generators, and nothing is fetched from elsewhere: without a newer one the suite is left out.
has_go() { (cd generated-go && GOTOOLCHAIN=local go list -m) >/dev/null 2>&1; }

install_suite() {
  case "$1" in
    generated-python) "$root/scripts/generate-polyglot.sh" python ;;
    generated-go) ! has_go || { "$root/scripts/generate-polyglot.sh" go && (cd generated-go && GOTOOLCHAIN=local go build -o .bin/checks .); } ;;
    *-python) install_pypi "$1" ;;
    e2b-versions) install_npm "$1" && install_pypi_releases "$1" ;;
    # Our own entry is driven by the checks of the client that it stands for.
    e2b-entry) install_npm e2b-js ;;
    *) install_npm "$1" ;;
  esac
}

# Builds what is missing; otherwise it takes a moment.
build_templates() { node "$root/dist/cli/abx.js" setup --all >&2; }

run_suite() {
  case "$1" in
    # Needs no platform: it is about what runs inside.
    server-python) PYTHONDONTWRITEBYTECODE=1 node server-python/run.mjs ;;
    generated-go)
      if has_go; then node with-platform.mjs generated-go/.bin/checks
      else echo "conformance generated-go: left out, because this machine has no Go as new as generated-go/go.mod asks for"; fi ;;
    e2b-entry) node with-platform.mjs node --import ./e2b-entry/redirect.mjs e2b-entry/run.mjs ;;
    *-python) PYTHONDONTWRITEBYTECODE=1 node with-platform.mjs "$1/.venv/bin/python" "$1/run.py" ;;
    *) node with-platform.mjs node "$1/run.mjs" ;;
  esac
}

failed=0
install_only=
[ "${1:-}" != --install-only ] || { install_only=1; shift; }
results="$root/node_modules/.cache/conformance"
is_whole=
[ $# -gt 0 ] || {
  is_whole=1
  rm -rf "$results"
}
export CONFORMANCE_RESULTS="$results"
[ $# -gt 0 ] || set -- e2b-js e2b-cli e2b-versions e2b-entry e2b-python code-interpreter-js code-interpreter-python server-python generated-python generated-go
for suite in "$@"; do
  if ! install_suite "$suite"; then
    echo "conformance $suite: the client could not be installed" >&2
    failed=1
    continue
  fi
  [ -z "$install_only" ] || continue
  case "$suite" in code-interpreter-*) build_templates || { failed=1; continue; } ;; esac
  run_suite "$suite" || failed=1
done
if [ -n "$is_whole" ] && [ -z "$install_only${CONFORMANCE_ONLY:-}" ]; then
  node "$root/scripts/compatibility-matrix.mjs" "$results" || failed=1
fi
exit $failed

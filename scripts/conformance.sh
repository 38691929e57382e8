#!/usr/bin/env bash
# Drive our platform with clients that are not ours, unmodified, and our entry with the programs of such a client.
# Usage: scripts/conformance.sh [--install-only] [suite ...], suites: e2b-js e2b-entry e2b-python code-interpreter-js code-interpreter-python
# server-python. All of them when none is named. Needs `npm run build` and `abx setup`; those that run code build their template when it is missing.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$("$root/scripts/toolchain.sh"):$PATH" || exit 1
export PATH
cd "$root/test/conformance" || exit 1

install_npm() (
  cd "$1" && { cmp -s package-lock.json node_modules/.installed-lock || { npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock; }; }
)

# A virtual environment with what the suite's requirements.txt names.
install_pypi() (
  cd "$1" || exit 1
  cmp -s requirements.txt .venv/.installed-requirements && exit 0
  rm -rf .venv
  python3 -m venv .venv 2>/dev/null || {
    echo "installing python3-venv" >&2
    { [ "$(id -u)" = 0 ] && as_root= || as_root=sudo; } && $as_root apt-get install -q -y --no-install-recommends python3-venv >&2
    rm -rf .venv && python3 -m venv .venv
  } || exit 1
  .venv/bin/pip install --quiet --disable-pip-version-check --no-input --only-binary :all: --requirement requirements.txt &&
    cp requirements.txt .venv/.installed-requirements
)

# Builds what is missing; otherwise it takes a moment.
build_templates() { node "$root/dist/cli/abx.js" setup --all >&2; }

run_suite() {
  case "$1" in
    # Needs no platform: it is about what runs inside.
    server-python) PYTHONDONTWRITEBYTECODE=1 node server-python/run.mjs ;;
    e2b-entry) node with-platform.mjs node --import ./e2b-entry/redirect.mjs e2b-entry/run.mjs ;;
    *-python) PYTHONDONTWRITEBYTECODE=1 node with-platform.mjs "$1/.venv/bin/python" "$1/run.py" ;;
    *) node with-platform.mjs node "$1/run.mjs" ;;
  esac
}


failed=0
install_only=
[ "${1:-}" != --install-only ] || { install_only=1; shift; }
[ $# -gt 0 ] || set -- e2b-js e2b-entry e2b-python code-interpreter-js code-interpreter-python server-python
for suite in "$@"; do
  # Our own entry is driven by the checks of the client that it stands for.
  case "$suite" in *-python) registry=pypi client=$suite ;; e2b-entry) registry=npm client=e2b-js ;; *) registry=npm client=$suite ;; esac
  if ! "install_$registry" "$client"; then
    echo "conformance $suite: the client could not be installed" >&2
    failed=1
    continue
  fi
  [ -z "$install_only" ] || continue
  case "$suite" in code-interpreter-*) build_templates || { failed=1; continue; } ;; esac
  run_suite "$suite" || failed=1
done
exit $failed

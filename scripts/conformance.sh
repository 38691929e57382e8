#!/usr/bin/env bash
# Drive our platform with clients that are not ours, unmodified, and our entry with the programs of such a client.
# Usage: scripts/conformance.sh [--install-only] [suite ...], suites: e2b-js e2b-entry e2b-python. All of them when none is named. Needs `npm run build` and `abx setup`.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$("$root/scripts/toolchain.sh"):$PATH" || exit 1
export PATH
cd "$root/test/conformance" || exit 1

prepare_e2b-js() {
  (cd e2b-js && { cmp -s package-lock.json node_modules/.installed-lock || { npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock; }; })
}
run_e2b-js() { node with-platform.mjs node e2b-js/run.mjs; }

# The same checks through our own entry for programs that were written for e2b.
prepare_e2b-entry() { prepare_e2b-js; }
run_e2b-entry() { node with-platform.mjs node --import ./e2b-entry/redirect.mjs e2b-entry/run.mjs; }

prepare_e2b-python() (
  cd e2b-python || exit 1
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
run_e2b-python() { PYTHONDONTWRITEBYTECODE=1 node with-platform.mjs e2b-python/.venv/bin/python e2b-python/run.py; }

failed=0
install_only=
[ "${1:-}" != --install-only ] || { install_only=1; shift; }
[ $# -gt 0 ] || set -- e2b-js e2b-entry e2b-python
for suite in "$@"; do
  if ! "prepare_$suite"; then
    echo "conformance $suite: the client could not be installed" >&2
    failed=1
    continue
  fi
  [ -n "$install_only" ] || "run_$suite" || failed=1
done
exit $failed

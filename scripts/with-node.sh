#!/usr/bin/env bash
# Run a command with the project's Node and tools first in PATH. Usage: scripts/with-node.sh <command> [arguments]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
node_dir=$("$root/scripts/toolchain.sh")
export PATH="$node_dir:$root/node_modules/.bin:$PATH"
exec "$@"

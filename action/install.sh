#!/usr/bin/env bash
# Puts `modelmeter` on the path: the one that is there, or one built from this action's own source.
set -euo pipefail

if command -v modelmeter >/dev/null; then
    modelmeter --version
    exit 0
fi
root="${RUNNER_TEMP:-/tmp}/modelmeter"
cargo install --locked --path "$GITHUB_ACTION_PATH/crates/cli" --root "$root"
echo "$root/bin" >>"$GITHUB_PATH"
"$root/bin/modelmeter" --version

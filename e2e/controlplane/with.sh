#!/bin/bash
# with.sh CMD...: start a control plane of its own, run CMD with KUBECONFIG and E2E_KUBECONFIG pointing to it, stop it again.
# The exit code is that of CMD. Without Go: says "skipped: go not found" and exits with 77.
#   KP_BIN   folder of ready binaries (default: what build.sh prints, building them on first use)
#   KP_KEEP  set: leave logs and state behind and say where
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -gt 0 ] || { echo "usage: with.sh CMD..." >&2; exit 2; }
rc=0; BIN=${KP_BIN:-$("$HERE/build.sh")} || rc=$?
[ $rc = 0 ] || exit $rc
RUN=$(mktemp -d "${TMPDIR:-/tmp}/kplane.XXXXXX")
export KP_BIN=$BIN KP_RUN=$RUN KP_PORT=${KP_PORT:-random}
stop() { "$HERE/down.sh"; if [ -n "${KP_KEEP:-}" ]; then echo "kept: $RUN" >&2; else rm -rf "$RUN"; fi; }
trap stop EXIT
trap 'exit 130' INT TERM
"$HERE/up.sh" >&2
KUBECONFIG=$RUN/kubeconfig E2E_KUBECONFIG=$RUN/kubeconfig "$@" || rc=$?
exit $rc

#!/bin/bash
# restore.sh: stops the control plane in $KP_RUN, puts $KP_RUN/etcd.backup (of backup.sh) in the place of what etcd has, and starts everything again
# as up.sh did, as an operator restores a cluster. Resource versions go back. Clients of the API server are not told.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUN=$(realpath -m "${KP_RUN:?the state folder of a control plane}"); export KP_RUN=$RUN; cd "$RUN"
[ -d etcd.backup ] || { echo "there is no backup in $RUN" >&2; exit 1; }
"$HERE/down.sh"
rm -rf etcd; cp -a etcd.backup etcd
. ./ports
# `exec`, so that the recorded pid is that of the program.
start() { eval "exec setsid $(cat "$1.command")" >>"log/$1.log" 2>&1 </dev/null & echo $! > "$1.pid"; }
ready() { curl -fsS -o /dev/null --max-time 2 --cacert pki/ca.crt -H "Authorization: Bearer $TOKEN" "$URL/readyz" 2>/dev/null; }
start etcd; start kube-apiserver
for _ in $(seq 1200); do ready && break; sleep 0.05; done
ready || { echo "apiserver not ready after the restore" >&2; tail -20 log/kube-apiserver.log >&2; exit 1; }
for n in kube-controller-manager kube-scheduler kwok; do start "$n"; done

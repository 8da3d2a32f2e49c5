#!/bin/bash
# down.sh: stop what up.sh started in $KP_RUN (default as up.sh), by recorded pid: TERM to all, KILL what is left after 1 s
# (an apiserver with open watches takes up to a minute to go by itself).
RUN=$(realpath -m "${KP_RUN:-${TMPDIR:-/tmp}/kplane-run}"); pids=()
for n in kwok kube-scheduler kube-controller-manager kube-apiserver etcd; do
  f=$RUN/$n.pid; [ -e "$f" ] || continue; p=$(cat "$f"); rm -f "$f"
  # A pid may have been given to a stranger since: ours are those that run in this state folder.
  [ "$(readlink "/proc/$p/cwd" 2>/dev/null)" = "$RUN" ] && kill -TERM "$p" 2>/dev/null && pids+=("$p")
done
for _ in $(seq 20); do
  left=0
  for p in "${pids[@]}"; do kill -0 "$p" 2>/dev/null && left=1; done
  [ $left = 0 ] && exit 0
  sleep 0.05
done
for p in "${pids[@]}"; do kill -KILL "$p" 2>/dev/null; done
true

#!/bin/bash
# backup.sh: copies what etcd has stored in $KP_RUN to $KP_RUN/etcd.backup while everything goes on. etcd stands still meanwhile: what its files
# hold then is what a killed etcd would leave, and starts from.
set -euo pipefail
RUN=$(realpath -m "${KP_RUN:?the state folder of a running control plane}"); cd "$RUN"
ETCD=$(cat etcd.pid)
trap 'kill -CONT "$ETCD"' EXIT
kill -STOP "$ETCD"
rm -rf etcd.backup; cp -a etcd etcd.backup

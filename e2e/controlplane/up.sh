#!/bin/bash
# up.sh: start etcd + kube-apiserver + kube-controller-manager + kube-scheduler + kwok on 127.0.0.1.
#   KP_RUN    state dir (default a folder under TMPDIR); one control plane per dir
#   KP_PORT   first of 6 consecutive ports (default 26440; "random" picks a free block)
#   KP_NODES  fake nodes (default 3)        KP_AUTHZ  RBAC (default) or AlwaysAllow
#   KP_BIN    folder of the binaries (default what build.sh prints) KP_EXTRA_APISERVER  extra apiserver flags
# Leaves $KP_RUN/kubeconfig. Stop with down.sh (same KP_RUN).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BIN=${KP_BIN:-$("$HERE/build.sh")}; RUN=$(realpath -m "${KP_RUN:-${TMPDIR:-/tmp}/kplane-run}"); PORT=${KP_PORT:-26440}; NODES=${KP_NODES:-3}
AUTHZ=${KP_AUTHZ:-RBAC}; ETCD=${KP_ETCD:-$BIN/etcd}
T0=$(date +%s%N); say() { printf '%6d ms  %s\n' $(( ($(date +%s%N)-T0)/1000000 )) "$*"; }
for p in "$RUN"/*.pid; do
  [ -e "$p" ] && kill -0 "$(cat "$p")" 2>/dev/null && { echo "already running in $RUN (see $p); run down.sh first" >&2; exit 1; }
done
if [ "$PORT" = random ]; then
  for _ in $(seq 50); do
    PORT=$(( 20000 + (RANDOM % 2000) * 6 )); ok=1
    for i in 0 1 2 3 4 5; do (exec 3<>/dev/tcp/127.0.0.1/$((PORT+i))) 2>/dev/null && ok=0; done
    [ $ok = 1 ] && break
  done
fi
P_ETCD=$PORT P_PEER=$((PORT+1)) P_API=$((PORT+2)) P_KCM=$((PORT+3)) P_SCHED=$((PORT+4)) P_KWOK=$((PORT+5))
rm -rf "$RUN"; mkdir -p "$RUN/pki" "$RUN/log"; chmod 700 "$RUN"; cd "$RUN"
URL=https://127.0.0.1:$P_API

# --- certificates: one throw-away CA, EC keys (fast) ---
cat > pki/ossl.cnf <<C
[req]
distinguished_name=dn
[dn]
[ca]
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign,digitalSignature
subjectKeyIdentifier=hash
[leaf]
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth,clientAuth
authorityKeyIdentifier=keyid
subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:10.0.0.1
C
O="openssl req -config pki/ossl.cnf -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650"
$O -extensions ca -subj "/CN=kplane-ca" -keyout pki/ca.key -out pki/ca.crt 2>/dev/null
leaf() { $O -extensions leaf -CA pki/ca.crt -CAkey pki/ca.key -subj "$2" -keyout "pki/$1.key" -out "pki/$1.crt" 2>/dev/null; }
leaf apiserver "/CN=kube-apiserver"
leaf admin "/O=system:masters/CN=admin"
leaf front-proxy "/CN=front-proxy-client"
openssl ecparam -name prime256v1 -genkey -noout -out pki/sa.key
openssl ec -in pki/sa.key -pubout -out pki/sa.pub 2>/dev/null
ADMIN=$(openssl rand -hex 16); KCM=$(openssl rand -hex 16); SCHED=$(openssl rand -hex 16)
cat > pki/tokens.csv <<C
$ADMIN,admin,admin,"system:masters"
$KCM,system:kube-controller-manager,kcm,"system:masters"
$SCHED,system:kube-scheduler,sched,"system:masters"
C
CA64=$(base64 -w0 < pki/ca.crt)
kc() { cat > "$1" <<C
apiVersion: v1
kind: Config
clusters: [{name: kplane, cluster: {server: "$URL", certificate-authority-data: $CA64}}]
users: [{name: $2, user: {token: $3}}]
contexts: [{name: kplane, context: {cluster: kplane, user: $2, namespace: default}}]
current-context: kplane
C
chmod 600 "$1"; }
kc kubeconfig admin "$ADMIN"; kc kcm.kubeconfig kcm "$KCM"; kc sched.kubeconfig sched "$SCHED"
cat > ports <<C
ETCD=$P_ETCD API=$P_API KCM=$P_KCM SCHED=$P_SCHED KWOK=$P_KWOK URL=$URL TOKEN=$ADMIN
C
say "certs and kubeconfigs"

# What is started stands in NAME.command, for restore.sh.
start() { local n=$1; shift; printf '%q ' "$@" > "$n.command"; setsid "$@" >>"log/$n.log" 2>&1 </dev/null & echo $! > "$n.pid"; }
alive() { kill -0 "$(cat "$1.pid")" 2>/dev/null || { echo "$1 died:" >&2; tail -5 "log/$1.log" >&2; "$HERE/down.sh"; exit 1; }; }
export KP_RUN=$RUN

start etcd "$ETCD" --name kplane --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level=warn \
  --listen-client-urls http://127.0.0.1:$P_ETCD --advertise-client-urls http://127.0.0.1:$P_ETCD \
  --listen-peer-urls http://127.0.0.1:$P_PEER --initial-advertise-peer-urls http://127.0.0.1:$P_PEER \
  --initial-cluster kplane=http://127.0.0.1:$P_PEER
start kube-apiserver "$BIN/kube-apiserver" --etcd-servers=http://127.0.0.1:$P_ETCD \
  --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port=$P_API --endpoint-reconciler-type=none \
  --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --client-ca-file=pki/ca.crt \
  --token-auth-file=pki/tokens.csv --authorization-mode=$AUTHZ \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=pki/sa.pub \
  --service-account-signing-key-file=pki/sa.key --service-cluster-ip-range=10.0.0.0/16 \
  --requestheader-client-ca-file=pki/ca.crt --requestheader-allowed-names=front-proxy-client \
  --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
  --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --proxy-client-cert-file=pki/front-proxy.crt --proxy-client-key-file=pki/front-proxy.key \
  --allow-privileged=true --profiling=false ${KP_EXTRA_APISERVER:-}
ready() { curl -fsS -o /dev/null --max-time 2 --cacert pki/ca.crt -H "Authorization: Bearer $ADMIN" "$URL/$1" 2>/dev/null; }
for _ in $(seq 1200); do ready readyz && break; alive etcd; alive kube-apiserver; sleep 0.05; done
ready readyz || { echo "apiserver not ready" >&2; tail -20 log/kube-apiserver.log >&2; "$HERE/down.sh"; exit 1; }
say "apiserver /readyz"

start kube-controller-manager "$BIN/kube-controller-manager" --kubeconfig=kcm.kubeconfig --leader-elect=false \
  --authentication-kubeconfig=kcm.kubeconfig --authorization-kubeconfig=kcm.kubeconfig \
  --bind-address=127.0.0.1 --secure-port=$P_KCM --profiling=false --cluster-name=kplane \
  --service-account-private-key-file=pki/sa.key --root-ca-file=pki/ca.crt \
  --cluster-signing-cert-file=pki/ca.crt --cluster-signing-key-file=pki/ca.key \
  --kube-api-qps=500 --kube-api-burst=1000 --concurrent-gc-syncs=20
start kube-scheduler "$BIN/kube-scheduler" --kubeconfig=sched.kubeconfig --leader-elect=false \
  --authentication-kubeconfig=sched.kubeconfig --authorization-kubeconfig=sched.kubeconfig \
  --bind-address=127.0.0.1 --secure-port=$P_SCHED --profiling=false --kube-api-qps=500 --kube-api-burst=1000
start kwok "$BIN/kwok" --kubeconfig="$RUN/kubeconfig" --config="$BIN/kwok-stages.yaml" --config="$HERE/stages.yaml" --manage-all-nodes=true \
  --node-ip=127.0.0.1 --node-port=$P_KWOK --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --server-address=127.0.0.1:$P_KWOK --cidr=10.64.0.0/16 --node-lease-duration-seconds=40
for i in $(seq 0 $((NODES-1))); do cat <<C
---
apiVersion: v1
kind: Node
metadata:
  name: node-$i
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
  labels: {kubernetes.io/arch: amd64, kubernetes.io/os: linux, kubernetes.io/hostname: node-$i, type: kwok, node-role.kubernetes.io/agent: ""}
status:
  allocatable: {cpu: "32", memory: 256Gi, pods: "1000"}
  capacity: {cpu: "32", memory: 256Gi, pods: "1000"}
C
done > nodes.yaml
K="$BIN/kubectl --kubeconfig=kubeconfig"
[ "$NODES" -gt 0 ] && $K create -f nodes.yaml >/dev/null
api() { curl -fsS --max-time 5 --cacert pki/ca.crt -H "Authorization: Bearer $ADMIN" "$URL$1" 2>/dev/null; }
for _ in $(seq 600); do
  for p in etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do alive $p; done
  n=$(api /api/v1/nodes | tr -d ' \n' | grep -o '"type":"Ready","status":"True"' | wc -l) || true
  [ "$n" -ge "$NODES" ] && api /api/v1/namespaces/default/serviceaccounts/default >/dev/null \
    && curl -fsSk -o /dev/null --max-time 2 https://127.0.0.1:$P_SCHED/readyz 2>/dev/null && break
  sleep 0.05
done
say "all ready: export KUBECONFIG=$RUN/kubeconfig"

#!/bin/bash
# kruise.sh: builds the real manager of OpenKruise from its Go module into a cache folder and prints that folder: `manager`, and its
# definitions in `crds/`. Needs Go and the Go module proxy; about 220 CPU-seconds the first time, nothing after that.
# Without Go, or where the module cannot be had, it says "skipped: …" and exits with 77.
set -euo pipefail
VERSION=v1.8.0
SUM="h1:cU5XG9tur17j/CuY+iCTlxOtJ0GNTtJjMLurhh+25YQ="   # of the module; what it requires is pinned by its own go.sum
command -v go >/dev/null || { echo "skipped: go not found" >&2; exit 77; }
OUT=${XDG_CACHE_HOME:-$HOME/.cache}/kruise-$VERSION
mkdir -p "$OUT"
exec 9>"$OUT/.building"; flock 9   # two runs at once build it once
if [ ! -x "$OUT/manager" ]; then
  TMP=$(mktemp -d "$OUT/build.XXXXXX"); trap 'rm -rf "$TMP"' EXIT
  cd "$TMP"
  go mod download -json "github.com/openkruise/kruise@$VERSION" > module.json || { echo "skipped: OpenKruise $VERSION cannot be downloaded" >&2; exit 77; }
  field() { sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",\{0,1\}$/\1/p" module.json; }
  [ "$(field Sum)" = "$SUM" ] || { echo "the module of OpenKruise $VERSION is not the one that is known: $(field Sum)" >&2; exit 1; }
  cp -r "$(field Dir)" source; chmod -R u+w source   # its go.mod replaces modules, which only a main module may do
  (cd source && CGO_ENABLED=0 go build -buildvcs=false -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w" -o ../manager . >&2)
  rm -rf "$OUT/crds"; cp -r source/config/crd/bases "$OUT/crds"
  mv manager "$OUT/manager"
fi
echo "$OUT"

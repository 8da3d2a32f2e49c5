#!/usr/bin/env bash
# Plays the session of docs/rollouts.md on a sandbox of its own and prints it: docs/record-rollout.sh [path of vela]
set -eu
vela=$(realpath "${1:-target/debug/vela}")
shop=$(realpath "$(dirname "$0")/../examples/rollout/shop.yaml")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp "$shop" "$home"
cd "$home"
export VELA_HOME="$home/sandbox" NO_COLOR=1
unset KUBECONFIG
mkdir bin
ln -s "$vela" bin/vela
PATH="$home/bin:$PATH"
play() {
  echo "\$ $*"
  # The lines that only move on a terminal are left out, and so is the folder of this recording.
  eval "$*" 2>&1 | grep -v -e '^…' -e '^Target: ' | sed "s|$home|~|g" || true
  echo
}
play vela up -f shop.yaml
play "sed -i 's/nginx:1.27/nginx:1.28/' shop.yaml"
play vela up -f shop.yaml
play vela rollout status shop
play vela rollout pause shop
play vela rollout promote shop
play vela rollout status shop
play vela rollout resume shop
play vela rollout status shop --watch
play vela rollout undo shop
play vela rollout status shop --watch
play vela status shop
play vela rollout history shop

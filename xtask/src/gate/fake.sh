#!/bin/sh
# Stands for the programs that `.ci/run` starts, in the PATH of a test (tests.rs): what each answers is told by files and variables.
name=${0##*/}
echo "$name $*" >> "$FAKE/calls"
case $name in
  rustup) ;;
  df) printf 'Filesystem\nfake 0 0 %s 0%% /\n' "${FAKE_FREE_MB-50000}" ;;
  du) size=10; [ ! -e "$2/size" ] || read -r size < "$2/size"; printf '%s\t%s\n' "$size" "$2" ;;
  cargo)
    [ "$1" = build ] || exit 0
    builds=$(grep -c '^cargo build' "$FAKE/calls")
    if [ -e "$FAKE/build-$builds" ]; then cat "$FAKE/build-$builds" >&2; exit 101; fi
    mkdir -p "$CARGO_TARGET_DIR/debug" && ln -sf "$0" "$CARGO_TARGET_DIR/debug/xtask" ;;
  xtask) echo "built: $XTASK_BUILT"; exit "${FAKE_GATE-0}" ;;
esac

#!/bin/sh
# is_small.sh PROGRAM BYTES: whether a program, stripped, takes at most so many bytes, the blob of its kernels included.
set -eu
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
bytes=$(stat -c %s "$stripped")
echo "$(basename "$1"): $bytes bytes, at most $2"
[ "$bytes" -le "$2" ]

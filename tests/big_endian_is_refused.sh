#!/bin/bash
# big_endian_is_refused.sh SOURCE WORK: configuring for a big-endian processor ends with one sentence.
set -euo pipefail
rm -rf "$2"
if said=$(cmake -G Ninja -S "$1" -B "$2" -DCMAKE_PROJECT_qgen_INCLUDE="$1/tests/big_endian.cmake" 2>&1); then
  echo "it was configured"
  exit 1
fi
said=$(tr -s '[:space:]' ' ' <<<"$said")  # CMake breaks lines
[[ $said == *"are little-endian, and this processor is big-endian."* ]] || { echo "it said: $said"; exit 1; }

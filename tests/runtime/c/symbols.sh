#!/bin/bash
# symbols.sh LIBRARY HEADER MAP: libqgen.so exports the symbols that MAP records and qgen.h declares, each with its
# version, and needs only libraries of the system.
set -euo pipefail
library=$1 header=$2 map=$3
fail() { printf '%s\n' "$*" >&2; exit 1; }
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /^[TDBRGSCVW]$/ { print $3 }' | sort)
recorded=$(awk '/^QGEN_/ { version = $1 } /^    qgen_/ { sub(";", ""); print $1 "@@" version }' "$map" | sort)
diff <(printf '%s\n' "$exported") <(printf '%s\n' "$recorded") ||
  fail 'the library exports (<) other symbols than runtime/c/qgen.map records (>)'
declared=$(tr '\n' ' ' <"$header" | grep -oE 'QGEN_API [^;]*;' | grep -oE 'qgen_[a-z_]+\(' | tr -d '(' | sort -u)
diff <(printf '%s\n' "$declared") <(printf '%s\n' "$recorded" | sed 's/@@.*//') ||
  fail 'qgen.h declares (<) other functions than runtime/c/qgen.map records (>)'
if needed=$(readelf -d "$library" | grep NEEDED | grep -vE 'lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|protobuf-lite|yaml-cpp)\.so|ld-linux'); then
  fail "it needs $needed"
fi
printf '%s\n' "$exported" | wc -l

#!/bin/bash
# install_and_use.sh BUILD SOURCE WORK: installs a build into WORK/prefix, then makes and runs examples/external with
# nothing but that prefix.
set -euo pipefail
build=$1 source=$2 work=$3
rm -rf "$work"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -G Ninja -S "$source/examples/external" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/build"
"$work/build/axpy"

# Nothing changed: nothing runs. A comment changed: qgen runs, and nothing is compiled.
cmake --build "$work/build" | grep -q 'no work to do'

# An installed program needs the C library and the loader of shared libraries, nothing else.
for program in "$work"/prefix/bin/*; do
  needed=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^(libc|libm|ld-linux[-a-z0-9_]*)\.so' || true)
  [ -z "$needed" ] || { echo "$(basename "$program") needs" $needed; exit 1; }
  newest=$(objdump -T "$program" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
  echo "$(basename "$program"): $(du -h "$program" | cut -f1), needs $newest"
  [ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -1)" = GLIBC_2.36 ]
done

#!/bin/bash
# install_and_use.sh BUILD SOURCE WORK: installs a build into WORK/prefix, makes and runs examples/external with nothing
# but that prefix, and looks at what the programs would need on another machine.
set -euo pipefail
build=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work"

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp -r "$source/examples/external" "$work/axpy"
cmake -G Ninja -S "$work/axpy" -B "$work/axpy/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/axpy/build"
"$work/axpy/build/axpy"

# expect_build WORDS: what the next build does. CMake tells of the globs that it looks at in every build.
expect_build() {
  local did; did=$(cmake --build "$work/axpy/build" | grep -E '^\[[1-9]|no work' | sed 's/^\[[^]]*\] //')
  [ "$did" = "$1" ] || { printf 'expected "%s" to happen, got:\n%s\n' "$1" "$did"; exit 1; }
}
expect_build 'ninja: no work to do.'
echo '// A remark reaches qgen, and no compiler.' >>"$work/axpy/templates/axpy.comp"
expect_build 'qgen: kernels of axpy_kernels'
expect_build 'ninja: no work to do.'

# make knows too when there is nothing to do, and asks qgen once for what several files are made from.
cmake -G 'Unix Makefiles' -S "$work/axpy" -B "$work/axpy/make" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
expect_runs() {
  local runs; runs=$(cmake --build "$work/axpy/make" -j4 | grep -cE 'qgen: kernels of|Building' || true)
  [ "$runs" = "$1" ] || { echo "expected $1 steps of make, got $runs"; exit 1; }
}
expect_runs 4  # qgen, the tables as one file, the blob, main.cpp
expect_runs 0
echo '// Another remark.' >>"$work/axpy/templates/axpy.comp"
expect_runs 1
expect_runs 0
cmake --build "$work/axpy/build" >/dev/null

# Where no ASM is, that is said when CMake runs, not when the program is linked.
mkdir "$work/no_asm"
cat >"$work/no_asm/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(no_asm LANGUAGES CXX)
include($(find "$work/prefix" -name QgenAddKernels.cmake))
qgen_add_kernels(kernels SPECS $work/axpy/specs)
TEXT
! cmake -G Ninja -S "$work/no_asm" -B "$work/no_asm/build" 2>"$work/log" >/dev/null || { echo 'expected an error'; exit 1; }
grep -q 'has no ASM' "$work/log" || { cat "$work/log"; exit 1; }

# A mistake is reported where it was made.
sed -i 's/access: read_write/access: reed_write/' "$work/axpy/specs/axpy.yaml"
! cmake --build "$work/axpy/build" >"$work/log" || { echo 'expected the misspelled spec to fail'; exit 1; }
grep -q "specs/axpy.yaml:7:.*error" "$work/log" || { cat "$work/log"; exit 1; }

# The installed libraries bring all that they need.
cp -r "$source/examples/layers" "$work/layers"
cmake -G Ninja -S "$work/layers" -B "$work/layers/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/layers/build"
"$work/layers/build/layers"
cp -r "$source/examples/reduction" "$work/reduction"
cmake -G Ninja -S "$work/reduction" -B "$work/reduction/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/reduction/build"
"$work/reduction/build/reduction"

# A project's own operator, run by name: as qgen-run does with ours.
row_run() { "$work/reduction/build/row-run" "$@" >"$work/log" 2>&1; }
expect_line() { grep -qE -- "$1" "$work/log" || { printf 'expected "%s" in\n' "$1"; cat "$work/log"; exit 1; }; }
row_run --list
expect_line '^  row_max  the largest element of each row, times a scale$'
row_run row_max --help
expect_line 'scale  +a number: what each result is multiplied by; default 1'
row_run row_max --shape input=4x7:f32=3 --set scale=0.5 --explain --output "output=$work/made.npy"
expect_line '^row_max\.f32\.(shared|subgroup)/workgroup[0-9]+ on "'
expect_line '^  output  f32 \[4\]  1\.5, 1\.5, 1\.5, 1\.5  -> '
row_run row_max --input "input=$work/made.npy" --time --all-kernels --replays 1
expect_line 'a plain copy that moves as much'
row_run --cases "$work/reduction/cases" --all-kernels
expect_line '^1 passed, 0 failed, 0 of unknown operators, on ".*"; held to what the cases expect alone'
sed -i 's/0\.5/0.25/' "$work/reduction/cases/row_max/3x5_half/case.json"
! row_run --cases "$work/reduction/cases" || { echo 'expected the case to fail'; exit 1; }
expect_line "again: row-run --cases $work/reduction/cases/row_max/3x5_half --all-kernels --kernel 'row_max"

# Without operators there is nothing to run by name; without a namespace there are two of everything.
expect_refused_runner() {
  mkdir -p "$work/no_runner"
  cat >"$work/no_runner/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(no_runner LANGUAGES CXX)
find_package(qgen REQUIRED)
qgen_add_kernels(kernels SPECS $1 RUNNER run)
TEXT
  ! cmake -G Ninja -S "$work/no_runner" -B "$work/no_runner/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 ||
    { echo 'expected an error'; exit 1; }
  tr -s ' \n' ' ' <"$work/log" | grep "$2" >/dev/null || { cat "$work/log"; exit 1; }  # CMake breaks lines where it likes
}
expect_refused_runner "$work/axpy/specs NAMESPACE mine" 'no operand of the specs has a shape'
expect_refused_runner "$work/reduction/specs" 'a runner needs a NAMESPACE'

mkdir "$work/links"
cat >"$work/links/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(links LANGUAGES CXX)
find_package(qgen REQUIRED)
add_executable(links main.cpp)
target_link_libraries(links PRIVATE qgen::planner)
TEXT
cat >"$work/links/main.cpp" <<'TEXT'
#include "runtime/planner/plan.h"
int main() { return !qgen::planner::plan({}, {}, {}); }
TEXT
cmake -G Ninja -S "$work/links" -B "$work/links/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/links/build"
"$work/links/build/links"

# Programs linked for other machines need the C library and nothing else.
[ "${QGEN_STATIC:-ON}" = ON ] || exit 0
for program in "$work"/prefix/bin/*; do
  needed=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^(libc|libm|ld-linux[-a-z0-9_]*)\.so' || true)
  [ -z "$needed" ] || { echo "$(basename "$program") needs" $needed; exit 1; }
  newest=$(objdump -T "$program" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
  echo "$(basename "$program"): $(du -h "$program" | cut -f1), needs $newest"
  [ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -1)" = GLIBC_2.36 ]
done

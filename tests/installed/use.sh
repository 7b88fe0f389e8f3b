#!/bin/bash
# use.sh PART PREFIX BUILD SOURCE WORK: installs BUILD at PREFIX, makes projects with nothing but that, and looks at the
# archives and programs there. PART is one of the functions below; each is an entry of ctest, `installed.PART`.
set -euo pipefail
part=$1 prefix=$2 build=$3 source=$4 work=$5
here=$(dirname "$(readlink -f "$0")")
rm -rf "$work"
mkdir -p "$work"
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

fail() { printf '%s\n' "$*" >&2; exit 1; }
# project FOLDER [OPTION...]: configures WORK/FOLDER with the installed qgen into WORK/FOLDER/build.
project() {
  local folder=$work/$1; shift
  cmake -G Ninja -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "$@" >"$work/log" ||
    { cat "$work/log"; exit 1; }
}
expect_line() { grep -qE -- "$1" "$work/log" || { printf 'expected "%s" in\n' "$1"; cat "$work/log"; exit 1; }; }
# expect_build FOLDER STEPS: checks the steps of the next build. CMake reports the globs that it checks in every build.
expect_build() {
  local did; did=$(cmake --build "$work/$1/build" | grep -E '^\[[1-9]|no work' | sed 's/^\[[^]]*\] //')
  [ "$did" = "$2" ] || fail "expected \"$2\" to happen, got:"$'\n'"$did"
}
# A second operator, which no program uses: CMake finds its spec automatically.
add_a_spec() {
  sed 's/^operator: axpy/operator: axpby/' "$work/$1/specs/axpy.yaml" >"$work/$1/specs/axpby.yaml"
}

# For the other parts.
install() {
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
}

# ---- the first kernel of README -------------------------------------------------------------------------------------

rebuild() {
  cp -r "$source/examples/external" "$work/axpy"
  project axpy
  cmake --build "$work/axpy/build"
  "$work/axpy/build/axpy"
  expect_build axpy 'ninja: no work to do.'
  echo '// A remark reaches qgen, and no compiler.' >>"$work/axpy/templates/axpy.comp"
  expect_build axpy 'qgen: kernels of axpy_kernels'
  expect_build axpy 'ninja: no work to do.'

  # make also knows when there is nothing to do, and calls qgen once for several files.
  cmake -G 'Unix Makefiles' -S "$work/axpy" -B "$work/axpy/make" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  expect_runs() {
    local runs; runs=$(cmake --build "$work/axpy/make" -j4 | grep -cE 'qgen: kernels of|Building' || true)
    [ "$runs" = "$1" ] || fail "expected $1 steps of make, got $runs"
  }
  expect_runs 4  # qgen, the tables as one file, the blob, main.cpp
  expect_runs 0
  echo '// Another remark.' >>"$work/axpy/templates/axpy.comp"
  expect_runs 1
  expect_runs 0
  cmake --build "$work/axpy/build" >/dev/null

  # A mistake is reported where it was made.
  sed -i 's/access: read_write/access: reed_write/' "$work/axpy/specs/axpy.yaml"
  ! cmake --build "$work/axpy/build" >"$work/log" || fail 'expected the misspelled spec to fail'
  expect_line 'specs/axpy.yaml:8:.*error'
}

# Again after the first time: CMake's cache is then no reason to leave the blob out.
configure_twice() {
  local languages generator
  for languages in CXX 'CXX ASM'; do
    rm -rf "$work/axpy"
    cp -r "$source/examples/external" "$work/axpy"
    sed -i "s/LANGUAGES CXX)/LANGUAGES $languages)/" "$work/axpy/CMakeLists.txt"
    project axpy
    project axpy
    cmake --build "$work/axpy/build"
    add_a_spec axpy
    cmake --build "$work/axpy/build"
    "$work/axpy/build/axpy"
    grep -q axpby "$work/axpy/build/axpy_kernels/MANIFEST.tsv" || fail 'the new spec has no kernel'
  done

  for generator in 'Ninja Multi-Config' 'Unix Makefiles'; do
    cmake -G "$generator" -S "$work/axpy" -B "$work/axpy/other" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake "$work/axpy/other" >/dev/null
    cmake --build "$work/axpy/other" --config Debug
    "$(find "$work/axpy/other" -name axpy -type f)"
    rm -rf "$work/axpy/other"
  done

  # Kernels of two folders whose project has no ASM, in a program of a third.
  mkdir -p "$work/folders/first" "$work/folders/second"
  cat >"$work/folders/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(folders LANGUAGES CXX)
find_package(qgen REQUIRED)
add_subdirectory(first)
add_subdirectory(second)
add_executable(folders main.cpp)
target_link_libraries(folders PRIVATE first_kernels second_kernels)
TEXT
  local name
  for name in first second; do
    cp -r "$source/examples/external/specs" "$source/examples/external/templates" "$work/folders/$name"
    echo "qgen_add_kernels(${name}_kernels SPECS specs TEMPLATES templates NAMESPACE $name)" \
      >"$work/folders/$name/CMakeLists.txt"
  done
  cat >"$work/folders/main.cpp" <<'TEXT'
#include "qgen/kernels.h"
namespace first { const qgen::LibraryInfo& library(); }
namespace second { const qgen::LibraryInfo& library(); }
int main() { return !(qgen::KernelLibrary::open(first::library()) && qgen::KernelLibrary::open(second::library())); }
TEXT
  project folders
  project folders
  cmake --build "$work/folders/build"
  "$work/folders/build/folders"

  # If ASM cannot be enabled, CMake reports it at its run, not at linking. CMake breaks lines where it likes.
  mkdir "$work/no_asm"
  cat >"$work/no_asm/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(no_asm LANGUAGES CXX)
find_package(qgen REQUIRED)
function(mine)
  qgen_add_kernels(kernels SPECS $work/axpy/specs TEMPLATES $work/axpy/templates)
endfunction()
mine()
TEXT
  local run
  for run in first second; do
    ! (project no_asm 2>"$work/error" >/dev/null) || fail "expected an error of the $run run"
    tr -s ' \n' ' ' <"$work/error" | grep 'this project has no ASM' >/dev/null || fail "$(cat "$work/error")"
  done
}

# Each warning is an error, as many projects have it, also in the headers of qgen that generated code includes.
warnings() {
  local compiler name
  cp -r "$source/examples/external" "$work/axpy"
  cp -r "$source/examples/reduction" "$work/reduction"
  cp -r "$source/examples/reload" "$work/reload"
  for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    rm -rf "$work"/*/build
    for name in axpy reduction reload; do
      project "$name" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS='-Wall -Wextra' \
        -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON
    done
    cmake --build "$work/axpy/build"
    cmake --build "$work/reload/build"
    cmake --build "$work/reduction/build" --target row_kernels_operators
  done
}

# ---- as a part of another project -----------------------------------------------------------------------------------

# The whole project by FetchContent. The qgen that is already built makes the kernels.
subproject() {
  local languages generator
  cp -r "$source/examples/external" "$work/count"
  cat >"$work/count/main.cpp" <<'TEXT'
#include <cstdio>

#include "registry.h"
#include "qgen/kernels.h"

int main() {
  const auto library = qgen::KernelLibrary::open(example::library());
  if (!library) return 1;
  for (const auto& op : library->operators()) std::printf("%s\n", std::string(op->name).c_str());
}
TEXT
  for languages in CXX 'CXX ASM'; do
    for generator in Ninja 'Ninja Multi-Config'; do
      cat >"$work/count/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(count LANGUAGES $languages)
include(FetchContent)
FetchContent_Declare(qgen SOURCE_DIR \${QGEN_SOURCE})
FetchContent_MakeAvailable(qgen)
qgen_add_kernels(axpy_kernels SPECS specs TEMPLATES templates NAMESPACE example)
add_executable(count main.cpp)
target_link_libraries(count PRIVATE axpy_kernels qgen::library)
TEXT
      rm -rf "$work/count/build" "$work/count/specs/axpby.yaml"
      cmake -G "$generator" -S "$work/count" -B "$work/count/build" -DQGEN_SOURCE="$source" -DQGEN_UNITY=ON \
        -DQGEN_PROGRAM="$build/codegen/qgen" -DCMAKE_BUILD_TYPE=Debug >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
      cmake "$work/count/build" >/dev/null
      [ "$languages, $generator" != 'CXX ASM, Ninja Multi-Config' ] || continue  # CXX shows it
      cmake --build "$work/count/build" --config Debug --target count
      [ "$("$(find "$work/count/build" -name count -type f)")" = axpy ] || fail 'the library has other operators'
      add_a_spec count
      cmake --build "$work/count/build" --config Debug --target count
      [ "$("$(find "$work/count/build" -name count -type f)")" = axpby$'\n'axpy ] || fail 'the new spec is not there'
    done
  done
}

# Two parts of a project that each bring qgen, in folders of their own, and no generator.
two_parts() {
  local name
  mkdir -p "$work/parts/first" "$work/parts/second"
  cat >"$work/parts/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(parts LANGUAGES CXX)
add_subdirectory(first)
add_subdirectory(second)
add_executable(parts main.cpp)
target_link_libraries(parts PRIVATE first_kernels second_kernels)
TEXT
  for name in first second; do
    cp -r "$source/examples/external/specs" "$source/examples/external/templates" "$work/parts/$name"
    cat >"$work/parts/$name/CMakeLists.txt" <<TEXT
project($name LANGUAGES CXX)
add_subdirectory($source qgen EXCLUDE_FROM_ALL)
qgen_add_kernels(${name}_kernels SPECS specs TEMPLATES templates NAMESPACE $name)
TEXT
  done
  cat >"$work/parts/main.cpp" <<'TEXT'
#include "qgen/kernels.h"
namespace first { const qgen::LibraryInfo& library(); }
namespace second { const qgen::LibraryInfo& library(); }
int main() { return !(qgen::KernelLibrary::open(first::library()) && qgen::KernelLibrary::open(second::library())); }
TEXT
  ! cmake -G Ninja -S "$work/parts" -B "$work/parts/build" -DQGEN_CODEGEN=OFF >"$work/log" 2>&1 ||
    fail 'expected QGEN_CODEGEN=OFF to need QGEN_PROGRAM'
  tr -s ' \n' ' ' <"$work/log" | grep 'QGEN_CODEGEN=OFF needs QGEN_PROGRAM' >/dev/null || fail "$(cat "$work/log")"
  cmake -G Ninja -S "$work/parts" -B "$work/parts/build" -DQGEN_CODEGEN=OFF -DQGEN_PROGRAM="$build/codegen/qgen" \
    -DQGEN_UNITY=ON -DCMAKE_BUILD_TYPE=Debug >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  expect_line 'is left out, since this build has a qgen already'
  cmake --build "$work/parts/build" --target parts
  "$work/parts/build/parts"
}

# ---- the installed libraries ----------------------------------------------------------------------------------------

# They bring all that they need.
libraries() {
  cp -r "$source/examples/layers" "$work/layers"
  project layers
  cmake --build "$work/layers/build"
  "$work/layers/build/layers"

  mkdir "$work/links"
  cat >"$work/links/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(links LANGUAGES CXX)
find_package(qgen REQUIRED)
add_executable(links main.cpp)
target_link_libraries(links PRIVATE qgen::planner)
TEXT
  cat >"$work/links/main.cpp" <<'TEXT'
#include "qgen/plan.h"
int main() { return !qgen::planner::plan({}, {}, {}); }
TEXT
  project links
  cmake --build "$work/links/build"
  "$work/links/build/links"
}

# A project's own operator, run by name: as qgen-run does with ours.
runner() {
  cp -r "$source/examples/reduction" "$work/reduction"
  project reduction
  cmake --build "$work/reduction/build"
  "$work/reduction/build/reduction"

  row_run() { "$work/reduction/build/row-run" "$@" >"$work/log" 2>&1; }
  row_run --list
  expect_line '^  row_max  the largest element of each row, times a scale$'
  row_run --version
  expect_line '^row-run \(qgen [0-9.]+\)$'
  row_run row_max --help
  expect_line 'scale  +a number: what each result is multiplied by; default 1'
  row_run row_max --shape input=4x7:f32=3 --set scale=0.5 --explain --output "output=$work/made.npy"
  expect_line '^row_max\.f32\.(shared|subgroup)/workgroup[0-9]+ on "'
  expect_line '^  output  f32 \[4\]  1\.5, 1\.5, 1\.5, 1\.5  -> '
  row_run row_max --input "input=$work/made.npy" --time --all-kernels --replays 1
  expect_line 'a plain copy of as many bytes'
  row_run --cases "$work/reduction/cases" --all-kernels
  expect_line '^1 passed, 0 failed, 0 of unknown operators, on ".*"; compared only with the cases. expected values'
  sed -i 's/0\.5/0.25/' "$work/reduction/cases/row_max/3x5_half/case.json"
  ! row_run --cases "$work/reduction/cases" || fail 'expected the case to fail'
  expect_line "again: row-run --cases $work/reduction/cases/row_max/3x5_half --all-kernels --kernel 'row_max"

  # Tuned without a reference: kernels are compared with each other. The store is the project's.
  QGEN_TUNING_STORE="$work/store.sqlite" "$work/reduction/build/row-tune" --operator row_max --shape input=64x256:f32 \
    --set scale=1 --budget 5 | tee "$work/log"
  expect_line '^\[1/1\] .*row_max'
  QGEN_TUNING_STORE="$work/store.sqlite" "$work/reduction/build/row-tune" show | tee "$work/log"
  expect_line 'row_max'

  # Without operators there is nothing to run by name; without a namespace there are two of everything.
  expect_refused_runner() {
    mkdir -p "$work/no_runner"
    cat >"$work/no_runner/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(no_runner LANGUAGES CXX)
find_package(qgen REQUIRED)
qgen_add_kernels(kernels SPECS $1 RUNNER run)
TEXT
    ! cmake -G Ninja -S "$work/no_runner" -B "$work/no_runner/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 ||
      fail 'expected an error'
    tr -s ' \n' ' ' <"$work/log" | grep "$2" >/dev/null || fail "$(cat "$work/log")"
  }
  expect_refused_runner "$source/examples/external/specs NAMESPACE mine" 'no operand of the specs has a shape'
  expect_refused_runner "$work/reduction/specs" 'a runner needs a NAMESPACE'
}

# The public headers: few, each complete alone under every warning, and none of a room.
headers() {
  local header count
  count=$(find "$prefix/include" -type f | wc -l)
  [ "$count" -le 40 ] || fail "expected 40 headers at most, got $count"
  [ -z "$(find "$prefix/include" -type d \( -name runtime -o -name common -o -name vocabulary \))" ] ||
    fail 'expected no folder of a room'
  while read -r header; do
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$prefix/include" \
      -I"$prefix/include/qgen/kernels" -x c++ - <<<"#include \"$header\"" || fail "$header does not compile alone"
  done < <(cd "$prefix/include" && find qgen -name '*.h')
  echo "$count headers"
}

# The headers' examples compile with the installed headers alone. A struct's field that may be left out has an
# initializer, or -Wextra warns where users leave it out.
header_examples() {
  local example
  for example in "$source"/examples/headers/*.cpp; do
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I"$prefix/include" -I"$prefix/include/qgen/kernels" "$example" ||
      fail "$(basename "$example") does not compile with the installed headers"
  done
}

# ---- what a host program brings -------------------------------------------------------------------------------------

# The archives define no symbol that is another project's: two definitions clash when a program links both.
symbols() {
  local archive name foreign=0
  for archive in "$prefix"/lib*/libqgen_*.a; do
    # Strong symbols only: of weak ones, such as inline functions, the linker takes any.
    while read -r name; do
      case $name in
        qgen::* | *' qgen::'* | *' for qgen::'* | qgen_* | guard\ variable\ for\ qgen::*) ;;
        *) echo "$(basename "$archive") defines $name"; foreign=$((foreign + 1)) ;;
      esac
    done < <(nm --defined-only "$archive" 2>/dev/null | awk '$2 ~ /^[TDBRGSC]$/ { print $3 }' | c++filt)
  done
  echo "$foreign foreign symbols"
  [ "$foreign" = 0 ]
}

# A shared library that contains qgen exports its own symbols, and none of qgen's archives or of their dependencies.
shared_library() {
  mkdir "$work/shared"
  cat >"$work/shared/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(shared LANGUAGES CXX)
find_package(qgen REQUIRED)
add_library(shared SHARED shared.cpp)
target_link_libraries(shared PRIVATE qgen::operators)
target_link_options(shared PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
TEXT
  cat >"$work/shared/shared.cpp" <<'TEXT'
#include "operators.h"

extern "C" bool can_run() {
  const auto device = qgen::Device::open();
  return device && !qgen::generated::operators::entries().empty();
}
TEXT
  project shared
  cmake --build "$work/shared/build"
  nm -D --defined-only "$work/shared/build/libshared.so" | awk '$2 ~ /^[TDBRGSC]$/ { print $3 }' | tee "$work/log"
  [ "$(cat "$work/log")" = can_run ] || fail 'expected the library to export one function'
}

# Programs that link libvulkan, or have their own volk, each with its own allocator. Everything that qgen's rooms of the
# device define is linked too, and both parts create their instances and memory.
beside_vulkan() {
  cp -r "$here/beside_vulkan" "$work/beside_vulkan"
  project beside_vulkan "-DHOST_INCLUDES=${HOST_INCLUDES//:/;}" "-DEXAMPLE=$source/examples/external"
  cmake --build "$work/beside_vulkan/build"
  local program
  for program in with_libvulkan with_volk; do
    "$work/beside_vulkan/build/$program" | tee "$work/log"
    expect_line '^the program: an instance, a device, 4096 bytes$'
    expect_line '^qgen: 2998$'
    expect_line '^the program again: 4096 bytes$'
  done
}

# An engine with its own device, memory and command buffers, which lends them to qgen; destroyed in either order.
engine() {
  cp -r "$source/examples/engine" "$work/engine"
  project engine "-DVULKAN_INCLUDES=${HOST_INCLUDES//:/;}"
  cmake --build "$work/engine/build"
  local order
  for order in '' --engine-first; do
    "$work/engine/build/engine" $order | tee "$work/log"
    expect_line ': 6 frames, values right$'
  done
}

# A program in C99 on libqgen.so.
c_api() {
  cp -r "$source/examples/c" "$work/c"
  project c -DCMAKE_C_FLAGS='-Wall -Wextra -Werror'
  cmake --build "$work/c/build"
  "$work/c/build/c_example" "$source/examples/picture/scenes.onnx" | tee "$work/log"
  expect_line '^linear: right$'
  expect_line '^model: kinds'
}

# Requested components are complete, ONNX among them; others are refused by name.
components() {
  mkdir "$work/components"
  cat >"$work/components/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(components LANGUAGES CXX)
find_package(qgen REQUIRED COMPONENTS runtime operators model onnx c codegen)
add_executable(components main.cpp)
target_link_libraries(components PRIVATE qgen::onnx)
TEXT
  cat >"$work/components/main.cpp" <<'TEXT'
#include <cstdio>

#include "qgen/onnx.h"

int main(int, char** argv) {
  const auto imported = qgen::onnx::import_model(argv[1]);
  if (!imported) std::printf("%s\n", to_text(imported.error()).c_str());
  else std::printf("%zu nodes\n", imported->graph.nodes.size());
}
TEXT
  project components
  cmake --build "$work/components/build"
  "$work/components/build/components" "$source/examples/picture/scenes.onnx" | tee "$work/log"
  expect_line '^[1-9][0-9]* nodes$'
  sed -i 's/codegen)/kodegen)/' "$work/components/CMakeLists.txt"
  ! (project components 2>"$work/error" >/dev/null) || fail 'expected an unknown component to be refused'
  tr -s ' \n' ' ' <"$work/error" | grep "it has no component 'kodegen'" >/dev/null || fail "$(cat "$work/error")"
}

# A cross build: programs of one package, which run here, and libraries of another, which has no programs. The target is
# this machine under another name, so its programs run.
cross() {
  local component
  for component in dev lib; do
    cmake --install "$build" --component "$component" --prefix "$work/target" >>"$work/log"
  done
  cp -r "$source/examples/external" "$work/axpy"
  cat >"$work/toolchain.cmake" <<TEXT
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $(uname -m))
set(CMAKE_CROSSCOMPILING TRUE)
set(CMAKE_FIND_ROOT_PATH "$work/target;/")
TEXT
  cross_project() {
    rm -rf "$work/axpy/build"
    cmake -G Ninja -S "$work/axpy" -B "$work/axpy/build" -DCMAKE_PREFIX_PATH="$work/target" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DHOST="$prefix" "$@" >"$work/log" 2>&1
  }
  ! cross_project || fail 'expected a cross build without a qgen of the host to be refused'
  tr -s ' \n' ' ' <"$work/log" | grep 'a cross build needs the qgen::qgen of the host' >/dev/null || fail "$(cat "$work/log")"
  cross_project -DQGEN_PROGRAM="$prefix/bin/qgen" || fail "$(cat "$work/log")"
  cmake --build "$work/axpy/build"
  "$work/axpy/build/axpy"

  sed -i 's|^find_package(qgen REQUIRED)|find_package(qgen REQUIRED COMPONENTS codegen PATHS "${HOST}" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)\
unset(qgen_DIR CACHE)\
find_package(qgen REQUIRED COMPONENTS runtime)|' "$work/axpy/CMakeLists.txt"
  cross_project || fail "$(cat "$work/log")"
  cmake --build "$work/axpy/build"
  "$work/axpy/build/axpy"
  grep -q "$prefix/bin/qgen" "$work/axpy/build/build.ninja" || fail 'expected the qgen of the host to make the kernels'
  ! grep -q "$prefix/lib[^ ]*[.]a" "$work/axpy/build/build.ninja" || fail 'expected libraries of the target alone'
}

# ---- a part of the operators ----------------------------------------------------------------------------------------

# From the specs and templates that are installed; a second build does nothing.
part() {
  mkdir "$work/part"
  cp "$source/tests/part/softmax_main.cpp" "$work/part"
  cat >"$work/part/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(part LANGUAGES CXX)
find_package(qgen REQUIRED)
qgen_add_operators(softmax_part OPERATORS softmax DTYPES f16 FOR "${QGEN_DEVICES}/adreno-740.yaml")
add_executable(part softmax_main.cpp)
target_link_libraries(part PRIVATE softmax_part)
TEXT
  project part
  project part
  cmake --build "$work/part/build"
  "$work/part/build/part" | tee "$work/log"
  expect_line '^1 operators, softmax of zeros is 0.125$'
  "$source/tests/part/is_small.sh" "$work/part/build/part" 1500000
  expect_build part 'ninja: no work to do.'
  # Other kernels: the tables that all.cpp includes are compiled in the same build, though all.cpp itself is as before.
  sed -i 's/DTYPES f16/DTYPES f16 f32/' "$work/part/CMakeLists.txt"
  cmake --build "$work/part/build"
  "$work/part/build/part" | tee "$work/log"
  expect_line '^1 operators, softmax of zeros is 0.125$'
  expect_build part 'ninja: no work to do.'
}

# A model as a library, compiled in the build: no kernel of other models is in the program, and a second build does nothing.
model() {
  mkdir -p "$work/picture"
  cp -r "$source/examples/embedded_model" "$work/embedded_model"
  cp "$source/examples/picture/scenes.onnx" "$work/picture"
  project embedded_model
  project embedded_model
  cmake --build "$work/embedded_model/build"
  "$work/embedded_model/build/embedded_model" | tee "$work/log"
  expect_line '^compiled for .*, loaded in [0-9.]+ ms$'
  ! nm "$work/embedded_model/build/embedded_model" | grep -E 'qgen_generated_blob|onnx' ||
    fail 'expected neither the shipped kernels nor ONNX in the program'
  expect_build embedded_model 'ninja: no work to do.'
  touch "$work/picture/scenes.onnx"
  cmake --build "$work/embedded_model/build" | grep 'qgen-model: scenes' >/dev/null ||
    fail 'expected a newer model to be compiled again'
  expect_build embedded_model 'ninja: no work to do.'
  # With kernels of its chains, which the installed generator compiles.
  sed -i 's/^  FOR /  CHAINS 2 FOR /' "$work/embedded_model/CMakeLists.txt"
  cmake --build "$work/embedded_model/build" | grep 'qgen-model: chains of' >/dev/null ||
    fail 'expected the chains of the model to be compiled'
  expect_build embedded_model 'ninja: no work to do.'
  ! cmake -S "$work/embedded_model" -B "$work/embedded_model/build" -DQGEN_MODEL_PROGRAM=/nowhere >/dev/null 2>&1 ||
    ! cmake --build "$work/embedded_model/build" >/dev/null 2>&1 || fail 'expected QGEN_MODEL_PROGRAM to be run'
}

# ---- the installed programs -----------------------------------------------------------------------------------------

# Linked for other machines, they need the C library and nothing else.
programs() {
  local program needed newest
  for program in "$prefix"/bin/*; do
    needed=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^(libc|libm|ld-linux[-a-z0-9_]*)\.so' || true)
    [ -z "$needed" ] || fail "$(basename "$program") needs $needed"
    newest=$(objdump -T "$program" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
    echo "$(basename "$program"): $(du -h "$program" | cut -f1), needs $newest"
    [ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -1)" = GLIBC_2.36 ]
  done
}

"$part"

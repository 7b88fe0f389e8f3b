#!/bin/bash
# generated_code_has_no_warnings.sh SOURCE COMPILER: compiles generated code, and the headers of qgen that it includes,
# with all warnings as errors.
set -uo pipefail
source=$1 compiler=$2
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$source" -I"$source/include")
failed=0

# The tables of all shipped operators as one source, as qgen_add_kernels() compiles them; their typed functions apart.
tables=$(for file in "$source"/generated/cpp/*.cpp; do
  [ "$(basename "$file")" = operators.cpp ] || printf '#include "%s"\n' "$file"
done)
"$compiler" "${flags[@]}" -I"$source/generated/cpp" -x c++ - <<<"$tables" || failed=1
for file in "$source"/generated/cpp/operators.cpp "$source"/tests/codegen/emit/golden/cpp/*.cpp; do
  "$compiler" "${flags[@]}" -I"$(dirname "$file")" "$file" || failed=1
done
for header in "$source"/generated/cpp/graph_nodes.h "$source"/tests/codegen/emit/golden/cpp/graph_nodes.h; do
  "$compiler" "${flags[@]}" -I"$(dirname "$header")" -x c++ - <<<"#include \"$header\"" || failed=1
done
exit "$failed"

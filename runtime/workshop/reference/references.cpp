// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/reference/references.h"

#include <algorithm>

#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

const Row* find_row(std::string_view name) {
  static const std::span<const Row> tables[] = {
#define QGEN_FAMILY(name) name##_rows(),
#include "runtime/workshop/reference/families.inc"
#undef QGEN_FAMILY
  };
  for (const std::span<const Row> rows : tables) {
    const auto row = std::ranges::find(rows, name, &Row::name);
    if (row != rows.end()) return &*row;
  }
  return nullptr;
}

}  // namespace

Operator find(std::string_view name) {
  const Row* row = find_row(name);
  return row ? row->compute : nullptr;
}

std::optional<Answer> answer(std::string_view name, const Request& request) {
  const Row* row = find_row(name);
  if (!row) return std::nullopt;
  return row->with_exact_values ? row->with_exact_values(request) : Answer{row->compute(request), {}};
}

bool has_exact_values(std::string_view name) {
  const Row* row = find_row(name);
  return row && row->with_exact_values;
}

}  // namespace qgen::reference

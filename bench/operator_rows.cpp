// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "bench/operator_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/family.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/runner/task.h"

namespace qgen::bench {

Texts joined(Texts first, const Texts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Row in_layouts(std::string op, std::string_view size, Texts shapes, Texts attributes, const Texts& layouts,
               std::string plain_kernel) {
  const runner::RequestText request{.shapes = std::move(shapes), .attributes = std::move(attributes)};
  Row row{std::move(op), std::string(size), {request}, TimedRequest{request, std::move(plain_kernel)}};
  for (const std::string& layout : layouts) row.size += "." + layout.substr(layout.find('=') + 1);
  row.chosen.request.layouts = layouts;
  return row;
}

std::string text(const Size& size) { return fmt::format("{}x{}x{}", size.m, size.k, size.n); }
double operations(const Size& size) { return 2.0 * size.m * size.k * size.n; }

namespace {

std::vector<Family> families() {
  std::vector<Family> all;
#define QGEN_FAMILY(name) all.push_back(name##_family());
#include "bench/families.inc"
#undef QGEN_FAMILY
  return all;
}

// Whether two problems are equal to the selector. Operators may run the same kernels and differ only in the computed
// function, for example unary functions in their tables.
bool are_one(const runner::Task& a, const runner::Task& b) {
  const OperatorInfo& op = *find_operator(operators(), a.op)->op;
  const auto says_which = [](const FieldInfo& field) { return !field.words.empty(); };
  return &op == find_operator(operators(), b.op)->op && std::ranges::none_of(op.fields, says_which) && a.op != b.op &&
         a.request.shapes == b.request.shapes && a.request.layouts == b.request.layouts;
}

}  // namespace

std::vector<Row> operator_rows() {
  std::vector<Row> rows;
  for (Family& family : families()) std::ranges::move(family.rows, std::back_inserter(rows));
  return rows;
}

std::vector<Row> short_rows() {
  std::vector<Row> rows;
  for (Family& family : families()) {
    std::ranges::copy_if(family.rows, std::back_inserter(rows), [&](const Row& row) {
      return std::ranges::any_of(family.short_sizes, [&](const SizesOf& list) {
        return list.op == row.op && std::ranges::find(list.sizes, row.size) != list.sizes.end();
      });
    });
  }
  return rows;
}

std::string problems_text(const std::vector<Row>& rows) {
  std::vector<runner::Task> tasks;
  for (const Row& row : rows) {
    const runner::Task task{row.op, row.chosen.request};
    const bool is_covered = std::ranges::any_of(tasks, [&](const runner::Task& other) { return are_one(task, other); });
    if (!is_covered) tasks.push_back(task);
  }
  return "# Made by `operators_bench --short --problems`: what qgen-tune tunes where no other problems are named.\n" +
         runner::to_yaml(tasks);
}

std::vector<std::string> names_without_rows() {
  std::vector<std::string> missing;
  for (const Family& family : families()) {
    for (const auto& with_sizes : family.short_sizes) {
      for (const std::string_view size : with_sizes.sizes) {
        const auto bears_it = [&](const Row& row) { return row.op == with_sizes.op && row.size == size; };
        if (std::ranges::none_of(family.rows, bears_it)) missing.push_back(fmt::format("{}/{}", with_sizes.op, size));
      }
    }
  }
  return missing;
}

}  // namespace qgen::bench

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/work.h"

#include <algorithm>
#include <cstring>

#include "vocabulary/weight_forms.h"

namespace qgen::report {
namespace {

// The product of a field's numbers; nullopt: the operator has no such field of integers, or keys do not have it.
std::optional<double> field(const Problem& problem, std::string_view name) {
  const auto found = std::ranges::find(problem.op->fields, name, &FieldInfo::name);
  if (found == problem.op->fields.end() || found->is_data) return std::nullopt;
  if (found->kind == FieldInfo::Kind::f32) return std::nullopt;
  double product = 1;
  for (size_t i = 0; i < found->count; ++i) {
    uint32_t value = 0;
    std::memcpy(&value, problem.fields.data() + found->offset + i * sizeof(value), sizeof(value));
    product *= value;
  }
  return product;
}

// The bytes of so many elements of an operand; 0: it is left out, or the operator has none of that name.
double bytes_of(const Problem& problem, std::string_view operand, double elements) {
  const auto found = std::ranges::find(problem.op->operands, operand, &OperandInfo::name);
  if (found == problem.op->operands.end()) return 0;
  const OperandDesc& desc = problem.operands[static_cast<size_t>(found - problem.op->operands.begin())];
  if (!desc.is_present) return 0;
  const WeightForm* form = find_weight_form(desc.layout);  // which may hold nibbles, two to a byte
  const double bits = form ? form->bits : 8.0 * bytes(desc.dtype);
  return elements * bits / 8;
}

bool has_operand(const Problem& problem, std::string_view name) {
  return std::ranges::find(problem.op->operands, name, &OperandInfo::name) != problem.op->operands.end();
}

// Rows by a matrix, a window over an image, or batches of products.
Work of_products(const Problem& problem, double m, double n, double k) {
  const double times = field(problem, "products").value_or(field(problem, "batches").value_or(1));
  const double inputs = field(problem, "input_sides").value_or(times * m * k);
  const double outputs = field(problem, "output_sides").value_or(times * m * n);
  return {bytes_of(problem, "input", inputs) + bytes_of(problem, "other", times * n * k) +
              bytes_of(problem, "weight", times * n * k) + bytes_of(problem, "output", outputs) +
              bytes_of(problem, "d_output", m * n) + bytes_of(problem, "d_input", m * k),
          2 * times * m * n * k};
}

}  // namespace

std::optional<Work> work_of(const Problem& problem) {
  const auto m = field(problem, "m"), n = field(problem, "n"), k = field(problem, "k");
  if (m && n && k) return of_products(problem, *m, *n, *k);
  if (has_operand(problem, "other")) return std::nullopt;  // it may be broadcast
  const auto inputs = field(problem, "input_sides"), outputs = field(problem, "output_sides");
  if (inputs && outputs) {
    return Work{bytes_of(problem, "input", *inputs) + bytes_of(problem, "output", *outputs), 0};
  }
  auto elements = field(problem, "numel");
  if (!elements) elements = field(problem, "sides");
  if (const auto blocks = field(problem, "parameters"), size = field(problem, "block_elements");
      !elements && blocks && size) {
    elements = *blocks * *size;
  }
  if (!elements) return std::nullopt;
  return Work{bytes_of(problem, "input", *elements) + bytes_of(problem, "output", *elements), 0};
}

}  // namespace qgen::report

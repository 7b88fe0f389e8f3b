// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The interfaces of one operator's modules. Families have many interfaces, which differ little. A part that several
// share is printed once, under a name made from its content, and an interface is one line.
//
//   constexpr BindingInfo bindings_4078398b[] = {...};
//   constexpr InterfaceInfo binds_5c1f0a77 = {.bindings = bindings_4078398b, ...};
//   constexpr uint32_t shared_bytes_911660d3[] = {256, 512, 1024};
//   constexpr table::InterfaceRow kInterfaceRows[] = {
//     {&binds_5c1f0a77, workgroup_08bd0ce2, shared_bytes_911660d3, bit(Feature::subgroup_basic)},  // uses_2a63342f
//   };
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/emit/shared_values.h"
#include "vocabulary/features.h"

namespace qgen::emit {
namespace {

using spec::Spec;

// ---- what modules bind ----------------------------------------------------------------------------------------------

Rows binding_rows(const Spec& spec, const reflect::Interface& interface) {
  Rows rows;
  for (const auto& binding : interface.bindings) {
    if (binding.binding == spec.operands.size()) {
      rows.push_back(fmt::format("table::problem_buffer({}),", binding.binding));
      continue;
    }
    const spec::Operand& operand = spec.operands[binding.binding];
    rows.push_back(fmt::format("table::{}({}, Operand::{}, {}),",
                               binding.kind == BindingKind::storage_image ? "image" : "buffer", binding.binding,
                               identifier(operand.name.value), cpp_name(operand.access)));
  }
  return rows;
}

// The offset of a field in the Problem struct, whose fields all consist of 4-byte words.
uint32_t problem_offset(const Spec& spec, std::string_view name) {
  uint32_t offset = 0;
  for (const auto& field : spec.problem) {
    if (field.name.value == name) break;
    offset += 4 * field.count;
  }
  return offset;
}

// One copy for each run of fields that are adjacent in the problem and also in the block.
Rows block_rows(const Spec& spec, const Block* block) {
  Rows rows;
  if (block == nullptr) return rows;
  const auto& members = block->members;
  for (size_t first = 0, end; first < members.size(); first = end) {
    const auto distance = [&](size_t i) { return problem_offset(spec, members[i].name) - members[i].offset; };
    uint32_t bytes = members[first].size_bytes;
    for (end = first + 1; end < members.size() && distance(end) == distance(first); ++end) {
      if (members[end].offset != members[first].offset + bytes) break;
      bytes += members[end].size_bytes;
    }
    const std::string& name = members[first].name;
    rows.push_back(fmt::format("{{offsetof({}, {}), offsetof(Problem, {}), {}}}", block->struct_name, identifier(name),
                               member_of_problem(*find_field(spec, name)), bytes));
  }
  return rows;
}

Rows specialization_slots(const reflect::Interface& interface) {
  Rows rows;
  for (const auto& constant : interface.specialization)
    rows.push_back(fmt::format("{{{0}, {0}}}", constant.constant_id));
  return rows;
}

// The part of an interface that few modules of a family differ in; the result is its name.
std::string print_binds(const Spec& spec, const Shape& shape, SharedValues& shared) {
  Rows fields;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value != "{}") fields.push_back(fmt::format(".{} = {},", name, value));
  };
  const auto add_block = [&](std::string_view name, const Block* block) {
    add(name, shared.print_filled("BlockField", digested(name), "", block_rows(spec, block)));
    if (block) add(fmt::format("{}_bytes", name), fmt::format("sizeof({})", block->struct_name));
  };
  add("bindings", shared.print("BindingInfo", "bindings", binding_rows(spec, *shape.interface)));
  add_block("push_constants", shape.push_constants);
  add_block("problem_buffer", shape.problem_buffer);
  add("specialization",
      shared.print_filled("SpecializationSlot", digested("slots"), "", specialization_slots(*shape.interface)));
  if (shape.subgroup_size != 0) add("required_subgroup_size", fmt::format("{}", shape.subgroup_size));
  return shared.print_struct("InterfaceInfo", "binds", fields);
}

// ---- what they need and use -----------------------------------------------------------------------------------------

std::string needs_of(FeatureMask mask, SharedValues& shared) {
  constexpr size_t kMostInARow = 1;
  Rows bits;
  for (const std::string_view feature : names(mask)) bits.push_back(fmt::format("bit(Feature::{})", feature));
  if (bits.empty()) return "0";
  std::string value = fmt::format("{}", fmt::join(bits, " | "));
  return bits.size() <= kMostInARow ? value : shared.print_value("FeatureMask", "needs", value);
}

// If all are equal, one row represents them.
Rows for_all_alike(Rows rows) {
  if (std::ranges::adjacent_find(rows, std::not_equal_to<>()) == rows.end() && !rows.empty()) rows.resize(1);
  return rows;
}

Rows matrix_rows(const std::vector<CooperativeMatrixShape>& shapes) {
  Rows rows;
  for (const auto& shape : shapes) {
    rows.push_back(fmt::format("{{{}, {}, {}, DType::{}, DType::{}, DType::{}, DType::{}, {}}},", shape.m, shape.n,
                               shape.k, name(shape.a), name(shape.b), name(shape.c), name(shape.result),
                               shape.workgroup_scope));
  }
  return rows;
}

// The shapes for each row of specializations; no rows where the module has no matrices.
Rows matrices_of_rows(const std::vector<reflect::Resources>& resources, SharedValues& shared) {
  Rows rows;
  bool has_matrices = false;
  for (const auto& row : resources) {
    has_matrices |= !row.cooperative_matrices.empty();
    rows.push_back(shared.print("CooperativeMatrixShape", "matrices", matrix_rows(row.cooperative_matrices)));
  }
  return has_matrices ? for_all_alike(std::move(rows)) : Rows();
}

// A row of kInterfaceRows, trailing fields left out where they are nothing.
std::string interface_row(const Spec& spec, const Shape& shape, SharedValues& shared) {
  const std::string binds = print_binds(spec, shape, shared);
  const std::string matrices =
      shared.print_filled("std::span<const CooperativeMatrixShape>", digested("matrices_of_rows"), "",
                          matrices_of_rows(*shape.resources, shared));
  Rows workgroups, shared_bytes;
  for (const auto& row : *shape.resources) {
    workgroups.push_back(fmt::format("{{{}}}", fmt::join(row.workgroup, ", ")));
    shared_bytes.push_back(fmt::format("{}", row.shared_bytes));
  }
  std::string row = "{&" + binds;
  row += ", " + shared.print_filled("uint32_t", digested("workgroup"), "[3]", for_all_alike(std::move(workgroups)));
  row += ", " + shared.print_filled("uint32_t", digested("shared_bytes"), "", for_all_alike(std::move(shared_bytes)));
  const std::string needs = needs_of(shape.interface->needs, shared);
  if (needs != "0" || matrices != "{}") row += ", " + needs;
  if (matrices != "{}") row += ", " + matrices;
  return fmt::format("{}}},  // {}", row, shape.name);
}

}  // namespace

void print_interfaces(TextWriter& out, const OperatorModel& model) {
  out.text("// What modules bind, need and use. Tables of one element stand for all rows of kSpecializations.");
  SharedValues shared(out);
  Rows rows;
  for (const Shape& shape : model.shapes) rows.push_back(interface_row(model.spec(), shape, shared));

  out.text("enum Interface : uint16_t {");
  {
    const auto indented = out.indent();
    for (const Shape& shape : model.shapes) out.line("{},", shape.name);
  }
  out.text("};");
  out.text("constexpr table::InterfaceRow kInterfaceRows[] = {");
  {
    const auto indented = out.indent();
    for (const std::string& row : rows) out.text(row);
  }
  out.text("};");
  out.text("constexpr auto kInterfaces = table::interfaces(kInterfaceRows);");
  out.blank();
}

}  // namespace qgen::emit

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares every module with its spec. This is the last check for a hand-written block with fields that the caller
// cannot fill.
#include "codegen/emit/operator_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/support/digest.h"

namespace qgen::emit {
namespace {

using reflect::Binding;
using reflect::Interface;
using reflect::Member;

Member::Kind member_kind(spec::FieldKind kind) {
  switch (kind) {
    case spec::FieldKind::u32: return Member::Kind::u32;
    case spec::FieldKind::i32: return Member::Kind::i32;
    case spec::FieldKind::f32: return Member::Kind::f32;
  }
  return Member::Kind::other;
}

std::string_view word_of(spec::FieldKind kind) {
  switch (kind) {
    case spec::FieldKind::u32: return "u32";
    case spec::FieldKind::i32: return "i32";
    case spec::FieldKind::f32: return "f32";
  }
  return "";
}

std::string declaration(const spec::ProblemField& field) {
  return field.count == 1 ? std::string(word_of(field.kind)) : fmt::format("{}[{}]", word_of(field.kind), field.count);
}

std::string field_names(const spec::Spec& spec) {
  std::vector<std::string> names;
  for (const auto& field : spec.problem) names.push_back(field.name.value);
  return names.empty() ? "no block: the spec has no problem fields" : one_of(std::move(names));
}

// Vulkan has no largest size of a workgroup: each device has its own. Of devices/ the largest is that of adreno-660.
constexpr uint64_t kMostKnownInvocations = 2048;
constexpr uint64_t kMostInvocations = 32 * kMostKnownInvocations;  // for devices to come

// Collects the faults of one family's kernels. A fault that many share is reported once, for the first.
class Checker {
 public:
  explicit Checker(const spec::Spec& spec) : spec_(spec) {}

  void check(const Kernel& kernel) {
    id_ = kernel.variant.id;
    check_block(kernel.interface.push_constants, "push constant");
    for (const Binding& binding : kernel.interface.bindings) check_binding(binding);
    for (const auto& constant : kernel.interface.specialization) check_constant(constant);
    check_workgroup(kernel);
  }

  Diagnostics take() { return std::move(errors_); }

 private:
  void check_block(const std::vector<Member>& members, std::string_view what) {
    for (const Member& member : members) {
      const spec::ProblemField* field = find_field(spec_, member.name);
      if (field == nullptr) {
        report(fmt::format("{} '{}' is no problem field", what, member.name), field_names(spec_),
               "use declare_problem(), or name the block's members as the problem's fields");
      } else if (member_kind(field->kind) != member.kind || field->count != member.count ||
                 member.size_bytes != 4 * field->count) {
        report(fmt::format("{} '{}' has another type than the problem field", what, member.name),
               fmt::format("{}, tightly packed", declaration(*field)), "use declare_problem()");
      }
    }
  }

  void check_binding(const Binding& binding) {
    if (binding.set != 0) {
      report(fmt::format("'{}' is bound in descriptor set {}", binding.name, binding.set), "set 0", "");
    } else if (binding.binding == spec_.operands.size() && binding.kind == BindingKind::uniform_buffer) {
      check_block(binding.members, "problem buffer member");
    } else if (binding.binding >= spec_.operands.size()) {
      report(fmt::format("'{}' has binding {}, which is no operand", binding.name, binding.binding),
             fmt::format("0 to {}: the operands in their order, then the problem buffer", spec_.operands.size()),
             "use declare()");
    } else if (binding.kind == BindingKind::uniform_buffer) {
      report(fmt::format("operand '{}' is bound as a uniform buffer", spec_.operands[binding.binding].name.value),
             "a storage buffer or a storage image", "use declare()");
    } else if (binding.kind == BindingKind::storage_buffer && !binding.is_aliased &&
               may_share_bytes(spec_.operands[binding.binding], spec_.operands)) {
      report(fmt::format("operand '{}' is declared 'restrict', and the spec has an 'in_place'",
                         spec_.operands[binding.binding].name.value),
             "", "use declare()");
    }
  }

  void check_constant(const reflect::SpecializationConstant& constant) {
    const size_t declared = spec_.specialization.size() + spec_.constants.size();
    if (constant.constant_id < declared) return;
    report(fmt::format("specialization constant '{}' has constant_id {}, which the spec does not declare",
                       constant.name, constant.constant_id),
           fmt::format("less than {}, the spec's specialization constants", declared),
           "add it to `specialization` or `constants`, whose order gives the ids");
  }

  // Grids divide by the axis, or record field, named `workgroup`. A module with another workgroup size would silently
  // skip elements. It may be one side of a workgroup with several.
  void check_workgroup(const Kernel& kernel) {
    const auto rows = specialization_rows(spec_);
    for (size_t r = 0; r < rows.size() && r < kernel.resources.size(); ++r) check_size(kernel, rows[r], r);
    for (size_t p = 0; p < spec_.parameters.size(); ++p) {
      const auto* value = std::get_if<Integer>(&kernel.variant.values[p]);
      if (!value || !is_workgroup(spec_.parameters[p])) continue;
      for (const auto& row : kernel.resources) check_workgroup(spec_.parameters[p], value->value, row.workgroup);
    }
    for (size_t c = 0; c < spec_.specialization.size(); ++c) {
      if (!is_workgroup(spec_.specialization[c])) continue;
      for (size_t r = 0; r < rows.size() && r < kernel.resources.size(); ++r) {
        check_workgroup(spec_.specialization[c], rows[r][c], kernel.resources[r].workgroup);
      }
    }
  }

  // No device runs such a kernel, so the selector would refuse it everywhere. The places are the value of `workgroup`, or
  // the template, which has the size.
  void check_size(const Kernel& kernel, const std::vector<uint32_t>& row, size_t number) {
    const auto& sides = kernel.resources[number].workgroup;
    if (uint64_t{sides[0]} * sides[1] <= kMostInvocations &&
        uint64_t{sides[0]} * sides[1] * sides[2] <= kMostInvocations)
      return;
    Diagnostic& error = report(
        fmt::format("a kernel has workgroups of {} invocations", fmt::join(sides, " x ")),
        fmt::format("at most {}; the largest known device takes {}", kMostInvocations, kMostKnownInvocations), "");
    if (spec_.template_path) error.where = spec_.template_path->where;
    for (size_t p = 0; p < spec_.parameters.size(); ++p) {
      const auto* value = std::get_if<Integer>(&kernel.variant.values[p]);
      if (value) point_at(spec_.parameters[p], value->value, error);
    }
    for (size_t c = 0; c < spec_.specialization.size(); ++c) point_at(spec_.specialization[c], row[c], error);
  }

  static void point_at(const spec::Axis& axis, int64_t number, Diagnostic& error) {
    if (!is_workgroup(axis)) return;
    for (const auto& value : axis.values) {
      const auto* integer = std::get_if<Integer>(&value.value);
      if (integer && integer->value == number) error.where = value.where;
    }
  }

  static bool is_workgroup(const spec::Axis& axis) {
    constexpr std::string_view kWorkgroup = "workgroup";
    return axis.name.value == kWorkgroup || axis.name.value.ends_with(fmt::format(".{}", kWorkgroup));
  }

  void check_workgroup(const spec::Axis& axis, int64_t value, const std::array<uint32_t, 3>& sides) {
    const int64_t all = int64_t{sides[0]} * sides[1] * sides[2];
    const bool is_one = std::any_of(sides.begin(), sides.end(), [&](uint32_t side) { return side == value; });
    if (value == all || is_one) return;
    Diagnostic& error = report(
        fmt::format("'{}' is {}, but the module has workgroups of {}", axis.name.value, value, fmt::join(sides, "x")),
        "that many invocations in a workgroup, or in one of its dimensions",
        fmt::format("declare it in the template: ${{local_size({})}}", axis.name.value));
    error.where = axis.name.where;
  }

  Diagnostic& report(std::string message, std::string expected, std::string hint) {
    const auto is_same = [&](const Diagnostic& error) { return error.message == message; };
    const auto known = std::find_if(errors_.begin(), errors_.end(), is_same);
    if (known != errors_.end()) return *known;
    Diagnostic& error = errors_.emplace_back();
    error.where.file = spec_.file;
    error.message = std::move(message);
    error.expected = std::move(expected);
    error.hint = std::move(hint);
    error.notes.emplace_back().message = "in variant " + id_;
    return error;
  }

  const spec::Spec& spec_;
  std::string id_;
  Diagnostics errors_;
};

std::string text_of(const std::vector<Member>& members, uint32_t size_bytes) {
  std::string text = fmt::format("{} bytes\n", size_bytes);
  for (const Member& member : members) {
    text += fmt::format("{} {} {} {}\n", member.name, member.offset, member.count, static_cast<int>(member.kind));
  }
  return text;
}

std::string text_of(const Kernel& kernel) {
  std::string text = reflect::to_text(kernel.interface);
  for (const auto& row : kernel.resources) {
    text += fmt::format("{} {}\n", fmt::join(row.workgroup, " "), row.shared_bytes);
    for (const auto& shape : row.cooperative_matrices) text += reflect::to_text(shape);
  }
  if (kernel.variant.subgroup_size != 0) text += fmt::format("subgroups of {}\n", kernel.variant.subgroup_size);
  return text;
}

// The bytes of a buffer block: up to the end of its last member.
uint32_t size_of(const std::vector<Member>& members) {
  uint32_t size = 0;
  for (const Member& member : members) size = std::max(size, member.offset + member.size_bytes);
  return size;
}

// The different blocks of one kind, by content.
class Blocks {
 public:
  explicit Blocks(std::string struct_name) : struct_name_(std::move(struct_name)) {}

  void add(const std::vector<Member>& members, uint32_t size_bytes) {
    if (!members.empty()) blocks_.try_emplace(text_of(members, size_bytes), Block{"", members, size_bytes});
  }

  void name_into(std::vector<Block>& all) const {
    for (const auto& [text, block] : blocks_) {
      all.push_back(block);
      all.back().struct_name = blocks_.size() == 1 ? struct_name_ : content_name(struct_name_, text);
    }
  }

 private:
  std::string struct_name_;
  std::map<std::string, Block> blocks_;
};

const Block* find_block(const std::vector<Block>& blocks, std::string_view prefix, const std::vector<Member>& members) {
  const auto block = std::find_if(blocks.begin(), blocks.end(), [&](const Block& b) {
    return b.struct_name.starts_with(prefix) && b.members == members;
  });
  return block == blocks.end() ? nullptr : &*block;
}

std::vector<Block> blocks_of(const Family& family) {
  Blocks push_constants("PushConstants");
  Blocks problem_buffers("ProblemBuffer");
  for (const Kernel& kernel : family.kernels) {
    push_constants.add(kernel.interface.push_constants, kernel.interface.push_constants_bytes);
    if (const Binding* buffer = problem_buffer_of(*family.spec, kernel.interface)) {
      problem_buffers.add(buffer->members, size_of(buffer->members));
    }
  }
  std::vector<Block> blocks;
  push_constants.name_into(blocks);
  problem_buffers.name_into(blocks);
  return blocks;
}

}  // namespace

std::string content_name(std::string_view prefix, std::string_view content) {
  return fmt::format("{}_{:08x}", prefix, static_cast<uint32_t>(digest_of(content).low));
}

ContentNames::Named ContentNames::name(const Names& names, const std::string& content) {
  const auto [place, is_new] = names_.try_emplace({names.last, content});
  std::string& known = place->second;
  if (!is_new) return {known, false};
  const auto take = [&](std::string name) {
    if (taken_.insert(name).second) known = std::move(name);
    return !known.empty();
  };
  if (std::ranges::any_of(names.free, take)) return {known, true};
  for (std::string digested = content; !take(content_name(names.last, digested));) digested += ' ';
  return {known, true};
}

const Binding* problem_buffer_of(const spec::Spec& spec, const Interface& interface) {
  const auto binding = std::find_if(interface.bindings.begin(), interface.bindings.end(),
                                    [&](const Binding& b) { return b.binding == spec.operands.size(); });
  return binding == interface.bindings.end() ? nullptr : &*binding;
}

Result<OperatorModel> model_of(const Family& family) {
  Checker checker(*family.spec);
  for (const Kernel& kernel : family.kernels) checker.check(kernel);
  if (Diagnostics errors = checker.take(); !errors.empty()) return errors;

  OperatorModel model;
  model.family = &family;
  model.blocks = blocks_of(family);
  ContentNames names;
  std::map<std::string, Shape> shapes;
  for (const Kernel& kernel : family.kernels) {
    const std::string name = names.name(digested("uses"), text_of(kernel)).name;
    model.interface.push_back(name);
    const Binding* buffer = problem_buffer_of(*family.spec, kernel.interface);
    shapes.try_emplace(name, Shape{name, &kernel.interface, &kernel.resources, kernel.variant.subgroup_size,
                                   find_block(model.blocks, "PushConstants", kernel.interface.push_constants),
                                   buffer ? find_block(model.blocks, "ProblemBuffer", buffer->members) : nullptr});
  }
  for (auto& [name, shape] : shapes) model.shapes.push_back(std::move(shape));
  return model;
}

}  // namespace qgen::emit

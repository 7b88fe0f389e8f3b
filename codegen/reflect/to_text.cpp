// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include "codegen/reflect/interface.h"
#include "vocabulary/features.h"

namespace qgen::reflect {
namespace {

std::string_view name(Member::Kind kind) {
  switch (kind) {
    case Member::Kind::u32: return "u32";
    case Member::Kind::i32: return "i32";
    case Member::Kind::f32: return "f32";
    case Member::Kind::other: return "other";
  }
  return "?";
}

std::string_view name(BindingKind kind) {
  switch (kind) {
    case BindingKind::storage_buffer: return "storage_buffer";
    case BindingKind::storage_image: return "storage_image";
    case BindingKind::uniform_buffer: return "uniform_buffer";
  }
  return "?";
}

std::string_view name(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::read_write: return "read_write";
  }
  return "?";
}

std::string to_text(const Member& member) {
  const std::string count = member.count == 1 ? "" : fmt::format("[{}]", member.count);
  return fmt::format("    {:>4} {}: {}{}\n", member.offset, member.name, name(member.kind), count);
}

std::string to_text(const Binding& binding) {
  std::string text = fmt::format("binding {}.{} {} {} {}\n", binding.set, binding.binding, name(binding.kind),
                                 name(binding.access), binding.name);
  for (const Member& member : binding.members) text += to_text(member);
  return text;
}

std::string side(uint16_t count) { return count == 0 ? "any" : std::to_string(count); }

}  // namespace

std::string to_text(const CooperativeMatrixShape& s) {
  return fmt::format("cooperative_matrix {}x{}x{} {} * {} + {} -> {} of a {}\n", side(s.m), side(s.n), side(s.k),
                     qgen::name(s.a), qgen::name(s.b), qgen::name(s.c), qgen::name(s.result),
                     s.workgroup_scope ? "workgroup" : "subgroup");
}

std::string to_text(const Interface& interface) {
  std::string text;
  for (const Binding& binding : interface.bindings) text += to_text(binding);
  if (interface.push_constants_bytes != 0)
    text += fmt::format("push constants, {} bytes\n", interface.push_constants_bytes);
  for (const Member& member : interface.push_constants) text += to_text(member);
  for (const SpecializationConstant& constant : interface.specialization) {
    text += fmt::format("specialization {} {} = {}\n", constant.constant_id, constant.name, constant.default_value);
  }
  const auto& workgroup = interface.defaults.workgroup;
  text += fmt::format("workgroup {}x{}x{}\n", workgroup[0], workgroup[1], workgroup[2]);
  text += fmt::format("shared {} bytes\n", interface.defaults.shared_bytes);
  for (const CooperativeMatrixShape& shape : interface.defaults.cooperative_matrices) text += to_text(shape);
  text += fmt::format("needs {}\n",
                      interface.needs == 0 ? "nothing" : fmt::format("{}", fmt::join(names(interface.needs), ", ")));
  return text;
}

}  // namespace qgen::reflect

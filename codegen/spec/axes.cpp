// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>

#include "codegen/support/storage_access.h"

namespace qgen::spec {
namespace {

using expression::Type;
using expression::Value;

std::string_view own_name(const Axis& axis) {
  const std::string_view name = axis.name.value;
  return axis.record.empty() ? name : name.substr(axis.record.size() + 1);
}

std::string id_part(const Axis& axis, const Value& value) {
  switch (expression::type_of(value)) {
    case Type::integer: return fmt::format("{}{}", own_name(axis), expression::to_text(value));
    case Type::boolean: return fmt::format("{}{}", std::get<bool>(value) ? "" : "not_", own_name(axis));
    case Type::word:
      if (axis.name.value == kStorageAccess && expression::to_text(value) == kNativeAccess) return "";
      break;
    case Type::real:
    case Type::text: break;
  }
  return expression::to_text(value);
}

}  // namespace

std::string_view AxisGroup::name() const {
  const Axis& axis = axes.front();
  return axis.record.empty() ? axis.name.value : axis.record;
}

const SourceLocation& AxisGroup::where(size_t choice) const {
  const Axis& axis = axes.front();
  return axis.record.empty() ? axis.values[choice].where : axis.record_places[choice];
}

std::vector<AxisGroup> groups_of(const std::vector<Axis>& axes) {
  std::vector<AxisGroup> groups;
  for (size_t first = 0; first < axes.size();) {
    size_t end = first + 1;
    while (end < axes.size() && !axes[first].record.empty() && axes[end].record == axes[first].record) ++end;
    groups.push_back({first, std::span(axes).subspan(first, end - first)});
    first = end;
  }
  return groups;
}

std::string value_text(const AxisGroup& group, size_t choice) {
  const Axis& first = group.axes.front();
  if (first.record.empty()) return expression::to_text(first.values[choice].value);
  std::vector<std::string> fields;
  for (const Axis& axis : group.axes) {
    fields.push_back(fmt::format("{}: {}", own_name(axis), expression::to_text(axis.values[choice].value)));
  }
  return fmt::format("{{{}}}", fmt::join(fields, ", "));
}

std::string id_part(const AxisGroup& group, size_t choice) {
  std::string part;
  bool is_after_number = true;
  for (const Axis& axis : group.axes) {
    const bool is_number = axis.type == Type::integer;
    if (!part.empty() && !(is_number && is_after_number)) part += '_';
    part += id_part(axis, axis.values[choice].value);
    is_after_number = is_number;
  }
  return part;
}

std::vector<std::string> texts_of(const Axis& axis) {
  std::vector<std::string> texts;
  for (const auto& value : axis.values) texts.push_back(expression::to_text(value.value));
  return texts;
}

std::vector<std::string> words_of(const Axis& axis) {
  std::vector<std::string> words;
  if (axis.type != Type::word) return words;
  std::set<std::string> seen;
  for (std::string& word : texts_of(axis)) {
    if (seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

std::vector<std::string> words_of(const Spec& spec, const Choice& choice) {
  if (!choice.is_parameter) return {choice.word};
  const auto axis = std::find_if(spec.parameters.begin(), spec.parameters.end(),
                                 [&](const Axis& candidate) { return candidate.name.value == choice.word; });
  assert(axis != spec.parameters.end() && "check_spec() resolves the parameters of operands");
  return words_of(*axis);
}

std::string glsl_name(const Axis& axis) {
  std::string name = axis.name.value;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace qgen::spec

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/library/nearest.h"
#include "runtime/operators/attributes.h"
#include "runtime/operators/families.h"

namespace qgen {
namespace {

constexpr std::span<const OperatorEntry> (*kFamilies[])() = {
    affine_entries, elementwise_entries, embedding_entries,     fused_entries,
    linear_entries, packed_entries,      weight_linear_entries, weight_packing_entries,
};

constexpr OperatorAlias kAliases[] = {
    {"_weight_int8pack_mm", "linear_q8csw", "without bias and activation"},
    {"linear_qcs4w", "linear_q4gsw", "with weight_scales [N], the weight's integers one a byte"},
    {"weight_int8pack_mm", "linear_q8csw", "without bias and activation"},
};

std::vector<OperatorEntry> sorted_entries() {
  std::vector<OperatorEntry> entries;
  for (const auto family : kFamilies) entries.insert(entries.end(), family().begin(), family().end());
  std::ranges::sort(entries, {}, &OperatorEntry::name);
  return entries;
}

std::vector<std::string_view> names_of(const auto& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

// "did you mean 'x'?", or all there is.
std::string hint_of(std::string_view written, const std::vector<std::string_view>& known) {
  const std::string_view meant = nearest(written, known);
  if (!meant.empty()) return fmt::format("did you mean '{}'?", meant);
  return known.empty() ? "" : fmt::format("there are {}", fmt::join(known, ", "));
}

Error unknown(std::string_view op, std::string_view what, std::string_view name,
              const std::vector<std::string_view>& known) {
  return {Error::Kind::invalid_argument, fmt::format("'{}' has no {} '{}'", op, what, name), hint_of(name, known)};
}

template <typename Map>
Done check_names(std::string_view op, std::string_view what, const Map& given,
                 const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : given) {
    if (std::ranges::find(known, name) == known.end()) return unknown(op, what, name, known);
  }
  return std::monostate{};
}

Done check_inputs(const OperatorEntry& entry, const Request& request) {
  if (Done known = check_names(entry.name, "input", request.inputs, names_of(entry.inputs)); !known) return known;
  for (const TensorInfo& info : entry.inputs) {
    const auto given = request.inputs.find(info.name);
    if (given != request.inputs.end()) {
      if (Done whole = check_host_tensor(given->second, fmt::format("input '{}'", info.name)); !whole) return whole;
      continue;
    }
    if (info.is_optional) continue;
    return Error{Error::Kind::invalid_argument, fmt::format("'{}' needs input '{}'", entry.name, info.name),
                 std::string(info.summary)};
  }
  return std::monostate{};
}

Done check_places(const OperatorEntry& entry, const Request& request) {
  auto tensors = names_of(entry.inputs);
  for (const TensorInfo& info : entry.outputs) tensors.push_back(info.name);
  return check_names(entry.name, "tensor", request.places, tensors);
}

// What `given` says, or the default; nullopt: neither, and the operator will see to it.
Expected<std::optional<AttributeValue>> value_of(const OperatorEntry& entry, const AttributeInfo& info,
                                                 const AttributeValue* given) {
  if (!given && info.otherwise.starts_with('(')) return std::optional<AttributeValue>();
  if (!given && info.otherwise.empty()) {
    return Error{Error::Kind::invalid_argument, fmt::format("'{}' needs attribute '{}'", entry.name, info.name),
                 fmt::format("{}: {}", name(info.kind), info.summary)};
  }
  auto value = given ? converted(info, *given) : parse_attribute(info, info.otherwise);
  if (!value) return value.error();
  return std::optional(*std::move(value));
}

Done complete_attributes(const OperatorEntry& entry, Request& request) {
  Done known = check_names(entry.name, "attribute", request.attributes, names_of(entry.attributes));
  if (!known) return known;
  for (const AttributeInfo& info : entry.attributes) {
    const auto given = request.attributes.find(info.name);
    const auto value = value_of(entry, info, given == request.attributes.end() ? nullptr : &given->second);
    if (!value) return value.error();
    if (*value) request.attributes.insert_or_assign(std::string(info.name), **value);
  }
  return std::monostate{};
}

}  // namespace

std::span<const OperatorEntry> operators() {
  static const std::vector<OperatorEntry> entries = sorted_entries();
  return entries;
}

const OperatorInfo* kernels_of(const OperatorEntry& entry, const KernelLibrary& library) {
  return library.find(entry.computed_by.empty() ? entry.name : entry.computed_by);
}

std::span<const OperatorAlias> operator_aliases() { return kAliases; }

const OperatorEntry* find_operator(std::string_view name) {
  const auto* alias = std::ranges::find(kAliases, name, &OperatorAlias::name);
  if (alias != std::end(kAliases)) name = alias->op;
  const auto entries = operators();
  const auto found = std::ranges::lower_bound(entries, name, {}, &OperatorEntry::name);
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

Error unknown_operator(std::string_view name) {
  auto known = names_of(operators());
  for (const OperatorAlias& alias : kAliases) known.push_back(alias.name);
  return {Error::Kind::not_found, fmt::format("unknown operator '{}'", name), hint_of(name, known)};
}

Expected<Request> complete(const OperatorEntry& entry, Request request) {
  if (Done known = check_inputs(entry, request); !known) return known.error();
  if (Done known = check_places(entry, request); !known) return known.error();
  if (Done known = complete_attributes(entry, request); !known) return known.error();
  return request;
}

}  // namespace qgen

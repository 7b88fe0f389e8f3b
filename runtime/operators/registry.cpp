// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/nearest.h"
#include "operators.h"
#include "runtime/operators/attributes.h"

namespace qgen {
namespace {

std::vector<OperatorAlias> sorted_aliases() {
  std::vector<OperatorAlias> aliases;
  for (const OperatorEntry& entry : operators()) {
    for (const AliasInfo& alias : entry.aliases) aliases.push_back({alias.name, entry.name, alias.part});
  }
  std::ranges::sort(aliases, {}, &OperatorAlias::name);
  return aliases;
}

bool is_input(const TensorInfo& info) {
  return info.role == TensorInfo::Role::input || info.role == TensorInfo::Role::weight;
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
  const auto inputs = inputs_of(entry);
  if (Done known = check_names(entry.name, "input", request.inputs, names_of(inputs)); !known) return known;
  for (const TensorInfo& info : inputs) {
    const auto given = request.inputs.find(info.name);
    if (given != request.inputs.end()) {
      if (Done whole = check_host_tensor(given->second, fmt::format("input '{}'", info.name)); !whole) return whole;
      continue;
    }
    if (info.is_optional) continue;
    return Error{Error::Kind::invalid_argument, fmt::format("'{}' needs input '{}'", entry.name, info.name),
                 summary_of(info)};
  }
  return std::monostate{};
}

Done check_places(const OperatorEntry& entry, const Request& request) {
  auto tensors = names_of(inputs_of(entry));
  for (const TensorInfo& info : outputs_of(entry)) tensors.push_back(info.name);
  return check_names(entry.name, "tensor", request.places, tensors);
}

// What `given` says, or the default; nullopt: neither, and the operator will see to it.
Expected<std::optional<AttributeValue>> value_of(const OperatorEntry& entry, const AttributeInfo& info,
                                                 const AttributeValue* given) {
  if (!given && !info.is_required() && !info.has_value()) return std::optional<AttributeValue>();
  if (!given && info.is_required()) {
    return Error{Error::Kind::invalid_argument, fmt::format("'{}' needs attribute '{}'", entry.name, info.name),
                 fmt::format("{}: {}", name(info.kind), info.help)};
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

std::span<const OperatorEntry> operators() { return generated::operators::kEntries; }

std::vector<TensorInfo> inputs_of(const SignatureInfo& signature) {
  std::vector<TensorInfo> inputs;
  std::ranges::copy_if(signature.tensors, std::back_inserter(inputs), is_input);
  return inputs;
}

std::vector<TensorInfo> outputs_of(const SignatureInfo& signature) {
  std::vector<TensorInfo> outputs;
  std::ranges::copy_if(signature.tensors, std::back_inserter(outputs),
                       [](const TensorInfo& info) { return info.role == TensorInfo::Role::output; });
  return outputs;
}

std::string summary_of(const TensorInfo& info) {
  std::string text = fmt::format("{} {}", fmt::join(names_in(info.dtypes), ", "), to_text(info.shapes));
  if (!info.help.empty()) text += fmt::format("; {}", info.help);
  return text;
}

const OperatorInfo* kernels_of(const OperatorEntry& entry, const KernelLibrary& library) {
  return library.find(entry.op->name);
}

std::span<const OperatorAlias> operator_aliases() {
  static const std::vector<OperatorAlias> aliases = sorted_aliases();
  return aliases;
}

const OperatorEntry* find_operator(std::string_view name) {
  const auto aliases = operator_aliases();
  const auto alias = std::ranges::find(aliases, name, &OperatorAlias::name);
  if (alias != aliases.end()) name = alias->op;
  const auto entries = operators();
  const auto found = std::ranges::lower_bound(entries, name, {}, &OperatorEntry::name);
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

Error unknown_operator(std::string_view name) {
  auto known = names_of(operators());
  for (const OperatorAlias& alias : operator_aliases()) known.push_back(alias.name);
  return {Error::Kind::not_found, fmt::format("unknown operator '{}'", name), hint_of(name, known)};
}

Expected<Request> complete(const OperatorEntry& entry, Request request) {
  if (Done known = check_inputs(entry, request); !known) return known.error();
  if (Done known = check_places(entry, request); !known) return known.error();
  if (Done known = complete_attributes(entry, request); !known) return known.error();
  return request;
}

}  // namespace qgen

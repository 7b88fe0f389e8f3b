// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/nearest.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/calls/placement.h"

namespace qgen {
namespace {

bool is_input(const TensorInfo& info) {
  return info.role == TensorInfo::Role::input || info.role == TensorInfo::Role::weight;
}

std::vector<std::string_view> names_of(const auto& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

Error unknown(std::string_view op, std::string_view what, std::string_view name,
              const std::vector<std::string_view>& known) {
  return {Error::Kind::invalid_argument, fmt::format("'{}' has no {} '{}'", op, what, name), hint_among(name, known)};
}

template <typename Map>
Done check_names(std::string_view op, std::string_view what, const Map& given,
                 const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : given) {
    if (std::ranges::find(known, name) == known.end()) return unknown(op, what, name, known);
  }
  return std::monostate{};
}

Done check_data(const HostTensor& tensor, std::string_view name, Data data) {
  if (data == Data::described && tensor.data.empty()) return check_shape(tensor.shape);
  return check_host_tensor(tensor, fmt::format("input '{}'", name));
}

Done check_inputs(const OperatorEntry& entry, const Request& request, Data data) {
  const auto inputs = inputs_of(entry);
  if (Done known = check_names(entry.name, "input", request.inputs, names_of(inputs)); !known) return known;
  for (const TensorInfo& info : inputs) {
    const auto given = request.inputs.find(info.name);
    if (given != request.inputs.end()) {
      if (Done whole = check_data(given->second, info.name, data); !whole) return whole;
      continue;
    }
    if (info.is_optional) continue;
    return Error{Error::Kind::invalid_argument, fmt::format("'{}' needs input '{}'", entry.name, info.name),
                 summary_of(info)};
  }
  return std::monostate{};
}

Done check_representations(const OperatorEntry& entry, const Request& request) {
  auto tensors = names_of(inputs_of(entry));
  for (const TensorInfo& info : outputs_of(entry)) tensors.push_back(info.name);
  return check_names(entry.name, "tensor", request.representations, tensors);
}

// What `given` says, or the default; nullopt: neither, and the operator will see to it.
Expected<std::optional<AttributeValue>> value_of(const SignatureInfo& entry, const AttributeInfo& info,
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

}  // namespace

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

const TensorInfo* find_tensor(const SignatureInfo& signature, std::string_view name) {
  const auto found = std::ranges::find(signature.tensors, name, &TensorInfo::name);
  return found == signature.tensors.end() ? nullptr : &*found;
}

std::string summary_of(const TensorInfo& info) {
  std::string text = fmt::format("{} {}", fmt::join(names_in(info.dtypes), ", "), to_text(info.shapes));
  if (!info.help.empty()) text += fmt::format("; {}", info.help);
  return text;
}

const OperatorInfo* kernels_of(const OperatorEntry& entry, const KernelLibrary& library) {
  return library.find(entry.op->name);
}

std::vector<OperatorAlias> aliases_of(OperatorEntries operators) {
  std::vector<OperatorAlias> aliases;
  for (const OperatorEntry& entry : operators) {
    for (const AliasInfo& alias : entry.aliases) aliases.push_back({alias.name, entry.name, alias.part});
  }
  std::ranges::sort(aliases, {}, &OperatorAlias::name);
  return aliases;
}

const OperatorEntry* find_operator(OperatorEntries operators, std::string_view name) {
  const auto is_meant = [&](const OperatorEntry& entry) {
    return entry.name == name || std::ranges::find(entry.aliases, name, &AliasInfo::name) != entry.aliases.end();
  };
  const auto found = std::ranges::find_if(operators, is_meant);
  return found == operators.end() ? nullptr : &*found;
}

Error unknown_operator(OperatorEntries operators, std::string_view name) {
  constexpr size_t kFewNames = 8;
  auto known = names_of(operators);
  for (const OperatorAlias& alias : aliases_of(operators)) known.push_back(alias.name);
  // Not every name: a program may have a hundred.
  std::string hint = known.size() > kFewNames ? did_you_mean(name, known) : hint_among(name, known);
  if (hint.empty() && known.size() > kFewNames)
    hint = fmt::format("the nearest are {}; qgen-run --list prints all", fmt::join(nearest(name, known, 3), ", "));
  return {Error::Kind::not_found, fmt::format("unknown operator '{}'", name), std::move(hint)};
}

Expected<Request> complete(const OperatorEntry& entry, Request request, Data data) {
  if (Done known = check_inputs(entry, request, data); !known) return known.error();
  if (Done known = check_representations(entry, request); !known) return known.error();
  auto attributes = complete_attributes(entry, std::move(request.attributes));
  if (!attributes) return attributes.error();
  request.attributes = *std::move(attributes);
  return request;
}

Expected<Attributes> complete_attributes(const SignatureInfo& signature, Attributes attributes) {
  Done known = check_names(signature.name, "attribute", attributes, names_of(signature.attributes));
  if (!known) return known.error();
  for (const AttributeInfo& info : signature.attributes) {
    const auto given = attributes.find(info.name);
    const auto value = value_of(signature, info, given == attributes.end() ? nullptr : &given->second);
    if (!value) return value.error();
    if (*value) attributes.insert_or_assign(std::string(info.name), **value);
  }
  return attributes;
}

void set_attributes(InferArguments& arguments, const Attributes& attributes) {
  for (size_t i = 0; i < arguments.attributes.size(); ++i) {
    const auto value = attributes.find(arguments.signature->attributes[i].name);
    if (value != attributes.end()) arguments.attributes[i] = value->second;
  }
}

}  // namespace qgen

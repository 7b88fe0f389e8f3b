// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/schema.h"

#include <algorithm>
#include <tuple>

namespace qgen::onnx {
namespace {

constexpr SchemaRow kRows[] = {
#include "runtime/models/onnx/schema_rows.inc"
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

std::vector<SchemaParameter> parameters_of(std::string_view text) {
  std::vector<SchemaParameter> parameters;
  for (const std::string_view part : split(text, ' ')) {
    const size_t colon = part.find(':');
    SchemaParameter parameter{part.substr(0, colon),
                              colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1)};
    parameter.is_optional = parameter.name.ends_with('?');
    parameter.is_variadic = parameter.name.ends_with('*');
    if (parameter.is_optional || parameter.is_variadic) parameter.name.remove_suffix(1);
    parameters.push_back(parameter);
  }
  return parameters;
}

}  // namespace

std::span<const SchemaRow> schema_rows() { return kRows; }

std::span<const SchemaRow> versions_of(std::string_view op, std::string_view domain) {
  const auto key = [](const SchemaRow& row) { return std::tuple(row.domain, row.op); };
  const std::tuple wanted(domain, op);
  return {std::ranges::lower_bound(kRows, wanted, {}, key), std::ranges::upper_bound(kRows, wanted, {}, key)};
}

const SchemaRow* find_schema(std::string_view op, std::string_view domain, int64_t opset) {
  const SchemaRow* newest = nullptr;
  for (const SchemaRow& row : versions_of(op, domain)) {
    if (!newest || !domain.empty() || row.since <= opset) newest = &row;
  }
  return newest;
}

std::vector<SchemaParameter> inputs_of(const SchemaRow& row) { return parameters_of(row.inputs); }
std::vector<SchemaParameter> outputs_of(const SchemaRow& row) { return parameters_of(row.outputs); }

std::vector<SchemaAttribute> attributes_of(const SchemaRow& row) {
  std::vector<SchemaAttribute> attributes;
  for (std::string_view part : split(row.attributes, ' ')) {
    const bool is_required = part.ends_with('!');
    if (is_required) part.remove_suffix(1);
    const size_t equals = part.find('=');
    attributes.push_back({part.substr(0, equals), part.substr(equals + 1), is_required});
  }
  return attributes;
}

std::vector<std::string_view> types_of(const SchemaRow& row, std::string_view variable) {
  for (const std::string_view part : split(row.types, ' ')) {
    const size_t equals = part.find('=');
    if (part.substr(0, equals) == variable) return split(part.substr(equals + 1), ',');
  }
  return {};
}

std::string_view kind_of(const AttributeData& data) {
  constexpr std::string_view kKinds[] = {"integer", "real", "word", "integers", "reals", "words", "tensor", "graph"};
  static_assert(std::size(kKinds) == std::variant_size_v<AttributeData>);
  return kKinds[data.index()];
}

}  // namespace qgen::onnx

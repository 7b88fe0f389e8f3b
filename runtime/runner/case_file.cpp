// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// case.json is read with the YAML reader: JSON without duplicate keys is YAML.
#include "runtime/runner/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "common/files.h"
#include "runtime/operators/attributes.h"
#include "runtime/tensor/npy.h"

namespace qgen::runner {
namespace {

Error refused(const std::filesystem::path& file, const YAML::Node& node, std::string_view what) {
  return {Error::Kind::invalid_argument, fmt::format("{}:{}: {}", file.string(), node.Mark().line + 1, what),
          "tests/conformance/README.md says what a case holds"};
}

std::optional<std::vector<int64_t>> integers_of(const YAML::Node& list) {
  std::vector<int64_t> integers(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    if (!YAML::convert<int64_t>::decode(list[i], integers[i])) return std::nullopt;
  }
  return integers;
}

// What stands in quotes has YAML's tag "!".
std::optional<AttributeValue> attribute_of(const YAML::Node& node) {
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  if (node.IsScalar() && node.Tag() == "!") return node.as<std::string>();
  if (node.IsSequence()) return integers_of(node);
  if (YAML::convert<int64_t>::decode(node, integer)) return integer;
  if (YAML::convert<bool>::decode(node, boolean)) return boolean;
  if (YAML::convert<double>::decode(node, real)) return real;
  return std::nullopt;
}

// The files beside case.json that a list of names means.
Expected<Tensors> load_tensors(const std::filesystem::path& file, const YAML::Node& root, const char* key) {
  Tensors tensors;
  if (!root[key] || !root[key].IsSequence()) return refused(file, root, fmt::format("there is no list of '{}'", key));
  for (const auto& node : root[key]) {
    if (!node.IsScalar()) return refused(file, node, fmt::format("'{}' holds something that is no name", key));
    const auto operand = node.as<std::string>();
    auto tensor = load_npy(file.parent_path() / (operand + ".npy"));
    if (!tensor) return tensor.error();
    tensors.emplace(operand, *std::move(tensor));
  }
  return tensors;
}

Tolerance tolerance_of(const YAML::Node& tolerance, std::string_view output) {
  const auto zero_point = tolerance["zero_point_abs"];
  if (output == "zero_point" && zero_point) return {.abs = zero_point.as<double>()};
  return {tolerance["abs"].as<double>(0), tolerance["rel"].as<double>(0)};
}

Expected<ConformanceCase> read_case(const std::filesystem::path& file) {
  const auto text = read_file(file.string());
  if (!text) return text.error();
  const YAML::Node root = YAML::Load(*text);
  if (!root.IsMap() || !root["op"] || !root["op"].IsScalar()) return refused(file, root, "there is no 'op'");
  ConformanceCase result{.name = case_name(file), .op = root["op"].as<std::string>()};
  for (const auto& pair : root["attributes"]) {
    const auto value = attribute_of(pair.second);
    if (!value)
      return refused(file, pair.second, fmt::format("'{}' is no attribute's value", pair.first.as<std::string>()));
    result.request.attributes.emplace(pair.first.as<std::string>(), *value);
  }
  auto inputs = load_tensors(file, root, "inputs");
  if (!inputs) return inputs.error();
  result.request.inputs = *std::move(inputs);
  auto expected = load_tensors(file, root, "expect");
  if (!expected) return expected.error();
  result.expected = *std::move(expected);
  const YAML::Node tolerance = root["tolerance"];
  if (!tolerance || !tolerance.IsMap()) return refused(file, root, "there is no 'tolerance'");
  for (const auto& [output, tensor] : result.expected)
    result.tolerances.emplace(output, tolerance_of(tolerance, output));
  if (const auto f16_rel = tolerance["f16_rel"]) result.f16_rel = f16_rel.as<double>();
  return result;
}

std::string json_of(const AttributeValue& value) {
  const bool is_word = std::holds_alternative<std::string>(value);
  return is_word ? fmt::format("\"{}\"", to_text(value)) : to_text(value);
}

std::string json_of(const ConformanceCase& saved) {
  std::vector<std::string> inputs, attributes, expect;
  for (const auto& [name, tensor] : saved.request.inputs) inputs.push_back(fmt::format("\"{}\"", name));
  for (const auto& [name, value] : saved.request.attributes) {
    attributes.push_back(fmt::format("\"{}\": {}", name, json_of(value)));
  }
  for (const auto& [name, tensor] : saved.expected) expect.push_back(fmt::format("\"{}\"", name));
  return fmt::format(
      "{{\"op\": \"{}\", \"inputs\": [{}], \"attributes\": {{{}}}, \"expect\": [{}], \"tolerance\": {{\"abs\": 0}}}}\n",
      saved.op, fmt::join(inputs, ", "), fmt::join(attributes, ", "), fmt::join(expect, ", "));
}

}  // namespace

std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == "case.json") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string case_name(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  return (folder.parent_path().filename() / folder.filename()).string();
}

Expected<ConformanceCase> load_case(const std::filesystem::path& file) {
  try {
    return read_case(file);
  } catch (const YAML::Exception& error) {
    return Error{Error::Kind::invalid_argument, fmt::format("{}:{}: {}", file.string(), error.mark.line + 1, error.msg),
                 "tests/conformance/README.md says what a case holds"};
  }
}

Done save_case(const std::filesystem::path& folder, const ConformanceCase& saved) {
  Outputs outputs;
  const Done added_case = outputs.add((folder / "case.json").string(), json_of(saved), Outputs::Folder::is_made);
  if (!added_case) return added_case;
  for (const Tensors* tensors : {&saved.request.inputs, &saved.expected}) {
    for (const auto& [name, tensor] : *tensors) {
      if (Done added = add_npy(outputs, folder / (name + ".npy"), tensor); !added) return added;
    }
  }
  return outputs.commit();
}

}  // namespace qgen::runner

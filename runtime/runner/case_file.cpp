// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// case.json is read with the YAML reader: JSON without duplicate keys is YAML.
#include "runtime/runner/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>

#include "runtime/operators/attributes.h"
#include "runtime/tensor/npy.h"

namespace qgen::runner {
namespace {

AttributeValue attribute_of(const YAML::Node& node) {
  if (node.IsSequence()) return node.as<std::vector<int64_t>>();
  if (node.Tag() == "!") return node.as<std::string>();  // what stood in quotes
  bool boolean = false;
  int64_t integer = 0;
  if (YAML::convert<int64_t>::decode(node, integer)) return integer;
  if (YAML::convert<bool>::decode(node, boolean)) return boolean;
  return node.as<double>();
}

Expected<Tensors> load_tensors(const std::filesystem::path& folder, const YAML::Node& names) {
  Tensors tensors;
  for (const auto& node : names) {
    const auto operand = node.as<std::string>();
    auto tensor = load_npy(folder / (operand + ".npy"));
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
  const YAML::Node root = YAML::LoadFile(file.string());
  ConformanceCase result{.name = case_name(file), .op = root["op"].as<std::string>()};
  auto inputs = load_tensors(file.parent_path(), root["inputs"]);
  if (!inputs) return inputs.error();
  result.request.inputs = *std::move(inputs);
  for (const auto& pair : root["attributes"]) {
    result.request.attributes.emplace(pair.first.as<std::string>(), attribute_of(pair.second));
  }
  auto expected = load_tensors(file.parent_path(), root["expect"]);
  if (!expected) return expected.error();
  result.expected = *std::move(expected);
  const YAML::Node tolerance = root["tolerance"];
  for (const auto& [output, tensor] : result.expected) result.tolerances.emplace(output, tolerance_of(tolerance, output));
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
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{}:{}: {}", file.string(), error.mark.line + 1, error.msg),
                 "tests/conformance/README.md says what a case holds"};
  }
}

Done save_case(const std::filesystem::path& folder, const ConformanceCase& saved) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream file(folder / "case.json", std::ios::binary);
  file << json_of(saved);
  file.close();
  if (!file) return Error{Error::Kind::system, fmt::format("cannot write {}", (folder / "case.json").string()), ""};
  for (const Tensors* tensors : {&saved.request.inputs, &saved.expected}) {
    for (const auto& [name, tensor] : *tensors) {
      if (Done written = save_npy(folder / (name + ".npy"), tensor); !written) return written;
    }
  }
  return std::monostate{};
}

}  // namespace qgen::runner

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// case.json is read with the YAML reader: JSON without duplicate keys is YAML.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "runtime/runner/conformance.h"
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

}  // namespace qgen::runner

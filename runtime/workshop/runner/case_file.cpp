// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/tensor/npy.h"

namespace qgen::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCaseFile = "case.json";
constexpr std::string_view kZeroPoint = "zero_point";

std::optional<AttributeValue> attribute_of(const json::Value& value) {
  if (const auto* boolean = value.as<bool>()) return *boolean;
  if (const auto* integer = value.as<int64_t>()) return *integer;
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* word = value.as<std::string>()) return *word;
  const auto* list = value.as<json::List>();
  if (!list) return std::nullopt;
  std::vector<int64_t> integers;
  for (const json::Value& item : *list) {
    const auto* integer = item.as<int64_t>();
    if (!integer) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

// Reads one case.json. `entry` is its operator, or null if the library has no such operator: then its arguments are not
// checked.
struct Reader {
  const fs::path& file;
  const json::Document& document;
  const OperatorEntry* entry = nullptr;

  // A name that a case uses stands among those that the operator has.
  Done check_name(const json::Mark& mark, std::string_view what, std::string_view name, const auto& infos) const {
    if (!entry || std::ranges::find(infos, name, [](const auto& info) { return info.name; }) != std::end(infos)) {
      return std::monostate{};
    }
    std::vector<std::string_view> known;
    for (const auto& info : infos) known.push_back(info.name);
    return json::error_at(document, mark, fmt::format("'{}' has no {} '{}'", entry->name, what, name),
                          json::hint_of(name, known));
  }

  // The files next to case.json that a list of names refers to.
  Expected<Tensors> tensors(const json::Value& list, std::string_view what,
                            const std::vector<TensorInfo>& infos) const {
    const auto* names = list.as<json::List>();
    if (!names) return json::wrong(document, list, "a list of names");
    Tensors result;
    for (const json::Value& item : *names) {
      const auto* name = item.as<std::string>();
      if (!name) return json::wrong(document, item, "a list of names");
      if (Done known = check_name(item.mark, what, *name, infos); !known) return known.error();
      if (result.contains(*name)) {
        return json::error_at(document, item.mark, fmt::format("{} '{}' is given twice", what, *name));
      }
      auto tensor = load_npy(file.parent_path() / (*name + ".npy"));
      if (!tensor) return tensor.error();
      result.emplace(*name, *std::move(tensor));
    }
    return result;
  }

  Expected<Tensors> expected(const json::Value& list) const {
    auto result = tensors(list, "output", entry ? outputs_of(*entry) : std::vector<TensorInfo>());
    if (result && result->empty()) {
      return json::error_at(document, list.mark, "'expect' is empty: there is nothing to compare",
                            "name the outputs whose .npy files are next to the case");
    }
    return result;
  }

  Done add_attribute(const json::Member& member, Request& request) const {
    const auto infos = entry ? entry->attributes : std::span<const AttributeInfo>();
    if (Done known = check_name(member.mark, "attribute", member.key, infos); !known) return known;
    auto value = attribute_of(member.value);
    if (!value) return json::wrong(document, member.value, "a number, true, false, a word or a list of integers");
    if (entry) {
      const auto& info = *std::ranges::find(infos, member.key, &AttributeInfo::name);
      if (const auto taken = converted(info, *value); !taken) {
        return json::error_at(document, member.value.mark, taken.error().message, taken.error().hint);
      }
    }
    request.attributes.emplace(member.key, *std::move(value));
    return std::monostate{};
  }

  Expected<std::optional<double>> tolerance(const json::Object& tolerances, std::string_view key) const {
    const json::Value* value = tolerances.find(key);
    if (!value) return std::optional<double>();
    const auto number = json::number_of(*value);
    if (!number || !(*number >= 0) || !std::isfinite(*number)) {
      return json::wrong(document, *value, "a finite number that is not below 0");
    }
    return number;
  }

  Done add_tolerances(const json::Value& value, ConformanceCase& result) const {
    const auto object = json::Object::of(document, value, {"abs", "rel", "zero_point_abs", "f16_rel"});
    if (!object) return object.error();
    const auto abs = tolerance(*object, "abs"), rel = tolerance(*object, "rel");
    const auto zero_point_abs = tolerance(*object, "zero_point_abs"), f16_rel = tolerance(*object, "f16_rel");
    for (const auto* one : {&abs, &rel, &zero_point_abs, &f16_rel}) {
      if (!*one) return one->error();
    }
    if (*zero_point_abs && !result.expected.contains(kZeroPoint)) {
      return json::error_at(document, object->find("zero_point_abs")->mark,
                            "'zero_point_abs' is given, but 'expect' has no 'zero_point'");
    }
    for (const auto& [output, tensor] : result.expected) {
      const bool is_zero_point = *zero_point_abs && output == kZeroPoint;
      result.tolerances.emplace(
          output, is_zero_point ? Tolerance{.abs = **zero_point_abs} : Tolerance{abs->value_or(0), rel->value_or(0)});
    }
    result.f16_rel = *f16_rel;
    return std::monostate{};
  }

  Done read(const json::Object& root, ConformanceCase& result) const {
    if (const json::Value* attributes = root.find("attributes")) {
      const auto* members = attributes->as<json::Members>();
      if (!members) return json::wrong(document, *attributes, "an object");
      for (const json::Member& member : *members) {
        if (Done added = add_attribute(member, result.request); !added) return added;
      }
    }
    const auto inputs = root.need("inputs"), expect = root.need("expect"), tolerances = root.need("tolerance");
    for (const auto* needed : {&inputs, &expect, &tolerances}) {
      if (!*needed) return needed->error();
    }
    auto given = tensors(**inputs, "input", entry ? inputs_of(*entry) : std::vector<TensorInfo>());
    if (!given) return given.error();
    result.request.inputs = *std::move(given);
    auto wanted = expected(**expect);
    if (!wanted) return wanted.error();
    result.expected = *std::move(wanted);
    return add_tolerances(**tolerances, result);
  }
};

Expected<ConformanceCase> case_of(OperatorEntries operators, const fs::path& file, const json::Document& document) {
  const auto root =
      json::Object::of(document, document.root, {"op", "inputs", "attributes", "expect", "tolerance", "origin"});
  if (!root) return root.error();
  const auto op = root->need("op");
  if (!op) return op.error();
  const auto* name = (*op)->as<std::string>();
  if (!name) return json::wrong(document, **op, "the name of an operator");
  ConformanceCase result{.name = case_name(file), .op = *name};
  if (Done read = Reader{file, document, find_operator(operators, *name)}.read(*root, result); !read)
    return read.error();
  return result;
}

nlohmann::ordered_json json_of(const ConformanceCase& saved) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), expect = inputs;
  nlohmann::ordered_json attributes = nlohmann::ordered_json::object();
  for (const auto& [name, tensor] : saved.request.inputs) inputs.push_back(name);
  for (const auto& [name, tensor] : saved.expected) expect.push_back(name);
  for (const auto& [name, value] : saved.request.attributes) {
    std::visit([&, &key = name](const auto& held) { attributes[key] = held; }, value);
  }
  return {{"op", saved.op},
          {"inputs", std::move(inputs)},
          {"attributes", std::move(attributes)},
          {"expect", std::move(expect)},
          {"tolerance", {{"abs", 0}}}};
}

}  // namespace

Expected<std::vector<fs::path>> find_cases(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == kCaseFile) files.push_back(entry->path());
  }
  if (error) {
    return Error{Error::Kind::not_found,
                 fmt::format("cannot look for cases in '{}': {}", printable(folder.string()), error.message()),
                 "name a folder; each case in it is a folder with a file case.json"};
  }
  if (files.empty()) {
    return Error{Error::Kind::not_found, fmt::format("there is no case.json below '{}'", folder.string()), ""};
  }
  std::ranges::sort(files);
  return files;
}

std::string case_name(const fs::path& file) {
  const fs::path folder = fs::absolute(file).parent_path();
  return (folder.parent_path().filename() / folder.filename()).string();
}

Expected<ConformanceCase> load_case(OperatorEntries operators, const fs::path& file) {
  const auto text = read_file(file.string());
  if (!text) return text.error();
  const auto document = json::read(file.string(), *text);
  auto result = document ? case_of(operators, file, *document) : Expected<ConformanceCase>(document.error());
  if (result) return result;
  Error error = result.error();
  if (error.hint.empty()) error.hint = "tests/conformance/README.md describes a case";
  return error;
}

Done save_case(const fs::path& folder, const ConformanceCase& saved) {
  Outputs outputs;
  const Done added_case =
      outputs.add((folder / "case.json").string(), json::to_text(json_of(saved)) + '\n', Outputs::Folder::is_made);
  if (!added_case) return added_case;
  for (const Tensors* tensors : {&saved.request.inputs, &saved.expected}) {
    for (const auto& [name, tensor] : *tensors) {
      if (Done added = add_npy(outputs, folder / (name + ".npy"), tensor); !added) return added;
    }
  }
  return outputs.commit();
}

}  // namespace qgen::runner

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/fitting/write_constants.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "common/files.h"

namespace qgen::fitting {
namespace {

constexpr std::string_view kCostSuffix = ".cost";

// A number of the text, and its replacement.
struct Edit {
  size_t offset = 0;
  size_t length = 0;
  std::string number;
};

Error at(const std::string& file, const YAML::Mark& mark, const std::string& message) {
  return refused(fmt::format("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message));
}

// `fit` is a map, or a list of maps and of names of fragments, whose numbers stand in their own files.
YAML::Node number_of(const YAML::Node& fit, const std::string& name) {
  // Alone, or next to its unit: `step_us: {value: 0.2, unit: us, help: ...}`.
  const auto in = [&](const YAML::Node& map) -> YAML::Node {
    const YAML::Node number = map[name];
    return number && number.IsMap() ? number["value"] : number;
  };
  if (fit.IsMap()) return in(fit);
  for (const YAML::Node& part : fit) {
    if (part.IsMap() && part[name]) return in(part);
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

Expected<Edit> edit_of(const YAML::Node& fit, std::string_view text, const std::string& file,
                       const FittedConstant& constant) {
  const YAML::Node value = number_of(fit, constant.name);
  if (!value || !value.IsScalar()) return at(file, fit.Mark(), fmt::format("'fit' has no number '{}'", constant.name));
  const auto mark = static_cast<size_t>(value.Mark().pos);
  const bool is_quoted = mark < text.size() && (text[mark] == '"' || text[mark] == '\'');
  const size_t offset = mark + (is_quoted ? 1 : 0);
  const std::string& number = value.Scalar();
  if (offset > text.size() || text.substr(offset, number.size()) != number) {
    return at(file, value.Mark(), fmt::format("the number of '{}' is not written here literally", constant.name));
  }
  return Edit{offset, number.size(), fmt::format("{}", constant.after)};
}

Expected<YAML::Node> fit_of(std::string_view text, const std::string& file) {
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    const YAML::Node fit = root.IsMap() ? root["fit"] : YAML::Node();
    if (!fit || fit.IsScalar()) return refused(fmt::format("{}: the spec has no 'fit'", file));
    return fit;
  } catch (const YAML::Exception& error) {
    return at(file, error.mark, error.msg);
  }
}

// Where the constants of the spec or fragment of each name are below a folder: in its cost's file, if it has one.
Expected<std::map<std::string, std::string>> specs_below(const std::string& folder) {
  const auto files = list_files(folder);
  if (!files) return files.error();
  std::map<std::string, std::string> specs;
  for (const std::string& file : *files) {
    const std::filesystem::path path(file);
    const std::string stem = path.stem().string();
    const bool is_cost = stem.ends_with(kCostSuffix);
    if (path.extension() != ".yaml") continue;
    if (is_cost) specs.insert_or_assign(stem.substr(0, stem.size() - kCostSuffix.size()), folder + "/" + file);
    else specs.emplace(stem, folder + "/" + file);
  }
  return specs;
}

}  // namespace

Expected<std::string> with_constants(std::string_view text, const std::string& file,
                                     std::span<const FittedConstant> constants) {
  const auto fit = fit_of(text, file);
  if (!fit) return fit.error();
  std::vector<Edit> edits;
  for (const FittedConstant& constant : constants) {
    if (constant.after == constant.before) continue;
    auto edit = edit_of(*fit, text, file, constant);
    if (!edit) return edit.error();
    edits.push_back(*std::move(edit));
  }
  std::ranges::sort(edits, std::greater(), &Edit::offset);  // from the end, so that places before stay where they are
  std::string result(text);
  for (const Edit& edit : edits) result.replace(edit.offset, edit.length, edit.number);
  return result;
}

Expected<std::vector<std::string>> write_constants(const std::string& folder,
                                                   std::span<const FittedConstant> constants) {
  const auto specs = specs_below(folder);
  if (!specs) return specs.error();
  std::map<std::string, std::vector<FittedConstant>> changed;  // by spec
  for (const FittedConstant& constant : constants) {
    if (constant.after != constant.before) changed[constant.spec].push_back(constant);
  }
  std::vector<std::string> written;
  Outputs outputs;
  for (const auto& [name, constants_of_it] : changed) {
    const auto spec = specs->find(name);
    if (spec == specs->end()) return Error{Error::Kind::not_found, fmt::format("{} has no {}.yaml", folder, name), ""};
    const std::string& path = spec->second;
    const auto text = read_file(path);
    if (!text) return text.error();
    const auto edited = with_constants(*text, path, constants_of_it);
    if (!edited) return edited.error();
    if (const auto added = outputs.add(path, *edited); !added) return added.error();
    written.push_back(path);
  }
  if (const auto done = outputs.commit(); !done) return done.error();
  return written;
}

}  // namespace qgen::fitting

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "codegen/support/files.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

std::string joined(const fs::path& folder, const std::string& name) {
  return (folder / name).lexically_normal().generic_string();
}

// "specs/" -> "specs", "." -> "": the folder's own name, as far as it was typed.
std::string last_name(const fs::path& path) {
  fs::path name = path.lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  const std::string text = name.filename().generic_string();
  return text == "." || text == ".." ? "" : text;
}

struct SpecPath {
  std::string path;
  std::string source;
};

Expected<std::vector<SpecPath>> find_specs(const std::string& argument) {
  std::error_code code;
  if (!fs::is_directory(argument, code)) {
    const fs::path path = argument;
    return std::vector<SpecPath>{{argument, joined(last_name(path.parent_path()), path.filename().string())}};
  }
  const auto files = list_files(argument);
  if (!files) return files.error();
  std::vector<SpecPath> found;
  for (const std::string& file : *files) {
    if (file.ends_with(".yaml")) found.push_back({joined(argument, file), joined(last_name(argument), file)});
  }
  if (found.empty()) {
    return Error{Error::Kind::not_found, fmt::format("no *.yaml file in the folder '{}'", argument), ""};
  }
  return found;
}

bool is_template(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return !name.starts_with('.') && !name.ends_with(".md");
}

Done read_templates(const std::string& root, bool is_first, render::TemplateSet& templates) {
  const auto files = list_files(root);
  if (!files) return files.error();
  for (const std::string& file : *files) {
    if (!is_template(file) || templates.count(file) != 0) continue;
    const std::string path = joined(root, file);
    auto text = read_file(path);
    if (!text) return text.error();
    templates.emplace(file, render::TemplateFile{file, path, *std::move(text), is_first});
  }
  return Done(std::monostate{});
}

// The nearest `templates` beside a spec or above it, without leaving what was typed.
std::vector<std::string> default_roots(const std::vector<std::string>& specs) {
  for (const std::string& spec : specs) {
    fs::path folder = fs::path(spec).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    while (folder.has_relative_path()) {
      folder = folder.parent_path();
      const fs::path candidate = folder / "templates";
      std::error_code code;
      if (fs::is_directory(candidate, code)) return {candidate.generic_string()};
    }
  }
  return {};
}

}  // namespace

Expected<Inputs> read_inputs(const std::vector<std::string>& specs, const std::vector<std::string>& template_roots) {
  Inputs inputs;
  for (const std::string& argument : specs) {
    std::error_code code;
    inputs.is_whole_tree |= fs::is_directory(argument, code);
    const auto found = find_specs(argument);
    if (!found) return found.error();
    for (const SpecPath& spec : *found) {
      auto text = read_file(spec.path);
      if (!text) return text.error();
      inputs.specs.push_back({spec.path, spec.source, *std::move(text)});
    }
  }
  const auto by_path = [](const SpecFile& a, const SpecFile& b) {
    return std::tie(a.source, a.path) < std::tie(b.source, b.path);
  };
  const auto is_same = [](const SpecFile& a, const SpecFile& b) { return a.path == b.path; };
  std::sort(inputs.specs.begin(), inputs.specs.end(), by_path);
  inputs.specs.erase(std::unique(inputs.specs.begin(), inputs.specs.end(), is_same), inputs.specs.end());

  const std::vector<std::string> roots = template_roots.empty() ? default_roots(specs) : template_roots;
  for (const std::string& root : roots) {
    if (auto done = read_templates(root, root == roots.front(), inputs.templates); !done) return done.error();
  }
  return inputs;
}

SourceTexts texts_of(const Inputs& inputs) {
  SourceTexts texts;
  for (const SpecFile& spec : inputs.specs) texts[spec.path] = spec.text;
  for (const auto& [path, file] : inputs.templates) texts[file.display] = file.text;
  return texts;
}

Digest digest_of(const Inputs& inputs) {
  DigestBuilder builder;
  builder.add(inputs.is_whole_tree);
  for (const SpecFile& spec : inputs.specs) builder.add(spec.path).add(spec.source).add(spec.text);
  builder.add(inputs.specs.size());
  for (const auto& [path, file] : inputs.templates) {
    builder.add(path).add(file.display).add(file.text).add(file.is_of_first_root);
  }
  return builder.finish();
}

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/files.h"
#include "common/text.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

std::string joined(const fs::path& folder, const std::string& name) {
  return (folder / name).lexically_normal().generic_string();
}

// "specs/" -> "specs", "." -> "": the folder's name as typed.
std::string last_name(const fs::path& path) {
  fs::path name = path.lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  const std::string text = name.filename().generic_string();
  return text == "." || text == ".." ? "" : text;
}

// A spec has at most 1 MiB, and a larger one gets an error with its name. This limit is for files that are no specs at
// all.
constexpr size_t kMostTextBytes = size_t{64} << 20;
constexpr size_t kMostTuningBytes = size_t{256} << 20;

// A file next to tuning files that lists what to tune; it is no tuning file.
constexpr std::string_view kProblemsFile = "problems.yaml";

struct SpecPath {
  std::string path;
  std::string source;
};

bool is_hidden(const std::string& path) { return fs::path(path).filename().string().starts_with('.'); }

// Names are printed into generated files, tables of tabs and depfiles among them.
Done check_name(const std::string& path) {
  const auto fault = find_text_fault(path);
  if (!fault && path.find_first_of("\t\n") == path.npos) return Done(std::monostate{});
  return Error{
      Error::Kind::invalid_argument,
      fmt::format("the name of {} contains {}", printable(path), fault ? fault->message : "a tab or a line end"),
      "rename the file or its folder"};
}

// The files below an input folder that are not hidden (editors keep locks and copies next to a file). Includes a link
// that leads nowhere, so that it is reported. A link to a folder would be left out silently.
Expected<std::vector<std::string>> list_inputs(const std::string& folder) {
  auto files = list_files(folder);
  if (!files) return files;
  std::erase_if(*files, is_hidden);
  for (const std::string& file : *files) {
    const std::string path = joined(folder, file);
    std::error_code code;
    if (fs::is_directory(path, code)) {
      return Error{Error::Kind::invalid_argument,
                   fmt::format("{} is a symbolic link to a folder, and qgen does not follow it", printable(path)),
                   "name that folder itself on the command line"};
    }
    if (auto good = check_name(path); !good) return good.error();
  }
  return files;
}

Expected<std::vector<SpecPath>> find_specs(const std::string& argument) {
  std::error_code code;
  if (!fs::is_directory(argument, code)) {
    // With the cost file next to the spec. Without it, all its kernels would cost the same.
    std::vector<SpecPath> paths;
    for (const fs::path& path : {fs::path(argument), fs::path(argument).replace_extension(".cost.yaml")}) {
      if (paths.empty() || fs::exists(path, code))
        paths.push_back({path.string(), joined(last_name(path.parent_path()), path.filename().string())});
    }
    return paths;
  }
  const auto files = list_inputs(argument);
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

// A template includes only files below its root: no link may lead to a file elsewhere.
Done check_is_below(const std::string& root, const std::string& path) {
  std::error_code code;
  if (!fs::is_symlink(path, code)) return Done(std::monostate{});  // list_files() follows no link to a folder
  const fs::path target = fs::canonical(path, code);
  if (code) return Done(std::monostate{});  // reading reports it
  const fs::path inside = target.lexically_relative(fs::canonical(root, code));
  if (!code && !inside.empty() && *inside.begin() != "..") return Done(std::monostate{});
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} is a symbolic link that leaves the template root: it leads to {}", printable(path),
                           printable(target.string())),
               "name the folder that it leads to as another --templates"};
}

Done read_templates(const std::string& root, bool is_first, render::TemplateSet& templates) {
  const auto files = list_inputs(root);
  if (!files) return files.error();
  for (const std::string& file : *files) {
    if (file.ends_with(".md") || templates.count(file) != 0) continue;
    const std::string path = joined(root, file);
    if (auto good = check_is_below(root, path); !good) return good;
    auto text = read_file(path, kMostTextBytes);
    if (!text) return text.error();
    templates.emplace(file, render::TemplateFile{file, path, *std::move(text), is_first});
  }
  return Done(std::monostate{});
}

}  // namespace

// The nearest `templates` next to a spec or above it, within the typed path.
std::vector<std::string> default_template_roots(const std::vector<std::string>& specs) {
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

Expected<Inputs> read_inputs(const std::vector<std::string>& specs, const std::vector<std::string>& template_roots) {
  Inputs inputs;
  for (const std::string& argument : specs) {
    std::error_code code;
    inputs.is_whole_tree |= fs::is_directory(argument, code);
    const auto found = find_specs(argument);
    if (!found) return found.error();
    for (const SpecPath& spec : *found) {
      if (auto good = check_name(spec.source); !good) return good.error();
      auto text = read_file(spec.path, kMostTextBytes);
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

  inputs.template_roots = template_roots.empty() ? default_template_roots(specs) : template_roots;
  for (const std::string& root : inputs.template_roots) {
    const bool is_first = root == inputs.template_roots.front();
    if (auto done = read_templates(root, is_first, inputs.templates); !done) return done.error();
  }
  return inputs;
}

Expected<std::vector<TuningInput>> read_tunings(const std::string& folder) {
  const auto files = list_inputs(folder);
  if (!files) return files.error();
  std::vector<TuningInput> tunings;
  for (const std::string& file : *files) {
    if (!file.ends_with(".yaml") || fs::path(file).filename() == kProblemsFile) continue;
    TuningInput input{.path = joined(folder, file), .name = fs::path(file).stem().string()};
    auto text = read_file(input.path, kMostTuningBytes);
    if (!text) return text.error();
    input.text = *std::move(text);
    auto tuning = tuning::read_tuning_file(input.path, input.text);
    if (!tuning) return tuning.error();
    input.tuning = *std::move(tuning);
    input.tuning.rows = tuning::comparable(std::move(input.tuning.rows));
    tunings.push_back(std::move(input));
  }
  if (tunings.empty()) {
    return Error{Error::Kind::not_found, fmt::format("no tuning file in the folder '{}'", folder),
                 "qgen-tune export writes them"};
  }
  std::ranges::sort(tunings, {}, &TuningInput::name);
  const auto twice = std::ranges::adjacent_find(tunings, {}, &TuningInput::name);
  if (twice != tunings.end()) {
    return refused(fmt::format("{} and {} have the same name", printable(twice->path), printable((twice + 1)->path)),
                   "a tuning file is named after its device");
  }
  return tunings;
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
  for (const TuningInput& tuning : inputs.tunings) builder.add(tuning.name).add(tuning.text);
  builder.add(inputs.tunings.size());
  for (const SpecFile& spec : inputs.specs) builder.add(spec.path).add(spec.source).add(spec.text);
  builder.add(inputs.specs.size());
  for (const auto& [path, file] : inputs.templates) {
    builder.add(path).add(file.display).add(file.text).add(file.is_of_first_root);
  }
  return builder.finish();
}

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads all files of a run. After this, no room reads a file.
#pragma once

#include <string>
#include <vector>

#include "codegen/render/render.h"
#include "codegen/support/digest.h"
#include "common/diagnostic.h"
#include "common/error.h"
#include "runtime/engine/tuning/tuning_file.h"

namespace qgen {

struct SpecFile {
  std::string path;    // as the user named it; diagnostics say this
  std::string source;  // as generated files name it: the given folder and the path below it, "specs/quant/scale.yaml"
  std::string text;
};

struct TuningInput {
  std::string path;  // as the user named it
  std::string name;  // of the file, without folder and ending: "nvidia-h200"
  std::string text = {};
  tuning::TuningFile tuning = {};
};

struct Inputs {
  std::vector<TuningInput> tunings;  // by name
  std::vector<SpecFile> specs;       // by source, so that the order of arguments and folders says nothing
  render::TemplateSet templates;
  std::vector<std::string> template_roots;  // where they were looked for
  bool is_whole_tree = false;  // a folder of specs was given: a template of the first root that none names is a mistake
};

// `specs` are files, or folders of *.yaml. Templates come from the given folders. Without any, they come from the
// nearest folder `templates` next to a spec's folder or above it. Hidden files are no inputs, and *.md no templates. A
// link that leads nowhere, to a folder, or from a template root to the outside is an error.
Expected<Inputs> read_inputs(const std::vector<std::string>& specs, const std::vector<std::string>& template_roots);

// The roots that read_inputs() takes if none are given: none or one.
std::vector<std::string> default_template_roots(const std::vector<std::string>& specs);

// The tuning files *.yaml of a folder. Errors: one that cannot be read, two of one name, a folder without any.
Expected<std::vector<TuningInput>> read_tunings(const std::string& folder);

// The texts that diagnostics quote.
SourceTexts texts_of(const Inputs& inputs);

Digest digest_of(const Inputs& inputs);

}  // namespace qgen

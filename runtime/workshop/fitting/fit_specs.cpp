// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/fitting/fit_specs.h"

#include <fmt/format.h>

#include "runtime/workshop/fitting/write_constants.h"

namespace qgen::fitting {

Expected<std::string> fit_specs(const FitRequest& request, const KernelLibrary& library) {
  std::vector<tuning::TuningFile> files;
  for (const std::string& path : request.files) {
    auto file = tuning::load_tuning_file(path);
    if (!file) return file.error();
    file->rows = tuning::comparable(std::move(file->rows));
    files.push_back(*std::move(file));
  }
  const auto fit = fit_costs(files, library, {.operators = request.operators, .only = request.only});
  if (!fit) return fit.error();
  std::string text = to_text(*fit);
  if (request.is_dry_run) return text;
  const auto written = write_constants(request.specs, fit->constants);
  if (!written) return written.error();
  text += written->empty() ? "\nno constant changed\n" : "\n";
  for (const std::string& path : *written) text += fmt::format("wrote {}\n", path);
  return text;
}

}  // namespace qgen::fitting

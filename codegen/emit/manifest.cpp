// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One line for each variant, tab separated. A spec edit then shows as added and removed lines, and a template edit as
// the digests of the modules that it changed.
#include <fmt/format.h>

#include "codegen/emit/products.h"
#include "vocabulary/features.h"

namespace qgen::emit {

std::string manifest(std::span<const Family> families) {
  std::string text = "id\tparameters\tneeds\tdigest\ttemplate\tspec\n";
  for (const Family& family : families) {
    for (const Kernel& kernel : family.kernels) {
      text += fmt::format("{}\t{}\t{}\t{:016x}\t{}\t{}\n", kernel.variant.id,
                          expand::describe(*family.spec, kernel.variant), fmt::join(names(kernel.interface.needs), " "),
                          kernel.module_digest, family.spec->template_path->value, family.source);
    }
  }
  return text;
}

}  // namespace qgen::emit

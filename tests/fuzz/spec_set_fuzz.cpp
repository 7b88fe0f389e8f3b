// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as a spec with its template and up to two files that it includes, through every room, with the compiler in
// workers under limits. No crash; every refusal has a sentence and a location in one of the files; and a second run
// gives the same result.
//
//   the text of specs/sample.yaml
//   @@
//   the text of templates/sample.comp
//   @@
//   the text of templates/lib/a.glsl
//   @@
//   the text of templates/lib/b.glsl
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "codegen/pipeline.h"

namespace {

using namespace qgen;

// Small, so that a fuzzer reaches them: it looks for crashes of ours, not for a compiler's limits within two seconds.
constexpr workers::Limits kLimits{.cpu_seconds = 1, .memory_mib = 256};
constexpr size_t kMaxVariants = 2;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Rig {
  ThreadPool threads{1};
  std::unique_ptr<workers::ProcessPool> pool = workers::make_pool(1, kLimits);
  workers::ModuleTools tools = workers::in_workers(*pool);
};
Rig* rig = nullptr;  // made before libFuzzer starts threads

std::string take_part(std::string_view& text) {
  constexpr std::string_view kBetween = "\n@@\n";
  const size_t end = std::min(text.find(kBetween), text.size());
  const std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  return part + "\n";
}

Inputs inputs_of(std::string_view text) {
  Inputs inputs;
  inputs.specs.push_back({"specs/sample.yaml", "specs/sample.yaml", take_part(text)});
  for (const std::string path : {"sample.comp", "lib/a.glsl", "lib/b.glsl"}) {
    inputs.templates[path] = {path, "templates/" + path, take_part(text)};
  }
  return inputs;
}

void check_reported(const Diagnostics& errors, const Inputs& inputs) {
  const SourceTexts sources = texts_of(inputs);
  check(!errors.empty() && !to_text(errors, sources).empty());
  for (const Diagnostic& error : errors) check(sources.contains(error.where.file) && !error.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  rig = new Rig;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Inputs inputs = inputs_of({reinterpret_cast<const char*>(data), size});
  Settings settings;
  settings.max_variants = kMaxVariants;
  const Machine machine{rig->threads, rig->tools, "", {}, {}};
  const auto product = generate(inputs, settings, machine);
  if (!product) {
    check_reported(product.error(), inputs);
    return 0;
  }
  const auto again = generate(inputs, settings, machine);
  check(again && again->files.size() == product->files.size());
  for (size_t i = 0; i < product->files.size(); ++i) check(again->files[i].text == product->files[i].text);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as a spec: no crash, every refusal has a location in the file, and an accepted spec is printed in a form
// that reads back as itself. Accepted specs are expanded too.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "codegen/expand/variant.h"
#include "codegen/spec/parse_spec.h"

namespace {

using namespace qgen;

constexpr size_t kMaxVariants = 100;
const std::string kFile = "op.yaml";

void check(bool holds) {
  if (!holds) std::abort();
}

void check_reported(const Diagnostics& errors, std::string_view text) {
  check(!errors.empty() && !to_text(errors, {{kFile, std::string(text)}}).empty());
  for (const Diagnostic& error : errors)
    check(error.where.file == kFile && error.where.line > 0 && !error.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = spec::parse_spec(text, kFile);
  if (!parsed) {
    check_reported(parsed.error(), text);
    return 0;
  }
  const std::string canonical = spec::to_text(*parsed);
  const auto again = spec::parse_spec(canonical, kFile);
  check(again && spec::to_text(*again) == canonical);
  const Diagnostics errors = spec::check_specs({*parsed});
  if (!errors.empty()) check_reported(errors, text);
  const auto variants = expand::expand(*parsed, kMaxVariants);
  if (!variants) check_reported(variants.error(), text);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as a template, with up to two files that it may include: no crash, every refusal has a location in a file,
// every rendered line knows its origin, and removing comments twice equals removing them once.
//
//   $include "lib/a.glsl"
//   @@
//   the text of lib/a.glsl
//   @@
//   the text of lib/b.glsl
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "codegen/expand/variant.h"
#include "codegen/render/blame.h"
#include "codegen/render/render.h"
#include "codegen/spec/parse_spec.h"

namespace {

using namespace qgen;

constexpr std::string_view kSpec = R"(operator: sample
template: sample.comp
operands:
  input:  {access: read,  dtype: $dtype, storage: $storage}
  output: {access: write, dtype: u8}
problem: {numel: u32, factor: f32, sizes: "u32[4]"}
parameters:
  dtype:   [f32, i8]
  storage: [buffer, texture3d]
  vec:     [1, 4]
  shape:   [{m: 8, fast: true}]
specialization: {workgroup: [64, 128]}
require: [(dtype == f32) == (vec == 1), (dtype == f32) == (storage == buffer)]
grid: [1, 1, 1]
)";
constexpr std::string_view kFile = "specs/sample.yaml";

// A template that leaves a name of its spec out is refused, which would hide everything else.
constexpr std::string_view kUsesAll = "\n// ${dtype} ${storage} ${vec} ${shape.m} ${workgroup}\n";

void check(bool holds) {
  if (!holds) std::abort();
}

struct Rig {
  spec::Spec spec;
  std::vector<expand::Variant> variants;
};

const Rig& rig() {
  static const Rig made = [] {
    auto spec = spec::parse_spec(kSpec, std::string(kFile));
    check(bool(spec));
    auto variants = expand::expand(*spec, 10);
    check(variants && variants->size() == 2);
    return Rig{*std::move(spec), *std::move(variants)};
  }();
  return made;
}

std::string take_part(std::string_view& text) {
  constexpr std::string_view kBetween = "\n@@\n";
  const size_t end = std::min(text.find(kBetween), text.size());
  const std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  return part;
}

render::TemplateSet templates_of(std::string_view text) {
  render::TemplateSet set;
  set["sample.comp"] = {"sample.comp", "sample.comp", "#version 450\n" + take_part(text) + std::string(kUsesAll)};
  for (const std::string path : {"lib/a.glsl", "lib/b.glsl"}) set[path] = {path, path, take_part(text)};
  return set;
}

void check_reported(const Diagnostics& errors, const render::TemplateSet& templates) {
  SourceTexts sources{{std::string(kFile), std::string(kSpec)}};
  for (const auto& [path, file] : templates) sources[file.display] = file.text;
  check(!errors.empty() && !to_text(errors, sources).empty());
  for (const Diagnostic& error : errors) check(sources.contains(error.where.file) && !error.message.empty());
}

void check_rendered(const render::Rendered& rendered) {
  const auto lines = static_cast<size_t>(std::count(rendered.text.begin(), rendered.text.end(), '\n'));
  check(rendered.origins.size() == lines && rendered.text.ends_with('\n'));
  for (const render::LineOrigin origin : rendered.origins)
    check(origin.file < rendered.files.size() && origin.line > 0);
  check(render::blame(rendered, static_cast<uint32_t>(lines), "here").where.line > 0);
  const std::string bare = render::without_comments(rendered.text);
  check(bare.size() <= rendered.text.size() && render::without_comments(bare) == bare);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto templates = templates_of({reinterpret_cast<const char*>(data), size});
  const auto parsed = render::parse_template(rig().spec, templates);
  if (!parsed) {
    check_reported(parsed.error(), templates);
    return 0;
  }
  for (const expand::Variant& variant : rig().variants) {
    const auto rendered = render::render(*parsed, rig().spec, variant);
    if (rendered) check_rendered(*rendered);
    else check_reported(rendered.error(), templates);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// templates/README.md is right: its template compiles in every variant, with the shown results, and the page mentions
// every part of the language.
#include <gtest/gtest.h>

#include "codegen/render/declarations.h"
#include "codegen/render/directive.h"
#include "codegen/render/glsl.h"
#include "tests/codegen/render/run_template.h"
#include "tests/support/document.h"

namespace qgen::render {
namespace {

const std::string kPath = "templates/README.md";
const std::string kSpecFile = "specs/scale.yaml";
const std::string kShown = "scale.f16.vec4.unroll2";

struct Page {
  std::string text = tests::read_document(kPath);
  std::vector<tests::Example> examples = tests::examples_of(text);
  std::string spec = tests::example(examples, kSpecFile);

  TemplateSet templates() const {
    constexpr std::string_view kRoot = "templates/";
    TemplateSet set;
    for (const tests::Example& one : examples) {
      if (one.name.starts_with(kRoot)) tests::add_template(set, one.name.substr(kRoot.size()), one.text);
    }
    return set;
  }
};

TEST(Readme, ItsTemplateCompilesInEveryVariant) {
  const Page page;
  const tests::Run run = tests::run(kSpecFile, page.spec, page.templates());
  EXPECT_EQ(run.errors, "");
  EXPECT_EQ(run.modules, 6U);
}

TEST(Readme, ItsTemplateBecomesWhatItShows) {
  const Page page;
  tests::Run run = tests::run(kSpecFile, page.spec, page.templates());
  EXPECT_EQ(run.rendered[kShown], tests::example(page.examples, kShown));
}

// A row as the only code of the page's template; every name is used in a comment above it.
TEST(Readme, ItsTableRowsBecomeWhatTheyShow) {
  const Page page;
  const auto spec = spec::parse_spec(page.spec, kSpecFile);
  ASSERT_TRUE(spec);
  const auto variants = expand::expand(*spec, 100);
  ASSERT_TRUE(variants);
  const auto variant = std::find_if(variants->begin(), variants->end(), [](const auto& v) { return v.id == kShown; });
  ASSERT_NE(variant, variants->end());
  size_t rows = 0;
  for (const auto& row : tests::code_rows_of(page.text)) {
    if (row.size() != 2 || row[0].find("${") == row[0].npos) continue;
    ++rows;
    TemplateSet templates;
    tests::add_template(templates, "scale.comp",
                        "#version 450\n// ${dtype}${vec}${unroll}${workgroup}\n" + row[0] + "\n");
    const auto parsed = parse_template(*spec, templates);
    ASSERT_TRUE(parsed) << row[0] << "\n" << to_text(parsed.error(), {});
    const auto rendered = render(*parsed, *spec, *variant);
    ASSERT_TRUE(rendered) << row[0];
    EXPECT_TRUE(rendered->text.ends_with("\n" + row[1] + "\n")) << row[0] << "\n" << rendered->text;
  }
  EXPECT_EQ(rows, 16U);
}

TEST(Readme, NamesEveryDirectiveAndFunction) {
  const Page page;
  const auto names = [&](std::string_view what) { return page.text.find(what) != std::string::npos; };
  for (const std::string_view keyword : directive_names()) EXPECT_TRUE(names("`$" + std::string(keyword))) << keyword;
  for (const std::string_view name : declaration_names()) EXPECT_TRUE(names("${" + std::string(name) + "(")) << name;
  for (const auto& function : glsl_functions()) EXPECT_TRUE(names("${" + function.name + "(")) << function.name;
  for (const std::string name : {"bytes", "ceil_div", "min", "max"}) EXPECT_TRUE(names("${" + name + "(")) << name;
}

}  // namespace
}  // namespace qgen::render

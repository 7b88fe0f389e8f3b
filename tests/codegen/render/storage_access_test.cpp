// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One template, whose bytes are reached natively and by words.
#include "codegen/support/storage_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/render/run_template.h"

namespace qgen::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSpec = R"(kernel: negate
template: negate.comp
operands:
  input:  {access: read,  dtype: i8}
  output: {access: write, dtype: i8}
problem: {numel: u32}
parameters: {storage_access: [native, by_words]}
grid: [ceil_div(numel, 64), 1, 1]
)";

constexpr std::string_view kTemplate = R"(#version 450
${extensions()}
${local_size(64)}
${declare(input)}
${declare(output)}
${declare_problem()}
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < problem.numel) output_data[i] = int8_t(-int(input_data[i]));
}
)";

TEST(StorageAccess, OneTemplateIsTwoModules) {
  render::TemplateSet templates;
  add_template(templates, "negate.comp", std::string(kTemplate));
  const tests::Run result = run("negate.yaml", std::string(kSpec), templates);
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.modules, 2U);
  EXPECT_THAT(result.rendered.at("negate"), Not(HasSubstr("#pragma")));
  EXPECT_THAT(result.rendered.at("negate.by_words"), HasSubstr(kWordAccessPragma));
}

}  // namespace
}  // namespace qgen::tests

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// ONNX's own node tests of quantization and of 8-bit operators (write_onnx_node_tests.py), and ours of four bits
// (write_four_bit_node_tests.py), from file to answer on the device. docs/onnx.md has a table of the refused ones,
// which is compared with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/engine/tensor/npy.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "tests/support/document.h"
#include "tests/support/shipped_test.h"

namespace qgen::graph {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOfOnnx = "onnx_node_tests";
constexpr const char* kOfFourBits = "four_bit_node_tests";
// Models that were computed wrong, or refused without a reason.
constexpr const char* kOfTheField = "field_tests";

std::vector<fs::path> node_tests(const char* folder) {
  std::vector<fs::path> folders;
  std::error_code none;  // without the sources there are no tests
  for (const auto& entry :
       fs::directory_iterator(tests::source_folder() / fs::path("tests/runtime/models/graph") / folder, none))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

// The tensors of NAME.ROLE.npy.
Tensors tensors_of(const fs::path& folder, const std::string& role) {
  Tensors tensors;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path stem = entry.path().stem();
    if (stem.extension() != "." + role) continue;
    auto tensor = load_npy(entry.path());
    EXPECT_TRUE(tensor) << to_text(tensor.error());
    if (tensor) tensors.emplace(stem.stem().string(), *std::move(tensor));
  }
  return tensors;
}

// The table of docs/onnx.md: a row has the names of tests in code.
bool is_refused(const std::string& name) {
  static const std::string kPage = tests::read_document("docs/onnx.md");
  return std::ranges::any_of(tests::lines_of(kPage), [&](std::string_view line) {
    return line.starts_with("| `") && line.find(fmt::format("`{}`", name)) != std::string_view::npos &&
           line.find("| refused |") != std::string_view::npos;
  });
}

class OnnxNodeTest : public testing::ShippedTest, public ::testing::WithParamInterface<fs::path> {
 protected:
  Expected<Tensors> run(const fs::path& folder) {
    const Tensors inputs = tensors_of(folder, "input");
    onnx::ImportOptions options{.constants = tensors_of(folder, "constant")};
    auto imported = onnx::import_model(folder / "model.onnx", options);
    if (!imported) {  // as qgen-model: of sides that have numbers
      options.shapes = shapes_of(inputs);
      imported = onnx::import_model(folder / "model.onnx", options);
    }
    if (!imported) return imported.error();
    return model_of(std::move(imported->graph)).run(inputs);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxNodeTest);

// Floating-point values by ONNX's own tolerance; integers exactly.
TEST_P(OnnxNodeTest, IsWhatTheDocumentSays) {
  const fs::path& folder = GetParam();
  const auto outputs = run(folder);
  if (is_refused(folder.filename().string())) {
    ASSERT_FALSE(outputs) << "docs/onnx.md says that it is refused";
    EXPECT_EQ(outputs.error().kind, Error::Kind::unsupported) << to_text(outputs.error());
    return;
  }
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const Tensors expected = tensors_of(folder, "output");
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, wanted] : expected) {
    const HostTensor& got = outputs->at(name);
    ASSERT_EQ(got.dtype, wanted.dtype) << name;
    ASSERT_EQ(got.shape, wanted.shape) << name;
    for (int64_t i = 0; i < element_count(got.shape); ++i) {
      const double a = element(got, i), b = element(wanted, i);
      const double bound = is_real(wanted.dtype) ? 1e-7 + 1e-3 * std::abs(b) : 0;
      EXPECT_LE(std::abs(a - b), bound) << name << " " << i << ": " << a << ", not " << b;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<fs::path>& test) { return test.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Onnx, OnnxNodeTest, ::testing::ValuesIn(node_tests(kOfOnnx)), name_of);
INSTANTIATE_TEST_SUITE_P(FourBits, OnnxNodeTest, ::testing::ValuesIn(node_tests(kOfFourBits)), name_of);
INSTANTIATE_TEST_SUITE_P(Field, OnnxNodeTest, ::testing::ValuesIn(node_tests(kOfTheField)), name_of);

}  // namespace
}  // namespace qgen::graph

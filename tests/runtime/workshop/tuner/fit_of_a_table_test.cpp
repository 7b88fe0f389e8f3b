// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Constants of the shipped specs from the shipped table of an H200.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/workshop/fitting/fit_costs.h"
#include "tests/support/source_folder.h"

namespace qgen::fitting {
namespace {

using ::testing::Each;
using ::testing::Field;

// Convolutions and linear layers share the constants of int8 matrices: rows of both find them, each constant once.
TEST(FitOfATable, FindsConstantsOfAFragmentFromAllThatUseIt) {
  std::vector<tuning::TuningFile> files = {
      *tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml")};
  for (tuning::TunedRow& row : files.front().rows) row.digest = 0;  // also rows of kernels that have changed since
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const auto rows = [&](const std::vector<std::string>& operators) {
    const auto fit = fit_costs(files, library, {.operators = operators, .only = {"int8_tiles"}, .groups = 0});
    if (!fit) {
      ADD_FAILURE() << to_text(fit.error());
      return size_t{0};
    }
    EXPECT_FALSE(fit->constants.empty());
    EXPECT_THAT(fit->constants, Each(Field(&FittedConstant::spec, "int8_tiles")));
    EXPECT_THAT(fit->constants, Each(Field(&FittedConstant::rows, fit->constants.front().rows)));
    return fit->constants.front().rows;
  };
  const size_t linear = rows({"q8ta_linear"}), convolutions = rows({"q8ta_conv2d"});
  EXPECT_GT(linear, 0U);
  EXPECT_GT(convolutions, linear);
  EXPECT_EQ(rows({"q8ta_linear", "q8ta_conv2d"}), linear + convolutions);
}

}  // namespace
}  // namespace qgen::fitting

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Invalid models that an earlier version imported: faults/NAME.onnx, and the message of each
// refusal.
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "tests/support/source_folder.h"

namespace qgen::onnx {
namespace {

struct Fault {
  std::string_view file, refusal;
};

TEST(Faults, AreRefusedInOneSentence) {
  const Fault faults[] = {
      {"const_two", "(Constant): it has value_float and value_int, and a Constant must have one value"},
      {"conv_strides_int", "(Conv): its attribute 'strides' is an integer, and ONNX defines it as a list of integers"},
      {"conv_w_f64", "is float64 and its input X is float32, and ONNX requires the same type"},
      {"dims_wrong_type", "output 'y' is declared as int8, and the model computes float32"},
      {"dropout_training", "(Dropout): its training_mode is true, and qgen drops no elements"},
      {"pad_short", "(Pad): it has 2 pads, and an input [2, 3, 4] needs 6"},
      {"transpose_empty", "(Transpose): its perm is [], and must have each axis of an input [2, 3, 4] once"},
  };
  const std::filesystem::path folder =
      std::filesystem::path(tests::source_folder()) / "tests/runtime/models/onnx/faults";
  for (const Fault& fault : faults) {
    const auto imported = import_model(folder / (std::string(fault.file) + ".onnx"));
    ASSERT_FALSE(imported) << fault.file;
    EXPECT_NE(imported.error().message.find(fault.refusal), std::string::npos) << imported.error().message;
    EXPECT_EQ(imported.error().message.find('\n'), std::string::npos) << imported.error().message;
  }
}

}  // namespace
}  // namespace qgen::onnx

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which kernels of affine quantization are possible: scales and zero points are looked up once for several words only
// where these words are of the same blocks. Which of them an H200 would run, bench/quality says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/tensor/quant_params.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct BlockCase {
  const char* name;
  Shape shape, block;
  bool share_words;  // whether several words have the same blocks
};

const BlockCase kBlocks[] = {
    {"per tensor", {8192, 8192}, {8192, 8192}, true},
    {"per row", {8192, 8192}, {1, 8192}, true},
    {"per group of 128", {8192, 8192}, {1, 128}, true},
    {"per column", {8192, 8192}, {8192, 1}, true},
    {"per group of 16", {8192, 8192}, {1, 16}, true},
    {"per column of 8191", {8192, 8191}, {8192, 1}, false},  // words straddle columns
};

TEST(AffineChoice, SeveralWordsAreOfTheSameBlocks) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const auto ids_of = [&](const Expected<Call>& call) {
    EXPECT_TRUE(call) << to_text(call.error());
    std::vector<std::string> ids;
    const Selection selection = select(call->problem, testing::h200(), *library, {.all_specializations = true});
    for (const Choice& choice : selection.ranked) ids.push_back(choice.id);
    return ids;
  };
  for (const BlockCase& row : kBlocks) {
    SCOPED_TRACE(row.name);
    const TensorDesc real{DType::f32, row.shape}, integer{DType::i8, row.shape};
    const TensorDesc scale{DType::f32, *params_shape(row.shape, row.block)}, zero_point{DType::i32, scale.shape};
    for (const auto& ids : {ids_of(quantize_affine_call({.input = real, .scale = scale, .zero_point = zero_point},
                                                        {.block_size = row.block})),
                            ids_of(dequantize_affine_call({.input = integer, .scale = scale, .zero_point = zero_point},
                                                          {.block_size = row.block}))}) {
      EXPECT_THAT(ids, Contains(HasSubstr(".vec4/workgroup64.items1")));
      if (row.share_words) EXPECT_THAT(ids, Contains(HasSubstr(".vec4/workgroup64.items4")));
      else EXPECT_THAT(ids, Not(Contains(HasSubstr(".vec4/workgroup64.items4"))));
    }
  }
}

}  // namespace
}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which kernels of matmul an H200 would run, by their estimates, and how batches are merged: docs/matmul.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;
using ::testing::AnyOf;
using ::testing::StartsWith;

Expected<Call> product(DType dtype, Shape input, Shape other, bool is_transposed) {
  return matmul_call({.input = TensorDesc{dtype, std::move(input)}, .other = TensorDesc{dtype, std::move(other)}},
                     {.transpose_other = is_transposed});
}

// The recipe that is chosen, as "tiled".
std::string chosen(DType dtype, Shape input, Shape other, bool is_transposed) {
  static const KernelLibrary library = *KernelLibrary::open(generated::library());
  const auto call = product(dtype, std::move(input), std::move(other), is_transposed);
  if (!call) return to_text(call.error());
  const Selection selection = select(call->problem, testing::h200(), library);
  if (selection.ranked.empty()) return explain(selection);
  const std::string& id = selection.ranked.front().id;
  return id.substr(id.find('.') + 1, id.find('(') - id.find('.') - 1);
}

TEST(MatmulChoice, ByRows) {
  EXPECT_THAT(chosen(DType::f16, {1, 4096}, {14336, 4096}, true), AnyOf("gemv", "skinny"));  // each reads other once
  EXPECT_EQ(chosen(DType::f32, {1, 4096}, {4096, 14336}, false), "gemv");
  EXPECT_EQ(chosen(DType::f16, {512, 4096}, {14336, 4096}, true), "matrices");
  EXPECT_EQ(chosen(DType::f16, {512, 4096}, {4096, 14336}, false), "matrices");
  EXPECT_EQ(chosen(DType::f32, {4096, 4096}, {4096, 4096}, false), "tiled");
  EXPECT_EQ(chosen(DType::f16, {2, 4096}, {4096, 4096}, true), "skinny");
  EXPECT_EQ(chosen(DType::f16, {16, 4096}, {4096, 4096}, true), "skinny");
  EXPECT_THAT(chosen(DType::f16, {128, 4096}, {4096, 4096}, true), StartsWith("matrices"));
}

// Cooperative matrices read whole vectors of unchanged rows.
TEST(MatmulChoice, ByWhatLoadsHold) {
  EXPECT_EQ(chosen(DType::f16, {512, 4095}, {4096, 4095}, true), "tiled");
  EXPECT_EQ(chosen(DType::f16, {512, 4096}, {4095, 4096}, true), "matrices");
  EXPECT_EQ(chosen(DType::f16, {512, 4096}, {4096, 4095}, false), "tiled");
}

// How the problem's key begins.
std::string sizes(Shape input, Shape other) {
  const auto call = product(DType::f32, std::move(input), std::move(other), false);
  if (!call) return to_text(call.error());
  const std::string key = key_of(call->problem);
  return key.substr(0, key.find(" n="));
}

// Products with one common matrix become rows of one product; other repetitions stay a batch.
TEST(MatmulChoice, BatchesOfOneMatrixAreRows) {
  EXPECT_EQ(sizes({2, 3, 4, 8}, {8, 5}), "matmul batches=1 m=24");
  EXPECT_EQ(sizes({2, 3, 4, 8}, {2, 1, 8, 5}), "matmul batches=2 m=12");
  EXPECT_EQ(sizes({2, 3, 4, 8}, {3, 8, 5}), "matmul batches=6 m=4");
  EXPECT_EQ(sizes({2, 3, 4, 8}, {2, 3, 8, 5}), "matmul batches=6 m=4");
  EXPECT_EQ(sizes({4, 8}, {6, 8, 5}), "matmul batches=6 m=4");
}

}  // namespace
}  // namespace qgen

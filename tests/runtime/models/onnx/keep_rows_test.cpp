// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <gtest/gtest.h>

#include "runtime/models/onnx/join_attention.h"
#include "tests/runtime/models/onnx/model_builder.h"

namespace qgen::onnx::testing {
namespace {

// x [batch, rows, 4], flat and parted again, with what `between` makes of the flat rows.
class FlatModel : public ModelBuilder {
 public:
  template <typename Between>
  explicit FlatModel(Between&& between) {
    model.graph.inputs.push_back({"x", ElementType::f32, std::vector<InputSide>{{0, "batch"}, {0, "rows"}, {4, ""}}});
    const std::string flat = node("Reshape", {"x", list({-1, 4})});
    const std::string result = between(*this, flat);
    const std::string shape = node("Shape", {"x"});
    output(node("Reshape", {result, shape}));
  }

  // The operators of the nodes that the output needs.
  std::string kept() {
    auto rewriter = Rewriter::create(model, {}, false);
    EXPECT_TRUE(rewriter) << to_text(rewriter.error());
    keep_rows(*rewriter);
    EXPECT_TRUE(rewriter->refresh());
    std::string ops;
    for (const Node* node : rewriter->nodes()) ops += (ops.empty() ? "" : " ") + node->op;
    return ops;
  }
};

TEST(KeepRows, LayersOfEachRowNeedNoFlatRows) {
  FlatModel m([](ModelBuilder& b, const std::string& flat) {
    const std::string norm = b.node("LayerNormalization", {flat, b.reals({4}, {1, 1, 1, 1})}, {{"axis", int64_t{1}}});
    const std::string sum =
        b.node("Gemm", {norm, b.random_reals({6, 4}, -1, 1), b.random_reals({6}, -1, 1)}, {{"transB", int64_t{1}}});
    const std::string back = b.node("MatMul", {b.node("Relu", {sum}), b.random_reals({6, 4}, -1, 1)});
    return b.node("Add", {back, flat});
  });
  const std::string ops = m.kept();
  EXPECT_EQ(ops.find("Reshape"), std::string::npos) << ops;
  EXPECT_EQ(ops.find("Gemm"), std::string::npos) << ops;
  EXPECT_NE(ops.find("MatMul"), std::string::npos) << ops;
}

// What reads several rows at once, or shows the flat ones, keeps them all.
TEST(KeepRows, OthersStay) {
  const auto kept = [](auto&& between) { return FlatModel(between).kept(); };
  const std::string over_rows = kept([](ModelBuilder& b, const std::string& flat) {
    return b.node("Add", {flat, b.node("Softmax", {flat}, {{"axis", int64_t{0}}})});
  });
  EXPECT_EQ(over_rows.find("Identity"), std::string::npos) << over_rows;
  const std::string shown = kept([](ModelBuilder& b, const std::string& flat) {
    const std::string sum = b.node("Relu", {flat});
    b.output(sum);
    return sum;
  });
  EXPECT_EQ(shown.find("Identity"), std::string::npos) << shown;
  const std::string with_mean = kept([](ModelBuilder& b, const std::string& flat) {  // one value a flat row
    const std::string norm = b.node("LayerNormalization", {flat, b.reals({4}, {1, 1, 1, 1})});
    b.model.graph.nodes.back().outputs.push_back("mean");
    b.output("mean");
    return norm;
  });
  EXPECT_EQ(with_mean.find("Identity"), std::string::npos) << with_mean;
  const std::string counted = kept([](ModelBuilder& b, const std::string& flat) {
    return b.node("Expand", {b.node("Relu", {flat}), b.node("Shape", {flat})});
  });
  EXPECT_EQ(counted.find("Identity"), std::string::npos) << counted;
  const std::string beside = kept([](ModelBuilder& b, const std::string& flat) {  // flat rows of another value
    const std::string other =
        b.node("Reshape", {b.node("Transpose", {"x"}, {{"perm", std::vector<int64_t>{1, 0, 2}}}), b.list({-1, 4})});
    return b.node("Add", {flat, b.node("Softmax", {other}, {{"axis", int64_t{0}}})});
  });
  EXPECT_EQ(beside.find("Identity"), std::string::npos) << beside;
}

// Rows in another order are flat too, and their sum is of other rows.
TEST(KeepRows, RowsInAnotherOrderStay) {
  FlatModel m([](ModelBuilder& b, const std::string& flat) {
    const std::string other =
        b.node("Reshape", {b.node("Transpose", {"x"}, {{"perm", std::vector<int64_t>{1, 0, 2}}}), b.list({-1, 4})});
    return b.node("Add", {flat, other});
  });
  const std::string ops = m.kept();
  EXPECT_EQ(ops.find("Identity"), std::string::npos) << ops;
}

}  // namespace
}  // namespace qgen::onnx::testing

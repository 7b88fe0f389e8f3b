// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/picked_rows.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "tests/support/tensors.h"

namespace qgen::graph {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

class PickedRows : public ::testing::Test {
 protected:
  ValueId constant(const Shape& shape) { return graph_.add_constant("constant", zeros(DType::f32, shape)); }
  ValueId product(ValueId input, Shape other = {8, 16}) {
    return graph_.add({.op = "matmul", .inputs = {{"input", input}, {"other", constant(other)}}});
  }
  ValueId sum(ValueId input, ValueId other) {
    return graph_.add({.op = "fused_add", .inputs = {{"input", input}, {"other", other}}});
  }
  ValueId shaped(ValueId input, std::vector<int64_t> shape) {
    return graph_.add(
        {.op = std::string(kReshape), .inputs = {{"input", input}}, .attributes = {{"shape", std::move(shape)}}});
  }
  Expected<Inferred> inferred(const Graph& graph) {
    return infer(graph, generated::operators::entries(), {{"x", {2, 3, 8}}, {"rows", {2}}});
  }
  // Picks rows of `value`, and says what the graph then computes.
  Shape picked(ValueId value) {
    const auto before = inferred(graph_);
    EXPECT_TRUE(before) << to_text(before.error());
    const ValueId rows = add_picked_rows(graph_, *before, value, rows_);
    graph_.add_output("picked", rows);
    const auto after = inferred(graph_);
    EXPECT_TRUE(after) << to_text(after.error());
    return after ? after->values[rows].shape : Shape();
  }

  Graph graph_;
  ValueId x_ = graph_.add_input("x", DType::f32, {kAnySide, kAnySide, 8});
  ValueId rows_ = graph_.add_input("rows", DType::i32, {kAnySide});
};

TEST_F(PickedRows, ComeBeforeProductsAndElementWiseSteps) {
  const ValueId of_product = shaped(product(x_), {-1, 16});
  EXPECT_EQ(picked(graph_.add({.op = "fused_relu", .inputs = {{"input", sum(of_product, constant({16}))}}})),
            (Shape{2, 16}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("reshape", "gather", "matmul", "fused_add", "fused_relu"));
}

TEST_F(PickedRows, ComeBehindASumOfRows) {
  const ValueId norm = graph_.add({.op = "rms_norm", .inputs = {{"input", x_}, {"weight", constant({8})}}});
  EXPECT_EQ(picked(product(sum(norm, x_))), (Shape{2, 16}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("rms_norm", "fused_add", "reshape", "gather", "matmul"));
}

TEST_F(PickedRows, ComeBehindAValueThatIsReadTwice) {
  const ValueId first = product(x_, {8, 8});
  graph_.add_output("first", first);
  EXPECT_EQ(picked(product(first)), (Shape{2, 16}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("matmul", "reshape", "gather", "matmul"));
}

TEST_F(PickedRows, ComeBehindAProductWithAMatrixForEachBatch) {
  EXPECT_EQ(picked(product(x_, {2, 8, 16})), (Shape{2, 16}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("matmul", "reshape", "gather"));
}

TEST_F(PickedRows, ComeBehindConstantsThatDifferByRow) {
  EXPECT_EQ(picked(sum(x_, constant({3, 8}))), (Shape{2, 8}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("fused_add", "reshape", "gather"));
}

TEST_F(PickedRows, ComeBehindAReshapeThatMayCutRows) {
  EXPECT_EQ(picked(shaped(x_, {0, -1})), (Shape{2, 24}));
  EXPECT_THAT(ops_of(graph_), ElementsAre("reshape", "reshape", "gather"));
}

}  // namespace
}  // namespace qgen::graph

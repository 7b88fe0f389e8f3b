// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Invalid graphs, and the order in which valid ones are resolved.
#include "runtime/models/planner/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/forms.h"
#include "tests/support/expected_text.h"

namespace qgen::planner {
namespace {

const RepresentationSet kAny = any_representation();

// a -> first -> b -> second -> c
Graph sample() {
  Graph graph;
  graph.tensors = {{"a", {4}, DType::i8, {}, {}}, {"b", {4}, DType::i8, {}, {}}, {"c", {4}, DType::i8, {}, {}}};
  graph.nodes = {{"first", "relu", {"a"}, {"b"}, {{"k", {kAny, kAny}, 1}}},
                 {"second", "relu", {"b"}, {"c"}, {{"k", {kAny, kAny}, 1}}}};
  return graph;
}

struct Row {
  std::string_view name;
  std::function<void(Graph&)> spoil;
  std::string_view error;  // with its hint
};

// clang-format off
const Row kRows[] = {
    {"a tensor's name twice", [](Graph& g) { g.tensors[1].name = "a"; },
     "two tensors are named 'a'\n"
     "  hint: give each a unique name"},
    {"an operator's name twice", [](Graph& g) { g.nodes[1].name = "first"; },
     "two operators are named 'first'\n"
     "  hint: give each a unique name"},
    {"a kernel's name twice", [](Graph& g) { g.nodes[1].kernels.push_back(g.nodes[1].kernels[0]); },
     "two kernels of 'second' are named 'k'\n"
     "  hint: give each a unique name"},
    {"a tensor that is not there", [](Graph& g) { g.tensors[1].name = "bb"; },
     "'first' (relu) names the tensor 'b', which the graph lacks\n  hint: did you mean 'a'?"},
    {"a tensor written twice", [](Graph& g) { g.nodes[1].outputs = {"b"}, g.nodes[1].inputs = {"a"}; },
     "tensor 'b' is written by 'first' and also by 'second'"},
    {"a tensor written twice by one",
     [](Graph& g) {
       g.nodes[0].outputs = {"b", "b"};
       g.nodes[0].kernels[0].takes.push_back(kAny);
     },
     "tensor 'b' is written by 'first' and also by 'first'"},
    {"written, and arriving", [](Graph& g) { g.tensors[1].arrives_as = kAny; },
     "tensor 'b' is an input of the graph, but 'first' writes it\n"
     "  hint: leave out arrives_as"},
    {"a cycle", [](Graph& g) { g.nodes[0].inputs = {"c"}; },
     "the operators form a cycle: 'first' -> 'second' -> 'first'"},
    {"an operator that waits for itself", [](Graph& g) { g.nodes[1].inputs = {"c"}; },
     "the operators form a cycle: 'second' -> 'second'"},
    {"too few sets", [](Graph& g) { g.nodes[0].kernels[0].takes.pop_back(); },
     "kernel 'k' of 'first' (relu) takes 1 operands, but the operator has 2 (1 read, 1 written)"},
    {"a negative cost", [](Graph& g) { g.nodes[0].kernels[0].cost_us = -1; },
     "kernel 'k' of 'first' (relu) costs -1 us\n  hint: a cost is a number from 0 to 1e9"},
    {"a cost that is no number", [](Graph& g) { g.nodes[0].kernels[0].cost_us = NAN; },
     "kernel 'k' of 'first' (relu) costs nan us\n  hint: a cost is a number from 0 to 1e9"},
    {"rank nine", [](Graph& g) { g.tensors[0].shape = Shape(9, 1); }, "tensor 'a': shape [1, 1, 1, 1, 1, 1, 1, 1, 1] "
                                                                      "has rank 9, and the highest possible is 8"},
    {"a negative side", [](Graph& g) { g.tensors[0].shape = {-1}; }, "tensor 'a': shape [-1] has a negative dimension"},
    {"an operator without kernels", [](Graph& g) { g.nodes[0].kernels.clear(); },
     "no kernel of 'first' (relu) accepts its operands\n"
     "  it has no kernels at all\n"
     "  'a' (i8 [4]) arrives as any representation\n"
     "  'b' (i8 [4]) can be held as any representation\n"
     "  hint: add a kernel for these representations, or give the tensors a shape that the device can hold"},
    {"a tensor too large to arrive",
     [](Graph& g) {
       g.tensors[0].shape = {1 << 30};
       g.nodes[0].kernels[0].takes[0] = {
           *Representation::of(Layout::strided), *Representation::of(Layout::width_packed),
           *Representation::of(Layout::packed_4w), *Representation::of(Layout::packed_4c1w)};
     },
     "no kernel of 'first' (relu) accepts its operands\n"
     "  k reads 'a' as buffer.strided or texture3d.width_packed or buffer.packed_4w or buffer.packed_4c1w, which is "
     "not possible here\n"
     "  'a' (i8 [1073741824]) arrives as nothing\n"
     "    not as buffer.strided or buffer.packed_4w: 1073741824 bytes exceed the device's limit of 134217728 bytes "
     "per buffer\n"
     "    not as texture3d.width_packed: 268435456 texels exceed the device's limit of 16384 for the image width\n"
     "    not as buffer.packed_4c1w: 4294967296 bytes exceed the device's limit of 134217728 bytes per buffer\n"
     "  'b' (i8 [4]) can be held as any representation\n"
     "  hint: add a kernel for these representations, or give the tensors a shape that the device can hold"},
    {"what the caller takes cannot be held",
     [](Graph& g) {
       g.tensors[2].shape = {1, 1, 1, 1, 4};
       g.tensors[2].leaves_as = testing::kTextures;
     },
     "'c' (i8 [1, 1, 1, 1, 4]) leaves as texture3d.width_packed or texture3d.height_packed or "
     "texture3d.channels_packed, "
     "which this device cannot hold\n    not as texture3d.width_packed or texture3d.height_packed or "
     "texture3d.channels_packed: "
     "rank 5 is above the four dimensions of a texture"},
};
// clang-format on

TEST(Graphs, AreRefusedWithAReason) {
  for (const Row& row : kRows) {
    Graph graph = sample();
    row.spoil(graph);
    const auto planned = plan(graph, {}, testing::copy_cost());
    ASSERT_FALSE(planned) << row.name;
    EXPECT_TEXT(to_text(planned.error()), row.error) << row.name;
  }
  EXPECT_TRUE(plan(sample(), {}, testing::copy_cost()));
}

TEST(Graphs, WithNothingInThemArePlanned) {
  const auto nothing = plan({}, {}, testing::copy_cost());
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->cost_us, 0);
  EXPECT_TRUE(nothing->is_optimal());
  Graph lonely;
  lonely.tensors = {{"a", {4}, DType::i8, {}, {}}};
  const auto one = plan(lonely, {}, testing::copy_cost());
  ASSERT_TRUE(one);
  EXPECT_EQ(name(one->tensors[0].home), "buffer.strided");
}

TEST(Graphs, AConversionThatCostsNoNumberIsRefused) {
  Graph graph = sample();
  graph.nodes[1].kernels[0].takes[0] = *Representation::of(Layout::width_packed);
  const auto planned = plan(graph, {}, [](const Tensor&, Representation, Representation) { return -1.0; });
  ASSERT_FALSE(planned);
  EXPECT_TEXT(planned.error().message,
              "converting 'a' (i8 [4]) from buffer.strided to texture3d.width_packed costs -1 us");
}

TEST(Graphs, AreResolvedInAnOrderThatNamesDecide) {
  Graph graph = sample();
  std::swap(graph.nodes[0], graph.nodes[1]);
  std::swap(graph.tensors[0], graph.tensors[2]);
  const auto resolved = resolve(graph);
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->graph, sample());
  EXPECT_EQ(resolved->topological, (std::vector<uint32_t>{0, 1}));
  ASSERT_TRUE(resolved->writer[1]);
  EXPECT_EQ(resolved->writer[1]->node, 0u);
  EXPECT_FALSE(resolved->writer[0]);
}

}  // namespace
}  // namespace qgen::planner

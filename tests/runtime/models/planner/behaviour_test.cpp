// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One operator at a time: the representations of its operands when its tensors arrive and leave as in the row. These
// are the behaviours that planners of layouts had before and must keep.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cctype>
#include <ostream>

#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/agreeing.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/forms.h"

namespace qgen::planner {
namespace {

using namespace testing;

const RepresentationSet kNoDemand;
const RepresentationSet kByChannels = {k4C, k4W4C, k4C1W};

struct Row {
  std::string_view name;
  std::vector<RepresentationSet> reads, writes;
  std::vector<std::vector<uint32_t>> agree;        // groups of operands, by place: those that are read come first
  std::vector<RepresentationSet> arrives, leaves;  // one a tensor; kNoDemand: as suits the operator
  std::string_view expected;                       // "read, read -> written; conversions"
  Shape shape = {1, 8, 4, 4};
  DType dtype = DType::i8;
};

Graph graph_of(const Row& row) {
  Graph graph;
  Node node{"it", "op", {}, {}, {}};
  Kernel kernel{"kernel", row.reads, 1};
  for (size_t i = 0; i < row.reads.size(); ++i) {
    node.inputs.push_back(fmt::format("in{}", i));
    graph.tensors.push_back(
        {node.inputs.back(), row.shape, row.dtype, i < row.arrives.size() ? row.arrives[i] : kNoDemand, {}});
  }
  for (size_t i = 0; i < row.writes.size(); ++i) {
    node.outputs.push_back(fmt::format("out{}", i));
    graph.tensors.push_back(
        {node.outputs.back(), row.shape, row.dtype, {}, i < row.leaves.size() ? row.leaves[i] : kNoDemand});
    kernel.takes.push_back(row.writes[i]);
  }
  node.kernels = agreeing(kernel, row.agree);
  graph.nodes.push_back(node);
  return graph;
}

std::string answer(const Row& row) {
  const Graph graph = graph_of(row);
  const auto planned = plan(graph, {}, copy_cost());
  if (!planned) return planned.error().message.substr(0, planned.error().message.find('\n'));
  std::vector<std::string> read, written, converted;
  for (size_t operand = 0; operand < planned->nodes[0].takes.size(); ++operand) {
    (operand < row.reads.size() ? read : written).push_back(name(planned->nodes[0].takes[operand]));
  }
  for (const Conversion& made : planned->conversions)
    converted.push_back(fmt::format("{} from {}", made.tensor.text, name(made.from)));
  return fmt::format("{} -> {}; {}", fmt::join(read, ", "), fmt::join(written, ", "), fmt::join(converted, ", "));
}

// clang-format off
const Row kRows[] = {
    // ---- one tensor in, one out ----
    {"the first row of equals", {kAny}, {kAny}, {}, {}, {}, "buffer.strided -> buffer.strided; "},
    {"textures where there are no buffers", {kTextures}, {kTextures}, {}, {}, {},
     "texture3d.width_packed -> texture3d.width_packed; "},
    {"the input's form carries over where both agree", {kAny}, {kAny}, {{0, 1}}, {kChannels}, {},
     "texture3d.channels_packed -> texture3d.channels_packed; "},
    {"and not where they are not", {kAny}, {kAny}, {}, {kChannels}, {}, "texture3d.channels_packed -> buffer.strided; "},
    {"the output's form carries back", {kAny}, {kAny}, {{0, 1}}, {}, {kChannels},
     "texture3d.channels_packed -> texture3d.channels_packed; "},
    {"different sets on both sides need no agreement", {kTextures}, {kBuffers}, {}, {}, {},
     "texture3d.width_packed -> buffer.strided; "},
    {"what arrives narrows the set", {{k4W, k4C}}, {kAny}, {}, {k4C}, {},
     "buffer.packed_4c -> buffer.strided; "},
    {"nothing in common: a conversion", {k4W}, {k4W}, {}, {k4C}, {}, "buffer.packed_4w -> buffer.packed_4w; in0 from buffer.packed_4c"},
    {"the same set: nothing happens", {k4W}, {k4W}, {{0, 1}}, {k4W}, {k4W}, "buffer.packed_4w -> buffer.packed_4w; "},
    {"rank five has no textures", {kTextures}, {kAny}, {}, {}, {}, "no kernel of 'it' (op) accepts its operands",
     {1, 1, 8, 4, 4}},
    {"a float has no packed words", {kAny}, {kAny}, {{0, 1}}, {}, {}, "buffer.strided -> buffer.strided; ",
     {1, 8, 4, 4}, DType::f32},
    {"floats cannot be packed", {k4W}, {kAny}, {}, {}, {}, "no kernel of 'it' (op) accepts its operands",
     {1, 8, 4, 4}, DType::f32},

    // ---- two tensors in ----
    {"inputs that agree follow each other", {kAny, kAny}, {kAny}, {{0, 1, 2}}, {kChannels, kNoDemand}, {},
     "texture3d.channels_packed, texture3d.channels_packed -> texture3d.channels_packed; "},
    {"others do not", {kAny, kAny}, {kAny}, {}, {kChannels, kNoDemand}, {},
     "texture3d.channels_packed, buffer.strided -> buffer.strided; "},
    {"a disagreement costs one conversion", {kAny, kAny}, {kAny}, {{0, 1, 2}}, {kChannels, kWidth}, {kWidth},
     "texture3d.width_packed, texture3d.width_packed -> texture3d.width_packed; in0 from texture3d.channels_packed"},
    {"two textures of one packed dimension", {kTextures, kTextures}, {kTextures}, {{0, 1, 2}}, {kWidth, kWidth}, {},
     "texture3d.width_packed, texture3d.width_packed -> texture3d.width_packed; "},
    {"storages are not mixed in a group", {kAny, kAny}, {kAny}, {{0, 1}}, {k4W, kWidth}, {},
     "texture3d.width_packed, texture3d.width_packed -> buffer.strided; in0 from buffer.packed_4w"},

    // ---- packed int8 ----
    {"4W4C in, 4C1W out: no conversion", {k4W4C}, {k4C1W}, {{0, 1}}, {k4W4C}, {k4C1W}, "buffer.packed_4w4c -> buffer.packed_4c1w; "},
    {"add of 4W4C and 4C1W to 4C1W", {kWords, kWords}, {kWords}, {{0, 1, 2}}, {k4W4C, k4C1W}, {k4C1W},
     "buffer.packed_4w4c, buffer.packed_4c1w -> buffer.packed_4c1w; "},
    {"the first input in 4W4C leaves the others any words of channels", {kByChannels, kByChannels}, {kByChannels}, {{0, 1, 2}},
     {k4W4C, k4C}, {k4C1W}, "buffer.packed_4w4c, buffer.packed_4c -> buffer.packed_4c1w; "},
    {"the first input in 4W4C of any words", {kWords, kWords}, {kWords}, {{0, 1, 2}}, {k4W4C, kNoDemand}, {},
     "buffer.packed_4w4c, buffer.packed_4c -> buffer.packed_4c; "},
    {"the output in 4C1W narrows the inputs", {kWords, kWords}, {kWords}, {{0, 1, 2}}, {}, {k4C1W},
     "buffer.packed_4c, buffer.packed_4c -> buffer.packed_4c1w; "},
    {"4W4C and 4W do not go together", {k4W4C, k4W}, {kAny}, {{0, 1}}, {}, {}, "no kernel of 'it' (op) accepts its "
                                                                               "operands"},
    {"4W and 4H4W do: the outer block is each operand's own", {k4W, k4H4W}, {kWords}, {{0, 1, 2}}, {k4W, k4H4W}, {},
     "buffer.packed_4w, buffer.packed_4h4w -> buffer.packed_4w; "},
    {"4W4C offered as 4W is converted", {kWords, kWords}, {kWords}, {{0, 1, 2}}, {k4W4C, k4W}, {k4W4C},
     "buffer.packed_4w4c, buffer.packed_4c -> buffer.packed_4w4c; in1 from buffer.packed_4w"},

    // ---- several outputs, and none ----
    {"outputs that need not agree", {kStrided}, {kAny, kWords}, {}, {}, {kChannels, kNoDemand},
     "buffer.strided -> texture3d.channels_packed, buffer.packed_4w; "},
    {"every output has a form of its own, not the first one's", {kStrided}, {k4W, k4C}, {}, {}, {k4W, k4C},
     "buffer.strided -> buffer.packed_4w, buffer.packed_4c; "},
    {"outputs that agree", {kStrided}, {kAny, kAny}, {{1, 2}}, {}, {kNoDemand, kChannels},
     "buffer.strided -> texture3d.channels_packed, texture3d.channels_packed; "},
    {"two groups", {kAny, kAny}, {kAny, kAny}, {{0, 2}, {1, 3}}, {k4W, kWidth}, {},
     "buffer.packed_4w, texture3d.width_packed -> buffer.packed_4w, texture3d.width_packed; "},
    {"no input at all", {}, {kAny}, {}, {}, {k4C}, " -> buffer.packed_4c; "},
    {"what the caller takes is made for it", {kStrided}, {kStrided}, {}, {}, {kChannels},
     "buffer.strided -> buffer.strided; out0 from buffer.strided"},
    {"of several that the caller takes, the one that is written", {kStrided}, {kAny}, {}, {}, {{k4C, k4W}},
     "buffer.strided -> buffer.packed_4w; "},
    {"no elements", {kAny}, {kAny}, {{0, 1}}, {k4C}, {}, "buffer.packed_4c -> buffer.packed_4c; ", {0, 8, 4, 4}},
    {"a scalar", {kAny}, {kAny}, {{0, 1}}, {k4W}, {}, "buffer.packed_4w -> buffer.packed_4w; ", {}},
};
// clang-format on

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Behaviour : public ::testing::TestWithParam<Row> {};

TEST_P(Behaviour, IsKept) { EXPECT_EQ(answer(GetParam()), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(All, Behaviour, ::testing::ValuesIn(kRows), [](const auto& row) {
  std::string name(row.param.name);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace qgen::planner

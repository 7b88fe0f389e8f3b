// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/plan.h: which kernel each operator of a graph takes, when one that is slower saves a conversion.
#include "qgen/plan.h"

#include <cstdio>

#include "common.h"

using namespace qgen;
using namespace qgen::planner;

int main() {
  const Representation rows = *Representation::of(Layout::strided), words = *Representation::of(Layout::packed_4w4c);
  planner::Graph net;
  net.tensors = {{.name = "x", .shape = {1, 8, 16, 16}, .dtype = DType::i8, .arrives_as = rows},
                 {.name = "y", .shape = {1, 8, 16, 16}, .dtype = DType::i8}};
  net.nodes = {{.name = "layer",
                .op = "relu",
                .inputs = {"x"},
                .outputs = {"y"},
                .kernels = {{.name = "on rows", .takes = {rows, rows}, .cost_us = 8},
                            {.name = "on words", .takes = {words, words}, .cost_us = 5}}}};
  const Plan plan = or_exit(planner::plan(net, {}, [](const auto&...) { return 4.0; }));
  for (const PlannedNode& node : plan.nodes) std::printf("%s: %s\n", node.name.text.c_str(), node.kernel.text.c_str());
  return plan.nodes.front().kernel.text == "on rows" ? 0 : 1;  // 8 us, where words would take 4 + 5
}

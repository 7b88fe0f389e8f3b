// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Random graphs: the plan equals brute force, and is the same for every order of insertion.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/planner/plan.h"
#include "tests/runtime/planner/slow_planner.h"

namespace qgen::planner {
namespace {

using testing::BruteForce;
using testing::judge;
using testing::Rank;

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // Operators with one to three inputs, kernels that take one or two representations an operand, sometimes synced;
  // whole microseconds, so that many plans tie.
  Graph make(uint32_t nodes, uint32_t most_kernels) {
    Graph graph;
    const uint32_t inputs = 1 + below(2);
    for (uint32_t input = 0; input < inputs; ++input) graph.tensors.push_back(tensor(graph.tensors.size(), true));
    for (uint32_t index = 0; index < nodes; ++index) add_node(graph, most_kernels);
    return graph;
  }

  // Some conversions are missing, none is symmetric, many cost the same.
  static std::optional<double> conversion(const Tensor& tensor, Representation from, Representation to) {
    const uint32_t mixed = (from.row * 9u + to.row + static_cast<uint32_t>(tensor.name.back()) * 31u) * 2654435761u >> 16;
    if (mixed % 11 == 0) return std::nullopt;
    return mixed % 7;
  }

  void shuffle(Graph& graph) {
    std::shuffle(graph.tensors.begin(), graph.tensors.end(), random_);
    std::shuffle(graph.nodes.begin(), graph.nodes.end(), random_);
    for (Node& node : graph.nodes) std::shuffle(node.kernels.begin(), node.kernels.end(), random_);
  }

 private:
  Tensor tensor(size_t index, bool is_input) {
    Tensor made{fmt::format("t{}", index), {1, 8, 4, 4}, below(4) == 0 ? DType::f32 : DType::i8, {}, {}};
    if (is_input && below(2) == 0) made.arrives_as = some_of(made.dtype, 2);
    if (!is_input && below(4) == 0) made.leaves_as = some_of(made.dtype, 2);
    return made;
  }

  RepresentationSet some_of(DType dtype, uint32_t most) {
    const uint32_t rows = dtype == DType::f32 ? 4 : 9;
    RepresentationSet set;
    for (uint32_t count = 1 + below(most); count > 0; --count) set = set | Representation{static_cast<uint8_t>(below(rows))};
    return set;
  }

  void add_node(Graph& graph, uint32_t most_kernels) {
    Node node{fmt::format("n{}", graph.nodes.size()), "op", {}, {}, {}};
    for (uint32_t count = 1 + below(3); count > 0; --count) {
      node.inputs.push_back(graph.tensors[below(static_cast<uint32_t>(graph.tensors.size()))].name);
    }
    for (uint32_t count = 1 + below(8) / 7; count > 0; --count) {
      graph.tensors.push_back(tensor(graph.tensors.size(), false));
      node.outputs.push_back(graph.tensors.back().name);
    }
    for (uint32_t count = 1 + below(most_kernels); count > 0; --count) node.kernels.push_back(kernel(graph, node));
    graph.nodes.push_back(std::move(node));
  }

  Kernel kernel(const Graph& graph, const Node& node) {
    Kernel made{fmt::format("k{}", node.kernels.size()), {}, {}, static_cast<double>(below(6))};
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const auto& name : *list) {
        const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
        made.takes.push_back(some_of(found->dtype, 2));
      }
    }
    if (below(4) == 0) made.synced = {{0, static_cast<uint32_t>(made.takes.size()) - 1}};
    return made;
  }

  std::mt19937 random_;
};

PlanOptions with_random_conversions() {
  PlanOptions options;
  options.conversion = RandomGraph::conversion;
  return options;
}

TEST(RandomGraphs, PlansEqualBruteForce) {
  const PlanOptions options = with_random_conversions();
  uint32_t possible = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Graph graph = RandomGraph(seed).make(1 + seed % 3, 3);
    const auto best = BruteForce(graph, options).best();
    const auto planned = plan(graph, options);
    ASSERT_EQ(static_cast<bool>(planned), best.has_value()) << "seed " << seed << ": " << (planned ? "" : planned.error().message);
    if (!planned) continue;
    ++possible;
    const auto verdict = judge(graph, options, *planned);
    ASSERT_EQ(verdict.fault, "") << "seed " << seed;
    ASSERT_EQ(verdict.rank, *best) << "seed " << seed << "\n" << explain(graph, options, *planned);
    ASSERT_TRUE(planned->is_optimal()) << "seed " << seed;
    ASSERT_EQ(std::llround(planned->cost_us * 1e6), std::get<0>(*best)) << "seed " << seed;
  }
  EXPECT_GT(possible, 150u);
}

TEST(RandomGraphs, OrderOfInsertionChangesNothing) {
  const PlanOptions options = with_random_conversions();
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.make(1 + seed % 12, 4);
    const auto first = plan(graph, options);
    for (int round = 0; round < 4; ++round) {
      random.shuffle(graph);
      const auto again = plan(graph, options);
      ASSERT_EQ(static_cast<bool>(first), static_cast<bool>(again)) << "seed " << seed;
      if (first) {
        ASSERT_EQ(*first, *again) << "seed " << seed;
      } else {
        ASSERT_EQ(first.error().message, again.error().message) << "seed " << seed;
      }
    }
  }
}

// With tables of at most a few cells, what elimination did is done by splitting, branch and bound: the same answer.
TEST(RandomGraphs, BranchAndBoundAgreesWithElimination) {
  const PlanOptions options = with_random_conversions();
  uint32_t split = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed).make(4 + seed % 8, 4);
    const auto assignment = make_assignment(graph, options.device, options.conversion);
    if (!assignment) continue;
    const Minimum exact = minimize(assignment->model);
    const Minimum searched = minimize(assignment->model, {.table_cells = 16, .work = 1 << 16, .until_proven = true});
    const Minimum bounded = minimize(assignment->model, {.table_cells = 16, .work = 1 << 16, .search_steps = 0});
    ASSERT_EQ(exact.cost, searched.cost) << "seed " << seed;
    ASSERT_EQ(exact.cost, searched.lower_bound) << "seed " << seed;
    ASSERT_LE(bounded.lower_bound, exact.cost) << "seed " << seed;
    ASSERT_GE(bounded.cost, exact.cost) << "seed " << seed;
    split += bounded.lower_bound < exact.cost ? 1 : 0;
  }
  EXPECT_GT(split, 10u) << "too few of these graphs make elimination split";
}

TEST(RandomGraphs, GreedyIsNeverBetter) {  // on 200 graphs of ten operators
  PlanOptions options;
  options.conversion = conversion_cost(options.device);
  double ours = 0, greedy = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Graph graph = RandomGraph(seed).make(10, 4);
    for (Node& node : graph.nodes) {  // the greedy rule knows of no synced operands
      for (Kernel& kernel : node.kernels) kernel.synced.clear();
    }
    const auto planned = plan(graph, options);
    const auto rival = testing::greedy_cost_us(graph, options);
    if (!planned || !rival) continue;
    ASSERT_LE(planned->cost_us, *rival + 1e-6) << "seed " << seed;
    ours += planned->cost_us;
    greedy += *rival;
  }
  EXPECT_LT(ours, greedy);
  RecordProperty("greedy_over_ours", fmt::format("{:.3f}", greedy / ours));
}

}  // namespace
}  // namespace qgen::planner

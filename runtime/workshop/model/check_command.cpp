// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "runtime/engine/tensor/npy.h"
#include "runtime/workshop/model/judge.h"
#include "runtime/workshop/model/session.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::model {
namespace {

struct Difference {
  int64_t count = 0, equal = 0;
  double largest = 0;
};

Expected<Difference> difference_of(const HostTensor& got, const HostTensor& expected) {
  if (got.shape != expected.shape)
    return refused(fmt::format("is {}, and {} is expected", to_text(got.shape), to_text(expected.shape)));
  Difference difference{.count = element_count(got.shape)};
  for (int64_t i = 0; i < difference.count; ++i) {
    const double a = element(got, i), b = element(expected, i);
    const bool is_equal = a == b || (std::isnan(a) && std::isnan(b));
    difference.equal += is_equal;
    if (!is_equal) difference.largest = std::max(difference.largest, std::isnan(a - b) ? HUGE_VAL : std::abs(a - b));
  }
  return difference;
}

// The expected outputs: from files, or computed by the references of the operators.
Expected<Tensors> expected_outputs(const Program& program, const Arguments& arguments, const graph::Graph& graph,
                                   const Tensors& inputs) {
  Tensors expected;
  const auto files = files_of_outputs(graph, "--expect", arguments.expected);
  if (!files) return files.error();
  for (const auto& [name, file] : *files) {
    auto tensor = load_npy(file);
    if (!tensor) return tensor.error();
    expected.emplace(name, *std::move(tensor));
  }
  if (!expected.empty()) return expected;
  Progress progress(::isatty(STDERR_FILENO) != 0);
  return outputs_by_reference(graph, program.operators, inputs,
                              [&](size_t node) { progress.show_at_once("definitions", node, graph.nodes.size()); });
}

// Operators that need not give the bits of their definition.
void print_bounded(const graph::Graph& graph) {
  std::set<std::string_view> bounded;
  for (const graph::Node& node : graph.nodes) {
    if (reference::has_exact_values(node.op)) bounded.insert(node.op);
  }
  if (!bounded.empty())
    fmt::print("{} have error bounds instead of bit-exact results: --tolerance sets how far an output may differ\n",
               fmt::join(bounded, ", "));
}

}  // namespace

Expected<int> check(const Program& program, const Arguments& arguments) {
  auto question = read_question(arguments);
  if (!question) return question.error();
  if (Done made = make(question->inputs); !made) return made.error();
  const Tensors& inputs = question->inputs.tensors;
  if (question->loaded.compiled && arguments.expected.empty())
    return refused("a compiled model has packed weights only, and references cannot be computed from these",
                   "check the model that it was compiled from, or give --expect");
  Expected<Loaded> unfused = Loaded();
  if (arguments.is_unfused) unfused = load(arguments, false);
  if (!unfused) return unfused.error();
  const auto expected =
      expected_outputs(program, arguments, arguments.is_unfused ? unfused->graph : question->loaded.graph, inputs);
  if (!expected) return expected.error();

  const auto session = Session::open(program, arguments, std::move(question->loaded), inputs);
  if (!session) return session.error();
  const auto prepared = (*session)->prepare(inputs);
  if (!prepared) return prepared.error();
  const auto outputs = (*prepared)->run(inputs);
  if (!outputs) return outputs.error();

  bool is_good = true;
  for (const auto& [name, wanted] : *expected) {
    const auto difference = difference_of(outputs->at(name), wanted);
    if (!difference) return refused(fmt::format("output '{}' {}", name, difference.error().message));
    const bool fits = difference->largest <= arguments.tolerance;
    is_good &= fits;
    fmt::print("{}: {}: {} of {} elements are equal, the largest difference is {:.6g}\n", fits ? "ok" : "FAILED", name,
               difference->equal, difference->count, difference->largest);
  }
  if (!is_good && arguments.expected.empty()) print_bounded((*session)->model().graph());
  return is_good ? runner::kDone : runner::kCasesFailed;
}

}  // namespace qgen::model

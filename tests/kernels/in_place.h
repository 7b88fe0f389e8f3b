// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators that write new rows into the memory of caches, with only_new.
#pragma once

#include "tests/kernels/kernel_test.h"

namespace qgen::testing {

using OperandPairs = std::map<std::string_view, std::string_view>;  // an output, and the input whose memory it has

// The outputs of a choice, with those of `pairs` in the memory of inputs.
inline Tensors outputs_in_place(Context& context, const PreparedCall& prepared, const Choice& choice,
                                const OperandPairs& pairs) {
  const auto operands = prepared.call.problem.op->operands;
  const auto bound = qgen::bind(context, prepared.call, choice, prepared.arguments);
  EXPECT_TRUE(bound) << (bound ? "" : to_text(bound.error()));
  Work work{&choice, bound->operands};
  for (const auto& [output, input] : pairs) {
    const auto place_of = [&](std::string_view name) {
      return std::ranges::find(operands, name, &OperandInfo::name) - operands.begin();
    };
    work.operands[place_of(output)] = work.operands[place_of(input)];
  }
  auto recording = context.executor.record({&work, 1});
  EXPECT_TRUE(recording) << (recording ? "" : to_text(recording.error()));
  EXPECT_TRUE(context.executor.run(*recording));
  Tensors outputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::write)
      outputs.emplace(operands[i].name, *context.executor.download(*work.operands[i]));
  }
  return outputs;
}

// With only_new, every kernel gives the bits that the best one gives without it: whole caches.
inline void expect_in_place(Context context, std::string_view op, Request request, const OperandPairs& pairs) {
  const OperatorEntry& entry = *find_operator(op);
  const auto prepared_with = [&](bool only_new) {
    request.attributes["only_new"] = only_new;
    return *prepare(context, entry, *complete(entry, request));
  };
  const auto ranked = [&](const PreparedCall& prepared) {
    return select(prepared.call.problem, context.profile, context.library, {}).ranked;
  };
  const PreparedCall whole = prepared_with(false);
  const auto of_whole = ranked(whole), of_new = ranked(prepared_with(true));
  ASSERT_FALSE(of_whole.empty() || of_new.empty());
  const Tensors expected = outputs_in_place(context, whole, of_whole.front(), {});
  for (const Choice& choice : of_new) {
    for (const auto& [name, output] : outputs_in_place(context, prepared_with(true), choice, pairs))
      EXPECT_TRUE(output.data == expected.at(name).data) << name << " of " << choice.id;
  }
}

}  // namespace qgen::testing

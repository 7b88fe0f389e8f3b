// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model that has one input, imported and run on the reference operators, beside what the model says in floats.
#pragma once

#include <gtest/gtest.h>

#include "operators.h"
#include "runtime/model/judge.h"
#include "tests/runtime/onnx/float_judge.h"
#include "tests/runtime/onnx/model_builder.h"

namespace qgen::onnx::testing {

// What a graph gives by the definitions of its operators.
inline Expected<Tensors> judged(const graph::Graph& graph, const Tensors& inputs) {
  return model::outputs_by_reference(graph, generated::operators::entries(), inputs);
}

// That outputs differ by at most `quanta` of the scale, and are the same in all but an eighth of their elements.
inline void compare(const ModelBuilder& builder, const Shape& input_shape, float scale, double quanta = 1) {
  const auto imported = builder.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const std::string& input = builder.model.graph.inputs.front().name;
  Random random(11);
  const ElementType type = builder.model.graph.inputs.front().type;
  const HostTensor data = is_real(type)
                              ? random.reals(DType::f32, input_shape, -2, 2)
                              : random.integers(*dtype_of(type), input_shape, type == ElementType::u8 ? 0 : -128,
                                                type == ElementType::u8 ? 255 : 127);
  const auto outputs = judged(imported->graph, {{input, data}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());

  Floats given{input_shape, {}};
  for (int64_t i = 0; i < element_count(input_shape); ++i) given.values.push_back(element(data, i));
  auto expected = FloatJudge(builder.model).run({{input, given}});
  for (const ValueInfo& info : builder.model.graph.outputs) {
    const HostTensor& output = outputs->at(info.name);
    const Floats& wanted = expected.at(info.name);
    ASSERT_EQ(output.shape, wanted.shape);
    size_t different = 0;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      const double difference = std::abs(element(output, static_cast<int64_t>(i)) - wanted.values[i]);
      EXPECT_LE(difference, (quanta + 0.01) * scale) << info.name << " " << i << ": " << wanted.values[i];
      different += difference > 0.01 * scale;
    }
    EXPECT_LE(different, wanted.values.size() / 8 + 1);
  }
}

}  // namespace qgen::onnx::testing

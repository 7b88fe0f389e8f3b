// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares the answers of scenes.onnx for a picture with what the picture shows.
//
//   const std::vector<Answer> answers = answers_of(logits, drawing.kinds);
#pragma once

#include "examples/picture/scene.h"

namespace qgen::picture {

constexpr int64_t kCell = 4;  // the side of the square of pixels that an answer is for

struct Answer {
  Kind said, shown;  // a cell shows what its middle shows
};
// Row by row. `logits` is the network's output, f32 [1, kinds, height / kCell, width / kCell]; the kind of the greatest
// is the answer. `kinds` is that of a Drawing.
std::vector<Answer> answers_of(const HostTensor& logits, const HostTensor& kinds);

}  // namespace qgen::picture

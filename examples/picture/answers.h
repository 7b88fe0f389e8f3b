// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares the labels that scenes.onnx gives for a picture with the objects that the picture shows.
//
//   const std::vector<Answer> answers = answers_of(logits, drawing.kinds);
#pragma once

#include "examples/picture/scene.h"

namespace qgen::picture {

constexpr int64_t kCell = 4;  // an answer is for a square of 4 x 4 pixels

struct Answer {
  Kind said, shown;  // shown: the kind in the middle of the cell
};
// An answer for each cell, row by row. `logits` is the network's output, f32 [1, kinds, height / kCell, width / kCell].
// The kind with the greatest logit is the answer. `kinds` is Drawing::kinds.
std::vector<Answer> answers_of(const HostTensor& logits, const HostTensor& kinds);

}  // namespace qgen::picture

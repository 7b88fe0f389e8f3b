// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "examples/picture/answers.h"

namespace qgen::picture {

std::vector<Answer> answers_of(const HostTensor& logits, const HostTensor& kinds) {
  const int64_t height = kinds.shape[0] / kCell, width = kinds.shape[1] / kCell, cells = height * width;
  const auto values = logits.as<float>();
  const auto shown = kinds.as<uint8_t>();
  std::vector<Answer> answers;
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t best = 0;
    for (int64_t kind = 1; kind < kKindCount; ++kind) {
      if (values[kind * cells + cell] > values[best * cells + cell]) best = kind;
    }
    const int64_t y = cell / width * kCell + kCell / 2, x = cell % width * kCell + kCell / 2;
    answers.push_back({static_cast<Kind>(best), static_cast<Kind>(shown[y * kinds.shape[1] + x])});
  }
  return answers;
}

}  // namespace qgen::picture

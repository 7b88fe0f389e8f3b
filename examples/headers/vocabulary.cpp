// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/vocabulary.h: what the words of specs and device files mean.
#include "qgen/vocabulary.h"

#include <cstdio>

int main() {
  const auto dtype = qgen::find_dtype("f16");
  if (!dtype) return 1;
  std::printf("f16 has %d bytes\n", static_cast<int>(qgen::bytes(*dtype)));
  const auto layout = qgen::find_layout("packed_4w4c");
  if (!layout) return 1;
  std::printf("packed_4w4c: %d channels in a word\n", static_cast<int>(qgen::info(*layout).dims.block));
}

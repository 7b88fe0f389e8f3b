// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/error.h: a function returns a value or an error, and none of qgen's throws.
#include "qgen/error.h"

#include <cstdio>

qgen::Expected<int> half(int value) {
  if (value % 2 != 0) return qgen::refused("3 is odd", "give an even number");
  return value / 2;
}

int main() {
  const auto good = half(4), bad = half(3);
  if (good) std::printf("%d\n", *good);
  if (!bad) std::printf("%s\n", qgen::to_text(bad.error()).c_str());
  return good && !bad ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// exp(x) in f32 by the steps of docs/fused.md, each rounded once. It gives the same bits as
// templates/lib/exponential.glsl.
#pragma once

#include <cmath>

namespace qgen::reference {

// x from -87 to 88.
inline float exponential(float x) {
  const float k = std::nearbyint(x * 1.44269502162933349609375f);
  const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  for (const float coefficient :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = p * r + coefficient;
  return std::ldexp((p * (r * r) + r) + 1.0f, static_cast<int>(k));
}

}  // namespace qgen::reference

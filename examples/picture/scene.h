// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A picture to quantize: three lit spheres on a checkered floor under an evening sky. It has what makes quantization
// visible: smooth gradients, hard edges, and large dark parts beside bright ones.
#pragma once

#include "runtime/tensor/tensor.h"

namespace qgen::picture {

// f32 [3, height, width]: red, green, blue in 0..1.
HostTensor render_scene(int64_t height, int64_t width);

}  // namespace qgen::picture

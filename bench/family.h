// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts of families/*.cpp. Each defines NAME_family(), its rows and which of them are the short ones:
//
//   Family resize_family() {
//     Family family;
//     add_resizes(family.rows);
//     family.short_sizes = {{"resize2d", {"8x256x64x64.nearest.f16"}}};
//     return family;
//   }
#pragma once

#include "bench/operator_rows.h"

namespace qgen::bench {

// Sizes of an operator's rows.
struct SizesOf {
  std::string_view op;
  std::vector<std::string_view> sizes;
};

struct Family {
  std::vector<Row> rows;
  std::vector<SizesOf> short_sizes;
};

#define QGEN_FAMILY(name) Family name##_family();
#include "bench/families.inc"
#undef QGEN_FAMILY

using Texts = std::vector<std::string>;

const Texts kInput = {"input_scale=0.04", "input_zero_point=-3"};
const Texts kOther = {"other_scale=0.02", "other_zero_point=7"};
const Texts kOutput = {"output_scale=0.05", "output_zero_point=5"};

Texts joined(Texts first, const Texts& second);

// In these layouts; compared with all tensors in plain buffers, on the kernel of that name.
Row in_layouts(std::string op, std::string_view size, Texts shapes, Texts attributes, const Texts& layouts,
               std::string plain_kernel = {});

// Of a product.
struct Size {
  int m, k, n;
};
std::string text(const Size& size);  // "1x4096x14336"
double operations(const Size& size);

}  // namespace qgen::bench

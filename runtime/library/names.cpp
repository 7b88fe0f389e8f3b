// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/library/kernel_info.h"
#include "runtime/library/layout_table.h"

namespace qgen {

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i8: return "i8";
    case DType::u8: return "u8";
    case DType::i16: return "i16";
    case DType::u16: return "u16";
    case DType::i32: return "i32";
    case DType::u32: return "u32";
  }
  return "?";
}

std::string_view name(Storage storage) {
  switch (storage) {
    case Storage::buffer: return "buffer";
    case Storage::texture3d: return "texture3d";
  }
  return "?";
}

std::string_view name(Layout layout) { return info(layout).name; }

}  // namespace qgen

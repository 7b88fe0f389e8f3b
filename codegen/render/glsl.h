// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// GLSL's names for qgen's dtypes, and the functions that expressions have only in templates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::render {

std::string_view scalar_type(DType dtype);                              // "float16_t"; of bf16 its bits, "uint16_t"
std::optional<std::string> vector_type(DType dtype, int64_t elements);  // "f16vec4"; nullopt: not 1 to 4 elements
std::string_view image_format(DType dtype);                             // "rgba16f"
std::string_view image_type(DType dtype);                               // "iimage3D"
std::vector<std::string_view> extensions_of(DType dtype, Storage storage);

// "readonly restrict "; for a buffer that may share bytes with another operand "readonly spirv_decorate(20) ", after
// the line that permits it. Leaving out `restrict` says nothing: SPIR-V takes two variables for apart unless both are
// Aliased.
std::string qualifiers(Access access, bool shares_bytes);
constexpr std::string_view kSharedBytesExtension =
    "#extension GL_EXT_spirv_intrinsics : require  // spirv_decorate(20): Aliased";
std::string camel_case(std::string_view name);  // zero_point -> ZeroPoint

// glsl_type, image_format, is_float, is_signed. The functions of a scope cannot fail. For an impossible value they
// return a failure, which the renderer reports at its location.
std::vector<expression::Function> glsl_functions();

std::string failure(std::string_view message);
std::optional<std::string_view> failure_message(std::string_view text);  // nullopt: the text is no failure

}  // namespace qgen::render

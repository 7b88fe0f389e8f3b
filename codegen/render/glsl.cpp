// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/glsl.h"

#include <fmt/format.h>

namespace qgen::render {
namespace {

using expression::Function;
using expression::Type;
using expression::Value;
using expression::Word;

// One row a dtype. bf16 has no arithmetic in GLSL: it is stored and moved as its bits.
struct GlslRow {
  DType dtype;
  std::string_view scalar;
  std::string_view vector;  // followed by 2, 3 or 4
  std::string_view format;
  std::string_view image;
  std::string_view arithmetic;  // the extension that knows the scalar; empty: none
  std::string_view storage;     // the extension that lets buffers hold it
};

constexpr std::string_view k8Bit = "GL_EXT_shader_8bit_storage";
constexpr std::string_view k16Bit = "GL_EXT_shader_16bit_storage";
constexpr std::string_view kInt8 = "GL_EXT_shader_explicit_arithmetic_types_int8";
constexpr std::string_view kInt16 = "GL_EXT_shader_explicit_arithmetic_types_int16";
constexpr std::string_view kFloat16 = "GL_EXT_shader_explicit_arithmetic_types_float16";

constexpr GlslRow kRows[] = {
    {DType::f32, "float", "vec", "rgba32f", "image3D", "", ""},
    {DType::f16, "float16_t", "f16vec", "rgba16f", "image3D", kFloat16, k16Bit},
    {DType::bf16, "uint16_t", "u16vec", "rgba16ui", "uimage3D", kInt16, k16Bit},
    {DType::i8, "int8_t", "i8vec", "rgba8i", "iimage3D", kInt8, k8Bit},
    {DType::u8, "uint8_t", "u8vec", "rgba8ui", "uimage3D", kInt8, k8Bit},
    {DType::i16, "int16_t", "i16vec", "rgba16i", "iimage3D", kInt16, k16Bit},
    {DType::u16, "uint16_t", "u16vec", "rgba16ui", "uimage3D", kInt16, k16Bit},
    {DType::i32, "int", "ivec", "rgba32i", "iimage3D", "", ""},
    {DType::u32, "uint", "uvec", "rgba32ui", "uimage3D", "", ""},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "kRows is indexed by DType");

const GlslRow& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }
bool is_signed(DType dtype) { return dtype != DType::u8 && dtype != DType::u16 && dtype != DType::u32; }

// Words that no dtype bears come from parameters whose words are something else.
template <typename OfDType>
Function function_of_dtype(std::string name, Type result, Value otherwise, OfDType of_dtype) {
  const auto evaluate = [of_dtype, otherwise](std::span<const Value> arguments) -> Value {
    const auto dtype = expression::find_dtype(std::get<Word>(arguments[0]).text);
    return dtype ? Value(of_dtype(*dtype)) : otherwise;
  };
  return {std::move(name), {Type::word}, 0, result, evaluate};
}

Value glsl_type(std::span<const Value> arguments) {
  const std::string& word = std::get<Word>(arguments[0]).text;
  const auto dtype = expression::find_dtype(word);
  if (!dtype) return failure(fmt::format("'{}' is not a dtype", word));
  const int64_t elements = arguments.size() > 1 ? std::get<Integer>(arguments[1]).value : 1;
  const auto type = vector_type(*dtype, elements);
  return type ? *type : failure(fmt::format("GLSL has no vectors of {} elements", elements));
}

constexpr char kFailureMark = '\x01';  // no template's text contains it: parse_template() sees to that

}  // namespace

std::string_view scalar_type(DType dtype) { return row(dtype).scalar; }
std::string_view image_format(DType dtype) { return row(dtype).format; }
std::string_view image_type(DType dtype) { return row(dtype).image; }

std::optional<std::string> vector_type(DType dtype, int64_t elements) {
  if (elements == 1) return std::string(row(dtype).scalar);
  if (elements < 1 || elements > 4) return std::nullopt;
  return fmt::format("{}{}", row(dtype).vector, elements);
}

std::vector<std::string_view> extensions_of(DType dtype, Storage storage) {
  std::vector<std::string_view> extensions;
  if (!row(dtype).arithmetic.empty()) extensions.push_back(row(dtype).arithmetic);
  if (!row(dtype).storage.empty() && storage == Storage::buffer) extensions.push_back(row(dtype).storage);
  return extensions;
}

std::string_view qualifier(Access access) {
  switch (access) {
    case Access::read: return "readonly ";
    case Access::write: return "writeonly ";
    case Access::read_write: return "";
  }
  return "";
}

std::string camel_case(std::string_view name) {
  std::string text;
  bool starts_word = true;
  for (const char c : name) {
    if (c != '_') text += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = c == '_';
  }
  return text;
}

std::vector<Function> glsl_functions() {
  const auto text = [](std::string_view view) { return std::string(view); };
  return {
      {"glsl_type", {Type::word, Type::integer}, 1, Type::text, glsl_type},
      function_of_dtype("image_format", Type::text, failure("image_format() takes a dtype"),
                        [text](DType dtype) { return text(image_format(dtype)); }),
      function_of_dtype("is_float", Type::boolean, false, is_float),
      function_of_dtype("is_signed", Type::boolean, false, is_signed),
  };
}

std::string failure(std::string_view message) { return kFailureMark + std::string(message); }

std::optional<std::string_view> failure_message(std::string_view text) {
  if (!text.starts_with(kFailureMark)) return std::nullopt;
  return text.substr(1);
}

}  // namespace qgen::render

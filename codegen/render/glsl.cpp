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

struct GlslRow {
  std::string_view scalar;
  std::string_view vector;  // followed by 2, 3 or 4
  std::string_view format;
};
constexpr GlslRow kRows[] = {
#define QGEN_DTYPE(name, long_name, size_bytes, kind, glsl, image_format) glsl,
#define GLSL(scalar, vector, format) \
  { scalar, vector, format }
#include "vocabulary/dtype_rows.inc"
};
constexpr GlslRow kNoRow = {"?", "?", "?"};

constexpr const GlslRow& row(DType dtype) { return row_of(kRows, dtype, kNoRow); }

// The extension that lets scalars and vectors of the type be computed with; empty: none is needed.
std::string_view arithmetic_extension(DType dtype) {
  const std::string_view scalar = row(dtype).scalar;
  if (scalar == "float16_t") return "GL_EXT_shader_explicit_arithmetic_types_float16";
  if (scalar.ends_with("int16_t")) return "GL_EXT_shader_explicit_arithmetic_types_int16";
  if (scalar.ends_with("int8_t")) return "GL_EXT_shader_explicit_arithmetic_types_int8";
  return "";
}

// The extension that lets buffers hold elements of the type; empty: none is needed.
std::string_view storage_extension(DType dtype) {
  if (bytes(dtype) == 1) return "GL_EXT_shader_8bit_storage";
  if (bytes(dtype) == 2) return "GL_EXT_shader_16bit_storage";
  return "";
}

bool is_signed(DType dtype) { return info(dtype).kind != DTypeInfo::Kind::unsigned_integer; }

// Words that no dtype bears come from parameters whose words are something else.
template <typename OfDType>
Function function_of_dtype(std::string name, Type result, Value otherwise, OfDType of_dtype) {
  const auto evaluate = [of_dtype, otherwise](std::span<const Value> arguments) -> Value {
    const auto dtype = find_dtype(std::get<Word>(arguments[0]).text);
    return dtype ? Value(of_dtype(*dtype)) : otherwise;
  };
  return {std::move(name), {Type::word}, 0, result, evaluate};
}

Value glsl_type(std::span<const Value> arguments) {
  const std::string& word = std::get<Word>(arguments[0]).text;
  const auto dtype = find_dtype(word);
  if (!dtype) return failure(fmt::format("'{}' is not a dtype", word));
  const int64_t elements = arguments.size() > 1 ? std::get<Integer>(arguments[1]).value : 1;
  const auto type = vector_type(*dtype, elements);
  return type ? *type : failure(fmt::format("GLSL has no vectors of {} elements", elements));
}

constexpr char kFailureMark = '\x01';  // no template's text contains it: parse_template() sees to that

}  // namespace

std::string_view scalar_type(DType dtype) { return row(dtype).scalar; }
std::string_view image_format(DType dtype) { return row(dtype).format; }

std::string_view image_type(DType dtype) {
  if (image_format(dtype).ends_with("ui")) return "uimage3D";
  return image_format(dtype).ends_with('i') ? "iimage3D" : "image3D";
}

std::optional<std::string> vector_type(DType dtype, int64_t elements) {
  if (elements == 1) return std::string(row(dtype).scalar);
  if (elements < 1 || elements > 4) return std::nullopt;
  return fmt::format("{}{}", row(dtype).vector, elements);
}

std::vector<std::string_view> extensions_of(DType dtype, Storage storage) {
  std::vector<std::string_view> extensions = {arithmetic_extension(dtype)};
  if (storage == Storage::buffer) extensions.push_back(storage_extension(dtype));
  std::erase(extensions, "");
  return extensions;
}

std::string qualifiers(Access access, bool shares_bytes) {
  const std::string_view aliasing = shares_bytes ? "spirv_decorate(20) " : "restrict ";
  switch (access) {
    case Access::read: return fmt::format("readonly {}", aliasing);
    case Access::write: return fmt::format("writeonly {}", aliasing);
    case Access::read_write: break;
  }
  return std::string(aliasing);
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
      function_of_dtype("is_float", Type::boolean, false, is_real),
      function_of_dtype("is_signed", Type::boolean, false, is_signed),
  };
}

std::string failure(std::string_view message) { return kFailureMark + std::string(message); }

std::optional<std::string_view> failure_message(std::string_view text) {
  if (!text.starts_with(kFailureMark)) return std::nullopt;
  return text.substr(1);
}

}  // namespace qgen::render

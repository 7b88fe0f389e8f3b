// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file: "\x93NUMPY", a version of two bytes, the header's length (u16 in version 1, u32 later), the header, the
// elements. The header is a Python dict of three entries:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// Versions 2 and 3 differ from 1 in the width of the length and in the names that structured types may have; structured
// types are refused anyway.
#include "runtime/engine/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace qgen {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 1 << 16;  // NumPy writes some hundred, and by default reads no more than 10,000
constexpr size_t kAlignmentBytes = 64;       // of the first element, as NumPy writes it

using Bytes = std::span<const std::byte>;

// Text of the file as a message may quote it.
std::string printable(std::string_view text) {
  constexpr size_t kShown = 20;
  std::string shown(text.substr(0, kShown));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

// ---- element types --------------------------------------------------------------------------------------------------

// NumPy's types that qgen reads, and the corresponding dtypes. A `stored` code differs from the dtype's own where
// elements are checked and narrowed.
struct TypeRow {
  std::string_view code;  // after the byte order
  size_t item_bytes;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {"f4", 4, DType::f32}, {"f2", 2, DType::f16}, {"i1", 1, DType::i8},  {"u1", 1, DType::u8},
    {"i2", 2, DType::i16}, {"u2", 2, DType::u16}, {"i4", 4, DType::i32}, {"u4", 4, DType::u32},
    {"b1", 1, DType::u8},  {"f8", 8, DType::f32}, {"i8", 8, DType::i32}, {"u8", 8, DType::u32},
};

// For dtypes that NumPy has, the type of its own width; write_npy() widens the others.
std::string npy_code(DType dtype) {
  const auto row = std::ranges::find_if(kTypes, [dtype](const TypeRow& type) {
    return type.dtype == dtype && type.item_bytes == static_cast<size_t>(bytes(dtype));
  });
  if (row == std::end(kTypes)) return "";
  return fmt::format("{}{}", row->item_bytes == 1 ? '|' : '<', row->code);
}

// ---- the header -----------------------------------------------------------------------------------------------------

struct HeaderFields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Reads the one kind of Python text that NumPy writes. Each take_ function consumes the text that it names; if it is
// not there, it consumes nothing and returns false.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Expected<HeaderFields> parse() {
    HeaderFields fields;
    if (!take('{')) return unexpected("'{'");
    while (!take('}')) {
      if (Done entry = parse_entry(fields); !entry) return entry.error();
      if (take(',')) continue;
      if (!take('}')) return unexpected("',' or '}'");
      break;
    }
    skip_space();
    if (!rest_.empty()) return unexpected("the header's end");
    for (const auto& [key, is_there] :
         {std::pair{"descr", fields.descr.has_value()}, std::pair{"fortran_order", fields.fortran_order.has_value()},
          std::pair{"shape", fields.shape.has_value()}}) {
      if (!is_there) return refused(fmt::format("the header has no '{}'", key));
    }
    return fields;
  }

 private:
  Done parse_entry(HeaderFields& fields) {
    const auto key = take_string();
    if (!key) return unexpected("a key in quotes");
    if (!take(':')) return unexpected("':'");
    if (*key == "descr") return keep(*key, fields.descr, take_string(), "a simple type in quotes, such as '<f4'");
    if (*key == "fortran_order") return keep(*key, fields.fortran_order, take_boolean(), "True or False");
    if (*key == "shape") return keep(*key, fields.shape, take_shape(), "a tuple of dimensions, such as (2, 3)");
    return refused(fmt::format("the header has an unknown key '{}'", printable(*key)),
                   "descr, fortran_order and shape are known");
  }

  template <typename T>
  Done keep(const std::string& key, std::optional<T>& field, std::optional<T> value, const char* wanted) {
    if (!value) return unexpected(wanted);
    if (field) return refused(fmt::format("the header has '{}' twice", key));
    field = std::move(value);
    return std::monostate{};
  }

  std::optional<std::string> take_string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return std::string(inside);
  }

  std::optional<bool> take_boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    return std::nullopt;
  }

  // "()", "(2,)", "(2, 3)", "(2, 3,)"; not "(2)", which is a number in Python.
  std::optional<Shape> take_shape() {
    if (!take('(')) return std::nullopt;
    Shape shape;
    if (take(')')) return shape;
    while (true) {
      const auto side = take_side();
      if (!side) return std::nullopt;
      shape.push_back(*side);
      const bool has_comma = take(',');
      if (take(')')) return has_comma || shape.size() > 1 ? std::optional(shape) : std::nullopt;
      if (!has_comma) return std::nullopt;
    }
  }

  std::optional<int64_t> take_side() {
    skip_space();
    int64_t side = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), side);
    if (error != std::errc{} || side < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    take('L');  // as Python 2 wrote long integers
    return side;
  }

  bool take(char wanted) { return take_word({&wanted, 1}); }

  bool take_word(std::string_view wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }

  void skip_space() {
    const size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  Error unexpected(std::string_view wanted) {
    skip_space();
    const std::string found = rest_.empty() ? "ends" : fmt::format("has '{}'", printable(rest_));
    return refused(fmt::format("the header {} where {} was expected", found, wanted));
  }

  std::string_view rest_;
};

// The offsets of the header and of the elements.
struct Frame {
  std::string_view header;
  Bytes elements;
};

Expected<Frame> read_frame(Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) return refused("this is not an .npy file: it does not start with \\x93NUMPY");
  const size_t length_at = kMagic.size() + 2;
  if (text.size() < length_at) return refused("the file ends before its version");
  const auto byte_at = [&](size_t i) { return std::to_integer<uint32_t>(file[i]); };
  const uint32_t version = byte_at(kMagic.size());
  if (version < 1 || version > 3) {
    return refused(fmt::format("the file has version {}, and versions 1 to 3 are known", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (text.size() < length_at + length_bytes) return refused("the file ends before its header's length");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{byte_at(length_at + i)} << (8 * i);
  if (length > kMaxHeaderBytes) {
    return refused(fmt::format("the header has {} bytes, more than the {} that are read", length, kMaxHeaderBytes));
  }
  const size_t header_at = length_at + length_bytes;
  if (text.size() - header_at < length) return refused("the file ends within its header");
  return Frame{text.substr(header_at, length), file.subspan(header_at + length)};
}

// The elements: a type, and whether their bytes are swapped.
struct ElementType {
  TypeRow row;
  bool is_big_endian = false;
};

Expected<ElementType> type_of(const std::string& descr) {
  const auto unknown = [&] {
    return refused(fmt::format("the elements have type '{}', which qgen cannot read", printable(descr)),
                   "it reads f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 and b1: convert with array.astype(...)");
  };
  if (descr.empty()) return unknown();
  const char order = descr[0];
  const auto row = std::ranges::find(kTypes, std::string_view(descr).substr(1), &TypeRow::code);
  if (row == std::end(kTypes) || std::string_view("<>|=").find(order) == std::string_view::npos) return unknown();
  if (order == '|' && row->item_bytes > 1) return unknown();
  return ElementType{*row, order == '>'};
}

// ---- elements -------------------------------------------------------------------------------------------------------

void swap_bytes(std::vector<std::byte>& data, size_t item_bytes) {
  for (size_t i = 0; i < data.size(); i += item_bytes) std::reverse(data.begin() + i, data.begin() + i + item_bytes);
}

// Elements in Fortran order (the first dimension runs fastest), laid out row-major.
std::vector<std::byte> row_major(const std::vector<std::byte>& fortran, const Shape& shape, size_t item_bytes) {
  std::vector<std::byte> result(fortran.size());
  Strides strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
  Shape at(shape.size(), 0);
  int64_t source = 0;  // the sum of at[d] * strides[d]
  for (size_t i = 0; i < result.size(); i += item_bytes) {
    std::memcpy(result.data() + i, fortran.data() + static_cast<size_t>(source) * item_bytes, item_bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++at[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return result;
}

bool survives(double value) { return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value; }
bool survives(int64_t value) { return value == static_cast<int32_t>(value); }
bool survives(uint64_t value) { return value == static_cast<uint32_t>(value); }

// 64-bit elements as 32-bit ones, or an error that names the first that would be lost.
template <typename Wide, typename Narrow>
Expected<std::vector<std::byte>> narrowed(const std::vector<std::byte>& data, std::string_view numpy_name) {
  const size_t count = data.size() / sizeof(Wide);
  std::vector<std::byte> result(count * sizeof(Narrow));
  for (size_t i = 0; i < count; ++i) {
    Wide wide;
    std::memcpy(&wide, data.data() + i * sizeof(Wide), sizeof(Wide));
    if (!survives(wide)) {
      return refused(fmt::format("element {} is {}, which {} cannot hold", i, wide, numpy_name),
                     fmt::format("save array.astype(numpy.{}) if the loss is intended", numpy_name));
    }
    const auto narrow = static_cast<Narrow>(wide);
    std::memcpy(result.data() + i * sizeof(Narrow), &narrow, sizeof(Narrow));
  }
  return result;
}

Expected<std::vector<std::byte>> to_dtype(std::vector<std::byte> data, std::string_view code) {
  if (code == "f8") return narrowed<double, float>(data, "float32");
  if (code == "i8") return narrowed<int64_t, int32_t>(data, "int32");
  if (code == "u8") return narrowed<uint64_t, uint32_t>(data, "uint32");
  if (code == "b1")
    std::ranges::replace_if(
        data, [](std::byte b) { return b != std::byte{0}; }, std::byte{1});
  return data;
}

}  // namespace

Expected<HostTensor> read_npy(Bytes file) {
  const auto frame = read_frame(file);
  if (!frame) return frame.error();
  const auto fields = HeaderParser(frame->header).parse();
  if (!fields) return fields.error();
  const auto type = type_of(*fields->descr);
  if (!type) return type.error();
  const Shape& shape = *fields->shape;
  if (Done good = check_shape(shape); !good) return good.error();

  const size_t item_bytes = type->row.item_bytes;
  const auto count = static_cast<size_t>(element_count(shape));
  if (frame->elements.size() != count * item_bytes) {
    return refused(fmt::format("the file has {} bytes of elements, and {} of shape {} takes {}", frame->elements.size(),
                               *fields->descr, to_text(shape), count * item_bytes));
  }
  std::vector<std::byte> data(frame->elements.begin(), frame->elements.end());
  if (type->is_big_endian) swap_bytes(data, item_bytes);
  if (*fields->fortran_order) data = row_major(data, shape, item_bytes);
  auto converted = to_dtype(std::move(data), type->row.code);
  if (!converted) return converted.error();
  return HostTensor{type->row.dtype, shape, *std::move(converted)};
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace {

// Python's spelling of a tuple.
std::string tuple_text(const Shape& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

// NumPy leaves room for the first side to grow to this many digits, so that a file can be appended to.
constexpr size_t kGrowthDigits = 21;

std::string header_text(const HostTensor& tensor) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", npy_code(tensor.dtype),
                                 tuple_text(tensor.shape));
  if (!tensor.shape.empty()) text += std::string(kGrowthDigits - std::to_string(tensor.shape[0]).size(), ' ');
  const size_t prefix_bytes = kMagic.size() + 4;
  const size_t used = prefix_bytes + text.size() + 1;
  return text + std::string((kAlignmentBytes - used % kAlignmentBytes) % kAlignmentBytes, ' ') + '\n';
}

HostTensor widened(const HostTensor& bf16) {
  const auto narrow = bf16.as<uint16_t>();
  HostTensor wide{DType::f32, bf16.shape, std::vector<std::byte>(narrow.size() * sizeof(float))};
  std::ranges::transform(narrow, wide.as<float>().begin(), bf16_to_f32);
  return wide;
}

}  // namespace

std::vector<std::byte> write_npy(const HostTensor& tensor) {
  if (tensor.dtype == DType::bf16) return write_npy(widened(tensor));
  const std::string header = header_text(tensor);
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  const auto start_bytes = std::as_bytes(std::span(start));
  std::vector<std::byte> file(start_bytes.begin(), start_bytes.end());
  file.insert(file.end(), tensor.data.begin(), tensor.data.end());
  return file;
}

// ---- files ----------------------------------------------------------------------------------------------------------

Expected<HostTensor> load_npy(const std::filesystem::path& path) {
  const auto file = read_file(path.string());
  if (!file) return file.error();
  auto tensor = read_npy(std::as_bytes(std::span(*file)));
  if (!tensor) return in_file(path.string(), tensor.error());
  return tensor;
}

Done save_npy(const std::filesystem::path& path, const HostTensor& tensor) {
  Outputs outputs;
  if (Done added = add_npy(outputs, path, tensor); !added) return added;
  return outputs.commit();
}

Done add_npy(Outputs& outputs, const std::filesystem::path& path, const HostTensor& tensor) {
  if (const Done whole = check_host_tensor(tensor, path.string() + ": the tensor"); !whole) return whole.error();
  const std::vector<std::byte> file = write_npy(tensor);
  return outputs.add(path.string(), {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace qgen

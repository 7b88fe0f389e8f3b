// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen {
namespace {

using ::testing::EndsWith;

// A file of version `version` with this header, padded by nothing, and these elements.
std::vector<std::byte> file_of(std::string_view header, std::string_view elements, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  if (version > 1) text += {'\0', '\0'};
  text += header;
  text += elements;
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

std::string header_of(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

// "f32 [2]: 1 2", or the error with its hint.
std::string text_of(const Expected<HostTensor>& tensor) {
  if (!tensor) return to_text(tensor.error());
  std::string text = std::string(name(tensor->dtype)) + ' ' + to_text(tensor->shape) + ':';
  for (int64_t i = 0; i < element_count(tensor->shape); ++i) {
    char number[32];
    std::snprintf(number, sizeof(number), " %.10g", element(*tensor, i));
    text += number;
  }
  return text;
}

constexpr std::string_view operator""_bytes(const char* text, size_t size) { return {text, size}; }

struct ReadCase {
  std::string header;
  std::string_view elements;
  std::string expected;
};

const ReadCase kReads[] = {
    {header_of("<f4", "(2,)"), "\0\0\x80\x3f\0\0\x20\xc1"_bytes, "f32 [2]: 1 -10"},
    {header_of(">f4", "(2,)"), "\x3f\x80\0\0\xc1\x20\0\0"_bytes, "f32 [2]: 1 -10"},
    {header_of("=f4", "(1,)"), "\0\0\x80\x3f"_bytes, "f32 [1]: 1"},
    {header_of("<f2", "(2,)"), "\x00\x3c\xff\xfb"_bytes, "f16 [2]: 1 -65504"},
    {header_of(">f2", "(1,)"), "\x3c\x00"_bytes, "f16 [1]: 1"},
    {header_of("|i1", "(3,)"), "\x00\x7f\x80"_bytes, "i8 [3]: 0 127 -128"},
    {header_of("<i1", "(1,)"), "\xff"_bytes, "i8 [1]: -1"},
    {header_of("|u1", "(2,)"), "\x00\xff"_bytes, "u8 [2]: 0 255"},
    {header_of("<i2", "(2,)"), "\x01\x00\x00\x80"_bytes, "i16 [2]: 1 -32768"},
    {header_of(">u2", "(2,)"), "\x00\x01\xff\xff"_bytes, "u16 [2]: 1 65535"},
    {header_of("<i4", "(1,)"), "\x00\x00\x00\x80"_bytes, "i32 [1]: -2147483648"},
    {header_of("<u4", "(1,)"), "\xff\xff\xff\xff"_bytes, "u32 [1]: 4294967295"},
    {header_of("|b1", "(3,)"), "\x00\x01\x02"_bytes, "u8 [3]: 0 1 1"},
    {header_of("<i8", "(2,)"), "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x80\xff\xff\xff\xff"_bytes,
     "i32 [2]: -1 -2147483648"},
    {header_of(">i8", "(1,)"), "\0\0\0\0\0\0\0\x07"_bytes, "i32 [1]: 7"},
    {header_of("<i8", "(2,)"), "\0\0\0\0\0\0\0\0\0\0\0\x80\0\0\0\0"_bytes,
     "element 1 is 2147483648, which int32 cannot hold\n"
     "  hint: save array.astype(numpy.int32) if the loss is intended"},
    {header_of("<u8", "(1,)"), "\xff\xff\xff\xff\0\0\0\0"_bytes, "u32 [1]: 4294967295"},
    {header_of("<u8", "(1,)"), "\0\0\0\0\x01\0\0\0"_bytes,
     "element 0 is 4294967296, which uint32 cannot hold\n"
     "  hint: save array.astype(numpy.uint32) if the loss is intended"},
    {header_of("<f8", "(3,)"), "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\xf8\x7f"_bytes,
     "f32 [3]: 1.5 inf nan"},
    {header_of("<f8", "(1,)"), "\x9a\x99\x99\x99\x99\x99\xb9\x3f"_bytes,
     "element 0 is 0.1, which float32 cannot hold\n"
     "  hint: save array.astype(numpy.float32) if the loss is intended"},
    // Orders. Fortran's [2, 3] holds columns: 0 3, 1 4, 2 5.
    {header_of("|i1", "(2, 3)"), "\0\1\2\3\4\5"_bytes, "i8 [2, 3]: 0 1 2 3 4 5"},
    {header_of("|i1", "(2, 3)", "True"), "\0\3\1\4\2\5"_bytes, "i8 [2, 3]: 0 1 2 3 4 5"},
    {header_of(">i2", "(3, 2)", "True"), "\0\0\0\2\0\4\0\1\0\3\0\5"_bytes, "i16 [3, 2]: 0 1 2 3 4 5"},
    {header_of("|i1", "(2, 1, 2, 2)", "True"), "\0\4\2\6\1\5\3\7"_bytes, "i8 [2, 1, 2, 2]: 0 1 2 3 4 5 6 7"},
    {header_of("|i1", "()", "True"), "\5"_bytes, "i8 []: 5"},
    {header_of("|i1", "(0, 3)", "True"), ""_bytes, "i8 [0, 3]:"},
    // Shapes.
    {header_of("|i1", "()"), "\5"_bytes, "i8 []: 5"},
    {header_of("|i1", "(0,)"), ""_bytes, "i8 [0]:"},
    {header_of("|i1", "(1, 1, 1, 1, 1, 1, 1, 2)"), "\5\6"_bytes, "i8 [1, 1, 1, 1, 1, 1, 1, 2]: 5 6"},
    {header_of("|i1", "(2L, 1L)"), "\5\6"_bytes, "i8 [2, 1]: 5 6"},
    {header_of("|i1", "(2, 1,)"), "\5\6"_bytes, "i8 [2, 1]: 5 6"},
    // The header is a Python dict, however it is spelled.
    {"{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|i1\"}", "\5"_bytes, "i8 [1]: 5"},
    {" {  'shape' : ( 1 , ) , 'fortran_order' : False , 'descr' : '|i1' , } \t\n", "\5"_bytes, "i8 [1]: 5"},
};

TEST(Npy, Reads) {
  for (const ReadCase& c : kReads) {
    for (char version : {1, 2, 3})
      EXPECT_EQ(text_of(read_npy(file_of(c.header, c.elements, version))), c.expected) << c.header;
  }
}

constexpr std::string_view kTypeHint =
    "\n  hint: it reads f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 and b1: convert with array.astype(...)";

const ReadCase kRefusals[] = {
    {"", ""_bytes, "the header ends where '{' was expected"},
    {"[1, 2]", ""_bytes, "the header has '[1, 2]' where '{' was expected"},
    {"{}", ""_bytes, "the header has no 'descr'"},
    {"{'descr': '<f4', 'shape': (1,)}", ""_bytes, "the header has no 'fortran_order'"},
    {"{'descr': '<f4', 'fortran_order': False}", ""_bytes, "the header has no 'shape'"},
    {"{'descr': '<f4', 'descr': '<f4'}", ""_bytes, "the header has 'descr' twice"},
    {"{'colour': 'red'}", ""_bytes,
     "the header has an unknown key 'colour'\n  hint: descr, fortran_order and shape are known"},
    {"{descr: '<f4'}", ""_bytes, "the header has 'descr: '<f4'}' where a key in quotes was expected"},
    {"{'descr' '<f4'}", ""_bytes, "the header has ''<f4'}' where ':' was expected"},
    {"{'descr': '<f4' 'shape': (1,)}", ""_bytes, "the header has ''shape': (1,)}' where ',' or '}' was expected"},
    {"{'descr': [('x', '<f4')]}", ""_bytes,
     "the header has '[('x', '<f4')]}' where a simple type in quotes, such as '<f4' was expected"},
    {"{'descr': '<f4", ""_bytes, "the header has ''<f4' where a simple type in quotes, such as '<f4' was expected"},
    {"{'fortran_order': 0}", ""_bytes, "the header has '0}' where True or False was expected"},
    {"{'shape': (2)}", ""_bytes, "the header has '}' where a tuple of dimensions, such as (2, 3) was expected"},
    {"{'shape': 2}", ""_bytes, "the header has '2}' where a tuple of dimensions, such as (2, 3) was expected"},
    {"{'shape': (-2,)}", ""_bytes, "the header has '-2,)}' where a tuple of dimensions, such as (2, 3) was expected"},
    {"{'shape': (99999999999999999999,)}", ""_bytes,
     "the header has '99999999999999999999' where a tuple of dimensions, such as (2, 3) was expected"},
    {"{'shape': (2 3)}", ""_bytes, "the header has '3)}' where a tuple of dimensions, such as (2, 3) was expected"},
    {"{'shape': (2,", ""_bytes, "the header ends where a tuple of dimensions, such as (2, 3) was expected"},
    {header_of("<f4", "(1,)") + "}", "\0\0\0\0"_bytes, "the header has '}' where the header's end was expected"},
    {header_of("<c8", "(1,)"), "\0\0\0\0\0\0\0\0"_bytes,
     "the elements have type '<c8', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("|V2", "(1,)"), "\0\0"_bytes,
     "the elements have type '|V2', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("f4", "(1,)"), "\0\0\0\0"_bytes,
     "the elements have type 'f4', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("", "(1,)"), ""_bytes, "the elements have type '', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("|f4", "(1,)"), "\0\0\0\0"_bytes,
     "the elements have type '|f4', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("|O", "(1,)"), "\0"_bytes,
     "the elements have type '|O', which qgen cannot read" + std::string(kTypeHint)},
    {header_of("<f4", "(2, 3)"), "\0\0\0\0"_bytes,
     "the file has 4 bytes of elements, and <f4 of shape [2, 3] takes 24"},
    {header_of("|i1", "(2,)"), "\0\0\0"_bytes, "the file has 3 bytes of elements, and |i1 of shape [2] takes 2"},
    {header_of("|i1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "\0"_bytes,
     "shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9, and the highest possible is 8"},
    {header_of("<f8", "(1073741824, 1073741824, 4)"), ""_bytes,
     "shape [1073741824, 1073741824, 4] has more than 2^60 elements"},
    {header_of("<f8", "(0, 1073741824, 1073741824, 4)", "True"), ""_bytes,
     "shape [0, 1073741824, 1073741824, 4] has more than 2^60 elements"},
    {header_of("<f8", "(1152921504606846976,)"), ""_bytes,
     "the file has 0 bytes of elements, and <f8 of shape [1152921504606846976] takes 9223372036854775808"},
};

TEST(Npy, RefusesInWords) {
  for (const ReadCase& c : kRefusals)
    EXPECT_EQ(text_of(read_npy(file_of(c.header, c.elements))), c.expected) << c.header;
}

struct RawCase {
  std::string_view file;
  std::string expected;
};

const RawCase kRaw[] = {
    {""_bytes, "this is not an .npy file: it does not start with \\x93NUMPY"},
    {"PK\3\4"_bytes, "this is not an .npy file: it does not start with \\x93NUMPY"},
    {"\x93NUMPY"_bytes, "the file ends before its version"},
    {"\x93NUMPY\1"_bytes, "the file ends before its version"},
    {"\x93NUMPY\4\0"_bytes, "the file has version 4, and versions 1 to 3 are known"},
    {"\x93NUMPY\0\0"_bytes, "the file has version 0, and versions 1 to 3 are known"},
    {"\x93NUMPY\1\0"_bytes, "the file ends before its header's length"},
    {"\x93NUMPY\2\0\1\0\0"_bytes, "the file ends before its header's length"},
    {"\x93NUMPY\1\0\5\0{'de"_bytes, "the file ends within its header"},
    {"\x93NUMPY\2\0\xff\xff\xff\xff{}"_bytes, "the header has 4294967295 bytes, more than the 65536 that are read"},
};

TEST(Npy, RefusesBrokenFrames) {
  for (const RawCase& c : kRaw) EXPECT_EQ(text_of(read_npy(std::as_bytes(std::span(c.file)))), c.expected);
}

// ---- writing --------------------------------------------------------------------------------------------------------

TEST(Npy, WritesWhatNumpyWrites) {
  HostTensor tensor = zeros(DType::i8, {2, 3});
  for (int i = 0; i < 6; ++i) set_element(tensor, i, i);
  const auto file = write_npy(tensor);
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string padding(128 - 10 - header.size() - 1, ' ');  // 10: magic, version, length 118, which is 'v'
  const std::string start("\x93NUMPY\1\0v\0"_bytes), elements("\0\1\2\3\4\5"_bytes);
  EXPECT_EQ(text, start + header + padding + '\n' + elements);
}

TEST(Npy, ComesBackForEveryDtypeAndRank) {
  for (const DTypeInfo& row : kDTypes) {
    const DType dtype = row.dtype;
    for (const Shape& shape : {Shape{}, {1}, {0}, {7}, {2, 3}, {2, 0, 3}, {1, 2, 1, 2, 1, 2, 1, 3}}) {
      HostTensor tensor = zeros(dtype, shape);
      for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, static_cast<double>(i * 3));
      const auto file = write_npy(tensor);
      const auto back = read_npy(file);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->dtype, dtype == DType::bf16 ? DType::f32 : dtype);
      EXPECT_EQ(back->shape, shape);
      for (int64_t i = 0; i < element_count(shape); ++i)
        EXPECT_EQ(element(*back, i), element(tensor, i)) << name(dtype);
      EXPECT_EQ((file.size() - tensor.data.size() * (dtype == DType::bf16 ? 2 : 1)) % 64, 0u) << "elements are aligned";
    }
  }
}

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

TEST(Npy, ConformanceFilesAreWrittenAsNumpyWroteThem) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(tests::source_folder() + "/tests/conformance")) {
    if (entry.path().extension() != ".npy") continue;
    const auto bytes = bytes_of_file(entry.path());
    const auto tensor = load_npy(entry.path());
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(write_npy(*tensor), bytes) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 400u);
}

TEST(Npy, FilesAreSavedAndLoaded) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path path = folder / "qgen_npy_test.npy";
  HostTensor tensor = zeros(DType::f16, {3});
  set_element(tensor, 2, 1.5);
  ASSERT_TRUE(save_npy(path, tensor));
  EXPECT_EQ(text_of(load_npy(path)), "f16 [3]: 0 0 1.5");
  std::ofstream(path, std::ios::trunc) << "not an array";
  EXPECT_EQ(load_npy(path).error().message,
            path.string() + ": this is not an .npy file: it does not start with \\x93NUMPY");
  std::filesystem::remove(path);
  EXPECT_EQ(load_npy(path).error().message, "cannot read " + path.string() + ": No such file or directory");
  EXPECT_EQ(load_npy(path).error().kind, Error::Kind::not_found);
  EXPECT_THAT(load_npy(folder).error().message, EndsWith(": it is a folder"));
  EXPECT_THAT(save_npy(folder / "no_such_folder" / "x.npy", tensor).error().message,
              EndsWith("x.npy: No such file or directory"));
  EXPECT_TEXT(save_npy("/dev/full", tensor).error().message, "cannot write /dev/full: No space left on device");
}

TEST(Npy, TornTensorsAreNotSaved) {
  const auto path = std::filesystem::temp_directory_path() / "qgen_torn_tensor.npy";
  for (const DType dtype : {DType::i8, DType::bf16}) {
    const HostTensor torn{dtype, {4}, std::vector<std::byte>(64)};
    const Done saved = save_npy(path, torn);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().message, path.string() + ": the tensor holds 64 bytes, and its shape [4] takes " +
                                         std::to_string(4 * bytes(dtype)));
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(read_npy(write_npy(torn)));
  }
}

}  // namespace
}  // namespace qgen

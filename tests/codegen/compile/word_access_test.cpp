// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernel runs show the computed words of a buffer: masked.adreno-660 of cmake/QgenTests.cmake.
#include "codegen/compile/word_access.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>

#include "codegen/support/storage_access.h"

namespace qgen::compile {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string shader(std::string_view input, std::string_view output, std::string_view statement,
                   std::string_view pragma = kWordAccessPragma) {
  return fmt::format(R"(#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
{}
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly restrict buffer InputBuffer {{ {} input_data[]; }};
layout(set = 0, binding = 1, std430) writeonly restrict buffer OutputBuffer {{ {} output_data[]; }};
void main() {{
  const uint i = gl_GlobalInvocationID.x;
  {}
}}
)",
                     pragma, input, output, statement);
}

std::string disassembled(std::string_view glsl, Optimization optimization = Optimization::performance) {
  const auto spirv = compile(glsl, optimization);
  if (!spirv) return spirv.error().front().text;
  std::string text;
  spvtools::SpirvTools(SPV_ENV_VULKAN_1_3).Disassemble(*spirv, &text);
  return text;
}

TEST(WordAccess, NeedsNoNarrowStorage) {
  for (const auto optimization : {Optimization::none, Optimization::size, Optimization::performance}) {
    for (const std::string_view dtype : {"int8_t", "uint8_t", "int16_t", "uint16_t"}) {
      SCOPED_TRACE(dtype);
      const std::string text = disassembled(
          shader(dtype, dtype, fmt::format("output_data[i] = {}(int(input_data[i]) + 1);", dtype)), optimization);
      EXPECT_THAT(text, HasSubstr("OpAtomicOr"));
      EXPECT_THAT(text, Not(HasSubstr("BitAccess")));
      EXPECT_THAT(text, Not(HasSubstr("SPV_KHR_")));
      EXPECT_THAT(text, Not(ContainsRegex("OpTypeInt (8|16)")));
    }
  }
}

// A template declares a buffer of halves, and by words reads its bits by a second declaration. The type of the first one
// would need a capability.
TEST(WordAccess, LeavesNoTypeOfABufferThatNothingReads) {
  for (const auto optimization : {Optimization::none, Optimization::size, Optimization::performance}) {
    std::string glsl = shader("uint16_t", "float", "output_data[i] = unpackHalf2x16(uint(input_data[i])).x;");
    glsl.insert(glsl.find("void main"),
                "layout(set = 0, binding = 0) readonly buffer Halves { float16_t halves[]; };\n");
    const std::string text = disassembled(glsl, optimization);
    EXPECT_THAT(text, HasSubstr("UnpackHalf2x16"));
    EXPECT_THAT(text, Not(HasSubstr("OpTypeFloat 16")));
  }
}

TEST(WordAccess, IsAskedForInTheText) {
  const std::string text = disassembled(shader("int8_t", "int8_t", "output_data[i] = input_data[i];", ""));
  EXPECT_THAT(text, HasSubstr("StorageBuffer8BitAccess"));
}

TEST(WordAccess, ReadsWithTheSignOfTheType) {
  EXPECT_THAT(disassembled(shader("int8_t", "int", "output_data[i] = int(input_data[i]);")),
              HasSubstr("OpBitFieldSExtract"));
  EXPECT_THAT(disassembled(shader("uint8_t", "int", "output_data[i] = int(input_data[i]);")),
              HasSubstr("OpBitFieldUExtract"));
}

TEST(WordAccess, WhatIsReadOnlyHasNoAtomics) {
  const std::string text = disassembled(shader("uint16_t", "uint", "output_data[i] = uint(input_data[i]);"));
  EXPECT_THAT(text, Not(HasSubstr("OpAtomic")));
  EXPECT_THAT(text, HasSubstr("NonReadable")) << "the output has whole words";
}

// Else the load of a word races with another invocation's store of its other half.
TEST(WordAccess, LoadsSharedWordsByAtomics) {
  std::string glsl = shader("uint16_t", "uint16_t", "output_data[i] = input_data[i];");
  EXPECT_THAT(disassembled(glsl), Not(HasSubstr("OpAtomicLoad"))) << "nothing else has the input's bytes";
  glsl.insert(glsl.find(kWordAccessPragma), "#extension GL_EXT_spirv_intrinsics : require\n");
  for (size_t at = 0; (at = glsl.find("restrict", at)) != std::string::npos;)
    glsl.replace(at, std::string_view("restrict").size(), "spirv_decorate(20)");
  const std::string text = disassembled(glsl);
  EXPECT_THAT(text, HasSubstr("OpAtomicLoad"));
  EXPECT_EQ(text.find("OpLoad"), text.rfind("OpLoad")) << "only the index of the invocation is a plain load";
}

TEST(WordAccess, LoadsWordsOfAWrittenBufferByAtomics) {
  const std::string readable = "output_data[i] = uint16_t(uint(output_data[i + 1u]) + uint(input_data[i]));";
  std::string glsl = shader("uint16_t", "uint16_t", readable);
  glsl.erase(glsl.find("writeonly "), std::string_view("writeonly ").size());
  EXPECT_THAT(disassembled(glsl), HasSubstr("OpAtomicLoad"));
}

TEST(WordAccess, CopiesBetweenBuffers) {
  EXPECT_THAT(disassembled(shader("int8_t", "int8_t", "if (i < 5u) output_data[i] = input_data[i + 3u];")),
              HasSubstr("OpAtomicAnd"));
}

TEST(WordAccess, RefusesArithmetic) {
  std::string glsl = shader("int8_t", "int8_t", "output_data[i] = input_data[i] * input_data[i + 1u];");
  glsl.insert(glsl.find(kWordAccessPragma), "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n");
  EXPECT_THAT(disassembled(glsl), HasSubstr("storage_access is by_words, and it calculates with integers of 8 bits"));
}

}  // namespace
}  // namespace qgen::compile

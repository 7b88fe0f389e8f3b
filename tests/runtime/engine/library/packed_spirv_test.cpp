// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/packed_spirv.h"

#include <gtest/gtest.h>

#include <random>

namespace qgen {
namespace {

using Words = std::vector<uint32_t>;
using packed_spirv::pack;
using packed_spirv::unpack;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

constexpr uint32_t kMagic = 0x07230203;
constexpr uint32_t op(uint32_t count, uint32_t opcode) { return count << 16 | opcode; }

// A type, a constant, and a function whose ids begin at `first`.
Words module_of(uint32_t first) {
  return {kMagic,     0x10600,   0,          first + 9,  0,          op(2, 17), 1,  // OpCapability
          op(4, 21),  2,         32,         0,                                     // OpTypeInt
          op(4, 43),  2,         3,          0xffffffff,                            // OpConstant
          op(5, 54),  2,         first,      0,          4,                         // OpFunction
          op(2, 248), first + 1,                                                    // OpLabel
          op(5, 128), 2,         first + 2,  3,          3,                         // OpIAdd
          op(5, 128), 2,         first + 3,  first + 2,  first + 2,                 // of the one before
          op(5, 81),  2,         first + 4,  first + 3,  0xfffffff0,  // OpCompositeExtract, with a large literal
          op(2, 249), first + 5,                                      // OpBranch, ahead
          op(2, 248), first + 5, op(1, 253), op(1, 56)};
}

const std::pair<const char*, Words> kModules[] = {
    {"nothing", {}},
    {"one word", {7}},
    {"no magic", {1, 2, 3, 4, 5, 6}},
    {"a header alone", {kMagic, 0x10300, 0, 1, 0}},
    {"a header of large numbers", {kMagic, ~0U, ~0U, ~0U, ~0U}},
    {"an instruction of no words", {kMagic, 0, 0, 1, 0, 17}},
    {"an instruction past the end", {kMagic, 0, 0, 1, 0, op(3, 17), 1}},
    {"instructions too short for a result", {kMagic, 0, 0, 1, 0, op(1, 54), op(1, 128), op(2, 128), 9, op(1, 56)}},
    {"an unknown opcode", {kMagic, 0, 0, 1, 0, op(4, 0xffff), 1, 2, 3}},
    {"results that go down", {kMagic, 0, 0, 9, 0, op(2, 248), ~0U, op(2, 248), 0, op(2, 248), ~0U}},
    {"a function", module_of(5)},
    {"the largest ids", module_of(0xfffffff0)},
};

TEST(PackedSpirv, GivesTheSameWordsBack) {
  for (const auto& [name, words] : kModules) {
    const std::string packed = pack(words);
    EXPECT_LE(packed.size(), packed_spirv::most_bytes(words.size())) << name;
    const auto unpacked = unpack(bytes_of(packed), words.size());
    ASSERT_TRUE(unpacked) << name;
    EXPECT_EQ(*unpacked, words) << name;
  }
}

// What the form is for: ids that are shifted change the header, and the one place where the function begins.
TEST(PackedSpirv, ShiftedIdsGiveTheSameBytes) {
  const std::string one = pack(module_of(5)), other = pack(module_of(50));
  ASSERT_EQ(one.size(), other.size());
  int differences = 0;
  for (size_t i = 0; i < one.size(); ++i) differences += one[i] != other[i] ? 1 : 0;
  EXPECT_EQ(differences, 5);  // bound, least id, the result of the function, and two bytes of the literal
}

TEST(PackedSpirv, RefusesWhatIsCutOrOfAnotherLength) {
  for (const auto& [name, words] : kModules) {
    const std::string packed = pack(words);
    for (size_t size = 0; size < packed.size(); ++size)
      EXPECT_FALSE(unpack(bytes_of(packed).first(size), words.size())) << name << ", " << size;
    EXPECT_FALSE(unpack(bytes_of(packed), words.size() + 1)) << name;
    EXPECT_FALSE(unpack(bytes_of(packed + '\0'), words.size())) << name;
  }
}

TEST(PackedSpirv, ReadsNothingPastDamagedBytes) {
  std::mt19937 random(1);
  const std::string packed = pack(module_of(5));
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = packed;
    for (int flips = 0; flips < 3; ++flips) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto words = unpack(bytes_of(damaged), module_of(5).size())) {
      EXPECT_EQ(words->size(), module_of(5).size());
    }
  }
}

}  // namespace
}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "common/files.h"
#include "tests/runtime/engine/library/blob_builder.h"
#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen {
namespace {

using test::BlobBuilder;
using test::ByteVector;
using ::testing::HasSubstr;

// Words that resemble one another, as the variants of a kernel do.
std::vector<uint32_t> module_words(uint32_t seed, size_t count) {
  std::mt19937 common(7);
  std::mt19937 own(seed);
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i)
    words[i] = i % 16 == 0 ? static_cast<uint32_t>(own()) : static_cast<uint32_t>(common());
  return words;
}

ByteVector bytes_of(const std::vector<uint32_t>& words) {
  const auto raw = std::as_bytes(std::span(words));
  return {raw.begin(), raw.end()};
}

// Two families, the first with a dictionary of raw content, of three modules and one.
BlobBuilder small_builder() {
  BlobBuilder builder;
  builder.add_family(bytes_of(module_words(0, 150)));
  builder.add_family({});
  builder.add_module(0, module_words(1, 200));
  builder.add_module(0, module_words(2, 201));
  builder.add_module(1, {0x07230203});
  builder.add_module(0, module_words(3, 3));
  return builder;
}

TEST(Blob, GivesBackEachModuleInAnyOrder) {
  const ByteVector bytes = small_builder().build();
  const auto blob = Blob::open(bytes);
  ASSERT_TRUE(blob) << to_text(blob.error());
  EXPECT_EQ(blob->module_count(), 4u);
  EXPECT_EQ(blob->raw_bytes(), (200 + 201 + 1 + 3) * 4u);
  EXPECT_EQ(*blob->module(3), module_words(3, 3));
  EXPECT_EQ(*blob->module(2), std::vector<uint32_t>{0x07230203});
  EXPECT_EQ(*blob->module(0), module_words(1, 200));
  EXPECT_EQ(*blob->module(1), module_words(2, 201));
  EXPECT_EQ(*blob->module(0), module_words(1, 200));
}

TEST(Blob, DigestIsTheChecksumOfTheWords) {
  const ByteVector bytes = small_builder().build();
  const auto blob = Blob::open(bytes);
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->module_digest(0), blob_format::checksum(bytes_of(module_words(1, 200))));
  EXPECT_EQ(blob->module_digest(4), 0u);
}

TEST(Blob, MayLieAtAnyAddress) {
  const ByteVector bytes = small_builder().build();
  for (size_t shift = 1; shift < 8; ++shift) {
    ByteVector moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    const auto blob = Blob::open(std::span(moved).subspan(shift));
    ASSERT_TRUE(blob) << shift;
    EXPECT_EQ(*blob->module(1), module_words(2, 201));
  }
}

TEST(Blob, MayBeEmpty) {
  const ByteVector bytes = BlobBuilder().build();
  const auto blob = Blob::open(bytes);
  ASSERT_TRUE(blob) << to_text(blob.error());
  EXPECT_EQ(blob->module_count(), 0u);
  EXPECT_TEXT(blob->module(0).error().message, "there is no module 0: the blob has 0");
}

TEST(Blob, DictionaryMakesModulesSmall) {
  BlobBuilder with, without;
  with.add_family(bytes_of(module_words(0, 1000)));
  without.add_family({});
  for (BlobBuilder* builder : {&with, &without}) {
    for (uint32_t seed = 1; seed <= 10; ++seed) builder->add_module(0, module_words(seed, 1000));
  }
  EXPECT_LT(with.build().size(), without.build().size() / 2);
}

TEST(Blob, IsReadByManyThreads) {
  const ByteVector bytes = small_builder().build();
  const auto blob = Blob::open(bytes);
  ASSERT_TRUE(blob);
  std::vector<std::thread> threads;
  std::array<bool, 8> agrees{};
  for (size_t t = 0; t < agrees.size(); ++t) {
    threads.emplace_back([&, t] {
      bool all = true;
      for (int repeat = 0; repeat < 50; ++repeat) all &= *blob->module(1) == module_words(2, 201);
      agrees[t] = all;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (bool agree : agrees) EXPECT_TRUE(agree);
}

struct DamageCase {
  std::string_view name;
  std::function<void(BlobBuilder::Parts&)> damage;  // sealed again afterwards, so that only this is wrong
  std::string_view message;                         // of open(), or of reading the modules
};

// Makes room for a longer index.
void shift_frames(BlobBuilder::Parts& parts, uint64_t bytes) {
  for (auto& row : parts.families) row.offset += bytes;
  for (auto& row : parts.modules) row.offset += bytes;
}

const DamageCase kDamages[] = {
    {"nothing", [](BlobBuilder::Parts&) {}, ""},
    {"magic", [](BlobBuilder::Parts& p) { p.header.magic[0] = 'X'; },
     "these bytes are not a kernel blob: they do not start with QGENBLOB"},
    {"version", [](BlobBuilder::Parts& p) { p.header.version = 9; },
     "the kernel blob has version 9, and this library reads version 2"},
    {"a frame's offset", [](BlobBuilder::Parts& p) { p.modules[2].offset += 1; },
     "the kernel blob is damaged: the row of module 2 does not fit the file"},
    {"an offset past the file", [](BlobBuilder::Parts& p) { p.modules[0].offset = ~uint64_t{0}; },
     "the kernel blob is damaged: the row of module 0 does not fit the file"},
    {"a frame past the file", [](BlobBuilder::Parts& p) { p.modules[3].stored_bytes = 0xffffffff; },
     "the kernel blob is damaged: the row of module 3 does not fit the file"},
    {"a frame too short", [](BlobBuilder::Parts& p) { p.modules[3].stored_bytes -= 1; },
     "the kernel blob is damaged: bytes follow the last module"},
    {"a repeated row",
     [](BlobBuilder::Parts& p) {
       p.modules.push_back(p.modules[1]);
       shift_frames(p, sizeof(p.modules[1]));
     },
     ""},
    {"a repeated row of another size",
     [](BlobBuilder::Parts& p) {
       p.modules.push_back(p.modules[1]);
       p.modules.back().raw_bytes += 4;
       shift_frames(p, sizeof(p.modules[1]));
     },
     "the kernel blob is damaged: the row of module 4 does not fit the file"},
    {"a row inside another's frame",
     [](BlobBuilder::Parts& p) {
       p.modules.push_back(p.modules[1]);
       p.modules.back().offset += 1;
       shift_frames(p, sizeof(p.modules[1]));
     },
     "the kernel blob is damaged: the row of module 4 does not fit the file"},
    {"bytes after the end", [](BlobBuilder::Parts& p) { p.frames.push_back(std::byte{0}); },
     "the kernel blob is damaged: bytes follow the last module"},
    {"a family that is not there", [](BlobBuilder::Parts& p) { p.modules[1].family = 2; },
     "the kernel blob is damaged: the row of module 1 does not fit the file"},
    {"a module of no bytes", [](BlobBuilder::Parts& p) { p.modules[1].raw_bytes = 0; },
     "the kernel blob is damaged: the row of module 1 does not fit the file"},
    {"a module of half a word", [](BlobBuilder::Parts& p) { p.modules[1].raw_bytes -= 2; },
     "the kernel blob is damaged: the row of module 1 does not fit the file"},
    {"a module of four gigabytes", [](BlobBuilder::Parts& p) { p.modules[1].raw_bytes = 0xfffffffc; },
     "the kernel blob is damaged: the row of module 1 does not fit the file"},
    {"a dictionary of four gigabytes", [](BlobBuilder::Parts& p) { p.families[0].raw_bytes = 0xfffffffc; },
     "the kernel blob is damaged: the row of family 0 does not fit the file"},
    {"a dictionary of no bytes", [](BlobBuilder::Parts& p) { p.families[0].raw_bytes = 0; },
     "the kernel blob is damaged: the row of family 0 does not fit the file"},
    {"a dictionary's size", [](BlobBuilder::Parts& p) { p.families[0].raw_bytes -= 1; },
     "the kernel blob is damaged: the dictionary of family 0 cannot be decompressed"},
    {"a dictionary's frame", [](BlobBuilder::Parts& p) { p.frames[0] ^= std::byte{1}; },
     "the kernel blob is damaged: the dictionary of family 0 cannot be decompressed"},
    {"a module's size", [](BlobBuilder::Parts& p) { p.modules[2].raw_bytes += 4; },
     "the kernel blob is damaged: module 2 cannot be decompressed to its 8 bytes"},
    {"a smaller size", [](BlobBuilder::Parts& p) { p.modules[3].raw_bytes -= 4; },
     "the kernel blob is damaged: module 3 cannot be decompressed to its 8 bytes"},
    {"a checksum", [](BlobBuilder::Parts& p) { p.modules[3].checksum ^= 1; },
     "the kernel blob is damaged: the checksum of module 3 is wrong"},
    {"the wrong dictionary", [](BlobBuilder::Parts& p) { p.modules[2].family = 0; }, ""},  // it refers to none
};

// The first error met in opening the blob and reading all of it; empty: none.
std::string first_error(std::span<const std::byte> bytes) {
  const auto blob = Blob::open(bytes);
  if (!blob) return blob.error().message;
  for (size_t i = 0; i < blob->module_count(); ++i) {
    if (const auto module = blob->module(i); !module) return module.error().message;
  }
  return "";
}

TEST(Blob, SaysWhatIsDamaged) {
  for (const DamageCase& c : kDamages) {
    BlobBuilder::Parts parts = small_builder().parts();
    c.damage(parts);
    EXPECT_TEXT(first_error(BlobBuilder::seal(parts)), c.message) << c.name;
  }
}

// A format that changes leaves older seeds behind, and then the fuzzer only meets refusals.
TEST(Blob, SeedsOfTheFuzzerAreRead) {
  size_t modules = 0;
  for (const auto& file : std::filesystem::directory_iterator(tests::source_folder() + "/tests/fuzz/corpus/blob")) {
    const auto bytes = read_file(file.path().string());
    ASSERT_TRUE(bytes) << file;
    const auto blob = Blob::open(std::as_bytes(std::span(*bytes)));
    ASSERT_TRUE(blob) << file << blob.error().message;
    for (size_t i = 0; i < blob->module_count(); ++i) EXPECT_TRUE(blob->module(i)) << file << i;
    modules += blob->module_count();
  }
  EXPECT_GT(modules, 0);
}

TEST(Blob, CutAnywhereIsRefused) {
  const ByteVector bytes = small_builder().build();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Blob::open(std::span(bytes).first(size))) << size;
  }
  EXPECT_TEXT(Blob::open({}).error().message, "the kernel blob is damaged: it has 0 bytes, fewer than a header's 40");
}

TEST(Blob, AChangedBitNeverGivesOtherWords) {
  const ByteVector good = small_builder().build();
  const std::vector<uint32_t> expected[] = {
      module_words(1, 200), module_words(2, 201), {0x07230203}, module_words(3, 3)};
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    ByteVector bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto blob = Blob::open(bytes);
    if (!blob) continue;
    for (size_t i = 0; i < blob->module_count(); ++i) {
      const auto module = blob->module(i);
      if (!module) continue;
      EXPECT_EQ(*module, expected[i]) << "bit " << bit;
    }
  }
}

TEST(Blob, HeaderOfCountsThatOverflowIsRefused) {
  ByteVector bytes = small_builder().build();
  const uint32_t many = 0xffffffff;
  std::memcpy(bytes.data() + offsetof(blob_format::Header, families), &many, sizeof(many));
  EXPECT_THAT(Blob::open(bytes).error().message,
              HasSubstr("4294967295 families and 4 modules is longer than the file"));
}

}  // namespace
}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/cache/spec_pack.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "codegen/cache/run_memo.h"
#include "common/files.h"

namespace qgen::cache {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "qgen-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/op.pack";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string folder_;
  std::string path_;
};

Digest key(uint64_t n) { return {n, 0}; }
Digest name(uint64_t n) { return {0, n}; }

// A module with something in every field.
CachedModule module(uint64_t n) {
  CachedModule m;
  m.spirv = name(n);
  m.interface.bindings = {{0, 1, BindingKind::storage_image, Access::read_write, "input_image", {}},
                          {0, 2, BindingKind::storage_buffer, Access::read, "P", {{"numel", 0, 4, 1, {}}}}};
  m.interface.push_constants = {{"sizes", 16, 32, 8, reflect::Member::Kind::i32}};
  m.interface.push_constants_bytes = 48;
  m.interface.specialization = {{"workgroup", 0, 64}};
  m.interface.needs = n;
  m.interface.defaults = {{64, 2, 1}, 1024};
  m.resources = {{{64, 2, 1}, 1024, {}},
                 {{128, 2, 1}, 2048, {{16, 8, 32, DType::i8, DType::u8, DType::i32, DType::u32, true}}}};
  return m;
}

std::vector<uint32_t> words(uint64_t n) { return std::vector<uint32_t>(100 + n, static_cast<uint32_t>(n)); }

SpecPack pack_of(uint64_t first, uint64_t last) {
  SpecPack pack;
  for (uint64_t n = first; n < last; ++n) pack.add(key(n), module(n), words(n));
  return pack;
}

std::vector<Digest> keys(uint64_t first, uint64_t last) {
  std::vector<Digest> all;
  for (uint64_t n = first; n < last; ++n) all.push_back(key(n));
  return all;
}

TEST_F(Cache, WhatIsStoredIsLoaded) {
  SpecPack pack = pack_of(0, 3);
  const std::vector<Digest> family = {name(0), name(1), name(2)};
  const blob_format::PackedFamily packed{"dictionary", 77, {{"frame", 400, 9}, {"", 404, 8}}};
  pack.set_family(family, packed);
  ASSERT_TRUE(pack.store(path_, keys(0, 3)));

  const SpecPack loaded = SpecPack::load(path_);
  for (uint64_t n = 0; n < 3; ++n) {
    const CachedModule* found = loaded.find(key(n));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->interface.bindings, module(n).interface.bindings);
    EXPECT_EQ(found->interface.push_constants, module(n).interface.push_constants);
    EXPECT_EQ(found->interface.push_constants_bytes, 48u);
    EXPECT_EQ(found->interface.specialization, module(n).interface.specialization);
    EXPECT_EQ(found->interface.needs, n);
    EXPECT_EQ(found->resources[1].cooperative_matrices, module(n).resources[1].cooperative_matrices);
    EXPECT_EQ(found->interface.defaults.shared_bytes, 1024u);
    ASSERT_EQ(found->resources.size(), 2u);
    EXPECT_EQ(found->resources[1].workgroup[0], 128u);
    ASSERT_NE(loaded.spirv(found->spirv), nullptr);
    EXPECT_EQ(*loaded.spirv(found->spirv), words(n));
  }
  EXPECT_EQ(loaded.find(key(3)), nullptr);
  ASSERT_NE(loaded.family(family), nullptr);
  EXPECT_EQ(*loaded.family(family), packed);
  EXPECT_EQ(loaded.family(std::vector<Digest>{name(1), name(0), name(2)}), nullptr);
}

TEST_F(Cache, AnyDamagedByteMakesAnEmptyPack) {
  ASSERT_TRUE(pack_of(0, 2).store(path_, keys(0, 2)));
  const std::string good = *read_file(path_);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    ASSERT_TRUE(write_file(path_, bad));
    EXPECT_EQ(SpecPack::load(path_).find(key(0)), nullptr) << "byte " << i;
  }
  for (size_t size = 0; size < good.size(); size += 7) {
    ASSERT_TRUE(write_file(path_, good.substr(0, size)));
    EXPECT_EQ(SpecPack::load(path_).find(key(0)), nullptr) << size << " bytes";
  }
}

TEST_F(Cache, KeepsAsMuchUnusedAsUsed) {
  ASSERT_TRUE(pack_of(0, 4).store(path_, keys(0, 4)));
  SpecPack edited = SpecPack::load(path_);
  for (uint64_t n = 4; n < 8; ++n) edited.add(key(n), module(n), words(n));
  ASSERT_TRUE(edited.store(path_, keys(4, 8)));
  SpecPack again = SpecPack::load(path_);
  for (uint64_t n = 0; n < 8; ++n) EXPECT_NE(again.find(key(n)), nullptr) << n;
  for (uint64_t n = 8; n < 12; ++n) again.add(key(n), module(n), words(n));
  ASSERT_TRUE(again.store(path_, keys(8, 12)));
  const SpecPack last = SpecPack::load(path_);
  for (uint64_t n = 0; n < 4; ++n) EXPECT_EQ(last.find(key(n)), nullptr) << n;
  for (uint64_t n = 4; n < 12; ++n) EXPECT_NE(last.find(key(n)), nullptr) << n;
}

TEST_F(Cache, AMemoKnowsWhetherItsOutputsAreThere) {
  RunMemo memo;
  memo.inputs = key(7);
  memo.outputs = {{"a", 3, digest_of("one")}, {"b/c", 3, digest_of("two")}};
  memo.files_read = {"specs/x.yaml"};
  memo.figures.variants = 3;
  ASSERT_TRUE(store_memo(path_, memo));
  const auto loaded = load_memo(path_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->inputs, key(7));
  EXPECT_EQ(loaded->files_read, memo.files_read);
  EXPECT_EQ(loaded->figures.variants, 3u);
  EXPECT_FALSE(has_all_outputs(*loaded, folder_));
  ASSERT_TRUE(write_file(folder_ + "/a", "one"));
  ASSERT_TRUE(write_file(folder_ + "/b/c", "two"));
  EXPECT_TRUE(has_all_outputs(*loaded, folder_));
  ASSERT_TRUE(write_file(folder_ + "/a", "One"));
  EXPECT_FALSE(has_all_outputs(*loaded, folder_));

  std::string bytes = *read_file(path_);
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  ASSERT_TRUE(write_file(path_, bytes));
  EXPECT_FALSE(load_memo(path_));
  EXPECT_FALSE(load_memo(folder_ + "/none"));
}

}  // namespace
}  // namespace qgen::cache

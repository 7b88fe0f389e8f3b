// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// KernelLibrary::reload(): which files it takes, what changes then, and every reason to refuse one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/kernel_library.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

// A module of a file: its words, and the digest of what the tables say of it.
struct Row {
  uint32_t word = 0;
  uint32_t tables = 0;
};

class Reload : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "qgen-reload-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    built_ = blob_of(rows());
    path_ = folder_ + "/kernels.blob";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The modules of the program: number i has the word i.
  static std::vector<Row> rows() {
    std::vector<Row> rows;
    for (uint32_t i = 0; i < test::kModuleCount; ++i) rows.push_back({i, 100 + i});
    return rows;
  }
  static test::ByteVector blob_of(const std::vector<Row>& rows) {
    test::BlobBuilder builder;
    for (size_t family = 0; family < std::size(test::kOperators); ++family) builder.add_family({});
    for (const Row& row : rows) builder.add_module(row.tables >= 108 ? 0 : 1, {0x07230203, row.word}, row.tables);
    return builder.build();
  }
  KernelLibrary library() const {
    auto opened = KernelLibrary::open({test::kOperators, built_});
    EXPECT_TRUE(opened) << to_text(opened.error());
    return *std::move(opened);
  }
  void write(const test::ByteVector& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  // The error without the folder's name.
  std::string refusal(KernelLibrary& library) const {
    const auto changed = library.reload(path_);
    EXPECT_FALSE(changed);
    if (changed) return "";
    std::string text = to_text(changed.error());
    for (size_t at = text.find(folder_); at != text.npos; at = text.find(folder_))
      text.replace(at, folder_.size(), "out");
    return text;
  }
  static uint32_t word(const KernelLibrary& library, uint32_t module) {
    const auto words = library.modules()->words(kernel(module));
    EXPECT_TRUE(words);
    return words ? words->back() : ~0U;
  }
  static const KernelInfo& kernel(uint32_t module) {
    for (const OperatorInfo* op : test::kOperators) {
      for (const KernelInfo& kernel : op->kernels) {
        if (kernel.module == module) return kernel;
      }
    }
    ADD_FAILURE() << "no kernel of module " << module;
    return test::kOperators[0]->kernels.front();
  }

  std::string folder_, path_;
  test::ByteVector built_;
};

TEST_F(Reload, TakesWhatChanged) {
  KernelLibrary library = this->library();
  const KernelLibrary copy = library;
  const auto before = library.modules();
  const uint64_t digest = library.digest(kernel(3));
  write(built_);
  EXPECT_EQ(*library.reload(path_), 0u);
  EXPECT_EQ(library.modules(), before) << "nothing changed, so nobody need look";

  std::vector<Row> newer = rows();
  newer[3].word = 77;
  newer[8].word = 88;
  write(blob_of(newer));
  EXPECT_EQ(*library.reload(path_), 2u);
  EXPECT_EQ(*library.reload(path_), 0u) << "the same file again";
  EXPECT_EQ(word(library, 3), 77u);
  EXPECT_EQ(word(copy, 8), 88u) << "copies share their modules";
  EXPECT_EQ(word(library, 4), 4u);
  EXPECT_NE(library.digest(kernel(3)), digest);
  EXPECT_EQ(before->words(kernel(3))->back(), 3u) << "who holds the old modules keeps them";

  write(built_);
  EXPECT_EQ(*library.reload(path_), 2u);
  EXPECT_EQ(library.digest(kernel(3)), digest);
  EXPECT_EQ(word(copy, 8), 8u);
}

TEST_F(Reload, TakesAFileOfSomeKernels) {
  KernelLibrary library = this->library();
  write(blob_of({{55, 105}}));
  EXPECT_EQ(*library.reload(path_), 1u);
  write(blob_of({{22, 102}}));
  EXPECT_EQ(*library.reload(path_), 1u);
  EXPECT_EQ(word(library, 5), 55u) << "kernels that a file lacks keep their modules";
  EXPECT_EQ(word(library, 2), 22u);
}

TEST_F(Reload, RefusesOtherTables) {
  KernelLibrary library = this->library();
  std::vector<Row> newer = rows();
  newer[2].word = 77;
  newer[8].tables = 999;
  write(blob_of(newer));
  EXPECT_TEXT(refusal(library),
              "out/kernels.blob: the file's kernel in the place of 'multiply.subgroup' does not fit this program: the "
              "program has no kernel with this id, spec and interface\n"
              "  hint: build the program again with the new tables");
  EXPECT_EQ(word(library, 2), 2u) << "all of a file or nothing";
  newer = rows();
  newer.push_back({10, 110});
  write(blob_of(newer));
  EXPECT_NE(refusal(library).find("the file's kernel after 'multiply.workgroup' does not fit"), std::string::npos)
      << "one kernel more";
  write(blob_of({{0, 999}}));
  EXPECT_NE(refusal(library).find(fmt::format("the file's kernel in the place of '{}' does not fit", kernel(0).id)),
            std::string::npos)
      << "a file of other specs";
}

TEST_F(Reload, RefusesFilesThatSayNothingOfTables) {
  KernelLibrary library = this->library();
  write(blob_of({{55, 0}}));
  EXPECT_TEXT(refusal(library),
              "out/kernels.blob: the file was not made by a qgen that supports reloading\n"
              "  hint: generate the kernels again with a newer qgen");
  auto old = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(old);
  write(blob_of({{55, 105}}));
  EXPECT_TEXT(refusal(*old),
              "out/kernels.blob: this program's kernels were not made by a qgen that supports reloading\n"
              "  hint: generate the kernels again with a newer qgen");
}

TEST_F(Reload, RefusesWhatIsNoWholeBlob) {
  KernelLibrary library = this->library();
  EXPECT_NE(refusal(library).find("out/kernels.blob"), std::string::npos) << "there is no file";
  write(test::ByteVector(built_.begin(), built_.begin() + 60));
  EXPECT_NE(refusal(library).find("out/kernels.blob: the kernel blob is damaged"), std::string::npos);

  // A module that only unpacking finds damaged.
  std::vector<Row> newer = rows();
  newer[3].word = 77;
  test::ByteVector bytes = blob_of(newer);
  bytes.back() ^= std::byte{1};  // of the last module, which is not the changed one
  write(bytes);
  EXPECT_EQ(*library.reload(path_), 1u) << "a module that stays is not read";
  EXPECT_EQ(word(library, 9), 9u);
  newer[9].word = 99;
  bytes = blob_of(newer);
  bytes.back() ^= std::byte{1};
  write(bytes);
  EXPECT_NE(refusal(library).find("module 9"), std::string::npos);
  EXPECT_EQ(word(library, 9), 9u);
}

TEST_F(Reload, MayRunBesideReaders) {
  KernelLibrary library = this->library();
  std::vector<Row> newer = rows();
  newer[3].word = 77;
  const test::ByteVector other = blob_of(newer);
  {
    std::jthread reader([copy = library](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto modules = copy.modules();
        const auto words = modules->words(kernel(3));
        ASSERT_TRUE(words);
        EXPECT_EQ(modules->digest(kernel(3)), blob_format::checksum(std::as_bytes(std::span(*words))));
      }
    });
    for (int i = 0; i < 50; ++i) {
      write(i % 2 == 0 ? other : built_);
      EXPECT_EQ(*library.reload(path_), 1u);
    }
  }
}

}  // namespace
}  // namespace qgen

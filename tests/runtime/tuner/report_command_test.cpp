// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// `qgen-tune report` on the shipped library, and how much work the shipped operators' problems are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/files.h"
#include "registry.h"
#include "runtime/report/work.h"
#include "runtime/tuner/commands.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/tuning_file.h"
#include "tests/support/source_folder.h"

namespace qgen::tuner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Program kShipped{.library = {.name = "qgen-tune", .kernels = generated::library()}};

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::string name = (std::filesystem::temp_directory_path() / "qgen-report-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(ReportTest, DrawsATableOfADevice) {
  const std::string table = tests::source_folder() + "/tuning/nvidia-h200.yaml";
  const auto done = report_page(kShipped, {.output = path("a.html"), .files = {table}});
  ASSERT_TRUE(done) << to_text(done.error());
  const auto page = read_file(path("a.html"), size_t{16} << 20);
  ASSERT_TRUE(page) << to_text(page.error());
  EXPECT_THAT(*page, HasSubstr("<h1>qgen on NVIDIA H200</h1>"));
  EXPECT_THAT(*page, HasSubstr("<h2 id=\"op-q8ta_linear\">"));
  EXPECT_THAT(*page, HasSubstr("tile space, time relative to the best"));
  EXPECT_THAT(*page, HasSubstr("estimated against measured"));
}

// Two cards of one model and driver differ in their UUID alone.
TEST_F(ReportTest, TellsTwoDevicesOfOneNameApart) {
  auto table = read_file(tests::source_folder() + "/tuning/nvidia-h200.yaml", size_t{16} << 20);
  ASSERT_TRUE(table) << to_text(table.error());
  const size_t at = table->find("\n  uuid: ") + 3;  // the device's, where its driver's stands deeper
  ASSERT_GE(at, 3u);
  const std::string first = table->substr(at + 6, 32);
  std::string second = first;
  second.front() = first.front() == '0' ? '1' : '0';
  ASSERT_TRUE(write_file(path("first.yaml"), *table));
  ASSERT_TRUE(write_file(path("second.yaml"), table->replace(at + 6, second.size(), second)));
  const std::string store = path("two.sqlite");
  ASSERT_TRUE(import_files({.store = store, .files = {path("first.yaml"), path("second.yaml")}}));

  const auto either = export_file(kShipped, {.store = store, .output = path("either.yaml")});
  ASSERT_FALSE(either);
  const auto uuid = [](std::string digits) {
    for (const size_t dash : {20, 16, 12, 8}) digits.insert(dash, "-");
    return digits;
  };
  EXPECT_THAT(to_text(either.error()), AllOf(HasSubstr(uuid(first)), HasSubstr(uuid(second))));
  ASSERT_TRUE(export_file(kShipped, {.device = uuid(second), .store = store, .output = path("one.yaml")}));
  EXPECT_THAT(*read_file(path("one.yaml"), size_t{16} << 20), HasSubstr("uuid: " + second));

  // A folder has one file of a model.
  ASSERT_TRUE(export_file(kShipped, {.store = store, .output = path("folder/")}));
  const auto in_folder = tuning::load_tuning_file(path("folder/nvidia-h200.yaml"));
  const auto of_one = tuning::load_tuning_file(path("first.yaml"));
  ASSERT_TRUE(in_folder) << to_text(in_folder.error());
  EXPECT_EQ(in_folder->rows.size(), of_one->rows.size());

  // And one of each driver.
  for (const auto& [from, to] : {std::pair("version: 0x9", "version: 0x8"), std::pair("info: 580.", "info: 570.")}) {
    const size_t place = table->find(from);
    ASSERT_NE(place, std::string::npos) << from;
    table->replace(place, std::string_view(from).size(), to);
  }
  ASSERT_TRUE(write_file(path("third.yaml"), *table));
  ASSERT_TRUE(import_files({.store = store, .files = {path("third.yaml")}}));
  ASSERT_TRUE(export_file(kShipped, {.store = store, .output = path("drivers/")}));
  const auto files = std::filesystem::directory_iterator(folder_ / "drivers");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(ReportTest, SaysThatThereIsNothing) {
  EXPECT_THAT(to_text(report_page(kShipped, {.store = path("none")}).error()), HasSubstr("there is no store"));
  ASSERT_TRUE(tuning::Store::open(path("empty.sqlite")));
  EXPECT_THAT(to_text(report_page(kShipped, {.store = path("empty.sqlite")}).error()), HasSubstr("has no times"));
}

struct WorkCase {
  std::string_view key;
  double bytes, operations;
};
// By hand: elements times their size, and two operations a multiply-add.
constexpr WorkCase kWork[] = {
    {"linear_q4gsw m=4 n=4096 k=4096 group_size=128 groups=32 weight_bits=4 activation=none input=f16:strided "
     "weight=i8:weight_q4_rows weight_scales=f32:strided bias=none output=f16:strided",
     4 * 4096 * 2 + 4096 * 4096 / 2 + 4 * 4096 * 2, 2.0 * 4 * 4096 * 4096},
    {"linear_q4gsw_backward m=1 n=4096 k=2048 group_size=128 groups=16 d_output=f16:strided "
     "weight=i8:weight_q4_rows weight_scales=f32:strided d_input=f16:strided",
     4096 * 2 + 4096 * 2048 / 2 + 2048 * 2, 2.0 * 4096 * 2048},
    {"choose_qparams_affine parameters=8192 block_elements=8192 run=8192 step=1 are_runs=1 rank=1 "
     "sizes=67108864,1,1,1,1,1,1,1 strides=1,0,0,0,0,0,0,0 blocks=8192,1,1,1,1,1,1,1 mapping=asymmetric "
     "input=f32:strided scale=f32:strided zero_point=i32:strided",
     4.0 * 67108864, 0},
};

TEST_F(ReportTest, KnowsTheWorkOfProblems) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  for (const WorkCase& row : kWork) {
    const auto problem = problem_of(row.key, *library);
    ASSERT_TRUE(problem) << to_text(problem.error());
    const auto work = report::work_of(*problem);
    ASSERT_TRUE(work) << row.key;
    EXPECT_EQ(work->bytes, row.bytes) << row.key;
    EXPECT_EQ(work->operations, row.operations) << row.key;
  }
  for (const std::string_view key :
       {"pack_weight words=14680064 bits=8 source=i8:strided output=i8:weight_q8_panels",
        "embedding_q4gsw m=2047 k=2048 indices=i32:strided weight=i8:weight_q4_rows weight_scales=f32:strided "
        "output=f16:strided"}) {
    const auto unsaid = problem_of(key, *library);
    ASSERT_TRUE(unsaid) << to_text(unsaid.error());
    EXPECT_FALSE(report::work_of(*unsaid)) << "the key does not say it: " << key;
  }
}

}  // namespace
}  // namespace qgen::tuner

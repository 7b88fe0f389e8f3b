// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// `qgen-tune report` on the shipped library, and how much work the shipped operators' problems are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/files.h"
#include "operators.h"
#include "registry.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/workshop/report/work.h"
#include "runtime/workshop/tuner/commands.h"
#include "tests/support/source_folder.h"

namespace qgen::tuner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Program kShipped{
    .library = {.name = "qgen-tune", .kernels = generated::library(), .operators = generated::operators::entries()}};

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::string name = (std::filesystem::temp_directory_path() / "qgen-report-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }

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
  EXPECT_THAT(*page, HasSubstr("kernels of one problem, time relative to the best"));
  EXPECT_THAT(*page, HasSubstr("estimated over measured time"));
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
  ASSERT_TRUE(import_files(kShipped, {.store = store, .files = {path("first.yaml"), path("second.yaml")}}));

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
  ASSERT_TRUE(import_files(kShipped, {.store = store, .files = {path("third.yaml")}}));
  ASSERT_TRUE(export_file(kShipped, {.store = store, .output = path("drivers/")}));
  const auto files = std::filesystem::directory_iterator(folder_ / "drivers");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

// ---- files and stores that people hand in -------------------------------------------------------------------------------

// A table of one problem; the fields of its one row.
std::string table_of(std::string_view key, std::string_view driver = "1.0",
                     std::string_view row = "us: 5, low: 4, high: 6, date: 2026-11-23") {
  return fmt::format(
      "device:\n  name: GPU\n  kind: discrete\n  vendor_id: 0x10de\n  device_id: 0x2335\n"
      "  driver: {{name: driver, info: \"{}\", version: 1}}\n  subgroup: {{size: 32}}\n"
      "problems:\n- problem: {}\n  kernels:\n  - {{id: q8ta_relu.x, digest: 12, {}}}\n",
      driver, key, row);
}

std::string a_real_key() {
  const auto file = tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  for (const tuning::TunedRow& row : file->rows) {
    if (row.problem.starts_with("q8ta_linear ")) return row.problem;
  }
  return "";
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "not there: " + std::string(from) : text.replace(at, from.size(), to);
}

// The shipped table has no row that no problem can have.
// Two models of one name differ in their numbers.
TEST_F(ReportTest, MergeTellsTwoModelsOfOneNameApart) {
  const std::string one = table_of("q8ta_relu n=8");
  std::string other = one;
  other.replace(other.find("0x2335"), 6, "0x2336");
  ASSERT_TRUE(write_file(path("one.yaml"), one));
  ASSERT_TRUE(write_file(path("other.yaml"), other));
  const auto merged =
      merge_files(kShipped, {.output = path("all.yaml"), .files = {path("one.yaml"), path("other.yaml")}});
  ASSERT_FALSE(merged);
  EXPECT_THAT(to_text(merged.error()), HasSubstr("is of the device GPU (vendor 0x10de, device 0x2336), and the files "
                                                 "before it are of GPU (vendor 0x10de, device 0x2335)"));
}

TEST_F(ReportTest, TakesTheShippedTableAsItIs) {
  const std::string table = tests::source_folder() + "/tuning/nvidia-h200.yaml";
  const auto file = tuning::load_tuning_file(table);
  ASSERT_TRUE(file) << to_text(file.error());
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {table}}));
  ASSERT_TRUE(export_file(kShipped, {.store = path("a.sqlite"), .output = path("a.yaml")}));
  const auto again = tuning::load_tuning_file(path("a.yaml"));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->rows, file->rows);
}

// A store keeps the rows of specs as they were: a line counts those that lapsed, and the others go out.
TEST_F(ReportTest, TellsOfRowsThatAnotherVersionWrote) {
  const auto file = tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  ASSERT_TRUE(file) << to_text(file.error());
  const std::string key = a_real_key();
  std::vector<tuning::TunedRow> rows(2, *std::ranges::find(file->rows, key, &tuning::TunedRow::problem));
  const size_t field = key.find(" n=");
  rows[1].problem.erase(field, key.find(' ', field + 1) - field);
  auto store = tuning::Store::open(path("a.sqlite"));
  ASSERT_TRUE(store) << to_text(store.error());
  ASSERT_TRUE(store->add(tuning::device_key(file->device), profiles::to_yaml(file->device), rows));

  testing::internal::CaptureStderr();
  const auto done = export_file(kShipped, {.store = path("a.sqlite"), .output = path("a.yaml")});
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(done) << to_text(done.error());
  EXPECT_THAT(log, HasSubstr("problems whose keys another version of the specs wrote, to be tuned again: "
                             "1 of q8ta_linear"));
  const auto kept = tuning::load_tuning_file(path("a.yaml"));
  ASSERT_TRUE(kept) << to_text(kept.error());
  EXPECT_EQ(kept->rows.size(), 1u);
}

TEST_F(ReportTest, RefusesProblemsThatThereAreNot) {
  const std::string key = a_real_key();
  ASSERT_FALSE(key.empty());
  const std::string size = key.substr(key.find(" n=") + 1, key.find(' ', key.find(" n=") + 1) - key.find(" n=") - 1);
  struct Odd {
    std::string key;
    const char* told;
  };
  const Odd odd[] = {{with(key, size, "n=-5"), "has an invalid value of 'n': '-5'"},
                     {with(key, size, "n=12345678901234567890"), "has an invalid value of 'n': '12345678901234567890'"},
                     {with(key, "input=i8:", "input=f99:"), "has an invalid format of 'input': 'f99:"}};
  for (const auto& [wrong, told] : odd) {
    SCOPED_TRACE(wrong);
    ASSERT_TRUE(write_file(path("a.yaml"), table_of(wrong)));
    ASSERT_TRUE(write_file(path("b.yaml"), table_of(key)));
    for (const auto& done :
         {import_files(kShipped, {.store = path("a.sqlite"), .files = {path("a.yaml")}}),
          merge_files(kShipped, {.output = path("m.yaml"), .files = {path("b.yaml"), path("a.yaml")}}),
          report_page(kShipped, {.output = path("r.html"), .files = {path("a.yaml")}})}) {
      ASSERT_FALSE(done);
      EXPECT_THAT(to_text(done.error()), HasSubstr(told));
      EXPECT_THAT(to_text(done.error()), HasSubstr(path("a.yaml") + ":9: the key of a problem of 'q8ta_linear'"));
    }
    EXPECT_FALSE(std::filesystem::exists(path("a.sqlite")));
  }
  // Another version of the specs may have written a name that this one lacks: such rows are left out.
  ASSERT_TRUE(write_file(path("a.yaml"), table_of(key + " evil=7")));
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {path("a.yaml")}}));
  EXPECT_THAT(to_text(show(kShipped, {.store = path("a.sqlite")}).error()), HasSubstr("has no times"));
}

// Keys name specs. A line names its operator.
TEST_F(ReportTest, ShowsByOperatorAndBySpec) {
  const std::string table = tests::source_folder() + "/tuning/nvidia-h200.yaml";
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {table}}));
  const auto shown = [&](const std::string& name) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto done = show(kShipped, {.operators = {name}, .store = path("a.sqlite")});
    std::string text = ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
    return done ? text : to_text(done.error());
  };
  const std::string of_spec = shown("q8ta_unary"), of_operator = shown("q8ta_relu");
  EXPECT_THAT(of_spec, HasSubstr("  q8ta_unary sides="));
  EXPECT_EQ(of_operator, "qgen-tune: 'q8ta_relu' has the kernels of the spec 'q8ta_unary'\n" + of_spec);
  EXPECT_THAT(shown("q8ta_rellu"), HasSubstr("a.sqlite' has no times of q8ta_rellu"));
}

TEST_F(ReportTest, ShowsInAHundredColumns) {
  const std::string table = tests::source_folder() + "/tuning/nvidia-h200.yaml";
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {table}}));
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(show(kShipped, {.store = path("a.sqlite")}));
  const std::string text = ::testing::internal::GetCapturedStdout();
  std::vector<std::string> longer;  // none that could be broken at a space
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const size_t time = line.find(" us  "), word = line.find_first_not_of(' ', time == line.npos ? 0 : time + 5);
    if (line.size() > 100 && line.find(' ', word) != line.npos) longer.push_back(line);
  }
  EXPECT_THAT(longer, ::testing::IsEmpty());
}

TEST_F(ReportTest, MergesFilesOfOneDriver) {
  const std::string key = a_real_key();
  ASSERT_TRUE(write_file(path("a.yaml"), table_of(key, "1.0")));
  ASSERT_TRUE(write_file(path("b.yaml"), table_of(key, "2.0")));
  const auto merged = merge_files(kShipped, {.output = path("m.yaml"), .files = {path("a.yaml"), path("b.yaml")}});
  ASSERT_FALSE(merged);
  EXPECT_THAT(to_text(merged.error()), HasSubstr("b.yaml' is of the driver driver 2.0 (version 0x1), and the files "
                                                 "before it are of driver 1.0 (version 0x1)"));
  EXPECT_FALSE(std::filesystem::exists(path("m.yaml")));
  EXPECT_TRUE(merge_files(kShipped, {.output = path("m.yaml"), .files = {path("a.yaml"), path("a.yaml")}}));
}

// Each row keeps its driver: a folder has a file for each, with the same bytes in every order of the files.
TEST_F(ReportTest, MergesSeveralDriversIntoAFolder) {
  const std::string key = a_real_key();
  std::vector<std::string> files;
  for (const std::string_view name : {"a", "b", "c", "d"}) {
    const std::string row =
        fmt::format("us: {}, low: 4, high: 60, date: 2026-11-2{}", 5 + name[0] - 'a', name[0] - 'a');
    files.push_back(path(fmt::format("{}.yaml", name)));
    ASSERT_TRUE(write_file(files.back(), table_of(key, name < "c" ? "1.0" : "2.0", row)));
  }
  const auto merged_into = [&](const std::string& folder, const std::vector<std::string>& some) {
    const auto done = merge_files(kShipped, {.output = path(folder + "/"), .files = some});
    EXPECT_TRUE(done) << to_text(done.error());
    return std::pair(*read_file(path(folder + "/gpu-1-0.yaml"), 1 << 20),
                     *read_file(path(folder + "/gpu-2-0.yaml"), 1 << 20));
  };
  const auto expected = merged_into("m", files);
  EXPECT_THAT(expected.first, AllOf(HasSubstr("info: 1.0"), HasSubstr("us: 6,"), Not(HasSubstr("us: 5,"))));
  EXPECT_THAT(expected.second, AllOf(HasSubstr("info: 2.0"), HasSubstr("us: 8,"), Not(HasSubstr("us: 7,"))));
  EXPECT_EQ(merged_into("again", {path("m/gpu-1-0.yaml"), path("m/gpu-2-0.yaml"), path("m/gpu-2-0.yaml")}), expected);
  std::ranges::sort(files);
  int trial = 0;
  do {
    std::vector<std::string> some = files;
    some.push_back(files[static_cast<size_t>(trial) % files.size()]);
    EXPECT_EQ(merged_into(fmt::format("t{}", trial++), some), expected);
  } while (std::ranges::next_permutation(files).found);
}

TEST_F(ReportTest, ShowsMarks) {
  ASSERT_TRUE(write_file(path("a.yaml"), tuning::to_yaml([&] {
                           auto file = *tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
                           const auto end = std::ranges::find_if(
                               file.rows, [&](const auto& row) { return row.problem != file.rows[0].problem; });
                           file.rows.erase(end, file.rows.end());
                           for (tuning::TunedRow& row : file.rows) row.clock = 0.85;
                           return file;
                         }())));
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {path("a.yaml")}}));
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(show(kShipped, {.store = path("a.sqlite")}));
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr(" at 0.85 of the device's best clock"));
}

// What is printed counts the rows by which the program chooses; a line each says what else there was.
TEST_F(ReportTest, CountsWhatIsKept) {
  const std::string key = a_real_key();
  const auto shipped = tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  ASSERT_TRUE(shipped) << to_text(shipped.error());
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library) << to_text(library.error());
  const auto known = std::ranges::find(shipped->rows, key, &tuning::TunedRow::problem);
  tuning::TunedRow used = *known, gone = used, foreign = used;
  used.digest = *digest_of(*library->find("q8ta_linear"), used.kernel, *library);
  used.is_final = false;
  gone.kernel = "q8ta_linear.gone";
  gone.is_final = false;
  foreign.problem = "shift numel=1";
  foreign.is_final = false;
  const tuning::TuningFile file{.device = shipped->device, .rows = {used, used, gone, foreign}};
  ASSERT_TRUE(write_file(path("a.yaml"), to_yaml(file)));
  const auto told = [](const auto& command) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto done = command();
    const std::string log = ::testing::internal::GetCapturedStderr();
    const std::string out = ::testing::internal::GetCapturedStdout();
    return done ? log + out.substr(0, out.find('\n') + 1) : to_text(done.error());
  };
  EXPECT_EQ(told([&] { return import_files(kShipped, {.store = path("a.sqlite"), .files = {path("a.yaml")}}); }),
            fmt::format("qgen-tune: note: 1 time is left out, of a problem and a kernel that the file has twice; the "
                        "first is of '{}'\n"
                        "qgen-tune: note: 2 times more are of kernels that this program lacks or that changed since; "
                        "the first is 'q8ta_linear.gone'\n"
                        "NVIDIA H200: 1 time\n",
                        used.kernel));
  EXPECT_THAT(told([&] { return show(kShipped, {.store = path("a.sqlite")}); }),
              AllOf(HasSubstr("qgen-tune: note: 1 time is left out, of operators that this program lacks; the first "
                              "is of 'shift'\n"),
                    HasSubstr("): 2 times\n")));
  EXPECT_THAT(told([&] { return merge_files(kShipped, {.output = path("m.yaml"), .files = {path("a.yaml")}}); }),
              HasSubstr("2 times more are of kernels that this program lacks"));
  EXPECT_EQ(tuning::load_tuning_file(path("m.yaml"))->rows.size(), 3);
  EXPECT_THAT(told([&] {
                return merge_files(kShipped, {.output = path("c.yaml"), .files = {path("a.yaml")}, .is_current = true});
              }),
              HasSubstr("2 times are left out, of kernels that this program lacks or that changed since; the first is "
                        "q8ta_linear.gone\n"));
  const auto current = tuning::load_tuning_file(path("c.yaml"));
  ASSERT_TRUE(current) << to_text(current.error());
  ASSERT_EQ(current->rows.size(), 1);
  EXPECT_EQ(current->rows.front().kernel, used.kernel);
}

// A single sample is no time for others; the store keeps it, so that it is not measured again.
TEST_F(ReportTest, ExportsNoFirstLooks) {
  const std::string key = a_real_key();
  ASSERT_TRUE(
      write_file(path("a.yaml"), table_of(key, "1.0",
                                          "us: 5, low: 4, high: 6, date: 2026-11-23, samples: 60, final: true}\n"
                                          "  - {id: q8ta_relu.y, digest: 12, us: 50, low: 50, high: 50, "
                                          "date: 2026-11-23, samples: 1")));
  ASSERT_TRUE(import_files(kShipped, {.store = path("a.sqlite"), .files = {path("a.yaml")}}));
  ASSERT_TRUE(export_file(kShipped, {.store = path("a.sqlite"), .output = path("b.yaml")}));
  const auto exported = tuning::load_tuning_file(path("b.yaml"));
  ASSERT_TRUE(exported) << to_text(exported.error());
  ASSERT_EQ(exported->rows.size(), 1u);
  EXPECT_EQ(exported->rows[0].kernel, "q8ta_relu.x");
  EXPECT_TRUE(exported->rows[0].is_final);
  EXPECT_EQ(exported->rows[0].samples, 60u);
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
       {"pack_weight words=14680064 bits=8 source=i8:strided output=i8:weight_q8_rows",
        "embedding_q4gsw m=2047 k=2048 indices=i32:strided weight=i8:weight_q4_rows weight_scales=f32:strided "
        "output=f16:strided"}) {
    const auto unsaid = problem_of(key, *library);
    ASSERT_TRUE(unsaid) << to_text(unsaid.error());
    EXPECT_FALSE(report::work_of(*unsaid)) << "the key does not say it: " << key;
  }
}

}  // namespace
}  // namespace qgen::tuner

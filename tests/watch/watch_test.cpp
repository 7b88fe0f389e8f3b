// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The edit loop from end to end: `qgen --watch` in one process, examples/reload in another, and edits of the template.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

constexpr auto kLongest = std::chrono::seconds(60);  // on a busy machine; usually 0.1 s

class Watch : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    fs::remove_all(here());
    fs::create_directories(here());
    for (const char* part : {"specs", "templates"})
      fs::copy(fs::path(QGEN_EXAMPLE) / part, here() / part, fs::copy_options::recursive);
  }
  void TearDown() override {
    if (watching_) stop(*watching_);
    if (running_) stop(*running_);
    Program::TearDown();
  }

  // Until the first files are there.
  void watch(Arguments more = {}) {
    Arguments arguments{"specs", "--templates", "templates", "-o", "out", "--watch"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    watching_.emplace(start(arguments));
    wait_for("1.out", "watching for changes");
  }
  void run_example() {
    const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "example_of_reload").string();
    running_.emplace(program, Arguments{"out/kernels.blob"}, Running::How{.folder = here()}, root_ / "example");
    wait_for("example.out", "y = 2\n");
  }

  // Waits until an output has the text, after what was waited for before.
  void wait_for(const std::string& output, std::string_view text) {
    const auto until = std::chrono::steady_clock::now() + kLongest;
    size_t& from = seen_[output];
    while (std::chrono::steady_clock::now() < until) {
      const std::string all = read_text(root_ / output);
      if (const size_t at = all.find(text, from); at != all.npos) {
        from = at + text.size();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    FAIL() << output << " has no '" << text << "' after its first " << from << " bytes:\n" << read_text(root_ / output);
  }

  fs::path shader() const { return here() / "templates/scale.comp"; }
  std::string with_factor(const std::string& factor) const {
    std::string text = read_text(fs::path(QGEN_EXAMPLE) / "templates/scale.comp");
    return text.replace(text.find("2.0 *"), 3, factor);
  }
  void save(const std::string& factor) const { write_text(shader(), with_factor(factor)); }
  // As editors do that write a new file and rename it.
  void save_by_rename(const std::string& factor) const {
    write_text(here() / "templates/.scale.comp.new", with_factor(factor));
    fs::rename(here() / "templates/.scale.comp.new", shader());
  }
  std::string blob() const { return read_text(here() / "out/kernels.blob"); }

  Answer interrupt() {
    watching_->kill(SIGINT);
    const Answer answer = watching_->wait();
    watching_.reset();
    return answer;
  }

  std::optional<Running> watching_, running_;

 private:
  static void stop(Running& running) {
    running.kill();
    running.wait();
  }
  std::map<std::string, size_t> seen_;
};

TEST_F(Watch, ASaveReachesTheRunningProgram) {
  watch();
  run_example();
  save("3.0");
  wait_for("example.out", "y = 3, kernels changed: 2\n");
  wait_for("1.out", "2 compiled, 0 from the cache, 2 files written, ");
  save_by_rename("4.0");
  wait_for("example.out", "y = 4, kernels changed: 2\n");
  save("3.0");
  wait_for("example.out", "y = 3, kernels changed: 2\n");
  EXPECT_EQ(interrupt().code, 0);
}

TEST_F(Watch, AnErrorLeavesTheOldKernel) {
  watch();
  run_example();
  save("3.0");
  wait_for("example.out", "y = 3,");
  const std::string good = blob();
  save("nothing");
  wait_for("1.err",
           "templates/scale.comp:11: error: 'nothing': undeclared identifier\n"
           "   11 |   if (i < problem.numel / ${vec}) y_data[i] = nothing * x_data[i];\n"
           "  in variant scale.vec1 (vec=1), and in 1 more\n"
           "1 error\n");
  EXPECT_EQ(blob(), good);
  save("3.0");  // as it was: nothing to write, and no other result
  wait_for("1.out", "nothing changed");
  save("5.0");
  wait_for("example.out", "y = 5,");
  EXPECT_EQ(read_text(root_ / "example.err"), "");
}

TEST_F(Watch, ADeletedFileIsAnErrorUntilItIsBack) {
  watch();
  run_example();
  const std::string good = blob();
  fs::remove(shader());
  wait_for("1.err", "error: ");
  EXPECT_EQ(blob(), good);
  save("6.0");
  wait_for("example.out", "y = 6,");
  fs::remove_all(here() / "templates");
  wait_for("1.err", "error: ");
  save("7.0");  // also makes the folder
  wait_for("example.out", "y = 7,");
}

TEST_F(Watch, AHundredQuickSavesEndInTheLast) {
  watch();
  run_example();
  for (int i = 101; i <= 200; ++i) save_by_rename(std::to_string(i) + ".0");  // so that no file is half there
  wait_for("example.out", "y = 200,");
  EXPECT_EQ(read_text(root_ / "1.err"), "");
  EXPECT_EQ(read_text(root_ / "example.err"), "");
}

TEST_F(Watch, ASaveWithoutAChangeIsNoRun) {
  watch();
  const std::string before = read_text(root_ / "1.out");
  const auto stamps_before = stamps(here() / "out");
  for (int i = 0; i < 5; ++i) save_by_rename("2.0");
  write_text(here() / "templates/.scale.comp.swp", "an editor's own file");
  write_text(here() / "notes.txt", "no input");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(stamps(here() / "out"), stamps_before);
  EXPECT_EQ(read_text(root_ / "1.out"), before);
  EXPECT_EQ(interrupt().code, 0);
}

TEST_F(Watch, OnlyTheVariantsOfTheFilter) {
  watch({"--filter", "scale.vec1"});
  run_example();
  save("3.0");
  wait_for("example.out", "y = 3, kernels changed: 1\n");
  wait_for("1.out", "1 compiled, ");
}

TEST_F(Watch, NewFilesAndFoldersAreInputs) {
  watch();
  write_text(here() / "templates/more/copy.comp", kCopyTemplate);
  write_text(here() / "templates/lib/index.glsl", kIndex);
  std::string spec(kCopySpec);
  write_text(here() / "specs/more/copy.yaml", spec.replace(spec.find("copy.comp"), 9, "more/copy.comp"));
  wait_for("1.out", "4 compiled, 2 from the cache");
}

// The tables of a running program do not change, so a kernel with another spec is refused.
TEST_F(Watch, AnotherInterfaceIsRefused) {
  watch();
  run_example();
  replace_in(here() / "specs/scale.yaml", "numel: u32", "numel: u32\n  extra: f32");
  replace_in(shader(), "2.0 *", "problem.extra *");
  wait_for("example.err", "out/kernels.blob: the file's kernel in the place of 'scale");
  EXPECT_EQ(read_text(root_ / "example.out"), "y = 2\n");
}

TEST_F(Watch, QuietPrintsErrorsOnly) {
  watching_.emplace(start({"specs", "--templates", "templates", "-o", "out", "--watch", "-q"}));
  for (int i = 0; i < 5000 && !fs::exists(here() / "out/kernels.blob"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  save("nothing");
  wait_for("1.err", "1 error\n");
  const Answer answer = interrupt();
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.out, "");
}

TEST_F(Watch, IsForWritingFiles) {
  EXPECT_EQ(qgen({"specs", "-o", "out", "--watch", "--check"}).err,
            "qgen: --watch writes files: it cannot be combined with --check\n  hint: qgen --help shows examples\n");
  EXPECT_EQ(qgen({"specs", "-o", "out", "--watch", "--shard", "1/2"}).err,
            "qgen: --watch and --shard cannot be combined\n  hint: qgen --help shows examples\n");
  EXPECT_EQ(qgen({"specs", "--watch"}).code, 2);
}

}  // namespace
}  // namespace qgen::tests

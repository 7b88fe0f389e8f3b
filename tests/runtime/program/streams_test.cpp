// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The programs with a closed or full standard output or standard error: a lost log changes nothing, and lost results
// are an error.
#include "common/version.h"
#include "tests/runtime/program/run_runtime.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

using ::testing::HasSubstr;

class Streams : public RuntimeProgram {
 protected:
  // Through a shell that opens and closes streams: "2>&-".
  Answer run_to(const std::string& streams, const std::string& program, Arguments arguments) {
    arguments.insert(arguments.begin(), {"-c", R"(exec "$0" "$@" )" + streams, path_of(program)});
    return run_path("/bin/sh", arguments);
  }
};

// The part of qgen-model's output that is equal in each run: the outputs, and not the times.
std::string results_of(const Answer& answer) { return answer.out.substr(0, answer.out.find("\nload: ")); }

const std::string kPrograms[] = {"qgen-info", "qgen-run", "qgen-model", "qgen-tune"};

TEST_F(Streams, ALostLogChangesNothing) {
  const Arguments relu = {"q8ta_relu", "--shape", "input=2x3:i8=-8..7", "-s", "input_scale=1", "-s", "output_scale=1"};
  const std::pair<std::string, Arguments> rows[] = {
      {"qgen-info", {"--list"}},
      {"qgen-run", relu},
      {"qgen-model",
       {"run", source_folder() + "/examples/picture/scenes.onnx", "--shape", "input=1x3x256x384:f32=0..1", "-o",
        "made.npy"}},
      {"qgen-tune", {"show", "--store", "none.sqlite"}},
  };
  for (const auto& [program, arguments] : rows) {
    const Answer expected = run(program, arguments);
    const std::string made = read_text(here() / "made.npy");
    for (const char* streams : {"2>&-", "2>/dev/full", "0<&- 2>&-"}) {
      const Answer answer = run_to(streams, program, arguments);
      EXPECT_EQ(answer.code, expected.code) << program << streams;
      EXPECT_EQ(results_of(answer), results_of(expected)) << program << streams;
      EXPECT_TRUE(read_text(here() / "made.npy") == made) << program << streams;
    }
    fs::remove(here() / "made.npy");
  }
}

// A mistake has its exit code where nobody can read the sentence.
TEST_F(Streams, AMistakeIsOneWithoutALog) {
  for (const std::string& program : kPrograms) {
    const Answer told = run(program, {"--no-such-option"});
    EXPECT_EQ(told.code, 2) << program;
    for (const char* streams : {"2>&-", "2>/dev/full"}) {
      EXPECT_EQ(run_to(streams, program, {"--no-such-option"}).code, 2) << program << streams;
    }
  }
}

TEST_F(Streams, LostResultsAreAnError) {
  const std::pair<const char*, const char*> rows[] = {
      {">/dev/full", "error: cannot write to standard output: No space left on device\n"},
      {">&-", "error: cannot write to standard output: "},
  };
  for (const std::string& program : kPrograms) {
    for (const auto& [streams, message] : rows) {
      for (const char* option : {"--help", "--version"}) {
        const Answer answer = run_to(streams, program, {option});
        EXPECT_EQ(answer.code, 3) << program << streams;
        EXPECT_THAT(answer.err, HasSubstr(program + ": " + message)) << streams;
      }
    }
    EXPECT_EQ(run_to(">&- 2>&-", program, {"--version"}).code, 3) << program;
  }
}

TEST_F(Streams, EachProgramHasAVersion) {
  for (const std::string& program : kPrograms) {
    const Answer answer = run(program, {"--version"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.out, version_text(program) + "\n");
  }
}

// A terminal of 100 columns breaks no line.
TEST_F(Streams, HelpIsAtMostHundredColumnsWide) {
  for (const std::string& program : kPrograms) {
    std::istringstream help(run(program, {"--help"}).out);
    for (std::string line; std::getline(help, line);) EXPECT_LE(line.size(), 100u) << program << ": " << line;
  }
}

}  // namespace
}  // namespace qgen::tests

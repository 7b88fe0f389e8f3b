// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every numeric option of every program refuses a text that is not a number. The options are read from --help, so none
// can be forgotten.
#include <algorithm>
#include <regex>

#include "tests/runtime/program/run_runtime.h"

namespace qgen::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// After an option, --help names its argument: a number, or something else.
constexpr std::string_view kNumbers[] = {"N", "SECONDS", "SHARE"};
constexpr std::string_view kOthers[] = {"DEVICE",   "DIR",     "FILE",   "GLOB", "ID",      "COMBINATION",
                                        "LANGUAGE", "NAME",    "OP",     "ROOM", "SPEC",    "WHAT",
                                        "WORD",     "LAYER",   "PATH",   "DATE", "PROBLEM", "FEATURE",
                                        "LIST",     "VERSION", "VALUES", "URL",  "I"};  // of I/N

struct Option {
  std::string name, takes;
  bool is_optional;  // its value
};

std::vector<Option> options_in(const std::string& help) {
  static const std::regex kLine(R"(^ +(?:-\w,\s*)?(?:[\w-]+,)?(--[a-z-]+)(?:,--?[\w-]+)* (\[?)([A-Z]+)\b)");
  std::vector<Option> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, kLine)) options.push_back({found[1], found[3], found[2].length() > 0});
  }
  return options;
}

struct Program {
  const char* name;
  Arguments command;    // before the option
  Arguments arguments;  // after it; without it the program would not get so far
};

const Program kCommands[] = {
    {"qgen-run", {}, {"q8ta_relu"}},
    {"qgen-tune", {}, {}},
    {"qgen-tune", {"show"}, {}},
    {"qgen-tune", {"forget"}, {"--all"}},
    {"qgen-info", {}, {}},
    {"qgen-model", {"run"}, {"no.onnx"}},
    {"qgen-model", {"check"}, {"no.onnx"}},
    {"qgen-model", {"compile"}, {"no.onnx", "-o", "no.qgen"}},
    {"../codegen/qgen", {}, {"specs", "-o", "out"}},
};

// A variable of the shell that is not set must not count as an option that was not given.
TEST_F(RuntimeProgram, NoValueIsEmpty) {
  size_t options = 0;
  for (const Program& program : kCommands) {
    Arguments asked = program.command;
    asked.emplace_back("--help");
    for (const Option& option : options_in(run(program.name, asked).out)) {
      if (option.is_optional) continue;
      Arguments arguments = program.command;
      arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
      arguments.insert(arguments.end(), {option.name, ""});
      const Answer answer = run(program.name, arguments);
      EXPECT_EQ(answer.code, 2) << program.name << " " << option.name << " '': " << answer.err;
      EXPECT_THAT(answer.err, ::testing::AnyOf(HasSubstr(option.name), HasSubstr(": the value is empty")))
          << program.name << " " << option.name;
      EXPECT_EQ(answer.out, "") << program.name << " " << option.name;
      ++options;
    }
  }
  EXPECT_GE(options, 40U) << "the options of --help are read otherwise";
}

TEST_F(RuntimeProgram, NumbersAreNumbers) {
  size_t numbers = 0;
  for (const Program& program : kCommands) {
    Arguments asked = program.command;
    asked.emplace_back("--help");
    for (const Option& option : options_in(run(program.name, asked).out)) {
      const bool is_number = std::ranges::find(kNumbers, option.takes) != std::end(kNumbers);
      EXPECT_TRUE(is_number || std::ranges::find(kOthers, option.takes) != std::end(kOthers))
          << program.name << " " << option.name << " takes " << option.takes << ": is that a number?";
      if (!is_number) continue;
      ++numbers;
      for (const char* value : {"nan", "-nan", "NAN", "inf", "-inf", "1e999", "-1", "0x10", "12x", "1,5", " 5",
                                "99999999999999999999999999999999999"}) {
        Arguments arguments = program.command;
        arguments.push_back(option.name + "=" + value);
        arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
        const Answer answer = run(program.name, arguments);
        EXPECT_EQ(answer.code, 2) << program.name << " " << arguments.front() << ": " << answer.err;
        EXPECT_THAT(answer.err, HasSubstr(option.name + ": '" + value + "' is not a ")) << program.name;
        EXPECT_EQ(answer.out, "") << program.name;
      }
    }
  }
  EXPECT_GE(numbers, 10U) << "the options of --help are read otherwise";
}

}  // namespace
}  // namespace qgen::tests

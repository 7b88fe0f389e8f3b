// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Templates within all documented limits that still overload compilers. In each case the run ends without help, with a
// module or with a sentence that names the template and the variant.
#include <algorithm>
#include <functional>

#include "common/sanitizers.h"
#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

#if QGEN_SANITIZED
constexpr bool kIsSanitized = true;  // memory is not limited then, and frames are larger
#else
constexpr bool kIsSanitized = false;
#endif

constexpr std::string_view kSpec = R"(operator: bad
template: bad.comp
operands:
  input:  {access: read,  dtype: f32}
  output: {access: write, dtype: f32}
problem: {numel: u32}
parameters: {vec: [1]}
specialization: {workgroup: [64]}
grid: [1, 1, 1]
)";
constexpr std::string_view kHead = R"(#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
const int kVec = ${vec};
)";

std::string repeat(size_t count, const std::function<std::string(const std::string& i)>& part) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part(std::to_string(i));
  return text;
}
std::string repeat(size_t count, const std::string& part) {
  return repeat(count, [&](const std::string&) { return part; });
}

// `globals`, and a main() that makes `a` of itself.
std::string shader(const std::string& body, const std::string& globals = "") {
  return std::string(kHead) + globals + "void main() {\nfloat a = input_data[0];\n" + body +
         "\noutput_data[0] = a;\n}\n";
}

// M0, M1 ... M<levels>, each of which contains the previous one twice: "#define M1 M0 M0".
std::string doubling_macros(const std::string& first, const std::string& between) {
  return "#define M0 " + first + "\n#define M1 M0" + between + "M0\n" + repeat(39, [&](const std::string& i) {
           const std::string lower = "M" + std::to_string(std::stoi(i) + 1);
           return "#define M" + std::to_string(std::stoi(i) + 2) + " " + lower + between + lower + "\n";
         });
}

// f0 ... f40, each of which calls the previous one twice.
std::string doubling_functions() {
  return "float f0(float x) { return x * input_data[1]; }\n" + repeat(40, [](const std::string& i) {
           return "float f" + std::to_string(std::stoi(i) + 1) + "(float x) { return f" + i + "(x) + f" + i +
                  "(x + 1.0); }\n";
         });
}

std::string doubling_structs() {
  return "struct S0 { float a; };\n" + repeat(40, [](const std::string& i) {
           return "struct S" + std::to_string(std::stoi(i) + 1) + " { S" + i + " a; S" + i + " b; };\n";
         });
}

std::string chain_of_structs(size_t length) {
  return "struct S0 { float a; };\n" + repeat(length, [](const std::string& i) {
           return "struct S" + std::to_string(std::stoi(i) + 1) + " { S" + i + " a; };\n";
         });
}

struct Row {
  std::string name;
  std::string text;
  std::string sentence;  // a regular expression; empty: it compiles
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

#if defined(__SANITIZE_THREAD__)
const std::string kPastItsTime = "the process that compiled this was killed";  // a timer's signal has no handler there
#else
const std::string kPastItsTime = "compiling this takes more than 1 s of CPU time";
#endif
const std::string kTooMuch = "(compiling this takes more than 128 MiB of memory|" + kPastItsTime + ")";
const std::string kTooDeep =
    "(the compiler runs out of its stack of 64 MiB|compiling this takes more than 128 MiB of memory)";
const std::string kAnyLimit = "(the compiler crashes|" + kTooDeep + "|" + kPastItsTime + ")";

std::vector<Row> rows() {
  return {
      {"ThreeThousandTerms", shader("a = a" + repeat(3000, "+a") + ";"), ""},
      {"ThreeThousandStatements", shader(repeat(3000, "a += 1.5;\n")), ""},
      {"ThreeThousandCommas", shader("a = (a" + repeat(3000, ",a") + ");"), ""},
      {"ThreeThousandSwizzles", shader("vec4 v = vec4(a); a = v" + repeat(3000, ".xyzw") + ".x;"), ""},
      {"ThreeThousandBlocks", shader(repeat(3000, "{") + "a += 1.0;" + repeat(3000, "}")), ""},
      {"ManyTerms", shader("a = a" + repeat(400'000, "+a") + ";"), kTooDeep},
      {"ManySwizzles", shader("vec4 v = vec4(a); a = v" + repeat(400'000, ".xyzw") + ".x;"), kAnyLimit},
      {"ManyParentheses", shader("a = " + repeat(50'000, "(") + "a" + repeat(50'000, ")") + ";"), "nested too deep"},
      {"ManyElseIfs", shader("if (a < 0.0) a = 1;\n" + repeat(5000, "else if (a < 1.0) a = 2.5;\n")),
       "nested too deep"},
      {"ManyLoops", shader(repeat(5000, "for (int i = 0; i < int(a); ++i) a += input_data[i];\n")), kPastItsTime},
      {"MacroBomb", shader("a = M40;", doubling_macros("a", "+")), kTooMuch},
      {"MacroBombOfNothing", shader("M40", doubling_macros(";", " ")), kTooMuch},
      {"UnrolledLoop", shader("[[unroll]] for (int i = 0; i < 1000000000; ++i) a = a * 1.5 + input_data[i];"),
       kTooMuch},
      {"InlinedFunctions", shader("a = f40(a);", doubling_functions()), kTooMuch},
      {"NestedStructs", shader("", doubling_structs() + "shared S40 s;\n"), kAnyLimit},
      {"NestedStructsCompared", shader("S40 s, u; if (s == u) a = 2.0;", doubling_structs()), kTooMuch},
      {"NestedStructsInABuffer",
       shader("", doubling_structs() + "layout(set = 0, binding = 5) buffer B { S40 s; } b;\n"), ".*"},
      {"DeepStructs", shader("", chain_of_structs(20'000) + "shared S20000 s;\n"), ".*"},
      {"HugeArray", shader("float c[1000000000], d[1000000000]; if (c == d) a = 1;"), kTooMuch},
      {"HugeArrayOfNothing",
       shader("float c[1000000000] = {}; a = c[int(a)];", "#extension GL_EXT_null_initializer : require\n"), kAnyLimit},
      {"HugeSharedArray", shader("a = c[int(a)];", "shared float c[2147483647];\n"), "the size of a shared variable"},
      {"Recursion", shader("a = f(a);", "float f(float x) { return f(x - 1.0); }\n"), "Recursion detected"},
      {"Include", shader("", "#extension GL_GOOGLE_include_directive : require\n#include \"/etc/passwd\"\n"),
       "Could not process include directive"},
      {"AnUnknownVersion", "#version 99999\n" + shader("").substr(13), "version not supported"},
      {"ManyErrors", shader(repeat(50'000, [](const std::string& i) { return "u" + i + " = 1;\n"; })),
       "'u0': undeclared identifier"},
      {"ALongName", shader(std::string(1000, 'x') + " = 1.0;"), "'x{199} \\.\\.\\. x+': undeclared identifier"},
  };
}

class Hostile : public Program, public testing::WithParamInterface<Row> {
 protected:
  void SetUp() override {
    Program::SetUp();
    fs::remove_all(here());
    write_text(here() / "specs/bad.yaml", kSpec);
  }
  struct Allowed {
    int seconds = 1;
    int mebibytes = 128;
  };
  // Limits that keep these tests short; the shipped ones are no other kind.
  Answer compile(const std::string& text, Allowed allowed = {1, 128}, const Arguments& more = {}) {
    write_text(here() / "templates/bad.comp", text);
    Arguments arguments = {"specs",
                           "-o",
                           "out",
                           "-q",
                           "--no-cache",
                           "--compile-seconds",
                           std::to_string(allowed.seconds),
                           "--compile-memory",
                           std::to_string(allowed.mebibytes)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return qgen(arguments);
  }
};

TEST_P(Hostile, TemplatesEndInAModuleOrASentence) {
  const std::string& sentence = GetParam().sentence;
  // The others have all the time they need, however slow the machine is.
  const bool may_end_by_time = sentence == ".*" || sentence.find(kPastItsTime) != std::string::npos;
  const Answer answer = compile(GetParam().text, {may_end_by_time ? 1 : 60, 128});
  if (answer.code == 0) {
    EXPECT_TRUE(sentence.empty() || sentence == ".*") << "it compiled";
    return;
  }
  EXPECT_EQ(answer.code, 2) << answer.err.substr(0, 2000);
  EXPECT_FALSE(sentence.empty()) << answer.err.substr(0, 2000);
  EXPECT_THAT(answer.err, StartsWith("templates/bad.comp"));
  EXPECT_THAT(answer.err, HasSubstr("\n  in variant bad.vec1 (vec=1)\n"));
  EXPECT_THAT(answer.err.substr(0, 4000), ContainsRegex("error: [^\n]*" + sentence));
  EXPECT_FALSE(fs::exists(here() / "out"));
}
INSTANTIATE_TEST_SUITE_P(All, Hostile, testing::ValuesIn(rows()), [](const auto& row) { return row.param.name; });

class Limits : public Hostile {};

TEST_F(Limits, OtherVariantsOfATemplateAreNotTried) {
  write_text(here() / "specs/bad.yaml", kSpec);
  replace_in(here() / "specs/bad.yaml", "vec: [1]", "vec: [1, 2, 3, 4, 5, 6, 7, 8, 9]");
  const Answer answer = compile(shader("a = f40(a);", doubling_functions()), {1, 128}, {"-j", "1"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, MatchesRegex("templates/bad.comp: error: [^\n]*\n"
                                       "  hint: [^\n]*\n"
                                       "  in variant bad.vec1 \\(vec=1\\)\n"
                                       "  8 more variants were not tried after that\n"
                                       "1 error\n"));
}

// The limits are the user's: a text that one limit refuses compiles with another.
TEST_F(Limits, AreRaisedByFlags) {
  if (kIsSanitized) GTEST_SKIP() << "memory is not limited under sanitizers";
  const std::string text = shader("a = a" + repeat(50'000, "+a") + ";");
  EXPECT_THAT(compile(text, {100, 64}).err, ContainsRegex("64 MiB of memory|stack of 64 MiB"));
  EXPECT_EQ(compile(text, {100, 2000}).code, 0);
}

// Nor do they wait for each other: a time-out in one template is not repeated in the next.
TEST_F(Limits, ARunDoesNotGoOnLosingTime) {
  fs::remove(here() / "specs/bad.yaml");
  for (int i = 0; i < 20; ++i) {
    const std::string name = "bad" + std::to_string(i);
    std::string spec(kSpec);
    spec.replace(spec.find("operator: bad"), 13, "operator: " + name);
    spec.replace(spec.find("template: bad"), 13, "template: " + name);
    write_text(here() / ("specs/" + name + ".yaml"), spec);
    write_text(here() / ("templates/" + name + ".comp"), shader("a = f40(a);", doubling_functions()));
  }
  const Answer answer = qgen({"specs", "-o", "out", "-q", "--no-cache", "--compile-seconds", "1", "-j", "1"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, ContainsRegex("\n  1[0-9] more variants were not tried after that\n"));
}

// ---- what specs and templates multiply ------------------------------------------------------------------------------

TEST_F(Limits, CombinationsOfSpecializationValuesAreCountedBeforeTheyAreMade) {
  std::string spec(kSpec);
  const std::string million = repeat(999, [](const std::string& i) { return i + ", "; }) + "999";
  spec.replace(
      spec.find("specialization:"), std::string_view("specialization: {workgroup: [64]}").size(),
      "specialization:\n  workgroup: [64]\n  b: [" + million + "]\n  c: [" + million + "]\n  d: [" + million + "]\n");
  write_text(here() / "specs/bad.yaml", spec);
  const Answer answer = compile(shader(""));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(
      answer.err,
      StartsWith("specs/bad.yaml:9:3: error: the values of 'specialization' make 1000000 combinations or more\n"));
  EXPECT_THAT(answer.err, HasSubstr("\n  expected: at most 1024\n"));
}

TEST_F(Limits, KernelsOfAllVariantsAreCounted) {
  replace_in(here() / "specs/bad.yaml", "[64]", "[64, 128, 192, 256]");
  replace_in(here() / "specs/bad.yaml", "vec: [1]", "vec: [1, 2, 3, 4, 5, 6]");
  const Answer answer = compile(shader(""), {1, 128}, {"--max-variants", "6"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  replace_in(here() / "specs/bad.yaml", "[64, 128, 192, 256]",
             "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]");
  const Answer refused = compile(shader(""), {1, 128}, {"--max-variants", "6"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              StartsWith("specs/bad.yaml:8:18: error: with 'bad', whose 6 variants have 21 combinations of "
                         "specialization values each, there are more than 120 kernels\n"));
}

TEST_F(Limits, TextsOfAllVariantsAreBounded) {
  replace_in(here() / "specs/bad.yaml", "vec: [1]",
             "vec: [" + repeat(199, [](const std::string& i) { return i + ", "; }) + "199]");
  const Answer answer = compile(shader("//" + std::string(4'000'000, 'x')));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err,
              StartsWith("templates/bad.comp: error: the rendered texts of all variants exceed 512 MiB together\n"
                         "  hint: most of it is of this template, in the 200 variants of 'bad'\n"));
}

// ---- the machine ----------------------------------------------------------------------------------------------------

// At some limit the program begins to run, at some higher one it succeeds; between them it says so.
TEST_F(Limits, AMachineWithoutMemoryIsToldInWords) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer needs terabytes of address space";
  write_text(here() / "templates/bad.comp", shader(""));
  int told = 0;
  for (rlim_t mebibytes = 20; mebibytes <= 400; mebibytes += mebibytes / 5) {
    const Answer answer = qgen({"specs", "-o", "out", "-q", "--no-cache"}, {.most_memory_bytes = mebibytes << 20});
    if (answer.code == 127) continue;  // the program was not even loaded
    EXPECT_THAT(answer.code, AnyOf(0, 3)) << mebibytes << " MiB: " << answer.err;
    if (answer.code != 3) continue;
    ++told;
    EXPECT_THAT(answer.err, MatchesRegex("qgen: error: (the machine has too little memory for this run|cannot start "
                                         "a process to compile in: Cannot allocate memory)\n"
                                         "  hint: .*\n"));
  }
  EXPECT_GT(told, 0);
}

// Of all its threads.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(parent) + "/task", gone)) {
    std::istringstream text(read_text(thread.path() / "children"));
    for (pid_t child = 0; text >> child;) children.push_back(child);
  }
  return children;
}

bool is_there(pid_t process) { return ::kill(process, 0) == 0; }

// Waits until `holds`, for up to ten seconds.
bool comes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return holds();
}

// Workers that compile for an hour do not outlive a run that is interrupted or killed, and it does not wait for them.
TEST_F(Limits, AStoppedRunLeavesNoProcess) {
  write_text(here() / "templates/bad.comp", shader("a = f40(a);", doubling_functions()));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    Running running = start({"specs", "-o", "out", "-q", "--no-cache", "--compile-seconds", "3600"});
    std::vector<pid_t> processes;
    const bool has_worker = comes_true([&] {
      processes = children_of(running.pid());
      if (processes.empty()) return false;
      for (const pid_t child : children_of(processes.front())) processes.push_back(child);
      return processes.size() > 1;
    });
    running.kill(signal);
    EXPECT_EQ(running.wait().code, -signal);
    EXPECT_TRUE(has_worker);
    EXPECT_TRUE(comes_true([&] { return std::none_of(processes.begin(), processes.end(), is_there); })) << signal;
  }
}

}  // namespace
}  // namespace qgen::tests

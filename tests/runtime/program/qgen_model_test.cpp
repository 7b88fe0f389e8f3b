// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-model's command line, on the network of scripts/demo: compiled and run, and files that are no models.
#include "tests/runtime/program/run_runtime.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class QgenModel : public RuntimeProgram {
 protected:
  Answer compile() { return run("qgen-model", {"compile", kOnnx, "-o", "scenes.qgen"}); }
  // Of an input that is the same each time.
  Answer run_model(const std::string& model, const Arguments& more = {}, const Environment& environment = {}) {
    Arguments arguments = {"run", model, "--shape", "input=1x3x256x384:f32=0..1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run("qgen-model", arguments, environment);
  }

  const std::string kOnnx = source_folder() + "/examples/picture/scenes.onnx";
};

TEST_F(QgenModel, CompiledGivesTheSame) {
  const Answer compiled = compile();
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, StartsWith("scenes.qgen: "));
  const Answer of_onnx = run_model(kOnnx, {"-o", "onnx.npy"}), of_qgen = run_model("scenes.qgen", {"-o", "qgen.npy"});
  ASSERT_EQ(of_onnx.code, 0) << of_onnx.err;
  ASSERT_EQ(of_qgen.code, 0) << of_qgen.err;
  EXPECT_THAT(of_qgen.err, Not(HasSubstr("chosen anew")));
  const auto expected = load_npy(here() / "onnx.npy"), got = load_npy(here() / "qgen.npy");
  ASSERT_TRUE(expected && got);
  EXPECT_EQ(got->shape, expected->shape);
  EXPECT_TRUE(got->data == expected->data);

  const Answer of_two = run("qgen-model", {"run", "scenes.qgen", "--shape", "input=2x3x256x384:f32=0..1"});
  EXPECT_EQ(of_two.code, 0) << of_two.err;
  EXPECT_THAT(of_two.err, HasSubstr("chosen anew"));
}

// On the device, beside the model's nodes each by itself.
TEST_F(QgenModel, FusedIsUnfused) {
  const Arguments input = {"--shape", "input=1x3x256x384:f32=0..1"};
  for (const Arguments& how : {Arguments{}, Arguments{"--unfused"}}) {
    Arguments arguments = {"check", kOnnx};
    arguments.insert(arguments.end(), input.begin(), input.end());
    arguments.insert(arguments.end(), how.begin(), how.end());
    const Answer checked = run("qgen-model", arguments);
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    EXPECT_THAT(checked.out, StartsWith("ok: "));
  }
}

// An SVG where there is Graphviz; else a sentence, before anything is done.
TEST_F(QgenModel, DrawsOrSaysThatItCannot) {
  const Answer drawn = run_model(kOnnx, {"--plot", "graph.svg", "-o", "y.npy"});
  if (drawn.code == 0) {
    EXPECT_THAT(read_text(here() / "graph.svg"), HasSubstr("<svg"));
  } else {
    EXPECT_THAT(drawn.err, StartsWith("qgen-model: cannot draw: "));
  }
  const Answer without = run("qgen-model", {"run", "absent.onnx", "--plot", "graph.svg"}, {{"PATH", here().string()}});
  EXPECT_EQ(without.code, 3);
  EXPECT_EQ(without.err,
            "qgen-model: cannot draw: the program 'dot' cannot be started\n"
            "  hint: install Graphviz, or name a file that ends in .dot, which needs no program\n");
  const Answer of_other = run("qgen-model", {"run", "absent.onnx", "--plot", "graph.jpeg"});
  EXPECT_EQ(of_other.code, 2);
  EXPECT_EQ(of_other.err, "qgen-model: 'graph.jpeg' ends in none of .svg, .png, .pdf and .dot\n");
  const Answer as_text = run_model(kOnnx, {"--plot", "graph.dot"}, {{"PATH", here().string()}});
  EXPECT_EQ(as_text.code, 0) << as_text.err;
  EXPECT_THAT(read_text(here() / "graph.dot"), StartsWith("digraph model {"));
}

// What wants a run is refused beside a device that is only described, and not passed over.
TEST_F(QgenModel, RunsNothingOnADescribedDevice) {
  const std::string device = source_folder() + "/devices/adreno-740.yaml";
  for (const char* option : {"--device", "--output", "--time", "--profile", "--json", "--plot", "--trace"}) {
    Arguments arguments{"--explain", "--device-file", device, option};
    if (option != std::string_view("--time")) arguments.push_back("graph.dot");
    const Answer answer = run_model(kOnnx, arguments);
    EXPECT_EQ(answer.code, 2) << option;
    EXPECT_THAT(answer.err, HasSubstr(option));
    EXPECT_EQ(answer.out, "");
  }
}

TEST_F(QgenModel, RefusesWhatIsNoCompiledModel) {
  ASSERT_EQ(compile().code, 0);
  const std::string whole = read_text(here() / "scenes.qgen");
  std::string corrupt = whole;
  corrupt[corrupt.size() / 2] ^= 1;
  const std::pair<std::string, std::string> rows[] = {
      {corrupt, "it is damaged: its checksum is another\n  hint: compile the model again"},
      {whole.substr(0, whole.size() - 1), "it is damaged: its checksum is another\n  hint: compile the model again"},
      {"QGEN", "it is no compiled model: it is too short"},
      {read_text(kOnnx), "it is no compiled model"},
  };
  for (const auto& [bytes, reason] : rows) {
    write_text(here() / "bad.qgen", bytes);
    const Answer answer = run_model("bad.qgen");
    EXPECT_EQ(answer.code, 2) << reason;
    EXPECT_EQ(answer.err, "qgen-model: bad.qgen: " + reason + "\n");
    EXPECT_EQ(answer.out, "");
  }
  // A compiled model, and no ONNX.
  write_text(here() / "scenes.onnx", whole);
  const Answer answer = run_model("scenes.onnx");
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, StartsWith("qgen-model: scenes.onnx: "));
}

}  // namespace
}  // namespace qgen::tests

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-model's command line, on the network of scripts/demo: compiled and run, and files that are no models.
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/runtime/program/run_runtime.h"
#include "tests/support/expected_text.h"
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
  EXPECT_THAT(of_qgen.err, Not(HasSubstr("chosen again")));
  const auto expected = load_npy(here() / "onnx.npy"), got = load_npy(here() / "qgen.npy");
  ASSERT_TRUE(expected && got);
  EXPECT_EQ(got->shape, expected->shape);
  EXPECT_TRUE(got->data == expected->data);

  const Answer of_two = run("qgen-model", {"run", "scenes.qgen", "--shape", "input=2x3x256x384:f32=0..1"});
  EXPECT_EQ(of_two.code, 0) << of_two.err;
  EXPECT_THAT(of_two.err, HasSubstr("chosen again"));
}

TEST_F(QgenModel, TimesAsManyReplaysAsAreAskedFor) {
  for (const char* replays : {"1", "3"}) {
    const Answer timed = run_model(kOnnx, {"--time", "--replays", replays, "--json", "times.json"});
    ASSERT_EQ(timed.code, 0) << timed.err;
    EXPECT_THAT(read_text(here() / "times.json"), StartsWith(std::string("[\n{\"count\": ") + replays + "}"));
  }
}

// A chain as a kernel of its own: offered by --chains, and a part of the compiled model.
TEST_F(QgenModel, CompilesChains) {
  const std::string model = source_folder() + "/tests/runtime/models/graph/field_tests/erf_gelu/model.onnx";
  const Answer made = run("qgen-model", {"chains", model, "-o", "net.chains", "--operators", source_folder()});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("net.chains: kernels of "));
  EXPECT_THAT(made.out, HasSubstr("100 % of the chains' time"));
  const Answer explained = run("qgen-model", {"run", model, "--chains", "net.chains", "--explain"});
  ASSERT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr(".chain_"));
  const Answer interpreted = run("qgen-model", {"run", model, "-o", "interpreted.npy"});
  ASSERT_EQ(interpreted.code, 0) << interpreted.err;
  const Answer compiled = run("qgen-model", {"compile", model, "--chains", "net.chains", "-o", "net.qgen"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Answer ran = run("qgen-model", {"run", "net.qgen", "-o", "compiled.npy", "--explain"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(".chain_"));
  EXPECT_EQ(read_text(here() / "interpreted.npy"), read_text(here() / "compiled.npy"));
}

TEST_F(QgenModel, SaysWhyChainsAreNotCompiled) {
  const auto said = [&](const Arguments& more) {
    Arguments arguments = {"chains", kOnnx, "-o", "net.chains"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = run("qgen-model", arguments);
    EXPECT_NE(answer.code, 0);
    return answer.err;
  };
  EXPECT_THAT(said({"--operators", "nowhere"}),
              HasSubstr("there is no 'templates/lib/pointwise_steps.glsl' in the folder"));
  write_text(here() / "wrong.chains", "no chains");
  const Answer wrong = run("qgen-model", {"run", kOnnx, "--chains", "wrong.chains"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("wrong.chains: it is no file of chain kernels: it is too short"));
}

TEST_F(QgenModel, GeneratesTokens) {
  const std::string model = source_folder() + "/tests/runtime/models/graph/language_models/int4.onnx";
  const auto generate = [&](const Arguments& more) {
    Arguments arguments = {"generate", model, "--tokens", "1,2,3,4,5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run("qgen-model", arguments);
  };
  const Answer one = generate({"--max", "6"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("13 19 65 58 23 76\nprompt: 5 tokens in "));
  EXPECT_THAT(one.out, HasSubstr("\ncaches: 5.0 KiB for 10 tokens\n"));
  // What bounds the prompt, and further tokens.
  const std::string bounds =
      "; the nearest bound is (memory|arithmetic)\n"
      "  memory: [0-9.]+ KiB of weights and [0-9.]+ KiB of caches, [^ ]+ [kMG]?B/s, [^ ]+ % of a copy \\([^ ]+ GB/s, "
      ".*\\)\n"
      "  arithmetic: [^ ]+ kOP of products, [^ ]+ [kMGT]?OP/s, [^ ]+ % of .* \\([^ ]+ [GT]OP/s, .*\\)\n";
  EXPECT_TRUE(
      std::regex_search(one.out, std::regex("\nprompt: 5 tokens in [^\n]*" + bounds + "decoding: 5 tokens in ")))
      << one.out;
  EXPECT_TRUE(std::regex_search(one.out, std::regex(" launches a token" + bounds + "caches: "))) << one.out;
  const Answer two = generate({"--tokens", "7,8", "--max", "4", "--end", "65,1", "--prompt-rows", "0"});
  EXPECT_THAT(two.out, StartsWith("13 19 65\n40 50 59 21\nprompt: 7 tokens in "));
  const Answer paged = generate({"--tokens", "7,8", "--max", "4", "--cache", "paged", "--block-size", "4"});
  EXPECT_THAT(paged.out, StartsWith("13 19 65 58\n40 50 59 21\nprompt: 7 tokens in ")) << paged.err;
  const Answer paged_int8 = generate({"--max", "6", "--cache", "paged_int8", "--block-size", "4"});
  const auto first_line = [](const Answer& answer) { return answer.out.substr(0, answer.out.find('\n')); };
  EXPECT_EQ(first_line(paged_int8), first_line(generate({"--max", "6", "--cache", "int8"}))) << paged_int8.err;
  EXPECT_THAT(paged_int8.out, HasSubstr("\ncaches: 2.5 KiB for 10 tokens\n"));
  const Answer json =
      generate({"--max", "3", "--json", "--state", "past_key_values.0.key=present.0.key", "--state",
                "past_key_values.0.value=present.0.value", "--state", "past_key_values.1.key=present.1.key", "--state",
                "past_key_values.1.value=present.1.value"});
  EXPECT_THAT(json.out, StartsWith("{\n  \"tokens\": [[13, 19, 65]],\n  \"prompt_tokens\": 5,\n")) << json.err;
  const auto rates = nlohmann::json::parse(json.out);
  for (const std::string part : {"prompt_bounds", "decoding_bounds"}) {
    EXPECT_GT(rates.at(part).at("weight_bytes"), 0) << part;
    EXPECT_GT(rates.at(part).at("memory").at("share"), 0) << part;
    EXPECT_GT(rates.at(part).at("arithmetic").at("share"), 0) << part;
  }
  // Two layers of keys and values, of two heads of 16, of 6 tokens and then of 7.
  EXPECT_EQ(rates.at("decoding_bounds").at("cache_bytes"), 4 * 2 * 16 * 4 * 6.5);
  struct {
    Arguments more;
    std::string_view said;
  } const refused[] = {
      {{"--tokens", "1,x"}, "--tokens 1,x: 'x' is no token\n"},
      {{"--tokens", "96", "--max", "8"}, "token 96 is outside of the vocabulary, 0 to 95\n"},
      {{"--capacity", "8", "--max", "5"}, "the cache is too small: a prompt of 5 tokens and 5 new ones"},
      {{"--capacity", "4"}, "the cache is full: it has room for 4 tokens, and sequence 0 has 0 and gets 5 more\n"},
      {{"--cache", "paged", "--block-size", "12"}, "a block has room for 12 tokens\n"},
      {{"--cache", "paged", "--blocks", "1", "--max", "20"},
       "the pool has 1 blocks of 16 tokens, and the sequences need 2 blocks\n"},
      {{"--state", "input_ids=logit"}, "--state input_ids=logit: 'logit' is no output of the model\n"},
      {{"--state", "past_key_values.0.key=present.0.key"},
       "--state names some caches, and not 'past_key_values.0.value'\n  hint: add --state "
       "past_key_values.0.value=present.0.value, or leave out --state: then all inputs past_... are states\n"},
      {{"--state", "past_key_values.0.key=present.0.key", "--state", "past_key_values.0.key=present.0.value"},
       "--state names the input 'past_key_values.0.key' twice\n"},
      {{"--state", "past_key_values.0.key=present.0.key", "--state", "past_key_values.0.value=present.0.key"},
       "--state names the output 'present.0.key' twice\n"},
      {{"--state", "input_ids"}, "--state takes input=output, given 'input_ids'\n"},
      {{"--block-size", "8"}, "--block-size: goes with --cache paged or paged_int8\n"},
      {{"--blocks", "8", "--cache", "int8"}, "--blocks: goes with --cache paged or paged_int8\n"},
      {{"--temperature", "2"}, "--temperature: goes with --top-k\n"},
      {{"--seed", "2"}, "--seed: goes with --top-k\n"},
      {{"--replays", "2"}, "--replays: goes with --time\n"},
  };
  for (const auto& row : refused) {
    const Answer answer = generate(row.more);
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.err, HasSubstr(row.said));
  }
  ASSERT_EQ(compile().code, 0);
  EXPECT_THAT(run("qgen-model", {"generate", "scenes.qgen", "--tokens", "1"}).err,
              HasSubstr("scenes.qgen is a compiled model, and has no states\n"));
  EXPECT_THAT(run("qgen-model", {"generate", kOnnx, "--tokens", "1"}).err, HasSubstr("the model has no states\n"));
}

TEST_F(QgenModel, GeneratesTokensForAnEncoder) {
  const std::string folder = source_folder() + "/tests/runtime/models/graph/language_models/";
  const auto generate = [&](const Arguments& more) {
    Arguments arguments = {"generate", folder + "encoded.onnx",
                           "--tokens", "1,2,3",
                           "--max",    "4",
                           "--input",  "encoder_hidden_states=" + folder + "states.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run("qgen-model", arguments);
  };
  const Answer answer = generate({"--input", "encoder_attention_mask=" + folder + "mask.npy"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("32 46 46 27\nprompt: 3 tokens in "));
  const Answer missing = generate({});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("input 'encoder_attention_mask' is missing\n"));
  EXPECT_THAT(generate({"--input", "encoder_mask=mask.npy"}).err,
              HasSubstr("--input: the model has no 'encoder_mask'"));
}

TEST_F(QgenModel, ReplacesNeitherItsModelNorItsOwnFiles) {
  const std::string bytes = read_text(kOnnx);
  write_text(here() / "scenes.onnx", bytes);
  fs::create_directory(here() / "samples");
  const auto expect_refused = [&](Arguments arguments, std::string_view said) {
    const Answer answer = run("qgen-model", arguments);
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.err, HasSubstr(said));
    EXPECT_TRUE(read_text(here() / "scenes.onnx") == bytes) << said;
  };
  expect_refused({"run", "scenes.onnx", "-o", "./scenes.onnx"}, "--output: ./scenes.onnx is the model\n");
  expect_refused({"quantize", "scenes.onnx", "-o", "scenes.onnx", "--calibrate", "samples"},
                 "--output: scenes.onnx is the model\n");
  for (const std::string flag : {"--profile", "--json", "--html", "--plot", "--trace"})
    expect_refused({"run", "scenes.onnx", flag, "scenes.onnx"}, flag + ": scenes.onnx is the model\n");
  expect_refused({"run", "scenes.onnx", "--html", "a", "--trace", "./a"}, "--trace: ./a is the file of --html\n");
  ASSERT_EQ(compile().code, 0);
  EXPECT_EQ(run("qgen-model", {"compile", "scenes.qgen", "-o", "scenes.qgen"}).code, 0);
}

// On the device, compared with the model's nodes each alone.
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
  EXPECT_TEXT(without.err,
              "qgen-model: cannot draw: the program 'dot' cannot be started\n"
              "  hint: install Graphviz, or name a file that ends in .dot, which needs no program\n");
  const Answer of_other = run("qgen-model", {"run", "absent.onnx", "--plot", "graph.jpeg"});
  EXPECT_EQ(of_other.code, 2);
  EXPECT_TEXT(of_other.err, "qgen-model: 'graph.jpeg' must end in .svg, .png, .pdf or .dot\n");
  const Answer as_text = run_model(kOnnx, {"--plot", "graph.dot"}, {{"PATH", here().string()}});
  EXPECT_EQ(as_text.code, 0) << as_text.err;
  EXPECT_THAT(read_text(here() / "graph.dot"), StartsWith("digraph model {"));
}

// The same layers in all three files of one profile.
TEST_F(QgenModel, WritesAPageOfItsLayers) {
  const Answer answer =
      run_model(kOnnx, {"--replays", "2", "--html", "page.html", "--json", "layers.json", "--profile", "trace.json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const std::string page = read_text(here() / "page.html");
  EXPECT_THAT(page, HasSubstr("<title>scenes.onnx on "));
  EXPECT_THAT(page, HasSubstr("Times are medians of 2 replays"));
  const auto count = [](const std::string& text, std::string_view part) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
  };
  const size_t bars = count(page, "<rect class=\"layer\"") + count(page, "<rect class=\"conversion\"");
  EXPECT_EQ(bars, count(read_text(here() / "layers.json"), "\"medianMs\""));
  EXPECT_EQ(bars, count(read_text(here() / "trace.json"), "\"Node\""));
  EXPECT_GT(bars, 5u);
}

// Options that need a run are refused together with a described device, not ignored.
TEST_F(QgenModel, RunsNothingOnADescribedDevice) {
  const std::string device = source_folder() + "/devices/adreno-740.yaml";
  for (const char* option : {"--device", "--output", "--time", "--profile", "--json", "--html", "--plot", "--trace"}) {
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
      {corrupt,
       "it is damaged: its checksum is wrong\n"
       "  hint: compile the model again"},
      {whole.substr(0, whole.size() - 1),
       "it is damaged: its checksum is wrong\n"
       "  hint: compile the model again"},
      {"QGEN", "this is not a compiled model: it is too short"},
      {read_text(kOnnx), "this is not a compiled model"},
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

// ---- models of others -----------------------------------------------------------------------------------------------

std::string field_model(const std::string& name) {
  return source_folder() + "/tests/runtime/models/graph/field_tests/" + name + "/model.onnx";
}

TEST_F(QgenModel, ListsWhatAModelLacks) {
  const std::string model = field_model("dropout_training");
  const Answer text = run("qgen-model", {"check-support", model});
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, StartsWith(model + ": 1 of "));
  EXPECT_THAT(text.out, HasSubstr("nodes have no operator\n  Dropout, 1 node, 'Dropout_0'\n      its training_mode is "
                                  "true, and qgen drops no elements\n"));
  const Answer json = run("qgen-model", {"check-support", model, "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr(R"("without_operator": 1)"));
  EXPECT_THAT(json.out, HasSubstr(R"({"op": "Dropout", "domain": "", "count": 1, )"));
  const Answer all = run("qgen-model", {"check-support", kOnnx});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, HasSubstr("nodes has an operator\n"));
  const Answer none = run("qgen-model", {"check-support", "absent.onnx"});
  EXPECT_EQ(none.code, 2);
}

// From float32 to int8, by samples.
TEST_F(QgenModel, QuantizesAModel) {
  const std::string model = field_model("symbolic_residual_add");
  std::filesystem::create_directory(here() / "samples");
  std::filesystem::copy_file(std::filesystem::path(model).parent_path() / "x.input.npy", here() / "samples/0.npy");
  for (const char* method : {"minmax", "percentile", "entropy"}) {
    const Answer made =
        run("qgen-model", {"quantize", model, "-o", "int8.onnx", "--calibrate", "samples", "--method", method});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("outputs, all samples: "));
    EXPECT_THAT(made.out, HasSubstr("int8.onnx: "));
    const Answer read = run("qgen-model", {"run", "int8.onnx", "--input", "samples/0.npy", "--explain"});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_THAT(read.out, HasSubstr("q8ta_conv2d"));
  }
  const Answer drawn = run("qgen-model", {"quantize", model, "-o", "int8.onnx", "--calibrate", "samples", "--plot",
                                          "noise.svg", "--weights", "int4"});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_TRUE(std::filesystem::exists(here() / "noise.svg"));
  const Answer png =
      run("qgen-model", {"quantize", model, "-o", "b.onnx", "--calibrate", "samples", "--plot", "noise.png"});
  EXPECT_EQ(png.code, 2);
  EXPECT_THAT(png.err, HasSubstr("--plot: 'noise.png' does not end in .svg"));
  const Answer kept =
      run("qgen-model", {"quantize", model, "-o", "b.onnx", "--calibrate", "samples", "--keep", "absent"});
  EXPECT_EQ(kept.code, 2);
  EXPECT_THAT(kept.err, HasSubstr("the model has no node 'absent'"));
  const Answer none = run("qgen-model", {"quantize", model, "-o", "b.onnx", "--calibrate", "nowhere"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--calibrate: nowhere is no folder"));
  const Answer wrong =
      run("qgen-model", {"quantize", model, "-o", "b.onnx", "--calibrate", "samples", "--method", "best"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_FALSE(std::filesystem::exists(here() / "b.onnx"));
}

// Samples have a file for each input of the model, also for those that nothing reads.
TEST_F(QgenModel, QuantizesAModelWithAnInputThatNothingReads) {
  const std::string model = field_model("symbolic_residual_add");
  // Protocol buffers that follow each other are one: {graph: {input: {name: "unread", type: a scalar of float}}}.
  constexpr std::string_view kInput("\x3a\x12\x5a\x10\x0a\x06unread\x12\x06\x0a\x04\x08\x01\x12\x00", 20);
  ASSERT_TRUE(write_file(here() / "unread.onnx", *read_file(model) + std::string(kInput)));
  std::filesystem::create_directories(here() / "pairs/0");
  std::filesystem::copy_file(std::filesystem::path(model).parent_path() / "x.input.npy", here() / "pairs/0/x.npy");
  ASSERT_TRUE(save_npy(here() / "pairs/0/unread.npy", zeros(DType::f32, {})));
  const Answer made = run("qgen-model", {"quantize", "unread.onnx", "-o", "unread_int8.onnx", "--calibrate", "pairs"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("unread_int8.onnx: "));
}

// Sides with names get the numbers of --shape.
TEST_F(QgenModel, BindsSidesByShapes) {
  const std::string model = field_model("symbolic_dims");
  const Answer known = run("qgen-model", {"run", model, "--shape", "x=1x3x8x12:f32"});
  EXPECT_EQ(known.code, 0) << known.err;
  const Answer wrong = run("qgen-model", {"run", model, "--shape", "x=1x4x8x12:f32"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("input 'x' is given as [1, 4, 8, 12], and the model has a side of 3 along axis 1"));
}

TEST_F(QgenModel, TakesConstants) {
  const std::string model = field_model("input_int64");
  const Answer unknown = run("qgen-model", {"run", model});
  EXPECT_EQ(unknown.code, 0) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("runs both branches"));
  const Answer known = run("qgen-model", {"run", model, "--constant", "sr=16000"});
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_THAT(known.err, ::testing::Not(HasSubstr("runs both branches")));
  const Answer wrong = run("qgen-model", {"run", model, "--constant", "sr=1.5"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--constant sr: 1.5 is no i32"));
}

}  // namespace
}  // namespace qgen::tests

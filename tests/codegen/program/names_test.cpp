// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Accepted names compile: specs whose operators, operands, fields, attributes, words, parameters and so on have random
// legal names become C++ that a compiler accepts. QGEN_SEED repeats a run.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "codegen/spec/words.h"
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

// Legal by the rules of specs, and likely to mean something else in C++, in GLSL, or in qgen's output.
// clang-format off
// Not `workgroup`, whose values must be a size of the module's workgroups.
constexpr std::string_view kLikely[] = {
    "a",          "b",          "x",         "I",        "x_mode",      "a_b",        "k2d",      "k2",
    "n3x3",       "X",          "X_y",       "xY",       "EOF",         "NULL_2",     "INT_MAX",  "linux",
    "unix",       "major",      "errno",     "stdin",    "assert",      "signals",    "emit",     "k",
    "kWords",     "words",      "fields",    "inputs",   "outputs",     "attributes", "context",
    "described",  "call",       "infer",    "arguments",   "node",       "net",      "made",
    "graph",      "builder",    "names",     "values",   "value",       "name",       "id",       "kernel",
    "kernels",    "variant",    "variants",  "info",     "operand",     "operands",   "problem_", "spec",
    "parameters", "grid",       "cost",      "costs",    "terms",       "out",        "in_place", "specialization",
    "fit",        "program",    "push",      "block",    "bytes",       "data",       "size",     "begin",
    "front",      "dtype",      "layout",    "storage",  "device",      "access",     "scope",    "only",
    "rows",       "row",        "index",     "count",    "string_view", "vector",     "optional", "array",
    "span",       "variant_",   "Expected",  "Call",     "Error",      "DType",    "Layout",
    "Storage",    "Access",     "Problem",   "Operands", "Tensor",      "Weight",     "Kernel",   "Fit",
    "Variant",    "Name",       "Interface", "Required", "access_word", "round",      "roundUp",  "abs",
    "exp",        "log2",       "floor",     "clamp",    "dot",         "none",       "f32",      "buffer",
    "strided",    "true_",      "make_call", "in_order", "checked",     "run",        "entry",    "entries",
    "signature",  "signatures", "tensors",   "is_word",  "main_",       "y_data",     "problem2", "local_size",
    "subgroup",   "float16",   "half_",    "uint8",       "int4",       "sum",       "representations", "InferArguments", "Representation"};
// clang-format on

class Names {
 public:
  explicit Names(uint32_t seed) : random_(seed) {}

  int below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }

  // A new name to which `fault` does not object, with its own type.
  template <typename Fault>
  std::string take(const Fault& fault) {
    while (true) {
      std::string name = random();
      if (fault(name) || !types_.insert(spec::pascal_case(name)).second) continue;
      return name;
    }
  }
  std::string plain() {
    return take([](const std::string& name) { return spec::fault_of_name(name) || spec::is_generated_type(name); });
  }
  std::string of_operand() {
    return take([](const std::string& name) {
      return spec::fault_of_name(name) || spec::fault_of_operand_name(name) || spec::is_generated_type(name);
    });
  }
  // Of words, which are an enum in C++.
  std::string of_enum() {
    return take([](const std::string& name) {
      return spec::fault_of_operator_name(name) || spec::is_generated_type(spec::pascal_case(name));
    });
  }
  std::string of_operator() { return take(&spec::fault_of_operator_name); }
  std::string in_glsl() {
    return take([](const std::string& name) {
      return spec::fault_of_name(name) || spec::fault_of_glsl_name(name) || spec::is_generated_type(name);
    });
  }
  std::string of_enum_in_glsl() {
    while (true) {
      if (std::string name = of_enum(); !spec::fault_of_glsl_name(name)) return name;
    }
  }
  // No words are names of the spec's declarations.
  std::string words(int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i ? ", " : "") + of_operator();
    return list;
  }

 private:
  std::string random() {
    if (below(2) == 0) return std::string(kLikely[below(static_cast<int>(std::size(kLikely)))]);
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789____";
    std::string name;
    const int length = 1 + below(6);
    for (int i = 0; i < length; ++i) name += kLetters[static_cast<size_t>(below(static_cast<int>(kLetters.size())))];
    return name;
  }

  std::mt19937 random_;
  std::set<std::string> types_ = {"F32", "I32"};  // dtypes that the specs below list as words
};

struct SpecText {
  std::string name, yaml, templ;
};

// An operator with one of everything that has a name.
SpecText operator_of(Names& names, const std::string& shared_words) {
  const std::string op = names.of_operator(), x = names.of_operand(), other = names.of_operand(),
                    y = names.of_operand(), z = names.of_operand();
  const std::string numel = names.in_glsl(), offset = names.in_glsl(), factor = names.in_glsl(), list = names.in_glsl(),
                    mode = names.of_enum_in_glsl();
  const std::string dtype = names.of_enum(), way = names.of_enum(), width = names.plain(), flag = names.plain(),
                    record = names.plain(), field = names.plain(), field_word = names.of_enum();
  const std::string group = names.in_glsl(), constant = names.in_glsl(), fitted = names.plain(),
                    meaning = names.plain();
  SpecText made{op, {}, {}};
  made.yaml = "operator: " + op + "\nsummary: of random names\ntemplate: " + op + ".comp\noperands:\n" +  //
              "  " + x + ": {access: read, dtype: $" + dtype + ", shape: [..., K]}\n" +                   //
              "  " + other + ": {access: read, dtype: f32, optional: true, shape: [K]}\n" +               //
              "  " + y + ": {access: write, dtype: $" + dtype + ", shape: [..., K]}\n" +                  //
              "  " + z + ": {access: write, dtype: f32, shape: [..., K]}\n" +                             //
              "attributes:\n" +                                                                           //
              "  " + names.plain() + ": {type: boolean, default: false}\n" +                              //
              "  " + names.plain() + ": {type: integer, default: 3}\n" +                                  //
              "  " + names.plain() + ": {type: real}\n" +                                                 //
              "  " + names.plain() + ": {type: integers, default: (all)}\n" +                             //
              "  " + names.plain() + ": {type: dtype, of: " + x + ", default: f32}\n";
  const std::string first_word = names.of_operator(), last = names.plain();
  made.yaml += "  " + names.of_enum() + ": {words: [" + first_word + ", " + names.words(2) +
               "], default: " + first_word + "}\n" + "  " + names.of_enum() + ": {words: [" + names.words(2) +
               "]}\n" +  //
               "  " + last + ": {" + shared_words + "}\n" + "operators:\n  " + names.of_operator() + ": {with: [" +
               last + "]}\n  " + names.of_operator() + ": {aliases: {_" + names.plain() + ": a part}}\n";
  made.yaml += "problem:\n  " + numel + ": u32\n  " + offset + ": i32\n  " + factor + ": f32\n  " + list +
               ": u32[4]\n  " + mode + ": {words: [" + names.words(3) + "]}\n" + "parameters:\n  " + dtype +
               ": [f32, i32]\n  " + way + ": [" + names.plain() + ", " + names.plain() + "]\n  " + width +
               ": [1, 4]\n  " + flag + ": [true]\n  " + record + ": [{" + field + ": 2, " + field_word + ": " +
               names.plain() + "}]\n" + "specialization:\n  " + group + ": [64, 128]\nconstants:\n  " + constant +
               ": " + numel + " % 2 == 0\n" + "fit: {" + fitted + ": 2.5}\ndefine:\n  " + meaning + ": " + numel +
               " * " + record + "." + field + "\n" + "applies_when: [" + meaning + " > 3 or " + flag +
               "]\ngrid: [ceil_div(" + numel + ", " + group + "), 1, 1]\ncost: " + fitted + " * " + meaning + "\n";
  made.templ = "// ${" + way + "} ${" + width + "} ${" + flag + "} ${" + record + "." + field + "} ${" + record + "." +
               field_word + "}\n#version 450\n${extensions()}\n${local_size(" + group + ")}\n";
  for (const std::string& operand : {x, other, y, z}) made.templ += "${declare(" + operand + ")}\n";
  made.templ +=
      "${declare_problem()}\nvoid main() {\n  const uint I_ = gl_GlobalInvocationID.x;\n  if (I_ >= problem." + numel +
      " || ${" + constant + "}) return;\n  " + y + "_data[I_] = " + x + "_data[I_];\n  " + z + "_data[I_] = " + other +
      "_data[I_] * problem." + factor + ";\n}\n";
  return made;
}

// A kernel, and an operator whose recipe runs it twice.
std::vector<SpecText> recipe_of(Names& names) {
  const std::string kernel = names.of_operator(), op = names.of_operator(), from = names.of_operand(),
                    to = names.of_operand(), x = names.of_operand(), y = names.of_operand(),
                    between = names.of_operand(), count = names.in_glsl(), numel = names.in_glsl(),
                    axis = names.of_enum(), word = names.plain(), recipe = names.plain();
  const std::string step = "      - kernel: " + kernel + "\n        problem: {" + count + ": " + numel +
                           "}\n        with: {" + axis + ": " + word + "}\n";
  return {
      {kernel,
       "kernel: " + kernel + "\ntemplate: " + kernel + ".comp\noperands:\n  " + from +
           ": {access: read, dtype: f32}\n  " + to + ": {access: write, dtype: f32}\nproblem:\n  " + count +
           ": u32\nparameters:\n  " + axis + ": [" + word + ", " + names.plain() + "]\ngrid: [ceil_div(" + count +
           ", 64), 1, 1]\n",
       "#version 450\n// ${" + axis + "}\n${extensions()}\n${local_size(64)}\n${declare(" + from + ")}\n${declare(" +
           to + ")}\n${declare_problem()}\nvoid main() {\n  if (gl_GlobalInvocationID.x < problem." + count + ") " +
           to + "_data[gl_GlobalInvocationID.x] = " + from + "_data[gl_GlobalInvocationID.x];\n}\n"},
      {op,
       "operator: " + op + "\nsummary: of two steps\noperands:\n  " + x +
           ": {access: read, dtype: f32, shape: [K]}\n  " + y +
           ": {access: write, dtype: f32, shape: [K]}\nproblem:\n  " + numel + ": u32\nrecipes:\n  " + recipe +
           ":\n    scratch:\n      " + between + ": {dtype: f32, elements: " + numel + "}\n    steps:\n" + step +
           "        operands: {" + from + ": " + x + ", " + to + ": " + between + "}\n" + step + "        operands: {" +
           from + ": " + between + ", " + to + ": " + y + "}\n",
       ""}};
}

class RandomNames : public Program {
 protected:
  void write(const SpecText& spec) {
    write_text(here() / ("specs/" + spec.name + ".yaml"), spec.yaml);
    if (!spec.templ.empty()) write_text(here() / ("templates/" + spec.name + ".comp"), spec.templ);
  }
};

TEST_F(RandomNames, Compile) {
  const char* said = std::getenv("QGEN_SEED");
  const uint32_t seed = said ? static_cast<uint32_t>(std::strtoul(said, nullptr, 10)) : std::random_device()();
  SCOPED_TRACE("QGEN_SEED=" + std::to_string(seed));
  Names names(seed);
  fs::remove_all(here());
  std::vector<SpecText> specs = recipe_of(names);
  const std::string shared = "enum: " + names.of_enum() + ", words: [" + names.words(2) + "]";
  for (int i = 0; i < 3; ++i) specs.push_back(operator_of(names, shared));
  for (const SpecText& spec : specs) write(spec);
  made({"specs", "-o", "out", "--templates", "templates", "--no-cache", "--namespace", "mine"});
  std::string all = "#include \"graph_nodes.h\"\n#include \"registry.h\"\n";
  for (const SpecText& spec : specs) all += "#include \"" + spec.name + ".h\"\n";
  write_text(here() / "out/cpp/all_headers.cpp", all);
  const std::string compile = std::string(QGEN_CXX_COMPILER) + " -std=c++20 -fsyntax-only -Wall -Werror -I" +
                              source_folder() + "/include -I" + source_folder() + " -I" +
                              (here() / "out/cpp").string() + " ";
  for (const auto& entry : fs::directory_iterator(here() / "out/cpp")) {
    if (entry.path().extension() != ".cpp") continue;
    EXPECT_EQ(std::system((compile + entry.path().string()).c_str()), 0) << entry.path().filename();
  }
  if (!HasFailure()) return;
  for (const SpecText& spec : specs) std::fprintf(stderr, "---- %s.yaml\n%s", spec.name.c_str(), spec.yaml.c_str());
}

}  // namespace
}  // namespace qgen::tests

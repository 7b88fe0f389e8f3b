// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// `qgen --schema` against a validator of the few keywords that it uses: every accepted spec fits the schema, and a spec
// of another shape does not.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "tests/codegen/program/run_qgen.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

// ---- a JSON Schema validator ----------------------------------------------------------------------------------------

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

bool is_number(const YAML::Node& node, bool whole) {
  if (!node.IsScalar() || is_quoted(node)) return false;
  static const std::regex integer("[-+]?[0-9]+"), real("[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?");
  return std::regex_match(node.Scalar(), whole ? integer : real);
}

bool is_boolean(const YAML::Node& node) {
  return node.IsScalar() && !is_quoted(node) && (node.Scalar() == "true" || node.Scalar() == "false");
}

bool has_type(const YAML::Node& node, const std::string& type) {
  if (type == "object") return node.IsMap();
  if (type == "array") return node.IsSequence();
  if (type == "boolean") return is_boolean(node);
  if (type == "integer") return is_number(node, true);
  if (type == "number") return is_number(node, false);
  return type == "string" && node.IsScalar() && !is_boolean(node) && !is_number(node, false);
}

// "" if `node` fits `schema`, else where and why not.
std::string misfit(const YAML::Node& node, const YAML::Node& schema, const std::string& at);

std::string misfit_of_object(const YAML::Node& node, const YAML::Node& schema, const std::string& at) {
  for (const auto& name : schema["required"]) {
    if (!node[name.Scalar()]) return at + ": needs " + name.Scalar();
  }
  const YAML::Node properties = schema["properties"], others = schema["additionalProperties"];
  for (const auto& member : node) {
    const std::string name = member.first.Scalar(), where = at + "/" + name;
    const bool is_named = properties && properties[name];
    if (!is_named && others && others.IsScalar() && others.Scalar() == "false") return where + ": is no property";
    const YAML::Node inner = is_named ? properties[name] : others;
    if (!inner || inner.IsScalar()) continue;
    if (std::string text = misfit(member.second, inner, where); !text.empty()) return text;
  }
  return "";
}

std::string misfit(const YAML::Node& node, const YAML::Node& schema, const std::string& at) {
  if (const YAML::Node any = schema["anyOf"]) {
    const bool fits =
        std::any_of(any.begin(), any.end(), [&](const auto& one) { return misfit(node, one, at).empty(); });
    if (!fits) return at + ": fits none of anyOf";
  }
  if (const YAML::Node condition = schema["if"]) {
    const std::string text = misfit(node, schema[misfit(node, condition, at).empty() ? "then" : "else"], at);
    if (!text.empty()) return text;
  }
  if (const YAML::Node words = schema["enum"]) {
    const bool is_one = std::any_of(words.begin(), words.end(), [&](const auto& word) {
      return node.IsScalar() && word.Scalar() == node.Scalar();
    });
    if (!is_one) return at + ": is no word of enum";
  }
  if (const YAML::Node type = schema["type"]) {
    const bool has = type.IsScalar() ? has_type(node, type.Scalar())
                                     : std::any_of(type.begin(), type.end(),
                                                   [&](const auto& one) { return has_type(node, one.Scalar()); });
    if (!has) return at + ": is of another type";
  }
  if (const YAML::Node pattern = schema["pattern"]) {
    if (node.IsScalar() && !std::regex_search(node.Scalar(), std::regex(pattern.Scalar())))
      return at + ": has another pattern";
  }
  if (schema["minimum"] && node.as<double>() < schema["minimum"].as<double>()) return at + ": is too small";
  if (schema["minItems"] && node.IsSequence() && node.size() < schema["minItems"].as<size_t>())
    return at + ": has too few items";
  if (schema["minProperties"] && node.IsMap() && node.size() < schema["minProperties"].as<size_t>())
    return at + ": has too few members";
  for (size_t i = 0; schema["items"] && node.IsSequence() && i < node.size(); ++i) {
    const std::string text = misfit(node[i], schema["items"], at + "/" + std::to_string(i));
    if (!text.empty()) return text;
  }
  return node.IsMap() ? misfit_of_object(node, schema, at) : "";
}

// ---- the tests ------------------------------------------------------------------------------------------------------

class Schema : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    text_ = made({"--schema"}).out;
    schema_ = YAML::Load(text_);
  }
  std::string misfit_of(const std::string& yaml) const { return misfit(YAML::Load(yaml), schema_, ""); }

  std::string text_;
  YAML::Node schema_;
};

TEST_F(Schema, IsJson) {
  write_text(here() / "schema.json", text_);
  const std::string command = "python3 -m json.tool " + (here() / "schema.json").string() + " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// The validator above knows every keyword there is, or else it would be too kind.
TEST_F(Schema, UsesKnownKeywordsOnly) {
  const std::vector<std::string> known = {
      "$schema",       "title",   "description", "type",    "properties", "additionalProperties",
      "required",      "enum",    "anyOf",       "pattern", "items",      "minItems",
      "minProperties", "minimum", "if",          "then",    "else"};
  const std::function<void(const YAML::Node&)> look = [&](const YAML::Node& schema) {
    for (const auto& member : schema) EXPECT_THAT(known, testing::Contains(member.first.Scalar()));
    for (const auto& property : schema["properties"]) look(property.second);
    for (const auto& one : schema["anyOf"]) look(one);
    for (const char* inner : {"items", "additionalProperties", "if", "then", "else"}) {
      if (schema[inner] && schema[inner].IsMap()) look(schema[inner]);
    }
  };
  look(schema_);
}

TEST_F(Schema, TakesEverySpecThatQgenTakes) {
  std::vector<fs::path> specs;
  for (const char* folder : {"specs", "examples", "tests/bad_specs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_folder()) / folder)) {
      const fs::path& path = entry.path();
      const bool is_bad = path.string().find("bad_specs") != std::string::npos && path.filename() != "good.yaml";
      if (path.extension() == ".yaml" && !is_bad) specs.push_back(path);
    }
  }
  EXPECT_GT(specs.size(), 50u);
  // Between braces plain YAML splits an expression at its comma; specs/README.md says to quote it for other readers.
  const std::regex unquoted(": (ceil_div\\([^()]*\\))(?=[,}])");
  for (const fs::path& path : specs) {
    EXPECT_EQ(misfit_of(std::regex_replace(read_text(path), unquoted, ": \"$1\"")), "") << path;
  }
}

// Editors find the schema by the first line of a spec: its path is relative to the spec, as the line says it.
TEST_F(Schema, IsNamedByTheFirstLineOfEverySpec) {
  const fs::path root = source_folder();
  const std::string schema = read_text(root / "specs/spec.schema.json");
  size_t specs = 0;
  for (const char* folder : {"specs", "examples", "bench/codegen_corpus/specs", "tests/layouts/specs",
                             "tests/matrices/specs", "tests/tuner_faults/specs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      ++specs;
      const std::string text = read_text(entry.path());
      const std::string_view begin = "# yaml-language-server: $schema=";
      ASSERT_THAT(text, testing::StartsWith(begin)) << entry.path();
      const std::string named = text.substr(begin.size(), text.find('\n') - begin.size());
      EXPECT_EQ(read_text(entry.path().parent_path() / named), schema) << entry.path() << " names " << named;
    }
  }
  EXPECT_GT(specs, 200u);
}

struct Misfit {
  const char* what;
  const char* with;
  const char* told;
};

// kCopySpec with one fault of shape.
const Misfit kMisfits[] = {
    {"template:", "tempalte:", "/tempalte: is no property"},
    {"access: read,", "acess: read,", "/operands/input: needs access"},
    {"access: read,", "access: reed,", "/operands/input/access: is no word of enum"},
    {"dtype: $dtype}", "dtype: f23}", "/operands/input/dtype: fits none of anyOf"},
    {"numel: u32", "numel: u64", "/problem/numel: has another pattern"},
    {"  numel: u32", "  - numel: u64", "/problem/0/numel: has another pattern"},
    {"  numel: u32", "  - sizes\n  - 4sizes", "/problem/1: has another pattern"},
    {"operator: copy", "fragment: copy", "/summary: is no property"},
    {"template:", "use: copied\ntemplate:", "/use: is of another type"},
    {"[f32, i32]", "f32", "/parameters/dtype: has another pattern"},
    {"[64, 128]", "[]", "/specialization/workgroup: has too few items"},
    {"[numel % vec == 0]", "{numel: 0}", "/applies_when: is of another type"},
    {"operator: copy", "operator: [copy]", "/operator: is of another type"},
    {"operator: copy", "operator: 4copy", "/operator: has another pattern"},
};

TEST_F(Schema, RefusesOtherShapes) {
  EXPECT_EQ(misfit_of(std::string(kCopySpec)), "");
  for (const Misfit& row : kMisfits) {
    std::string yaml(kCopySpec);
    ASSERT_NE(yaml.find(row.what), std::string::npos) << row.what;
    EXPECT_EQ(misfit_of(yaml.replace(yaml.find(row.what), std::string_view(row.what).size(), row.with)), row.told);
  }
}

}  // namespace
}  // namespace qgen::tests

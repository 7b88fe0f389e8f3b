// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Faulty JSON is reported with its location, and written JSON has the expected format.
#include "common/json/read.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "common/json/write.h"
#include "tests/support/expected_text.h"

namespace qgen::json {
namespace {

// "3:5 op='x'" for each value, depth first.
void print(const Value& value, std::string& text) {
  text += std::to_string(value.mark.line) + ":" + std::to_string(value.mark.column) + " " + value.name + "=" +
          to_text(value) + "\n";
  if (const auto* items = value.as<List>()) {
    for (const Value& item : *items) print(item, text);
  }
  if (const auto* members = value.as<Members>()) {
    for (const Member& member : *members) print(member.value, text);
  }
}

TEST(ReadJson, KnowsWhereEachValueStands) {
  const auto document =
      read("x.json", "{\"a\" :1,\n \"b\":[ 2.5,-3,true ,\"w\"],\n\t\"c\": {\"d\":null}, \"e\":[[7]]}\n");
  ASSERT_TRUE(document) << to_text(document.error());
  std::string text;
  print(document->root, text);
  EXPECT_TEXT(text,
              "1:1 =an object\n"
              "1:7 a=1\n"
              "2:6 b=a list\n"
              "2:8 b=2.5\n"
              "2:12 b=-3\n"
              "2:15 b=true\n"
              "2:21 b='w'\n"
              "3:7 c=an object\n"
              "3:12 d=null\n"
              "3:23 e=a list\n"
              "3:24 e=a list\n"
              "3:25 e=7\n");
  EXPECT_EQ(document->root.as<Members>()->at(1).mark.line, 2u);
  EXPECT_EQ(document->root.as<Members>()->at(1).mark.column, 2u);
}

struct BadText {
  std::string_view text, expected;
};
const BadText kBadTexts[] = {
    {"", "x.json:1:1: syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal"},
    {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "x.json:3:2: 'a' is given twice\n  hint: leave one of them"},
    {"{\"a\": {\"b\": 1, \"b\": 1}}", "x.json:1:16: 'b' is given twice\n  hint: leave one of them"},
    {"{\"a\": .5}", "x.json:1:7: syntax error while parsing value - invalid literal"},
    {"{\"a\": NaN}", "x.json:1:7: syntax error while parsing value - invalid literal"},
    {"{\"a\": 1 \"b\": 2}", "x.json:1:11: syntax error while parsing object - unexpected string literal; expected '}'"},
    {"{} {}", "x.json:1:4: syntax error while parsing value - unexpected '{'; expected end of input"},
    {"[1, 18446744073709551615]", "x.json:1:5: the integer 18446744073709551615 is past 64 bits"},
    {"[-99999999999999999999]", "x.json:1:2: the integer -99999999999999999999 is past 64 bits"},
    {"[1e999]", "x.json:1:6: number overflow parsing '1e999'"},
};

TEST(ReadJson, RefusesWhatIsNone) {
  for (const auto& [text, expected] : kBadTexts) {
    const auto document = read("x.json", text);
    EXPECT_EQ(document ? "read" : to_text(document.error()), expected) << text;
  }
}

TEST(ReadJson, RefusesWhatNestsTooDeep) {
  EXPECT_TRUE(read("x.json", std::string(64, '[') + std::string(64, ']')));
  const auto document = read("x.json", std::string(1'000'000, '['));
  ASSERT_FALSE(document);
  EXPECT_TEXT(to_text(document.error()), "x.json:1:65: values are nested deeper than 64");
}

// A message is one line, however long its subject.
TEST(ReadJson, RepeatsLittleOfALongText) {
  const std::string text = "{\"" + std::string(100'000, 'k') + "\": 1}";
  const auto document = read("x.json", text);
  ASSERT_TRUE(document);
  const auto object = Object::of(*document, document->root, {"a"});
  ASSERT_FALSE(object);
  EXPECT_LT(to_text(object.error()).size(), 200u);
  const auto cut = read("x.json", "[\"" + std::string(100'000, 'k'));
  ASSERT_FALSE(cut);
  EXPECT_LT(to_text(cut.error()).size(), 200u);
}

TEST(JsonObject, KnowsItsKeys) {
  const auto document = *read("x.json", "{\"abs\": 1, \"real\": [2]}");
  const auto object = Object::of(document, document.root, {"abs", "rel"});
  ASSERT_FALSE(object);
  EXPECT_TEXT(to_text(object.error()), "x.json:1:12: unknown key 'real'\n  hint: did you mean 'rel'?");
  const auto other = Object::of(document, document.root, {"abs", "real"});
  ASSERT_TRUE(other);
  EXPECT_EQ(number_of(**other->need("abs")), 1.0);
  EXPECT_EQ(number_of(*other->find("real")), std::nullopt);
  EXPECT_TEXT(to_text(other->need("rel").error()), "x.json:1:1: there is no 'rel'");
  EXPECT_TEXT(to_text(wrong(document, *other->find("real"), "a number")),
              "x.json:1:20: 'real' is a list, and must be a number");
  EXPECT_TEXT(to_text(Object::of(document, *other->find("real"), {}).error()),
              "x.json:1:20: 'real' is a list, and must be an object");
}

TEST(WriteJson, PutsAnObjectOfAListOnALine) {
  using Json = nlohmann::ordered_json;
  const Json document = {{"name", "a \"b\"\n\xff"},
                         {"rows", Json::array({{{"x", 1}, {"y", {1, 2}}}, {{"x", 2}, {"y", Json::array()}}})},
                         {"none", Json::array()},
                         {"error", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(to_text(document),
            "{\n"
            "  \"name\": \"a \\\"b\\\"\\n\xef\xbf\xbd\",\n"
            "  \"rows\": [\n"
            "    {\"x\": 1, \"y\": [1, 2]},\n"
            "    {\"x\": 2, \"y\": []}\n"
            "  ],\n"
            "  \"none\": [],\n"
            "  \"error\": null\n"
            "}");
}

TEST(WriteJson, LaysOutWhatHoldsAListOfObjects) {
  using Json = nlohmann::ordered_json;
  const Json scale = {{"name", "scale"}, {"inputs", Json::array({{{"name", "x"}}, {{"name", "y"}}})}};
  const Json none = {{"name", "none"}, {"inputs", Json::array()}};
  const Json document = {{"operators", Json::array({scale, none})}};
  EXPECT_EQ(to_text(document),
            "{\n"
            "  \"operators\": [\n"
            "    {\n"
            "      \"name\": \"scale\",\n"
            "      \"inputs\": [\n"
            "        {\"name\": \"x\"},\n"
            "        {\"name\": \"y\"}\n"
            "      ]\n"
            "    },\n"
            "    {\"name\": \"none\", \"inputs\": []}\n"
            "  ]\n"
            "}");
}

}  // namespace
}  // namespace qgen::json

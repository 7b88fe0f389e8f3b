// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The YAML reader, for all its users; device_file_test.cpp has the messages for faults in device files.
#include "common/yaml/reader.h"

#include <gtest/gtest.h>

namespace qgen::yaml {
namespace {

// 2001 lists that share 2000 values.
TEST(YamlReader, AliasesCannotMakeASmallTextLarge) {
  std::string text = "- &list [0";
  for (int i = 1; i < 2000; ++i) text += ", " + std::to_string(i);
  text += "]\n";
  for (int i = 0; i < 2000; ++i) text += "- *list\n";
  Reader reader("text");
  const Done done = reader.run(text, [&](const YAML::Node& root) {
    reader.items(root, "lists",
                 [&](const YAML::Node& list) { reader.items(list, "a list", [](const YAML::Node&) {}); });
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("the text expands to more than 4000000 values"), std::string::npos)
      << done.error().message.substr(0, 300);
}

// YAML has words for them, and C++ reads some more; no range holds any.
TEST(YamlReader, NumbersAreFinite) {
  for (const std::string text : {"nan", ".nan", "NaN", "-nan", "inf", ".inf", "-inf", "1e999", "5 s", "0x5"}) {
    Reader reader("text");
    double number = 7;
    int64_t integer = 7;
    const Done done = reader.run("{a: " + text + ", b: " + text + "}", [&](const YAML::Node& root) {
      reader.fields(root, "a map",
                    {{"a", true, [&](const YAML::Node& node) { reader.number(node, "a", 0, 1e30, number); }},
                     {"b", true, [&](const YAML::Node& node) { reader.integer(node, "b", 0, 10, integer); }}});
    });
    ASSERT_FALSE(done) << text;
    EXPECT_NE(done.error().message.find("a number from 0 to 1e+30"), std::string::npos) << done.error().message;
    EXPECT_NE(done.error().message.find("a whole number from 0 to 10"), std::string::npos) << done.error().message;
    EXPECT_EQ(number, 7);
    EXPECT_EQ(integer, 7);
  }
}

TEST(YamlReader, ScalarTextReadsBackTheSame) {
  for (const std::string name :
       {"", "null", "a: b", "\"", "\\", "tab\tand\nline", "x[0]", "*x", "-", "ü", "1", "true", "~", "#"}) {
    const YAML::Node map = YAML::Load(scalar_text(name) + ": " + scalar_text(name));
    EXPECT_EQ(map.begin()->first.Scalar(), name);
    EXPECT_EQ(map.begin()->second.Scalar(), name);
  }
}

}  // namespace
}  // namespace qgen::yaml

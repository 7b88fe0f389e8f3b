// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the reader does whoever uses it; device_file_test.cpp has the words of its faults.
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
  EXPECT_NE(done.error().message.find("the text stands for more than 4000000 values"), std::string::npos)
      << done.error().message.substr(0, 300);
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

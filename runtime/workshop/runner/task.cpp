// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "common/yaml/reader.h"

namespace qgen::runner {
namespace {

using Texts = std::vector<std::string>;

// A key of the file, its option of qgen-run, and where its texts go.
struct ListRow {
  std::string_view key;
  Texts RequestText::*texts;
};
constexpr std::array<ListRow, 4> kLists = {{{"shape", &RequestText::shapes},
                                            {"set", &RequestText::attributes},
                                            {"storage", &RequestText::storages},
                                            {"layout", &RequestText::layouts}}};

Texts texts_of(yaml::Reader& reader, const YAML::Node& list, std::string_view key) {
  Texts texts;
  reader.items(list, key, [&](const YAML::Node& item) { reader.text(item, key, texts.emplace_back()); });
  return texts;
}

Task task_of(yaml::Reader& reader, const YAML::Node& map) {
  Task task;
  std::vector<yaml::Field> fields = {
      {"operator", true, [&](const YAML::Node& node) { reader.text(node, "operator", task.op); }}};
  for (const ListRow& row : kLists) {
    fields.push_back({row.key, false, [&task, &reader, &row](const YAML::Node& node) {
                        task.request.*row.texts = texts_of(reader, node, row.key);
                      }});
  }
  fields.push_back(
      {"cold", false, [&](const YAML::Node& node) { reader.boolean(node, "cold", task.is_cold.emplace()); }});
  reader.fields(map, "a problem", fields);
  return task;
}

// "[a, b]", each as YAML reads it.
std::string list_text(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(yaml::scalar_text(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

}  // namespace

bool operator==(const Task& a, const Task& b) {
  return a.op == b.op && a.is_cold == b.is_cold &&
         std::ranges::all_of(kLists, [&](const ListRow& row) { return a.request.*row.texts == b.request.*row.texts; });
}

Expected<std::vector<Task>> read_tasks(const std::string& file, std::string_view text) {
  std::vector<Task> tasks;
  yaml::Reader reader(file);
  const Done done = reader.run(text, [&](const YAML::Node& root) {
    reader.items(root, "a file of problems", [&](const YAML::Node& item) { tasks.push_back(task_of(reader, item)); });
  });
  if (!done) return done.error();
  return tasks;
}

std::string to_yaml(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) {
    text += fmt::format("- operator: {}\n", yaml::scalar_text(task.op));
    for (const ListRow& row : kLists) {
      const Texts& texts = task.request.*row.texts;
      if (!texts.empty()) text += fmt::format("  {}: {}\n", row.key, list_text(texts));
    }
    if (task.is_cold) text += fmt::format("  cold: {}\n", *task.is_cold);
  }
  return text;
}

std::string command_of(const Task& task) {
  std::string text = task.op;
  for (const ListRow& row : kLists) {
    for (const std::string& value : task.request.*row.texts) text += fmt::format(" --{} {}", row.key, value);
  }
  return text;
}

}  // namespace qgen::runner

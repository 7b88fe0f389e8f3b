// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads YAML that people write: maps of known keys, with the location of every fault.
//
//   class Reader : yaml::Reader {
//     void read(const YAML::Node& root) {
//       fields(root, "a device", {{"name", true, [&](const YAML::Node& node) { text(node, "name", device.name); }},
//                                 {"kind", true, [&](const YAML::Node& node) { ... }}});
//     }
//   };
//   if (Done done = reader.run(yaml, [&](const YAML::Node& root) { reader.read(root); }); !done) return done.error();
//
// It continues after a fault, so that one run reports all of them. A value that could not be read keeps its default,
// and is reported once. Keys that are given twice, unknown keys and values of the wrong kind are faults. yaml-cpp
// throws; no exception leaves run().
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/diagnostic.h"
#include "common/error.h"
#include "common/number.h"

namespace qgen::yaml {

struct Field {
  std::string_view key;
  bool is_required;
  std::function<void(const YAML::Node&)> read;
};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}  // as messages call the text

  // Calls `read` with the one document of the text. The error holds everything that was found wrong, each with its
  // line.
  Done run(std::string_view text, const std::function<void(const YAML::Node&)>& read);

  void fault(SourceLocation where, std::string message, std::string expected = "", std::string hint = "");
  void fault(const YAML::Node& at, std::string message, std::string expected = "", std::string hint = "");

  // Each key and value of a map.
  void entries(const YAML::Node& map, std::string_view what,
               const std::function<void(const YAML::Node& key, const YAML::Node& value)>& read);
  // A map that has these keys and no others.
  void fields(const YAML::Node& map, std::string_view what, const std::vector<Field>& known);
  void items(const YAML::Node& list, std::string_view what, const std::function<void(const YAML::Node&)>& read);

  bool scalar(const YAML::Node& node, std::string_view what);  // whether it is one; else a fault
  void text(const YAML::Node& node, std::string_view what, std::string& value);
  void number(const YAML::Node& node, std::string_view what, double least, double most, double& value);
  void integer(const YAML::Node& node, std::string_view what, int64_t least, int64_t most, int64_t& value);
  void boolean(const YAML::Node& node, std::string_view what, bool& value);
  // The place of the node's word among `words`.
  std::optional<size_t> word(const YAML::Node& node, std::string_view what, std::span<const std::string_view> words);

 private:
  template <typename Number>
  void read_within(const YAML::Node& node, std::string_view what, const NumberRange<Number>& range, Number& value);
  SourceLocation place(const YAML::Mark& mark, size_t length = 1) const;
  bool may_read_on(const YAML::Node& at);

  std::string file_;
  Diagnostics faults_;
  size_t values_ = 0;
};

// As a key or a value of YAML: as it stands where that is plain, else quoted.
std::string scalar_text(std::string_view text);

}  // namespace qgen::yaml

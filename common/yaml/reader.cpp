// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/yaml/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "common/nearest.h"
#include "common/text.h"

namespace qgen::yaml {
namespace {

// With nested aliases a small text may have very many values. Texts written by people have far fewer.
constexpr size_t kMostValues = 4'000'000;

}  // namespace

Done Reader::run(std::string_view text, const std::function<void(const YAML::Node&)>& read) {
  const std::string yaml(text);
  try {
    const auto documents = YAML::LoadAll(yaml);
    if (documents.size() == 1) {
      read(documents[0]);
    } else {
      fault(SourceLocation{file_},
            documents.empty() ? "the file is empty"
                              : fmt::format("the file has {} YAML documents, and can have one", documents.size()));
    }
  } catch (const YAML::Exception& thrown) {
    fault(place(thrown.mark), "this is not YAML: " + thrown.msg);
  }
  if (faults_.empty()) return std::monostate{};
  std::string report = to_text(faults_, {{file_, yaml}});
  report.pop_back();  // the newline at its end
  return refused(std::move(report));
}

SourceLocation Reader::place(const YAML::Mark& mark, size_t length) const {
  if (mark.is_null()) return {file_};
  return {file_, static_cast<uint32_t>(mark.line) + 1, static_cast<uint32_t>(mark.column) + 1,
          static_cast<uint32_t>(length)};
}

void Reader::fault(SourceLocation where, std::string message, std::string expected, std::string hint) {
  faults_.push_back({std::move(where), std::move(message), std::move(expected), std::move(hint), {}});
}

void Reader::fault(const YAML::Node& at, std::string message, std::string expected, std::string hint) {
  fault(place(at.Mark(), at.IsScalar() ? at.Scalar().size() : 1), std::move(message), std::move(expected),
        std::move(hint));
}

bool Reader::may_read_on(const YAML::Node& at) {
  if (++values_ < kMostValues) return true;
  if (values_ == kMostValues) fault(at, fmt::format("the text expands to more than {} values", kMostValues));
  return false;
}

void Reader::entries(const YAML::Node& map, std::string_view what,
                     const std::function<void(const YAML::Node& key, const YAML::Node& value)>& read) {
  if (!map.IsMap()) return fault(map, fmt::format("{} must be a map", what), "key: value");
  std::map<std::string, int> lines;
  for (const auto& entry : map) {
    if (!may_read_on(map)) return;
    if (!entry.first.IsScalar()) {
      fault(entry.first.Mark().is_null() ? map : entry.first, "a key must be a name");
      continue;
    }
    const auto [first, is_new] = lines.emplace(entry.first.Scalar(), entry.first.Mark().line + 1);
    if (!is_new) {
      fault(entry.first, fmt::format("'{}' is given twice", first->first), "",
            fmt::format("first in line {}", first->second));
      continue;
    }
    read(entry.first, entry.second);
  }
}

void Reader::fields(const YAML::Node& map, std::string_view what, const std::vector<Field>& known) {
  std::vector<std::string_view> keys, given;
  for (const Field& field : known) keys.push_back(field.key);
  entries(map, what, [&](const YAML::Node& key, const YAML::Node& value) {
    const auto field = std::ranges::find(known, std::string_view(key.Scalar()), &Field::key);
    if (field == known.end()) {
      return fault(key, fmt::format("unknown key '{}' in {}", key.Scalar(), what),
                   fmt::format("one of {}", fmt::join(keys, ", ")), did_you_mean(key.Scalar(), keys));
    }
    given.push_back(field->key);
    field->read(value);
  });
  if (!map.IsMap()) return;
  for (const Field& field : known) {
    if (!field.is_required || std::ranges::find(given, field.key) != given.end()) continue;
    fault(map, fmt::format("{} lacks '{}'", what, field.key));
  }
}

void Reader::items(const YAML::Node& list, std::string_view what, const std::function<void(const YAML::Node&)>& read) {
  if (!list.IsSequence())
    return fault(list, fmt::format("{} must be a list", what), "items that begin with '- ', or [a, b]");
  for (const auto& item : list) {
    if (!may_read_on(list)) return;
    read(item);
  }
}

bool Reader::scalar(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar()) return true;
  fault(node, fmt::format("{} must be a single value", what));
  return false;
}

void Reader::text(const YAML::Node& node, std::string_view what, std::string& value) {
  if (!scalar(node, what)) return;
  if (find_text_fault(node.Scalar()))
    return fault(node, fmt::format("{} contains characters that cannot be printed", what));
  value = node.Scalar();
}

template <typename Number>
void Reader::read_within(const YAML::Node& node, std::string_view what, const NumberRange<Number>& range,
                         Number& value) {
  if (const auto read = range.read(node.Scalar())) {
    value = *read;
  } else {
    fault(node, fmt::format("{} is '{}'", what, node.Scalar()), range.to_text());
  }
}

void Reader::number(const YAML::Node& node, std::string_view what, double least, double most, double& value) {
  if (!scalar(node, what)) return;
  read_within(node, what, NumberRange<double>{least, most}, value);
}

void Reader::integer(const YAML::Node& node, std::string_view what, int64_t least, int64_t most, int64_t& value) {
  if (!scalar(node, what)) return;
  read_within(node, what, NumberRange<int64_t>{least, most}, value);
}

void Reader::boolean(const YAML::Node& node, std::string_view what, bool& value) {
  if (!scalar(node, what)) return;
  if (node.Scalar() == "true" || node.Scalar() == "false") value = node.Scalar() == "true";
  else fault(node, fmt::format("{} is '{}'", what, node.Scalar()), "true or false");
}

std::optional<size_t> Reader::word(const YAML::Node& node, std::string_view what,
                                   std::span<const std::string_view> words) {
  if (!scalar(node, what)) return std::nullopt;
  const auto found = std::ranges::find(words, std::string_view(node.Scalar()));
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  fault(node, fmt::format("unknown {} '{}'", what, node.Scalar()), fmt::format("one of {}", fmt::join(words, ", ")),
        did_you_mean(node.Scalar(), words));
  return std::nullopt;
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace {

bool is_plain(std::string_view text) {
  constexpr std::string_view kNulls[] = {"null", "Null", "NULL"};
  const auto is_ordinary = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/';
  };
  return !text.empty() && std::ranges::all_of(text, is_ordinary) && std::ranges::find(kNulls, text) == std::end(kNulls);
}

// With the escapes that JSON and YAML require.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace

std::string scalar_text(std::string_view text) { return is_plain(text) ? std::string(text) : quoted(text); }

}  // namespace qgen::yaml

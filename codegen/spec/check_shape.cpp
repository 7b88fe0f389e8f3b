// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that a file has the form of a spec: each key is one of keys.h, and each value has the kind of its key. Names
// and types are checked later.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/spec/field_type.h"
#include "codegen/spec/keys.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/range.h"
#include "codegen/spec/words.h"
#include "codegen/support/article.h"
#include "common/number.h"

namespace qgen::spec {
namespace {

using Kind = YamlNode::Kind;

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::null: return "empty";
    case Kind::scalar: return "a single value";
    case Kind::list: return "a list";
    case Kind::map: return "a map";
  }
  return "?";
}

class ShapeChecker {
 public:
  explicit ShapeChecker(bool is_fragment) : is_fragment_(is_fragment) {}

  // `what` names the object for messages: "the spec", "operand 'input'".
  void check_object(const YamlNode& node, const SourceLocation& where, const std::string& what, KeyTable keys) {
    for (const YamlEntry& entry : node.entries) {
      const Key* key = find_key(keys, entry.key.text);
      if (!key) report_unknown(entry.key, what, keys);
      if (key) check_form(entry, *key);
    }
    for (const Key& key : keys) {
      if (key.is_required && !node.find(key.name))
        report(where, fmt::format("{} has no '{}'", what, key.name), std::string(key.help));
    }
  }

  Diagnostics errors;

 private:
  void report(const SourceLocation& where, std::string message, std::string expected = "", std::string hint = "") {
    errors.push_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
  }

  void report_unknown(const YamlNode& key, const std::string& what, KeyTable keys) {
    std::vector<std::string> names;
    for (const Key& known : keys) names.emplace_back(known.name);
    report(key.where, fmt::format("unknown key '{}' in {}", key.text, what), one_of(names), suggest(key.text, names));
  }

  // Reports a node of another kind, and says so.
  bool is_kind(const YamlNode& node, Kind wanted, const std::string& what, std::string_view example) {
    if (node.kind == wanted) return true;
    report(node.where, fmt::format("{} is {}", what, describe(node.kind)),
           fmt::format("{}, such as {}", describe(wanted), example));
    return false;
  }

  void check_form(const YamlEntry& entry, const Key& key) {
    switch (key.form) {
      case Form::one: return check_leaf(entry.value, entry.key.where, fmt::format("'{}'", key.name), key);
      case Form::tuple:
      case Form::list: return check_list(entry.value, key);
      case Form::map: return check_map(entry.value, key);
      case Form::section: return check_section(entry.value, key);
      case Form::shared_list:
        return entry.value.kind == Kind::scalar ? check_list_name(entry.value, fmt::format("'{}'", key.name))
                                                : check_list(entry.value, key);
    }
  }

  void check_section(const YamlNode& node, const Key& key) {
    if (node.kind != Kind::list) return check_map(node, key);
    if (is_fragment_) {
      return report(node.where, fmt::format("'{}' of a fragment or cost is a list", key.name),
                    fmt::format("a map, such as {}: {{name: ...}}", key.name),
                    "a fragment cannot use others: list them all in the spec");
    }
    if (node.items.empty()) report(node.where, fmt::format("'{}' is an empty list", key.name), "", "leave the key out");
    for (const YamlNode& item : node.items) {
      if (item.kind == Kind::map) check_map(item, key);
      else if (is_kind(item, Kind::scalar, fmt::format("an item of '{}'", key.name), "'name_of_a_fragment'"))
        check_name(item);
    }
  }

  void check_list(const YamlNode& node, const Key& key) {
    if (!is_kind(node, Kind::list, fmt::format("'{}'", key.name), "[a, b]")) return;
    if (node.items.empty()) report(node.where, fmt::format("'{}' is an empty list", key.name), "", "leave the key out");
    for (const YamlNode& item : node.items) check_leaf(item, item.where, fmt::format("an item of '{}'", key.name), key);
  }

  void check_map(const YamlNode& node, const Key& key) {
    if (!is_kind(node, Kind::map, fmt::format("'{}'", key.name), fmt::format("{}: {{name: ...}}", key.name))) return;
    for (const YamlEntry& entry : node.entries) {
      // 'with' names parameters of another spec, which has checked them; names of record fields are dotted. Aliases are
      // names of others.
      if (key.leaf != Leaf::value && key.leaf != Leaf::text) check_name(entry.key);
      check_leaf(entry.value, entry.key.where, fmt::format("'{}'", entry.key.text), key);
    }
  }

  // `a`, or `{a: {rows: 2 * m}}`.
  void check_use(const YamlNode& node, const std::string& what) {
    if (node.kind != Kind::map) {
      if (is_kind(node, Kind::scalar, what, "'name_of_a_fragment'")) check_name(node);
      return;
    }
    for (const YamlEntry& entry : node.entries) {
      check_name(entry.key);
      if (!is_kind(entry.value, Kind::map, fmt::format("'{}'", entry.key.text), "{rows: 2 * m}")) continue;
      for (const YamlEntry& handed : entry.value.entries) {
        check_name(handed.key);
        is_kind(handed.value, Kind::scalar, fmt::format("'{}'", handed.key.text), "'2 * m'");
      }
    }
  }

  void check_take(const YamlNode& node, const SourceLocation& where, const std::string& what, const Key& key) {
    if (node.kind == Kind::map) check_object(node, where, what, key.object);
    else if (is_kind(node, Kind::scalar, what, "'rows of a tile'")) check_line(node, what);
  }

  void check_name(const YamlNode& node) {
    if (const auto fault = fault_of_name(node.text)) report(node.where, *fault);
  }

  // `what` names the value; `where` is the location of its key, for errors about missing keys.
  void check_leaf(const YamlNode& node, const SourceLocation& where, const std::string& what, const Key& key) {
    if (key.leaf == Leaf::object) {
      if (is_kind(node, Kind::map, what, "{key: value}")) check_object(node, where, what, key.object);
    } else if (key.leaf == Leaf::field && node.kind == Kind::map) {
      check_object(node, where, what, key.object);
      if (!node.find("words") && !node.find("type"))
        report(where, fmt::format("{} has neither 'words' nor 'type'", what), "'words' or 'type'");
      if (node.find("words") && node.find("type"))
        report(where, fmt::format("{} has 'words' and a 'type'", what), "only one of them");
    } else if (key.leaf == Leaf::use) {
      check_use(node, what);
    } else if (key.leaf == Leaf::fitted && node.kind == Kind::map) {
      check_object(node, where, what, key.object);
    } else if (key.leaf == Leaf::take) {
      check_take(node, where, what, key);
    } else if (key.leaf == Leaf::axis) {
      check_axis(node, what, key);
    } else if (key.leaf == Leaf::shape) {
      check_shapes(node, what);
    } else if (key.leaf == Leaf::range) {
      check_range(node, what, key);
    } else if (is_kind(node, Kind::scalar, what, fmt::format("'{}'", example(key.leaf)))) {
      check_scalar(node, what, key);
    }
  }

  static std::string_view example(Leaf leaf) {
    switch (leaf) {
      case Leaf::name:
      case Leaf::reference:
      case Leaf::taken: return "quantize_affine";
      case Leaf::text: return "some text";
      case Leaf::boolean: return "true";
      case Leaf::number:
      case Leaf::fitted: return "0.5";
      case Leaf::value: return "f32";
      case Leaf::word: return "read";
      case Leaf::choice: return "f32";
      case Leaf::field: return "u32";
      case Leaf::constant: return "1";
      case Leaf::expression: return "width % vec == 0";
      case Leaf::axis:
      case Leaf::shape:
      case Leaf::range:
      case Leaf::use:
      case Leaf::take:
      case Leaf::object: break;
    }
    return "?";
  }

  void check_scalar(const YamlNode& node, const std::string& what, const Key& key) {
    switch (key.leaf) {
      case Leaf::name:
        if (const auto fault = fault_of_operator_name(node.text)) report(node.where, *fault, "", "take another name");
        return;
      case Leaf::reference: return check_name(node);
      case Leaf::taken: return check_name(without_dollar(node));
      case Leaf::text: return check_line(node, what);
      case Leaf::boolean:
        if (node.text != "true" && node.text != "false")
          report(node.where, fmt::format("{} is '{}'", what, node.text), "true or false");
        return;
      case Leaf::number:
      case Leaf::fitted: return check_number(node, what);
      case Leaf::word: return check_word(node, key);
      case Leaf::choice:
        if (!node.text.starts_with('$')) check_word(node, key);
        return;
      case Leaf::field:
        if (!parse_field_type(node.text)) {
          report(node.where, fmt::format("'{}' is not a type of problem fields", node.text),
                 "u32, i32 or f32, or an array of up to 256 of them: u32[8]; or {words: [a, b]}");
        }
        return;
      case Leaf::value:
      case Leaf::constant:
      case Leaf::expression:
      case Leaf::axis:
      case Leaf::shape:
      case Leaf::range:
      case Leaf::use:
      case Leaf::take:
      case Leaf::object: return;
    }
  }

  static YamlNode without_dollar(YamlNode node) {
    if (node.text.starts_with('$')) node.text.erase(0, 1);
    return node;
  }

  // Texts are printed into comments. YAML's block texts end with a line end that does not belong to them.
  void check_line(const YamlNode& node, const std::string& what) {
    const std::string_view line = without_line_end(node.text);
    if (line.find('\n') != line.npos) report(node.where, fmt::format("{} has several lines", what), "one line");
    if (line.ends_with('\\'))
      report(node.where, fmt::format("{} ends with a backslash", what), "",
             "in C++, a backslash at the end of a comment continues it on the next line");
  }

  void check_number(const YamlNode& node, const std::string& what) {
    const auto value = parse_bound(node.text);
    const bool is_good = value && *value >= 0 && *value < 1e300;
    if (!is_good) report(node.where, fmt::format("{} is '{}'", what, node.text), "a number that is not negative");
  }

  void check_word(const YamlNode& node, const Key& key) {
    if (std::find(key.words.begin(), key.words.end(), node.text) != key.words.end()) return;
    const std::string parameter = key.leaf == Leaf::choice ? ", or $parameter" : "";
    report(node.where, fmt::format("'{}' is not {}", node.text, with_article(key.noun.empty() ? key.name : key.noun)),
           one_of(key.words) + parameter, suggest(node.text, key.words));
  }

  // One shape, or several.
  void check_shapes(const YamlNode& node, const std::string& what) {
    if (!is_kind(node, Kind::list, what, "[..., N, K]")) return;
    if (node.items.empty() || node.items.front().kind != Kind::list) return check_one_shape(node, what);
    for (const YamlNode& item : node.items) {
      if (is_kind(item, Kind::list, fmt::format("an item of {}", what), "[N, K]")) check_one_shape(item, what);
    }
  }

  void check_one_shape(const YamlNode& node, const std::string& what) {
    constexpr size_t kMostSides = 8;
    if (node.items.size() > kMostSides)
      report(node.where, fmt::format("{} has {} sides", what, node.items.size()),
             fmt::format("{} at most", kMostSides));
    for (const YamlNode& side : node.items) {
      if (!is_kind(side, Kind::scalar, fmt::format("a side of {}", what), "N")) continue;
      if (side.text == kLeadingSides) {
        if (&side != &node.items.front()) report(side.where, "'...' stands before all other sides");
      } else if (!is_count(side.text)) {
        check_name(side);
      }
    }
  }

  static bool is_count(std::string_view text) { return read_number<uint32_t>(text).has_value(); }

  void check_range(const YamlNode& node, const std::string& what, const Key& key) {
    if (node.kind == Kind::scalar) return check_word(node, key);
    if (!is_kind(node, Kind::list, what, "[0, 2^16]")) return;
    if (node.items.size() != 2) {
      return report(node.where, fmt::format("{} has {} bounds", what, node.items.size()),
                    "two: the least and the greatest");
    }
    std::vector<double> bounds;
    for (const YamlNode& bound : node.items) {
      if (!is_kind(bound, Kind::scalar, fmt::format("a bound of {}", what), "-128")) continue;
      if (const auto number = parse_bound(bound.text)) bounds.push_back(*number);
      else report(bound.where, fmt::format("'{}' is not a bound", bound.text), "a number, such as -128, 0.5 or 2^-125");
    }
    if (bounds.size() == 2 && bounds[0] > bounds[1])
      report(node.where, fmt::format("{} is above {}", node.items[0].text, node.items[1].text));
  }

  // Single values, or records that all have the fields of the first; or the name of such a list.
  void check_axis(const YamlNode& node, const std::string& what, const Key& key) {
    if (node.kind == Kind::scalar && key.form == Form::section) return check_list_name(node, what);
    if (!is_kind(node, Kind::list, what, "[1, 4]")) return;
    if (node.items.empty()) return report(node.where, fmt::format("{} has no values", what), "at least one");
    const YamlNode& first = node.items.front();
    for (const YamlNode& item : node.items) {
      const bool is_record = item.kind == Kind::map;
      if (!is_record && !is_kind(item, Kind::scalar, fmt::format("a value of {}", what), "4 or f32")) continue;
      if (is_record != (first.kind == Kind::map)) {
        report(item.where, fmt::format("{} mixes records and single values", what),
               first.kind == Kind::map ? "a record, as the first value is" : "a single value, as the first is");
      } else if (is_record) {
        check_record(item, first, what);
      }
    }
  }

  void check_list_name(const YamlNode& node, const std::string& what) {
    const size_t dot = node.text.find('.');
    const bool is_name = dot != std::string::npos && !fault_of_name(std::string_view(node.text).substr(0, dot)) &&
                         !fault_of_name(std::string_view(node.text).substr(dot + 1));
    if (!is_name)
      report(node.where, fmt::format("{} is '{}'", what, node.text),
             "a list, such as [1, 4]; or a fragment's list, such as layouts.rows");
  }

  void check_record(const YamlNode& record, const YamlNode& first, const std::string& what) {
    if (record.entries.empty()) return report(record.where, fmt::format("a record of {} has no fields", what));
    std::vector<std::string> fields;
    for (const YamlEntry& entry : first.entries) fields.push_back(entry.key.text);
    bool has_unknown = false;
    for (const YamlEntry& entry : record.entries) {
      check_name(entry.key);
      is_kind(entry.value, Kind::scalar, fmt::format("'{}'", entry.key.text), "16");
      if (first.find(entry.key.text)) continue;
      has_unknown = true;
      report(entry.key.where, fmt::format("the first record of {} has no field '{}'", what, entry.key.text),
             one_of(fields), suggest(entry.key.text, fields));
    }
    for (const std::string& field : fields) {
      if (has_unknown || record.find(field)) continue;  // a misspelt field is one fault, not also one that is missing
      report(record.where, fmt::format("this record of {} has no '{}'", what, field), "the fields of the first record");
    }
  }

  bool is_fragment_;
};

}  // namespace

Diagnostics check_shape(const YamlNode& root) {
  ShapeChecker checker(is_fragment(root) || is_cost(root));
  if (is_cost(root)) checker.check_object(root, root.where, "the cost", cost_keys());
  else if (is_fragment(root)) checker.check_object(root, root.where, "the fragment", fragment_keys());
  else checker.check_object(root, root.where, "the spec", spec_keys());
  return std::move(checker.errors);
}

}  // namespace qgen::spec

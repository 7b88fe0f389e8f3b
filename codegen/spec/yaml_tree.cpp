// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Built from yaml-cpp's events rather than its nodes. Events have no aliases to expand, come in the file's order, and
// know whether a collection is written in flow or block style. yaml-cpp throws; nothing leaves read_yaml().
#include "codegen/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "codegen/spec/make_error.h"
#include "codegen/support/check_text.h"
#include "common/text.h"

namespace qgen::spec {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxNesting = 32;
constexpr size_t kMaxJoinedBytes = 4096;

// Ends yaml-cpp's parse from inside one of its events.
struct Refusal {
  Diagnostic diagnostic;
};

[[noreturn]] void refuse(SourceLocation where, std::string message, std::string hint = "") {
  throw Refusal{make_error(std::move(where), std::move(message), "", std::move(hint))};
}

// A comma was inside parentheses: "ceil_div(numel" is followed by the rest of its expression. No expression is as long
// as the limit, which keeps the counting linear.
bool has_open_parenthesis(const YamlNode& node) {
  if (!node.is_plain || node.text.size() > kMaxJoinedBytes) return false;
  const auto count = [&](char c) { return std::count(node.text.begin(), node.text.end(), c); };
  return count('(') > count(')');
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::optional<YamlNode> root;
  Diagnostics errors;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root)
      refuse(place(mark), "a second document begins here",
             "a file contains one spec: move the second one to another file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    YamlNode node;
    node.where = place(mark);
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.where = place(mark);
    node.text = value;
    node.is_plain = tag == "?";
    if (!node.is_plain && tag != "!") refuse_tag(mark);
    place_text(node, offset(mark));
    // The file holds no such character, but an escape between double quotes may make one.
    if (const auto fault = find_text_fault(value)) {
      refuse(node.where, fmt::format("this text contains {}", fault->message), "write it without that escape");
    }
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value style) override {
    begin(YamlNode::Kind::list, mark, tag, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value style) override {
    begin(YamlNode::Kind::map, mark, tag, style);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

  // The innermost bracket that is open.
  const YamlNode* open_bracket() const { return !open_.empty() && open_.back().is_flow ? &open_.back().node : nullptr; }

  SourceLocation place(const YAML::Mark& mark) const {
    if (mark.line < 0) return {file_, 1, 1};
    return {file_, static_cast<uint32_t>(mark.line) + 1, static_cast<uint32_t>(mark.column) + 1};
  }

 private:
  // A collection that has begun and not ended.
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;                 // of a map: read, its value not yet
    std::map<std::string, SourceLocation> keys;  // of a map: all so far
    bool is_flow = false;
    bool drops_null = false;  // of a map: its last key became part of an expression and has no value
  };

  static size_t offset(const YAML::Mark& mark) { return static_cast<size_t>(std::max(mark.pos, 0)); }

  [[noreturn]] void refuse_anchor(const YAML::Mark& mark) const {
    refuse(place(mark), "anchors and aliases are not part of the spec language", "write the value out");
  }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark) const {
    refuse(place(mark), "tags are not part of the spec language", "quote a text that begins with '!'");
  }

  void begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::EmitterStyle::value style) {
    if (tag != "?" && !tag.empty()) refuse_tag(mark);
    if (open_.size() == kMaxNesting) refuse(place(mark), fmt::format("the file is nested deeper than {}", kMaxNesting));
    Open open;
    open.node.kind = kind;
    open.node.where = place(mark);
    open.is_flow = style == YAML::EmitterStyle::Flow;
    open_.push_back(std::move(open));
  }

  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root = std::move(node);
    } else if (open_.back().node.kind == YamlNode::Kind::list) {
      add_item(open_.back(), std::move(node));
    } else {
      add_to_map(open_.back(), std::move(node));
    }
  }

  void add_item(Open& open, YamlNode node) {
    auto& items = open.node.items;
    if (open.is_flow && !items.empty() && continues(items.back(), node)) return extend(items.back(), node);
    items.push_back(std::move(node));
  }

  void add_to_map(Open& open, YamlNode node) {
    auto& entries = open.node.entries;
    if (std::exchange(open.drops_null, false)) {
      if (node.kind != YamlNode::Kind::null) refuse(node.where, "unexpected ':' inside parentheses");
    } else if (open.key) {
      if (node.kind == YamlNode::Kind::null) node.where = open.key->where;
      entries.push_back({*std::exchange(open.key, std::nullopt), std::move(node)});
    } else if (open.is_flow && !entries.empty() && continues(entries.back().value, node)) {
      extend(entries.back().value, node);
      open.drops_null = true;
    } else {
      check_key(open, node);
      open.key = std::move(node);
    }
  }

  void check_key(Open& open, const YamlNode& key) {
    if (key.kind != YamlNode::Kind::scalar) refuse(key.where, "a key must be a name");
    const auto [first, is_new] = open.keys.emplace(key.text, key.where);
    if (is_new) return;
    Diagnostic error = make_error(key.where, fmt::format("'{}' is given twice", key.text));
    error.notes.push_back({first->second, "first given here"});
    errors.push_back(std::move(error));
  }

  static bool continues(const YamlNode& previous, const YamlNode& node) {
    return previous.kind == YamlNode::Kind::scalar && node.kind == YamlNode::Kind::scalar && node.is_plain &&
           has_open_parenthesis(previous);
  }

  // `previous` and `node` are two parts of one expression that a comma split.
  void extend(YamlNode& previous, const YamlNode& node) const {
    const bool is_one_line =
        previous.text_where.column != 0 && node.text_where.column != 0 && previous.where.line == node.where.line;
    if (!is_one_line) {
      previous.text += ", " + node.text;
      previous.text_where.column = 0;
      return;
    }
    previous.text = text_.substr(previous.text_offset, node.text_offset + node.text.size() - previous.text_offset);
    previous.where.length = previous.text_where.length = static_cast<uint32_t>(previous.text.size());
  }

  // Columns inside the text equal those of the file if it is there letter by letter, on one line, quoted or not.
  void place_text(YamlNode& node, size_t at) {
    const std::string_view rest = text_.substr(std::min(at, text_.size()));
    const bool is_quoted = !node.is_plain && !rest.empty() && (rest[0] == '\'' || rest[0] == '"');
    if (is_quoted) check_quote(node.where, rest);
    const bool is_literal =
        rest.substr(is_quoted ? 1 : 0).starts_with(node.text) && node.text.find('\n') == std::string::npos;
    node.text_where = node.where;
    node.text_where.column = is_literal && (is_quoted || node.is_plain) ? node.where.column + (is_quoted ? 1 : 0) : 0;
    if (!is_literal) return;
    node.text_offset = at + (is_quoted ? 1 : 0);
    node.text_where.length = static_cast<uint32_t>(node.text.size());
    node.where.length = node.text_where.length + (is_quoted ? 2 : 0);
  }

  // yaml-cpp takes the end of the file for a closing quote.
  void check_quote(const SourceLocation& where, std::string_view quoted) const {
    const char quote = quoted[0];
    for (size_t i = 1; i < quoted.size(); ++i) {
      if (quote == '"' && quoted[i] == '\\') {
        ++i;
      } else if (quoted[i] == quote) {
        if (quote == '"' || quoted.substr(i + 1, 1) != "'") return;
        ++i;
      }
    }
    refuse(where, "this quote is never closed");
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Open> open_;
};

// yaml-cpp's error, with the commonest cause named.
Diagnostic broken(std::string_view text, SourceLocation where, const std::string& message) {
  std::string_view rest = text;
  for (uint32_t line = 1; line < where.line && rest.find('\n') != std::string_view::npos; ++line)
    rest.remove_prefix(rest.find('\n') + 1);
  const size_t indent = rest.find_first_not_of(' ');
  const bool is_tab = indent != std::string_view::npos && rest[indent] == '\t';
  if (is_tab) return make_error(std::move(where), "a tab indents this line", "", "YAML is indented with spaces");
  const std::string_view hint =
      message == "illegal map value" ? "a text that holds ': ' is quoted; a key above may lack its ':'" : "";
  return make_error(std::move(where), fmt::format("this is not YAML: {}", message), "", std::string(hint));
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& entry) { return entry.key.text == key; });
  return found == entries.end() ? nullptr : &*found;
}

Result<YamlNode> read_yaml(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  if (text.size() > kMaxBytes) {
    return Diagnostics{make_error({file, 1, 1}, fmt::format("the file has {} bytes", text.size()),
                                  fmt::format("at most {}", kMaxBytes))};
  }
  if (auto fault = check_text(text, file)) return Diagnostics{*std::move(fault)};
  TreeBuilder builder(text, file);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    builder.errors.push_back(refusal.diagnostic);
  } catch (const YAML::Exception& exception) {
    const YamlNode* bracket = exception.msg.starts_with("end of") ? builder.open_bracket() : nullptr;
    builder.errors.push_back(bracket ? make_error(bracket->where, "this bracket is never closed")
                                     : broken(text, builder.place(exception.mark), exception.msg));
  }
  if (!builder.errors.empty()) return std::move(builder.errors);
  if (!builder.root || builder.root->kind == YamlNode::Kind::null) {
    return Diagnostics{make_error({file, 1, 1}, "the file is empty", "a spec, which begins with 'operator: <name>'")};
  }
  if (builder.root->kind != YamlNode::Kind::map) {
    return Diagnostics{
        make_error(builder.root->where, "a spec is a map of keys", "'operator: <name>', 'template: <path>', ...")};
  }
  return *std::move(builder.root);
}

}  // namespace qgen::spec

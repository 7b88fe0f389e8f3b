// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parser calls back for each key and value just after reading it. So a value began at the first character after the
// previous token that is neither blank nor punctuation. That gives places to a library that has none.
#include "common/json/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/nearest.h"
#include "common/number.h"

namespace qgen::json {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxQuoted = 60;  // bytes of a value that a sentence repeats

// Counts the characters that the parser consumed. The parser copies its iterators, so the count is outside.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char* begin, size_t* taken) : at_(at), begin_(begin), taken_(taken) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    *taken_ = static_cast<size_t>(at_ - begin_);
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char* begin_;
  size_t* taken_;
};

// Line and column of locations that are requested in the order of the text. So a long text is scanned once.
class Marks {
 public:
  explicit Marks(std::string_view text) : text_(text) {}

  Mark at(size_t place) {
    for (place = std::min(place, text_.size()); at_ < place; ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        begin_of_line_ = at_ + 1;
      }
    }
    return {line_, at_ - begin_of_line_ + 1};
  }

 private:
  std::string_view text_;
  size_t at_ = 0, line_ = 1, begin_of_line_ = 0;
};

// "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error while parsing value - unexpected ']';
// expected ...; last read: '...'" without its location, and without the last token, which may be long.
std::string syntax_error(std::string_view what) {
  if (const size_t place = what.find("column "); place != std::string_view::npos) {
    what.remove_prefix(std::min(what.size(), what.find(": ", place) + 2));
  } else if (const size_t bracket = what.find("] "); bracket != std::string_view::npos) {
    what.remove_prefix(bracket + 2);
  }
  std::string text(what);
  const size_t last = text.find("; last read: '");
  if (last == std::string::npos) return text;
  const size_t rest = text.rfind("; expected");
  return text.substr(0, last) + (rest != std::string::npos && rest > last ? text.substr(rest) : "");
}

class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Builder(const std::string& file, std::string_view text, const size_t& taken)
      : text_(text), taken_(taken), marks_(text), document_{file, {}} {}

  bool null() { return put({}); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t value) { return put(static_cast<int64_t>(value)); }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return past_64_bits(std::to_string(value));
    return put(static_cast<int64_t>(value));
  }
  // The parser writes and reads the decimal point as the locale of the program has it.
  bool number_float(number_float_t value, const string_t& written) {
    if (written.find_first_not_of("-0123456789") == string_t::npos) return past_64_bits(written);
    std::string text = written;
    const size_t point = text.find_first_not_of("+-0123456789eE");
    if (point != std::string::npos) text[point] = '.';
    return put(read_number<double>(text).value_or(value));
  }
  bool string(string_t& value) { return put(std::move(value)); }
  bool binary(binary_t&) { return false; }  // of binary formats only

  bool start_object(size_t) { return open(Members()); }
  bool start_array(size_t) { return open(List()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& key) {
    const Mark mark = next_mark();
    auto& members = std::get<Members>(open_.back()->data);
    if (std::ranges::find(members, key, &Member::key) != members.end()) {
      return fail(mark, fmt::format("'{}' is given twice", key), "leave one of them");
    }
    members.push_back({mark, std::move(key), {}});
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    return fail(Marks(text_).at(position == 0 ? 0 : position - 1), syntax_error(error.what()), "");
  }

  Expected<Document> take() {
    if (error_) return *std::move(error_);
    return std::move(document_);
  }

 private:
  using Data = decltype(Value::data);

  bool fail(const Mark& mark, std::string_view message, std::string hint) {
    if (!error_) error_ = error_at(document_, mark, message, std::move(hint));
    return false;
  }
  bool past_64_bits(std::string_view written) {
    return fail(next_mark(), fmt::format("the integer {} is past 64 bits", written.substr(0, kMaxQuoted)), "");
  }

  Mark next_mark() {
    const size_t at = text_.find_first_not_of(" \t\r\n,:", end_of_last_);
    end_of_last_ = taken_;
    return marks_.at(at);
  }

  // Where the next value goes.
  Value& place() {
    if (open_.empty()) return document_.root;
    if (auto* members = std::get_if<Members>(&open_.back()->data)) {
      Member& member = members->back();
      member.value.name = member.key;
      return member.value;
    }
    auto& items = std::get<List>(open_.back()->data);
    items.push_back({{}, open_.back()->name, {}});
    return items.back();
  }

  bool put(Data data) {
    const Mark mark = next_mark();
    Value& value = place();
    value.mark = mark;
    value.data = std::move(data);
    return true;
  }
  bool open(Data data) {
    const Mark mark = next_mark();
    if (open_.size() == kMaxDepth) return fail(mark, fmt::format("values are nested deeper than {}", kMaxDepth), "");
    Value& value = place();
    value.mark = mark;
    value.data = std::move(data);
    open_.push_back(&value);  // a list grows only while none of its items is open
    return true;
  }
  bool close() {
    end_of_last_ = taken_;
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const size_t& taken_;
  Marks marks_;
  size_t end_of_last_ = 0;
  Document document_;
  std::vector<Value*> open_;
  std::optional<Error> error_;
};

std::string shortened(std::string_view text) {
  if (text.size() <= kMaxQuoted) return std::string(text);
  size_t end = kMaxQuoted;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
  return fmt::format("{}...", text.substr(0, end));
}

}  // namespace

Expected<Document> read(std::string file, std::string_view text) {
  size_t taken = 0;
  Builder builder(file, text, taken);
  const char* end = text.data() + text.size();
  nlohmann::json::sax_parse(Cursor(text.data(), text.data(), &taken), Cursor(end, text.data(), &taken), &builder);
  return builder.take();
}

Error error_at(const Document& document, const Mark& mark, std::string_view message, std::string hint) {
  return {Error::Kind::invalid_argument, fmt::format("{}:{}:{}: {}", document.file, mark.line, mark.column, message),
          std::move(hint)};
}

Error wrong(const Document& document, const Value& value, std::string_view must_be) {
  const std::string name = value.name.empty() ? "this" : fmt::format("'{}'", shortened(value.name));
  return error_at(document, value.mark, fmt::format("{} is {}, and must be {}", name, to_text(value), must_be));
}

std::string to_text(const Value& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("'{}'", shortened(v)); }
    std::string operator()(const List&) const { return "a list"; }
    std::string operator()(const Members&) const { return "an object"; }
  };
  return std::visit(Printer{}, value.data);
}

std::string hint_of(std::string_view written, const std::vector<std::string_view>& known) {
  return hint_among(written.substr(0, kMaxQuoted), known);
}

Expected<Object> Object::of(const Document& document, const Value& value,
                            std::initializer_list<std::string_view> known) {
  const Members* members = value.as<Members>();
  if (!members) return wrong(document, value, "an object");
  for (const Member& member : *members) {
    if (std::ranges::find(known, member.key) != known.end()) continue;
    return error_at(document, member.mark, fmt::format("unknown key '{}'", shortened(member.key)),
                    hint_of(member.key, known));
  }
  return Object(document, value);
}

const Value* Object::find(std::string_view key) const {
  const auto& members = *value_->as<Members>();
  const auto member = std::ranges::find(members, key, &Member::key);
  return member == members.end() ? nullptr : &member->value;
}

Expected<const Value*> Object::need(std::string_view key) const {
  if (const Value* value = find(key)) return value;
  return error_at(*document_, value_->mark, fmt::format("there is no '{}'", key));
}

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = value.as<int64_t>()) return static_cast<double>(*integer);
  if (const auto* real = value.as<double>()) return *real;
  return std::nullopt;
}

}  // namespace qgen::json

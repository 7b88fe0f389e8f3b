// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A command line option with a number. All programs declare their numbers with it, so each has a range.
//
//   add_number(app, "--hang", arguments.hang_s, {0.1, 3600, "seconds"}, "a kernel that takes longer is given up (10)");
//
//   qgen-tune --hang nan
//   --hang: 'nan' is not a number of seconds from 0.1 to 3600
//
// --help shows the unit in capitals after the option, or N if there is none.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <type_traits>

#include "common/number.h"
#include "common/text.h"

namespace qgen {

namespace detail {

template <typename Value>
struct NumberOf {
  using Type = Value;
};
template <typename Value>
struct NumberOf<std::optional<Value>> {
  using Type = Value;
};

inline std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace detail

// `Value` is a number, or an optional of one for an option without a default.
template <typename Value>
CLI::Option* add_number(CLI::App& app, const std::string& flags, Value& value,
                        NumberRange<typename detail::NumberOf<Value>::Type> range, const std::string& text) {
  using Number = typename detail::NumberOf<Value>::Type;
  const std::string name = flags.substr(flags.rfind(',') + 1);
  const auto take = [&value, name, range](const CLI::results_t& given) {
    const auto read = range.read(given.front());
    if (!read) {
      throw CLI::ValidationError(name, fmt::format("'{}' is not {}", printable(given.front()), range.to_text()));
    }
    value = static_cast<Number>(*read);
    return true;
  };
  return app.add_option(flags, take, text)
      ->option_text(range.unit.empty() ? "N" : detail::in_capitals(std::string(range.unit)));
}

}  // namespace qgen

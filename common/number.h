// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One way to read a number that a person wrote, whether on a command line, in a spec or in a device file.
//
//   read_number<int64_t>("12")                                -> 12
//   read_number<double>("nan"), read_number<int>("12 s")      -> nothing
//   NumberRange<double>{0.1, 3600, "seconds"}.read("1e-3")    -> nothing
//   NumberRange<double>{0.1, 3600, "seconds"}.to_text()       -> "a number of seconds from 0.1 to 3600"
//
// The whole text is the number. NaN and infinity are not numbers: every comparison with NaN is false, so a check of the
// form `if (x < least) refuse` lets it pass.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace qgen {

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

template <typename Number>
struct NumberRange {
  Number least;
  Number most;
  std::string_view unit = {};  // "seconds", as a message names it

  std::optional<Number> read(std::string_view text) const {
    const auto value = read_number<Number>(text);
    return value && *value >= least && *value <= most ? value : std::nullopt;
  }
  std::string to_text() const {
    const std::string_view kind = std::floating_point<Number> ? "a number" : "a whole number";
    const std::string of = unit.empty() ? "" : fmt::format(" of {}", unit);
    if constexpr (std::floating_point<Number>) return fmt::format("{}{} from {:g} to {:g}", kind, of, least, most);
    return fmt::format("{}{} from {} to {}", kind, of, least, most);
  }
};

}  // namespace qgen

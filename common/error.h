// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Why something could not be done, in words for the person at the keyboard.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "common/outcome.h"

namespace qgen {

struct Error {
  enum class Kind { invalid_argument, unsupported, not_found, device, system } kind = Kind::invalid_argument;
  std::string message;  // lower case, one sentence, no full stop
  std::string hint;     // advice, or empty
};

template <typename T>
using Expected = Outcome<T, Error>;
// the result of functions that return nothing; success is Done(std::monostate{})
using Done = Outcome<std::monostate, Error>;

// An impossible argument.
inline Error refused(std::string message, std::string hint = {}) {
  return {Error::Kind::invalid_argument, std::move(message), std::move(hint)};
}

// A use of an object that another one was made of by a move. Every movable type of ours follows one rule
// (runtime/README.md): the object that was moved from may be destroyed, assigned to and called. Its functions return
// this error, or an empty value if they have no error to return.
inline Error moved_from(std::string_view what) {
  return refused("the " + std::string(what) + " was moved from", "use the object to which it was moved");
}

// "message\n  hint: ...", with terminal control characters escaped (common/text.h).
std::string to_text(const Error& error);

}  // namespace qgen

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
  std::string hint;     // what would help, or empty
};

template <typename T>
using Expected = Outcome<T, Error>;
using Done = Outcome<std::monostate, Error>;  // of what returns nothing; success is Done(std::monostate{})

// An argument that cannot be taken.
inline Error refused(std::string message, std::string hint = {}) {
  return {Error::Kind::invalid_argument, std::move(message), std::move(hint)};
}

// A use of an object that another one was made of by a move. Every type of ours that may be moved keeps to one rule
// (runtime/README.md): the object that is left may be destroyed, assigned to and asked; its functions give this error
// or, where they have none to give, an empty value.
inline Error moved_from(std::string_view what) {
  return refused("the " + std::string(what) + " was moved from", "use the object to which it was moved");
}

// "message\n  hint: ...", with what a terminal would obey escaped (common/text.h).
std::string to_text(const Error& error);

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that names which become C++ types stay different. 'round_mode' and 'roundMode' would both be RoundMode, and
// the compiler would refuse the generated code.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "codegen/spec/make_error.h"
#include "codegen/spec/spec.h"
#include "codegen/spec/words.h"

namespace qgen::spec {

class TypeNames {
 public:
  // The same name may come again. Another one of the same type is an error.
  void add(const Located<std::string>& name, Diagnostics& errors) {
    const std::string type = pascal_case(name.value);
    const auto [first, is_new] = seen_.emplace(type, name);
    if (is_new || first->second.value == name.value) return;
    errors.push_back(make_error(name.where,
                                fmt::format("'{}' and '{}' are both {} in C++", name.value, first->second.value, type),
                                "", "take another name"));
    errors.back().notes.push_back({first->second.where, fmt::format("'{}' is here", first->second.value)});
  }

 private:
  std::map<std::string, Located<std::string>> seen_;
};

template <typename Items>
Diagnostics check_types_differ(const Items& items) {
  Diagnostics errors;
  TypeNames types;
  for (const auto& item : items) types.add(item.name, errors);
  return errors;
}

}  // namespace qgen::spec

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The data from which an operator's header and tables are printed: the family, and its distinct blocks and interfaces.
// Each has a name that depends only on its content. Private to this room.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/emit.h"

namespace qgen::emit {

// A block that modules read problem fields from: push constants, or the problem buffer.
struct Block {
  std::string struct_name;  // "PushConstants"; where variants differ "PushConstants_1a2b3c4d"
  std::vector<reflect::Member> members;
  uint32_t size_bytes = 0;
};

// Interface and resources, shared by all kernels for which both are equal.
struct Shape {
  std::string name;  // "uses_1a2b3c4d"
  const reflect::Interface* interface = nullptr;
  const std::vector<reflect::Resources>* resources = nullptr;
  uint8_t subgroup_size = 0;              // 0: any
  const Block* push_constants = nullptr;  // null: none
  const Block* problem_buffer = nullptr;  // null: none
};

struct OperatorModel {
  const Family* family = nullptr;
  std::vector<Block> blocks;           // the push constants, then the problem buffers, by name
  std::vector<Shape> shapes;           // by name
  std::vector<std::string> interface;  // of each kernel: the name of its shape

  const spec::Spec& spec() const { return *family->spec; }
};

// Errors: a module that does not fit its spec.
Result<OperatorModel> model_of(const Family& family);

// The buffer that a module binds after the operands, or null.
const reflect::Binding* problem_buffer_of(const spec::Spec& spec, const reflect::Interface& interface);

// "uses" + eight digits that depend on `content` alone, so that names neither move nor count.
std::string content_name(std::string_view prefix, std::string_view content);

// The best name for a value: the first of the names that no other value has, or else the last, with a digest.
struct Names {
  std::vector<std::string> free;
  std::string last;
};
inline Names digested(std::string_view prefix) { return {{}, std::string(prefix)}; }

// Names of contents. Two contents must not share one, so in the rare case of equal digests the second is digested with
// another blank. Contents of another `last` are other values.
class ContentNames {
 public:
  struct Named {
    std::string name;
    bool is_new = false;  // this content was not named before
  };
  Named name(const Names& names, const std::string& content);

 private:
  std::map<std::pair<std::string, std::string>, std::string> names_;  // by Names::last and content
  std::set<std::string> taken_;
};

}  // namespace qgen::emit

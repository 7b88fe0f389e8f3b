// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A parsed template: blocks of lines. Private to this room.
//
//   #version 450                     Text (one run of lines that every variant has alike)
//   $if vec == 4                     Branches
//     const vec4 x = ${...};           Pieces (a line with something to fill in)
//   $end
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "codegen/render/declarations.h"
#include "codegen/render/render.h"

namespace qgen::render {

struct Text {
  std::string lines;  // each ending in a newline
  uint32_t first_line = 0;
  uint32_t line_count = 0;
};

// The result of a `${...}`: the text of an expression, or a declaration's lines.
struct Substitution {
  std::variant<expression::Expression, Declaration> what;
  SourceLocation where;
};

struct Pieces {
  std::vector<std::variant<std::string, Substitution>> pieces;
  uint32_t line = 0;
};

struct Item;
using Block = std::vector<Item>;

struct Branches {
  struct Branch {
    std::optional<expression::Expression> condition;  // absent: $else
    std::shared_ptr<const Block> block;
  };
  std::vector<Branch> branches;
};

struct Loop {
  size_t variable = 0;                           // its place in the environment
  std::optional<expression::Expression> rounds;  // of range(): counts from 0
  std::vector<expression::Expression> values;    // of a list
  std::shared_ptr<const Block> block;
  SourceLocation where;
};

struct Include {
  uint32_t file = 0;  // index into Body::files
  uint32_t line = 0;
};

struct Requirement {
  expression::Expression condition;
};

// $needs and $gives.
struct InterfaceLine {
  enum class Kind : uint8_t { needs, gives };

  Kind kind = Kind::needs;
  Pieces declaration;
  std::optional<Pieces> otherwise;  // of $needs: the line that is written where nothing above declares it
  SourceLocation where;
};

struct Item {
  std::variant<Text, Pieces, Branches, Loop, Include, Requirement, InterfaceLine> what;
};

struct Template::Body {
  std::vector<SourceFile> files;             // the template first; each included part of a file is one
  std::vector<Block> blocks;                 // one a file
  std::vector<bool> has_interface;           // by file: it has $needs or $gives
  std::vector<std::set<uint32_t>> included;  // by file: what it includes, and what that includes
  std::shared_ptr<const Givers> givers;      // of all templates: for hints
  std::vector<std::string> file_names;       // displays, sorted
  std::vector<size_t> constants;             // ids of specialization constants, of those the template uses
  Names names;
  size_t environment_size = 0;  // names and loop variables
};

}  // namespace qgen::render

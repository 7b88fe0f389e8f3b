// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The part of a spec that callers see, from a tree whose shape is right (check_shape). Private to this room.
#pragma once

#include "codegen/spec/spec.h"
#include "codegen/spec/yaml_tree.h"

namespace qgen::spec {

// Adds the parts of the operand's map that concern callers.
void read_signature_of(const YamlNode& node, Operand& operand);
// The words that an attribute or a problem field can be, and the name of their enum.
std::vector<Located<std::string>> read_words(const YamlNode& node);
std::string read_word_set(const YamlEntry& entry);
Attribute read_attribute(const YamlEntry& entry);
PublicOperator read_public_operator(const YamlEntry& entry);

}  // namespace qgen::spec

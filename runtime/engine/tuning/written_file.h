// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads tuning files line by line, as to_yaml() writes them. A YAML parser takes a hundred times as long, and the
// results of a fleet have a million rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine/tuning/tuning_file.h"

namespace qgen::tuning {

// nullopt: a line is written in another way, or a row is no measurement. The YAML parser then says what is wrong. Rows
// are in the file's order.
std::optional<TuningFile> read_written_file(const std::string& file, std::string_view text);

// The text without its problems: "device: ...\nproblems: []\n". nullopt: it has another form.
std::optional<std::string> head_of(std::string_view text);

}  // namespace qgen::tuning

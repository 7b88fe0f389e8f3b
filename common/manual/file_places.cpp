// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/manual/file_places.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "common/text.h"

namespace qgen {
namespace {

std::string place_of(const std::string& file) {
  std::error_code code;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file, code), code).string();
}

}  // namespace

void FilePlaces::read(const std::string& file, std::string what) { taken_.emplace(place_of(file), std::move(what)); }

std::string FilePlaces::fault_of(const std::string& option, const std::string& file) {
  if (file.empty() || file.starts_with("/dev/")) return "";
  const auto [place, is_new] = taken_.emplace(place_of(file), "the file of " + option);
  return is_new ? "" : fmt::format("{} is {}", printable(file), place->second);
}

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/number.h"
#include "common/text.h"

namespace qgen {

Expected<Shard> shard_of(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string_view behind = text.substr(std::min(slash + 1, text.size()));
  const auto index = read_number<uint32_t>(text.substr(0, slash)), count = read_number<uint32_t>(behind);
  if (index && count && *index >= 1 && *index <= *count && *count <= kMostShards) return Shard{*index, *count};
  return refused(fmt::format("'{}' is no part: a part is I/N, such as 3/8, the third of eight", printable(text)));
}

std::string to_text(const Shard& shard) { return fmt::format("{}/{}", shard.index, shard.count); }

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/blocks.h"

#include <cassert>
#include <cstring>

namespace qgen::dispatch {

std::vector<std::byte> gather_block(std::span<const BlockField> fields, size_t block_bytes,
                                    std::span<const std::byte> problem) {
  std::vector<std::byte> block(block_bytes);
  for (const BlockField& field : fields) {
    assert(size_t{field.offset} + field.size_bytes <= block_bytes && "a field lies in its block");
    assert(size_t{field.problem_offset} + field.size_bytes <= problem.size() && "a field lies in its Problem");
    std::memcpy(block.data() + field.offset, problem.data() + field.problem_offset, field.size_bytes);
  }
  return block;
}

}  // namespace qgen::dispatch

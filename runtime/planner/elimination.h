// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Elimination with a table limit: the tables behind minimize(). choice_model.h has the idea and the proof,
// elimination_order.h the order.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planner/choice_model.h"

namespace qgen::planner {

// A table over some choices. The choice that goes first has stride 1.
struct Table {
  std::vector<uint32_t> scope;  // by place in the order
  std::vector<uint64_t> stride;
  std::vector<Cost> cells;

  // The cell of these values (one for each choice of the model), with the first choice of the scope at 0.
  uint64_t row(const std::vector<uint32_t>& values) const;
};

// All that speaks of one choice when its turn comes, and where its minima went.
struct Bucket {
  struct Message {
    uint32_t bucket, table;  // buckets[bucket].content[table]
  };
  uint32_t choice = 0;
  std::vector<Table> content;  // each has `choice` first in its scope
  std::vector<Message> sent;   // one for each group of the content that other choices share
  Cost constant;               // the minima of the groups that they do not
};

struct Elimination {
  std::vector<Bucket> buckets;  // in the order of elimination
  Cost lower_bound;             // the sum of the messages that speak of no choice
  bool is_exact = true;         // nothing was split
};

// After so many additions tables get small.
Elimination eliminate(const ChoiceModel& model, const std::vector<uint32_t>& order, uint64_t table_cells,
                      uint64_t additions);

}  // namespace qgen::planner

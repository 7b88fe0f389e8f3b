// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes the caches of a language model int8 ones: `cache_write` becomes `cache_write_q8rs`, `rotary_cache_write` becomes
// `rotary_cache_write_q8rs`, and the attention that reads their keys and values becomes `attention_q8rs`. Each of these
// layers gets one more state, which has the scales.
#pragma once

#include "runtime/models/graph/graph.h"

namespace qgen::graph {

// Errors: a state that is no cache of keys or values of a layer of attention, or that another node reads.
Done make_caches_int8(Graph& graph);

}  // namespace qgen::graph

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Changes the form of a language model's caches. The operators that write and read them are replaced:
//
//   form         cache_write             rotary_cache_write             attention
//   int8         cache_write_q8rs        rotary_cache_write_q8rs        attention_q8rs
//   paged        cache_write_paged       rotary_cache_write_paged       attention_paged
//   paged_int8   cache_write_paged_q8rs  rotary_cache_write_paged_q8rs  attention_paged_q8rs
//
// With int8, each layer gets one more state, the scales. With blocks, the graph gets one more input, the table.
#pragma once

#include "runtime/models/graph/graph.h"

namespace qgen::graph {

enum class Cache {
  of_model,    // f32 or f16, with room for the capacity
  int8,        // with a scale for each head and token
  paged,       // f32 or f16, in blocks (block_pool.h)
  paged_int8,  // int8 with such scales, in blocks
};

constexpr bool is_paged(Cache form) { return form == Cache::paged || form == Cache::paged_int8; }
constexpr bool is_int8(Cache form) { return form == Cache::int8 || form == Cache::paged_int8; }

// The input that paged caches need: i32 [B, G], the blocks of each sequence. Their states are [P, M, K, D], and
// [P, M, K, 2] of scales: P blocks with room for K keys of M heads.
constexpr std::string_view kBlockTable = "generate.blocks";

// Errors: a state that is no cache of keys or values of a layer of attention, or that another node reads.
Done change_caches(Graph& graph, Cache form);

}  // namespace qgen::graph

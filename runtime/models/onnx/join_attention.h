// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Layers of language models that exporters write as several nodes become ONNX's nodes for them:
//
//   MatMul, scale, mask, Softmax, MatMul              Attention, without a matrix of scores
//   the same after Concat(past, new)                  Attention with a past, which can be a state
//   Slice, Neg, Concat, Mul by cos and by sin, Add    RotaryEmbedding
//   two of them, and Attention with a state           Attention with rotated inputs
//   Add and a normalization of the sum                one node, in models with such attention
//   positions that are computed of the past's length  the input position_ids, if the caches are states
//   ALiBi and relative positions                      sums of the input key_positions (position_bias.h), if they are
//
// Scales, masks and positions are recognised by their values in trials of several sizes (trial.h), and not by the nodes
// that compute them: these differ between exporters. A mask is causal if it is so in all trials. If it depends on the past,
// one more trial has more keys than every constant of it. If a table ends before, the trial has as many keys as the table.
#pragma once

#include "runtime/models/onnx/note.h"
#include "runtime/models/onnx/rewriter.h"

namespace qgen::onnx {

// An attribute of Attention that only these passes write: how many keys a row sees, up to its own.
constexpr std::string_view kWindow = "window";

// Inputs of Attention that only these passes write. Queries and keys are also there before their rotations, with tables of
// angles. The position of a token is its place in the cache.
struct RotatedInput {
  static constexpr size_t cos = 7, sin = 8, query = 9, key = 10, count = 11;
};

// `states`: caches that stay on the device; others are inputs and outputs. `positions_follow_caches`: ImportOptions.
// Errors: states of written-out attention that cannot stay there, and why.
Done join_attention(Model& model, std::span<const StateNames> states, bool positions_follow_caches,
                    std::vector<Note>& notes);

// ---- its parts ------------------------------------------------------------------------------------------------------

// `reads_positions`: read_positions() follows.
void join_rotary(Rewriter& rewriter, bool reads_positions);
// After read_positions(): attention whose past is a state gets the rotations before it. The angles must be rows of
// tables, at kPositions.
void join_rotated_caches(Rewriter& rewriter, std::span<const StateNames> states);
// Values that are positions of the new tokens become the input kPositions.
void read_positions(Rewriter& rewriter);
// Layers between two Reshapes that flatten rows and part them again need no known sides without these.
void keep_rows(Rewriter& rewriter);
// The same, and other nodes that hide sides (keep_sides.cpp).
void keep_sides(Rewriter& rewriter);

// A sum and the normalization of it: SkipLayerNormalization and SkipSimplifiedLayerNormalization.
void join_sums(Rewriter& rewriter);

// [B, S, N, D], if the value is its Transpose to [B, N, S, D].
std::optional<std::string> rows_before(Rewriter& rewriter, const std::string& heads_first);

}  // namespace qgen::onnx

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tile of a product of few rows on cooperative matrices: the time of such a product is the time of reading the second
// matrix once.
//
// The product is computed transposed: columns of the outputs are the rows of the matrices, so that eight rows of
// outputs fill a matrix. A workgroup computes kColumns x kRows outputs. Its subgroups take the steps of k in turn, each
// with its own part of shared memory, so that no subgroup waits for another. In the end the workgroup adds the sums of
// all parts.
//
//   blocks    matrices of a subgroup: m along the columns of the outputs, n along their rows
//   step      bytes of k of a subgroup, in shared memory
//   whole_k   a factor of the bytes of k
$needs ELEMENT  // of the matrices, and TERM of their sums; FOUR_SUMS is a vector of four, FOUR_SUMS_OF(x) of a uvec4
$needs TERM
$needs FOUR_SUMS
$needs FOUR_SUMS_OF
$needs const uint kMatrixVectors  // of 16 bytes, in a row of a matrix
$needs uvec4 load_column(uint column, uint vector)  // 16 bytes of k of a column of the outputs
$needs uvec4 load_row(uint row, uint vector)        // and of a row. Those past the last may be any: no one stores them
$needs store_four  // void store_four(uint row, uint column, FOUR_SUMS sums): of four columns, the first of which exists
$gives const uint kColumns
$gives const uint kRows
$gives void make_outputs(uvec2 tile, uvec2 sides, uint vectors)

const uint kInvocations = ${parts.workgroup};
const uint kParts = ${parts.count};
const uint kLanes = kInvocations / kParts;
const uint kColumns = ${blocks.m} * ${matrix.m};
const uint kRows = ${blocks.n} * ${matrix.n};
const uint kVectors = ${step} / 16u;
const uint kTurn = kParts * kVectors;  // a step of each part
const bool kAreWhole = ${whole_k} % (kTurn * 16u) == 0u;

// Shared memory of a part: a step of the columns, then of the rows. Each has a vector of padding, so that the rows of a
// matrix begin in different banks.
const uint kPitch = kVectors + 1u;
const uint kStepVectors = (kColumns + kRows) * kPitch;
// Afterwards it holds the part's sums: a row of outputs after the other, with padding.
const uint kSumsPitch = kColumns / 4u + 1u;
const uint kSumsVectors = kRows * kSumsPitch;
const uint kPartVectors = kStepVectors > kSumsVectors ? kStepVectors : kSumsVectors;
shared uvec4 part_vectors[kParts * kPartVectors];

uint first_vector() { return gl_SubgroupID * kPartVectors; }

// The vectors that an invocation loads in a step.
const uint kColumnFetches = (kColumns * kVectors + kLanes - 1u) / kLanes;
const uint kRowFetches = (kRows * kVectors + kLanes - 1u) / kLanes;
uvec4 next_columns[kColumnFetches];
uvec4 next_rows[kRowFetches];

uint place_of(uint i) { return gl_SubgroupInvocationID + i * kLanes; }

// Vectors past the end of k count as zero in both, since they may be infinite.
void fetch(uvec2 tile, uint first, uint vectors) {
  [[unroll]] for (uint i = 0u; i < kColumnFetches; ++i) {
    const uint at = first + place_of(i) % kVectors;
    next_columns[i] = kAreWhole || at < vectors ? load_column(tile.y + place_of(i) / kVectors, at) : uvec4(0u);
  }
  [[unroll]] for (uint i = 0u; i < kRowFetches; ++i) {
    const uint at = first + place_of(i) % kVectors;
    next_rows[i] = kAreWhole || at < vectors ? load_row(tile.x + place_of(i) / kVectors, at) : uvec4(0u);
  }
}

uint word_of(uint place) { return first_vector() + place / kVectors * kPitch + place % kVectors; }

void put_down() {
  [[unroll]] for (uint i = 0u; i < kColumnFetches; ++i) {
    if (kColumns * kVectors % kLanes == 0u || place_of(i) < kColumns * kVectors) {
      part_vectors[word_of(place_of(i))] = next_columns[i];
    }
  }
  [[unroll]] for (uint i = 0u; i < kRowFetches; ++i) {
    if (kRows * kVectors % kLanes == 0u || place_of(i) < kRows * kVectors) {
      part_vectors[kColumns * kPitch + word_of(place_of(i))] = next_rows[i];
    }
  }
}

void subgroup_meets() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

coopmat<TERM, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

void clear_sums() {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<TERM, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
}

void multiply() {
  [[unroll]] for (uint k = 0u; k < kVectors / kMatrixVectors; ++k) {
    const uint word = first_vector() + k * kMatrixVectors;
    coopmat<ELEMENT, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> x[${blocks.n}];
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopMatLoad(x[j], part_vectors, word + (kColumns + j * ${matrix.n}u) * kPitch, kPitch,
                  gl_CooperativeMatrixLayoutColumnMajor);
    }
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopmat<ELEMENT, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> w;
      coopMatLoad(w, part_vectors, word + i * ${matrix.m}u * kPitch, kPitch, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) sums[i][j] = coopMatMulAdd(w, x[j], sums[i][j]);
    }
  }
}

void put_sums() {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopMatStore(sums[i][j], part_vectors, first_vector() + j * ${matrix.n}u * kSumsPitch + i * ${matrix.m / 4}u,
                   kSumsPitch, gl_CooperativeMatrixLayoutColumnMajor);
    }
  }
}

// An invocation adds up four neighbouring outputs at a time.
void add_parts(uvec2 tile, uvec2 sides) {
  for (uint place = gl_LocalInvocationIndex; place < kRows * kColumns / 4u; place += kInvocations) {
    const uvec2 inside = uvec2(place / (kColumns / 4u), place % (kColumns / 4u));
    FOUR_SUMS total = FOUR_SUMS(0);
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
      total += FOUR_SUMS_OF(part_vectors[part * kPartVectors + inside.x * kSumsPitch + inside.y]);
    }
    const uvec2 at = tile + uvec2(inside.x, 4u * inside.y);
    if (at.x < sides.x && at.y < sides.y) store_four(at.x, at.y, total);
  }
}

// The tile's first row and column, the rows and columns of the product, and the vectors of k. All subgroups take the
// same number of turns, also if the last turn has no step for them: on llvmpipe, a barrier of a subgroup waits for all.
void make_outputs(uvec2 tile, uvec2 sides, uint vectors) {
  const uint own = gl_SubgroupID * kVectors;
  clear_sums();
  fetch(tile, own, vectors);
  for (uint first = 0u; first < vectors; first += kTurn) {
    subgroup_meets();  // the step before has been read
    put_down();
    subgroup_meets();
    if (first + kTurn < vectors) fetch(tile, first + kTurn + own, vectors);
    multiply();
  }
  subgroup_meets();
  put_sums();
  barrier();
  add_parts(tile, sides);
}

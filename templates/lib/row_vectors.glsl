// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores int8 outputs in row-major order, sixteen at a time, for lib/int8_matrix_product.glsl. Rows are multiples of
// sixteen.
$needs uint word_at(uint row, uint column)
$gives bool have_vectors()
$gives uvec4 residual_vector(uint row, uint column)
$gives void store_vector(uint row, uint column, uvec4 vector)

${declare_vectors(output)}
${declare_vectors(residual)}
bool have_vectors() { return problem.n % 16u == 0u; }
uvec4 residual_vector(uint row, uint column) { return residual_vectors[word_at(row, column) / 4u]; }
void store_vector(uint row, uint column, uvec4 vector) { output_vectors[word_at(row, column) / 4u] = vector; }

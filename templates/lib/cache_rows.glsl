// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where the new rows of a sequence begin in its cache of keys and values: docs/movement.md.
$gives uint first_row(uint batch)

uint first_row(uint batch) {
  const int before = int(problem.rows) - 1;
  return uint(max(last_data[batch], max(before, 0)) - before);
}

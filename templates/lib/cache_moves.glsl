// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An element of a cache that movement/cache_write.comp visits. The file that includes this one then defines move_of(),
// and includes lib/cache_moves_main.glsl.
$gives const uint kNowhere
$gives struct Move

const uint kNowhere = 0xffffffffu;

// Where an element of a cache is, and the new element for it; kNowhere: none.
struct Move { uint place, from; };

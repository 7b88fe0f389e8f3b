// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offsets of keys and values in tensors with all keys of a batch. `first` is the head's first key.
$gives KEY_AT
$gives VALUE_AT
$gives NEXT_VALUE

#define KEY_AT(first, batch, head, key) ((first) + (key) * problem.key_strides[2])
#define VALUE_AT(first, batch, head, key) ((first) + (key) * problem.value_strides[2])
#define NEXT_VALUE(at, batch, head, key) (at + problem.value_strides[2])

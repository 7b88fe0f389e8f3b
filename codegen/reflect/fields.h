// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fields of an interface, for byte streams in both directions (support/byte_stream.h); found by the types'
// namespaces.
#pragma once

#include "codegen/reflect/interface.h"
#include "codegen/support/byte_stream.h"

namespace qgen {
template <typename Stream>
void fields(Stream& s, CooperativeMatrixShape& m) {
  s(m.m, m.n, m.k, m.a, m.b, m.c, m.result, m.workgroup_scope);
}
}  // namespace qgen

namespace qgen::reflect {
template <typename Stream>
void fields(Stream& s, Member& m) {
  s(m.name, m.offset, m.size_bytes, m.count, m.kind);
}
template <typename Stream>
void fields(Stream& s, Binding& b) {
  s(b.set, b.binding, b.kind, b.access, b.name, b.members, b.is_aliased);
}
template <typename Stream>
void fields(Stream& s, SpecializationConstant& c) {
  s(c.name, c.constant_id, c.default_value);
}
template <typename Stream>
void fields(Stream& s, Resources& r) {
  s(r.workgroup, r.shared_bytes, r.cooperative_matrices);
}
template <typename Stream>
void fields(Stream& s, Interface& i) {
  s(i.bindings, i.push_constants, i.push_constants_bytes, i.specialization, i.needs, i.defaults);
}
}  // namespace qgen::reflect

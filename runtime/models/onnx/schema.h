// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The operators of ONNX according to its schema: inputs, outputs, allowed types, attributes and their kinds, and the
// first opset. schema_rows.inc is the table, written by scripts/write_onnx_schema.py.
//
//   const SchemaRow* row = find_schema("Conv", "", 13);    // since opset 11
//   inputs_of(*row)                                        // X, W, and B, which is optional, all of the type T
//   attributes_of(*row)                                    // auto_pad, a word; dilations, integers; ...
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

struct SchemaRow {
  std::string_view op;
  std::string_view domain;      // empty: ONNX's own
  int64_t since = 0;            // the first opset with these inputs, outputs and attributes
  std::string_view inputs;      // "X:T W:T B?:T"; "inputs*:T" is the last one, as often as one likes
  std::string_view outputs;     // the same
  std::string_view types;       // "T=float16,float32"; a variable that is left out can be of any type
  std::string_view attributes;  // "axis=integer!"; with ! a node needs it
};

struct SchemaParameter {
  std::string_view name;
  std::string_view type;  // "float32", or a variable; empty: any
  bool is_optional = false;
  bool is_variadic = false;
};

struct SchemaAttribute {
  std::string_view name;
  std::string_view kind;  // kind_of() gives the same words
  bool is_required = false;
};

std::span<const SchemaRow> schema_rows();
// The row that is in force at an opset; nullptr: there is no such operator. Of one that a later opset brings, the first
// row: tools save LayerNormalization, for one, in models of opsets before 17. Opsets count for ONNX's own operators only.
const SchemaRow* find_schema(std::string_view op, std::string_view domain, int64_t opset);
// All versions of an operator, the oldest first.
std::span<const SchemaRow> versions_of(std::string_view op, std::string_view domain);

std::vector<SchemaParameter> inputs_of(const SchemaRow& row);
std::vector<SchemaParameter> outputs_of(const SchemaRow& row);
std::vector<SchemaAttribute> attributes_of(const SchemaRow& row);
// Empty: any.
std::vector<std::string_view> types_of(const SchemaRow& row, std::string_view variable);

// "integer", "reals", "tensor" ...
std::string_view kind_of(const AttributeData& data);

}  // namespace qgen::onnx

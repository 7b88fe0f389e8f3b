// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One function for each generated file. Private to this room.
#pragma once

#include <span>
#include <string>

#include "codegen/emit/emit.h"
#include "codegen/emit/operator_model.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {

std::string operator_header(const OperatorModel& model, const Options& options);

// `families`: all families of the run, since recipes name kernels of other specs.
Result<std::string> operator_tables(const OperatorModel& model, std::span<const Family> families,
                                    const Options& options);

// Parts of operator_tables(). The names in expressions, `Name` and `kNames`, and the value of each.
void print_names(TextWriter& out, const spec::Spec& spec);
void print_value_function(TextWriter& out, const spec::Spec& spec);
// Bindings, needs and resources of modules: `Interface` and `kInterfaces`.
void print_interfaces(TextWriter& out, const OperatorModel& model);
// `kRecipes`, if there are any. Errors: steps that do not fit the kernels they name.
Diagnostics print_recipes(TextWriter& out, const spec::Spec& spec, std::span<const Family> families);

// The signatures for callers, after the operator's table: `signatures`, if there are any.
void print_signatures(TextWriter& out, const spec::Spec& spec);

// A header for each fragment that declares problem fields: conv_walk_fields.h.
std::vector<File> fields_headers(std::span<const Family> families, const Options& options);
std::string words_header(std::span<const Family> families, const Options& options);
std::string modules_header(std::span<const Family> families, const Options& options);
std::string registry_header(const Options& options);
std::string registry_source(std::span<const Family> families, const Options& options);
std::string tunings_source(std::span<const CheckedTuning> tunings, const Options& options);
std::string blob_source(const Options& options);
std::string one_source(std::span<const Family> families);
std::string operators_header(std::span<const Family> families, const Options& options);
std::string operators_source(std::span<const Family> families, const Options& options);
std::string graph_nodes_header(std::span<const Family> families, const Options& options);
// Empty: no operator is public.
std::string operators_json(std::span<const Family> families);
std::string operators_page(std::span<const Family> families);      // empty likewise
std::string operators_c_header(std::span<const Family> families);  // empty likewise
std::string manifest(std::span<const Family> families);

// "namespace qgen::generated::quantize_affine {", and a using-directive for namespaces outside qgen.
std::string open_namespace(const Options& options, std::string_view inner);
std::string close_namespace(const Options& options, std::string_view inner);

// The name of the blob's first byte for the linker: "qgen_generated_blob".
std::string blob_symbol(const Options& options);

}  // namespace qgen::emit

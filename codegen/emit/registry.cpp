// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints the registry, which joins the operators of a run: their order, the positions of their modules, the blob.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {
namespace {

void print_head(TextWriter& out, std::string_view comment_mark) {
  out.line("{} {}. Do not edit.", comment_mark, kGeneratedMark);
}

std::string joined(const Options& options, std::string_view inner) {
  return inner.empty() ? options.name_space : fmt::format("{}::{}", options.name_space, inner);
}

bool is_within_qgen(std::string_view name_space) { return name_space == "qgen" || name_space.starts_with("qgen::"); }

// Where the tables of a run have each signature, by the public name: "q8ta_unary::signatures[1]".
std::map<std::string, std::string> signatures_of(std::span<const Family> families) {
  std::map<std::string, std::string> places;
  for (const Family& family : families) {
    const auto signatures = spec::signatures_of(*family.spec);
    for (size_t i = 0; i < signatures.size(); ++i) {
      places[signatures[i].name] = fmt::format("{}::signatures[{}]", identifier(family.spec->name.value), i);
    }
  }
  return places;
}

void print_signature_pointers(TextWriter& out, const std::map<std::string, std::string>& places) {
  if (places.empty()) return;
  out.text("constexpr const SignatureInfo* kSignatures[] = {");
  {
    const auto indented = out.indent();
    for (const auto& [name, place] : places) out.line("&{},  // {}", place, name);
  }
  out.text("};");
  out.blank();
}

}  // namespace

std::string open_namespace(const Options& options, std::string_view inner) {
  std::string text = fmt::format("namespace {} {{", joined(options, inner));
  if (!is_within_qgen(options.name_space)) text += "\nusing namespace ::qgen;";
  return text;
}

std::string close_namespace(const Options& options, std::string_view inner) {
  return fmt::format("}}  // namespace {}", joined(options, inner));
}

std::string blob_symbol(const Options& options) {
  std::string symbol;
  for (const char c : options.name_space) {
    if (c != ':') symbol += c;
    else if (!symbol.ends_with('_')) symbol += '_';
  }
  return symbol + "_blob";
}

std::string modules_header(std::span<const Family> families, const Options& options) {
  TextWriter out;
  print_head(out, "//");
  out.text("//");
  out.text("// The modules of all operators stand in the blob one after another, in the order of these lines.");
  out.text("#pragma once");
  out.blank();
  for (const Family& family : families) out.line("#include \"{}.h\"", family.spec->name.value);
  out.blank();
  out.text(open_namespace(options, ""));
  out.blank();
  std::string before;
  for (const Family& family : families) {
    const std::string name = identifier(family.spec->name.value);
    const std::string first = before.empty() ? "0" : fmt::format("{0}::kFirstModule + {0}::kVariants", before);
    out.line("namespace {} {{", name);
    out.line("constexpr uint32_t kFirstModule = {};", first);
    out.text("}");
    before = name;
  }
  out.blank();
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

// Every source but the typed functions, which need an infer() each.
std::string one_source(std::span<const Family> families) {
  TextWriter out;
  print_head(out, "//");
  for (const Family& family : families) out.line("#include \"{}.cpp\"", family.spec->name.value);
  out.text("#include \"registry.cpp\"");
  out.text("#include \"tunings.cpp\"");
  return std::move(out).take();
}

std::string registry_header(const Options& options) {
  TextWriter out;
  print_head(out, "//");
  out.text("//");
  out.text("// All operators of this run, for KernelLibrary::open().");
  out.text("#pragma once");
  out.blank();
  out.text("#include \"qgen/kernels.h\"");
  out.blank();
  out.text(open_namespace(options, ""));
  out.blank();
  out.text("const LibraryInfo& library();");
  out.blank();
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

std::string registry_source(std::span<const Family> families, const Options& options) {
  const std::string blob = blob_symbol(options);
  TextWriter out;
  print_head(out, "//");
  out.text("#include \"registry.h\"");
  out.blank();
  for (const Family& family : families) out.line("#include \"{}.h\"", family.spec->name.value);
  out.blank();
  out.text("// From blob.S.");
  out.line("extern \"C\" const std::byte {}[];", blob);
  out.line("extern \"C\" const std::byte {}_end[];", blob);
  out.blank();
  out.text(open_namespace(options, ""));
  out.text("extern const std::span<const TuningInfo* const> tunings;  // tunings.cpp");
  out.blank();
  out.text("namespace {");
  out.blank();
  out.text("constexpr const OperatorInfo* kOperators[] = {");
  {
    const auto indented = out.indent();
    for (const Family& family : families) out.line("&{}::op,", identifier(family.spec->name.value));
  }
  out.text("};");
  out.blank();
  const auto signatures = signatures_of(families);
  print_signature_pointers(out, signatures);
  out.text("}  // namespace");
  out.blank();
  out.text("const LibraryInfo& library() {");
  {
    const auto indented = out.indent();
    out.text("static const LibraryInfo info{");
    {
      const auto fields = out.indent();
      const auto more = out.indent();
      out.text(".operators = kOperators,");
      out.line(".blob = {{{0}, static_cast<size_t>({0}_end - {0})}},", blob);
      if (!signatures.empty()) out.text(".signatures = kSignatures,");
      out.text(".tunings = tunings,");
    }
    out.text("};");
    out.text("return info;");
  }
  out.text("}");
  out.blank();
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

std::string blob_source(const Options& options) {
  const std::string blob = blob_symbol(options);
  TextWriter out;
  print_head(out, "//");
  out.text("//");
  out.text("// Embeds kernels.blob; the assembler looks for it in its include folders.");
  out.text("  .section .rodata");
  for (const std::string& symbol : {blob, blob + "_end"}) {
    out.line("  .globl {}", symbol);
    out.line("  .hidden {}", symbol);
  }
  out.text("  .balign 16");
  out.line("{}:", blob);
  out.text("  .incbin \"kernels.blob\"");
  out.line("{}_end:", blob);
  out.text("  .section .note.GNU-stack,\"\",%progbits");
  return std::move(out).take();
}

std::string depfile(const std::string& target, std::span<const std::string> inputs) {
  const auto escaped = [](std::string_view path) {
    std::string text;
    for (const char c : path) {
      if (c == ' ' || c == '#' || c == '\\') text += '\\';
      if (c == '$') text += '$';
      text += c;
    }
    return text;
  };
  std::string text = escaped(target) + ":";
  for (const std::string& input : inputs) text += fmt::format(" \\\n  {}", escaped(input));
  return text + "\n";
}

Result<std::vector<File>> emit(std::span<const Family> families, std::span<const CheckedTuning> tunings,
                               const Options& options) {
  std::vector<File> files;
  Diagnostics errors;
  for (const Family& family : families) {
    const auto model = model_of(family);
    if (!model) {
      append(errors, model.error());
      continue;
    }
    auto tables = operator_tables(*model, families, options);
    if (!tables) {
      append(errors, tables.error());
      continue;
    }
    const std::string stem = "cpp/" + family.spec->name.value;
    files.push_back({stem + ".h", operator_header(*model, options)});
    files.push_back({stem + ".cpp", *std::move(tables)});
  }
  if (!errors.empty()) return errors;
  files.push_back({"cpp/modules.h", modules_header(families, options)});
  for (File& file : fields_headers(families, options)) files.push_back(std::move(file));
  files.push_back({"cpp/words.h", words_header(families, options)});
  files.push_back({"cpp/operators.h", operators_header(families, options)});
  files.push_back({"cpp/operators.cpp", operators_source(families, options)});
  files.push_back({"cpp/graph_nodes.h", graph_nodes_header(families, options)});
  files.push_back({"cpp/registry.h", registry_header(options)});
  files.push_back({"cpp/registry.cpp", registry_source(families, options)});
  files.push_back({"cpp/tunings.cpp", tunings_source(tunings, options)});
  files.push_back({"cpp/blob.S", blob_source(options)});
  if (options.is_one_source) files.push_back({"cpp/all.cpp", one_source(families)});
  files.push_back({"MANIFEST.tsv", manifest(families)});
  if (std::string json = operators_json(families); !json.empty()) {
    files.push_back({"OPERATORS.json", std::move(json)});
    files.push_back({"OPERATORS.md", operators_page(families)});
    files.push_back({"qgen_operators.h", operators_c_header(families)});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

}  // namespace qgen::emit

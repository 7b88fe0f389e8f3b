// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// words.h: the words of attributes and problem fields, an enum for each name that they go by in all specs of the run.
#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"

namespace qgen::emit {
namespace {

using Words = std::vector<spec::Located<std::string>>;

// By name. check_specs() sees to it that words of one name are the same everywhere.
std::map<std::string_view, const Words*> word_sets_of(std::span<const Family> families) {
  std::map<std::string_view, const Words*> sets;
  for (const Family& family : families) {
    for (const auto& attribute : family.spec->attributes) {
      if (attribute.is_word()) sets.emplace(attribute.word_set, &attribute.words);
    }
    for (const auto& field : family.spec->problem) {
      if (field.is_word()) sets.emplace(field.word_set, &field.words);
    }
  }
  return sets;
}

void print(TextWriter& out, std::string_view name, const Words& words) {
  std::vector<std::string> enumerators, texts;
  for (const auto& word : words) {
    enumerators.push_back(identifier(word.value));
    texts.push_back(quoted(word.value));
  }
  out.filled(fmt::format("enum class {} : uint32_t {{", word_enum(name)), enumerators, "};");
  out.filled(fmt::format("inline constexpr std::string_view {}[] = {{", word_texts(name)), texts, "};");
  out.blank();
}

}  // namespace

std::string words_header(std::span<const Family> families, const Options& options) {
  TextWriter out;
  out.line("// {}. Do not edit.", kGeneratedMark);
  out.text("//");
  out.text("// The words of attributes and problem fields, numbered as kernels number them, and how each is spelled.");
  out.text("#pragma once");
  out.blank();
  out.text("#include <cstdint>");
  out.text("#include <string_view>");
  out.blank();
  out.text(open_namespace(options, kWordsNamespace));
  out.blank();
  for (const auto& [name, words] : word_sets_of(families)) print(out, name, *words);
  out.text(close_namespace(options, kWordsNamespace));
  return std::move(out).take();
}

}  // namespace qgen::emit

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>
#include <array>

#include "runtime/library/layout_table.h"
#include "runtime/operators/families.h"
#include "runtime/operators/prepare.h"
#include "runtime/operators/weight_packing.h"

namespace qgen {
namespace {

constexpr size_t kForms = std::ranges::count(kLayouts, true, &LayoutInfo::is_weight);
constexpr std::array<std::string_view, kForms> kFormWords = [] {
  std::array<std::string_view, kForms> words{};
  size_t next = 0;
  for (const LayoutInfo& row : kLayouts) {
    if (row.is_weight) words[next++] = row.name;
  }
  return words;
}();

constexpr TensorInfo kInputs[] = {{"source", false, "i8 [N, K], symmetric"}};
constexpr TensorInfo kOutputs[] = {
    {"output", false, "the same elements; of a form of four bits, at least -8 and at most 7", true}};
constexpr AttributeInfo kAttributes[] = {
    {"form", AttributeInfo::Kind::word, "", "how the output lies in memory", kFormWords}};

Expected<PreparedCall> prepare_pack(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto source = upload_input(context, request, "source", prepared);
  if (!source) return source.error();
  const Layout form = *find_layout(attribute<std::string>(request, "form"));
  return finished(std::move(prepared), pack_weight_call(desc_of(**source), form), {*source, {}});
}

constexpr OperatorEntry kEntries[] = {
    {"pack_weight", "a weight from plain rows into a form that linear layers read", kInputs, kOutputs, kAttributes,
     prepare_pack},
};

}  // namespace

std::span<const OperatorEntry> weight_packing_entries() { return kEntries; }

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen {
namespace {

// A kernel of tables that another run made than the blob; null: none.
const KernelInfo* first_without_module(const LibraryInfo& info, size_t module_count) {
  for (const OperatorInfo* op : info.operators) {
    const auto it = std::ranges::find_if(op->kernels, [&](const KernelInfo& k) { return k.module >= module_count; });
    if (it != op->kernels.end()) return &*it;
  }
  return nullptr;
}

}  // namespace

Expected<KernelLibrary> KernelLibrary::open(const LibraryInfo& info) {
  auto blob = Blob::open(info.blob);
  if (!blob) return blob.error();
  if (const KernelInfo* kernel = first_without_module(info, blob->module_count())) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("kernel '{}' names module {}, and the blob has {}", kernel->id, kernel->module,
                             blob->module_count()),
                 "link tables and blob from one run of qgen"};
  }
  return KernelLibrary(info, *std::move(blob));
}

const OperatorInfo* KernelLibrary::find(std::string_view operator_name) const {
  const auto it = std::ranges::lower_bound(info_.operators, operator_name, {}, &OperatorInfo::name);
  return it != info_.operators.end() && (*it)->name == operator_name ? *it : nullptr;
}

KernelLibrary::Found KernelLibrary::find_kernel(std::string_view id) const {
  // An id starts with its operator's name and a dot; names have no dots.
  const OperatorInfo* op = find(id.substr(0, id.find('.')));
  if (!op) return {};
  const auto kernel = std::ranges::lower_bound(op->kernels, id, {}, &KernelInfo::id);
  if (kernel != op->kernels.end() && kernel->id == id) return {op, &*kernel, nullptr};
  const auto recipe = std::ranges::find(op->recipes, id, &RecipeInfo::id);
  return recipe != op->recipes.end() ? Found{op, nullptr, &*recipe} : Found{};
}

std::vector<uint32_t> specialization_values(const OperatorInfo& op, size_t row, const void* problem) {
  const size_t chosen = op.specialization_names.size();
  std::vector<uint32_t> values(op.specialization(row), op.specialization(row) + chosen);
  values.resize(chosen + op.constants_count);
  if (op.constants) op.constants({.problem = problem}, values.data() + chosen);
  return values;
}

}  // namespace qgen

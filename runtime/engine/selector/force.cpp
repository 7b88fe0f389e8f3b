// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/force.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "common/nearest.h"
#include "runtime/engine/library/blob_format.h"

namespace qgen::selector {
namespace {

std::string specializations_text(const OperatorInfo& op) {
  std::vector<std::string> ids;
  for (size_t row = 0; row < op.specialization_count(); ++row) ids.push_back(specialization_id(op, row));
  return fmt::format("{}", fmt::join(ids, ", "));
}

// The nearest id; else the ids that contain the text, such as "tiled"; else an example of an id.
std::string hint_of(std::string_view written, const std::vector<std::string_view>& known) {
  const std::string_view meant = nearest(written, known);
  if (!meant.empty()) return fmt::format("did you mean '{}'?", meant);
  std::vector<std::string_view> shown;
  std::ranges::copy_if(known, std::back_inserter(shown), [&](std::string_view id) {
    return !written.empty() && id.find(written) != std::string_view::npos;
  });
  if (shown.empty()) shown = known;
  constexpr size_t kMaxShown = 4;
  const size_t left = shown.size() - std::min(shown.size(), kMaxShown);
  shown.resize(shown.size() - left);
  return fmt::format("possible are {}{}", fmt::join(shown, ", "), left > 0 ? fmt::format(" and {} more", left) : "");
}

Error unknown_id(const OperatorInfo& op, const KernelLibrary& library, std::string_view id) {
  const auto elsewhere = library.find_kernel(id.substr(0, id.find('/')));
  if (elsewhere.op && elsewhere.op != &op) {
    return {Error::Kind::not_found, fmt::format("belongs to '{}', not to '{}'", elsewhere.op->name, op.name), ""};
  }
  std::vector<std::string_view> known;
  for (const KernelInfo& kernel : op.kernels) known.push_back(kernel.id);
  for (const RecipeInfo& recipe : op.recipes) known.push_back(recipe.id);
  return {Error::Kind::not_found, fmt::format("is no kernel or recipe of '{}'", op.name),
          hint_of(id.substr(0, id.find_first_of("/(")), known)};
}

}  // namespace

std::vector<std::string> step_ids(std::string_view choice_id) {
  const size_t open = choice_id.find('(');
  if (open == std::string_view::npos || !choice_id.ends_with(')')) return {};
  std::string_view rest = choice_id.substr(open + 1, choice_id.size() - open - 2);
  std::vector<std::string> ids;
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    ids.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return ids;
}

const OperatorInfo& table_of(const OperatorInfo& op, const KernelLibrary& library) {
  const OperatorInfo* found = library.find(op.name);
  const bool has_more = found && !op.fields.empty() && found->fields.data() == op.fields.data() &&
                        found->kernels.size() > op.kernels.size();
  return has_more ? *found : op;
}

FoundKernel find_kernel(const OperatorInfo& op, std::string_view id) {
  const size_t slash = id.find('/');
  const std::string_view variant = id.substr(0, slash);
  const auto kernel = std::ranges::lower_bound(op.kernels, variant, {}, &KernelInfo::id);
  if (kernel == op.kernels.end() || kernel->id != variant) return {};
  if (slash == std::string_view::npos) return {&*kernel, std::nullopt, ""};
  const std::string_view wanted = id.substr(slash + 1);
  if (const auto row = specialization_row(op, wanted)) return {&*kernel, row, ""};
  return {&*kernel, std::nullopt, std::string(wanted)};
}

namespace {

std::optional<uint64_t> digest_of_kernel(const OperatorInfo& op, std::string_view id, const KernelLibrary& library) {
  const FoundKernel found = find_kernel(op, id);
  if (!found.kernel || !found.unknown_specialization.empty()) return std::nullopt;
  return library.digest(*found.kernel);
}

}  // namespace

Expected<Forced> parse_force(const OperatorInfo& op, const KernelLibrary& library, std::string_view force) {
  Forced forced;
  if (force.empty()) return forced;
  const auto recipe = std::ranges::find(op.recipes, force.substr(0, force.find('(')), &RecipeInfo::id);
  if (recipe != op.recipes.end()) {
    forced.recipe = &*recipe;
    forced.steps = step_ids(force);
    if (!forced.steps.empty() && forced.steps.size() != recipe->steps.size()) {
      return refused(
          fmt::format("has {} steps, and kernels are given for {}", recipe->steps.size(), forced.steps.size()));
    }
    return forced;
  }
  const FoundKernel found = find_kernel(op, force);
  if (!found.kernel) return unknown_id(op, library, force);
  if (!found.unknown_specialization.empty()) {
    return Error{Error::Kind::not_found, fmt::format("has no specialization '{}'", found.unknown_specialization),
                 fmt::format("it has {}", specializations_text(op))};
  }
  forced.kernel = {.kernel = found.kernel, .row = found.row};
  return forced;
}

}  // namespace qgen::selector

namespace qgen {

std::optional<uint64_t> digest_of(const OperatorInfo& asked, std::string_view choice_id, const KernelLibrary& library) {
  const OperatorInfo& op = selector::table_of(asked, library);
  const auto recipe = std::ranges::find(op.recipes, choice_id.substr(0, choice_id.find('(')), &RecipeInfo::id);
  if (recipe == op.recipes.end()) return selector::digest_of_kernel(op, choice_id, library);
  const auto ids = selector::step_ids(choice_id);
  if (ids.size() != recipe->steps.size()) return std::nullopt;
  std::vector<uint64_t> digests;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto digest = selector::digest_of_kernel(*recipe->steps[i].family, ids[i], library);
    if (!digest) return std::nullopt;
    digests.push_back(*digest);
  }
  return joined_digest(digests);
}

uint64_t joined_digest(std::span<const uint64_t> of_steps) { return blob_format::checksum(std::as_bytes(of_steps)); }

}  // namespace qgen

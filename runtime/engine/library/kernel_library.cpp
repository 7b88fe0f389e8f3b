// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "common/files.h"

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

// Finds the module of the tables that a newer module is for.
class Matcher {
 public:
  Matcher(const Blob& built, const Blob& newer)
      : built_(built), has_all_(built.module_count() == newer.module_count()) {
    for (uint32_t i = 0; i < built.module_count(); ++i) {
      const auto [place, is_new] = by_digest_.try_emplace(built.tables_digest(i), i);
      if (!is_new) place->second = kSeveral;
    }
  }

  std::optional<uint32_t> find(uint32_t index, uint32_t tables_digest) const {
    if (has_all_ && built_.tables_digest(index) == tables_digest) return index;
    const auto found = by_digest_.find(tables_digest);
    if (found == by_digest_.end() || found->second == kSeveral) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr uint32_t kSeveral = ~0U;
  const Blob& built_;
  bool has_all_;
  std::map<uint32_t, uint32_t> by_digest_;
};

std::string_view id_of(const LibraryInfo& info, uint32_t module) {
  for (const OperatorInfo* op : info.operators) {
    const auto kernel = std::ranges::find(op->kernels, module, &KernelInfo::module);
    if (kernel != op->kernels.end()) return kernel->id;
  }
  return "";
}

// A blob has no ids, but its order is that of the tables. So a kernel of a file that the program lacks has the id of
// its neighbour: of the kernel that the program has after the same `before`, or in the same place.
std::string stranger_text(const LibraryInfo& info, uint32_t module, std::optional<uint32_t> before) {
  if (before) return fmt::format("the file's kernel after '{}'", id_of(info, *before));
  return fmt::format("the file's kernel in the place of '{}'", id_of(info, module));
}

bool has_tables_digests(const Blob& blob) {
  for (size_t i = 0; i < blob.module_count(); ++i) {
    if (blob.tables_digest(i) == 0) return false;
  }
  return true;
}

}  // namespace

// ---- modules --------------------------------------------------------------------------------------------------------

uint64_t Modules::digest(uint32_t module) const {
  const auto found = newer_.find(module);
  return found == newer_.end() ? built_.module_digest(module) : found->second.blob.module_digest(found->second.index);
}

uint64_t Modules::digest(const KernelInfo& kernel) const { return digest(kernel.module); }

Expected<std::vector<uint32_t>> Modules::words(const KernelInfo& kernel) const {
  const auto found = newer_.find(kernel.module);
  return found == newer_.end() ? built_.module(kernel.module) : found->second.blob.module(found->second.index);
}

struct KernelLibrary::State {
  std::mutex reloading;  // held while a file is read and compared
  std::mutex mutex;      // guards the following member
  std::shared_ptr<const Modules> modules;
};

KernelLibrary::KernelLibrary(LibraryInfo info, Blob blob)
    : info_(info), built_(std::move(blob)), state_(std::make_shared<State>()) {
  state_->modules = std::shared_ptr<const Modules>(new Modules(built_));
}

std::shared_ptr<const Modules> KernelLibrary::modules() const {
  const std::lock_guard lock(state_->mutex);
  return state_->modules;
}

Expected<size_t> KernelLibrary::reload(const std::string& path) {
  const std::lock_guard one_at_a_time(state_->reloading);
  const auto text = read_file(path);
  if (!text) return text.error();
  std::vector<std::byte> bytes(text->size());
  std::memcpy(bytes.data(), text->data(), bytes.size());
  const auto blob = Blob::own(std::move(bytes));
  if (!blob) return in_file(path, blob.error());
  auto newer = with_modules_of(*blob);
  if (!newer) return in_file(path, newer.error());

  const std::lock_guard lock(state_->mutex);
  size_t changed = 0;
  for (uint32_t i = 0; i < built_.module_count(); ++i)
    changed += (*newer)->digest(i) != state_->modules->digest(i) ? 1 : 0;
  if (changed > 0) state_->modules = *std::move(newer);
  return changed;
}

// Every newer module is unpacked here, so that a damaged file is refused now and not by a later recording.
Expected<std::shared_ptr<const Modules>> KernelLibrary::with_modules_of(const Blob& newer) const {
  if (!has_tables_digests(built_) || !has_tables_digests(newer)) {
    return Error{Error::Kind::unsupported,
                 has_tables_digests(newer) ? "this program's kernels were not made by a qgen that supports reloading"
                                           : "the file was not made by a qgen that supports reloading",
                 "generate the kernels again with a newer qgen"};
  }
  const Matcher matcher(built_, newer);
  auto modules = std::shared_ptr<Modules>(new Modules(*this->modules()));
  std::optional<uint32_t> before;  // the program's module of the file's previous one
  for (uint32_t i = 0; i < newer.module_count(); ++i) {
    const auto module = matcher.find(i, newer.tables_digest(i));
    if (!module) {
      const bool has_as_many = newer.module_count() == built_.module_count();
      return refused(fmt::format("{} does not fit this program: the program has no kernel with this id, spec and "
                                 "interface",
                                 stranger_text(info_, i, has_as_many ? std::nullopt : before)),
                     "build the program again with the new tables");
    }
    before = module;
    if (newer.module_digest(i) == modules->digest(*module)) continue;
    modules->newer_.erase(*module);
    if (newer.module_digest(i) == built_.module_digest(*module)) continue;
    if (const auto words = newer.module(i); !words) return words.error();
    modules->newer_.emplace(*module, Modules::Newer{newer, i});
  }
  return std::shared_ptr<const Modules>(std::move(modules));
}

// ---- the library ----------------------------------------------------------------------------------------------------

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

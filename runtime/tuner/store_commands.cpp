// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reading, moving and removing what the store has; no device is opened.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <tuple>

#include "common/files.h"
#include "runtime/profiles/device_file.h"
#include "runtime/report/page.h"
#include "runtime/selector/select.h"
#include "runtime/tuner/commands.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/tuning_file.h"

namespace qgen::tuner {
namespace {

using tuning::Store;
using tuning::StoredDevice;
using tuning::TunedRow;
using tuning::TuningFile;

// Of these operators alone; empty: of all.
void keep_operators(std::vector<TunedRow>& rows, const std::vector<std::string>& operators) {
  if (operators.empty()) return;
  std::erase_if(rows, [&](const TunedRow& row) {
    return std::ranges::find(operators, operator_of(row.problem)) == operators.end();
  });
}

// What the store has of each device that is meant, of the operators that are.
Expected<std::vector<TuningFile>> stored_files(Store& store, const Arguments& arguments) {
  auto devices = store.devices();
  if (!devices) return devices.error();
  std::vector<TuningFile> files;
  for (const StoredDevice& stored : *devices) {
    auto device = profiles::read_device(stored.profile, store.path().string());
    if (!device) return device.error();
    const auto names = {device->name, uuid_text(device->device_uuid)};
    if (std::ranges::none_of(names,
                             [&](const std::string& name) { return name.find(arguments.device) != std::string::npos; }))
      continue;
    auto rows = store.rows(stored.key);
    if (!rows) return rows.error();
    keep_operators(*rows, arguments.operators);
    if (!rows->empty()) files.push_back({*std::move(device), *std::move(rows)});
  }
  if (files.empty()) {
    return Error{Error::Kind::not_found,
                 fmt::format("'{}' has no times of such a device or operator", store.path().string()),
                 "qgen-tune measures some"};
  }
  return files;
}

Error several_devices(const std::vector<TuningFile>& files, std::string hint) {
  std::vector<std::string> names;
  for (const TuningFile& file : files) {
    names.push_back(
        fmt::format("{} {} of UUID {}", file.device.name, file.device.driver_info, uuid_text(file.device.device_uuid)));
  }
  return refused(fmt::format("there are {} devices: {}", files.size(), fmt::join(names, ", ")), std::move(hint));
}

Done write_out(const std::string& path, const std::string& text) {
  if (!path.empty()) return write_file(path, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::monostate{};
}

// "NVIDIA H200" -> "nvidia-h200"
std::string part_of_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "device" : name;
}

// Cards of one model, with one driver, are one device to those whom a folder of tuning files is for.
std::vector<TuningFile> by_model(std::vector<TuningFile> files) {
  std::vector<TuningFile> models;
  for (TuningFile& file : files) {
    const auto same = std::ranges::find_if(models, [&](const TuningFile& other) {
      const DeviceProfile &a = file.device, &b = other.device;
      return std::tie(a.name, a.vendor_id, a.device_id, a.driver_version) ==
             std::tie(b.name, b.vendor_id, b.device_id, b.driver_version);
    });
    if (same == models.end()) models.push_back(std::move(file));
    else same->rows = tuning::merged(std::move(same->rows), std::move(file.rows));
  }
  return models;
}

// After the device, and after its driver where times of several are known.
std::string file_name_of(const DeviceProfile& device, std::span<const TuningFile> all) {
  std::string name = part_of_file_name(device.name);
  const auto has_name = [&](const TuningFile& file) { return part_of_file_name(file.device.name) == name; };
  if (std::ranges::count_if(all, has_name) > 1) name += "-" + part_of_file_name(device.driver_info);
  return name + ".yaml";
}

// ---- what was gained ------------------------------------------------------------------------------------------------

bool is_of_this_library(const TunedRow& row, const KernelLibrary& library) {
  const OperatorInfo* op = library.find(operator_of(row.problem));
  return op && digest_of(*op, row.kernel, library) == row.digest;
}

void show_problem(const report::ProblemFact& problem, const KernelLibrary& library) {
  const TunedRow& best = problem.kernels.front().row;
  fmt::print("  {}\n    {:>9.4g} us  {}  ({}{}, {} measured{})\n", best.problem, best.us, best.kernel, best.date,
             best.is_cold ? " with a cold cache" : "", problem.kernels.size(),
             is_of_this_library(best, library) ? "" : "; of another version of the kernel");
  if (const auto gain = problem.gain()) {
    fmt::print("    {:>9.4g} us  untuned, {:.2f} times as long\n", problem.kernels[*problem.untuned].row.us, *gain);
  }
}

}  // namespace

Expected<int> show(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  auto store = Store::open_existing(store_path(arguments));
  if (!store) return store.error();
  const auto files = stored_files(*store, arguments);
  if (!files) return files.error();
  for (const TuningFile& file : *files) {
    fmt::print("{} ({} {}): {} times\n", file.device.name, file.device.driver_name, file.device.driver_info,
               file.rows.size());
    const report::Facts facts = report::facts_of(file, *library);
    for (const report::ProblemFact& problem : facts.problems) show_problem(problem, *library);
    const report::GainSummary gains = report::summary_of(facts.problems);
    if (gains.problems > 0) {
      fmt::print("  untuned choices take {:.3f} times as long, geometric mean of {} of {} problems\n",
                 gains.geometric_mean, gains.problems, facts.problems.size());
    }
  }
  return kDone;
}

Expected<int> export_file(const Program&, const Arguments& arguments) {
  auto store = Store::open_existing(store_path(arguments));
  if (!store) return store.error();
  auto stored = stored_files(*store, arguments);
  if (!stored) return stored.error();
  const bool is_folder = std::filesystem::is_directory(arguments.output) || arguments.output.ends_with('/');
  const std::vector<TuningFile> files = is_folder ? by_model(*std::move(stored)) : *std::move(stored);
  if (!is_folder && files.size() > 1) return several_devices(files, "choose one with --device, or name a folder");
  if (arguments.output.empty()) return write_out("", to_yaml(files.front())) ? kDone : kWrongMachine;
  Outputs outputs;
  std::string done;
  for (const TuningFile& file : files) {
    const std::string path = is_folder
                                 ? (std::filesystem::path(arguments.output) / file_name_of(file.device, files)).string()
                                 : arguments.output;
    if (Done added = outputs.add(path, to_yaml(file), Outputs::Folder::is_made); !added) return added.error();
    done += fmt::format("{}: {} times\n", path, file.rows.size());
  }
  if (Done written = outputs.commit(); !written) return written.error();
  fmt::print("{}", done);
  return kDone;
}

Expected<int> import_files(const Arguments& arguments) {
  std::vector<TuningFile> files;
  for (const std::string& path : arguments.files) {
    auto file = tuning::load_tuning_file(path);
    if (!file) return file.error();
    files.push_back(*std::move(file));
  }
  auto store = Store::open(store_path(arguments));
  if (!store) return store.error();
  for (const TuningFile& file : files) {
    const Done added = store->add(tuning::device_key(file.device), profiles::to_yaml(file.device), file.rows);
    if (!added) return added.error();
    fmt::print("{}: {} times\n", file.device.name, file.rows.size());
  }
  return kDone;
}

namespace {

// Of one device.
Expected<TuningFile> merged_files(const Arguments& arguments) {
  std::optional<TuningFile> all;
  for (const std::string& path : arguments.files) {
    auto file = tuning::load_tuning_file(path);
    if (!file) return file.error();
    if (all && (all->device.vendor_id != file->device.vendor_id || all->device.device_id != file->device.device_id)) {
      return refused(
          fmt::format("'{}' is of {}, and the files before are of {}", path, file->device.name, all->device.name),
          "merge files of one device");
    }
    if (all) all->rows = merged(std::move(all->rows), std::move(file->rows));
    else all = *std::move(file);
  }
  return *std::move(all);
}

// What the store has of the one device that is meant.
Expected<TuningFile> stored_file(const Arguments& arguments) {
  auto store = Store::open_existing(store_path(arguments));
  if (!store) return store.error();
  auto files = stored_files(*store, arguments);
  if (!files) return files.error();
  if (files->size() > 1) return several_devices(*files, "choose one with --device");
  return std::move(files->front());
}

}  // namespace

Expected<int> merge_files(const Arguments& arguments) {
  const auto all = merged_files(arguments);
  if (!all) return all.error();
  if (Done written = write_out(arguments.output, to_yaml(*all)); !written) return written.error();
  return kDone;
}

Expected<int> report_page(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  auto file = arguments.files.empty() ? stored_file(arguments) : merged_files(arguments);
  if (!file) return file.error();
  keep_operators(file->rows, arguments.operators);
  const std::string path = arguments.output.empty() ? "report.html" : arguments.output;
  if (Done written = write_file(path, page_of(report::facts_of(*file, *library))); !written) return written.error();
  fmt::print("{}: {} times of {}\n", path, file->rows.size(), file->device.name);
  return kDone;
}

Expected<int> forget(const Arguments& arguments) {
  auto store = Store::open_existing(store_path(arguments));
  if (!store) return store.error();
  std::vector<std::string> operators = arguments.operators;
  if (arguments.is_all) operators = {""};
  size_t gone = 0;
  for (const std::string& op : operators) {
    const auto some = store->forget({.op = op, .device = arguments.device});
    if (!some) return some.error();
    gone += *some;
  }
  fmt::print("forgot {} times\n", gone);
  return kDone;
}

Expected<int> fit(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  const auto told = fitting::fit_specs(arguments.fit, *library);
  if (!told) return told.error();
  fmt::print("{}", *told);
  return kDone;
}

}  // namespace qgen::tuner

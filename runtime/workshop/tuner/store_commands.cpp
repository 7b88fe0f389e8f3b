// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reading, moving and removing the store's rows; no device is opened.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "common/all_cores.h"
#include "common/files.h"
#include "common/log.h"
#include "common/text.h"
#include "common/time_text.h"
#include "runtime/engine/calls/registry.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/workshop/report/page.h"
#include "runtime/workshop/tuner/commands.h"
#include "runtime/workshop/tuner/fleet.h"

namespace qgen::tuner {
namespace {

using tuning::LeftOut;
using tuning::Store;
using tuning::StoredDevice;
using tuning::TunedRow;
using tuning::TuningFile;

// Keys begin with the names of specs. So an operator is looked up as the spec whose kernels compute it, which a line
// says; a name that is no operator stays.
std::vector<std::string> specs_of(const Program& program, const std::vector<std::string>& operators) {
  std::vector<std::string> specs;
  for (const std::string& op : operators) {
    const OperatorEntry* entry = find_operator(program.library.operators, op);
    specs.emplace_back(entry ? entry->op->name : op);
    if (specs.back() != op)
      print_log("{}: '{}' has the kernels of the spec '{}'\n", program.library.name, op, specs.back());
  }
  return specs;
}

// Of these specs alone; empty: of all.
void keep_operators(std::vector<TunedRow>& rows, const std::vector<std::string>& operators) {
  if (operators.empty()) return;
  std::erase_if(rows, [&](const TunedRow& row) {
    return std::ranges::find(operators, operator_of(row.problem)) == operators.end();
  });
}

constexpr size_t kMostWarnings = 3;

void warn(const Program& program, const std::vector<std::string>& faults) {
  for (size_t i = 0; i < std::min(faults.size(), kMostWarnings); ++i) {
    print_log("{}: warning: {}; left out\n", program.library.name, faults[i]);
  }
  if (faults.size() > kMostWarnings) {
    print_log("{}: warning: {} more are left out for similar reasons\n", program.library.name,
              faults.size() - kMostWarnings);
  }
}

std::string times_text(size_t count) { return fmt::format("{} time{}", count, count == 1 ? "" : "s"); }

// One line for one reason: "2 times are left out, of operators that this program lacks; the first is of 'sum'".
void tell_left_out(const Program& program, const LeftOut& left_out, std::string_view why) {
  if (left_out.rows == 0) return;
  print_log("{}: note: {} {} left out, {}; the first is {}\n", program.library.name, times_text(left_out.rows),
            left_out.rows == 1 ? "is" : "are", why, left_out.first);
}

// Why its operator cannot have a problem of this key. None: it can, or the library lacks the operator.
std::optional<Error> fault_of_key(const std::string& key, const KernelLibrary& library) {
  const OperatorInfo* op = library.find(operator_of(key));
  if (!op) return std::nullopt;
  const auto problem = problem_of(key, *op);
  return problem ? std::nullopt : std::optional(problem.error());
}

// "2 of q8ta_unary, 1 of conv_tile".
std::string counts_text(const std::map<std::string, size_t>& counts) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts) texts.push_back(fmt::format("{} of {}", count, name));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Leaves out rows of unknown problems, with a sentence for each, and one for all rows that another version of the specs
// wrote.
std::vector<std::string> drop_impossible(std::vector<TunedRow>& rows, const KernelLibrary& library) {
  std::map<std::string, bool, std::less<>> is_impossible;
  std::map<std::string, size_t> lapsed;
  std::vector<std::string> faults;
  auto last = is_impossible.end();  // rows of one problem mostly follow each other
  std::erase_if(rows, [&](const TunedRow& row) {
    if (last != is_impossible.end() && last->first == row.problem) return last->second;
    const auto [known, is_new] = is_impossible.try_emplace(row.problem, false);
    last = known;
    if (!is_new) return known->second;
    const auto fault = fault_of_key(row.problem, library);
    known->second = fault.has_value();
    if (fault && fault->kind == Error::Kind::unsupported) ++lapsed[std::string(operator_of(row.problem))];
    else if (fault) faults.push_back(fault->message);
    return known->second;
  });
  if (!lapsed.empty())
    faults.push_back(fmt::format("problems whose keys another version of the specs wrote, to be tuned again: {}",
                                 counts_text(lapsed)));
  return faults;
}

bool is_result(const TuningFile& file) { return !file.base_us.empty(); }

// A file whose problems there can be. Those that another version of the specs wrote are left out, with a warning.
struct Loaded {
  TuningFile file;
  std::vector<std::string> warnings;
};
Expected<Loaded> load_checked(const std::string& path, const KernelLibrary& library) {
  auto file = tuning::load_tuning_file(path);
  if (!file) return file.error();
  Loaded loaded{*std::move(file), {}};
  for (const auto& [key, line] : loaded.file.lines) {
    const auto fault = fault_of_key(key, library);
    if (!fault) continue;
    std::string message = fmt::format("{}:{}: {}", path, line, fault->message);
    if (fault->kind != Error::Kind::unsupported) return Error{fault->kind, std::move(message), fault->hint};
    loaded.warnings.push_back(std::move(message));
  }
  if (!loaded.warnings.empty()) (void)drop_impossible(loaded.file.rows, library);
  return loaded;
}

// In the order of the paths; read by all cores, since a fleet has a thousand. The error of the first that has one.
Expected<std::vector<TuningFile>> load_all(const std::vector<std::string>& paths, const Program& program,
                                           const KernelLibrary& library) {
  std::vector<std::optional<Expected<Loaded>>> all(paths.size());
  on_all_cores(paths.size(), [&](size_t i) { all[i] = load_checked(paths[i], library); });
  std::vector<TuningFile> files;
  for (std::optional<Expected<Loaded>>& loaded : all) {
    if (!*loaded) return loaded->error();
    warn(program, (*loaded)->warnings);
    files.push_back(std::move((*loaded)->file));
  }
  return files;
}

// A store may serve several programs: rows of operators that this one lacks belong to another.
void drop_foreign(std::vector<TunedRow>& rows, const KernelLibrary& library, LeftOut& foreign) {
  std::erase_if(rows, [&](const TunedRow& row) {
    const std::string_view op = operator_of(row.problem);
    const bool is_foreign = !library.find(op);
    if (is_foreign) foreign.add(fmt::format("of '{}'", op));
    return is_foreign;
  });
}

bool is_of_this_library(const TunedRow& row, const KernelLibrary& library) {
  const OperatorInfo* op = library.find(operator_of(row.problem));
  return op && digest_of(*op, row.kernel, library) == row.digest;
}

// The rows that the program does not choose by: of kernels that it lacks or that changed since.
LeftOut unused_of(const std::vector<TunedRow>& rows, const KernelLibrary& library) {
  LeftOut unused;
  for (const TunedRow& row : rows) {
    if (!is_of_this_library(row, library)) unused.add(row.kernel);
  }
  return unused;
}

// Removes those rows.
void keep_current(std::vector<TunedRow>& rows, const KernelLibrary& library) {
  std::erase_if(rows, [&](const TunedRow& row) { return !is_of_this_library(row, library); });
}

// They are kept, for programs with their kernels.
void note_unused(const Program& program, const LeftOut& unused) {
  if (unused.rows == 0) return;
  print_log("{}: note: {} more {} of kernels that this program lacks or that changed since; the first is '{}'\n",
            program.library.name, times_text(unused.rows), unused.rows == 1 ? "is" : "are", unused.first);
}

Error no_times(const Store& store, const Arguments& arguments, const std::vector<std::string>& operators) {
  std::string whose = operators.empty() ? "" : fmt::format(" of {}", fmt::join(operators, ", "));
  if (!arguments.device.empty()) whose += fmt::format(" on a device '{}'", arguments.device);
  return {Error::Kind::not_found, fmt::format("'{}' has no times{}", store.path().string(), whose),
          "measure some with qgen-tune"};
}

// The store's rows for each selected device and operator.
Expected<std::vector<TuningFile>> stored_files(Store& store, const Program& program, const Arguments& arguments,
                                               const KernelLibrary& library) {
  auto devices = store.devices();
  if (!devices) return devices.error();
  const std::vector<std::string> operators = specs_of(program, arguments.operators);
  std::vector<TuningFile> files;
  const auto orphans = store.orphans();
  if (!orphans) return orphans.error();
  tell_left_out(program, *orphans, "of a device or a problem that the store lacks");
  LeftOut foreign;
  for (const StoredDevice& stored : *devices) {
    auto device = profiles::read_device(stored.profile, "the store");
    if (!device) {
      const auto rows = store.rows(stored.key);
      if (!rows) return rows.error();
      warn(program, {fmt::format("{}, and {}", tuning::fault_of_profile(stored), times_text(rows->size()))});
      continue;
    }
    const auto names = {device->name, uuid_text(device->device_uuid)};
    if (std::ranges::none_of(names,
                             [&](const std::string& name) { return name.find(arguments.device) != std::string::npos; }))
      continue;
    auto found = store.read(stored.key, {});
    if (!found) return found.error();
    std::vector<TunedRow>& rows = found->rows;
    keep_operators(rows, operators);
    drop_foreign(rows, library, foreign);
    std::ranges::move(drop_impossible(rows, library), std::back_inserter(found->faults));
    warn(program, found->faults);
    const LeftOut quarantined{found->quarantined.rows, fmt::format("of '{}'", found->quarantined.first)};
    tell_left_out(program, quarantined, fmt::format("of kernels that are quarantined on {}", device->name));
    if (!rows.empty()) files.push_back({*std::move(device), std::move(rows)});
  }
  tell_left_out(program, foreign, "of operators that this program lacks");
  if (files.empty()) return no_times(store, arguments, operators);
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

const DeviceProfile& device_of_file(const TuningFile& file) { return file.device; }

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

// Cards of one model, with one driver, are one device to those whom a tuning file is for.
auto model_of(const DeviceProfile& device) {
  return std::tie(device.name, device.vendor_id, device.device_id, device.driver_name, device.driver_info,
                  device.driver_version);
}

// The rows of all, which are of one model. The device is the same one in every order of the files.
TuningFile merged_file(std::vector<TuningFile> files) {
  const auto first =
      std::ranges::min_element(files, {}, [](const TuningFile& file) { return tuning::standing_of(file.device); });
  TuningFile all{.device = first->device};
  std::vector<std::vector<TunedRow>> rows;
  for (TuningFile& file : files) rows.push_back(std::move(file.rows));
  all.rows = tuning::merged(std::move(rows));
  return all;
}

// Grouped by model_of(), in its order.
template <typename File>
std::vector<std::vector<File>> by_model(std::vector<File> files, const DeviceProfile& (*device_of)(const File&)) {
  std::ranges::stable_sort(files, {}, [&](const File& file) { return model_of(device_of(file)); });
  std::vector<std::vector<File>> models;
  for (File& file : files) {
    const bool is_new = models.empty() || model_of(device_of(models.back().front())) != model_of(device_of(file));
    if (is_new) models.emplace_back();
    models.back().push_back(std::move(file));
  }
  return models;
}

// "nvidia-h200", and longer names that have more of the device and its driver.
std::vector<std::string> possible_names(const DeviceProfile& device) {
  std::vector<std::string> names = {part_of_file_name(device.name)};
  for (const std::string& part : {device.driver_info, fmt::format("{:x}", device.driver_version), device.driver_name,
                                  fmt::format("{:04x} {:04x}", device.vendor_id, device.device_id)}) {
    names.push_back(names.back() + "-" + part_of_file_name(part));
  }
  return names;
}

// A name for each, the shortest one that no other can have: after the device, and after its driver where times of
// several are known.
std::vector<std::string> file_names_of(std::span<const TuningFile> all) {
  std::map<std::string, size_t> counts;
  for (const TuningFile& file : all) {
    for (const std::string& name : possible_names(file.device)) ++counts[name];
  }
  std::vector<std::string> names;
  for (const TuningFile& file : all) {
    const std::vector<std::string> possible = possible_names(file.device);
    const auto unique = std::ranges::find_if(possible, [&](const std::string& name) { return counts[name] == 1; });
    names.push_back((unique == possible.end() ? possible.back() : *unique) + ".yaml");
  }
  return names;
}

bool is_folder(const std::string& output) { return std::filesystem::is_directory(output) || output.ends_with('/'); }

// One file for each, all or none; says what is in each.
Done write_folder(const std::string& folder, std::span<const TuningFile> files) {
  Outputs outputs;
  std::string done;
  const std::vector<std::string> names = file_names_of(files);
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = (std::filesystem::path(folder) / names[i]).string();
    if (Done added = outputs.add(path, to_yaml(files[i]), Outputs::Folder::is_made); !added) return added;
    done += fmt::format("{}: {} times\n", path, files[i].rows.size());
  }
  if (Done written = outputs.commit(); !written) return written;
  fmt::print("{}", done);
  return std::monostate{};
}

// ---- what was gained ------------------------------------------------------------------------------------------------

// In lines of 100 columns.
std::string key_text(const std::string& key) { return fmt::format("  {}\n", wrapped(key, 6, 100)); }

std::string line_of(const TunedRow& row) {
  return fmt::format("    {:>9} us  {}\n", us_text(row.us), wrapped(row.kernel, 18, 100));
}

// As programs choose: by the rows of kernels that the library has. `problem` has one at least.
void show_problem(const report::ProblemFact& problem, const std::string& left_out) {
  const TunedRow& best = problem.kernels.front().row;
  fmt::print("{}{}", key_text(best.problem), line_of(best));
  if (const auto gain = problem.gain()) {
    const TunedRow& untuned = problem.kernels[*problem.untuned].row;
    if (*problem.untuned == 0) fmt::print("                  also the untuned choice\n");
    else if (*gain >= 1)
      fmt::print("{}                  the untuned choice: {:.2f} times as long\n", line_of(untuned), *gain);
  }
  const size_t others = problem.kernels.size() - 1;
  const std::string measured =
      fmt::format("measured {}{}{}{}{}", best.date, best.is_cold ? " with a cold cache" : "",
                  best.is_marked() ? fmt::format(" at {:.2f} of the device's best clock", best.clock) : "",
                  others == 0 ? "" : fmt::format(", beside {} other{}", others, others == 1 ? "" : "s"), left_out);
  fmt::print("                  {}\n", wrapped(measured, 18));
}

// Removes rows of kernels that the library lacks; returns their number for each problem.
std::map<std::string, size_t> drop_changed(std::vector<TunedRow>& rows, const KernelLibrary& library) {
  std::map<std::string, size_t> changed;
  std::erase_if(rows, [&](const TunedRow& row) {
    const bool is_changed = !is_of_this_library(row, library);
    if (is_changed) ++changed[row.problem];
    return is_changed;
  });
  return changed;
}

void show_file(TuningFile file, const KernelLibrary& library) {
  fmt::print("{} ({} {}): {}\n", file.device.name, file.device.driver_name, file.device.driver_info,
             times_text(file.rows.size()));
  file.rows = tuning::comparable(std::move(file.rows));
  auto changed = drop_changed(file.rows, library);
  const report::Facts facts = report::facts_of(file, library);
  for (const report::ProblemFact& problem : facts.problems) {
    const auto left_out = changed.extract(problem.key);
    show_problem(problem, left_out.empty() ? ""
                                           : fmt::format("; left out {} of kernels that have changed since",
                                                         times_text(left_out.mapped())));
  }
  for (const auto& [key, count] : changed) {
    fmt::print("{}    left out: {}, of {} that this program lacks or that changed since; tune it again\n",
               key_text(key), times_text(count), count == 1 ? "a kernel" : "kernels");
  }
  const report::GainSummary gains = report::summary_of(facts.problems);
  if (gains.problems > 0) {
    fmt::print("  untuned choices take {:.3f} times as long, geometric mean of {} of {} problems\n",
               gains.geometric_mean, gains.problems, facts.problems.size());
  }
}

// A first look's time is not for use by others: it is a single sample, taken to see that a kernel is slow.
void drop_looks(std::vector<TunedRow>& rows, LeftOut& looks) {
  std::erase_if(rows, [&](const TunedRow& row) {
    if (row.samples == 1) looks.add(fmt::format("of '{}'", row.kernel));
    return row.samples == 1;
  });
}

// Of a problem, kernel and cache that a file has twice, the row that merged() keeps.
void drop_repeated(TuningFile& file, LeftOut& repeated) {
  std::set<std::tuple<std::string, std::string, bool>> seen;
  for (const TunedRow& row : file.rows) {
    if (!seen.emplace(row.problem, row.kernel, row.is_cold).second) repeated.add(fmt::format("of '{}'", row.kernel));
  }
  if (repeated.rows > 0) file.rows = tuning::merged({std::move(file.rows)});
}

}  // namespace

Expected<int> show(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  auto store = Store::open_to_read(store_path(arguments));
  if (!store) return store.error();
  auto files = stored_files(*store, program, arguments, *library);
  if (!files) return files.error();
  for (TuningFile& file : *files) show_file(std::move(file), *library);
  return kDone;
}

Expected<int> export_file(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  auto store = Store::open_to_read(store_path(arguments));
  if (!store) return store.error();
  auto stored = stored_files(*store, program, arguments, *library);
  if (!stored) return stored.error();
  LeftOut looks;
  for (TuningFile& file : *stored) drop_looks(file.rows, looks);
  tell_left_out(program, looks, "of a single sample each");
  if (is_folder(arguments.output)) {
    std::vector<TuningFile> files;
    for (std::vector<TuningFile>& model : by_model<TuningFile>(*std::move(stored), device_of_file)) {
      files.push_back(merged_file(std::move(model)));
    }
    if (Done written = write_folder(arguments.output, files); !written) return written.error();
    return kDone;
  }
  if (stored->size() > 1) return several_devices(*stored, "choose one with --device, or name a folder");
  if (arguments.output.empty()) return write_out("", to_yaml(stored->front())) ? kDone : kWrongMachine;
  if (Done written = write_file(arguments.output, to_yaml(stored->front())); !written) return written.error();
  fmt::print("{}: {} times\n", arguments.output, stored->front().rows.size());
  return kDone;
}

Expected<int> import_files(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  auto files = load_all(arguments.files, program, *library);
  if (!files) return files.error();
  auto store = Store::open(store_path(arguments));
  if (!store) return store.error();
  for (TuningFile& file : *files) {
    LeftOut repeated;
    drop_repeated(file, repeated);
    tell_left_out(program, repeated, "of a problem and a kernel that the file has twice");
    const Done added = store->add(tuning::device_key(file.device), profiles::to_yaml(file.device), file.rows);
    if (!added) return added.error();
    const LeftOut unused = unused_of(file.rows, *library);
    note_unused(program, unused);
    fmt::print("{}: {}\n", file.device.name, times_text(file.rows.size() - unused.rows));
  }
  return kDone;
}

namespace {

// Devices of one name may have other numbers, such as two models of a laptop's GPU.
std::string model_of(const DeviceProfile& device, const DeviceProfile& other) {
  if (device.name != other.name) return device.name;
  return fmt::format("{} (vendor {:#x}, device {:#x})", device.name, device.vendor_id, device.device_id);
}

std::string driver_of(const DeviceProfile& device) {
  return fmt::format("{} {} (version {:#x})", device.driver_name, device.driver_info, device.driver_version);
}

// A file says its device and driver once, for all of its rows: rows of another's are not to be merged into it. Of a
// folder, each device model and driver has a file.
Done check_are_of_one_driver(const std::vector<FleetResult>& results) {
  const DeviceProfile* const first = &results.front().file.device;
  for (const FleetResult& result : results) {
    const std::string& path = result.name;
    const DeviceProfile* const device = &result.file.device;
    if (first->vendor_id != device->vendor_id || first->device_id != device->device_id) {
      return refused(fmt::format("'{}' is of the device {}, and the files before it are of {}", path,
                                 model_of(*device, *first), model_of(*first, *device)),
                     "merge files of one device, or name a folder with -o, which gets a file for each device");
    } else if (driver_of(*first) != driver_of(*device)) {
      return refused(fmt::format("'{}' is of the driver {}, and the files before it are of {}", path,
                                 driver_of(*device), driver_of(*first)),
                     "merge files of one driver, or name a folder with -o, which gets a file for each driver");
    }
  }
  return std::monostate{};
}

// Results are weighed against each other by their base times, and tuning files have none.
Done check_are_of_one_kind(const std::vector<FleetResult>& results) {
  const FleetResult& first = results.front();
  for (const FleetResult& result : results) {
    if (is_result(result.file) == is_result(first.file)) continue;
    const FleetResult& lacks = is_result(result.file) ? first : result;
    return refused(fmt::format("'{}' has no base times, and others have", lacks.name),
                   "merge results of qgen-tune --out with each other, and tuning files with each other");
  }
  return std::monostate{};
}

const DeviceProfile& device_of_result(const FleetResult& result) { return result.file.device; }

// Results of one device model and driver, or tuning files of one.
FleetTable merged_model(std::vector<FleetResult> results) {
  if (is_result(results.front().file)) return merged_fleet(std::move(results));
  std::vector<TuningFile> files;
  for (FleetResult& result : results) files.push_back(std::move(result.file));
  return {.file = merged_file(std::move(files))};
}

// A table for each device model and driver.
enum class Devices : uint8_t { one, several };
Expected<std::vector<FleetTable>> merged_files(const Program& program, const Arguments& arguments,
                                               const KernelLibrary& library, Devices devices) {
  auto files = load_all(arguments.files, program, library);
  if (!files) return files.error();
  std::vector<FleetResult> results;
  for (size_t i = 0; i < files->size(); ++i) results.push_back({arguments.files[i], std::move((*files)[i])});
  if (Done checked = check_are_of_one_kind(results); !checked) return checked.error();
  std::vector<FleetTable> tables;
  if (devices == Devices::one) {
    if (Done checked = check_are_of_one_driver(results); !checked) return checked.error();
    tables.push_back(merged_model(std::move(results)));
    return tables;
  }
  for (std::vector<FleetResult>& model : by_model<FleetResult>(std::move(results), device_of_result)) {
    tables.push_back(merged_model(std::move(model)));
  }
  return tables;
}

// The store's rows for the one selected device.
Expected<TuningFile> stored_file(const Program& program, const Arguments& arguments, const KernelLibrary& library) {
  auto store = Store::open_to_read(store_path(arguments));
  if (!store) return store.error();
  auto files = stored_files(*store, program, arguments, library);
  if (!files) return files.error();
  if (files->size() > 1) return several_devices(*files, "choose one with --device");
  return std::move(files->front());
}

}  // namespace

Expected<int> merge_files(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  const Devices devices = is_folder(arguments.output) ? Devices::several : Devices::one;
  auto tables = merged_files(program, arguments, *library, devices);
  if (!tables) return tables.error();
  std::vector<TuningFile> files;
  std::string decisions = decisions_head();
  for (FleetTable& table : *tables) {
    const std::string device = fmt::format("{}, {}", table.file.device.name, driver_of(table.file.device));
    const std::string of_device = tables->size() > 1 ? device + ": " : "";
    for (const std::string& sentence : table.told) print_log("{}: {}{}\n", program.library.name, of_device, sentence);
    if (!arguments.decisions.empty()) decisions += to_text(device, table.decisions);
    files.push_back(std::move(table.file));
  }
  for (TuningFile& file : files) {
    const LeftOut unused = unused_of(file.rows, *library);
    if (!arguments.is_current) {
      note_unused(program, unused);
      continue;
    }
    keep_current(file.rows, *library);
    tell_left_out(program, unused, "of kernels that this program lacks or that changed since");
  }
  if (!arguments.decisions.empty()) {
    if (Done written = write_file(arguments.decisions, decisions); !written) return written.error();
  }
  Done written = is_folder(arguments.output) ? write_folder(arguments.output, files)
                                             : write_out(arguments.output, to_yaml(files.front()));
  if (!written) return written.error();
  return kDone;
}

Expected<int> report_page(const Program& program, const Arguments& arguments) {
  const auto library = KernelLibrary::open(program.library.kernels);
  if (!library) return library.error();
  const auto wanted = [&]() -> Expected<TuningFile> {
    if (arguments.files.empty()) return stored_file(program, arguments, *library);
    auto tables = merged_files(program, arguments, *library, Devices::one);
    return tables ? Expected<TuningFile>(std::move(tables->front().file)) : tables.error();
  };
  auto file = wanted();
  if (!file) return file.error();
  keep_operators(file->rows, specs_of(program, arguments.operators));
  const std::string path = arguments.output.empty() ? "report.html" : arguments.output;
  if (Done written = write_file(path, page_of(report::facts_of(*file, *library))); !written) return written.error();
  const LeftOut unused = unused_of(file->rows, *library);
  note_unused(program, unused);
  fmt::print("{}: {} of {}\n", path, times_text(file->rows.size() - unused.rows), file->device.name);
  return kDone;
}

Expected<int> forget(const Program& program, const Arguments& arguments) {
  auto store = Store::open_existing(store_path(arguments));
  if (!store) return store.error();
  std::vector<std::string> operators = specs_of(program, arguments.operators);
  if (operators.empty()) operators = {""};
  size_t gone = 0;
  for (const std::string& op : operators) {
    const auto some = store->forget({.op = op, .device = arguments.device, .older_than = arguments.older_than});
    if (!some) return some.error();
    gone += *some;
  }
  fmt::print("forgot {}\n", times_text(gone));
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

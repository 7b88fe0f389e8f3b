// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-info: the features and numbers of this machine's Vulkan devices, as qgen sees them.
//
//   qgen-info                      every device
//   qgen-info --list               one line a device: index, name, kind, driver
//   qgen-info --device llvmpipe    one of them, opened as the other programs would open it
//   qgen-info --device-file devices/adreno-740.yaml    a device that is described, not opened
//   qgen-info --measure            finds out how fast a device is, for every program that opens it from then on
//   qgen-info --check              checks what a device computes, for every program that opens it from then on
//   qgen-info --enable             what a program that lends its device to qgen should enable on it, as C++
//   qgen-info --json               for programs
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/date.h"
#include "common/files.h"
#include "common/log.h"
#include "common/manual/command_line.h"
#include "common/manual/help.h"
#include "common/program.h"
#include "common/progress.h"
#include "common/version.h"
#include "registry.h"
#include "runtime/engine/device/adopt.h"
#include "runtime/engine/device/device.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/profiles/mask_text.h"
#include "runtime/engine/profiles/stored.h"
#include "runtime/engine/self_test/self_test.h"
#include "runtime/workshop/measure/numbers.h"

namespace {

constexpr int kComputesWrong = 1;
constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

struct Arguments {
  std::string device;
  std::string device_file;
  qgen::profiles::MaskText mask;
  std::string output;
  bool is_measured = false;
  bool is_checked = false;
  bool is_list = false;
  bool is_to_enable = false;
  bool is_json = false;
};

int fail(const qgen::Error& error, int exit_code) {
  qgen::print_log("qgen-info: {}\n", to_text(error));
  return exit_code;
}

void print_list(const std::vector<qgen::DeviceProfile>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    fmt::print("{}  {}  ({} {})\n", i, devices[i].name, devices[i].driver_name, devices[i].driver_info);
  }
}

void print_json(const std::vector<qgen::DeviceProfile>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) fmt::print("{}{}", i ? ",\n" : "[\n", to_json(devices[i]));
  fmt::print("\n]\n");
}

void print_text(const std::vector<qgen::DeviceProfile>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) fmt::print("{}device {}: {}", i ? "\n" : "", i, to_text(devices[i]));
}

void print_one(const Arguments& arguments, const qgen::DeviceProfile& profile) {
  fmt::print("{}", arguments.is_json ? to_json(profile) + "\n" : to_text(profile));
}

// What is stored of a device is included. If a stored file cannot be used, the reason is printed.
qgen::DeviceProfile with_what_is_stored(const Arguments& arguments, const qgen::DeviceProfile& profile) {
  auto stored = qgen::profiles::with_all_that_is_stored(profile, arguments.mask.trusts_driver);
  for (const std::string& warning : stored.warnings) qgen::print_log("qgen-info: warning: {}\n", warning);
  return std::move(stored.profile);
}

// Opening is part of the answer: a device that is listed may still refuse.
int show_one(const Arguments& arguments) {
  auto mask = qgen::profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error(), kWrongInput);
  const auto device =
      qgen::Device::open(arguments.device, {.trusts_driver = arguments.mask.trusts_driver, .mask = *std::move(mask)});
  if (!device) return fail(device.error(), kWrongMachine);
  print_one(arguments, with_what_is_stored(arguments, device->profile()));
  return 0;
}

// The device features that kernels use, for vkCreateDevice().
int print_what_to_enable(const Arguments& arguments) {
  auto mask = qgen::profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error(), kWrongInput);
  const auto device = qgen::Device::open(arguments.device, {.mask = *std::move(mask)});
  if (!device) return fail(device.error(), kWrongMachine);
  const auto recommended = qgen::RecommendedFeatures::of(*device);
  if (!recommended) return fail(recommended.error(), kWrongMachine);
  fmt::print("{}", recommended->to_text());
  return 0;
}

// ---- measuring ------------------------------------------------------------------------------------------------------

qgen::Expected<qgen::DeviceProfile> measure(const qgen::Device& device) {
  const auto library = qgen::KernelLibrary::open(qgen::generated::library());
  if (!library) return library.error();
  auto executor = qgen::Executor::create(device, *library, {});
  if (!executor) return executor.error();
  qgen::Context context{.profile = device.profile(), .library = *library, .executor = *executor};
  qgen::Progress progress(::isatty(STDERR_FILENO) != 0);
  return qgen::measure::measured_numbers(context, "measured on " + qgen::today(), [&](size_t done, size_t total) {
    progress.show_at_once("measure", done, total);
  });
}

int measure_one(const Arguments& arguments) {
  auto mask = qgen::profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error(), kWrongInput);
  const auto device =
      qgen::Device::open(arguments.device, {.trusts_driver = arguments.mask.trusts_driver, .mask = *std::move(mask)});
  if (!device) return fail(device.error(), kWrongMachine);
  const auto measured = measure(*device);
  if (!measured) return fail(measured.error(), kWrongMachine);
  const qgen::Done stored = arguments.output.empty()
                                ? qgen::profiles::store_numbers(*measured)
                                : qgen::write_file(arguments.output, qgen::profiles::to_yaml(*measured));
  if (!stored) return fail(stored.error(), kWrongMachine);
  print_one(arguments, *measured);
  return 0;
}

// ---- checking -------------------------------------------------------------------------------------------------------

void print_findings(const Arguments& arguments, const qgen::Device& device,
                    const std::vector<qgen::self_test::Finding>& findings) {
  if (arguments.is_json) {
    fmt::print("{}\n", qgen::self_test::to_json(findings));
  } else {
    fmt::print("{}\n{}", device.profile().name, qgen::self_test::to_text(findings));
  }
}

int check_one(const Arguments& arguments) {
  auto mask = qgen::profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error(), kWrongInput);
  const auto device =
      qgen::Device::open(arguments.device, {.trusts_driver = arguments.mask.trusts_driver, .mask = *std::move(mask)});
  if (!device) return fail(device.error(), kWrongMachine);
  const auto library = qgen::KernelLibrary::open(qgen::generated::library());
  if (!library) return fail(library.error(), kWrongMachine);
  const auto findings = qgen::self_test::run_and_store(*device, *library);
  if (!findings) return fail(findings.error(), kWrongMachine);
  print_findings(arguments, *device, *findings);
  const bool is_right = std::ranges::none_of(
      *findings, [](const auto& finding) { return finding.verdict == qgen::self_test::Finding::Verdict::wrong; });
  return is_right ? 0 : kComputesWrong;
}

int show_file(const Arguments& arguments) {
  const auto profile = qgen::profiles::load_device(arguments.device_file);
  if (!profile) return fail(profile.error(), kWrongInput);
  print_one(arguments, *profile);
  return 0;
}

int show_all(const Arguments& arguments) {
  const auto mask = qgen::profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error(), kWrongInput);
  auto devices = qgen::list_devices();
  if (!devices) return fail(devices.error(), kWrongMachine);
  for (qgen::DeviceProfile& device : *devices) device = with_what_is_stored(arguments, masked(device, *mask));
  if (arguments.is_list) {
    print_list(*devices);
  } else if (arguments.is_json) {
    print_json(*devices);
  } else {
    print_text(*devices);
  }
  return 0;
}

int run(const Arguments& arguments) {
  if (!arguments.device_file.empty()) return show_file(arguments);
  if (arguments.is_to_enable) return print_what_to_enable(arguments);
  if (arguments.is_measured) return measure_one(arguments);
  if (arguments.is_checked) return check_one(arguments);
  return arguments.device.empty() ? show_all(arguments) : show_one(arguments);
}

constexpr std::string_view kNotes = R"(
Examples:
  qgen-info --list                          one line per device
  qgen-info --device nvidia                 features, limits and speeds of one device
  qgen-info --measure                       measure the speeds of the preferred device
  qgen-info --check                         check the features that kernels use
  qgen-info --device-file devices/adreno-740.yaml

Vulkan does not report bandwidths, throughputs and launch overheads. They are estimates until
--measure has measured them, which takes seconds on a GPU. The numbers are stored in
~/.cache/qgen/devices (or under $XDG_CACHE_HOME) for this version of the driver. The source of
each number is printed after it.

--check runs small kernels, and compares their results. A feature that computes wrong is not used
from then on, by any program, until the driver changes. The verdict is in ~/.cache/qgen/checks.

The Vulkan loader finds the drivers: VK_DRIVER_FILES names their manifests.

Exit codes: 0 done, 1 --check found a wrong result, 2 the arguments are wrong, 3 there is no such
device, driver or loader.)";

int parse_and_run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Prints the features, limits and speeds of this machine's Vulkan devices.", "qgen-info"};
  qgen::wrap_help(app);
  app.set_help_flag("-h,--help", "print this and exit");
  qgen::add_version_flag(app, "qgen-info");
  app.footer(std::string(kNotes));
  app.add_option("--device,-d", arguments.device, "one device: its index, its UUID, or a part of its name")
      ->type_name("DEVICE");
  qgen::profiles::add_mask_options(app, arguments.mask);
  app.add_option("--device-file", arguments.device_file,
                 "print the device that this file describes, instead of one "
                 "of this machine")
      ->type_name("FILE")
      ->excludes("--device");
  const auto measure =
      app.add_flag("--measure", arguments.is_measured, "measure the device's speeds, and store them for all programs")
          ->excludes("--device-file");
  app.add_option("--output,-o", arguments.output, "with --measure: write them to a device file instead")
      ->type_name("FILE")
      ->needs(measure);
  const auto check =
      app.add_flag("--check", arguments.is_checked,
                   "check the results of each feature that kernels use, and store the verdict for all programs")
          ->excludes("--device-file")
          ->excludes(measure);
  app.add_flag("--list,-l", arguments.is_list, "print one line per device");
  app.add_flag("--enable", arguments.is_to_enable,
               "print, as C++, what to enable on a device that you lend to qgen (docs/engines.md)")
      ->excludes("--device-file")
      ->excludes(measure)
      ->excludes(check);
  app.add_flag("--json", arguments.is_json,
               "print JSON: an array of objects; with --device one object; with --check an array of checks");
  try {
    qgen::parse_command_line(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return qgen::print_help_or_misuse(app, error) ? 0 : kWrongInput;
  }
  if (arguments.is_list && (arguments.is_json || arguments.is_measured || arguments.is_checked ||
                            arguments.is_to_enable || !arguments.device.empty() || !arguments.device_file.empty())) {
    qgen::print_log(
        "qgen-info: --list prints all devices of this machine as text, and cannot be combined with other "
        "options\n");
    return kWrongInput;
  }
  return run(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  return qgen::run_program("qgen-info", [&] { return parse_and_run(argc, argv); });
}

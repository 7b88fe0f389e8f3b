// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-info: what the Vulkan devices of this machine can do, as qgen sees them.
//
//   qgen-info                      every device
//   qgen-info --list               one line a device: index, name, kind, driver
//   qgen-info --device llvmpipe    one of them, opened as the other programs would open it
//   qgen-info --json               for programs
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "common/program.h"
#include "runtime/device/device.h"

namespace {

constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

struct Arguments {
  std::string device;
  bool is_list = false;
  bool is_json = false;
};

int fail(const qgen::Error& error, int exit_code) {
  fmt::print(stderr, "qgen-info: {}\n", to_text(error));
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

// Opening is part of the answer: a device that is listed may still refuse.
int show_one(const Arguments& arguments) {
  const auto device = qgen::Device::open(arguments.device);
  if (!device) return fail(device.error(), kWrongMachine);
  if (arguments.is_json) {
    fmt::print("{}\n", to_json(device->profile()));
  } else {
    fmt::print("{}", to_text(device->profile()));
  }
  return 0;
}

int show_all(const Arguments& arguments) {
  const auto devices = qgen::list_devices();
  if (!devices) return fail(devices.error(), kWrongMachine);
  if (arguments.is_list) {
    print_list(*devices);
  } else if (arguments.is_json) {
    print_json(*devices);
  } else {
    print_text(*devices);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Shows what the Vulkan devices of this machine can do, as qgen sees them.", "qgen-info"};
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(
      "Memory bandwidth, arithmetic rates and launch times are estimates: Vulkan does not tell them.\n"
      "Exit code: 0 done, 2 the arguments are wrong, 3 there is no such device, driver or loader.\n"
      "Which drivers are seen is the Vulkan loader's matter: VK_DRIVER_FILES names their manifests.\n");
  app.add_option("--device,-d", arguments.device, "one device: its index, its UUID, or a part of its name")
      ->type_name("DEVICE");
  app.add_flag("--list,-l", arguments.is_list, "one line a device, and nothing else");
  app.add_flag("--json", arguments.is_json, "an array of objects; with --device one object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongInput;
  }
  if (arguments.is_list && (arguments.is_json || !arguments.device.empty())) {
    fmt::print(stderr, "qgen-info: --list shows every device, as text: it goes with neither --device nor --json\n");
    return kWrongInput;
  }
  return qgen::run_program("qgen-info",
                           [&] { return arguments.device.empty() ? show_all(arguments) : show_one(arguments); });
}

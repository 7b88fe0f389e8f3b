// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include "registry.h"
#include "runtime/c/objects.h"
#include "runtime/engine/device/adopt.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/profiles/stored.h"
#include "runtime/engine/self_test/self_test.h"
#include "runtime/engine/tuning/known_times.h"

namespace qgen::c {

OnDevice::OnDevice(std::shared_ptr<const Device> shared, DeviceProfile known,
                   std::shared_ptr<const graph::OwnKernels> own, KernelLibrary kernels, Executor made)
    : device(std::move(shared)),
      profile(std::move(known)),
      own_kernels(std::move(own)),
      library(std::move(kernels)),
      owner(std::move(made)),
      executor(std::get<Executor>(owner)),
      context{.profile = profile, .library = library, .executor = executor} {
  choose_by(std::nullopt);
}

OnDevice::OnDevice(const OnDevice& of, graph::FixedModel model)
    : device(of.device),
      profile(of.profile),
      library(model.library()),
      owner(std::move(model)),
      executor(fixed()->executor()),
      context{.profile = profile, .library = library, .executor = executor} {
  choose_by(std::nullopt);
}

void OnDevice::choose_by(std::optional<TimeBook> measured) {
  decisions.reset();
  times = std::move(measured);
  context.times = times ? &*times : nullptr;
  context.decisions = &decisions.emplace(profile, library, context.times);
}

Expected<std::shared_ptr<OnDevice>> with_shipped(std::shared_ptr<const Device> device) {
  auto library = KernelLibrary::open(generated::library());
  if (!library) return library.error();
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return executor.error();
  DeviceProfile profile = profiles::with_all_that_is_stored(device->profile(), false).profile;
  auto on = std::make_shared<OnDevice>(std::move(device), std::move(profile), nullptr, *std::move(library),
                                       *std::move(executor));
  on->choose_by(TimeBook(on->library));
  return on;
}

namespace {

Done give_device(Expected<Device> opened, qgen_device** device) {
  if (!opened) return opened.error();
  auto on = with_shipped(std::make_shared<const Device>(*std::move(opened)));
  if (!on) return on.error();
  return give(device, qgen_device{*std::move(on)});
}

AdoptInfo adopt_info(const qgen_adopt_info& given) {
  AdoptInfo info{.instance = static_cast<VkInstance>(given.instance),
                 .physical_device = static_cast<VkPhysicalDevice>(given.physical_device),
                 .device = static_cast<VkDevice>(given.device),
                 .get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(given.get_instance_proc_addr),
                 .created_with = static_cast<const VkDeviceCreateInfo*>(given.created_with),
                 .queue = static_cast<VkQueue>(given.queue),
                 .queue_family = given.queue_family};
  if (given.api_version != 0) info.api_version = given.api_version;
  if (given.lock_queue) info.lock_queue = [lock = given.lock_queue, data = given.data] { lock(data); };
  if (given.unlock_queue) info.unlock_queue = [unlock = given.unlock_queue, data = given.data] { unlock(data); };
  return info;
}

std::filesystem::path store_path(const char* path) {
  return path && *path ? std::filesystem::path(path) : tuning::Store::default_path();
}

std::string to_line(const tuning::TunedRow& row) {
  return fmt::format("{}\t{}\t{}\n", row.problem, row.kernel, row.us);  // std::to_string() follows the locale
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

qgen_code qgen_list_devices(qgen_text** names, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!names) return is_null("names");
    const auto devices = list_devices();
    if (!devices) return devices.error();
    std::string lines;
    for (const DeviceProfile& device : *devices) lines += device.name + '\n';
    return give(names, qgen_text{std::move(lines)});
  });
}

qgen_code qgen_device_open(const char* which, qgen_device** device, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device) return is_null("device");
    return give_device(Device::open(which ? which : ""), device);
  });
}

qgen_code qgen_device_adopt(const qgen_adopt_info* info, qgen_device** device, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!info || !device) return is_null(info ? "device" : "info");
    return give_device(Device::adopt(adopt_info(*info)), device);
  });
}

void qgen_device_free(qgen_device* device) { delete device; }

const char* qgen_device_name(const qgen_device* device) {
  return device ? device->on->device->profile().name.c_str() : "";
}

qgen_code qgen_device_profile(const qgen_device* device, qgen_text** yaml, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !yaml) return is_null(device ? "yaml" : "device");
    return give(yaml, qgen_text{profiles::to_yaml(device->on->profile)});
  });
}

qgen_code qgen_device_check(qgen_device* device, qgen_text** findings, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !findings) return is_null(device ? "findings" : "device");
    qgen::c::OnDevice& on = *device->on;
    const auto found = self_test::run_and_store(*on.device, on.library);
    if (!found) return found.error();
    on.profile = self_test::without_wrong(on.profile, *found);
    on.choose_by(std::move(on.times));
    return give(findings, qgen_text{self_test::to_json(*found)});
  });
}

qgen_code qgen_device_reload(qgen_device* device, const char* path, size_t* changed, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !path) return is_null(device ? "path" : "device");
    qgen::c::OnDevice& on = *device->on;
    const auto found = on.library.reload(path);
    if (!found) return found.error();
    on.choose_by(std::move(on.times));  // the choices that are kept were made for the old modules
    if (changed) *changed = *found;
    return std::monostate{};
  });
}

qgen_code qgen_device_use_times(qgen_device* device, const char* path, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device) return is_null("device");
    auto book = tuning::known_times(device->on->library, store_path(path));
    if (!book) return book.error();
    device->on->choose_by(*std::move(book));
    return std::monostate{};
  });
}

qgen_code qgen_device_times(qgen_device* device, const char* path, qgen_text** rows, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !rows) return is_null(device ? "rows" : "device");
    auto store = tuning::Store::open_to_read(store_path(path));
    if (!store) return store.error();
    const auto measured = store->rows(tuning::device_key(device->on->device->profile()));
    if (!measured) return measured.error();
    std::string lines;
    for (const tuning::TunedRow& row : *measured) lines += to_line(row);
    return give(rows, qgen_text{std::move(lines)});
  });
}

}  // extern "C"

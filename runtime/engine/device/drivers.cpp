// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tries each manifest as the loader does: file, library, first call. The first failure is reported.
#include "runtime/engine/device/drivers.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "common/json/read.h"

namespace qgen::vulkan {
namespace {

namespace fs = std::filesystem;
using Kind = DriverFinding::Kind;

// ---- libraries ------------------------------------------------------------------------------------------------------

struct Unload {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

Library load(const std::string& name) { return Library(::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)); }

// The package of Debian and Ubuntu for a library that drivers need and that machines without a screen lack.
struct PackageRow {
  std::string_view library, package;
};
constexpr PackageRow kPackages[] = {
    {"libEGL.so.1", "libegl1"},
    {"libGLdispatch.so.0", "libglvnd0"},
    {"libX11.so.6", "libx11-6"},
    {"libXext.so.6", "libxext6"},
    {"libxcb.so.1", "libxcb1"},
    {"libX11-xcb.so.1", "libx11-xcb1"},
    {"libxcb-dri3.so.0", "libxcb-dri3-0"},
    {"libdrm.so.2", "libdrm2"},
    {"libwayland-client.so.0", "libwayland-client0"},
};

std::string package_hint(std::string_view library) {
  const auto row = std::ranges::find(kPackages, library, &PackageRow::library);
  if (row != std::end(kPackages))
    return fmt::format("install the package {} (Debian, Ubuntu), which has {}", row->package, library);
  return fmt::format("install the package that has {}", library);
}

// Libraries that drivers load at run time, so the linker does not report them.
struct NeedRow {
  std::string_view part_of_name, library;
};
constexpr NeedRow kNeeds[] = {
    {"GLX_nvidia", "libEGL.so.1"},         // 580: vk_icdNegotiateLoaderICDInterfaceVersion fails without
    {"GLX_nvidia", "libGLdispatch.so.0"},  // libEGL.so.1 is a part of it
};

// ---- one driver -----------------------------------------------------------------------------------------------------

DriverFinding broken(const std::string& manifest, std::string what, std::string hint = "") {
  return {Kind::broken, manifest, std::move(what), std::move(hint)};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The library that a manifest names, or an error about the manifest.
Expected<std::string> library_of(const std::string& manifest) {
  const auto document = json::read(manifest, read_text(manifest));
  if (!document) return document.error();
  const auto member = [](const json::Value* value, std::string_view key) -> const json::Value* {
    const auto* members = value ? value->as<json::Members>() : nullptr;
    if (!members) return nullptr;
    const auto found = std::ranges::find(*members, key, &json::Member::key);
    return found == members->end() ? nullptr : &found->value;
  };
  const json::Value* path = member(member(&document->root, "ICD"), "library_path");
  const auto* library = path ? path->as<std::string>() : nullptr;
  if (!library) return json::error_at(*document, document->root.mark, "names no driver (ICD.library_path)");
  // A path is relative to the manifest; a name alone is searched for by the linker.
  if (library->find('/') == std::string::npos) return *library;
  return (fs::path(manifest).parent_path() / *library).string();
}

DriverFinding loading_finding(const std::string& manifest, const std::string& library, const std::string& fault) {
  std::string what = fmt::format("{} cannot be loaded: {}", library, fault);
  if (is_short_of_memory(fault)) return {Kind::short_of_memory, manifest, std::move(what), ""};
  const std::string missing = fault.substr(0, fault.find(": cannot open shared object file"));
  if (missing == fault) return broken(manifest, std::move(what));
  const bool is_driver = missing == library;
  return broken(
      manifest, std::move(what),
      is_driver ? "install the driver that the manifest belongs to, or remove the manifest" : package_hint(missing));
}

// The first step of the protocol between loader and driver: they agree on its version.
DriverFinding started(const std::string& manifest, const std::string& library, void* handle) {
  using Negotiate = VkResult(VKAPI_PTR*)(uint32_t*);
  const auto negotiate = reinterpret_cast<Negotiate>(::dlsym(handle, "vk_icdNegotiateLoaderICDInterfaceVersion"));
  const bool is_driver =
      negotiate || ::dlsym(handle, "vk_icdGetInstanceProcAddr") || ::dlsym(handle, "vkGetInstanceProcAddr");
  if (!is_driver) return broken(manifest, fmt::format("{} is no Vulkan driver", library));
  uint32_t version = 5;  // the version of every loader and driver of the last years
  const VkResult result = negotiate ? negotiate(&version) : VK_SUCCESS;
  if (result == VK_SUCCESS)
    return {Kind::usable, manifest, fmt::format("{} can be loaded, but offers no device", library), ""};
  std::string what = fmt::format("{} refuses to start ({})", library, name(result));
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY) return {Kind::short_of_memory, manifest, std::move(what), ""};
  for (const NeedRow& need : kNeeds) {
    const bool is_missing =
        library.find(need.part_of_name) != std::string::npos && !loading_fault(std::string(need.library)).empty();
    if (!is_missing) continue;
    return broken(manifest, fmt::format("{}: it needs {}, which is not on this machine", what, need.library),
                  package_hint(need.library));
  }
  return broken(manifest, std::move(what));
}

DriverFinding examined(const std::string& manifest) {
  std::error_code error;
  const fs::file_status status = fs::status(manifest, error);
  if (!fs::exists(status)) return broken(manifest, "there is no such file");
  if (!fs::is_regular_file(status)) return broken(manifest, "is no file");
  const auto library = library_of(manifest);
  if (!library) {
    // The message begins with the manifest, which is reported already.
    std::string what = library.error().message;
    if (what.starts_with(manifest + ":")) what = "line " + what.substr(manifest.size() + 1);
    return broken(manifest, std::move(what), "correct the manifest, or remove it");
  }
  const Library handle = load(*library);
  if (handle) return started(manifest, *library, handle.get());
  const char* fault = ::dlerror();
  return loading_finding(manifest, *library, fault ? fault : "the linker does not say why");
}

// ---- where they are -------------------------------------------------------------------------------------------------

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t colon = list.find(':');
    if (colon != 0) parts.emplace_back(list.substr(0, colon));
    list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
  }
  return parts;
}

void add_files_in(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  std::vector<std::string> found;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == ".json") found.push_back(entry->path().string());
  }
  std::ranges::sort(found);
  std::ranges::move(found, std::back_inserter(files));
}

std::vector<std::string> system_folders() {
  const std::string home = variable("HOME");
  const auto or_else = [](std::string value, std::string otherwise) { return value.empty() ? otherwise : value; };
  std::vector<std::string> roots;
  const auto add = [&](const std::string& list) { std::ranges::move(split(list), std::back_inserter(roots)); };
  add(or_else(variable("XDG_CONFIG_HOME"), home.empty() ? "" : home + "/.config"));
  add(or_else(variable("XDG_CONFIG_DIRS"), "/etc/xdg"));
  add("/etc");
  add(or_else(variable("XDG_DATA_HOME"), home.empty() ? "" : home + "/.local/share"));
  add(or_else(variable("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"));
  for (std::string& root : roots) root += "/vulkan/icd.d";
  return roots;
}

// ---- what it comes to -----------------------------------------------------------------------------------------------

// Drivers of a CPU start threads and map tens of megabytes, and report that they could not as having no device.
std::string shortage() {
  pthread_t thread;
  if (const int error = ::pthread_create(
          &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
      error != 0) {
    return fmt::format("no thread can be started: {}", std::strerror(error));
  }
  ::pthread_join(thread, nullptr);
  constexpr size_t kBytes = 64 << 20;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "64 MiB are refused";
  ::munmap(memory, kBytes);
  return "";
}

std::string lines_of(const std::vector<DriverFinding>& findings) {
  std::string text;
  for (const DriverFinding& finding : findings) text += fmt::format("\n  {}: {}", finding.manifest, finding.what);
  return text;
}

// A variable that is set hides all other drivers, which people forget.
std::string named_by(const DriverSearch& search) {
  for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    const bool is_named = !search.places.empty() && search.places.front().starts_with(variable);
    if (is_named) return fmt::format(", of those that {} names", variable);
  }
  return "";
}

Error memory_error(std::string_view cause) {
  return {Error::Kind::system, fmt::format("there is too little memory for a Vulkan driver: {}", cause),
          "give the process more memory or threads (ulimit -v, ulimit -u, the container's limits)"};
}

std::string general_hint() {
  std::string hint =
      "install the GPU vendor's driver, or mesa-vulkan-drivers (its llvmpipe runs on the CPU); VK_DRIVER_FILES names "
      "the manifest of a driver in another folder";
  for (const char* name : {"VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"}) {
    if (const std::string value = variable(name); !value.empty()) {
      hint += fmt::format("; {}={} hides drivers from the loader", name, value);
    }
  }
  return hint;
}

}  // namespace

std::string loading_fault(const std::string& library) {
  if (load(library)) return "";
  const char* fault = ::dlerror();
  return fault ? fault : "the linker does not say why";
}

bool is_short_of_memory(std::string_view fault) {
  constexpr std::string_view kFaults[] = {"annot allocate", "failed to map segment", "cannot create", "out of memory"};
  return std::ranges::any_of(kFaults,
                             [&](std::string_view part) { return fault.find(part) != std::string_view::npos; });
}

DriverSearch search_drivers() {
  DriverSearch search;
  std::vector<std::string> manifests;
  const auto add_named = [&](const char* name) {
    const std::string value = variable(name);
    for (const std::string& path : split(value)) {
      search.places.push_back(fmt::format("{}={}", name, path));
      std::error_code error;
      if (fs::is_directory(path, error)) {
        add_files_in(path, manifests);
      } else {
        manifests.push_back(path);
      }
    }
    return !value.empty();
  };
  if (!add_named("VK_DRIVER_FILES") && !add_named("VK_ICD_FILENAMES")) {
    add_named("VK_ADD_DRIVER_FILES");
    for (const std::string& folder : system_folders()) {
      search.places.push_back(folder);
      add_files_in(folder, manifests);
    }
  }
  for (const std::string& manifest : manifests) search.findings.push_back(examined(manifest));
  return search;
}

Error driver_error(VkResult result, std::string_view doing) {
  const DriverSearch search = search_drivers();
  const auto& findings = search.findings;
  const auto is = [](Kind kind) { return [kind](const DriverFinding& finding) { return finding.kind == kind; }; };
  const auto starved = std::ranges::find_if(findings, is(Kind::short_of_memory));
  if (starved != findings.end()) return memory_error(starved->what);
  const bool are_usable = std::ranges::any_of(findings, is(Kind::usable));
  if (are_usable || findings.empty()) {
    if (const std::string cause = shortage(); !cause.empty()) return memory_error(cause);
  }
  // The loader says so of a manifest that is no JSON, too.
  const bool are_broken = std::ranges::any_of(findings, is(Kind::broken));
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY && !are_broken) return error_of(result, doing);
  if (findings.empty()) {
    return {Error::Kind::not_found,
            fmt::format("no Vulkan driver is installed: there is no manifest (*.json) in\n  {}",
                        fmt::join(search.places, "\n  ")),
            general_hint()};
  }
  const auto helped =
      std::ranges::find_if(findings, [](const DriverFinding& finding) { return !finding.hint.empty(); });
  return {Error::Kind::not_found, fmt::format("no Vulkan driver can be used{}{}", named_by(search), lines_of(findings)),
          helped != findings.end() ? helped->hint : general_hint()};
}

}  // namespace qgen::vulkan

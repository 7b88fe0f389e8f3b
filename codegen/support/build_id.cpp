// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace qgen {
namespace {

// Name and description of a note are padded to words.
size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

std::string as_hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string id_among(std::string_view notes) {
  ElfW(Nhdr) head{};
  while (notes.size() >= sizeof(head)) {
    std::memcpy(&head, notes.data(), sizeof(head));
    notes.remove_prefix(sizeof(head));
    const size_t bytes = padded(head.n_namesz) + padded(head.n_descsz);
    if (bytes > notes.size()) return "";
    const std::string_view name = notes.substr(0, head.n_namesz);
    if (head.n_type == NT_GNU_BUILD_ID && name == std::string_view(ELF_NOTE_GNU "\0", sizeof(ELF_NOTE_GNU))) {
      return as_hexadecimal(notes.substr(padded(head.n_namesz), head.n_descsz));
    }
    notes.remove_prefix(bytes);
  }
  return "";
}

// The first object that is loaded is the program itself.
int look_into_program(dl_phdr_info* info, size_t, void* found) {
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    auto& id = *static_cast<std::string*>(found);
    if (id.empty()) id = id_among({notes, segment.p_memsz});
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(look_into_program, &id);
  return id;
}

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packs that machines share over HTTP: the layer of the cache behind the folder of this machine.
//
//   GET <url>/<compilers>/softmax.pack     before compiling, for operators with modules that the folder lacks
//   PUT <url>/<compilers>/softmax.pack     after compiling, if the server takes it
//
// A file is a pack behind the SHA-256 of its name and bytes. Wrong bytes are ignored. No fault of the server fails a
// run: the run compiles what it did not get. A server that does not answer is asked no more by this process, so it
// costs a quarter of a second once.
//
// The checksum finds damage, not malice. Whoever may write to the server decides what is in the modules.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/cache/spec_pack.h"

namespace qgen::cache {

// The URL as messages show it: a name and password before the host stay secret.
std::string without_user(const std::string& url);

class RemoteCache {
 public:
  // `url` is a folder: "http://cache.example:8080/qgen". `compilers` is compilers_id(): others' packs have other names.
  RemoteCache(const std::string& url, const std::string& compilers);
  // Why `url` cannot be one, as a clause; empty: it can.
  static std::string fault_of(const std::string& url);

  // The packs that the server has, in the order of the names; an empty pack for each of the others. `compiling` is the
  // time that compiling would take instead: the transfer gets a tenth of it, and a quarter of a second.
  std::vector<SpecPack> fetch(std::span<const std::string> specs, std::chrono::milliseconds compiling);

  struct Upload {
    std::string spec;
    std::string pack;  // SpecPack::to_bytes()
  };
  // `compiling` as above.
  void store(std::vector<Upload> uploads, std::chrono::milliseconds compiling);

  bool is_used() const { return !is_off_; }
  // The first fault, as a sentence; empty: there was none. A server that refuses to store is none.
  const std::string& warning() const { return warning_; }

 private:
  std::string url_of(const std::string& spec) const { return folder_ + "/" + spec + ".pack"; }
  void warn(std::string text) {
    if (warning_.empty()) warning_ = std::move(text);
  }

  std::string url_;
  std::string folder_;
  std::string warning_;
  bool is_off_ = false;
};

// A pack as it is sent, and back. nullopt: it was not made by sealed() for this name.
std::string sealed(const std::string& name, const std::string& pack);
std::optional<std::string> unsealed(const std::string& name, const std::string& bytes);

}  // namespace qgen::cache

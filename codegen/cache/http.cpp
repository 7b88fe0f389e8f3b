// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A name that no server resolves may block for seconds. libcurl resolves names in a thread, and kQuickExit lets the
// program end without waiting for it.
#include "codegen/cache/http.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace qgen::cache {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr long kConnections = 8;
constexpr const char* kLibraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

struct Library {
  int (*global_init)(long) = nullptr;
  void* (*easy_init)() = nullptr;
  int (*easy_setopt)(void*, int, ...) = nullptr;
  int (*easy_getinfo)(void*, int, ...) = nullptr;
  const char* (*easy_strerror)(int) = nullptr;
  void (*easy_cleanup)(void*) = nullptr;
  void* (*multi_init)() = nullptr;
  int (*multi_setopt)(void*, int, ...) = nullptr;
  int (*multi_add_handle)(void*, void*) = nullptr;
  int (*multi_remove_handle)(void*, void*) = nullptr;
  int (*multi_perform)(void*, int*) = nullptr;
  int (*multi_poll)(void*, void*, unsigned, int, int*) = nullptr;
  curl::Message* (*multi_info_read)(void*, int*) = nullptr;
  int (*multi_cleanup)(void*) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// nullptr: there is no libcurl, or one that lacks a function.
const Library* open_library() {
  void* file = nullptr;
  for (const char* name : kLibraries) {
    if (!file) file = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  static Library l;
  const bool is_complete =
      file && find(file, "curl_global_init", l.global_init) && find(file, "curl_easy_init", l.easy_init) &&
      find(file, "curl_easy_setopt", l.easy_setopt) && find(file, "curl_easy_getinfo", l.easy_getinfo) &&
      find(file, "curl_easy_strerror", l.easy_strerror) && find(file, "curl_easy_cleanup", l.easy_cleanup) &&
      find(file, "curl_multi_init", l.multi_init) && find(file, "curl_multi_setopt", l.multi_setopt) &&
      find(file, "curl_multi_add_handle", l.multi_add_handle) &&
      find(file, "curl_multi_remove_handle", l.multi_remove_handle) &&
      find(file, "curl_multi_perform", l.multi_perform) && find(file, "curl_multi_poll", l.multi_poll) &&
      find(file, "curl_multi_info_read", l.multi_info_read) && find(file, "curl_multi_cleanup", l.multi_cleanup);
  return is_complete && l.global_init(curl::kGlobalAll) == 0 ? &l : nullptr;
}

const Library* library() {
  static const Library* const opened = open_library();
  return opened;
}

// One request while it runs.
struct Transfer {
  void* easy = nullptr;
  HttpAnswer answer;
  const std::string* put = nullptr;
  size_t sent = 0;
  size_t most_bytes = 0;
  size_t* moved = nullptr;  // bytes of all transfers
};

size_t receive(const char* bytes, size_t size, size_t count, void* to) {
  auto& transfer = *static_cast<Transfer*>(to);
  if (transfer.answer.body.size() + size * count > transfer.most_bytes) return 0;  // libcurl ends the transfer
  transfer.answer.body.append(bytes, size * count);
  *transfer.moved += size * count;
  return size * count;
}

size_t send(char* bytes, size_t size, size_t count, void* from) {
  auto& transfer = *static_cast<Transfer*>(from);
  const size_t part = std::min(size * count, transfer.put->size() - transfer.sent);
  std::memcpy(bytes, transfer.put->data() + transfer.sent, part);
  transfer.sent += part;
  *transfer.moved += part;
  return part;
}

class Transfers {
 public:
  Transfers(const Library& curl, std::span<const HttpRequest> requests, const HttpLimits& limits);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  std::vector<HttpAnswer> run();

 private:
  void start(Transfer& transfer, const HttpRequest& request);
  void take_finished();

  const Library& curl_;
  const HttpLimits limits_;
  void* multi_;
  std::vector<Transfer> transfers_;
  size_t moved_ = 0, finished_ = 0;
};

Transfers::Transfers(const Library& curl, std::span<const HttpRequest> requests, const HttpLimits& limits)
    : curl_(curl), limits_(limits), multi_(curl.multi_init()), transfers_(requests.size()) {
  if (!multi_) return;
  curl_.multi_setopt(multi_, curl::kMaxHostConnections, kConnections);
  for (size_t i = 0; i < requests.size(); ++i) start(transfers_[i], requests[i]);
}

Transfers::~Transfers() {
  for (Transfer& transfer : transfers_) {
    if (!transfer.easy) continue;
    curl_.multi_remove_handle(multi_, transfer.easy);
    curl_.easy_cleanup(transfer.easy);
  }
  if (multi_) curl_.multi_cleanup(multi_);
}

void Transfers::start(Transfer& transfer, const HttpRequest& request) {
  transfer.most_bytes = limits_.most_bytes;
  transfer.moved = &moved_;
  transfer.easy = curl_.easy_init();
  if (!transfer.easy) return;
  const auto set = [&](curl::Option option, auto value) { curl_.easy_setopt(transfer.easy, option, value); };
  set(curl::kUrl, request.url.c_str());
  set(curl::kUserAgent, "qgen");
  set(curl::kPrivate, static_cast<void*>(&transfer));
  set(curl::kProtocols, curl::kHttpAndHttps);
  set(curl::kNoSignal, 1L);
  set(curl::kQuickExit, 1L);
  set(curl::kConnectTimeoutMs, static_cast<long>(limits_.silence.count()));
  set(curl::kWriteFunction, &receive);
  set(curl::kWriteData, static_cast<void*>(&transfer));
  if (request.put) {
    transfer.put = &*request.put;
    set(curl::kUpload, 1L);
    set(curl::kExpect100TimeoutMs, 50L);
    set(curl::kInFileSizeLarge, static_cast<int64_t>(request.put->size()));
    set(curl::kReadFunction, &send);
    set(curl::kReadData, static_cast<void*>(&transfer));
  }
  curl_.multi_add_handle(multi_, transfer.easy);
}

void Transfers::take_finished() {
  int left = 0;
  while (const curl::Message* message = curl_.multi_info_read(multi_, &left)) {
    if (message->kind != curl::kMessageDone) continue;
    void* found = nullptr;
    curl_.easy_getinfo(message->easy, curl::kInfoPrivate, &found);
    auto& transfer = *static_cast<Transfer*>(found);
    if (message->data.result == 0) curl_.easy_getinfo(message->easy, curl::kResponseCode, &transfer.answer.status);
    else transfer.answer.fault = curl_.easy_strerror(message->data.result);
    ++finished_;
  }
}

std::vector<HttpAnswer> Transfers::run() {
  const auto begin = Clock::now();
  auto last_moved = begin;
  size_t moved = 0, finished = 0;
  std::string fault = "libcurl cannot start a transfer";
  for (int running = 1; multi_ && running > 0;) {
    curl_.multi_perform(multi_, &running);
    take_finished();
    const auto now = Clock::now();
    if (moved != moved_ || finished != finished_) last_moved = now;
    moved = moved_;
    finished = finished_;
    const auto until = std::min(begin + limits_.total, last_moved + limits_.silence);
    if (now >= until) {
      fault =
          fmt::format("no complete answer after {} ms", std::chrono::duration_cast<milliseconds>(now - begin).count());
      break;
    }
    const auto wait = std::chrono::duration_cast<milliseconds>(until - now) + milliseconds(1);
    if (running > 0) curl_.multi_poll(multi_, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  std::vector<HttpAnswer> answers;
  for (Transfer& transfer : transfers_) {
    if (transfer.answer.status == 0 && transfer.answer.fault.empty()) transfer.answer.fault = fault;
    answers.push_back(std::move(transfer.answer));
  }
  return answers;
}

}  // namespace

std::vector<HttpAnswer> transfer(std::span<const HttpRequest> requests, const HttpLimits& limits) {
  const Library* curl = library();
  if (!curl) return std::vector<HttpAnswer>(requests.size(), {.fault = "libcurl is not installed"});
  return Transfers(*curl, requests, limits).run();
}

}  // namespace qgen::cache

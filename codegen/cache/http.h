// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// GET and PUT of small files over HTTP, many at a time, by libcurl. The library is opened when a transfer needs it, as
// the Vulkan loader is. So qgen runs on machines without it, and starts as fast as before.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qgen::cache {

struct HttpRequest {
  std::string url;
  std::optional<std::string> put = {};  // the body of a PUT; nullopt: a GET
};

struct HttpAnswer {
  long status = 0;  // 0: there was no complete answer, and `fault` says why
  std::string body = {};
  std::string fault = {};  // lower case, one clause
};

struct HttpLimits {
  std::chrono::milliseconds silence;      // ends all transfers if none of them moved a byte for so long
  std::chrono::milliseconds total;        // of all transfers together
  size_t most_bytes = size_t{256} << 20;  // of one body
};

// The answers, in the order of the requests.
std::vector<HttpAnswer> transfer(std::span<const HttpRequest> requests, const HttpLimits& limits);

// The part of libcurl's stable binary interface that transfer() uses, from curl/curl.h. A test compares them.
namespace curl {
enum Option : int {
  kUpload = 46,
  kNoSignal = 99,
  kConnectTimeoutMs = 156,
  kProtocols = 181,
  kExpect100TimeoutMs = 227,
  kQuickExit = 322,
  kWriteData = 10001,
  kUrl = 10002,
  kReadData = 10009,
  kUserAgent = 10018,
  kPrivate = 10103,
  kWriteFunction = 20011,
  kReadFunction = 20012,
  kInFileSizeLarge = 30115,
};
enum MultiOption : int { kMaxHostConnections = 7 };
enum Info : int { kResponseCode = 0x200002, kInfoPrivate = 0x100015 };
constexpr long kGlobalAll = 3;
constexpr long kHttpAndHttps = 3;
constexpr int kMessageDone = 1;
struct Message {
  int kind;
  void* easy;
  union {
    void* whatever;
    int result;
  } data;
};
}  // namespace curl

}  // namespace qgen::cache

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts that need no server; tests/remote_cache.py has servers.
#include "codegen/cache/remote_cache.h"

#include <gtest/gtest.h>

#include "codegen/cache/http.h"
#include "codegen/cache/sha256.h"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#endif

namespace qgen::cache {
namespace {

std::string hexadecimal(const Sha256& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

// The examples of FIPS 180-4, and lengths around the end of a block.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(hexadecimal(sha256_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexadecimal(sha256_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexadecimal(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexadecimal(sha256_of(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hexadecimal(sha256_of(std::string(64, 'a'))),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(hexadecimal(sha256_of(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(RemoteCache, OnlyTheSamePackOfTheSameNameIsUnsealed) {
  const std::string good = sealed("/0123/softmax", "bytes of a pack");
  EXPECT_EQ(unsealed("/0123/softmax", good), "bytes of a pack");
  EXPECT_EQ(unsealed("/0123/reduce", good), std::nullopt);
  EXPECT_EQ(unsealed("/0124/softmax", good), std::nullopt);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_EQ(unsealed("/0123/softmax", bad), std::nullopt) << "byte " << i;
    EXPECT_EQ(unsealed("/0123/softmax", good.substr(0, i)), std::nullopt) << i << " bytes";
  }
}

TEST(RemoteCache, SaysWhichTextsAreNoUrl) {
  for (const char* good : {"http://host", "https://host:8080/a/folder/", "http://[::1]:80/x"})
    EXPECT_EQ(RemoteCache::fault_of(good), "") << good;
  for (const char* bad : {"", "host", "ftp://host", "http://", "http:///", "http://a b", "http://a/?x", "http://a#b"})
    EXPECT_NE(RemoteCache::fault_of(bad), "") << bad;
}

// A pack whose digests are of other words, as someone else may have made it.
TEST(RemoteCache, APackOfOtherWordsIsNotSound) {
  const std::vector<uint32_t> words(100, 7);
  const Digest digest = digest_of({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)});
  const Digest key{1, 2};
  for (const bool is_right : {true, false}) {
    SpecPack pack;
    CachedModule module;
    module.spirv = is_right ? digest : Digest{3, 4};
    pack.add(key, module, words);
    const SpecPack loaded = SpecPack::from_bytes(pack.to_bytes(std::vector<Digest>{key}));
    ASSERT_NE(loaded.find(key), nullptr);
    EXPECT_EQ(loaded.is_sound(), is_right);
  }
}

#if __has_include(<curl/curl.h>)
TEST(Http, TheConstantsAreThoseOfLibcurl) {
  EXPECT_EQ(+CURLOPT_UPLOAD, +curl::kUpload);
  EXPECT_EQ(+CURLOPT_NOSIGNAL, +curl::kNoSignal);
  EXPECT_EQ(+CURLOPT_CONNECTTIMEOUT_MS, +curl::kConnectTimeoutMs);
  EXPECT_EQ(181, +curl::kProtocols);  // CURLOPT_PROTOCOLS, whose use newer headers warn of
  EXPECT_EQ(+CURLOPT_EXPECT_100_TIMEOUT_MS, +curl::kExpect100TimeoutMs);
  EXPECT_EQ(+CURLOPT_QUICK_EXIT, +curl::kQuickExit);
  EXPECT_EQ(+CURLOPT_WRITEDATA, +curl::kWriteData);
  EXPECT_EQ(+CURLOPT_URL, +curl::kUrl);
  EXPECT_EQ(+CURLOPT_READDATA, +curl::kReadData);
  EXPECT_EQ(+CURLOPT_USERAGENT, +curl::kUserAgent);
  EXPECT_EQ(+CURLOPT_PRIVATE, +curl::kPrivate);
  EXPECT_EQ(+CURLOPT_WRITEFUNCTION, +curl::kWriteFunction);
  EXPECT_EQ(+CURLOPT_READFUNCTION, +curl::kReadFunction);
  EXPECT_EQ(+CURLOPT_INFILESIZE_LARGE, +curl::kInFileSizeLarge);
  EXPECT_EQ(+CURLMOPT_MAX_HOST_CONNECTIONS, +curl::kMaxHostConnections);
  EXPECT_EQ(+CURLINFO_RESPONSE_CODE, +curl::kResponseCode);
  EXPECT_EQ(+CURLINFO_PRIVATE, +curl::kInfoPrivate);
  EXPECT_EQ(CURL_GLOBAL_ALL, curl::kGlobalAll);
  EXPECT_EQ(CURLPROTO_HTTP | CURLPROTO_HTTPS, curl::kHttpAndHttps);
  EXPECT_EQ(+CURLMSG_DONE, curl::kMessageDone);
  EXPECT_EQ(sizeof(CURLMsg), sizeof(curl::Message));
}
#endif

}  // namespace
}  // namespace qgen::cache

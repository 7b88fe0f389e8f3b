// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shares that several runs compile into the cache, and the run that assembles them.
#include "tests/codegen/program/run_qgen.h"

namespace qgen::tests {
namespace {

using ::testing::HasSubstr;

Arguments share_of(const std::string& shard, const std::string& cache) {
  return {"specs", "--shard", shard, "--cache", cache};
}

TEST_F(Program, AssemblesSharesToTheSameBytes) {
  made({"specs", "-o", "whole", "--no-cache"});
  for (const char* shard : {"2/3", "1/3", "3/3"}) made(share_of(shard, "shared"));
  const Answer assembled = made({"specs", "-o", "parts", "--cache", "shared"});
  EXPECT_THAT(assembled.out, HasSubstr("0 compiled, 6 from the cache")) << assembled.out;
  EXPECT_EQ(contents(here() / "parts"), contents(here() / "whole"));
  for (const auto& entry : fs::directory_iterator(here() / "shared" / "specs"))
    EXPECT_EQ(entry.path().extension(), ".pack") << "parts are in the packs now";
}

// Caches of machines that share no folder are copied together.
TEST_F(Program, AssemblesCopiedShares) {
  made({"specs", "-o", "whole", "--no-cache"});
  for (const char* shard : {"1", "2"}) {
    made(share_of(std::string(shard) + "/2", std::string("machine") + shard));
    fs::copy(here() / (std::string("machine") + shard), here() / "together",
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  EXPECT_THAT(made({"specs", "-o", "parts", "--cache", "together"}).out, HasSubstr("0 compiled"));
  EXPECT_EQ(contents(here() / "parts"), contents(here() / "whole"));
}

// A share that is missing, done twice or damaged costs time, and no byte.
TEST_F(Program, AssemblesWithoutAShare) {
  made({"specs", "-o", "whole", "--no-cache"});
  made(share_of("1/3", "shared"));
  made(share_of("1/3", "shared"));
  made(share_of("2/3", "shared"));
  write_text(here() / "shared" / "specs" / "copy.3-of-3.part", "damaged");
  made({"specs", "-o", "parts", "--cache", "shared"});
  EXPECT_EQ(contents(here() / "parts"), contents(here() / "whole"));
}

TEST_F(Program, RefusesSharesThatAreNone) {
  EXPECT_THAT(qgen(share_of("4/3", "shared")).err, HasSubstr("'4/3' is no part: a part is I/N"));
  EXPECT_THAT(qgen({"specs", "--shard", "1/2", "--no-cache"}).err, HasSubstr("leave out --no-cache"));
  EXPECT_THAT(qgen({"specs", "--shard", "1/2", "--list"}).err, HasSubstr("cannot be combined with --list"));
}

}  // namespace
}  // namespace qgen::tests

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/kernel_library.h"

#include <gtest/gtest.h>

#include "runtime/engine/library/blob_format.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

TEST(KernelLibrary, FindsOperatorsByName) {
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library) << to_text(library.error());
  for (const OperatorInfo* op : test::kOperators) EXPECT_EQ(library->find(op->name), op);
  for (std::string_view name : {"", "a", "scale", "scale_rows.f16", "zzz"})
    EXPECT_EQ(library->find(name), nullptr) << name;
  EXPECT_EQ(library->operators().size(), std::size(test::kOperators));
}

TEST(KernelLibrary, FindsKernelsAndRecipesById) {
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  for (const OperatorInfo* op : test::kOperators) {
    for (const KernelInfo& kernel : op->kernels) {
      const auto found = library->find_kernel(kernel.id);
      EXPECT_EQ(found.op, op) << kernel.id;
      EXPECT_EQ(found.kernel, &kernel) << kernel.id;
      EXPECT_EQ(found.recipe, nullptr) << kernel.id;
      EXPECT_EQ(library->blob().module(kernel.module)->back(), kernel.module);
    }
  }
  EXPECT_EQ(library->find_kernel("sum.two_pass").recipe, &test::sum::kRecipes[0]);
  for (std::string_view id : {"", ".", "sum", "sum.", "sum.vec2", "scale_rows.f32.buffer", "nothing.vec1"}) {
    EXPECT_EQ(library->find_kernel(id).op, nullptr) << id;
  }
}

TEST(KernelLibrary, KnowsTheDigestOfEachModule) {
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  for (const OperatorInfo* op : test::kOperators) {
    for (const KernelInfo& kernel : op->kernels) {
      const auto words = library->blob().module(kernel.module);
      ASSERT_TRUE(words);
      EXPECT_EQ(library->digest(kernel), blob_format::checksum(std::as_bytes(std::span(*words)))) << kernel.id;
    }
  }
}

TEST(KernelLibrary, RefusesTablesOfAnotherRun) {
  test::BlobBuilder builder;
  builder.add_family({});
  for (uint32_t i = 0; i < 9; ++i) builder.add_module(0, {i});
  const auto blob = builder.build();
  const auto library = KernelLibrary::open({test::kOperators, blob});
  ASSERT_FALSE(library);
  EXPECT_TEXT(to_text(library.error()),
              "kernel 'multiply.workgroup' names module 9, and the blob has 9\n"
              "  hint: link tables and blob from one run of qgen");
}

TEST(KernelLibrary, RefusesADamagedBlob) {
  const auto library = KernelLibrary::open({test::kOperators, std::span(test::sample_blob()).first(7)});
  ASSERT_FALSE(library);
  EXPECT_TEXT(library.error().message, "the kernel blob is damaged: it has 7 bytes, fewer than a header's 40");
}

}  // namespace
}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// copy_words copies every word. It is the baseline of other kernels, and would look fast if it skipped some.
#include "copy_words.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

class CopyTest : public testing::KernelTest {};

TEST_F(CopyTest, CopiesEveryWord) {
  for (const int64_t count : {4, 1020, 1024, 1028, 4096, 4100, 12292}) {
    const HostTensor words = testing::Random(7).integers(DType::u32, {count}, 0, 4294967295);
    const auto input = context().executor.upload(words, Storage::buffer);
    ASSERT_TRUE(input) << to_text(input.error());
    const TensorDesc desc{DType::u32, words.shape};
    PreparedCall prepared;
    prepared.call = make_call(generated::copy_words::Problem{.numel = static_cast<uint32_t>(count)},
                              {.input = desc, .output = desc});
    prepared.arguments = generated::copy_words::Operands<Argument>{.input = &*input, .output = Argument()};
    expect_outputs(prepared, {{"output", words}});
  }
}

}  // namespace
}  // namespace qgen

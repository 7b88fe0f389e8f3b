// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-run: runs an operator on NumPy files, times it, or runs conformance cases.
//
//   qgen-run quantize_affine --input input=x.npy --input scale=s.npy --set output_dtype=int8 --output output=q.npy
//   qgen-run quantize_affine --shape input=67108864:f32 --shape scale=1:f32=0.01 --time --all-kernels
//   qgen-run quantize_affine --help            what it takes
//   qgen-run --list                            the operators
//   qgen-run --cases tests/conformance --all-kernels
#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/runner/program.h"

constexpr std::string_view kExamples = R"(
Examples:
  qgen-run quantize_affine --help
  qgen-run quantize_affine -i input=x.npy -i scale=s.npy -s output_dtype=int8 -o output=q.npy
  qgen-run softmax --shape input=64x256:f32 --time
  qgen-run softmax --shape input=64x256:f32 --explain
  qgen-run softmax --shape input=64x256:f32 --explain --device-file devices/adreno-740.yaml
  qgen-run --cases tests/conformance --all-kernels
)";

int main(int argc, char** argv) {
  return qgen::runner::run_program(argc, argv,
                                   {.name = "qgen-run",
                                    .kernels = qgen::generated::library(),
                                    .operators = qgen::operators(),
                                    .answers = qgen::reference::answer,
                                    .examples = kExamples});
}

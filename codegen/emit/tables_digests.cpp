// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The text of a spec stands for the parts of the tables that all its variants share: the problem, the grid, conditions,
// specialization values, recipes. Costs and texts for people do not decide how a kernel is run, so they are left out.
#include <algorithm>
#include <string>
#include <string_view>

#include "codegen/emit/emit.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/support/digest.h"

namespace qgen::emit {
namespace {

// The comments at the ends of lines say which fragment a line comes from.
std::string without_comments(const std::string& text) {
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    kept += line.substr(0, line.find("   # "));
    kept += '\n';
    begin = end + 1;
  }
  return kept;
}

std::string text_for_tables(spec::Spec spec) {
  spec.summary.clear();
  spec.cost.reset();
  spec.fit.clear();
  spec.rarely_best.clear();
  spec.verify.reset();
  return without_comments(spec::to_text(spec));
}

void add(DigestBuilder& builder, const reflect::Resources& resources) {
  for (const uint32_t side : resources.workgroup) builder.add(uint64_t{side});
  builder.add(uint64_t{resources.shared_bytes}).add(uint64_t{resources.cooperative_matrices.size()});
  for (const CooperativeMatrixShape& shape : resources.cooperative_matrices) builder.add(reflect::to_text(shape));
}

}  // namespace

std::vector<uint64_t> tables_digests(const Family& family) {
  std::vector<uint64_t> digests;
  if (family.kernels.empty()) return digests;
  const std::string shared = text_for_tables(*family.spec);
  for (const Kernel& kernel : family.kernels) {
    DigestBuilder builder;
    builder.add(shared).add(kernel.variant.id).add(reflect::to_text(kernel.interface));
    builder.add(uint64_t{kernel.resources.size()});
    for (const reflect::Resources& resources : kernel.resources) add(builder, resources);
    digests.push_back(builder.finish().low);
  }
  return digests;
}

}  // namespace qgen::emit

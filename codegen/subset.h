// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Selects a part of the specs: some operators, with the kernels of their recipes, for some dtypes, layouts and
// devices.
//
//   Subset subset{.operators = {"q8ta_linear", "softmax"}, .dtypes = {"f16"}};
//   keep_operators(subset, specs);              // and the kernels of their recipes
//   keeps(subset, spec, variant)                // by its parameters
//   runs_somewhere(subset, interface)           // by what the module needs
#pragma once

#include <string>
#include <vector>

#include "codegen/expand/variant.h"
#include "codegen/reflect/interface.h"
#include "runtime/engine/device/device_profile.h"

namespace qgen {

struct Subset {
  std::vector<std::string> operators;  // by the names that callers use; empty: all
  // The allowed values of these operators' dtype or layout parameters; empty: any. Kernels that only recipes launch
  // keep all.
  std::vector<std::string> dtypes, layouts;
  std::vector<DeviceProfile> devices;  // a module stays if one of them can run it; empty: all stay

  bool is_everything() const { return operators.empty() && dtypes.empty() && layouts.empty() && devices.empty(); }
};

// The specs that stay: those of the operators, by spec name, public name or alias; and those whose kernels their
// recipes launch. Errors: an operator that no spec has.
Result<std::vector<bool>> kept_specs(const Subset& subset, const std::vector<spec::Spec>& specs);

bool keeps(const Subset& subset, const spec::Spec& spec, const expand::Variant& variant);
bool runs_somewhere(const Subset& subset, const reflect::Interface& interface);

// For the digest of a run's inputs.
std::string to_text(const Subset& subset);

}  // namespace qgen

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/keys.h"

#include <algorithm>
#include <array>

#include "codegen/spec/range.h"
#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

const std::array kOperandKeys = {
    Key{"access", "how the kernel accesses it", Form::one, Leaf::word, true, {"read", "write", "read_write"}},
    Key{"dtype", "a dtype, or $parameter", Form::one, Leaf::choice, true, dtype_words()},
    Key{"storage", "a storage, or $parameter; default: buffer", Form::one, Leaf::choice, false, storage_words()},
    Key{"layout", "a layout, or $parameter; default: strided in a buffer, any in a texture", Form::one, Leaf::choice,
        false, layout_words()},
    Key{"optional", "whether the caller may omit it", Form::one, Leaf::boolean},
    Key{"in_place", "of an output: the inputs whose memory it may use, if dtype, shape and layout are equal",
        Form::list, Leaf::reference},
    Key{"shape", "its dimensions for callers: [..., N, K]; or several such lists, one of which applies", Form::one,
        Leaf::shape},
    Key{"weight", "whether it is a weight, which is packed in the form that the chosen kernel reads", Form::one,
        Leaf::boolean},
    Key{"view", "whether callers may give it strides", Form::one, Leaf::boolean},
    Key{"row_sums_of", "the weight whose row sums it contains; callers do not pass it", Form::one, Leaf::reference},
    Key{"like", "of an output: the input whose storage and layout it gets by default", Form::one, Leaf::reference},
    Key{"help", "a remark for callers, apart from dtype and shape, in one line", Form::one, Leaf::text},
};

const Key kWordsKey = {
    "words", "its possible values, in the order in which kernels number them; or a fragment's list: words.mode",
    Form::shared_list, Leaf::name};
const Key kEnumKey = {"enum", "the name of the words in C++, which others may share; default: its name", Form::one,
                      Leaf::name};

const std::array kAttributeKeys = {
    Key{"type",
        "its type; omit it if there are 'words'",
        Form::one,
        Leaf::word,
        false,
        {"boolean", "integer", "real", "integers", "dtype", "layout"}},
    kWordsKey,
    kEnumKey,
    Key{"of", "of a dtype or layout: the operand that has it", Form::one, Leaf::reference},
    Key{"range", "the least and the greatest possible number, or a named range", Form::one, Leaf::range, false,
        range_words()},
    Key{"default", "its value if it is not given; in parentheses: a description of the effect", Form::one,
        Leaf::constant},
    Key{"unit", "its unit", Form::one, Leaf::text},
    Key{"help", "its meaning, in one line", Form::one, Leaf::text},
};

const std::array kFieldKeys = {
    kWordsKey, kEnumKey,
    Key{"type", "u32, i32 or f32; omit it if there are 'words'", Form::one, Leaf::word, false, {"u32", "i32", "f32"}},
    Key{"default", "the value that a recipe step passes by default", Form::one, Leaf::constant}};

const std::array kTakeKeys = {
    Key{"help", "its meaning and unit, in one line", Form::one, Leaf::text, true},
    Key{"default", "an expression of the fragment's names, used if nothing gives the value", Form::one,
        Leaf::expression},
};

const std::array kFitKeys = {
    Key{"value", "the number", Form::one, Leaf::number, true},
    Key{"unit", "us, bytes, operations; factor: none", Form::one, Leaf::text, true},
    Key{"help", "its meaning, in one line", Form::one, Leaf::text, true},
};

const std::array kNarrowingKeys = {
    Key{"dtype", "the possible ones of the operand's dtypes", Form::list, Leaf::word, false, dtype_words()},
    Key{"optional", "whether the caller may omit it", Form::one, Leaf::boolean},
    Key{"help", "replaces the operand's help", Form::one, Leaf::text},
};

const std::array kPublicOperatorKeys = {
    Key{"summary", "its function, in one line; default: the spec's summary", Form::one, Leaf::text},
    Key{"operands", "an operand: its restrictions", Form::map, Leaf::object, false, {}, kNarrowingKeys},
    Key{"without", "attributes that it does not have", Form::list, Leaf::reference},
    Key{"with", "attributes that only the operators have that list them here", Form::list, Leaf::reference},
    Key{"aliases", "another project's name for a part of it: which part", Form::map, Leaf::text},
};

const std::array kOfF16Keys = {
    Key{"abs", "the largest absolute error", Form::one, Leaf::number},
    Key{"rel", "the largest relative error", Form::one, Leaf::number},
};

const std::array kToleranceKeys = {
    Key{"abs", "the largest absolute error", Form::one, Leaf::number},
    Key{"rel", "the largest relative error", Form::one, Leaf::number},
    Key{"f16", "the same for f16 outputs, if it differs", Form::one, Leaf::object, false, {}, kOfF16Keys},
    Key{"computed", "the additional error that the reference computes from the data, in words", Form::one, Leaf::text},
    Key{"why", "the reason for the numbers", Form::one, Leaf::text},
};

const std::array kVerifyKeys = {
    Key{"reference", "the scalar reference that defines the operator; default: the one of its name", Form::one,
        Leaf::reference},
    Key{"tolerance", "the allowed error; default: none", Form::one, Leaf::object, false, {}, kToleranceKeys},
};

const std::array kScratchKeys = {
    Key{"dtype", "a dtype", Form::one, Leaf::word, true, dtype_words()},
    Key{"elements", "their number, an expression of problem fields", Form::one, Leaf::expression, true},
};

const std::array kStepKeys = {
    Key{"kernel", "the operator or kernel family whose kernels may run this step; in a fragment also $name", Form::one,
        Leaf::taken, true},
    Key{"operands", "its operand: an operand of the recipe, scratch, or 'none'; default: the one of the same name",
        Form::map, Leaf::reference},
    Key{"problem", "its field: an expression of the recipe's fields; default: the field or definition of the same name",
        Form::map, Leaf::expression},
    Key{"with", "its parameter: the value of this step's kernels; in a fragment also $name", Form::map, Leaf::value},
    Key{"seen_as", "its operand: the layout as which the step reads it", Form::map, Leaf::reference},
    Key{"indirect", "scratch from which the device reads the number of workgroups; an earlier step writes it",
        Form::one, Leaf::reference},
};

const std::array kRarelyBestKeys = {
    Key{"when", "the kernels: a condition on parameters, specialization and device", Form::one, Leaf::expression, true},
    Key{"on",
        "the architectures where it was measured; or features, for devices with all of them",
        Form::list,
        Leaf::word,
        true,
        architecture_and_feature_words(),
        {},
        "architecture or feature"},
    Key{"because", "the measurement and its date, in one line", Form::one, Leaf::text, true},
};

const Key kUseKey = {"use", "fragments, with the expressions that they take; their sections come first", Form::list,
                     Leaf::use};
const Key kScratchKey = {"scratch", "memory between the steps", Form::section, Leaf::object, false, {}, kScratchKeys};
const Key kBindKey = {"bind",
                      "an operand of all steps: an operand of the recipe, scratch, or 'none'; a step may override it",
                      Form::map, Leaf::reference};
const Key kSeenAsKey = {"seen_as", "an operand of all steps: the layout as which they read it; a step may override it",
                        Form::map, Leaf::reference};
const Key kStepsKey = {"steps",  "kernels, in the order in which they run", Form::list, Leaf::object, false, {},
                       kStepKeys};
// Of fragments and of all recipes only: a recipe lists its own steps in their order.
const Key kLastStepsKey = {
    "last_steps", "kernels that run after all steps of the recipe", Form::list, Leaf::object, false, {}, kStepKeys};

const Key kRecipeConditionsKey = {"applies_when", "conditions on the problem and the device", Form::list,
                                  Leaf::expression};
const Key kRecipesUseKey = {"recipes_use", "none: the recipe has nothing of the spec's 'recipes_use' and 'all_recipes'",
                            Form::one,     Leaf::word,
                            false,         {"none"}};
// Of a spec: what all its recipes begin and end with.
const std::array kAllRecipesKeys = {kScratchKey, kBindKey, kSeenAsKey, kStepsKey, kLastStepsKey};
const std::array kRecipeKeys = {kUseKey,    kRecipesUseKey, kRecipeConditionsKey, kScratchKey, kBindKey,
                                kSeenAsKey, kStepsKey};

const std::array kSpecKeys = {
    Key{"operator", "the operator's name, equal to the file's", Form::one, Leaf::name},
    Key{"kernel", "instead of operator: the name of a kernel family that only recipes use", Form::one, Leaf::name},
    Key{"summary", "its function, in one line", Form::one, Leaf::text},
    Key{"template", "the GLSL template, relative to the template root", Form::one, Leaf::text},
    kUseKey,
    Key{"operands", "tensors, in binding order", Form::section, Leaf::object, false, {}, kOperandKeys},
    Key{"attributes", "arguments that are not tensors", Form::section, Leaf::object, false, {}, kAttributeKeys},
    Key{"operators",
        "the names for callers; default: the spec's name",
        Form::map,
        Leaf::object,
        false,
        {},
        kPublicOperatorKeys},
    Key{"problem",
        "numbers that the caller passes, and that expressions read",
        Form::section,
        Leaf::field,
        false,
        {},
        kFieldKeys},
    Key{"parameters", "axes that change the code: one module per combination", Form::section, Leaf::axis},
    Key{"specialization", "axes bound when the pipeline is created", Form::section, Leaf::axis},
    Key{"constants", "specialization constants computed from the problem: one pipeline per value", Form::section,
        Leaf::expression},
    Key{"fit",
        "numbers that only the cost reads; `qgen-tune fit` finds them from measured times",
        Form::section,
        Leaf::fitted,
        false,
        {},
        kFitKeys},
    Key{"define", "names for expressions; an expression may read those above it", Form::section, Leaf::expression},
    Key{"require", "conditions on parameters, evaluated at generation", Form::list, Leaf::expression},
    Key{"applies_when", "conditions on the problem, evaluated at selection", Form::list, Leaf::expression},
    Key{"require_device", "conditions on the device, evaluated at selection", Form::list, Leaf::expression},
    Key{"rarely_best",
        "kernels that untuned choices leave out on some architectures",
        Form::list,
        Leaf::object,
        false,
        {},
        kRarelyBestKeys},
    Key{"subgroup_size", "the required subgroup size, an expression of parameters; default: any", Form::one,
        Leaf::expression},
    Key{"target", "the oldest Vulkan whose drivers can run its modules; default: --target of qgen", Form::one,
        Leaf::word, false, target_words()},
    Key{"grid", "workgroups in x, y and z", Form::tuple, Leaf::expression},
    Key{"cost", "an estimate in microseconds", Form::one, Leaf::expression},
    Key{"verify", "how the result is verified", Form::one, Leaf::object, false, {}, kVerifyKeys},
    Key{"recipes_use", "fragments that every recipe uses; their sections come first", Form::list, Leaf::use},
    Key{"all_recipes",
        "sections that every recipe has, before its own",
        Form::one,
        Leaf::object,
        false,
        {},
        kAllRecipesKeys},
    Key{"recipes", "sequences of kernels that compute it", Form::section, Leaf::object, false, {}, kRecipeKeys},
};

// Keys of specs only.
constexpr std::string_view kOwnKeys[] = {"operator",  "kernel",      "summary",     "template", "use",
                                         "operators", "recipes_use", "all_recipes", "target"};

std::vector<Key> make_fragment_keys() {
  std::vector<Key> keys = {
      Key{"fragment", "instead of operator: the fragment's name", Form::one, Leaf::reference, true},
      Key{"takes",
          "names that it reads and does not define: the meaning and unit of each",
          Form::map,
          Leaf::take,
          false,
          {},
          kTakeKeys},
      Key{"gives", "its definitions that others may read", Form::list, Leaf::reference}};
  for (const Key& key : kSpecKeys) {
    if (std::ranges::find(kOwnKeys, key.name) == std::end(kOwnKeys)) keys.push_back(key);
  }
  keys.push_back(kScratchKey);
  keys.push_back(kBindKey);
  keys.push_back(kSeenAsKey);
  keys.push_back(kStepsKey);
  keys.push_back(kLastStepsKey);
  keys.emplace_back(Key{"lists",
                        "named values of axes and words: 'layout: layouts.rows' is the list 'rows' of 'layouts'",
                        Form::map, Leaf::axis});
  return keys;
}

}  // namespace

KeyTable spec_keys() { return kSpecKeys; }
KeyTable cost_keys() {
  static const std::vector<Key> kKeys = {
      Key{kCostOf, "the spec or fragment of this cost, in the same folder", Form::one, Leaf::reference, true},
      Key{"measured", "the times that the numbers of 'fit' were fitted to, in a line", Form::one, Leaf::text},
      *find_key(kSpecKeys, "fit"), *find_key(kSpecKeys, "define"), *find_key(kSpecKeys, "cost")};
  return kKeys;
}
KeyTable merged_recipe_keys() {
  static const std::vector<Key> kKeys = [] {
    std::vector<Key> keys(kRecipeKeys.begin(), kRecipeKeys.end());
    keys.push_back(kLastStepsKey);
    return keys;
  }();
  return kKeys;
}
KeyTable fragment_keys() {
  static const std::vector<Key> kKeys = make_fragment_keys();
  return kKeys;
}

const Key* find_key(KeyTable keys, std::string_view name) {
  const auto key = std::ranges::find(keys, name, &Key::name);
  return key == keys.end() ? nullptr : &*key;
}

}  // namespace qgen::spec

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/keys.h"

#include <algorithm>
#include <array>

#include "codegen/spec/range.h"
#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

Key required(Key key) {
  key.is_required = true;
  return key;
}

const std::array kOperandKeys = {
    Key{"access", "what the kernel does with it", Form::one, Leaf::word, true, {"read", "write", "read_write"}},
    Key{"dtype", "a dtype, or $parameter", Form::one, Leaf::choice, true, dtype_words()},
    Key{"storage", "a storage, or $parameter; buffer if unsaid", Form::one, Leaf::choice, false, storage_words()},
    Key{"layout", "a layout, or $parameter; strided in a buffer and any in a texture if unsaid", Form::one,
        Leaf::choice, false, layout_words()},
    Key{"optional", "whether the caller may leave it out", Form::one, Leaf::boolean},
    Key{"in_place", "of an output: the inputs in whose bytes it may lie, where dtype, shape and layout are the same",
        Form::list, Leaf::reference},
    Key{"shape", "its sides, as callers see them: [..., N, K]; or several such, of which it has one", Form::one,
        Leaf::shape},
    Key{"weight", "whether it is a weight: packed as the chosen kernel reads it, and kept", Form::one, Leaf::boolean},
    Key{"view", "whether callers may give it strides of their own", Form::one, Leaf::boolean},
    Key{"row_sums_of", "the weight whose sums along rows it is; no caller gives it", Form::one, Leaf::reference},
    Key{"like", "the input in whose storage and layout it is made unless the caller says", Form::one, Leaf::reference},
    Key{"help", "what a caller should know beside dtype and shape, in a line", Form::one, Leaf::text},
};

const Key kWordsKey = {"words",
                       "what it can be, in the order in which kernels number them; or the fragment that says it",
                       Form::shared_list, Leaf::name};
const Key kEnumKey = {"enum", "the name of the words in C++, which others may share; its own if unsaid", Form::one,
                      Leaf::name};

const std::array kAttributeKeys = {
    Key{"type",
        "what it is; unsaid where there are 'words'",
        Form::one,
        Leaf::word,
        false,
        {"boolean", "integer", "real", "integers", "dtype", "layout"}},
    kWordsKey,
    kEnumKey,
    Key{"of", "of a dtype or layout: the operand that has it", Form::one, Leaf::reference},
    Key{"range", "the least and the greatest number it can be, or a range that has a name", Form::one, Leaf::range,
        false, range_words()},
    Key{"default", "its value where it is not given; in parentheses: what happens then", Form::one, Leaf::constant},
    Key{"unit", "what it counts", Form::one, Leaf::text},
    Key{"help", "what it means, in a line", Form::one, Leaf::text},
};

const std::array kWordFieldKeys = {required(kWordsKey), kEnumKey};

const std::array kNarrowingKeys = {
    Key{"dtype", "those of the operand's dtypes that are possible", Form::list, Leaf::word, false, dtype_words()},
    Key{"optional", "whether the caller may leave it out", Form::one, Leaf::boolean},
    Key{"help", "instead of the operand's", Form::one, Leaf::text},
};

const std::array kPublicOperatorKeys = {
    Key{"summary", "what it computes, in a line; the spec's if unsaid", Form::one, Leaf::text},
    Key{"operands", "an operand: what of it is possible here", Form::map, Leaf::object, false, {}, kNarrowingKeys},
    Key{"without", "attributes that it does not have", Form::list, Leaf::reference},
    Key{"aliases", "other names for a part of it: which part", Form::map, Leaf::text},
};

const std::array kOfF16Keys = {
    Key{"abs", "the largest absolute error", Form::one, Leaf::number},
    Key{"rel", "the largest relative error", Form::one, Leaf::number},
};

const std::array kToleranceKeys = {
    Key{"abs", "the largest absolute error", Form::one, Leaf::number},
    Key{"rel", "the largest relative error", Form::one, Leaf::number},
    Key{"f16", "the same of outputs of f16, if theirs is another", Form::one, Leaf::object, false, {}, kOfF16Keys},
    Key{"computed", "what the reference allows beside it, computed from the data", Form::one, Leaf::text},
    Key{"why", "the reason for the numbers", Form::one, Leaf::text},
};

const std::array kVerifyKeys = {
    Key{"reference", "the scalar reference that defines the operator; the one of its name if unsaid", Form::one,
        Leaf::reference},
    Key{"tolerance",
        "the error that is allowed against it; none if unsaid",
        Form::one,
        Leaf::object,
        false,
        {},
        kToleranceKeys},
};

const std::array kScratchKeys = {
    Key{"dtype", "a dtype", Form::one, Leaf::word, true, dtype_words()},
    Key{"elements", "how many, over the problem's fields", Form::one, Leaf::expression, true},
};

const std::array kStepKeys = {
    Key{"kernel", "the operator or kernel family whose kernels may run this step", Form::one, Leaf::reference, true},
    Key{"operands", "its operand: ours, scratch, or 'none'; one of the same name passes unsaid", Form::map,
        Leaf::reference},
    Key{"problem", "its field: an expression over ours; a field or definition of the same name passes unsaid",
        Form::map, Leaf::expression},
    Key{"with", "its parameter: the one value this step takes", Form::map, Leaf::value},
    Key{"seen_as", "its operand: the layout that the memory is taken for", Form::map, Leaf::reference},
};

const Key kUseKey = {"use", "fragments: what they hold stands before what is said here", Form::list, Leaf::reference};
const Key kScratchKey = {"scratch", "memory between the steps", Form::section, Leaf::object, false, {}, kScratchKeys};
const Key kBindKey = {"bind", "an operand of the steps: ours, scratch, or 'none'; unless the step says", Form::map,
                      Leaf::reference};
const Key kSeenAsKey = {"seen_as",
                        "an operand of the steps: the layout that its memory is taken for; unless the step says",
                        Form::map, Leaf::reference};
const Key kStepsKey = {"steps", "kernels, in the order they run", Form::list, Leaf::object, false, {}, kStepKeys};

const Key kRecipeConditionsKey = {"applies_when", "conditions on the problem and the device", Form::list,
                                  Leaf::expression};
const std::array kRecipeKeys = {kUseKey, kRecipeConditionsKey, kScratchKey, kBindKey, kSeenAsKey, kStepsKey};

const std::array kSpecKeys = {
    Key{"operator", "the operator's name, which is the file's", Form::one, Leaf::name},
    Key{"kernel", "instead of operator: the name of a family that only recipes use", Form::one, Leaf::name},
    Key{"summary", "what it computes, in a line", Form::one, Leaf::text},
    Key{"template", "the GLSL template, relative to the template root", Form::one, Leaf::text},
    kUseKey,
    Key{"operands", "tensors, in binding order", Form::section, Leaf::object, false, {}, kOperandKeys},
    Key{"attributes", "what callers say beside tensors", Form::section, Leaf::object, false, {}, kAttributeKeys},
    Key{"operators",
        "the names that callers use; the spec's own if unsaid",
        Form::map,
        Leaf::object,
        false,
        {},
        kPublicOperatorKeys},
    Key{"problem",
        "what the caller knows: names for the expressions",
        Form::section,
        Leaf::field,
        false,
        {},
        kWordFieldKeys},
    Key{"parameters", "axes that change the code: a module per combination", Form::section, Leaf::axis},
    Key{"specialization", "axes chosen when the pipeline is made", Form::section, Leaf::axis},
    Key{"constants", "specialization constants that the problem decides: a pipeline for each value", Form::section,
        Leaf::expression},
    Key{"fit", "numbers that the cost reads, found by `qgen-tune fit` from measured times", Form::section,
        Leaf::number},
    Key{"define", "names for expressions, each read by those below it", Form::section, Leaf::expression},
    Key{"require", "conditions on parameters, read at generation", Form::list, Leaf::expression},
    Key{"applies_when", "conditions on the problem, read at selection", Form::list, Leaf::expression},
    Key{"require_device", "conditions on the device, read at selection", Form::list, Leaf::expression},
    Key{"subgroup_size", "invocations that a subgroup must have, over parameters; any if unsaid", Form::one,
        Leaf::expression},
    Key{"grid", "workgroups in x, y and z", Form::tuple, Leaf::expression},
    Key{"cost", "an estimate in microseconds", Form::one, Leaf::expression},
    Key{"verify", "what judges the result", Form::one, Leaf::object, false, {}, kVerifyKeys},
    Key{"recipes_use", "fragments that every recipe uses, before what it says itself", Form::list, Leaf::reference},
    Key{"recipes", "other ways to compute it, of several kernels", Form::section, Leaf::object, false, {}, kRecipeKeys},
};

// What a spec alone can say.
constexpr std::string_view kOwnKeys[] = {"operator", "kernel",    "summary",    "template",
                                         "use",      "operators", "recipes_use"};

std::vector<Key> make_fragment_keys() {
  std::vector<Key> keys = {
      Key{"fragment", "instead of operator: the name of what specs share", Form::one, Leaf::name, true}};
  for (const Key& key : kSpecKeys) {
    if (std::ranges::find(kOwnKeys, key.name) == std::end(kOwnKeys)) keys.push_back(key);
  }
  keys.push_back(kScratchKey);
  keys.push_back(kBindKey);
  keys.push_back(kSeenAsKey);
  keys.push_back(kStepsKey);
  keys.emplace_back(Key{"words", "what attributes and problem fields can be: an enum in C++, named as the fragment",
                        Form::list, Leaf::name});
  return keys;
}

}  // namespace

KeyTable spec_keys() { return kSpecKeys; }
KeyTable recipe_keys() { return kRecipeKeys; }
KeyTable fragment_keys() {
  static const std::vector<Key> kKeys = make_fragment_keys();
  return kKeys;
}

const Key* find_key(KeyTable keys, std::string_view name) {
  const auto key = std::ranges::find(keys, name, &Key::name);
  return key == keys.end() ? nullptr : &*key;
}

}  // namespace qgen::spec

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes runtime/models/onnx/schema_rows.inc: each operator's inputs, outputs and attributes, as ONNX's own schema has them.

    apt-get install python3-onnx        # 1.16 or newer, so Debian 13's: older ones end before opset 21
    scripts/write_onnx_schema.py > runtime/models/onnx/schema_rows.inc

The result is committed, so building qgen needs no such package. runtime/models/onnx/schema.h says how a row is read. Only rows
that a model of opset 7 to 21 can meet are written; NEWER has those of opset 22 to 25 that say something else. ONNX does not know the operators of com.microsoft: the rows below
are from ONNX Runtime's docs/ContribOperators.md, and only those that the importer reads.
"""
import sys

import onnx.defs

FIRST, LAST = 7, 21

KINDS = {"INT": "integer", "FLOAT": "real", "STRING": "word", "TENSOR": "tensor", "GRAPH": "graph",
         "INTS": "integers", "FLOATS": "reals", "STRINGS": "words"}
TYPES = {"float": "float32", "double": "float64"}
# A list that has all of these excludes nothing.
ALL = {"float32", "float64", "float16", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
       "uint64"}

HEAD = """\
// Written by scripts/write_onnx_schema.py with ONNX {version}. Do not edit.
// operator, domain, since which opset, inputs, outputs, types of its type variables, attributes
// clang-format off
"""

CONTRIB = [
    ("QLinearMatMul", "a:T1 a_scale:float32 a_zero_point:T1 b:T2 b_scale:float32 b_zero_point:T2 y_scale:float32 "
     "y_zero_point:T3", "y:T3", "", ""),
    ("QGemm", "A:TA a_scale:T a_zero_point:TA B:TB b_scale:T b_zero_point:TB C?:int32 y_scale?:T y_zero_point?:TYZ",
     "Y:TY", "T=float32", "alpha=real transA=integer transB=integer"),
    ("QLinearAdd", "A:T A_scale:float32 A_zero_point?:T B:T B_scale:float32 B_zero_point?:T C_scale:float32 "
     "C_zero_point?:T", "C:T", "T=int8,uint8", ""),
    ("QLinearMul", "A:T A_scale:float32 A_zero_point?:T B:T B_scale:float32 B_zero_point?:T C_scale:float32 "
     "C_zero_point?:T", "C:T", "T=int8,uint8", ""),
    ("QLinearConcat", "Y_scale:TF Y_zero_point:T8 inputs*", "Y:T8", "T8=int8,uint8 TF=float32", "axis=integer!"),
    ("QLinearAveragePool", "X:T x_scale:float32 x_zero_point?:T y_scale:float32 y_zero_point?:T", "Y:T",
     "T=int8,uint8", "auto_pad=word ceil_mode=integer channels_last=integer count_include_pad=integer "
     "kernel_shape=integers! pads=integers strides=integers"),
    ("QLinearGlobalAveragePool", "X:T x_scale:float32 x_zero_point:T y_scale:float32 y_zero_point:T", "Y:T",
     "T=int8,uint8", "channels_last=integer"),
    ("QLinearReduceMean", "data:T data_scale:float32 data_zero_point?:T reduced_scale:float32 reduced_zero_point?:T",
     "reduced:T", "T=int8,uint8", "axes=integers keepdims=integer"),
    ("QLinearSigmoid", "X:T X_scale:float32 X_zero_point?:T Y_scale:float32 Y_zero_point?:T", "Y:T", "T=int8,uint8",
     ""),
    ("QLinearLeakyRelu", "X:T X_scale:float32 X_zero_point?:T Y_scale:float32 Y_zero_point?:T", "Y:T", "T=int8,uint8",
     "alpha=real"),
    ("QLinearSoftmax", "X:T X_scale:float32 x_zero_point?:T y_scale:float32 y_zero_point:T", "Y:T", "T=int8,uint8",
     "axis=integer opset=integer!"),
    ("FusedConv", "X:T W:T B?:T Z?:T", "Y:T", "T=float16,float32", "activation=word activation_params=reals auto_pad=word "
     "dilations=integers group=integer kernel_shape=integers pads=integers strides=integers"),
    ("FusedGemm", "A:T B:T C?:T", "Y:T", "T=float16,float32", "activation=word activation_alpha=real "
     "activation_beta=real activation_gamma=real alpha=real beta=real transA=integer transB=integer"),
    ("BiasGelu", "A:T B:T", "C:T", "T=bfloat16,float16,float32", ""),
    ("DynamicQuantizeMatMul", "A:T1 B:T2 b_scale:T1 b_zero_point?:T2 bias?:T1", "Y:T1", "T1=float32 T2=int8,uint8", ""),
    ("EmbedLayerNormalization", "input_ids:T1 segment_ids?:T1 word_embedding:T position_embedding:T "
     "segment_embedding?:T gamma:T beta:T mask?:T1 position_ids?:T1",
     "output:T mask_index?:T1 embedding_sum?:T", "T=float16,float32 T1=int32", "epsilon=real mask_index_type=integer"),
    ("FastGelu", "X:T bias?:T", "Y:T", "T=bfloat16,float16,float32", ""),
    ("FusedMatMul", "A:T B:T", "Y:T", "T=bfloat16,float16,float32",
     "alpha=real transA=integer transB=integer transBatchA=integer transBatchB=integer"),
    ("Gelu", "X:T", "Y:T", "T=float16,float32", ""),
    ("MatMulIntegerToFloat", "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point?:T1 b_zero_point?:T2 bias?:T3", "Y:T3",
     "T1=int8,uint8 T2=int8,uint8 T3=float32", ""),
    ("QuickGelu", "X:T", "Y:T", "T=bfloat16,float16,float32", "alpha=real"),
    ("GatherBlockQuantized", "data indices:Tind scales:T2 zero_points?", "output:T2",
     "T2=bfloat16,float16,float32 Tind=int32,int64",
     "bits=integer block_size=integer gather_axis=integer quantize_axis=integer"),
    ("MatMulNBits", "A:T1 B scales:T1 zero_points? g_idx?:int32 bias?:T1", "Y:T1", "T1=float16,float32",
     "K=integer! N=integer! accuracy_level=integer bits=integer block_size=integer! weight_prepacked=integer"),
    ("GroupQueryAttention", "query:T key?:T value?:T past_key?:T_CACHE past_value?:T_CACHE seqlens_k:M total_sequence_length:M cos_cache?:T sin_cache?:T position_ids?:int64 attention_bias?:T head_sink?:T",
     "output:T present_key?:T_CACHE present_value?:T_CACHE output_qk?:T", "M=int32 T=bfloat16,float16,float32 T_CACHE=bfloat16,float16,float32",
     "do_rotary=integer kv_num_heads=integer! local_window_size=integer num_heads=integer! qk_output=integer rotary_interleaved=integer scale=real smooth_softmax=integer softcap=real"),
    ("MultiHeadAttention", "query:T key?:T value?:T bias?:T key_padding_mask?:M attention_bias?:T past_key?:T past_value?:T past_sequence_length?:M cache_indirection?:M",
     "output:T present_key?:T present_value?:T qk?:QK", "M=int32 QK=bfloat16,float16,float32 T=float16,float32",
     "mask_filter_value=real num_heads=integer! scale=real unidirectional=integer"),
    ("RotaryEmbedding", "input:T position_ids:M cos_cache:T sin_cache:T", "output:T", "M=int64 T=bfloat16,float16,float32",
     "interleaved=integer is_packed_batching=integer num_heads=integer rotary_embedding_dim=integer scale=real"),
    ("SimplifiedLayerNormalization", "X:T scale:V", "Y:V inv_std_var?:U", "T=float16,float32,float64 U=float32,float64 "
     "V=float16,float32,float64", "axis=integer epsilon=real stash_type=integer"),
    ("SkipLayerNormalization", "input:T skip:T gamma:T beta?:T bias?:T",
     "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "T=float16,float32 U=float32", "epsilon=real"),
    ("SkipSimplifiedLayerNormalization", "input:T skip:T gamma:T bias?:T",
     "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "T=float16,float32 U=float32", "epsilon=real"),
    ("QuantizeLinear", "x:T1 y_scale:T1 y_zero_point?:T2", "y:T2", "T1=float16,float32",
     "axis=integer block_size=integer"),
    ("DequantizeLinear", "x:T1 x_scale:T2 x_zero_point?:T1", "y:T2", "T2=float16,float32",
     "axis=integer block_size=integer"),
]

# Operators of opset 22 to 25 with other inputs or attributes than before; the others only take more types. By hand:
# Debian's ONNX ends before them.
NEWER = [
    ("Cast", 24, "input:T1", "output:T2", "", "round_mode=word saturate=integer to=integer!"),
    ("DequantizeLinear", 23, None, "y:T3", None, "axis=integer block_size=integer output_dtype=integer"),
    ("QuantizeLinear", 23, "x:T1 y_scale:T3 y_zero_point?:T2", None, None,
     "axis=integer block_size=integer output_dtype=integer precision=integer saturate=integer"),
]

# Operators of ONNX's own domain that Debian's ONNX does not know: those of opset 22 to 25, and one that ONNX Runtime
# adds.
ADDED = [
    ("Attention", 23, "Q:T1 K:T1 V:T2 attn_mask?:U past_key?:T1 past_value?:T2", "Y:T1 present_key?:T1 present_value?:T2 qk_matmul_output?:T1",
     "T1=bfloat16,float16,float32,float64 T2=bfloat16,float16,float32,float64",
     "is_causal=integer kv_num_heads=integer q_num_heads=integer qk_matmul_output_mode=integer scale=real softcap=real softmax_precision=integer"),
    ("Attention", 24, "Q:T1 K:T1 V:T2 attn_mask?:U past_key?:T1 past_value?:T2 nonpad_kv_seqlen?:int64",
     "Y:T1 present_key?:T1 present_value?:T2 qk_matmul_output?:T1",
     "T1=bfloat16,float16,float32,float64 T2=bfloat16,float16,float32,float64",
     "is_causal=integer kv_num_heads=integer q_num_heads=integer qk_matmul_output_mode=integer scale=real softcap=real softmax_precision=integer"),
    ("RMSNormalization", 23, "X:T scale:V", "Y:V", "T=bfloat16,float16,float32,float64 "
     "V=bfloat16,float16,float32,float64", "axis=integer epsilon=real stash_type=integer"),
    ("RotaryEmbedding", 23, "X:T cos_cache:T sin_cache:T position_ids?:M", "Y:T", "M=int64 T=bfloat16,float16,float32",
     "interleaved=integer num_heads=integer rotary_embedding_dim=integer"),
    ("SimplifiedLayerNormalization", 1, "X:T scale:V", "Y:V inv_std_var?:U", "T=bfloat16,float16,float32,float64 "
     "U=float32,float64 V=bfloat16,float16,float32,float64", "axis=integer epsilon=real stash_type=integer"),
]


def short(kind):
    """tensor(float) -> float32; others, sequences say, as they are."""
    name = kind[len("tensor("):-1] if kind.startswith("tensor(") else kind
    return TYPES.get(name, name)


def parameters(formals, constraints):
    marks = {"Single": "", "Optional": "?", "Variadic": "*"}
    texts = []
    for formal in formals:
        # Inputs of one variadic parameter may differ in type where ONNX says so (Loop's do).
        is_typed = formal.option.name != "Variadic" or formal.is_homogeneous
        kind = formal.type_str if formal.type_str in constraints else short(formal.type_str)
        texts.append(formal.name + marks[formal.option.name] + (f":{kind}" if is_typed else ""))
    return " ".join(texts)


def types(schema, later):
    """Later opsets only add types, and a sum of int8 has the same meaning in old and new models."""
    texts = []
    for constraint in schema.type_constraints:
        allowed = {short(kind) for version in [schema, *later] for same in version.type_constraints
                   if same.type_param_str == constraint.type_param_str
                   for kind in same.allowed_type_strs if kind.startswith("tensor(")}
        if allowed and not ALL <= allowed: texts.append(f"{constraint.type_param_str}={','.join(sorted(allowed))}")
    return " ".join(texts)


def attributes(schema):
    return " ".join(f"{name}={KINDS[attribute.type.name]}{'!' if attribute.required else ''}"
                    for name, attribute in sorted(schema.attributes.items()) if attribute.type.name in KINDS)


def own_rows():
    found = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= LAST and not schema.deprecated:
            found.setdefault(schema.name, []).append(schema)
    for name, versions in sorted(found.items()):
        versions.sort(key=lambda schema: schema.since_version)
        before = None
        for i, schema in enumerate(versions):
            later = versions[i + 1:]
            if later and later[0].since_version <= FIRST: continue
            variables = {constraint.type_param_str for constraint in schema.type_constraints}
            row = (parameters(schema.inputs, variables), parameters(schema.outputs, variables), types(schema, later),
                   attributes(schema))
            if row != before: yield (name, "", schema.since_version, *row)
            before = row
        for newer, since, *texts in NEWER:
            if newer == name: yield name, "", since, *(text if text is not None else old for text, old in zip(texts, before))
    for name, since, *texts in ADDED: yield name, "", since, *texts


def rows():
    yield from sorted(own_rows(), key=lambda row: (row[0], row[2]))
    for name, inputs, outputs, kinds, given in sorted(CONTRIB):
        yield name, "com.microsoft", 1, inputs, outputs, kinds, given


if onnx.defs.onnx_opset_version() < LAST: sys.exit(f"ONNX {onnx.__version__} ends before opset {LAST}")
print(HEAD.format(version=onnx.__version__), end="")
for name, domain, since, *texts in rows():
    print(f'{{"{name}", "{domain}", {since}, ' + ", ".join(f'"{text}"' for text in texts) + "},")
print("// clang-format on")

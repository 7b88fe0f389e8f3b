#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Exports small language models of the package transformers with PyTorch, with random weights, caches as inputs and outputs.

    pip install torch transformers onnx onnxscript onnxruntime
    bench/models/export_language_models.py FOLDER [NAME ...]

Writes NAME_script.onnx, which the exporter of TorchScript traced, and NAME_program.onnx, an exported program (dynamo=True).
With --int4 also NAME_script_int4.onnx, by ONNX Runtime's MatMulNBits quantizer, and with --optimized NAME_program_optimized.onnx,
as ONNX Runtime saves it after its extended optimizations. `qgen-model generate` runs them, and
bench/models/generate_onnxruntime.js gives the tokens to compare with. Weights are rounded to multiples of 1/64.
"""
import argparse
import math
import pathlib

import torch
import transformers
from transformers.cache_utils import DynamicCache

LAYERS, HEADS, KEY_HEADS, WIDTH, VOCABULARY = 2, 4, 2, 16, 128
SIZES = dict(vocab_size=VOCABULARY, hidden_size=HEADS * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
             intermediate_size=128, max_position_embeddings=64)
GROUPED = dict(SIZES, num_key_value_heads=KEY_HEADS)
# name: class, configuration, heads of keys, sizes
MODELS = {
    "falcon": ("FalconForCausalLM", "FalconConfig", 1, dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2,
                                                            num_attention_heads=4)),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", KEY_HEADS, dict(GROUPED, head_dim=WIDTH)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", KEY_HEADS, dict(GROUPED, head_dim=WIDTH, sliding_window=4)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", KEY_HEADS, dict(GROUPED, head_dim=WIDTH, sliding_window=4)),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", HEADS, dict(vocab_size=VOCABULARY, n_positions=64, n_embd=64, n_layer=2,
                                                          n_head=4)),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", HEADS, SIZES),
    "granite": ("GraniteForCausalLM", "GraniteConfig", KEY_HEADS, GROUPED),
    "llama": ("LlamaForCausalLM", "LlamaConfig", KEY_HEADS, GROUPED),
    "mistral": ("MistralForCausalLM", "MistralConfig", KEY_HEADS, dict(GROUPED, sliding_window=4)),
    "phi": ("PhiForCausalLM", "PhiConfig", HEADS, SIZES),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", KEY_HEADS, dict(GROUPED, pad_token_id=0)),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", KEY_HEADS, GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", KEY_HEADS, dict(GROUPED, head_dim=WIDTH)),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", KEY_HEADS, dict(GROUPED, pad_token_id=0)),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", KEY_HEADS, GROUPED),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", KEY_HEADS, GROUPED),
}


class Decoder(torch.nn.Module):
    """With its caches as a list of tensors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, past):
        cache = DynamicCache([(past[2 * i], past[2 * i + 1]) for i in range(len(past) // 2)])
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                            past_key_values=cache, use_cache=True)
        present = [tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (result.logits, *present)


def randomize(model):
    """The weights that transformers makes give almost equal logits."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() >= 2: weight.copy_(noise * 1.2 / math.sqrt(weight[0].numel()))
            elif name.endswith("weight"): weight.copy_(torch.rand(weight.shape, generator=generator) + 0.5)
            else: weight.copy_(noise * 0.1)
            weight.copy_((weight * 64).round() / 64)
    return model


def export(folder, name, attention):
    model, config, heads, sizes = MODELS[name]
    decoder = Decoder(getattr(transformers, model)._from_config(getattr(transformers, config)(**sizes),
                                                                attn_implementation=attention))
    randomize(decoder).eval()
    batch, rows, past = 2, 3, 5
    arguments = (torch.ones(batch, rows, dtype=torch.int64), torch.ones(batch, past + rows, dtype=torch.int64),
                 torch.arange(past, past + rows).repeat(batch, 1),
                 [torch.zeros(batch, heads, past, WIDTH) for _ in range(2 * LAYERS)])
    parts = [f"{i}.{part}" for i in range(LAYERS) for part in ("key", "value")]
    names = ["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{part}" for part in parts)]
    outputs = ["logits", *(f"present.{part}" for part in parts)]
    axes = [{0: "batch", 1: "rows"}, {0: "batch", 1: "total"}, {0: "batch", 1: "rows"}, *[{0: "batch", 2: "past"}] * len(parts)]
    dynamic = torch.export.Dim.DYNAMIC
    sides = [{axis: dynamic for axis in each} for each in axes]
    torch.onnx.export(decoder, arguments, folder / f"{name}_script.onnx", dynamo=False, opset_version=17, input_names=names,
                      output_names=outputs, dynamic_axes=dict(zip(names, axes)) | {output: {0: "batch"} for output in outputs})
    decoder.eval()
    torch.onnx.export(decoder, arguments, folder / f"{name}_program.onnx", dynamo=True, opset_version=20, input_names=names,
                      output_names=outputs, dynamic_shapes=(*sides[:3], sides[3:]), external_data=False)


def quantize(source, target):
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True)
    quantizer.process()
    onnx.save(quantizer.model.model, target)


def optimize(source, target):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of " + ", ".join(MODELS))
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="sdpa")
    parser.add_argument("--int4", action="store_true")
    parser.add_argument("--optimized", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in MODELS: parser.error(f"'{name}' is none of {', '.join(MODELS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        export(arguments.folder, name, arguments.attention)
        script, program = (arguments.folder / f"{name}_{kind}.onnx" for kind in ("script", "program"))
        if arguments.int4: quantize(script, script.with_stem(script.stem + "_int4"))
        if arguments.optimized: optimize(program, program.with_stem(program.stem + "_optimized"))
        print(name, flush=True)


if __name__ == "__main__":
    main()

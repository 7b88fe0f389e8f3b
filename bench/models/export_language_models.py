#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Exports small language models of the package transformers with PyTorch, with random weights, caches as inputs and outputs.

    pip install torch transformers onnx onnxscript onnxruntime
    bench/models/export_language_models.py FOLDER [NAME ...]

Writes NAME_script.onnx, which the exporter of TorchScript traced, and NAME_program.onnx, an exported program (dynamo=True).
Decoders of encoder models have the encoder's result, its mask, and its keys and values as inputs too.
With --int4 also NAME_script_int4.onnx, by ONNX Runtime's MatMulNBits quantizer, and with --optimized NAME_program_optimized.onnx,
as ONNX Runtime saves it after its extended optimizations. `qgen-model generate` runs them, and
bench/models/generate_onnxruntime.js gives the tokens to compare with. Weights are rounded to multiples of 1/64.
"""
import argparse
import math
import pathlib

import torch
import transformers
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

LAYERS, HEADS, KEY_HEADS, WIDTH, VOCABULARY = 2, 4, 2, 16, 128
SIZES = dict(vocab_size=VOCABULARY, hidden_size=HEADS * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
             intermediate_size=128, max_position_embeddings=64)
GROUPED = dict(SIZES, num_key_value_heads=KEY_HEADS)
OLD_NAMES = dict(vocab_size=VOCABULARY, n_positions=64, n_embd=64, n_layer=2, n_head=4)
# name: class, configuration, heads of keys, sizes
MODELS = {
    "bloom": ("BloomForCausalLM", "BloomConfig", HEADS, dict(vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4)),
    "codegen": ("CodeGenForCausalLM", "CodeGenConfig", HEADS, dict(OLD_NAMES, rotary_dim=8)),
    "falcon": ("FalconForCausalLM", "FalconConfig", 1, dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2,
                                                            num_attention_heads=4)),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", KEY_HEADS, dict(GROUPED, head_dim=WIDTH)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", KEY_HEADS, dict(GROUPED, head_dim=WIDTH, sliding_window=4)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", KEY_HEADS, dict(GROUPED, head_dim=WIDTH, sliding_window=4)),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", HEADS, OLD_NAMES),
    "gpt_neo": ("GPTNeoForCausalLM", "GPTNeoConfig", HEADS,
                dict(vocab_size=VOCABULARY, hidden_size=64, num_layers=2, num_heads=4, window_size=4,
                     attention_types=[[["global", "local"], 1]], max_position_embeddings=64)),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", HEADS, SIZES),
    "gptj": ("GPTJForCausalLM", "GPTJConfig", HEADS, dict(OLD_NAMES, rotary_dim=8)),
    "granite": ("GraniteForCausalLM", "GraniteConfig", KEY_HEADS, GROUPED),
    "llama": ("LlamaForCausalLM", "LlamaConfig", KEY_HEADS, GROUPED),
    "mistral": ("MistralForCausalLM", "MistralConfig", KEY_HEADS, dict(GROUPED, sliding_window=4)),
    "mpt": ("MptForCausalLM", "MptConfig", HEADS, dict(vocab_size=VOCABULARY, d_model=64, n_heads=4, n_layers=2,
                                                       expansion_ratio=2, max_seq_len=64)),
    "phi": ("PhiForCausalLM", "PhiConfig", HEADS, SIZES),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", KEY_HEADS, dict(GROUPED, pad_token_id=0)),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", KEY_HEADS, GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", KEY_HEADS, dict(GROUPED, head_dim=WIDTH)),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", KEY_HEADS, dict(GROUPED, pad_token_id=0)),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", KEY_HEADS, GROUPED),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", KEY_HEADS, GROUPED),
}
WITHOUT_POSITIONS = {"bloom", "mpt"}
PARTS = dict(vocab_size=VOCABULARY, d_model=64, d_kv=WIDTH, d_ff=128, num_layers=2, num_heads=HEADS)
CODED = dict(vocab_size=VOCABULARY, d_model=64, encoder_layers=1, decoder_layers=2, encoder_attention_heads=HEADS,
             decoder_attention_heads=HEADS, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64,
             max_target_positions=64, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
# Decoders of encoder models: class, configuration, sizes
DECODERS = {
    "bart": ("BartForConditionalGeneration", "BartConfig", CODED),
    "marian": ("MarianMTModel", "MarianConfig", CODED),
    "mbart": ("MBartForConditionalGeneration", "MBartConfig", CODED),
    "mt5": ("MT5ForConditionalGeneration", "MT5Config", PARTS),
    "pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", CODED),
    "t5": ("T5ForConditionalGeneration", "T5Config", PARTS),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", CODED),
}


def cache_of(tensors):
    return DynamicCache([(tensors[2 * i], tensors[2 * i + 1]) for i in range(len(tensors) // 2)])


def tensors_of(cache):
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


class Decoder(torch.nn.Module):
    """With its caches as a list of tensors. `places`: position_ids, unless the model has none, and the caches."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, *places):
        positions = dict(position_ids=places[0]) if len(places) > 1 else {}
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache_of(places[-1]),
                            use_cache=True, **positions)
        return (result.logits, *tensors_of(result.past_key_values))


class EncodedDecoder(torch.nn.Module):
    """With keys and values of the encoder's result as a second list."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, *others):
        states, mask, past, encoded = others
        result = self.model(decoder_input_ids=input_ids, encoder_outputs=(states,), attention_mask=mask,
                            past_key_values=EncoderDecoderCache(cache_of(past), cache_of(encoded)), use_cache=True)
        return (result.logits, *tensors_of(result.past_key_values.self_attention_cache))


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


def model_of(kind, config, sizes, attention):
    model = getattr(transformers, kind)._from_config(getattr(transformers, config)(**sizes), attn_implementation=attention)
    return randomize(model).eval()


def decoder_of(name, attention):
    """The module; its inputs, with their names and open sides; names of its caches. The last inputs are lists."""
    batch, rows, past, encoded = 2, 3, 5, 7
    ones = lambda *shape: torch.ones(*shape, dtype=torch.int64)
    caches = lambda heads, length: [torch.zeros(batch, heads, length, WIDTH) for _ in range(2 * LAYERS)]
    tokens, cached = {0: "batch", 1: "rows"}, {0: "batch", 2: "past"}
    if name in DECODERS:
        kind, config, sizes = DECODERS[name]
        arguments = [("input_ids", ones(batch, rows), tokens),
                     ("encoder_hidden_states", torch.zeros(batch, encoded, 64), {0: "batch", 1: "encoded"}),
                     ("encoder_attention_mask", ones(batch, encoded), {0: "batch", 1: "encoded"}),
                     ("decoder.", caches(HEADS, past), cached),
                     ("encoder.", caches(HEADS, encoded), {0: "batch", 2: "encoded"})]
        return EncodedDecoder(model_of(kind, config, sizes, attention)).eval(), arguments, "decoder."
    kind, config, heads, sizes = MODELS[name]
    arguments = [("input_ids", ones(batch, rows), tokens),
                 ("attention_mask", ones(batch, past + rows), {0: "batch", 1: "total"}),
                 ("position_ids", torch.arange(past, past + rows).repeat(batch, 1), tokens), ("", caches(heads, past), cached)]
    if name in WITHOUT_POSITIONS: del arguments[2]
    return Decoder(model_of(kind, config, sizes, "eager" if name == "mpt" else attention)).eval(), arguments, ""


def export(folder, name, attention):
    decoder, arguments, own = decoder_of(name, attention)
    parts = lambda of: [f"{i}.{of}{part}" for i in range(LAYERS) for part in ("key", "value")]
    outputs = ["logits", *(f"present.{part}" for part in parts(own))]
    names, axes, sides = [], [], []
    for said, value, sides_of in arguments:
        is_list = isinstance(value, list)
        names += [f"past_key_values.{part}" for part in parts(said)] if is_list else [said]
        axes += [sides_of] * (len(value) if is_list else 1)
        dynamic = {axis: torch.export.Dim.DYNAMIC for axis in sides_of}
        sides.append([dynamic] * len(value) if is_list else dynamic)
    values = tuple(value for _, value, _ in arguments)
    torch.onnx.export(decoder, values, folder / f"{name}_script.onnx", dynamo=False, opset_version=17, input_names=names,
                      output_names=outputs, dynamic_axes=dict(zip(names, axes)) | {output: {0: "batch"} for output in outputs})
    if name == "mpt": return  # its mask has sides that torch.export does not know
    decoder.eval()
    torch.onnx.export(decoder, values, folder / f"{name}_program.onnx", dynamo=True, opset_version=20, input_names=names,
                      output_names=outputs, dynamic_shapes=(sides[0], tuple(sides[1:])), external_data=False)


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
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of " + ", ".join(MODELS | DECODERS))
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="sdpa")
    parser.add_argument("--int4", action="store_true")
    parser.add_argument("--optimized", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in MODELS | DECODERS: parser.error(f"'{name}' is none of {', '.join(MODELS | DECODERS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS | DECODERS:
        export(arguments.folder, name, arguments.attention)
        script, program = (arguments.folder / f"{name}_{kind}.onnx" for kind in ("script", "program"))
        if arguments.int4: quantize(script, script.with_stem(script.stem + "_int4"))
        if arguments.optimized and program.exists(): optimize(program, program.with_stem(program.stem + "_optimized"))
        print(name, flush=True)


if __name__ == "__main__":
    main()

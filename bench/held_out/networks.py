# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Layers of published networks that are not in bench/families or bench/models: convolutions, linear layers and
products of attention. Their sizes are from the papers, or from the configurations published with the weights."""

from typing import NamedTuple


class Convolution(NamedTuple):
    """One image of [channels, *sides]; taps, strides, padding and dilation have one number for each side."""
    channels: int
    outputs: int
    sides: tuple
    taps: tuple
    strides: tuple
    padding: tuple
    dilation: tuple
    groups: int = 1
    output_padding: int = 0
    is_transposed: bool = False


class Product(NamedTuple):
    """[batches, m, k] times [batches, k, n]; without batches a linear layer of m rows."""
    m: int
    k: int
    n: int
    batches: int = 1


class Image:
    """Follows a network and keeps its layers: each takes what the one before gave."""

    def __init__(self, layers, channels, *sides):
        self.layers, self.channels, self.sides = layers, channels, sides

    def each(self, value):
        return tuple(value) if isinstance(value, tuple) else (value,) * len(self.sides)

    def branch(self):
        return Image(self.layers, self.channels, *self.sides)

    def resized(self, *sides):
        self.sides = sides
        return self

    def pool(self, stride=2):
        return self.resized(*(max(1, side // s) for side, s in zip(self.sides, self.each(stride))))

    def conv(self, outputs, taps=1, stride=1, groups=1, dilation=1, padding=None):
        taps, stride, dilation = self.each(taps), self.each(stride), self.each(dilation)
        padding = tuple(d * (t - 1) // 2 for d, t in zip(dilation, taps)) if padding is None else self.each(padding)
        self.layers.append(Convolution(self.channels, outputs, self.sides, taps, stride, padding, dilation, groups))
        self.sides = tuple((side + 2 * p - d * (t - 1) - 1) // s + 1
                           for side, p, d, t, s in zip(self.sides, padding, dilation, taps, stride))
        self.channels = outputs
        return self

    def depthwise(self, taps, stride=1):
        return self.conv(self.channels, taps, stride, self.channels)

    def transposed(self, outputs, taps, stride, padding=0, output_padding=0):
        taps, stride, padding = self.each(taps), self.each(stride), self.each(padding)
        self.layers.append(Convolution(self.channels, outputs, self.sides, taps, stride, padding, self.each(1), 1,
                                       output_padding, True))
        self.sides = tuple((side - 1) * s - 2 * p + t + output_padding
                           for side, s, p, t in zip(self.sides, stride, padding, taps))
        self.channels = outputs
        return self

    def gate(self, channels):
        """Squeeze and excitation."""
        Image(self.layers, self.channels, 1, 1).conv(channels).conv(self.channels)
        return self


# ---- networks for images --------------------------------------------------------------------------------------------


def efficientnet(layers, size, width, depth):
    """B0 is (224, 1, 1), B4 is (380, 1.4, 1.8)."""
    def rounded(channels):
        near = max(8, int(channels * width + 4) // 8 * 8)
        return near + 8 if near < 0.9 * channels * width else near

    x = Image(layers, 3, size, size).conv(rounded(32), 3, 2)
    for expand, channels, repeats, stride, taps in (
            (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
            (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for block in range(-int(-repeats * depth // 1)):
            squeezed = x.channels // 4
            if expand > 1:
                x.conv(x.channels * expand)
            x.depthwise(taps, stride if block == 0 else 1).gate(squeezed).conv(rounded(channels))
    x.conv(rounded(1280))


def mobilenet_v3_large(layers):
    x = Image(layers, 3, 224, 224).conv(16, 3, 2)
    for taps, inner, channels, is_gated, stride in (
            (3, 16, 16, 0, 1), (3, 64, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1),
            (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 1, 1), (3, 672, 112, 1, 1),
            (5, 672, 160, 1, 2), (5, 960, 160, 1, 1)):
        x.conv(inner).depthwise(taps, stride)
        if is_gated:
            x.gate(inner // 4)
        x.conv(channels)
    x.conv(960)


def shufflenet_v2(layers):
    x = Image(layers, 3, 224, 224).conv(24, 3, 2).pool()
    for channels in (116, 232, 464):
        x.branch().depthwise(3, 2).conv(channels // 2)
        x.conv(channels // 2).depthwise(3, 2).conv(channels // 2)
        x.branch().conv(channels // 2).depthwise(3).conv(channels // 2)
        x.channels = channels
    x.conv(1024)


def resnext50(layers):
    x = Image(layers, 3, 224, 224).conv(64, 7, 2).pool()
    for stage, inner in enumerate((128, 256, 512, 1024)):
        for stride in ((1 if stage == 0 else 2), 1):
            if stride == 2 or stage == 0:
                x.branch().conv(2 * inner, 1, stride)
            x.conv(inner).conv(inner, 3, stride, 32).conv(2 * inner)


def regnet_y_4gf(layers):
    x = Image(layers, 3, 224, 224).conv(32, 3, 2)
    for channels in (128, 192, 512, 1088):
        for stride in (2, 1):
            squeezed = x.channels // 4
            x.conv(channels).conv(channels, 3, stride, channels // 64).gate(squeezed).conv(channels)


def convnext_tiny(layers):
    x = Image(layers, 3, 224, 224).conv(96, 4, 4, padding=0)
    for channels in (96, 192, 384, 768):
        if channels > 96:
            x.conv(channels, 2, 2, padding=0)
        x.depthwise(7).conv(4 * channels).conv(channels)


def densenet121(layers):
    x = Image(layers, 3, 224, 224).conv(64, 7, 2).pool()
    for repeats in (6, 12, 24, 16):
        for _ in range(repeats):
            x.branch().conv(128).conv(32, 3)
            x.channels += 32
        if repeats != 16:
            x.conv(x.channels // 2).pool()


def inception_v3(layers):
    x = Image(layers, 3, 299, 299).conv(32, 3, 2, padding=0).conv(32, 3, padding=0).conv(64, 3).resized(73, 73)
    x.conv(80).conv(192, 3, padding=0).resized(35, 35)
    for channels in (192, 256, 288):
        x.channels = channels
        x.branch().conv(64).conv(96, 3).conv(96, 3)
        x.branch().conv(48).conv(64, 5)
    x.conv(384, 3, 2, padding=0)
    for inner in (128, 160, 192):
        x.channels = 768
        x.branch().conv(inner).conv(inner, (1, 7)).conv(192, (7, 1))
        x.branch().conv(inner).conv(inner, (7, 1)).conv(inner, (1, 7)).conv(inner, (7, 1)).conv(192, (1, 7))
    x.channels = 768
    x.branch().conv(192).conv(320, 3, 2, padding=0)
    x.resized(8, 8)
    for channels in (1280, 2048):
        x.channels = channels
        x.branch().conv(320)
        x.branch().conv(384).branch().conv(384, (1, 3))
        x.branch().conv(448).conv(384, 3).conv(384, (3, 1))


def vgg16(layers):
    x = Image(layers, 3, 224, 224)
    for channels, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            x.conv(channels, 3)
        x.pool()


def yolo_v8s(layers):
    x = Image(layers, 3, 640, 640).conv(32, 3, 2)

    def stage(x, channels, repeats):
        x.conv(channels)
        half = Image(layers, channels // 2, *x.sides)
        half.conv(channels // 2, 3).conv(channels // 2, 3)
        x.channels = (2 + repeats) * channels // 2
        return x.conv(channels)

    for channels, repeats in ((64, 1), (128, 2), (256, 2), (512, 1)):
        stage(x.conv(channels, 3, 2), channels, repeats)
    x.branch().conv(256)
    for channels, side in ((128, 80), (256, 40), (512, 20)):
        stage(Image(layers, 3 * channels if channels < 512 else 768, side, side), channels, 1)
        Image(layers, channels, side, side).conv(64, 3).conv(64, 3).conv(64)
        Image(layers, channels, side, side).conv(128, 3).conv(128, 3).conv(80)


def deeplab_v3(layers):
    """Of 513 x 513, its output 16 times smaller."""
    for dilation in (6, 12, 18):
        Image(layers, 2048, 33, 33).conv(256, 3, dilation=dilation)
    Image(layers, 1024, 33, 33).conv(512).conv(512, 3, dilation=2).conv(2048)
    Image(layers, 1280, 33, 33).conv(256).conv(21)


def stable_diffusion(layers):
    """The U-Net of version 1.5 at 64 x 64, and the decoder of its images."""
    x = Image(layers, 4, 64, 64).conv(320, 3).conv(320, 3).conv(320, 3, 2).conv(640, 3).conv(640, 3).conv(640, 3, 2)
    x.conv(1280, 3).conv(1280, 3).conv(1280, 3, 2).conv(1280, 3)
    for channels, outputs, side in ((2560, 1280, 8), (2560, 1280, 16), (1920, 1280, 16), (1920, 640, 32),
                                    (1280, 640, 32), (960, 640, 32), (960, 320, 64), (640, 320, 64)):
        Image(layers, channels, side, side).conv(outputs, 3)
        Image(layers, channels, side, side).conv(outputs)
    x = Image(layers, 320, 64, 64).conv(4, 3).conv(512, 3).conv(512, 3).resized(128, 128).conv(512, 3)
    x.resized(256, 256).conv(512, 3).conv(256, 3).conv(256, 3).resized(512, 512).conv(256, 3).conv(128, 3).conv(128, 3)
    x.conv(3, 3)


def super_resolution(layers):
    """EDSR's base and ESPCN, of 480 x 270."""
    Image(layers, 3, 270, 480).conv(64, 3).conv(64, 3).conv(256, 3).resized(540, 960)
    Image(layers, 64, 540, 960).conv(3, 3)
    Image(layers, 1, 270, 480).conv(64, 5).conv(32, 3).conv(4, 3)


def text_recognition(layers):
    """CRNN, of lines of 32 x 100."""
    x = Image(layers, 1, 32, 100).conv(64, 3).pool().conv(128, 3).pool().conv(256, 3).conv(256, 3).resized(4, 26)
    x.conv(512, 3).conv(512, 3).resized(2, 27).conv(512, 2, padding=0)


def generators(layers):
    """What makes images larger: DCGAN, U-Net, CycleGAN, pose heads, masks of Mask R-CNN, FCN's and FSRCNN's last."""
    Image(layers, 100, 1, 1).transposed(512, 4, 1).transposed(256, 4, 2, 1).transposed(128, 4, 2, 1) \
        .transposed(64, 4, 2, 1).transposed(3, 4, 2, 1)
    for channels, side in ((1024, 32), (512, 64), (256, 128), (128, 256)):
        Image(layers, channels, side, side).transposed(channels // 2, 2, 2)
        Image(layers, channels, 2 * side, 2 * side).conv(channels // 2, 3)
    Image(layers, 256, 64, 64).transposed(128, 3, 2, 1, 1).transposed(64, 3, 2, 1, 1).conv(3, 7)
    Image(layers, 2048, 8, 6).transposed(256, 4, 2, 1).transposed(256, 4, 2, 1).transposed(256, 4, 2, 1).conv(17)
    Image(layers, 256, 14, 14).transposed(256, 2, 2).conv(80)
    Image(layers, 21, 16, 16).transposed(21, 4, 2).transposed(21, 4, 2)
    Image(layers, 56, 90, 160).transposed(1, 9, 3, 4, 2)


def sound(layers):
    """One side: Whisper's two, wav2vec 2.0's features of a second, HiFi-GAN."""
    for channels in (384, 768):
        Image(layers, 80, 3000).conv(channels, 3).conv(channels, 3, 2)
    Image(layers, 512, 3199).conv(512, 3, 2, padding=0).conv(512, 3, 2, padding=0)
    x = Image(layers, 80, 256).conv(512, 7).transposed(256, 16, 8, 4)
    for dilation in (1, 3, 5):
        x.branch().conv(256, 7, dilation=dilation)
        x.branch().conv(256, 11, dilation=dilation)
    x.transposed(128, 16, 8, 4).branch().conv(128, 3)


def convolutions():
    layers = []
    efficientnet(layers, 224, 1, 1)
    efficientnet(layers, 380, 1.4, 1.8)
    for network in (mobilenet_v3_large, shufflenet_v2, resnext50, regnet_y_4gf, convnext_tiny, densenet121,
                    inception_v3, vgg16, yolo_v8s, deeplab_v3, stable_diffusion, super_resolution, text_recognition,
                    generators, sound):
        network(layers)
    return list(dict.fromkeys(layers))


# ---- transformers, and layers behind images -------------------------------------------------------------------------

# Each row: rows; width; the width of keys and values together with queries (0: each as wide); the width of the layer
# between.
ENCODERS = {"BERT base": ((128, 384), 768, 0, 3072), "BERT large": ((384,), 1024, 0, 4096),
            "ViT-B/16": ((197,), 768, 2304, 3072), "ViT-L/16, 384": ((577,), 1024, 3072, 4096),
            "DeiT-S": ((197,), 384, 1152, 1536), "CLIP's text": ((77,), 512, 1536, 2048),
            "Swin-T, first": ((3136,), 96, 288, 384), "Swin-T, second": ((784,), 192, 576, 768),
            "Swin-T, third": ((196,), 384, 1152, 1536), "Swin-T, fourth": ((49,), 768, 2304, 3072),
            "Whisper small": ((1, 1500), 768, 0, 3072), "T5 base": ((1, 512), 768, 0, 3072),
            "Stable Diffusion at 64": ((4096,), 320, 0, 1280), "Stable Diffusion at 32": ((1024,), 640, 0, 2560),
            "Stable Diffusion at 16": ((256,), 1280, 0, 5120)}
# Each row: width; the width of keys and values; the width of the layer between.
DECODERS = {"LLaMA 2 7B": (4096, 4096, 11008), "LLaMA 2 13B": (5120, 5120, 13824), "LLaMA 3.2 1B": (2048, 512, 8192),
            "LLaMA 3.2 3B": (3072, 1024, 8192), "TinyLlama": (2048, 256, 5632), "Qwen2 0.5B": (896, 128, 4864),
            "Qwen2.5 1.5B": (1536, 256, 8960), "Qwen2.5 7B": (3584, 512, 18944), "Phi-2": (2560, 2560, 10240),
            "Phi-3 mini": (3072, 9216, 16384), "Gemma 2B": (2048, 256, 16384), "GPT-2": (768, 2304, 3072),
            "SmolLM 135M": (576, 192, 1536), "Falcon 7B": (4544, 4672, 18176)}
PROMPTS = (1, 1, 4, 16, 128, 512, 2048)  # tokens at once: one, guesses that are checked, a prompt
# Rows, inputs, outputs: the classifiers of image networks; DLRM's layers for a batch of 2,048.
HEADS = [(rows, *sides) for rows in (1, 8, 32)
         for sides in ((1280, 1000), (2048, 1000), (1024, 1000), (25088, 4096), (4096, 1000), (960, 1280))] + [
             (2048, *sides) for sides in ((512, 256), (256, 64), (512, 1024), (1024, 1024), (1024, 512))]


def linear_layers():
    layers = [Product(*head) for head in HEADS]
    for rows, width, joined, between in ENCODERS.values():
        for m in rows:
            layers += [Product(m, width, width), Product(m, width, joined or width), Product(m, width, between),
                       Product(m, between, width)]
    for width, keys, between in DECODERS.values():
        for m in PROMPTS:
            layers += [Product(m, width, width), Product(m, width, keys), Product(m, width, between),
                       Product(m, between, width)]
    return list(dict.fromkeys(layers))


def attentions():
    """Heads of so many channels: queries times keys, and what comes of it times values."""
    layers = []
    for heads, tokens, channels in ((12, 128, 64), (12, 384, 64), (16, 384, 64), (12, 197, 64), (16, 577, 64),
                                    (6, 197, 64), (8, 77, 64), (12, 1500, 64), (8, 4096, 40), (8, 1024, 80),
                                    (8, 256, 160), (32, 512, 128), (32, 512, 64), (14, 512, 64), (9, 2048, 64)):
        layers += [Product(tokens, channels, tokens, heads), Product(tokens, tokens, channels, heads)]
    return layers


CONVOLUTIONS = convolutions()
LINEAR_LAYERS = linear_layers()
ATTENTIONS = attentions()

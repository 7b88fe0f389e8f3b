// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A strip of outputs of a depthwise convolution: `strip` neighbours along the axis kAlong (0 width, 1 height). For each
// line of the window along that axis, an invocation reads the inputs of all outputs once, and slides over them:
//
//   make_strip(source, origin)     sums[strip], where the first output's first tap reads at `origin`
//
//   known    taps along both sides and stride along kAlong, known to the compiler; 0: any, read tap by tap
$needs SUM                  // the type of a sum, and of its factors
$needs struct Source        // which image and channels
$needs const uint kAlong
$needs pixel_at             // SUM pixel_at(Source source, ivec2 at): also outside of the image
$needs weight_at            // SUM weight_at(Source source, uint tap)
$gives void make_strip(Source source, ivec2 origin)
$gives SUM sums

SUM sums[${strip}];

// Further along the strip; the other coordinate is unchanged, so that its bounds are checked only once.
ivec2 along_strip(ivec2 from, uint i) {
  return kAlong == 0u ? ivec2(from.x + int(i), from.y) : ivec2(from.x, from.y + int(i));
}
ivec2 across_strip(ivec2 from, uint i) {
  return kAlong == 0u ? ivec2(from.x, from.y + int(i)) : ivec2(from.x + int(i), from.y);
}

// Tap `tap` of a line of the window, by its number in the window.
$if known.taps == 0
uint tap_of_line(uint line, uint tap) {
  return kAlong == 0u ? line * problem.taps[0] + tap : tap * problem.taps[0] + line;
}
$else
uint tap_of_line(uint line, uint tap) {
  return kAlong == 0u ? line * ${known.taps}u + tap : tap * ${known.taps}u + line;
}
$end

// Of the line that is read from `from` on.
void add_line(Source source, ivec2 from, uint line) {
$if known.taps == 0
  for (uint tap = 0u; tap < problem.taps[kAlong]; ++tap) {
    const SUM w = weight_at(source, tap_of_line(line, tap));
    [[unroll]] for (uint i = 0u; i < ${strip}; ++i) {
      sums[i] += w * pixel_at(source, along_strip(from, i * problem.stride[kAlong] + tap * problem.dilation[kAlong]));
    }
  }
$else
  const uint kRead = ${(max(strip, 1) - 1) * known.stride + known.taps}u;
  SUM pixels[kRead];
  [[unroll]] for (uint i = 0u; i < kRead; ++i) pixels[i] = pixel_at(source, along_strip(from, i));
  [[unroll]] for (uint tap = 0u; tap < ${known.taps}u; ++tap) {
    const SUM w = weight_at(source, tap_of_line(line, tap));
    [[unroll]] for (uint i = 0u; i < ${strip}; ++i) sums[i] += w * pixels[i * ${known.stride}u + tap];
  }
$end
}

void make_strip(Source source, ivec2 origin) {
  [[unroll]] for (uint i = 0u; i < ${strip}; ++i) sums[i] = SUM(0);
$if known.taps == 0
  for (uint line = 0u; line < problem.taps[1u - kAlong]; ++line) {
$else
  [[unroll]] for (uint line = 0u; line < ${known.taps}u; ++line) {
$end
    add_line(source, across_strip(origin, line * problem.dilation[1u - kAlong]), line);
  }
}

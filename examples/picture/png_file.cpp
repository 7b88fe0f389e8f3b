// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Uses libpng's simplified interface, which needs neither callbacks nor setjmp.
#include "examples/picture/png_file.h"

#include <png.h>

#include <algorithm>
#include <cmath>

namespace qgen::picture {

Done write_png(const std::filesystem::path& path, const HostTensor& image) {
  const int64_t height = image.shape[1], width = image.shape[2];
  const auto values = image.as<float>();
  std::vector<uint8_t> pixels;  // interleaved
  pixels.reserve(values.size());
  for (int64_t pixel = 0; pixel < height * width; ++pixel) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      const float value = std::clamp(values[channel * height * width + pixel], 0.0f, 1.0f);
      pixels.push_back(static_cast<uint8_t>(std::lround(value * 255)));
    }
  }
  png_image file{};
  file.version = PNG_IMAGE_VERSION;
  file.width = static_cast<png_uint_32>(width);
  file.height = static_cast<png_uint_32>(height);
  file.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&file, path.c_str(), 0, pixels.data(), 0, nullptr)) {
    return Error{Error::Kind::system, "cannot write '" + path.string() + "': " + file.message, ""};
  }
  return std::monostate{};
}

}  // namespace qgen::picture

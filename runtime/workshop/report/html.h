// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The frame and the style of the pages: one file each, which needs no network and no script. It is light or dark, as
// the reader's system asks for.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/device/device_profile.h"

namespace qgen::report {

// `title` is escaped here, `body` is HTML.
std::string html_file(std::string_view title, std::string_view body);

constexpr size_t kMostLetters = 1000;  // of a key, an id or a driver's text

// Escaped, and of a longer text its first letters.
std::string shortened(std::string_view text);

// A kernel's id, with line breaks allowed between its words.
std::string id_html(std::string_view id);

// The speeds of the device that charts have as lines, each with its source: measured or estimated.
std::string speeds_table(const DeviceProfile& device);

}  // namespace qgen::report

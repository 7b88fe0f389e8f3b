// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Keeps libraries loaded in programs under AddressSanitizer. Memory that a Vulkan driver keeps in its globals is no
// leak while the driver is loaded. Once the loader has unloaded it, LeakSanitizer reports this memory without names.
extern "C" int dlclose(void*) { return 0; }

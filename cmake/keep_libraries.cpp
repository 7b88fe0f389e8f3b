// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Of programs under AddressSanitizer: libraries stay loaded. What a Vulkan driver keeps in its own globals is no leak
// as long as it is there; once the loader has let it go, LeakSanitizer can name neither it nor what it kept.
extern "C" int dlclose(void*) { return 0; }

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A driver that needs a library which is not where it runs.
int qgen_stranger(void);
int vk_icdGetInstanceProcAddr(void) { return qgen_stranger(); }

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A Vulkan driver that does not start, as one does whose own libraries are missing.
#include <stddef.h>
#include <stdint.h>

int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  (void)version;
  return -3;  // VK_ERROR_INITIALIZATION_FAILED
}
void* vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  (void)instance;
  (void)name;
  return NULL;
}

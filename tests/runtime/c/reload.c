/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   qgen_device_reload(), kernels of the caller, and calls that lack what they count, from C99.

     c_reload KERNELS.blob NOT_A_BLOB MODULE.spv

   KERNELS.blob: softmax's f32 kernels, compiled without optimisation. MODULE.spv: examples/reload, of vec 4. */
#include <math.h>
#include <qgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `error` by its address: C may evaluate arguments in any order. */
static void check(qgen_code code, qgen_error** error) {
  if (code == QGEN_OK) return;
  fprintf(stderr, "%s\n%s\n", qgen_error_message(*error), qgen_error_hint(*error));
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "expected %s\n", what);
  exit(1);
}

static void expect_error(qgen_code code, qgen_code wanted, qgen_error** error, const char* words) {
  if (code != wanted || !strstr(qgen_error_message(*error), words)) {
    fprintf(stderr, "expected an error with '%s', and got %d: %s\n", words, (int)code, qgen_error_message(*error));
    exit(1);
  }
  qgen_error_free(*error);
}

/* The first share of a row of 0, 1, 2, 3. */
static float softmax(qgen_device* device) {
  const float values[4] = {0, 1, 2, 3};
  const int64_t shape[] = {1, 4};
  const qgen_array x = {"f32", 2, shape, values, sizeof values};
  const qgen_argument arguments[] = {{"input", &x, NULL, NULL}};
  const qgen_call call = {"softmax", arguments, 1, NULL, 0, NULL};
  qgen_error* error = NULL;
  qgen_results* results = NULL;
  check(qgen_run(device, &call, &results, &error), &error);
  float y[4];
  check(qgen_tensor_read(qgen_results_tensor(results, 0), y, sizeof y, &error), &error);
  qgen_results_free(results);
  return y[0];
}

static void test_reload(qgen_device* device, const char* blob, const char* no_blob) {
  qgen_error* error = NULL;
  size_t changed = 77;
  const float before = softmax(device);
  expect_error(qgen_device_reload(device, no_blob, &changed, &error), QGEN_INVALID_ARGUMENT, &error,
               "not a kernel blob");
  expect_error(qgen_device_reload(device, "/nowhere", &changed, &error), QGEN_NOT_FOUND, &error, "/nowhere");
  expect_error(qgen_device_reload(device, NULL, &changed, &error), QGEN_INVALID_ARGUMENT, &error, "path is null");
  expect_error(qgen_device_reload(NULL, blob, &changed, &error), QGEN_INVALID_ARGUMENT, &error, "device is null");
  expect(changed == 77, "an error to change nothing");
  check(qgen_device_reload(device, blob, &changed, &error), &error);
  expect(changed > 0 && changed != 77, "other modules");
  expect(fabsf(softmax(device) - before) < 1e-6f, "the same shares by the new modules");
  check(qgen_device_reload(device, blob, &changed, &error), &error);
  expect(changed == 0, "no change by the same file");
}

static uint32_t* read_words(const char* path, size_t* words) {
  FILE* file = fopen(path, "rb");
  expect(file && fseek(file, 0, SEEK_END) == 0, "a module");
  *words = (size_t)ftell(file) / 4;
  rewind(file);
  uint32_t* text = malloc(*words * 4);
  expect(text && fread(text, 4, *words, file) == *words, "its words");
  fclose(file);
  return text;
}

static qgen_tensor* upload(qgen_device* device, const float* values) {
  const int64_t shape[] = {8};
  const qgen_array array = {"f32", 1, shape, values, 8 * sizeof *values};
  qgen_error* error = NULL;
  qgen_tensor* tensor = NULL;
  check(qgen_tensor_upload(device, &array, &tensor, &error), &error);
  return tensor;
}

/* y = 2 x. */
static void test_kernels(qgen_device* device, const char* path) {
  const qgen_binding operands[] = {{0, QGEN_READ, "f32"}, {1, QGEN_WRITE, "f32"}};
  qgen_kernel kernel = {
      .name = "scale", .operands = operands, .operand_count = 2, .problem_bytes = 4, .problem_binding = -1};
  qgen_error* error = NULL;
  qgen_device* with = NULL;
  expect_error(qgen_kernels_load(device, &kernel, 1, &with, &error), QGEN_INVALID_ARGUMENT, &error, "spirv is null");
  uint32_t* spirv = read_words(path, &kernel.words);
  kernel.spirv = spirv;
  const char* unknown = "wings";
  kernel.needs = &unknown;
  kernel.need_count = 1;
  expect_error(qgen_kernels_load(device, &kernel, 1, &with, &error), QGEN_INVALID_ARGUMENT, &error,
               "no feature 'wings'");
  kernel.need_count = 0;
  check(qgen_kernels_load(device, &kernel, 1, &with, &error), &error);
  free(spirv);

  const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const qgen_tensor* tensors[] = {upload(with, ones), upload(with, ones)};
  const uint32_t numel = 8, groups[3] = {1, 1, 1};
  double us[3] = {-1, -1, -1};
  expect_error(qgen_kernels_launch(with, 0, tensors, 1, &numel, groups, 3, us, &error), QGEN_INVALID_ARGUMENT, &error,
               "has 2 operands");
  expect_error(qgen_kernels_launch(with, 1, tensors, 2, &numel, groups, 3, us, &error), QGEN_INVALID_ARGUMENT, &error,
               "no kernel 1");
  check(qgen_kernels_launch(with, 0, tensors, 2, &numel, groups, 3, us, &error), &error);
  float y[8];
  check(qgen_tensor_read(tensors[1], y, sizeof y, &error), &error);
  for (int i = 0; i < 8; ++i) expect(y[i] == 2, "2 times 1");
  expect(us[0] > 0 && us[2] > 0, "three times");
  for (int i = 0; i < 2; ++i) qgen_tensor_free((qgen_tensor*)tensors[i]);
  qgen_device_free(with);
}

static void test_calls_without_arrays(qgen_device* device) {
  qgen_error* error = NULL;
  qgen_results* results = NULL;
  const float values[4] = {0, 1, 2, 3};
  const int64_t shape[] = {1, 4};
  const qgen_array x = {"f32", 2, shape, values, sizeof values};
  const qgen_argument twice[] = {{"input", &x, NULL, NULL}, {"input", &x, NULL, NULL}};
  const qgen_argument output[] = {{"input", &x, NULL, NULL}, {"output", &x, NULL, NULL}};
  qgen_call call = {"softmax", NULL, 1, NULL, 0, NULL};
  expect_error(qgen_run(device, &call, &results, &error), QGEN_INVALID_ARGUMENT, &error, "the call's arguments");
  call = (qgen_call){"softmax", twice, 1, NULL, 3, NULL};
  expect_error(qgen_run(device, &call, &results, &error), QGEN_INVALID_ARGUMENT, &error, "the call's attributes");
  call = (qgen_call){"softmax", twice, 2, NULL, 0, NULL};
  expect_error(qgen_run(device, &call, &results, &error), QGEN_INVALID_ARGUMENT, &error, "'input' is given twice");
  call = (qgen_call){"softmax", output, 2, NULL, 0, NULL};
  expect_error(qgen_run(device, &call, &results, &error), QGEN_INVALID_ARGUMENT, &error, "'output' is an output");
}

int main(int argc, char** argv) {
  expect(argc == 4, "KERNELS.blob NOT_A_BLOB MODULE.spv");
  qgen_error* error = NULL;
  qgen_device* device = NULL;
  check(qgen_device_open("", &device, &error), &error);
  test_kernels(device, argv[3]);
  test_reload(device, argv[1], argv[2]);
  test_calls_without_arrays(device);
  qgen_device_free(device);
  return 0;
}

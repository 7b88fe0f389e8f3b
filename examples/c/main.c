/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   qgen from C99 (docs/c_api.md): an operator by its name, the same with a weight that is kept, and a model.

     c_example [MODEL.onnx] */
#include <math.h>
#include <qgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* `error` by its address: C may evaluate arguments in any order. */
static void check(qgen_code code, qgen_error** error) {
  if (code == QGEN_OK) return;
  fprintf(stderr, "%s\n%s\n", qgen_error_message(*error), qgen_error_hint(*error));
  qgen_error_free(*error);
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "expected %s\n", what);
  exit(1);
}

/* Each row of softmax's result sums to 1. */
static void run_softmax(qgen_device* device) {
  const float values[2][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}};
  const int64_t shape[] = {2, 4};
  const qgen_array x = {"f32", 2, shape, values, sizeof values};
  const qgen_argument arguments[] = {{"input", &x, NULL, NULL}};
  const qgen_call call = {"softmax", arguments, 1, NULL, 0, NULL};
  qgen_error* error = NULL;
  qgen_results* results = NULL;
  check(qgen_run(device, &call, &results, &error), &error);
  float y[2][4];
  check(qgen_tensor_read(qgen_results_tensor(results, 0), y, sizeof y, &error), &error);
  expect(fabsf(y[0][0] + y[0][1] + y[0][2] + y[0][3] - 1) < 1e-5f, "shares that sum to 1");
  expect(fabsf(y[0][3] - y[1][0]) < 1e-6f, "the same shares for the same values");
  printf("softmax: %s %.4f\n", qgen_results_name(results, 0), y[0][3]);
  qgen_results_free(results);
}

/* y = x w^T of int8, twice with the same packed weight. */
static void run_linear(qgen_device* device) {
  int8_t x[2][8], w[4][8];
  float scales[4] = {0.5f, 0.5f, 0.5f, 0.5f};
  memset(x, 1, sizeof x);
  memset(w, 2, sizeof w);
  const int64_t x_shape[] = {2, 8}, w_shape[] = {4, 8}, scales_shape[] = {4};
  const qgen_array x_array = {"i8", 2, x_shape, x, sizeof x};
  const qgen_array w_array = {"i8", 2, w_shape, w, sizeof w};
  const qgen_array scales_array = {"f32", 1, scales_shape, scales, sizeof scales};
  qgen_error* error = NULL;
  qgen_weight* weight = NULL;
  check(qgen_weight_create(device, &w_array, &weight, &error), &error);
  const qgen_argument arguments[] = {
      {"input", &x_array, NULL, NULL}, {"weight", NULL, NULL, weight}, {"weight_scales", &scales_array, NULL, NULL}};
  const qgen_attribute attributes[] = {{"input_scale", "0.5"}};
  const qgen_call call = {
      "q8ta_linear_dequantize", arguments, COUNT(arguments), attributes, COUNT(attributes), NULL};
  for (int time = 0; time < 2; ++time) {
    qgen_results* results = NULL;
    check(qgen_run(device, &call, &results, &error), &error);
    float y[2][4];
    check(qgen_tensor_read(qgen_results_tensor(results, 0), y, sizeof y, &error), &error);
    expect(y[1][3] == 4, "8 products of 1 and 2, by 0.5 and 0.5");
    qgen_results_free(results);
  }
  qgen_weight_free(weight);
  printf("linear: right\n");
}

/* An error is a sentence, with a hint. */
static void refuse_a_name(qgen_device* device) {
  const qgen_call call = {"softmx", NULL, 0, NULL, 0, NULL};
  qgen_error* error = NULL;
  expect(qgen_run(device, &call, NULL, &error) == QGEN_NOT_FOUND, "an unknown operator to be refused");
  printf("%s; %s\n", qgen_error_message(error), qgen_error_hint(error));
  qgen_error_free(error);
}

static void run_model(qgen_device* device, const char* path) {
  qgen_error* error = NULL;
  qgen_model* model = NULL;
  check(qgen_model_load(device, path, &model, &error), &error);
  expect(qgen_model_input_count(model) == 1, "a model with one input");
  int64_t shape[8];
  size_t bytes = 4;
  const size_t rank = qgen_model_input_rank(model, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t side = qgen_model_input_shape(model, 0)[i];
    shape[i] = side < 0 ? 1 : side;
    bytes *= (size_t)shape[i];
  }
  float* pixels = calloc(bytes, 1);
  const qgen_array picture = {qgen_model_input_dtype(model, 0), rank, shape, pixels, bytes};
  const qgen_argument inputs[] = {{qgen_model_input_name(model, 0), &picture, NULL, NULL}};
  qgen_results* results = NULL;
  check(qgen_model_run(model, inputs, 1, &results, &error), &error);
  for (size_t i = 0; i < qgen_results_count(results); ++i) {
    const qgen_tensor* output = qgen_results_tensor(results, i);
    printf("model: %s, %zu bytes of %s\n", qgen_results_name(results, i), qgen_tensor_bytes(output),
           qgen_tensor_dtype(output));
  }
  qgen_results_free(results);
  qgen_model_free(model);
  free(pixels);
}

int main(int argc, char** argv) {
  qgen_error* error = NULL;
  qgen_device* device = NULL;
  check(qgen_device_open("", &device, &error), &error);
  printf("qgen %s on \"%s\"\n", qgen_version(), qgen_device_name(device));
  run_softmax(device);
  run_linear(device);
  refuse_a_name(device);
  if (argc > 1) run_model(device, argv[1]);
  qgen_device_free(device);
  return 0;
}

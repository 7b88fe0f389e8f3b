/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   Tokens of a language model from C99 (docs/language_models.md), printed while the device computes the next ones.

     c_generate MODEL.onnx TOKEN... */
#include <qgen.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCapacity = 64, kMost = 8 };

/* `error` by its address: C may evaluate arguments in any order. */
static void check(qgen_code code, qgen_error** error) {
  if (code == QGEN_OK) return;
  fprintf(stderr, "%s\n%s\n", qgen_error_message(*error), qgen_error_hint(*error));
  qgen_error_free(*error);
  exit(1);
}

static int print_token(void* data, size_t sequence, int32_t token) {
  (void)sequence; /* there is one */
  printf(" %d", token);
  fflush(stdout);
  ++*(size_t*)data;
  return 1; /* 0 would end the sequence */
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL.onnx TOKEN...\n", argv[0]);
    return 2;
  }
  const size_t count = (size_t)argc - 2;
  int32_t* prompt = malloc(count * sizeof *prompt);
  if (!prompt) return 1;
  for (size_t i = 0; i < count; ++i) prompt[i] = (int32_t)strtol(argv[i + 2], NULL, 10);

  qgen_error* error = NULL;
  qgen_device* device = NULL;
  qgen_generator* generator = NULL;
  check(qgen_device_open("", &device, &error), &error);
  check(qgen_generator_load(device, argv[1], kCapacity, QGEN_CACHE_OF_MODEL, &generator, &error), &error);
  size_t printed = 0;
  const qgen_generation generation = {
      .most_tokens = kMost, .top_k = 1, .on_token = print_token, .data = &printed};
  int32_t tokens[kMost];
  size_t generated = 0;
  check(qgen_generator_generate(generator, &generation, prompt, &count, 1, tokens, &generated, &error), &error);
  printf("\n%zu tokens, the last one is %d\n", generated, tokens[generated - 1]);

  qgen_generator_free(generator);
  qgen_device_free(device);
  free(prompt);
  return printed == generated ? 0 : 1;
}

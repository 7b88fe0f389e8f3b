/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   qgen from C, and from languages that call C (docs/c_api.md). C99.

     qgen_device* device = NULL;
     qgen_error* error = NULL;
     if (qgen_device_open("", &device, &error) != QGEN_OK) puts(qgen_error_message(error));

     const float values[2][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}};
     const int64_t shape[] = {2, 4};
     const qgen_array x = {"f32", 2, shape, values, sizeof values};
     const qgen_argument arguments[] = {{"input", &x, NULL, NULL}};
     qgen_call call = {"softmax", arguments, 1, NULL, 0, NULL};
     qgen_results* results = NULL;
     qgen_run(device, &call, &results, &error);
     float y[2][4];
     qgen_tensor_read(qgen_results_tensor(results, 0), y, sizeof y, &error);

   Rules:
   - A function that can fail returns a code. Unless `error` is null, it sets *error: to null, or on failure to an error,
     which the caller frees.
   - Text is UTF-8 and ends with a zero byte. Returned text lives as long as the object that was passed.
   - Functions that free accept null.
   - An object keeps the objects that it uses alive. So they may be freed in any order.
   - Only one thread at a time may use a device and the objects that were made on it.
   - After a fork, open a device in the child. The child must neither use nor free the parent's objects.
   - libvulkan is loaded when a device is opened. */
#ifndef QGEN_H
#define QGEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QGEN_API __attribute__((visibility("default")))
#else
#define QGEN_API
#endif

/* ---- versions and errors ---------------------------------------------------------------------------------------- */

QGEN_API const char* qgen_version(void); /* "0.1.0" */

typedef enum qgen_code {
  QGEN_OK = 0,
  QGEN_INVALID_ARGUMENT = 1, /* an argument that is not accepted */
  QGEN_UNSUPPORTED = 2,      /* qgen or this device cannot do it */
  QGEN_NOT_FOUND = 3,        /* no file, operator or device of that name */
  QGEN_DEVICE_FAILED = 4,    /* Vulkan or its driver failed */
  QGEN_SYSTEM_FAILED = 5     /* the operating system failed, or memory ran out */
} qgen_code;

typedef struct qgen_error qgen_error;
QGEN_API qgen_code qgen_error_code(const qgen_error* error);
QGEN_API const char* qgen_error_message(const qgen_error* error); /* one sentence, without a full stop */
QGEN_API const char* qgen_error_hint(const qgen_error* error);    /* how to avoid it, or "" */
QGEN_API void qgen_error_free(qgen_error* error);

/* Text that the caller frees. */
typedef struct qgen_text qgen_text;
QGEN_API const char* qgen_text_get(const qgen_text* text);
QGEN_API void qgen_text_free(qgen_text* text);

/* ---- devices ---------------------------------------------------------------------------------------------------- */

/* A device with the shipped operators, measured times, and the choices that were made on it. */
typedef struct qgen_device qgen_device;

/* The names of this machine's devices, a line each, in the order of their numbers. */
QGEN_API qgen_code qgen_list_devices(qgen_text** names, qgen_error** error);
/* `which`: "" for the first GPU, or else the CPU; a number; a UUID in hexadecimal digits; or a part of a name. */
QGEN_API qgen_code qgen_device_open(const char* which, qgen_device** device, qgen_error** error);
QGEN_API void qgen_device_free(qgen_device* device);
QGEN_API const char* qgen_device_name(const qgen_device* device);
/* Its features, limits and speeds, as the YAML of a device file. */
QGEN_API qgen_code qgen_device_profile(const qgen_device* device, qgen_text** yaml, qgen_error** error);
/* Checks the results of each feature that kernels use; this takes seconds on a CPU. Features with wrong results are not
   used from now on. The verdict is stored for the device and its driver, and holds for devices that are opened later.
   `findings`: JSON, an array of objects with verdict ("works", "wrong", "missing"), name, text. No other function may
   use the device meanwhile. */
QGEN_API qgen_code qgen_device_check(qgen_device* device, qgen_text** findings, qgen_error** error);

/* Loads the modules of a file `kernels.blob` that a later run of qgen on the shipped specs wrote: all of them or none. A
   file with some operators replaces only their kernels. `changed`: how many kernels have other SPIR-V than before; may be
   null. Calls that begin later run the new modules. Recordings and prepared models keep the old ones. After an error all
   old modules stay. Errors: the file cannot be read or is damaged; a kernel with another spec or interface than the
   library's. */
QGEN_API qgen_code qgen_device_reload(qgen_device* device, const char* path, size_t* changed, qgen_error** error);

/* The caller's device, of Vulkan 1.1 or newer. The comments name the Vulkan types of the handles. The caller owns them,
   and they must outlive all objects that qgen makes on the device. */
typedef struct qgen_adopt_info {
  void* instance;                       /* VkInstance */
  void* physical_device;                /* VkPhysicalDevice */
  void* device;                         /* VkDevice */
  void (*get_instance_proc_addr)(void); /* PFN_vkGetInstanceProcAddr: qgen loads no other loader */
  const void* created_with;             /* const VkDeviceCreateInfo*; read during the call only */
  uint32_t api_version;                 /* VkApplicationInfo::apiVersion; 0: 1.3 */
  void* queue;                          /* VkQueue; null: qgen submits nothing, and refuses to run and to copy */
  uint32_t queue_family;                /* of the queue, or of the command buffers that qgen records into */
  void (*lock_queue)(void* data);       /* called before each use of the queue; both or neither */
  void (*unlock_queue)(void* data);
  void* data; /* for lock_queue and unlock_queue */
} qgen_adopt_info;
QGEN_API qgen_code qgen_device_adopt(const qgen_adopt_info* info, qgen_device** device, qgen_error** error);

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* Row-major elements in host memory. The dtype is one of f32, f16, bf16, i8, u8, i16, u16, i32, u32. */
typedef struct qgen_array {
  const char* dtype;
  size_t rank; /* 8 at most */
  const int64_t* shape;
  const void* data; /* null: only a description, for functions that accept one, such as qgen_infer() */
  size_t bytes;
} qgen_array;

/* A tensor on the device. */
typedef struct qgen_tensor qgen_tensor;
QGEN_API qgen_code qgen_tensor_create(qgen_device* device, const char* dtype, size_t rank, const int64_t* shape,
                                      qgen_tensor** tensor, qgen_error** error);
QGEN_API qgen_code qgen_tensor_upload(qgen_device* device, const qgen_array* array, qgen_tensor** tensor,
                                      qgen_error** error);
/* A range of the caller's VkBuffer, which must outlive the tensor and have the usage of a storage buffer. To read or
   write the tensor, or to use it for a model, the buffer also needs both usages of transfers. `offset` must be a multiple
   of minStorageBufferOffsetAlignment. `bytes` must be at least those of the tensor, rounded up to a multiple of 16. */
QGEN_API qgen_code qgen_tensor_wrap(qgen_device* device, uint64_t buffer, uint64_t offset, uint64_t bytes,
                                    const char* dtype, size_t rank, const int64_t* shape, qgen_tensor** tensor,
                                    qgen_error** error);
QGEN_API void qgen_tensor_free(qgen_tensor* tensor);
QGEN_API const char* qgen_tensor_dtype(const qgen_tensor* tensor);
QGEN_API size_t qgen_tensor_rank(const qgen_tensor* tensor);
QGEN_API const int64_t* qgen_tensor_shape(const qgen_tensor* tensor);
QGEN_API size_t qgen_tensor_bytes(const qgen_tensor* tensor); /* of its elements, row-major */
/* Copies its elements, row-major; waits for the device. `bytes` must be qgen_tensor_bytes(). */
QGEN_API qgen_code qgen_tensor_read(const qgen_tensor* tensor, void* data, size_t bytes, qgen_error** error);
QGEN_API qgen_code qgen_tensor_write(qgen_tensor* tensor, const void* data, size_t bytes, qgen_error** error);

/* A weight, kept on the device in the forms that kernels read. An array may be given in its place, and is then packed
   again in each call. */
typedef struct qgen_weight qgen_weight;
QGEN_API qgen_code qgen_weight_create(qgen_device* device, const qgen_array* array, qgen_weight** weight,
                                      qgen_error** error);
QGEN_API void qgen_weight_free(qgen_weight* weight);

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* The operators' names, inputs, outputs and attributes: the text of OPERATORS.json. */
QGEN_API const char* qgen_operators_json(void);

/* An input by its name; or an output, as a tensor that the call writes. Set one of array, tensor and weight. */
typedef struct qgen_argument {
  const char* name;
  const qgen_array* array;
  const qgen_tensor* tensor;
  qgen_weight* weight;
} qgen_argument;

/* An attribute by its name. The value is text: "0.02", "true", "relu", "1,64". */
typedef struct qgen_attribute {
  const char* name;
  const char* value;
} qgen_attribute;

typedef struct qgen_call {
  const char* op; /* the operator's name, or one of its other names */
  const qgen_argument* arguments;
  size_t argument_count;
  const qgen_attribute* attributes;
  size_t attribute_count;
  const char* kernel; /* the kernel to run, as qgen_explain() names it; null: the best */
} qgen_call;

/* The outputs that a call made, in the order of the operator's description. */
typedef struct qgen_results qgen_results;
QGEN_API size_t qgen_results_count(const qgen_results* results);
QGEN_API const char* qgen_results_name(const qgen_results* results, size_t index);
/* The tensor belongs to the results, and lives as long as they do. */
QGEN_API const qgen_tensor* qgen_results_tensor(const qgen_results* results, size_t index);
/* Removes the tensor from the results: the caller frees it. */
QGEN_API qgen_tensor* qgen_results_take(qgen_results* results, size_t index);
QGEN_API void qgen_results_free(qgen_results* results);

/* Chooses a kernel, runs it, and waits for it. */
QGEN_API qgen_code qgen_run(qgen_device* device, const qgen_call* call, qgen_results** results, qgen_error** error);
/* The outputs' dtypes and shapes, a line each: "output f32 2,4". Arguments are arrays, with or without data. No device
   is needed. */
QGEN_API qgen_code qgen_infer(const qgen_call* call, qgen_text** outputs, qgen_error** error);
/* All kernels that fit, ranked, and the reason why each other kernel does not fit. */
QGEN_API qgen_code qgen_explain(qgen_device* device, const qgen_call* call, qgen_text** explanation,
                                qgen_error** error);

/* ---- kernels of your own ---------------------------------------------------------------------------------------- */

/* A kernel: a module with the values of its specialization constants. `qgen --emit spv` writes modules, and index.json
   with the other fields. */
enum { QGEN_READ = 1, QGEN_WRITE = 2 };
typedef struct qgen_binding {
  uint32_t binding; /* of descriptor set 0: a storage buffer */
  uint32_t access;  /* QGEN_READ, QGEN_WRITE or both */
  const char* dtype;
} qgen_binding;
typedef struct qgen_constant {
  uint32_t id;
  uint32_t value;
} qgen_constant;
typedef struct qgen_kernel {
  const char* name; /* for messages */
  const uint32_t* spirv;
  size_t words;
  const qgen_binding* operands;
  size_t operand_count;
  const qgen_constant* constants;
  size_t constant_count;
  const char* const* needs; /* features by the names of device files, such as "storage_buffer_8bit" */
  size_t need_count;
  uint32_t problem_bytes;  /* of the push constants or the problem's buffer, a multiple of 4 */
  int32_t problem_binding; /* of the uniform buffer of the problem; -1: push constants */
  uint32_t subgroup_size;  /* 0: any */
} qgen_kernel;

/* A device object with these kernels. Make their tensors on it. qgen trusts the modules as it trusts a program. Errors: a
   feature that does not exist, an incomplete kernel. */
QGEN_API qgen_code qgen_kernels_load(qgen_device* device, const qgen_kernel* kernels, size_t count, qgen_device** with,
                                     qgen_error** error);
/* Runs kernel `index` `runs` times, one run after the other, and waits. `operands`: a tensor for each operand.
   `problem`: problem_bytes bytes. `us`: microseconds of each run by the device's clock; null: runs are not timed.
   Errors: a wrong number of operands, a wrong dtype, a device that lacks a feature of `needs`. */
QGEN_API qgen_code qgen_kernels_launch(qgen_device* with, size_t index, const qgen_tensor* const* operands,
                                       size_t operand_count, const void* problem, const uint32_t groups[3], size_t runs,
                                       double* us, qgen_error** error);

/* ---- in the caller's command buffers ---------------------------------------------------------------------------- */

/* Make one for each frame in flight. It keeps the objects that its commands use, until it is begun again or freed. */
typedef struct qgen_frame qgen_frame;
typedef struct qgen_frame_info {
  const qgen_tensor* arena; /* u8, for the frame's tensors and scratch; null: qgen allocates memory */
  uint64_t descriptor_pool; /* VkDescriptorPool, which the caller resets before a frame begins; 0: qgen's pools */
} qgen_frame_info;
QGEN_API qgen_code qgen_frame_create(qgen_device* device, const qgen_frame_info* info, qgen_frame** frame,
                                     qgen_error** error);
QGEN_API void qgen_frame_free(qgen_frame* frame);
/* `command_buffer` is a VkCommandBuffer in the recording state. The device must have finished the previous frame. */
QGEN_API qgen_code qgen_frame_begin(qgen_frame* frame, void* command_buffer, qgen_error** error);
/* Continues the same frame after commands of the caller. */
QGEN_API qgen_code qgen_frame_resume(qgen_frame* frame, void* command_buffer, qgen_error** error);
/* Makes the results visible to the caller's next commands. */
QGEN_API qgen_code qgen_frame_end(qgen_frame* frame, qgen_error** error);
/* Records a call. It neither submits nor waits, except for arrays and new weights, which are uploaded. */
QGEN_API qgen_code qgen_record(qgen_frame* frame, const qgen_call* call, qgen_results** results, qgen_error** error);
QGEN_API uint64_t qgen_frame_arena_bytes_used(const qgen_frame* frame);

/* ---- models ----------------------------------------------------------------------------------------------------- */

/* A model of an ONNX file, or of a compiled file (qgen-model compile). One that was compiled for named devices (--for)
   runs with the shapes of its file, and has neither explain, profile nor save. */
typedef struct qgen_model qgen_model;
QGEN_API qgen_code qgen_model_load(qgen_device* device, const char* path, qgen_model** model, qgen_error** error);
/* The same of a file's bytes; ONNX files with external data are refused. */
QGEN_API qgen_code qgen_model_load_memory(qgen_device* device, const void* file, size_t bytes, qgen_model** model,
                                          qgen_error** error);
QGEN_API void qgen_model_free(qgen_model* model);
QGEN_API size_t qgen_model_input_count(const qgen_model* model);
QGEN_API const char* qgen_model_input_name(const qgen_model* model, size_t index);
QGEN_API const char* qgen_model_input_dtype(const qgen_model* model, size_t index);
QGEN_API size_t qgen_model_input_rank(const qgen_model* model, size_t index);
QGEN_API const int64_t* qgen_model_input_shape(const qgen_model* model, size_t index); /* -1: any size */
QGEN_API size_t qgen_model_output_count(const qgen_model* model);
QGEN_API const char* qgen_model_output_name(const qgen_model* model, size_t index);

/* Inputs are arrays. The results are in the order of the model's outputs. qgen chooses kernels when shapes are new. */
QGEN_API qgen_code qgen_model_run(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_results** results,
                                  qgen_error** error);
/* The layers, with their kernels and estimated or measured times, for the shapes of these inputs. */
QGEN_API qgen_code qgen_model_explain(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_text** text,
                                      qgen_error** error);
/* The same, with each layer measured on the device: its line ends with microseconds. A layer alone takes longer than in
   the model. */
QGEN_API qgen_code qgen_model_profile(qgen_model* model, const qgen_argument* inputs, size_t count, qgen_text** text,
                                      qgen_error** error);
/* Writes a file for the shapes that ran last. It loads in milliseconds on the same device. */
QGEN_API qgen_code qgen_model_save(qgen_model* model, const char* path, qgen_error** error);
/* The device for the model's tensors and frames. For a compiled file, it has the kernels of the file. It belongs to the
   model. */
QGEN_API qgen_device* qgen_model_device(qgen_model* model);
/* The size of an arena for the shapes of these inputs, which are arrays with or without data. */
QGEN_API qgen_code qgen_model_arena_bytes(qgen_model* model, const qgen_argument* inputs, size_t count, uint64_t* bytes,
                                          qgen_error** error);
/* Prepares the model for these shapes. `arena` may be null; else it must outlive the model. */
QGEN_API qgen_code qgen_model_prepare(qgen_model* model, const qgen_argument* inputs, size_t count,
                                      const qgen_tensor* arena, qgen_error** error);
/* Records a prepared model, on the caller's tensors. */
QGEN_API qgen_code qgen_model_record(qgen_model* model, qgen_frame* frame, const qgen_argument* inputs,
                                     size_t input_count, const qgen_argument* outputs, size_t output_count,
                                     qgen_error** error);

/* ---- language models -------------------------------------------------------------------------------------------- */

/* Generates tokens with an ONNX model whose caches are inputs past_... and outputs present_... They stay on the device,
   and have room for `capacity` tokens of each sequence (docs/language_models.md). */
typedef struct qgen_generator qgen_generator;
typedef enum qgen_cache {
  QGEN_CACHE_OF_MODEL = 0,  /* f32 or f16 */
  QGEN_CACHE_INT8 = 1,      /* with a scale for each head and token */
  QGEN_CACHE_PAGED = 2,     /* f32 or f16, in blocks of 16 tokens */
  QGEN_CACHE_PAGED_INT8 = 3 /* int8 with such scales, in blocks of 16 tokens */
} qgen_cache;
QGEN_API qgen_code qgen_generator_load(qgen_device* device, const char* path, int64_t capacity, qgen_cache cache,
                                       qgen_generator** generator, qgen_error** error);
/* With QGEN_CACHE_PAGED or QGEN_CACHE_PAGED_INT8: blocks of `block_size` tokens, a power of two. Sequences get them as
   they grow, from a pool of `blocks`; 0: as many as the capacity of all sequences needs. */
QGEN_API qgen_code qgen_generator_load_paged(qgen_device* device, const char* path, int64_t capacity, qgen_cache cache,
                                             int64_t block_size, int64_t blocks, qgen_generator** generator,
                                             qgen_error** error);
QGEN_API void qgen_generator_free(qgen_generator* generator);
/* The number of possible tokens. 0: it becomes known in qgen_generator_set_inputs(). */
QGEN_API int64_t qgen_generator_vocabulary(const qgen_generator* generator);
/* All inputs that are no tokens, mask, positions or caches, as arrays: such as an encoder's result. They stay on the
   device until they are set again, also for later calls of qgen_generator_start() and qgen_generator_generate(). Values
   that depend on them alone are computed now, once. Forgets all tokens. Their first dimension is the number of
   sequences. */
QGEN_API qgen_code qgen_generator_set_inputs(qgen_generator* generator, const qgen_argument* inputs, size_t count,
                                             qgen_error** error);
/* Forgets all tokens. The next ones are of this number of sequences, at most 2^20. */
QGEN_API qgen_code qgen_generator_start(qgen_generator* generator, size_t sequences, qgen_error** error);
/* Runs the model on further tokens: counts[i] of sequence i, one sequence after the other. Only in the first call after
   qgen_generator_start() the counts may differ. A full cache is refused, and so are tokens for which the pool has too
   few blocks. */
QGEN_API qgen_code qgen_generator_feed(qgen_generator* generator, const int32_t* tokens, const size_t* counts,
                                       size_t sequences, qgen_error** error);
/* Ends the sequence: with paged caches, it gives its blocks to the others. Runs compute no more tokens of it, although
   qgen_generator_feed() still needs a token for it. */
QGEN_API qgen_code qgen_generator_end(qgen_generator* generator, size_t sequence, qgen_error** error);
/* Writes the next token of each sequence to `tokens`: with a `top_k` of 1 the most likely one. Otherwise it is drawn from
   the top_k most likely ones, or with 0 from all, with logits divided by `temperature`, which is
   from 1e-6 to 1e6. */
QGEN_API qgen_code qgen_generator_next(qgen_generator* generator, uint32_t top_k, double temperature, uint64_t seed,
                                       int32_t* tokens, qgen_error** error);

/* Options of qgen_generator_generate(). */
typedef struct qgen_generation {
  size_t most_tokens;        /* of each sequence, without the prompt; at least 1 */
  const int32_t* end_tokens; /* a sequence ends with one of these; may be null */
  size_t end_token_count;
  uint32_t top_k;     /* these three as in qgen_generator_next() */
  double temperature; /* 0 means 1 */
  uint64_t seed;
  size_t prompt_rows; /* tokens of a prompt in one run; 0: all */
  /* Gets each token as soon as it is generated. Returning 0 ends the sequence. It must not use the generator. May be
     null. */
  int (*on_token)(void* data, size_t sequence, int32_t token);
  void* data; /* for on_token */
} qgen_generation;
/* Starts anew, and generates up to most_tokens tokens of each sequence. `prompts` has counts[i] tokens of sequence i, one
   sequence after the other; they run as one batch. With a `top_k` of 1, the device computes the next token while the
   caller has this one. `tokens`: most_tokens for each sequence, of which the first generated[i] are written; either may
   be null. Errors: those of qgen_generator_feed(), and more tokens than the cache or the pool has room for. */
QGEN_API qgen_code qgen_generator_generate(qgen_generator* generator, const qgen_generation* generation,
                                           const int32_t* prompts, const size_t* counts, size_t sequences,
                                           int32_t* tokens, size_t* generated, qgen_error** error);

/* ---- measured times --------------------------------------------------------------------------------------------- */

/* From now on, kernels are chosen by the times in a store of qgen-tune. `path`: "" is this user's store. A store that
   does not exist has no times. */
QGEN_API qgen_code qgen_device_use_times(qgen_device* device, const char* path, qgen_error** error);
/* The store's times of this device, a line each: problem, kernel and microseconds, separated by tabs. */
QGEN_API qgen_code qgen_device_times(qgen_device* device, const char* path, qgen_text** rows, qgen_error** error);

#ifdef __cplusplus
}
#endif

#endif

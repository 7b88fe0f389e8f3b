// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Visits each node of a model once, after the nodes that it reads. The result of a node is either known at once
// (folded, or a view), or a pending operation. A pending operation becomes a node of the graph when a QuantizeLinear
// reads it, or in floating point when another node reads it. import.h is the public header.
//
//   importer.cpp               inputs, outputs, and which way a node goes
//   quantize_nodes.cpp         QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear
//   quantized_operators.cpp    QLinearConv and others, which say their own quantization
//   integers.cpp               what computes with integers that stand for no reals
//   views.cpp                  what waits with an operation, and pools
//   byte_functions.cpp         what computes one byte of one byte, though of several tensors
//   normalization.cpp          BatchNormalization
//   movements.cpp              what puts elements elsewhere
//   elements.cpp               what computes element by element of several tensors, of any type
//   reductions.cpp             what is computed along axes
//   compositions.cpp           what is other nodes, written out: losses, indices, triangles
//   pairs.cpp                  TopK and Scatter, by comparing elements in pairs
//   resize.cpp                 Resize along any axes, by products
//   rewrites.cpp               what is other nodes, written out
//   volumes.cpp                convolutions and pools of volumes
//   loops.cpp                  Loop and Scan, iteration by iteration
//   grid_sample.cpp            GridSample, by gathers of computed pixels
//   attention.cpp              layers of attention, and rotary embeddings
#pragma once

#include <array>
#include <deque>
#include <set>
#include <span>

#include "runtime/models/onnx/builder.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/order.h"
#include "runtime/models/onnx/quantized_operators.h"
#include "runtime/models/onnx/reader.h"

namespace qgen::onnx {

// Quantized values, a view of them, or floating-point values: nodes that move elements ignore their meaning.
struct Elements {
  ValueId value = 0;
  Known like;

  bool are_bytes() const { return like.as<Codes>() || like.as<View>(); }
  bool are_integers() const { return like.as<Integers>(); }
  Known as_known(ValueId moved, Dims shape) const;
};

class Importer {
 public:
  // Of its elements, to the model.
  static ElementType element_type_of(const Known& known);
  Importer(const Model& model, const ImportOptions& options)
      : model_(model),
        states_(options.states.empty() && options.finds_states ? states_of(model.graph) : options.states) {
    builder_.fuses = options.fuses;
  }

  Expected<Imported> run();
  // After run(): the operations without an operator; empty: none, or run() ended for another reason.
  std::vector<Lack> lacks() const;
  size_t node_count() const { return order_.nodes.size(); }

 private:
  // ---- inputs, outputs and nodes ------------------------------------------------------------------------------------

  // As many as may be gone through. A weight of a layer is gone through five times, one of MatMulNBits, which has two
  // integers in an element, up to thirteen.
  int64_t constant_elements() const;
  // All nodes whose inputs are known; those that cannot be read are kept.
  void lower_all();
  // The first of them, and in lines below it the others, equal ones together.
  Error refusal() const;
  // Whether an output, or a value, has the shape that the model declares.
  static Done check_declared(std::string_view what, const ValueInfo& declared, const Known& known);
  Done check_results(const Node& node) const;
  // Whether there is something that reads such nodes at all; and not of constants alone.
  static bool is_read(const Node& node);
  static bool is_read_of_data(const Node& node);
  // For a node after a refused one: whether it would be refused too, for any input.
  Done check_lost(const Node& node) const;
  bool may_be_table(const Node& node) const;
  const Node* writer_of(std::string_view value) const;
  Done add_input(const ValueInfo& input);
  // Unsigned bytes as signed ones that are `shift` less, or the reverse: of a scale of 1 either way.
  ValueId shifted(ValueId value, const std::string& name, DType from, int32_t shift);
  Done add_output(const ValueInfo& output);
  Done check_state_names() const;
  // Of the finished graph. Error: an output that is not the input's cache.
  Done add_states();
  // Floating-point values that are integers, as integers.
  ValueId as_integers(ValueId value, const std::string& name);
  // Initializers become known when something reads them.
  Expected<const Known*> find(const std::string& name);
  Expected<std::vector<const Known*>> arguments_of(const Node& node);
  Done lower(const Node& node);
  // An If: the nodes of the branch that its condition chooses, or of both, where the model computes the condition.
  Done lower_branch(const Node& node);
  Expected<std::vector<Known>> results_of_branch(const Node& node, std::string_view name);
  // Of the nodes of a branch or a body. A result that may wait for its reader does: `readers` names each result outside
  // of the graph. Results without such a name are computed.
  Expected<std::vector<Known>> results_of_graph(const ModelGraph& graph, std::span<const std::string> readers);
  // A Loop or a Scan: the nodes of its body once for each iteration. Their number must be known.
  Done lower_loop(const Node& node);
  Done lower_scan(const Node& node);
  Expected<int64_t> scan_length(const Node& node, Arguments arguments, size_t states);
  // The results of a copy of the body that reads these inputs.
  Expected<std::vector<Known>> iteration(const Node& node, const ModelGraph& body, int64_t index,
                                         const std::vector<Known>& inputs);
  Expected<Known> stacked(const Node& node, const std::vector<Known>& parts, int64_t axis);
  // The last values of the state, then all values of each scanned output along its axis.
  Done tell_results(const Node& node, const std::vector<Known>& last, const std::vector<std::vector<Known>>& all,
                    const std::vector<int64_t>& axes);
  // Values that the node, or a graph in it, reads do not wait: every iteration reads them.
  Done compute_reads(const Node& node);
  // A Where of the results of both, which must have the same shapes and types.
  Expected<std::vector<Known>> results_of_both(const Node& node, const Known& condition);
  // A value with several readers would be computed several times, unless all of them quantize it.
  bool may_wait(const Pending&, const Uses& uses) const;
  Expected<Known> result_of(const Node& node, Arguments arguments);
  // The same, with sums of ConvInteger and MatMulInteger as integers.
  Expected<Known> result_of_integers(const Node& node, Arguments arguments);
  // Quantization itself, and nodes whose ONNX definition has integers. nullopt: it is something else.
  Expected<std::optional<Known>> of_quantized_operator(const Node& node, Arguments arguments);
  // An Add, Sub, Mul or Div that changes another operation, or that is written as another one. nullopt: it is none.
  Expected<std::optional<Known>> of_arithmetic(const Node& node, Arguments arguments);
  // The arguments, those of f16 as f32 if others are f32: these are in `wider`.
  Expected<std::vector<const Known*>> of_one_dtype(const Node& node, Arguments arguments, std::deque<Known>& wider);
  // For opsets before 7: the second operand with dimensions of length 1 added at its end.
  Expected<Known> broadcast_along_axis(const Node& node, Arguments arguments);
  Expected<Known> operation(std::string_view op, const Node& node, Arguments arguments);
  // ONNX's node of that name, of these inputs, in place of `node`.
  Expected<Known> written(const Node& node, std::string_view op, std::vector<Known> inputs,
                          std::map<std::string, AttributeData, std::less<>> attributes = {});
  // nullopt: the node does something else.
  Expected<std::optional<Known>> cast(const Node& node, const Known& input);

  // ---- element by element -------------------------------------------------------------------------------------------

  static bool is_by_elements(const Node& node);
  // One chain; nullopt: the node does something else, or not with these types.
  Expected<std::optional<Known>> by_elements(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> where(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> power_of_integers(const Node& node, Arguments arguments);
  Expected<Known> as_type(const Node& node, const Known& input, ElementType to);
  // A value of the graph with such elements: floating-point, int8, i32, or u8 for booleans.
  Expected<ValueId> element_value(const std::string& name, const Known& known, ElementType type);
  Expected<ValueId> integer_value(const Known& known);
  static Known elements_known(ValueId value, ElementType type, const Dims& shape);

  // An Add, a Mul or another such node whose result is a function of one byte: of an int8 tensor and numbers, or of int8
  // tensors that are functions of the same bytes. nullopt: it is none, or not only QuantizeLinear nodes read it.
  std::optional<Known> of_one_byte(const Node& node, Arguments arguments) const;

  // ---- along axes ---------------------------------------------------------------------------------------------------

  // An operator `reduce`, for floating-point values and for integers.
  Expected<Known> reduced(const Node& node, std::string_view operation, const Known& input, std::vector<int64_t> axes,
                          bool keeps);
  Expected<std::optional<Known>> arg_extreme(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> log_softmax(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> hardmax(const Node& node, Arguments arguments);

  // ---- recurrent layers ---------------------------------------------------------------------------------------------

  class Recurrent;
  Done recurrent(const Node& node);  // has several results
  Expected<Known> chain_of(const Node& node, const chains::Formula& formula, const std::vector<const Known*>& inputs);

  // ---- what is other nodes, written out -----------------------------------------------------------------------------

  Expected<std::optional<Known>> negative_log_likelihood(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> softmax_cross_entropy(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> triangle(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> one_hot(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> cumulative_sum(const Node& node, Arguments arguments);
  // For each column of the matrix, the sum of the elements along the axis that it has a 1 for.
  Expected<Known> sum_of_chosen(const Node& node, const Known& input, size_t axis, const Known& matrix);
  // By its definition, in other nodes: GatherND, EyeLike ...
  // (x - mean) / (standard deviation + 1e-9), along axes.
  Expected<std::optional<Known>> mean_variance(const Node& node, Arguments arguments);
  // The elements whose condition, a constant, is true.
  Expected<std::optional<Known>> compressed(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> grid_sample(const Node& node, Arguments arguments);
  // Of one pixel for each place of the grid, times its weight.
  Expected<Known> sampled_tap(const Node& node, const Known& pixels, const std::vector<Known>& coordinates,
                              const chains::Formula& pixel_number, const std::optional<chains::Formula>& weight);
  Expected<std::optional<Known>> einsum(const Node& node, Arguments arguments);
  Expected<Known> summed_letters(const Node& node, const Known& input, std::string& letters, std::string_view kept);
  Expected<Known> in_order_of_letters(const Node& node, const Known& input, std::string_view letters,
                                      std::string_view order);
  Expected<Known> product_of_letters(const Node& node, const std::vector<Known>& inputs,
                                     const std::vector<std::string>& letters, const std::string& result,
                                     const std::map<char, int64_t>& sides);
  Expected<std::optional<Known>> gather_nd(const Node& node, Arguments arguments);
  // Of indices [..., c], which are coordinates along the first c sides, the number of the row.
  Expected<Known> row_of_indices(const Node& node, const Known& indices, const Shape& sides);
  Expected<std::optional<Known>> batches_in_order(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> local_response(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> rectangle_of_ones(const Node& node, Arguments arguments);

  // ---- by comparing elements in pairs -------------------------------------------------------------------------------

  Done top_k(const Node& node);  // has two results
  Expected<std::optional<Known>> scatter_elements(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> scatter_nd(const Node& node, Arguments arguments);
  // The node's data as `rows` rows of `each` elements; `places` are rows, one for each of `updates` updates.
  Expected<std::optional<Known>> scattered_rows(const Node& node, Arguments arguments, const Known& places,
                                                int64_t updates, int64_t rows, int64_t each);
  Expected<Known> scattered(const Node& node, const Known& data, const Known& places, const Known& updates);

  // Outputs after the first one. nullopt: qgen does not compute them.
  Expected<std::optional<std::vector<Known>>> further_results(const Node& node, Arguments arguments);
  // Floating-point values that need no computation at run time, as an operator that copies them.
  Expected<ValueId> constant_output(const Known& known, const std::string& name);
  // A note where qgen has another dtype than the model.
  void note_dtype(const std::string& name, ElementType type);
  // A convolution and the sum of a bias that the model computes.
  Expected<Known> with_computed_bias(const Node& node, Arguments arguments);
  // If no product operator has a bias, a sum after it.
  Expected<Known> gemm(const Node& node, Arguments arguments);
  static TensorPtr tensor_at(Arguments arguments, size_t index);

  // ---- quantization -------------------------------------------------------------------------------------------------

  // Of a constant, or of codes; of another value any.
  static ElementType type_of(const Known& integers);
  Expected<Parameters> parameters_at(const Node& node, Arguments arguments, ElementType type);
  Expected<Known> quantize(const Node& node, Arguments arguments);
  // By one scale that is computed: a quotient, rounded, and the zero point.
  Expected<Known> quantize_as_defined(const Node& node, Arguments arguments, ElementType type);
  Expected<Known> quantized_to(const Node& node, const Known& input, const Parameters& parameters);
  Expected<Known> quantize_channels(const Node& node, const Known& input, const Parameters& parameters);
  // Activations with a scale for each channel: no operator of bytes takes them, but those that quantize do.
  std::vector<graph::Port> channel_parameters(const std::string& name, const Parameters& parameters);
  Expected<Known> dequantize(const Node& node, Arguments arguments);
  // Of 16 or 32 bits: a product in floating point.
  Expected<Known> dequantize_wide(const Node& node, const Known& input, const Parameters& parameters);
  // The integers of `input`, dequantized.
  Expected<Known> view_of(const Known& input, Parameters parameters, ElementType type);
  Known dequantize_channels(const Known& input, const Codes& codes, const Parameters& parameters);
  // Scale and zero point of all of the input; as ONNX has them for uint8, 128 less.
  Done quantize_dynamically(const Node& node);
  struct Computed {
    ValueId codes, scale, zero_point;
  };
  Computed quantized_image(const std::string& name, const Real& real);
  Computed quantized_block(const std::string& name, const Real& real);

  // ---- operators that say their own quantization --------------------------------------------------------------------

  // The triple that begins at input `first`.
  Expected<Known> operand_of(const QuantizedOperator& row, size_t first, bool may_be_weight, const Node& node,
                             Arguments arguments);
  // The integer bias, dequantized: its scale is the sums' scale.
  Expected<Known> bias_of(const TensorPtr& bias, const Known& input, const Known& weight, const Node& node);
  Expected<Known> quantized_operator(const QuantizedOperator& row, const Node& node, Arguments arguments);
  // Integers of 4 or 8 bits; groups of neighbours along K have a scale and a zero point each.
  Expected<Known> matmul_nbits(const Node& node, Arguments arguments);
  Expected<Known> gather_block_quantized(const Node& node, Arguments arguments);
  // Rows of a symmetric table of 4 bits.
  Expected<Known> embedded(const Node& node, const Tensor& codes, const Parameters& parameters, const Known& indices,
                           ElementType type, const Dims& shape);
  // The product of sums of bytes with their computed scale, and perhaps a constant: the same operation with a scale.
  // nullopt: it is something else.
  std::optional<Known> with_computed_scale(const Node& node, Arguments arguments);
  // Of a Mul of a computed scale and a constant, for the Mul that reads it.
  void note_computed_scale(const Node& node, Arguments arguments);
  // The weight's scale multiplied by a constant; false: it has no place for it.
  bool scale_weight(Pending& layer, const Known& constant);
  // Integers as floating-point values with a scale of 1; a Dynamic operand, if the zero point is computed at run time.
  Expected<Known> whole(const Node& node, Arguments arguments, size_t index);
  // The zero point of ConvInteger's or MatMulInteger's first operand, if the model computes it.
  std::optional<DynamicZeroPoint> computed_zero_point(const Node& node, const Codes& of, const Known& known);
  Expected<Known> of_integers(const Node& node, Arguments arguments);
  // Of matrices that are differences to their zero points: in floating point, as far as this is exact.
  Expected<Known> product_of_differences(const Node& node, const Known& first, const Known& second);
  Known less_zero_point(const Node& node, const Codes& codes, const DynamicZeroPoint& zero_point);
  Known dequantized_dynamically(const Node& node, const Codes& codes, ValueId scale,
                                const DynamicZeroPoint& zero_point);

  // ---- integers that nothing dequantizes ----------------------------------------------------------------------------

  // Add, Sub, Mul, Max, Min, Clip and Cast, as exact floating-point operations with a scale of 1. nullopt: the node
  // does something else, or its inputs are no such integers.
  Expected<std::optional<Known>> of_codes(const Node& node, Arguments arguments);
  Expected<Known> greatest_or_least(const Node& node, const std::vector<Known>& operands, const PerTensor& output);

  // ---- views, functions and pools --------------------------------------------------------------------------

  Expected<Known> seen_as(const Node& node, const Known& input, const Dims& shape);
  Expected<std::optional<Function>> function_at(const Node& node, Arguments arguments);
  Expected<Known> apply(const Node& node, const Known& input, const Function& function);
  // The sum of a layer without a bias and a constant is the layer with one; nullopt: it is something else.
  std::optional<Known> add_bias(const Node& node, Arguments arguments);
  // Of a constant that has one element for each channel of a layer, or one for all, its elements, one for each.
  // Channels are second in images and last in rows of a linear layer. nullopt: it is something else.
  static std::optional<std::vector<float>> of_channels(const Pending& layer, const Known& constant);
  // A Mul, Add or Sub of a waiting layer and such a constant, or a Div by one, is the layer with another weight and
  // bias. nullopt: it is something else.
  Expected<std::optional<Known>> scaled_or_shifted(const Node& node, Arguments arguments);
  // By a constant: the product with its reciprocal, which is rounded once more.
  Expected<Known> divided(const Node& node, Arguments arguments);
  // Of a layer that waits for it a part, else a product and a sum with a constant for each channel.
  Expected<Known> batch_normalization(const Node& node, Arguments arguments);
  Expected<Known> max_pool(const Node& node, Arguments arguments);
  Expected<Known> depth_to_space(const Node& node, Arguments arguments);

  // ---- elements that move: bytes as they are, else reals ------------------------------------------------------------

  Expected<Elements> elements_of(const Known& input);
  Known moved(const std::string& name, const Elements& elements, std::string_view op, Attributes attributes,
              const Dims& shape);
  // nullopt: the node does something else.
  Expected<std::optional<Known>> move(const Node& node, Arguments arguments);
  Expected<Known> permuted(const std::string& name, const Known& input, const std::vector<int64_t>& order);
  Expected<Known> transpose(const Node& node, Arguments arguments);
  Expected<Known> slice(const Node& node, Arguments arguments);
  // Places from `start` on along one dimension, as many as `count`; their side may be a symbol.
  Known part_of(const std::string& name, const Elements& elements, size_t dimension, int64_t start, int64_t count);
  // Has several results.
  Done split(const Node& node);
  // Of one place, or of places that follow each other, a slice.
  Expected<Known> gather(const Node& node, Arguments arguments);
  Expected<Known> gathered(const Node& node, std::string_view op, const Known& input, const Known& indices, size_t axis,
                           const Dims& shape);
  Expected<Known> gather_elements(const Node& node, Arguments arguments);
  // Integers and bytes that no scale goes with.
  Expected<Known> concat_elements(const Node& node, Arguments arguments);
  Expected<Known> concat_elements_along(const Node& node, const std::vector<Known>& parts, size_t axis);
  Expected<Known> pad(const Node& node, Arguments arguments);
  Expected<Known> expand(const Node& node, Arguments arguments);
  Expected<Known> resize(const Node& node, Arguments arguments);
  // By `resize2d` and `q8ta_resize2d`.
  Expected<Known> resize_image(const Node& node, Arguments arguments);
  // Where these do not do it: a Gather or a product along each axis.
  Expected<Known> resize_along_axes(const Node& node, Arguments arguments);
  // With a constant matrix, whose rows are the positions along the axis: its columns are the result's positions.
  Expected<Known> product_along(const Node& node, const Known& input, size_t axis, const Known& matrix);
  // Along another axis than the last: of dimensions in another order, and back.
  Expected<std::optional<Known>> turned_softmax(const Node& node, Arguments arguments);

  // ---- nodes that are others, written out ---------------------------------------------------------------------------

  static bool is_rewritten(const Node& node);
  // nullopt: the node is none of them, or its meaning depends on its inputs, and they do not fit.
  Expected<std::optional<Known>> rewritten(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> sum_of_all(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> power(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> extreme(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> clip_to_data(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> along_axes(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> depth_to_space_of_any(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> space_to_depth(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> tiled(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> plain_gemm(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> product_of_vectors(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> group_normalization(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> layer_of_any_axes(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> global_pool(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> fused_layer(const Node& node, Arguments arguments);
  // Of [N, C, D, H, W]; nullopt: it is of something else.
  Expected<std::optional<Known>> pool_of_volumes(const Node& node, Arguments arguments);
  // Of volumes or of dilated windows; nullopt: it is of something else.
  Expected<std::optional<Known>> average_pool(const Node& node, Arguments arguments);
  // How many pixels each window has, [1, 1, ...] with the places of `output`; with_padding: those of the padding too.
  // Without `sides`, each window has all of them: [1, 1, 1, ...].
  Expected<Known> pixels_of_windows(const Node& node, const Window& window, const Shape& sides, const Dims& output,
                                    bool with_padding);
  Expected<std::optional<Known>> convolution_of_volumes(const Node& node, Arguments arguments);
  Expected<std::optional<Known>> transposed_convolution_of_volumes(const Node& node, Arguments arguments);
  // Of [N, D, C, H, W]: for each place along depth the images of a window, as channels: [N * places, C * taps, H, W].
  // `first`: of each tap its depth at the first place.
  Expected<Known> windows_along_depth(const Node& node, const Known& input, const std::vector<int64_t>& first,
                                      int64_t places, int64_t stride);
  // [N * places, C, H, W] as [N, C, places, H, W].
  Expected<Known> volume_of(const Node& node, const Known& images, int64_t places);
  Expected<std::optional<Known>> simplified_layer_normalization(const Node& node, Arguments arguments);
  Done skip_normalization(const Node& node);  // has several results
  Expected<std::optional<Known>> rotary_embedding(const Node& node, Arguments arguments);
  struct Rotation {
    const Known *cos, *sin, *positions;  // positions: nullptr: from 0
    bool is_interleaved, is_heads_first, is_from_last = false;
  };
  // Of [B, S, N, D], or with the heads first [B, N, S, D].
  Expected<Known> rotated(const Node& node, const Known& heads, const Rotation& how);
  struct Attention {
    Known query, key, value;  // of four dimensions
    const Known *mask = nullptr, *key_lengths = nullptr;
    std::optional<double> scale = {};
    double softcap = 0;
    std::string causal = "none";
    int64_t window = 0;
    bool is_heads_first = false, is_keys_heads_first = false;
  };
  // An operator `attention`. The result has four dimensions, as the query.
  Expected<Known> attention_of(const Node& node, const Attention& layer);
  // Of a MultiHeadAttention, query, key and value: [B, S, count, D], with the bias added; or [B, count, S, D], as a key or
  // a value without a bias may be.
  Expected<std::vector<Known>> heads_of_layer(const Node& node, Arguments given, int64_t count);
  // Of its key_padding_mask [B, T]: what is added to the scores.
  Expected<Known> mask_of_padding(const Node& node, const Known& padding);
  // Of a GroupQueryAttention: query, key and value [B, S, counts[i], width]; without a key, all three are in the query.
  Expected<std::vector<Known>> heads_of_group(const Node& node, Arguments given, const Known& query,
                                              const std::array<int64_t, 3>& counts, int64_t width);
  // From its heads on.
  Done attention_of_group(const Node& node, Attention layer);
  // Booleans as 0 and -infinity, floating-point values unchanged, of this type.
  Expected<Known> additive_mask(const Node& node, const Known& mask, ElementType type);
  Expected<Known> with_past(const Node& node, const Known* past, const Known& heads, bool is_heads_first);
  struct Past {
    const Known *key, *value;  // nullptr: there is none
    bool is_cached = false;    // a state keeps it
  };
  // Puts keys and values behind their past; `heads` are the query's, the keys' and the values', and `are_first` is of the
  // last two. Gives the lengths of the caches; nullopt: all keys count.
  Expected<std::optional<Known>> join_past(const Node& node, const Past& past, std::array<bool, 2> are_first,
                                           std::vector<Known>& heads);
  // The same for the inputs of RotatedInput, if they can be. Rotates queries and keys too.
  std::optional<Known> rotated_with_past(const Node& node, Arguments given, std::vector<Known>& heads);
  Expected<Known> joined_heads(const Node& node, const Known& heads);
  Done tell_attention(const Node& node, const Expected<Known>& output, const Known* key, const Known* value);
  // Have several results.
  Done attention(const Node& node);
  Done multi_head_attention(const Node& node);
  Done group_query_attention(const Node& node);
  // Whether an input of the node is a state, and an output what the next run gets.
  bool is_state(const Node& node, size_t input, size_t output) const;
  // Keys and values in their caches, and the lengths of these: an operator `cache_write`.
  struct Cached {
    Known key, value, lengths;
  };
  Expected<Cached> cached(const Node& node, const Known& key_cache, const Known& value_cache, const Known& key,
                          const Known& value, const Known& last);
  // Of heads in one tensor, or in three.
  struct Rows {
    Known query;
    const Known *key = nullptr, *value = nullptr;
    int64_t heads;  // of queries
  };
  // Rotates queries and new keys on the way: an operator `rotary_cache_write`. The positions are those of the rows.
  Expected<std::pair<Known, Cached>> rotated_and_cached(const Node& node, const Rows& rows, const Known& key_cache,
                                                        const Known& value_cache, const Rotation& how,
                                                        const Known& last);
  // The same of a node that does not say how many keys there are: the graph's input kLastPositions does.
  Expected<Cached> cached_by_positions(const Node& node, const Known& key_cache, const Known& value_cache,
                                       const Known& key, const Known& value, bool is_heads_first);
  Expected<Known> last_positions(Number batches);
  // A value with several readers is put into the graph now.
  Expected<Known> computed(const Known& input);
  // written() and then computed().
  Expected<Known> computed(const Node& node, std::string_view op, std::vector<Known> inputs,
                           std::map<std::string, AttributeData, std::less<>> attributes = {});
  // A Reshape to dimensions, one of which may be -1.
  Expected<Known> viewed(const Node& node, const Known& input, const Dims& target);

  const Model& model_;
  const std::vector<StateNames> states_;
  std::optional<Known> last_positions_;
  bool has_half_inputs_ = false;  // then the model computes in f16, and constants of f16 that are moved stay so
  std::vector<const ModelGraph*> branches_;  // that are being lowered, the innermost last
  std::deque<ModelGraph> iterations_;        // copies of the bodies of loops
  Order order_;
  Builder builder_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, int64_t, std::less<>> symbols_;
  std::map<std::string_view, const Node*> writers_;
  // Scales that DynamicQuantizeLinear computes, and their products with a constant, by name.
  struct ComputedScale {
    ValueId scale = 0;
    std::optional<Known> factor = {};
  };
  std::map<std::string, ComputedScale, std::less<>> computed_scales_;
  std::map<ValueId, ValueId> channel_sums_;                // of dynamic_quantize_image, by its bytes
  std::set<std::string_view> convolved_;                   // values that a ConvInteger reads
  std::map<std::string_view, const ValueInfo*> declared_;  // values of the model whose shapes it says
  struct Refused {
    const Node* node;
    Error error;
  };
  std::vector<Refused> refused_;
  std::set<std::string_view> lost_;  // values that nothing computes, since a node before them is refused
};

}  // namespace qgen::onnx

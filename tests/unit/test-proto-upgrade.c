/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto-text.h"

/* Nets and solvers of older versions of Caffe, upgraded to the current form. */

static ferry_proto *upgraded(const char *type, const char *text)
{
    ferry_proto *p = proto_of(type, text, strlen(text));

    if (p && ferry_proto_upgrade(p) == FERRY_OK)
        return p;
    CU_FAIL("refused");
    printf("  %s\n  %s\n", text, ferry_last_error());
    ferry_proto_close(p);
    return NULL;
}

/* Checks that the upgrade gives the same tree as the text `want`, which is in the current form. */
static void check_upgrade(const char *text, const char *want)
{
    ferry_proto *p = upgraded("NetParameter", text), *today = net_of(want);
    char *wanted = printed(today);

    if (p)
        check_printed(p, wanted);
    free(wanted);
    ferry_proto_close(today);
    ferry_proto_close(p);
}

static void check_no_upgrade(const char *type, const char *text, const char *says)
{
    ferry_proto *p = proto_of(type, text, strlen(text));
    int err = ferry_proto_upgrade(p);

    CU_ASSERT_EQUAL(err, FERRY_EFORMAT);
    if (!strstr(ferry_last_error(), says)) {
        CU_FAIL("another message");
        printf("  wanted \"%s\", got \"%s\"\n", says, ferry_last_error());
    }
    ferry_proto_close(p);
}

static void check_note(const ferry_proto *p, int index, int level, const char *want)
{
    const char *line = "";
    int got = -1;

    CU_ASSERT_EQUAL(ferry_proto_note_at(p, index, &got, &line), FERRY_OK);
    CU_ASSERT_EQUAL(got, level);
    if (strcmp(line, want) != 0) {
        CU_FAIL("another note");
        printf("  wanted \"%s\", got \"%s\"\n", want, line);
    }
}

static void a_net_in_the_current_format_is_not_changed(void)
{
    static const char text[] = "name: 'n' layer { name: 'data' type: 'Input' top: 'data' "
                               "input_param { shape { dim: 1 } } } "
                               "layer { type: 'BatchNorm' param { lr_mult: 1 } param { } }";
    ferry_proto *p = upgraded("NetParameter", text);

    CU_ASSERT_EQUAL(ferry_proto_note_count(p), 0);
    ferry_proto_close(p);
    check_upgrade(text, text);
    check_upgrade("", "");
}

/* ---- V1 ------------------------------------------------------------------------------------- */

static void v1_layers_become_v2_layers(void)
{
    check_upgrade(
        "layers { name: 'c' type: CONVOLUTION bottom: 'a' top: 'b' blobs_lr: 1 blobs_lr: 2 "
        "weight_decay: 3 convolution_param { num_output: 4 pad: 1 } include { phase: TRAIN } }",
        "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'b' param { lr_mult: 1 decay_mult: "
        "3 } param { lr_mult: 2 } convolution_param { num_output: 4 pad: 1 } include { phase: "
        "TRAIN "
        "} }");
    check_upgrade("layers { param: 'w' param: 'b' blob_share_mode: PERMISSIVE blobs_lr: [1,2,3] }",
                  "layer { param { name: 'w' share_mode: PERMISSIVE lr_mult: 1 } param { name: 'b' "
                  "lr_mult: 2 } param { lr_mult: 3 } }");
    check_upgrade("layers { type: SOFTMAX_LOSS loss_weight: 2 loss_param { normalize: false } "
                  "blobs { data: 1 } exclude { stage: 's' } }",
                  "layer { type: 'SoftmaxWithLoss' loss_weight: 2 loss_param { normalize: false } "
                  "blobs { data: 1 } exclude { stage: 's' } }");
}

static void every_v1_type_has_a_name(void)
{
    static const char *const types[][2] = {
        { "NONE", "" },
        { "ABSVAL", "AbsVal" },
        { "ACCURACY", "Accuracy" },
        { "ARGMAX", "ArgMax" },
        { "BNLL", "BNLL" },
        { "CONCAT", "Concat" },
        { "CONTRASTIVE_LOSS", "ContrastiveLoss" },
        { "CONVOLUTION", "Convolution" },
        { "DATA", "Data" },
        { "DECONVOLUTION", "Deconvolution" },
        { "DROPOUT", "Dropout" },
        { "DUMMY_DATA", "DummyData" },
        { "EUCLIDEAN_LOSS", "EuclideanLoss" },
        { "ELTWISE", "Eltwise" },
        { "EXP", "Exp" },
        { "FLATTEN", "Flatten" },
        { "HDF5_DATA", "HDF5Data" },
        { "HDF5_OUTPUT", "HDF5Output" },
        { "HINGE_LOSS", "HingeLoss" },
        { "IM2COL", "Im2col" },
        { "IMAGE_DATA", "ImageData" },
        { "INFOGAIN_LOSS", "InfogainLoss" },
        { "INNER_PRODUCT", "InnerProduct" },
        { "LRN", "LRN" },
        { "MEMORY_DATA", "MemoryData" },
        { "MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss" },
        { "MVN", "MVN" },
        { "POOLING", "Pooling" },
        { "POWER", "Power" },
        { "RELU", "ReLU" },
        { "SIGMOID", "Sigmoid" },
        { "SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss" },
        { "SILENCE", "Silence" },
        { "SOFTMAX", "Softmax" },
        { "SOFTMAX_LOSS", "SoftmaxWithLoss" },
        { "SPLIT", "Split" },
        { "SLICE", "Slice" },
        { "TANH", "TanH" },
        { "WINDOW_DATA", "WindowData" },
        { "THRESHOLD", "Threshold" },
    };
    char text[128], want[128];

    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        snprintf(text, sizeof(text), "layers { type: %s }", types[i][0]);
        snprintf(want, sizeof(want), "layer { type: '%s' }", types[i][1]);
        check_upgrade(text, want);
    }
}

static void both_kinds_of_layers_in_one_net_are_an_error(void)
{
    check_no_upgrade("NetParameter", "layer { name: 'a' }\nlayers { name: 'b' }",
                     "t.prototxt:2:8: the net has both layer");
}

/* ---- data layers ---------------------------------------------------------------------------- */

static void transformation_fields_move_to_transform_param(void)
{
    check_upgrade(
        "layers { type: DATA data_param { source: 's' scale: 2 mean_file: 'm' crop_size: 3 "
        "mirror: true } } layers { type: IMAGE_DATA image_data_param { source: 'i' } }",
        "layer { type: 'Data' data_param { source: 's' } transform_param { scale: 2 "
        "mean_file: 'm' crop_size: 3 mirror: true } } layer { type: 'ImageData' "
        "image_data_param { source: 'i' } transform_param { } }");
    check_upgrade(
        "layers { type: WINDOW_DATA window_data_param { mirror: false crop_mode: 'warp' } "
        "transform_param { mirror: true } }",
        "layer { type: 'WindowData' window_data_param { crop_mode: 'warp' } "
        "transform_param { mirror: false } }");
    /* Applies to V1 layers only: current layers keep their fields. */
    check_upgrade("layer { type: 'Data' data_param { scale: 2 } }",
                  "layer { type: 'Data' data_param { scale: 2 } }");
}

/* ---- V0 ------------------------------------------------------------------------------------- */

static void v0_layers_become_v2_layers(void)
{
    check_upgrade(
        "name: 'n' input: 'a' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n"
        "layers { layer { name: 'c' type: 'conv' num_output: 5 biasterm: false kernelsize: "
        "3 group: 2 stride: 4 weight_filler { type: 'xavier' } blobs_lr: [1, 2] "
        "weight_decay: 7 } bottom: 'a' top: 'b' }\n"
        "layers { layer { name: 'f' type: 'innerproduct' num_output: 9 } bottom: 'b' top: "
        "'f' }\nlayers { layer { type: 'lrn' local_size: 3 alpha: 2 beta: 1 k: 4 } }",
        "name: 'n' layer { name: 'input' type: 'Input' top: 'a' input_param { shape { dim: "
        "[1, 2, 3, 4] } } }\nlayer { name: 'c' type: 'Convolution' bottom: 'a' top: 'b' "
        "param { lr_mult: 1 decay_mult: 7 } param { lr_mult: 2 } convolution_param { "
        "num_output: 5 bias_term: false kernel_size: 3 group: 2 stride: 4 weight_filler { "
        "type: 'xavier' } } }\nlayer { name: 'f' type: 'InnerProduct' bottom: 'b' top: 'f' "
        "inner_product_param { num_output: 9 } }\nlayer { type: 'LRN' lrn_param { "
        "local_size: 3 alpha: 2 beta: 1 k: 4 } }");
}

static void every_v0_parameter_moves_to_its_field(void)
{
    static const char *const layers[][2] = {
        { "type: 'pool' pool: AVE kernelsize: 3 stride: 2 pad: 1",
          "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }" },
        { "type: 'dropout' dropout_ratio: 0.3",
          "type: 'Dropout' dropout_param { dropout_ratio: 0.3 }" },
        { "type: 'data' source: 's' batchsize: 2 rand_skip: 3 scale: 4 meanfile: 'm' cropsize: 5 "
          "mirror: true",
          "type: 'Data' data_param { source: 's' batch_size: 2 rand_skip: 3 } transform_param { "
          "scale: 4 mean_file: 'm' crop_size: 5 mirror: true }" },
        { "type: 'images' source: 's' batchsize: 2 rand_skip: 3 shuffle_images: true new_height: 4 "
          "new_width: 5",
          "type: 'ImageData' image_data_param { source: 's' batch_size: 2 rand_skip: 3 shuffle: "
          "true new_height: 4 new_width: 5 }" },
        { "type: 'hdf5_data' source: 's' batchsize: 2",
          "type: 'HDF5Data' hdf5_data_param { source: 's' batch_size: 2 }" },
        { "type: 'window_data' source: 's' batchsize: 2 det_fg_threshold: .1 det_bg_threshold: .2 "
          "det_fg_fraction: .3 det_context_pad: 4 det_crop_mode: 'square'",
          "type: 'WindowData' window_data_param { source: 's' batch_size: 2 fg_threshold: .1 "
          "bg_threshold: .2 fg_fraction: .3 context_pad: 4 crop_mode: 'square' }" },
        { "type: 'infogain_loss' source: 's'",
          "type: 'InfogainLoss' infogain_loss_param { source: 's' }" },
        { "type: 'concat' concat_dim: 2", "type: 'Concat' concat_param { concat_dim: 2 }" },
        { "type: 'hdf5_output' hdf5_output_param { file_name: 'f' }",
          "type: 'HDF5Output' hdf5_output_param { file_name: 'f' }" },
        { "type: 'innerproduct' biasterm: true bias_filler { value: 1 } weight_filler { value: 2 }",
          "type: 'InnerProduct' inner_product_param { bias_term: true bias_filler { value: 1 } "
          "weight_filler { value: 2 } }" },
        { "type: 'softmax_loss' blobs { data: 1 }", "type: 'SoftmaxWithLoss' blobs { data: 1 }" },
        { "type: 'multinomial_logistic_loss'", "type: 'MultinomialLogisticLoss'" },
        { "type: 'im2col'", "type: 'Im2col'" },
    };
    char text[512], want[512];

    for (size_t i = 0; i < FERRY_TEST_COUNT(layers); i++) {
        snprintf(text, sizeof(text), "layers { layer { %s } top: 't' }", layers[i][0]);
        snprintf(want, sizeof(want), "layer { %s top: 't' }", layers[i][1]);
        check_upgrade(text, want);
    }
}

static void padding_layers_fold_into_the_next(void)
{
    check_upgrade(
        "input: 'a'\nlayers { layer { type: 'padding' pad: 2 } bottom: 'a' top: 'p' }\n"
        "layers { layer { type: 'conv' } bottom: 'p' top: 'c' }\n"
        "layers { layer { type: 'padding' pad: 1 } bottom: 'c' top: 'p' }\n"
        "layers { layer { type: 'pool' } bottom: 'p' top: 'd' }",
        "layer { type: 'Convolution' bottom: 'a' top: 'c' convolution_param { pad: 2 } }\n"
        "layer { type: 'Pooling' bottom: 'c' top: 'd' pooling_param { pad: 1 } }");
    check_no_upgrade("NetParameter",
                     "input: 'a'\nlayers { layer { type: 'padding' } bottom: 'a' top: 'p' }\n"
                     "layers { layer { type: 'relu' } bottom: 'p' top: 'c' }",
                     "3:8: a padding layer's top is used by a layer of type \"relu\"");
    check_no_upgrade("NetParameter",
                     "input: ['a', 'b'] layers { layer { type: 'padding' } bottom: 'a' top: 'p' }\n"
                     "layers { layer { type: 'conv' } bottom: 'p' bottom: 'b' }",
                     "2:8: a layer after a padding layer must have a single bottom");
    check_no_upgrade("NetParameter", "layers { layer { type: 'relu' } bottom: 'p' }",
                     "1:41: no layer produces the bottom \"p\"");
}

static void fields_unknown_to_v0_are_reported(void)
{
    ferry_proto *p = upgraded("NetParameter", "layers { layer { type: 'relu' k: 2 stride: 3 } }");

    CU_ASSERT_EQUAL(ferry_proto_note_count(p), 7);
    check_note(p, 0, FERRY_LOG_INFO,
               "Attempting to upgrade input file specified using deprecated V0LayerParameter: "
               "t.prototxt");
    check_note(p, 1, FERRY_LOG_ERROR, "Unknown parameter stride for layer type relu");
    check_note(p, 2, FERRY_LOG_ERROR, "Unknown parameter k for layer type relu");
    check_note(p, 3, FERRY_LOG_ERROR,
               "Warning: had one or more problems upgrading V0NetParameter to NetParameter (see "
               "above); continuing anyway.");
    check_note(p, 5, FERRY_LOG_INFO,
               "Attempting to upgrade input file specified using deprecated V1LayerParameter: "
               "t.prototxt");
    check_note(p, 6, FERRY_LOG_INFO,
               "Successfully upgraded file specified using deprecated V1LayerParameter");
    ferry_proto_close(p);
    check_no_upgrade("NetParameter", "layers { layer { type: 'relus' } }",
                     "1:24: V0 does not have a layer type \"relus\"");
}

/* ---- inputs --------------------------------------------------------------------------------- */

static void inputs_become_an_input_layer(void)
{
    check_upgrade("input: 'a' input: 'b' input_dim: [1, 2, 3, 4, 5, 6, 7, 8] layer { name: 'x' }",
                  "layer { name: 'input' type: 'Input' top: ['a', 'b'] input_param { shape { dim: "
                  "[1, 2, 3, 4] } shape { dim: [5, 6, 7, 8] } } } layer { name: 'x' }");
    check_upgrade(
        "layer { name: 'x' } layer { name: 'y' } input: 'a' input_shape { dim: 1 dim: 2 }",
        "layer { name: 'input' type: 'Input' top: 'a' input_param { shape { dim: 1 dim: 2 "
        "} } } layer { name: 'x' } layer { name: 'y' }");
    check_upgrade("input: 'a' layer { name: 'x' }", "layer { name: 'x' }");
    check_no_upgrade("NetParameter", "input: 'a' input: 'b' input_dim: [1, 2, 3, 4]",
                     "1:19: 2 inputs, but only 4 times input_dim: each input needs four");
    check_no_upgrade("NetParameter", "input: 'a' input: 'b' input_shape { dim: 1 }",
                     "1:19: 2 inputs, but only 1 times input_shape");
}

static void an_upgrade_of_inputs_is_noted_as_caffe_does(void)
{
    ferry_proto *p = upgraded("NetParameter", "input: 'a'");

    CU_ASSERT_EQUAL(ferry_proto_note_count(p), 3);
    check_note(p, 0, FERRY_LOG_INFO,
               "Attempting to upgrade input file specified using deprecated input fields: "
               "t.prototxt");
    check_note(p, 1, FERRY_LOG_INFO,
               "Successfully upgraded file specified using deprecated input fields.");
    check_note(p, 2, FERRY_LOG_INFO,
               "Note that future Caffe releases will only support input layers and not input "
               "fields.");
    ferry_proto_close(p);
}

/* ---- single layers -------------------------------------------------------------------------- */

static void three_params_of_a_batch_norm_have_lr_mult_0(void)
{
    check_upgrade("layer { type: 'BatchNorm' param { lr_mult: 1 } param { name: 'n' } param { } }",
                  "layer { type: 'BatchNorm' param { lr_mult: 0 decay_mult: 0 } param { name: 'n' "
                  "lr_mult: 0 decay_mult: 0 } param { lr_mult: 0 decay_mult: 0 } }");
    check_upgrade("layer { type: 'Scale' param { } param { } param { } }",
                  "layer { type: 'Scale' param { } param { } param { } }");
}

static void ceil_mode_becomes_round_mode(void)
{
    check_upgrade("layer { pooling_param { ceil_mode: false } }",
                  "layer { pooling_param { round_mode: FLOOR } }");
    check_upgrade("layer { pooling_param { ceil_mode: true round_mode: CEIL } }",
                  "layer { pooling_param { round_mode: CEIL } }");
    check_no_upgrade("NetParameter",
                     "layer { pooling_param { round_mode: CEIL\nceil_mode: false } }",
                     "2:12: ceil_mode and round_mode contradict each other");
}

/* ---- solvers -------------------------------------------------------------------------------- */

static void solver_type_becomes_the_name_of_the_type(void)
{
    static const char *const types[][2] = {
        { "SGD", "SGD" },         { "NESTEROV", "Nesterov" }, { "ADAGRAD", "AdaGrad" },
        { "RMSPROP", "RMSProp" }, { "ADADELTA", "AdaDelta" }, { "ADAM", "Adam" },
    };
    char text[64], want[64];

    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        ferry_proto *p;

        snprintf(text, sizeof(text), "solver_type: %s base_lr: 0.1", types[i][0]);
        snprintf(want, sizeof(want), "base_lr: 0.1\ntype: \"%s\"\n", types[i][1]);
        p = upgraded("SolverParameter", text);
        check_printed(p, want);
        CU_ASSERT_EQUAL(ferry_proto_note_count(p), 3);
        ferry_proto_close(p);
    }
    check_no_upgrade("SolverParameter", "type: 'SGD' solver_type: SGD",
                     "1:26: solver_type, the old name, and type are both given");
}

/*
 * The upgrade steps one by one give the same result as all at once, and no step does the work of
 * another.
 */
static void an_upgrade_in_steps_gives_the_same_net(void)
{
    static const char text[] = "input: 'data' input_dim: 1 input_dim: 1 input_dim: 4 input_dim: 4 "
                               "layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'data' "
                               "top: 'p' } layers { layer { name: 'c' type: 'conv' num_output: 2 "
                               "kernelsize: 3 } bottom: 'p' top: 'c' }";
    ferry_proto *p = net_of(text), *all = upgraded("NetParameter", text);
    const ferry_proto *layer;
    char *wanted = printed(all);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ferry_proto_upgrade_step(p, FERRY_UPGRADE_PADDING), FERRY_OK);
    CU_ASSERT_EQUAL_FATAL(ferry_proto_value_count(p, "layers"), 1);
    layer = ferry_proto_message(p, "layers", 0);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "layer"), 1);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "bottom", 0, NULL), "data");
    CU_ASSERT_EQUAL(ferry_proto_upgrade_step(p, FERRY_UPGRADE_V0), FERRY_OK);
    layer = ferry_proto_message(p, "layers", 0);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "layer"), 0);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "convolution_param"), 1);
    for (int step = FERRY_UPGRADE_DATA; step <= FERRY_UPGRADE_BATCH_NORM; step++)
        CU_ASSERT_EQUAL(ferry_proto_upgrade_step(p, (ferry_proto_step)step), FERRY_OK);
    check_printed(p, wanted);
    CU_ASSERT_EQUAL(ferry_proto_upgrade_step(p, (ferry_proto_step)6), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_upgrade_step(NULL, FERRY_UPGRADE_V0), FERRY_EINVAL);
    free(wanted);
    ferry_proto_close(all);
    ferry_proto_close(p);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_net_in_the_current_format_is_not_changed),
    FERRY_TEST(v1_layers_become_v2_layers),
    FERRY_TEST(every_v1_type_has_a_name),
    FERRY_TEST(both_kinds_of_layers_in_one_net_are_an_error),
    FERRY_TEST(transformation_fields_move_to_transform_param),
    FERRY_TEST(v0_layers_become_v2_layers),
    FERRY_TEST(every_v0_parameter_moves_to_its_field),
    FERRY_TEST(padding_layers_fold_into_the_next),
    FERRY_TEST(fields_unknown_to_v0_are_reported),
    FERRY_TEST(inputs_become_an_input_layer),
    FERRY_TEST(an_upgrade_of_inputs_is_noted_as_caffe_does),
    FERRY_TEST(three_params_of_a_batch_norm_have_lr_mult_0),
    FERRY_TEST(ceil_mode_becomes_round_mode),
    FERRY_TEST(solver_type_becomes_the_name_of_the_type),
    FERRY_TEST(an_upgrade_in_steps_gives_the_same_net),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-upgrade", cases, FERRY_TEST_COUNT(cases));
}

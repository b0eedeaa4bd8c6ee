/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto-text.h"

#include <ferry/proto_edit.h>

/* Changes of nets: shapes of inputs, the parts before and after a layer, folding, and the V1
 * form. */

/* Checks that `net` has the tree of the text `want`, regardless of the order of its fields. */
static void check_net(const ferry_proto *net, const char *want)
{
    ferry_proto *wanted = net_of(want);
    char *text = printed(wanted);

    check_printed(net, text);
    free(text);
    ferry_proto_close(wanted);
}

static void check_error(int err, int code, const char *says)
{
    CU_ASSERT_EQUAL(err, code);
    if (err != code || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another code or message");
        printf("  wanted %d \"%s\", got %d \"%s\"\n", code, says, err, ferry_last_error());
    }
}

/* ---- shapes of inputs ----------------------------------------------------------------------- */

static const int64_t dims[] = { 7, 8, 9 };

static void check_shape(const char *text, const char *input, int rank, const char *want)
{
    ferry_proto *net = net_of(text);

    CU_ASSERT_EQUAL(ferry_proto_set_input_shape(net, input, dims, rank), FERRY_OK);
    check_net(net, want);
    ferry_proto_close(net);
}

static void a_single_input_needs_no_name(void)
{
    static const char text[] = "layer { type: 'Input' top: 'x' input_param { shape { dim: 1 } } } "
                               "layer { type: 'ReLU' bottom: 'x' top: 'y' }";

    check_shape(text, NULL, 3,
                "layer { type: 'Input' top: 'x' input_param { shape { dim: [7, 8, 9] } } } "
                "layer { type: 'ReLU' bottom: 'x' top: 'y' }");
    check_shape(text, "x", 0,
                "layer { type: 'Input' top: 'x' input_param { shape { } } } "
                "layer { type: 'ReLU' bottom: 'x' top: 'y' }");
    check_shape("layer { type: 'Input' top: 'x' }", "x", 1,
                "layer { type: 'Input' top: 'x' input_param { shape { dim: 7 } } }");
}

static void changing_a_shared_shape_keeps_that_of_the_other_tops(void)
{
    check_shape("layer { type: 'Input' top: 'x' top: 'y' top: 'z' "
                "input_param { shape { dim: [1, 2] } } }",
                "y", 2,
                "layer { type: 'Input' top: 'x' top: 'y' top: 'z' input_param { "
                "shape { dim: [1, 2] } shape { dim: [7, 8] } shape { dim: [1, 2] } } }");
    check_shape("layer { type: 'Input' top: 'x' top: 'y' "
                "input_param { shape { dim: [1, 2] } } }",
                "x", 1,
                "layer { type: 'Input' top: 'x' top: 'y' input_param { "
                "shape { dim: 7 } shape { dim: [1, 2] } } }");
}

static void check_no_shape(const char *text, const char *input, const int64_t *shape, int rank,
                           int code, const char *says)
{
    ferry_proto *net = net_of(text);

    check_error(ferry_proto_set_input_shape(net, input, shape, rank), code, says);
    ferry_proto_close(net);
}

static void a_shape_that_cannot_be_set_is_an_error(void)
{
    static const char one[] = "layer { type: 'Input' top: 'x' input_param { shape { dim: 1 } } }";
    static const char two[] = "layer { type: 'Input' top: 'x' top: 'y' }";
    static const int64_t negative[] = { -1 }, large[] = { (int64_t)1 << 31 };

    check_no_shape(one, "y", dims, 3, FERRY_EINVAL,
                   "no input is named \"y\"; the inputs are \"x\"");
    check_no_shape(two, NULL, dims, 3, FERRY_EINVAL, "several inputs: \"x\", \"y\"");
    check_no_shape(two, "y", dims, 3, FERRY_EFORMAT, "t.prototxt:1:7: Input layer \"\" has 2 tops");
    check_no_shape("layer { type: 'ReLU' bottom: 'x' top: 'x' }", NULL, dims, 3, FERRY_EINVAL,
                   "no Input layer");
    check_no_shape("layer { type: 'Input' top: 'x' } layer { type: 'Input' top: 'x' }", "x", dims,
                   3, FERRY_EINVAL, "2 Input layers make \"x\"");
    check_no_shape(one, "x", negative, 1, FERRY_EINVAL, "dim -1");
    check_no_shape(one, "x", large, 1, FERRY_EINVAL, "dim 2147483648");
    check_no_shape(one, "x", dims, 33, FERRY_EINVAL, "not 33");
    check_no_shape(one, "x", NULL, 1, FERRY_EINVAL, "shape is NULL, rank is 1");
    check_no_shape("layers { type: RELU }", "x", dims, 3, FERRY_EFORMAT, "current form");
    check_no_shape("input: 'x' input_dim: [1, 2, 3, 4]", "x", dims, 3, FERRY_EFORMAT,
                   "current form");
    check_error(ferry_proto_set_input_shape(NULL, "x", dims, 3), FERRY_EINVAL, "NULL is not a net");
}

/* ---- parts ---------------------------------------------------------------------------------- */

#define IN \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 } } } "
#define A              "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' } "
#define IN_Y           "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' } "
#define B              "layer { name: 'b' type: 'Eltwise' bottom: 'y' bottom: 'x' top: 'z' } "
#define C              "layer { name: 'c' type: 'Concat' bottom: 'z' bottom: 'y' bottom: 'x' } "
#define NEW(name, top) "layer { name: '" name "' type: 'Input' top: '" top "' input_param { } } "

static void check_part(const char *text, const char *layer, ferry_proto_part part, const char *want)
{
    ferry_proto *net = net_of(text);

    CU_ASSERT_EQUAL(ferry_proto_keep_part(net, layer, part), FERRY_OK);
    check_net(net, want);
    ferry_proto_close(net);
}

static void a_net_is_cut_before_a_layer(void)
{
    static const char text[] = "name: 'n' force_backward: true " IN A IN_Y B C;

    check_part(text, "b", FERRY_PROTO_BEFORE, "name: 'n' force_backward: true " IN A IN_Y);
    check_part(text, "b", FERRY_PROTO_FROM,
               "name: 'n' force_backward: true " NEW("input_y", "y") NEW("input_x", "x") B C);
    check_part(text, "c", FERRY_PROTO_FROM,
               "name: 'n' force_backward: true " NEW("input_z", "z") NEW("input_y", "y")
                   NEW("input_x", "x") C);
}

static void a_blob_changed_in_place_becomes_one_input_of_the_second_part(void)
{
    check_part(IN A IN_Y B, "r", FERRY_PROTO_BEFORE, IN A);
    check_part(IN A IN_Y B, "r", FERRY_PROTO_FROM, NEW("input_y", "y") NEW("input_x", "x") IN_Y B);
}

static void a_blob_that_no_layer_makes_gets_no_input(void)
{
    check_part(IN A "layer { name: 'l' bottom: 'nothing' bottom: 'y' }", "l", FERRY_PROTO_FROM,
               NEW("input_y", "y") "layer { name: 'l' bottom: 'nothing' bottom: 'y' }");
}

/* Both layers make x, in different phases; a consumer reads the x of its own part. */
static void a_blob_that_the_part_makes_gets_no_input(void)
{
    static const char d[] = "layer { name: 'd' type: 'DummyData' top: 'x' "
                            "include { phase: TEST } } ";
    char text[1024], want[1024];

    snprintf(text, sizeof(text), "%s%s%s", IN, d, A);
    snprintf(want, sizeof(want), "%s%s", d, A);
    check_part(text, "d", FERRY_PROTO_FROM, want);
}

/* Weights are loaded by layer name: an Input layer must not have the name of a layer with some. */
static void new_inputs_have_unique_names(void)
{
    static const char other[] = "layer { name: 'input_y' type: 'ReLU' bottom: 'x' top: 'w' } ";
    char text[1024];

    snprintf(text, sizeof(text), "%s%s%s%s", IN, A, other, IN_Y);
    check_part(text, "r", FERRY_PROTO_FROM, NEW("input_input_y", "y") IN_Y);
}

static void check_no_part(const char *layer, ferry_proto_part part, const char *says)
{
    ferry_proto *net = net_of(IN A);

    check_error(ferry_proto_keep_part(net, layer, part), FERRY_EINVAL, says);
    ferry_proto_close(net);
}

static void a_net_that_cannot_be_cut_is_an_error(void)
{
    check_no_part("q", FERRY_PROTO_BEFORE, "t.prototxt: no layer is named \"q\"");
    check_no_part("in", FERRY_PROTO_FROM, "t.prototxt:1:15: \"in\" is the first layer");
    check_no_part("a", (ferry_proto_part)2, "no such part");
    check_no_part(NULL, FERRY_PROTO_FROM, "layer is NULL");
    check_error(ferry_proto_keep_part(NULL, "a", FERRY_PROTO_FROM), FERRY_EINVAL, "not a net");
}

/* ---- V1 ------------------------------------------------------------------------------------- */

static void check_v1(const char *text, const char *want)
{
    ferry_proto *net = net_of(text);

    CU_ASSERT_EQUAL(ferry_proto_downgrade(net), FERRY_OK);
    check_net(net, want);
    ferry_proto_close(net);
}

static void layers_and_their_params_become_v1(void)
{
    check_v1("name: 'n' layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
             "param { lr_mult: 2 } param { decay_mult: 0 name: 'b' } param { } "
             "convolution_param { num_output: 3 } include { phase: TEST } loss_weight: 0.5 "
             "blobs { num: 1 data: 2 } } layer { name: 'l' type: 'SoftmaxWithLoss' } layer { }",
             "name: 'n' layers { name: 'c' type: CONVOLUTION bottom: 'x' top: 'y' blobs_lr: 2 "
             "weight_decay: [1, 0] param: '' param: 'b' convolution_param { num_output: 3 } "
             "include { phase: TEST } loss_weight: 0.5 blobs { num: 1 data: 2 } } "
             "layers { name: 'l' type: SOFTMAX_LOSS } layers { }");
    check_v1("layer { type: 'ReLU' param { } param { share_mode: PERMISSIVE } }",
             "layers { type: RELU blob_share_mode: [STRICT, PERMISSIVE] }");
}

static void inputs_become_fields_of_the_net(void)
{
    check_v1(
        "layer { type: 'Input' top: 'x' top: 'y' input_param { shape { dim: [1, 2, 3, 4] } } }",
        "input: 'x' input: 'y' input_dim: [1, 2, 3, 4, 1, 2, 3, 4]");
    check_v1("layer { type: 'Input' top: 'x' input_param { shape { dim: [1, 2, 3, 4] } } } "
             "layer { type: 'Input' top: 'y' input_param { shape { dim: 5 } } }",
             "input: 'x' input: 'y' input_shape { dim: [1, 2, 3, 4] } input_shape { dim: 5 }");
}

/* Upgrading the V1 form gives the net again. */
static void conversion_to_v1_and_back_gives_the_same_net(void)
{
    static const char text[] =
        "layer { name: 'input' type: 'Input' top: 'x' input_param { shape { dim: [1, 2, 3, 4] } } "
        "} "
        "layer { name: 'i' type: 'InnerProduct' bottom: 'x' top: 'y' param { lr_mult: 1 "
        "decay_mult: 3 } param { lr_mult: 2 } inner_product_param { num_output: 9 } }";
    ferry_proto *net = net_of(text);

    CU_ASSERT_EQUAL(ferry_proto_downgrade(net), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_proto_value_count(net, "layers"), 1);
    CU_ASSERT_EQUAL(ferry_proto_upgrade(net), FERRY_OK);
    check_net(net, text);
    ferry_proto_close(net);
}

static void check_no_v1(const char *text, int code, const char *says)
{
    ferry_proto *net = net_of(text);

    check_error(ferry_proto_downgrade(net), code, says);
    ferry_proto_close(net);
}

static void a_net_without_a_v1_form_is_an_error(void)
{
    check_no_v1("layer { name: 's' type: 'Scale' }", FERRY_EUNSUPPORTED,
                "t.prototxt:1:25: layer \"s\": V1 has no layers of type Scale");
    check_no_v1("layer { name: 's' type: 'ReLU' propagate_down: true }", FERRY_EUNSUPPORTED,
                "1:48: layer \"s\": V1 layers have no field propagate_down");
    check_no_v1("layer { type: 'ReLU' phase: TEST }", FERRY_EUNSUPPORTED, "no field phase");
    check_no_v1("layer { type: 'ReLU' my_own: 3 }", FERRY_EUNSUPPORTED, "no field my_own");
    check_no_v1("layer { type: 'ReLU' param { my_own: 3 } }", FERRY_EUNSUPPORTED,
                "no field my_own of params");
    check_no_v1("layer { type: 'NONE' }", FERRY_EUNSUPPORTED, "type NONE");
    check_no_v1("layer { name: 'i' type: 'Input' top: 'x' }", FERRY_EFORMAT, "1 tops and 0 shapes");
    check_no_v1("layer { name: 'i' type: 'Input' top: 'x' input_param { shape { } } "
                "include { phase: TEST } }",
                FERRY_EUNSUPPORTED, "inputs of V1 have no rules");
    check_error(ferry_proto_downgrade(NULL), FERRY_EINVAL, "not a net");
}

/* Caffe adds the phase to each layer of a file with weights. */
static void the_phase_in_a_binary_file_is_omitted(void)
{
    ferry_proto *text = net_of("layer { type: 'ReLU' phase: TEST }"), *net;
    char bytes[64];
    size_t size = 0;

    CU_ASSERT_EQUAL(ferry_proto_serialize(text, bytes, sizeof(bytes), &size), FERRY_OK);
    net = proto_of("NetParameter", bytes, size);
    CU_ASSERT_EQUAL(ferry_proto_downgrade(net), FERRY_OK);
    check_net(net, "layers { type: RELU }");
    ferry_proto_close(net);
    ferry_proto_close(text);
}

/* ---- folding -------------------------------------------------------------------------------- */

static int answer; /* of `take` */
static char taken[64];

static int take(void *arg, const ferry_proto *into, const ferry_proto *layer)
{
    size_t used = strlen(taken);

    CU_ASSERT_PTR_EQUAL(arg, taken);
    snprintf(taken + used, sizeof(taken) - used, "%s<%s ",
             ferry_proto_string(into, "name", 0, NULL),
             ferry_proto_string(layer, "name", 0, NULL));
    return answer;
}

/* Folds whatever can be folded; `calls` are the layers that were offered. */
static void check_folded(const char *text, int answers, const char *calls, const char *want)
{
    ferry_proto *net = net_of(text);

    answer = answers;
    *taken = '\0';
    CU_ASSERT_EQUAL(ferry_proto_fold(net, take, taken), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(taken, calls);
    check_net(net, want);
    ferry_proto_close(net);
}

static void affine_layers_are_folded_into_the_layer_before(void)
{
    check_folded("layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
                 "convolution_param { num_output: 2 bias_term: false } } "
                 "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'c' } "
                 "layer { name: 's' type: 'Scale' bottom: 'c' top: 'y' } "
                 "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' } "
                 "layer { name: 't' type: 'Bias' bottom: 'y' top: 'z' }",
                 1, "c<b c<s ",
                 "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
                 "convolution_param { num_output: 2 } } "
                 "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' } "
                 "layer { name: 't' type: 'Bias' bottom: 'y' top: 'z' }");
}

static void a_layer_that_the_caller_declines_is_kept(void)
{
    static const char text[] = "layer { name: 'p' type: 'InnerProduct' bottom: 'x' top: 'p' } "
                               "layer { name: 's' type: 'Scale' bottom: 'p' top: 'p' }";
    ferry_proto *net = net_of(text);

    check_folded(text, 0, "p<s ", text);
    answer = FERRY_EBUSY;
    CU_ASSERT_EQUAL(ferry_proto_fold(net, take, taken), FERRY_EBUSY);
    check_error(ferry_proto_fold(net, NULL, NULL), FERRY_EINVAL, "fold is NULL");
    check_error(ferry_proto_fold(NULL, take, NULL), FERRY_EINVAL, "not a net");
    ferry_proto_close(net);
}

#define CONV(more) "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' " more "} "
#define NORM(more) "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'y' " more "} "
#define READ       "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'z' } "

static void a_layer_that_cannot_be_folded_is_kept(void)
{
    static const char *const nets[] = {
        CONV("") NORM("include { phase: TEST } "),
        CONV("exclude { phase: TRAIN } ") NORM(""),
        CONV("param { name: 'shared' } ") NORM(""),
        CONV("") NORM("param { name: 'shared' } "),
        CONV("loss_weight: 1 ") NORM(""),
        CONV("bottom: 'x2' top: 'c2' ") NORM(""),
        CONV("convolution_param { axis: 2 } ") NORM(""),
        CONV("") NORM("batch_norm_param { use_global_stats: false } "),
        CONV("") NORM("batch_norm_param { scale_bias: true } "),
        CONV("") READ NORM(""),
        CONV("") NORM("") READ,
        CONV("") "layer { name: 's' type: 'Scale' bottom: 'c' bottom: 'f' top: 'c' }",
        CONV("") "layer { name: 's' type: 'Scale' bottom: 'c' top: 'c' scale_param { axis: 0 } }",
        CONV("") "layer { name: 's' type: 'Bias' bottom: 'c' top: 'c' bias_param { num_axes: 2 } }",
        CONV("") "layer { name: 'q' type: 'ReLU' bottom: 'y' top: 'q' } " NORM(""),
        "layer { name: 'c' type: 'Pooling' bottom: 'x' top: 'c' } " NORM(""),
        NORM(""),
    };

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        check_folded(nets[i], 1, "", nets[i]);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_single_input_needs_no_name),
    FERRY_TEST(changing_a_shared_shape_keeps_that_of_the_other_tops),
    FERRY_TEST(a_shape_that_cannot_be_set_is_an_error),
    FERRY_TEST(a_net_is_cut_before_a_layer),
    FERRY_TEST(a_blob_changed_in_place_becomes_one_input_of_the_second_part),
    FERRY_TEST(a_blob_that_no_layer_makes_gets_no_input),
    FERRY_TEST(a_blob_that_the_part_makes_gets_no_input),
    FERRY_TEST(new_inputs_have_unique_names),
    FERRY_TEST(a_net_that_cannot_be_cut_is_an_error),
    FERRY_TEST(layers_and_their_params_become_v1),
    FERRY_TEST(inputs_become_fields_of_the_net),
    FERRY_TEST(conversion_to_v1_and_back_gives_the_same_net),
    FERRY_TEST(a_net_without_a_v1_form_is_an_error),
    FERRY_TEST(the_phase_in_a_binary_file_is_omitted),
    FERRY_TEST(affine_layers_are_folded_into_the_layer_before),
    FERRY_TEST(a_layer_that_the_caller_declines_is_kept),
    FERRY_TEST(a_layer_that_cannot_be_folded_is_kept),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-edit", cases, FERRY_TEST_COUNT(cases));
}

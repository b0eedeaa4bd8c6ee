/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/net.h>
#include <ferry/op.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * Layer types of a program that break the rules of layer.h: each gives one error that names file,
 * line and layer, and what the type did.
 */

#define EARLIER "an unrelated failure"

#define TYPE(variable, type_name, ...)                                         \
    static const ferry_layer_type variable = { .struct_size = sizeof variable, \
                                               .name = type_name,              \
                                               .min_bottoms = 1,               \
                                               .max_bottoms = 1,               \
                                               .min_tops = 1,                  \
                                               .max_tops = 1,                  \
                                               __VA_ARGS__ }

/* The result of the next call of a type's function, and whether it records a message. */
static int result;
static bool speaks;

static int like_bottom(ferry_layer *l)
{
    return ferry_blob_reshape_like(ferry_layer_top_at(l, 0), ferry_layer_bottom_at(l, 0));
}

static int answer(ferry_layer *l)
{
    if (speaks)
        ferry_layer_error(l, result, "its own words");
    return result;
}

static int reshape_and_answer(ferry_layer *l)
{
    int err = like_bottom(l);

    return err ? err : answer(l);
}

/* Writes the top and answers. */
static int fill(ferry_layer *l)
{
    float *y = ferry_blob_overwrite_host_data(ferry_layer_top_at(l, 0));

    for (int64_t i = 0; y && i < ferry_blob_element_count(ferry_layer_top_at(l, 0)); i++)
        y[i] = 1;
    return answer(l);
}

static int emit_null(ferry_layer *l)
{
    ferry_op_desc op;
    int err = like_bottom(l);

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    ferry_layer_operand_of(ferry_layer_bottom_at(l, 0), &op.in[0]);
    op.out[0] = op.in[0];
    FX_FAILS(FERRY_EINVAL, ferry_layer_emit(NULL, &op, NULL, NULL));
    return err ? err : ferry_layer_emit(l, &op, NULL, NULL);
}

static int alias_far(ferry_layer *l)
{
    FX_FAILS(FERRY_EINVAL, ferry_layer_alias(NULL, 0, 0));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_layer_alias: layer is NULL");
    return ferry_layer_alias(l, 0, 3);
}

TYPE(by_setup, "TSetup", .setup = answer, .reshape = like_bottom, .forward = fill);
TYPE(by_reshape, "TReshape", .reshape = reshape_and_answer, .forward = fill);
TYPE(by_forward, "TForward", .reshape = like_bottom, .forward = fill);
TYPE(by_backward, "TBackward", .reshape = like_bottom, .forward = fill, .backward = answer);
TYPE(by_prepare, "TPrepare", .reshape = like_bottom, .prepare = answer, .forward = fill);
TYPE(emits_null, "TEmitNull", .reshape = emit_null);
TYPE(aliases_far, "TAliasFar", .reshape = alias_far);
TYPE(computes_nothing, "TNothing", .reshape = like_bottom);
TYPE(computes_in_place, "TInPlace", .reshape = like_bottom, .flags = FERRY_LAYER_IN_PLACE);

static int open_type(const ferry_layer_type *type, const char *top, ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o, .phase = FERRY_PHASE_TRAIN };
    char text[512];

    FX_OK(ferry_layer_register(type));
    snprintf(text, sizeof text,
             "name: 'n' force_backward: true\n"
             "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }\n"
             "layer { name: 'l' type: '%s' bottom: 'x' top: '%s' }\n",
             type->name, top);
    o.text = text;
    o.text_size = strlen(text);
    *out = NULL;
    ferry_error_set(FERRY_EBUSY, EARLIER);
    return ferry_net_open(fx_device(), "t.prototxt", &o, out);
}

/* Whether the latest failure names file, line, layer and type, and contains the text. */
static bool tells(const ferry_layer_type *type, const char *text)
{
    char place[64];
    bool good;

    snprintf(place, sizeof place, "t.prototxt:3:7: layer \"l\" (%s): ", type->name);
    good = !strncmp(ferry_last_error(), place, strlen(place)) && strstr(ferry_last_error(), text);
    if (!good)
        printf("     %s\n", ferry_last_error());
    return good;
}

/* Opens a net and runs it forward and backward; *out is closed by this function. */
static int run_all(const ferry_layer_type *type, int wanted, bool with_message)
{
    ferry_net *net = NULL;
    int err;

    result = type == &by_setup || type == &by_reshape ? wanted : 0;
    speaks = result && with_message;
    err = open_type(type, "y", &net);
    result = wanted;
    speaks = with_message;
    if (!err)
        err = ferry_blob_fill_data(ferry_net_input_at(net, 0), 1);
    if (type == &by_backward)
        result = 0;
    if (!err)
        err = ferry_net_forward(net, NULL);
    if (!err)
        err = ferry_blob_fill_diff(ferry_net_output_at(net, 0), 1);
    result = wanted;
    if (!err)
        err = ferry_net_backward(net);
    ferry_net_close(net);
    fx_end();
    return err;
}

static const ferry_layer_type *const answering[] = { &by_setup, &by_reshape, &by_forward,
                                                     &by_backward, &by_prepare };
static const char *const functions[] = { "setup", "reshape", "forward", "backward", "prepare" };

static void a_result_that_is_no_code_is_an_error_with_the_number(void)
{
    static const int wrong[] = { 3, -18, -777, INT32_MIN };
    char text[96];

    for (size_t i = 0; i < FERRY_TEST_COUNT(answering); i++)
        for (size_t k = 0; k < FERRY_TEST_COUNT(wrong); k++) {
            snprintf(text, sizeof text, "%s returned %d, which is not a code", functions[i],
                     wrong[k]);
            CU_ASSERT_EQUAL(run_all(answering[i], wrong[k], false), FERRY_EPLUGIN);
            CU_ASSERT(tells(answering[i], text));
            CU_ASSERT_PTR_NULL(strstr(ferry_last_error(), EARLIER));
        }
}

static void a_failure_without_a_message_does_not_get_that_of_an_earlier_one(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(answering); i++) {
        CU_ASSERT_EQUAL(run_all(answering[i], FERRY_EUNSUPPORTED, false), FERRY_EUNSUPPORTED);
        CU_ASSERT(tells(answering[i], "failed without a message: not supported"));
        CU_ASSERT_PTR_NULL(strstr(ferry_last_error(), EARLIER));
        CU_ASSERT_EQUAL(run_all(answering[i], FERRY_EUNSUPPORTED, true), FERRY_EUNSUPPORTED);
        CU_ASSERT(tells(answering[i], "its own words"));
    }
}

static void a_success_leaves_the_latest_failure(void)
{
    ferry_net *net = NULL;

    result = 0;
    FX_OK(open_type(&by_forward, "y", &net));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EBUSY);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), EARLIER);
    FX_OK(ferry_blob_fill_data(ferry_net_input_at(net, 0), 1));
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EBUSY);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), EARLIER);
    ferry_net_close(net);
    fx_end();
}

static void null_operands_are_an_error(void)
{
    ferry_net *net;

    FX_FAILS(FERRY_EINVAL, open_type(&emits_null, "y", &net));
    CU_ASSERT(tells(&emits_null, "ferry_layer_emit: in is NULL"));
    FX_FAILS(FERRY_EINVAL, open_type(&aliases_far, "y", &net));
    CU_ASSERT(tells(&aliases_far, "ferry_layer_alias: top 0 of 1, bottom 3 of 1"));
    fx_end();
}

static void a_top_that_nothing_computes_is_an_error(void)
{
    ferry_net *net;

    FX_FAILS(FERRY_EPLUGIN, open_type(&computes_nothing, "y", &net));
    CU_ASSERT_PTR_NULL(net);
    CU_ASSERT(tells(&computes_nothing, "nothing computes top 0"));
    FX_OK(open_type(&computes_in_place, "x", &net)); /* the bottom's contents are the top's */
    ferry_net_close(net);
    fx_end();
}

static void a_type_that_cannot_be_used_is_refused(void)
{
    static const struct {
        ferry_layer_type type;
        const char *says;
    } bad[] = {
#define BAD(says, ...) \
    { { .struct_size = sizeof(ferry_layer_type), .reshape = like_bottom, __VA_ARGS__ }, says }
        BAD("without struct_size, name or reshape", .max_tops = 1),
        BAD("type \"TBad\" has unknown flags", .name = "TBad", .flags = 1u << 31),
        BAD("type \"TBad\" has unknown flags", .name = "TBad", .flags = ~0u),
        BAD("a state_size", .name = "TBad", .state_size = SIZE_MAX),
        BAD("a state_size", .name = "TBad", .state_size = SIZE_MAX - 1),
        BAD("min_tops and max_tops", .name = "TBad", .min_tops = 9, .max_tops = 2),
        BAD("min_bottoms and max_bottoms", .name = "TBad", .min_bottoms = 2, .max_bottoms = 1),
        BAD("min_bottoms and max_bottoms", .name = "TBad", .max_bottoms = -2),
        BAD("for more than 8 tops", .name = "TBad", .flags = FERRY_LAYER_AUTO_TOPS, .min_tops = 9,
            .max_tops = -1),
#undef BAD
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(bad); i++) {
        FX_FAILS(FERRY_EINVAL, ferry_layer_register(&bad[i].type));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), bad[i].says));
        CU_ASSERT_PTR_NULL(ferry_layer_type_find("TBad"));
    }
}

/* Failures of ferry's own layers, whose messages have no position of their own. */
static void a_shape_that_overflows_names_file_line_and_layer(void)
{
    static const char text[] =
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2147483647 } } "
        "}\n"
        "layer { name: 't' type: 'Tile' bottom: 'x' top: 'y' tile_param { axis: 0 tiles: "
        "2147483647 "
        "} }\n";
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    CU_ASSERT_NOT_EQUAL(ferry_net_open(fx_device(), "t.prototxt", &o, &net), 0);
    CU_ASSERT_PTR_NULL(net);
    if (!strstr(ferry_last_error(), "t.prototxt:2:7: layer \"t\" (Tile): "))
        CU_FAIL("the message lacks the position");
    fx_end();
}

/* A pass of a size that no device has: the message names the layer, or the net. */
static void a_pass_without_memory_names_layer_or_net(void)
{
    static const char text[] =
        "name: 'large'\n"
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 65536 dim: 4 } } }\n"
        "layer { name: 'a' type: 'TanH' bottom: 'x' top: 'a' }\n"
        "layer { name: 'b' type: 'Tile' bottom: 'a' top: 'b' tile_param { tiles: 1073741824 } }\n"
        "layer { name: 'c' type: 'TanH' bottom: 'b' top: 'c' }\n"
        "layer { name: 'd' type: 'Reduction' bottom: 'c' top: 'd' reduction_param { axis: 1 } }\n";
    static const ferry_net_options kinds[] = {
        { .struct_size = sizeof kinds[0] },
        { .struct_size = sizeof kinds[0], .no_plan = true },
        { .struct_size = sizeof kinds[0], .phase = FERRY_PHASE_TRAIN },
        { .struct_size = sizeof kinds[0], .phase = FERRY_PHASE_TRAIN, .plan_training = true },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(kinds); i++) {
        ferry_net_options o = kinds[i];
        ferry_net *net = NULL;

        o.text = text;
        o.text_size = strlen(text);
        FX_OK_FATAL(ferry_net_open(fx_device(), "t.prototxt", &o, &net));
        for (int k = 0; k < 2; k++) {
            FX_OK(ferry_blob_fill_data(ferry_net_input_at(net, 0), 1));
            CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_ENOMEM);
            if (strncmp(ferry_last_error(), "t.prototxt:", 11) ||
                (!strstr(ferry_last_error(), "layer \"") && !strstr(ferry_last_error(), "net \"l")))
                CU_FAIL("the message names neither a layer nor the net");
        }
        ferry_net_close(net);
        fx_end();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_result_that_is_no_code_is_an_error_with_the_number),
    FERRY_TEST(a_failure_without_a_message_does_not_get_that_of_an_earlier_one),
    FERRY_TEST(a_success_leaves_the_latest_failure),
    FERRY_TEST(null_operands_are_an_error),
    FERRY_TEST(a_top_that_nothing_computes_is_an_error),
    FERRY_TEST(a_type_that_cannot_be_used_is_refused),
    FERRY_TEST(a_shape_that_overflows_names_file_line_and_layer),
    FERRY_TEST(a_pass_without_memory_names_layer_or_net),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer type", cases, FERRY_TEST_COUNT(cases));
}

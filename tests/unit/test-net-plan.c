/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "net-data.h"

#include "net/ir/program.h"

#include <ferry/op.h>
#include <ferry/op_types.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The memory plan of a program's values: which values share memory, how much memory there is, and
 * the layout of each value.
 */

#define INPUT                                                                                \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 8 dim: 16 " \
    "dim: 16 } } }\n"

static ferry_net *open_text(const char *text, const char *place)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.place = place;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void add(char *text, size_t size, const char *fmt, int a, int b)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, fmt, a, b);
}

/* Blocks of a residual net: two convolutions plus their input. */
static char *residual(int blocks)
{
    size_t size = 4096 + (size_t)blocks * 1024;
    char *text = calloc(1, size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    strcat(text, INPUT);
    add(text, size,
        "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 's0' convolution_param { "
        "num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n",
        0, 0);
    for (int i = 0; i < blocks; i++) {
        add(text, size, "layer { name: 'a%d' type: 'Convolution' bottom: 's%d' top: ", i, i);
        add(text, size,
            "'a%d' convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "
            "'xavier' } } }\n layer { name: 'r%d' type: 'ReLU' ",
            i, i);
        add(text, size, "bottom: 'a%d' top: 'a%d' }\n", i, i);
        add(text, size, "layer { name: 'b%d' type: 'Convolution' bottom: 'a%d' top: ", i, i);
        add(text, size,
            "'b%d' convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "
            "'xavier' } } }\n layer { name: 'e%d' type: 'Eltwise' ",
            i, i);
        add(text, size, "bottom: 's%d' bottom: 'b%d' ", i, i);
        add(text, size, "top: 's%d' }\n", i + 1, 0);
    }
    add(text, size,
        "layer { name: 'p' type: 'Pooling' bottom: 's%d' top: 'y' pooling_param { pool: AVE "
        "global_pooling: true } }\n",
        blocks, 0);
    return text;
}

static uint64_t bytes(const struct ferry__value *v)
{
    return (uint64_t)v->count * 4;
}

/* The bytes of activations, and the bytes of all blobs that are not aliases. */
static double ratio(const ferry_net *net)
{
    double taken = 0, all = 0;

    for (int i = 0; i < net->n_blobs; i++)
        if (net->blobs[i].alias < 0)
            all += (double)ferry_blob_element_count(net->blobs[i].blob) * 4;
    for (int i = 0; i < net->n_arenas; i++)
        taken += (double)ferry_memory_size(net->arenas[i].memory);
    for (int i = 0; i < net->stage_count; i++)
        for (int k = 0; k < net->stages[i].now->n_values; k++)
            if (net->stages[i].now->values[k].own)
                taken += (double)bytes(&net->stages[i].now->values[k]);
    return taken / all;
}

static bool is_placed(const struct ferry__value *v)
{
    return v->within < 0 && !v->own && v->end >= v->first;
}

static bool live_together(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->device == b->device && a->first <= b->end && b->first <= a->end;
}

static int collisions(const ferry_net *net)
{
    int n = 0;

    for (int s = 0; s < net->stage_count; s++) {
        const struct ferry__program *p = net->stages[s].now;

        for (int i = 0; i < p->n_values; i++)
            for (int k = 0; k < i; k++) {
                const struct ferry__value *a = &p->values[i], *b = &p->values[k];

                n += is_placed(a) && is_placed(b) && live_together(a, b) &&
                     a->offset < b->offset + bytes(b) && b->offset < a->offset + bytes(a);
            }
    }
    return n;
}

static void blobs_with_disjoint_lifetimes_share_memory(void)
{
    char *text = residual(12);
    ferry_net *net = open_text(text, NULL);

    FX_OK(ferry_net_forward(net, NULL));
    printf("     residual: %.3f of all blobs\n", ratio(net));
    CU_ASSERT(ratio(net) < 0.2);
    CU_ASSERT_EQUAL(collisions(net), 0);
    ferry_net_close(net);
    free(text);
    fx_end();
}

/* The number of values that are live at the same time; each has two pages. */
static void values_of_whole_pages_start_at_different_offsets_in_a_page(void)
{
    char *text = residual(2);
    ferry_net *net = open_text(text, NULL);
    const struct ferry__program *p = net->stages[0].now;
    int together = 0, alike = 0;

    for (int i = 0; i < p->n_values; i++)
        for (int k = 0; k < i; k++) {
            const struct ferry__value *a = &p->values[i], *b = &p->values[k];
            bool both = is_placed(a) && is_placed(b) && live_together(a, b) && bytes(a) == 8192 &&
                        bytes(b) == 8192;

            together += both;
            alike += both && (a->offset - b->offset) % 4096 == 0;
        }
    CU_ASSERT(together > 0);
    CU_ASSERT_EQUAL(alike, 0);
    ferry_net_close(net);
    free(text);
    fx_end();
}

static void plans_of_real_nets_use_at_most_35_percent_of_the_memory(void)
{
    static const struct {
        const char *path;
        double most;
    } nets[] = { { "nets/squeezenet_dc/SqueezeNet_deploy.prototxt", 0.35 },
                 { "nets/prototxt/resnet50.prototxt", 0.35 } };

    for (size_t i = 0; i < FERRY_TEST_COUNT(nets); i++) {
        const char *path = ferry_test_data(nets[i].path);
        ferry_net *net = NULL;

        if (!path)
            return;
        FX_OK(ferry_net_open(fx_device(), path, NULL, &net));
        CU_ASSERT_PTR_NOT_NULL_FATAL(net);
        printf("     %s: %.3f of all blobs\n", strrchr(path, '/') + 1, ratio(net));
        CU_ASSERT(ratio(net) <= nets[i].most);
        CU_ASSERT_EQUAL(collisions(net), 0);
        ferry_net_close(net);
        fx_end();
    }
}

/* ---- layouts --------------------------------------------------------------------------------- */

static const char fire[] = INPUT
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: 6 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' convolution_param { num_output: 6 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'o' type: 'Concat' bottom: 'b' bottom: 'c' top: 'o' }\n"
    "layer { name: 'd' type: 'Convolution' bottom: 'o' top: 'y' convolution_param { num_output: 2 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n";

static bool likes_last(void)
{
    return !strcmp(ferry_test_backend(), "cpu");
}

static void channels_last_concatenations_are_written_in_place(void)
{
    ferry_net *net = open_text(fire, NULL);
    const struct ferry__program *p = net->stages[0].now;
    int copies = 0, borders = 0, last = 0, within = 0;

    for (int i = 0; i < p->n_items; i++)
        if (!p->items[i].dropped && p->items[i].op.kind == FERRY_OP_STRIDED_COPY)
            *(p->items[i].border ? &borders : &copies) += 1;
    for (int i = 0; i < p->n_values; i++) {
        last += p->values[i].last;
        within += p->values[i].within >= 0;
    }
    CU_ASSERT_EQUAL(copies, 0);
    CU_ASSERT_EQUAL(within, 2);
    if (likes_last()) {
        CU_ASSERT_EQUAL(borders, 2); /* the input and the output */
        CU_ASSERT_EQUAL(last, 6);    /* x', a, b, c, o, y' */
    }
    ferry_net_close(net);
    fx_end();
}

/* Channels are shuffled by Reshape, Permute and Reshape, as ONNX models do. */
static const char shuffle[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 6 dim: 4 dim: 5 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 8 "
    "kernel_size: 1 weight_filler { type: 'constant' value: 0.5 } } }\n"
    "layer { name: 'r' type: 'Reshape' bottom: 'a' top: 'r' reshape_param { shape { dim: 1 dim: 2 "
    "dim: 4 dim: 4 dim: 5 } } }\n"
    "layer { name: 't' type: 'Permute' bottom: 'r' top: 't' permute_param { order: 0 order: 2 "
    "order: 1 order: 3 order: 4 } }\n"
    "layer { name: 's' type: 'Reshape' bottom: 't' top: 's' reshape_param { shape { dim: 1 dim: 8 "
    "dim: 4 dim: 5 } } }\n"
    "layer { name: 'h' type: 'StridedSlice' bottom: 's' top: 'h' strided_slice_param { axis: 1 "
    "begin: 4 end: 8 } }\n"
    "layer { name: 'y' type: 'Convolution' bottom: 'h' top: 'y' convolution_param { num_output: 8 "
    "kernel_size: 1 weight_filler { type: 'constant' value: 0.5 } } }\n"
    "layer { name: 'z' type: 'Convolution' bottom: 's' top: 'z' convolution_param { num_output: 8 "
    "kernel_size: 1 weight_filler { type: 'constant' value: 0.5 } } }\n";

static void shuffled_channels_keep_the_channels_last_layout(void)
{
    ferry_net *net = open_text(shuffle, NULL);
    const struct ferry__program *p = net->stages[0].now;
    int copies = 0, borders = 0;

    for (int i = 0; i < p->n_items; i++)
        if (!p->items[i].dropped && p->items[i].op.kind == FERRY_OP_STRIDED_COPY)
            *(p->items[i].border ? &borders : &copies) += 1;
    if (likes_last()) {
        CU_ASSERT_EQUAL(copies, 1);  /* the permutation; the slice is a view */
        CU_ASSERT_EQUAL(borders, 3); /* the input and the outputs */
        for (int i = 0; i < p->n_items; i++)
            if (p->items[i].op.kind == FERRY_OP_CONVOLUTION)
                CU_ASSERT_EQUAL(p->items[i].op.in[0].stride[1], 1);
    }
    ferry_net_close(net);
    fx_end();
}

/* An image of three channels. */
static const char image[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 9 dim: 9 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 8 "
    "kernel_size: 3 weight_filler { type: 'constant' value: 0.5 } } }\n"
    "layer { name: 'y' type: 'Convolution' bottom: 'a' top: 'y' convolution_param { num_output: 8 "
    "kernel_size: 1 weight_filler { type: 'constant' value: 0.5 } } }\n";

/* A copy of the input is channels last only if the operation that reads it still prefers that. */
static void an_image_is_read_in_the_layout_that_its_operation_prefers(void)
{
    ferry_net *net = open_text(image, NULL);
    const struct ferry__program *p = net->stages[0].now;
    bool found = false;

    for (int i = 0; i < p->n_items && !found; i++) {
        ferry_operation_plan plan = { .struct_size = sizeof(plan) };
        ferry_op_desc op = p->items[i].op;

        found = !p->items[i].dropped && op.kind == FERRY_OP_CONVOLUTION;
        if (!found || !likes_last())
            continue;
        CU_ASSERT_EQUAL(op.out[0].stride[1], 1);
        op.in[0] = ferry_operand_make(FERRY_F32, op.in[0].shape, 4, NULL);
        CU_ASSERT_EQUAL(ferry_operation_query(p->items[i].layer->device, &op, &plan), 0);
        CU_ASSERT_EQUAL(p->items[i].op.in[0].stride[1] == 1, plan.order[3] == 1);
        CU_ASSERT_EQUAL(i > 0 && p->items[i - 1].border, plan.order[3] == 1);
    }
    CU_ASSERT(found);
    ferry_net_close(net);
    fx_end();
}

/*
 * A blob is sliced along the channels, and another along the images; one of the slices is changed
 * in place.
 */
static const char cut[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 8 dim: 3 dim: 5 } "
    "} }\n"
    "layer { name: 'a' type: 'TanH' bottom: 'x' top: 'a' }\n"
    "layer { name: 's' type: 'Slice' bottom: 'a' top: 'b' top: 'c' top: 'd' slice_param { "
    "slice_point: "
    "4 slice_point: 6 } }\n"
    "layer { name: 't' type: 'Slice' bottom: 'b' top: 'e' top: 'f' }\n"
    "layer { name: 'u' type: 'Slice' bottom: 'c' top: 'g' top: 'h' slice_param { axis: 0 } }\n"
    "layer { name: 'v' type: 'Power' bottom: 'd' top: 'd' power_param { scale: 3 } }\n"
    "layer { name: 'w' type: 'Eltwise' bottom: 'e' bottom: 'f' bottom: 'd' top: 'w' }\n"
    "layer { name: 'p' type: 'Convolution' bottom: 'g' top: 'p' convolution_param { num_output: 3 "
    "kernel_size: 1 weight_filler { type: 'constant' value: 0.5 } } }\n"
    "layer { name: 'q' type: 'Concat' bottom: 'p' bottom: 'h' top: 'q' }\n"
    "layer { name: 'z' type: 'TanH' bottom: 'q' top: 'z' }\n";

/* The result without fusion and plan. */
static ferry_net *open_bare(const char *text)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.no_fuse = o.no_plan = true;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

/* Whether two nets with the same definition have the same outputs for the same input. */
static bool agree(ferry_net *a, ferry_net *b)
{
    ferry_net *nets[2] = { a, b };
    bool good = true;

    for (int k = 0; k < 2; k++) {
        float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(nets[k], 0));

        for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(nets[k], 0)); i++)
            x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
        FX_OK(ferry_net_forward(nets[k], NULL));
    }
    for (int i = 0; i < ferry_net_output_count(a); i++) {
        const float *x = ferry_blob_host_data(ferry_net_output_at(a, i));
        const float *y = ferry_blob_host_data(ferry_net_output_at(b, i));

        for (int64_t k = 0; k < ferry_blob_element_count(ferry_net_output_at(a, i)); k++)
            good = good && fabsf(x[k] - y[k]) <= 1e-5f;
    }
    return good;
}

static void slices_are_views_without_a_copy(void)
{
    ferry_net *net = open_text(cut, NULL), *whole = open_bare(cut);
    const struct ferry__program *p = net->stages[0].now;
    int copies = 0, within = 0;

    for (int i = 0; i < p->n_items; i++)
        copies += !p->items[i].dropped && p->items[i].op.kind == FERRY_OP_STRIDED_COPY &&
                  !p->items[i].border;
    for (int i = 0; i < p->n_values; i++)
        within += p->values[i].within >= 0;
    CU_ASSERT_EQUAL(copies + within, 9);
    CU_ASSERT(copies <= 3); /* d, which is changed; h to q, and p where its channels are innermost
                             */
    CU_ASSERT(agree(net, whole));
    CU_ASSERT_EQUAL(collisions(net), 0);
    ferry_net_close(net);
    ferry_net_close(whole);
    fx_end();
}

/* ---- transfers ------------------------------------------------------------------------------- */

static uint64_t moved_by_a_pass(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    memset(x, 0, (size_t)ferry_blob_element_count(ferry_net_input_at(net, 0)) * sizeof *x);
    fx_mark();
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(ferry_net_output_at(net, 0)));
    return fx_bytes();
}

/*
 * Layers on the host transfer nothing; layers on the device transfer their input and their output.
 */
static void a_plan_transfers_only_inputs_and_outputs(void)
{
    ferry_net *net = open_text(fire, NULL);
    const struct ferry__program *p = net->stages[0].now;
    bool host = true, own = true;
    uint64_t least;

    for (int i = 0; i < p->n_items; i++) {
        host = host && (p->items[i].dropped || p->items[i].tier == FERRY_TIER_HOST);
        own = own && (p->items[i].dropped || p->items[i].tier != FERRY_TIER_HOST);
    }
    least = host ? 0
                 : 4 * (uint64_t)(ferry_blob_element_count(ferry_net_input_at(net, 0)) +
                                  ferry_blob_element_count(ferry_net_output_at(net, 0)));
    moved_by_a_pass(net); /* weights are copied once */
    if (fx_discrete() && (host || own))
        CU_ASSERT_EQUAL(moved_by_a_pass(net), least);
    ferry_net_close(net);
    fx_end();
}

/*
 * One layer on the other device: its input is copied there, its output is copied back, each with
 * its exact size.
 */
static void a_layer_on_another_device_transfers_only_its_blobs(void)
{
    ferry_net *plain = open_text(fire, NULL), *net;
    ferry_device *cpu;
    uint64_t before, after;

    if (!fx_discrete() || ferry_runtime_get_device(fx_runtime(), "cpu", &cpu)) {
        ferry_test_skip("copies from this device to the cpu plugin are not counted");
        ferry_net_close(plain);
        return;
    }
    net = open_text(fire, "c=cpu");
    moved_by_a_pass(plain);
    moved_by_a_pass(net);
    before = moved_by_a_pass(plain);
    after = moved_by_a_pass(net);
    if (plain->stages[0].now->items[plain->stages[0].now->n_items - 1].tier == FERRY_TIER_HOST)
        CU_ASSERT_EQUAL(after, before) /* the host has all of it already */
    else
        CU_ASSERT_EQUAL(after - before, 4u * 16 * 16 * (4 + 6)); /* a to the device, c back */
    ferry_net_close(plain);
    ferry_net_close(net);
    fx_end();
}

/* Each of two items writes a part of it. */
static const char joined[] = INPUT
    "layer { name: 'b' type: 'Convolution' bottom: 'x' top: 'b' convolution_param { num_output: 6 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 6 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'o' type: 'Concat' bottom: 'b' bottom: 'c' top: 'o' }\n"
    "layer { name: 'p' type: 'TanH' bottom: 'o' top: 'p' }\n";

static void a_kept_concatenation_that_was_lost_is_written_again(void)
{
    const char *kept = "o";
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = joined,
                            .text_size = strlen(joined),
                            .seed = 3,
                            .keep = &kept,
                            .keep_count = 1 };

    for (int plan = 0; plan < 2; plan++) {
        ferry_net *net = NULL;
        const float *at;
        ferry_blob *b;
        float first;

        o.no_plan = !plan;
        FX_OK_FATAL(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
        FX_OK(ferry_blob_fill_data(ferry_net_input_at(net, 0), 0.5));
        FX_OK(ferry_net_forward(net, NULL));
        b = ferry_net_blob_find(net, kept);
        at = ferry_blob_host_data(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        first = at[0];
        ferry_memory_mark_lost(ferry_blob_data_memory(b));
        FX_OK(ferry_net_forward(net, NULL));
        at = ferry_blob_host_data(b);
        CU_ASSERT(at && at[0] == first);
        ferry_net_close(net);
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(blobs_with_disjoint_lifetimes_share_memory),
    FERRY_TEST(values_of_whole_pages_start_at_different_offsets_in_a_page),
    FERRY_TEST(plans_of_real_nets_use_at_most_35_percent_of_the_memory),
    FERRY_TEST(channels_last_concatenations_are_written_in_place),
    FERRY_TEST(shuffled_channels_keep_the_channels_last_layout),
    FERRY_TEST(an_image_is_read_in_the_layout_that_its_operation_prefers),
    FERRY_TEST(slices_are_views_without_a_copy),
    FERRY_TEST(a_kept_concatenation_that_was_lost_is_written_again),
    FERRY_TEST(a_plan_transfers_only_inputs_and_outputs),
    FERRY_TEST(a_layer_on_another_device_transfers_only_its_blobs),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net plan", cases, FERRY_TEST_COUNT(cases));
}

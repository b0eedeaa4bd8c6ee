/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "little.h"

#include <ferry/net.h>
#include <ferry/onnx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * ONNX models as nets, on each backend: ferry's own exports, and small models made here byte by
 * byte.
 */

static ferry_device *dev; /* of the case that runs */

static char folder[] = "/tmp/ferry-onnx-XXXXXX";
static char path[sizeof folder + 64];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A message that is being written; larger ones fail the case. */
struct message {
    unsigned char bytes[2048];
    size_t size;
};

static void put(struct message *m, unsigned char c)
{
    CU_ASSERT_FATAL(m->size < sizeof m->bytes);
    m->bytes[m->size++] = c;
}

static void varint(struct message *m, uint64_t value)
{
    for (; value > 127; value >>= 7)
        put(m, (unsigned char)(value | 128));
    put(m, (unsigned char)value);
}

static void integer(struct message *m, unsigned field, int64_t value)
{
    varint(m, field << 3);
    varint(m, (uint64_t)value);
}

static void bytes(struct message *m, unsigned field, const void *value, size_t size)
{
    varint(m, field << 3 | 2);
    varint(m, size);
    for (size_t i = 0; i < size; i++)
        put(m, ((const unsigned char *)value)[i]);
}

static void string(struct message *m, unsigned field, const char *value)
{
    bytes(m, field, value, strlen(value));
}

static void message(struct message *m, unsigned field, const struct message *value)
{
    bytes(m, field, value->bytes, value->size);
}

/* A ValueInfoProto of FLOAT; dim 0 is open. */
static struct message value_of(const char *name, int rank, const int64_t *shape)
{
    struct message dims = { .size = 0 }, tensor = { .size = 0 }, type = { .size = 0 };
    struct message out = { .size = 0 };

    for (int i = 0; i < rank; i++) {
        struct message dim = { .size = 0 };

        if (shape[i])
            integer(&dim, 1, shape[i]);
        else
            string(&dim, 2, "N");
        message(&dims, 1, &dim);
    }
    integer(&tensor, 1, 1);
    message(&tensor, 2, &dims);
    message(&type, 1, &tensor);
    string(&out, 1, name);
    message(&out, 2, &type);
    return out;
}

/* A NodeProto of at most two inputs. */
static struct message node_of(const char *type, const char *a, const char *b, const char *y)
{
    struct message out = { .size = 0 };

    string(&out, 1, a);
    if (b)
        string(&out, 1, b);
    string(&out, 2, y);
    string(&out, 3, "the node");
    string(&out, 4, type);
    return out;
}

/* Writes a model of a graph of operator set 13. */
static const char *write_model(const struct message *graph)
{
    struct message set = { .size = 0 }, model = { .size = 0 };
    FILE *file = fopen(in_folder("m.onnx"), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    integer(&set, 2, 13);
    integer(&model, 1, 8);
    message(&model, 7, graph);
    message(&model, 8, &set);
    CU_ASSERT_EQUAL(fwrite(model.bytes, 1, model.size, file), model.size);
    fclose(file);
    return path;
}

/* A graph: input x (2, 3), one node, an initializer w, and output y. */
static struct message graph_of(const struct message *node, const struct message *w)
{
    static const int64_t shape[] = { 2, 3 };
    struct message out = { .size = 0 }, x = value_of("x", 2, shape), y = value_of("y", 2, shape);

    message(&out, 1, node);
    string(&out, 2, "made here");
    if (w)
        message(&out, 5, w);
    message(&out, 11, &x);
    message(&out, 12, &y);
    return out;
}

/* A TensorProto (n) of FLOAT, in one of its forms. */
enum form { RAW, TYPED, SHORT, OUTSIDE };

static struct message tensor_of(enum form form, int64_t n, const float *values)
{
    struct message out = { .size = 0 }, entry = { .size = 0 };

    integer(&out, 1, n);
    integer(&out, 2, 1);
    string(&out, 8, "w");
    if (form == OUTSIDE) {
        string(&entry, 1, "location");
        string(&entry, 2, "../w.bin");
        message(&out, 13, &entry);
        integer(&out, 14, 1);
    } else {
        size_t size = (size_t)(form == SHORT ? n - 1 : n) * sizeof *values;

        bytes(&out, form == TYPED ? 4 : 9, values, size);
        put_little(out.bytes + out.size - size, values, size, sizeof *values);
    }
    return out;
}

/* ---- nets ------------------------------------------------------------------------------------ */

static const char *const nets[] = {
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 4\n"
    "  kernel_size: 3 stride: 2 pad: 1 group: 2 weight_filler { type: 'xavier' }\n"
    "  bias_filler { type: 'uniform' min: -1 } } }\n"
    "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'b' }\n"
    "layer { name: 's' type: 'Scale' bottom: 'b' top: 's' scale_param { bias_term: true } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 's' top: 's' relu_param { negative_slope: 0.1 } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 's' top: 'p' pooling_param { pool: AVE kernel_size: "
    "2\n"
    "  stride: 2 } }\n"
    "layer { name: 'f' type: 'InnerProduct' bottom: 'p' top: 'f' inner_product_param { num_output: "
    "5\n"
    "  weight_filler { type: 'gaussian' } } }\n"
    "layer { name: 'y' type: 'Softmax' bottom: 'f' top: 'y' }\n",
    "layer { name: 'd' type: 'Deconvolution' bottom: 'x' top: 'd' convolution_param { num_output: "
    "2\n"
    "  kernel_size: 3 stride: 2 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'm' type: 'MVN' bottom: 'd' top: 'm' }\n"
    "layer { name: 'l' type: 'LRN' bottom: 'm' top: 'l' lrn_param { local_size: 3 alpha: 2 } }\n"
    "layer { name: 'e' type: 'Eltwise' bottom: 'd' bottom: 'l' top: 'e' eltwise_param { coeff: 2\n"
    "  coeff: -1 } }\n"
    "layer { name: 'y' type: 'Normalize' bottom: 'e' top: 'y' }\n",
    "layer { name: 'a' type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { slice_point: 1 } "
    "}\n"
    "layer { name: 'p' type: 'Permute' bottom: 'b' top: 'p' permute_param { order: 0 order: 2 "
    "order: 1\n"
    "  order: 3 } }\n"
    "layer { name: 't' type: 'Tile' bottom: 'a' top: 't' tile_param { axis: 2 tiles: 2 } }\n"
    "layer { name: 'q' type: 'Reshape' bottom: 'p' top: 'q' reshape_param { shape { dim: 0 dim: -1 "
    "} } }\n"
    "layer { name: 'v' type: 'Flatten' bottom: 't' top: 'v' }\n"
    "layer { name: 'y' type: 'Concat' bottom: 'q' bottom: 'v' top: 'y' }\n",
};

static ferry_net *open_text(const char *layers)
{
    static char text[4096];
    ferry_net_options o = { .struct_size = sizeof o, .text = text };
    ferry_net *net = NULL;

    snprintf(text, sizeof text,
             "name: 'n' layer { name: 'x' type: 'Input' top: 'x' input_param { shape {\n"
             "  dim: 2 dim: 4 dim: 7 dim: 6 } } }\n%s",
             layers);
    o.text_size = strlen(text);
    FX_OK(ferry_net_open(dev, "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void fill(ferry_blob *b)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = (float)(i * 37 % 101) / 50 - 1;
}

static const float *answer(ferry_net *net, int64_t *out_count)
{
    ferry_blob *y = ferry_net_output_at(net, 0);

    CU_ASSERT_EQUAL_FATAL(ferry_net_output_count(net), 1);
    fill(ferry_net_input_at(net, 0));
    FX_OK(ferry_net_forward(net, NULL));
    *out_count = ferry_blob_element_count(y);
    return ferry_blob_host_data(y);
}

static void an_exported_net_reads_back_as_the_same_function(void)
{
    dev = fx_device();
    for (size_t k = 0; k < sizeof nets / sizeof nets[0]; k++) {
        ferry_onnx_options o = { .struct_size = sizeof o, .no_fold = k == 0 };
        ferry_net *net = open_text(nets[k]), *again = NULL;
        const float *want, *have;
        int64_t n = 0, m = 0;

        want = answer(net, &n);
        FX_OK(ferry_net_export_onnx(net, in_folder("m.onnx"), &o));
        FX_OK(ferry_net_open(dev, path, NULL, &again));
        CU_ASSERT_PTR_NOT_NULL_FATAL(again);
        have = answer(again, &m);
        CU_ASSERT_EQUAL_FATAL(n, m);
        CU_ASSERT(n > 0 && want && have);
        for (int64_t i = 0; i < n; i++)
            CU_ASSERT(fabsf(want[i] - have[i]) <= 1e-5f);
        ferry_net_close(net);
        ferry_net_close(again);
    }
    fx_end();
}

/* ---- small models ---------------------------------------------------------------------------- */

/* Opens a graph that multiplies two lines of three by w, and checks its answer. */
static void check_product(const struct message *graph, const float *w)
{
    ferry_net *net = NULL;
    const float *y;
    int64_t n;

    FX_OK(ferry_net_open(dev, write_model(graph), NULL, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    y = answer(net, &n);
    CU_ASSERT_EQUAL_FATAL(n, 6);
    for (int i = 0; i < 6; i++)
        CU_ASSERT(fabsf(y[i] - w[i % 3] * ((float)(i * 37 % 101) / 50 - 1)) < 1e-6f);
    ferry_net_close(net);
}

static void raw_and_typed_tensor_data_give_the_same_values(void)
{
    static const float w[] = { 1, -2, 4 };

    dev = fx_device();
    for (enum form form = RAW; form <= TYPED; form++) {
        struct message node = node_of("Mul", "x", "w", "y"), tensor = tensor_of(form, 3, w);
        struct message graph = graph_of(&node, &tensor);

        check_product(&graph, w);
    }
    fx_end();
}

/* The elements of a constant that the import makes are in the byte order of the machine. */
static void constants_of_attributes_are_read(void)
{
    static const float w[] = { 1, -2, 4 };
    struct message first = { .size = 0 }, attribute = { .size = 0 };
    struct message second = node_of("Mul", "x", "w", "y"), rest = graph_of(&second, NULL);
    struct message graph = { .size = 0 };
    unsigned char stored[sizeof w];

    string(&attribute, 1, "value_floats");
    bytes(&attribute, 7, put_little(stored, ELEMENTS(w)), sizeof w);
    integer(&attribute, 20, 6);
    string(&first, 2, "w");
    string(&first, 4, "Constant");
    message(&first, 5, &attribute);
    message(&graph, 1, &first);
    for (size_t i = 0; i < rest.size; i++)
        put(&graph, rest.bytes[i]);
    dev = fx_device();
    check_product(&graph, w);
    fx_end();
}

/* Checks that the model is rejected with these words. */
static void refused(const struct message *graph, int code, const char *words)
{
    ferry_net *net = NULL;

    FX_FAILS(code, ferry_net_open(dev, write_model(graph), NULL, &net));
    if (!strstr(ferry_last_error(), words))
        fprintf(stderr, "\"%s\" is not in: %s\n", words, ferry_last_error());
    CU_ASSERT(strstr(ferry_last_error(), words) != NULL);
    CU_ASSERT_PTR_NULL(net);
}

static void an_unknown_operator_is_named_with_its_node(void)
{
    struct message node = node_of("Loop", "x", NULL, "y"), graph = graph_of(&node, NULL);

    dev = fx_device();
    refused(&graph, FERRY_EUNSUPPORTED, "node \"the node\" (Loop): ferry has no layer");
    node = node_of("Mul", "x", "x2", "y");
    graph = graph_of(&node, NULL);
    refused(&graph, FERRY_EFORMAT, "takes \"x2\", which no earlier node makes");
    node = node_of("Relu", "x", NULL, "z");
    graph = graph_of(&node, NULL);
    refused(&graph, FERRY_EFORMAT, "no node makes the output \"y\"");
    fx_end();
}

static void a_tensor_with_too_few_bytes_is_refused(void)
{
    static const float w[] = { 1, 2, 3 };
    struct message node = node_of("Mul", "x", "w", "y"), tensor = tensor_of(SHORT, 3, w);
    struct message graph = graph_of(&node, &tensor);

    dev = fx_device();
    refused(&graph, FERRY_EFORMAT, "tensor \"w\": 8 bytes for 3 elements");
    tensor = tensor_of(OUTSIDE, 3, w);
    graph = graph_of(&node, &tensor);
    refused(&graph, FERRY_EFORMAT, "which is not below it");
    fx_end();
}

static void an_unknown_batch_size_becomes_1_and_can_be_reshaped(void)
{
    static const int64_t open_shape[] = { 0, 3 }, other[] = { 3, 0 }, wide[] = { 5, 3 };
    struct message node = node_of("Relu", "x", NULL, "y"), x = value_of("x", 2, open_shape);
    struct message y = value_of("y", 2, open_shape), graph = { .size = 0 };
    ferry_net *net = NULL;
    int64_t n;

    dev = fx_device();
    message(&graph, 1, &node);
    message(&graph, 11, &x);
    message(&graph, 12, &y);
    FX_OK(ferry_net_open(dev, write_model(&graph), NULL, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    CU_ASSERT_EQUAL(ferry_blob_dim(ferry_net_input_at(net, 0), 0), 1);
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), wide, 2, NULL));
    answer(net, &n);
    CU_ASSERT_EQUAL(n, 15);
    ferry_net_close(net);
    graph.size = 0;
    x = value_of("x", 2, other);
    message(&graph, 1, &node);
    message(&graph, 11, &x);
    message(&graph, 12, &y);
    refused(&graph, FERRY_EUNSUPPORTED, "axis 1 of input \"x\" (\"N\") has no size");
    fx_end();
}

static void a_concatenation_reuses_an_earlier_one_with_the_same_prefix(void)
{
    static const int64_t shape[] = { 2, 3 }, wide[] = { 2, 15 };
    struct message x = value_of("x", 2, shape), y = value_of("y", 2, wide), graph = { .size = 0 };
    struct message node = node_of("Relu", "x", NULL, "a");
    ferry_net *net = NULL;
    const float *got;
    int64_t n;

    dev = fx_device();
    message(&graph, 1, &node);
    node = node_of("Concat", "x", "a", "b");
    message(&graph, 1, &node);
    node = node_of("Concat", "x", "a", "c");
    string(&node, 1, "x");
    message(&graph, 1, &node);
    node = node_of("Concat", "c", "b", "y");
    message(&graph, 1, &node);
    message(&graph, 11, &x);
    message(&graph, 12, &y);
    FX_OK(ferry_net_open(dev, write_model(&graph), NULL, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        CU_ASSERT(ferry_layer_bottom_count(ferry_net_layer_at(net, i)) <= 2);
    got = answer(net, &n);
    CU_ASSERT_EQUAL_FATAL(n, 30);
    for (int i = 0; i < 30; i++) { /* x, a, x, x, a */
        float value = got[i / 15 * 15 + i % 3];
        bool is_a = i % 15 / 3 == 1 || i % 15 / 3 == 4;

        CU_ASSERT_EQUAL(got[i], is_a && value < 0 ? 0 : value);
    }
    ferry_net_close(net);
    fx_end();
}

/* A TensorProto of one FLOAT, without axes. */
static struct message number_of(const char *name, float value)
{
    struct message out = { .size = 0 };

    integer(&out, 2, 1);
    string(&out, 8, name);
    put_little(&value, &value, sizeof value, sizeof value);
    bytes(&out, 9, &value, sizeof value);
    return out;
}

/* A graph of x (2, 3) with the numbers of GELU, and five nodes at most. */
static struct message graph_with_erf(const char *const nodes[5][4])
{
    static const int64_t shape[] = { 2, 3 };
    struct message out = { .size = 0 }, x = value_of("x", 2, shape), y = value_of("y", 2, shape);
    const struct message numbers[] = { number_of("root", 1.41421354f),
                                       number_of("inverse", 0.707106769f), number_of("one", 1),
                                       number_of("half", 0.5f) };

    for (int i = 0; i < 5 && nodes[i][0]; i++) {
        struct message node = node_of(nodes[i][0], nodes[i][1], nodes[i][2], nodes[i][3]);

        message(&out, 1, &node);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        message(&out, 5, &numbers[i]);
    message(&out, 11, &x);
    message(&out, 12, &y);
    return out;
}

static void erf_of_gelu_becomes_gelu(void)
{
    static const char *const forms[][5][4] = {
        { { "Div", "x", "root", "a" },
          { "Erf", "a", NULL, "b" },
          { "Add", "b", "one", "c" },
          { "Mul", "x", "c", "d" },
          { "Mul", "d", "half", "y" } },
        { { "Mul", "inverse", "x", "a" },
          { "Erf", "a", NULL, "b" },
          { "Add", "one", "b", "c" },
          { "Mul", "half", "c", "d" },
          { "Mul", "d", "x", "y" } },
    };

    dev = fx_device();
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        struct message graph = graph_with_erf(forms[k]);
        ferry_net *net = NULL;
        const float *y, *x;
        int64_t n;

        FX_OK(ferry_net_open(dev, write_model(&graph), NULL, &net));
        CU_ASSERT_PTR_NOT_NULL_FATAL(net);
        CU_ASSERT_EQUAL(ferry_net_layer_count(net), 2); /* the input and GELU */
        y = answer(net, &n);
        x = ferry_blob_host_data(ferry_net_input_at(net, 0));
        CU_ASSERT_EQUAL_FATAL(n, 6);
        for (int i = 0; i < 6; i++)
            CU_ASSERT(fabs((double)y[i] - (double)x[i] * erfc((double)-x[i] / sqrt(2.0)) / 2) <
                      1e-6);
        ferry_net_close(net);
    }
    fx_end();
}

static void another_erf_is_refused(void)
{
    static const char *const forms[][5][4] = {
        { { "Erf", "x", NULL, "y" } },
        { { "Div", "x", "root", "a" }, { "Erf", "a", NULL, "y" } },
        { { "Div", "x", "root", "a" }, { "Erf", "a", NULL, "b" }, { "Add", "b", "half", "y" } },
        { { "Div", "x", "root", "a" },
          { "Erf", "a", NULL, "b" },
          { "Add", "b", "one", "c" },
          { "Mul", "c", "one", "y" } },
        { { "Div", "x", "root", "a" },
          { "Erf", "a", NULL, "b" },
          { "Add", "b", "one", "c" },
          { "Mul", "c", "x", "d" },
          { "Mul", "d", "x", "y" } },
        { { "Div", "x", "half", "a" }, { "Erf", "a", NULL, "b" }, { "Add", "b", "one", "y" } },
    };

    dev = fx_device();
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        struct message graph = graph_with_erf(forms[k]);

        refused(&graph, FERRY_EUNSUPPORTED, "Erf is not a part of GELU here");
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_exported_net_reads_back_as_the_same_function),
    FERRY_TEST(raw_and_typed_tensor_data_give_the_same_values),
    FERRY_TEST(constants_of_attributes_are_read),
    FERRY_TEST(an_unknown_operator_is_named_with_its_node),
    FERRY_TEST(a_tensor_with_too_few_bytes_is_refused),
    FERRY_TEST(an_unknown_batch_size_becomes_1_and_can_be_reshaped),
    FERRY_TEST(a_concatenation_reuses_an_earlier_one_with_the_same_prefix),
    FERRY_TEST(erf_of_gelu_becomes_gelu),
    FERRY_TEST(another_erf_is_refused),
};

int main(int argc, char **argv)
{
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main_backends(argc, argv, "onnx import", cases, FERRY_TEST_COUNT(cases));
    unlink(in_folder("m.onnx"));
    rmdir(folder);
    return status;
}

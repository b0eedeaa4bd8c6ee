/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TRITONBACKEND_Backend backend;
TRITONBACKEND_Model model;
TRITONBACKEND_ModelInstance instances[4];

static char folder[] = "/tmp/ferry-test-triton-XXXXXX";

#define DATA                                                \
    "layer { name: \"data\" type: \"Input\" top: \"data\" " \
    "input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } } "
#define HEAD(first)                                                                           \
    DATA first "layer { name: \"conv\" type: \"Convolution\" bottom: \"data\" top: \"conv\" " \
               "convolution_param { num_output: 8 kernel_size: 3 "                            \
               "weight_filler { type: \"gaussian\" std: 0.2 } } } "                           \
               "layer { name: \"relu\" type: \"ReLU\" bottom: \"conv\" top: \"conv\" } "

static const char *const texts[] = {
    [NET_SCORES] = HEAD("") "layer { name: \"ip\" type: \"InnerProduct\" bottom: \"conv\" top: "
                            "\"ip\" inner_product_param { num_output: 10 weight_filler { type: "
                            "\"gaussian\" std: 0.1 } } } layer { name: \"prob\" type: \"Softmax\" "
                            "bottom: \"ip\" top: \"prob\" }",
    [NET_ANY] = HEAD("") "layer { name: \"map\" type: \"Convolution\" bottom: \"conv\" top: "
                         "\"map\" convolution_param { num_output: 2 kernel_size: 3 weight_filler "
                         "{ type: \"gaussian\" std: 0.2 } } }",
    [NET_INPLACE] = HEAD("layer { name: \"first\" type: \"Power\" bottom: \"data\" top: \"data\" "
                         "power_param { scale: 0.5 shift: 1 } } "),
    [NET_FLAT] = HEAD("") "layer { name: \"flat\" type: \"Flatten\" bottom: \"data\" top: "
                          "\"flat\" }",
    [NET_ROWS] = DATA "layer { name: \"rows\" type: \"Reshape\" bottom: \"data\" top: \"rows\" "
                      "reshape_param { shape { dim: -1 dim: 432 } } } layer { name: \"ip\" type: "
                      "\"InnerProduct\" bottom: \"rows\" top: \"ip\" inner_product_param { "
                      "num_output: 4 weight_filler { type: \"gaussian\" std: 0.1 } } }",
    [NET_SELECTED] = DATA "layer { name: \"wanted\" type: \"Input\" top: \"wanted\" "
                          "input_param { shape { dim: 1 } } } layer { name: \"ip\" type: "
                          "\"InnerProduct\" bottom: \"data\" top: \"ip\" inner_product_param "
                          "{ num_output: 4 weight_filler { type: \"gaussian\" std: 0.1 } } } "
                          "layer { name: \"selected\" type: \"Filter\" bottom: \"ip\" bottom: "
                          "\"wanted\" top: \"selected\" }",
    [NET_SEQUENCE] =
        "layer { name: \"data\" type: \"Input\" top: \"data\" top: \"cont\" input_param { "
        "shape { dim: 1 dim: 1 dim: 3 } shape { dim: 1 dim: 1 } } } layer { name: "
        "\"lstm\" type: \"LSTM\" bottom: \"data\" bottom: \"cont\" top: \"lstm\" "
        "recurrent_param { num_output: 2 } }",
};
static const char *const names[] = { "scores", "any",      "inplace", "flat",
                                     "rows",   "selected", "sequence" };

/* ---- folders --------------------------------------------------------------------------------- */

const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
}

/* The net on a device of that name; NULL: the default device. */
static ferry_net *open_net(int net, const char *name, ferry_runtime **out_rt)
{
    const ferry_runtime_options with = { .struct_size = sizeof(with), .backend = name };
    const ferry_net_options o = { .struct_size = sizeof(o),
                                  .text = texts[net],
                                  .text_size = strlen(texts[net]) };
    ferry_device *dev;
    ferry_net *out = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&with, out_rt), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(*out_rt, NULL, &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_net_open(dev, "net.prototxt", &o, &out), 0);
    return out;
}

const char *folder_of(int net)
{
    static char path[NETS][256];
    char name[300];
    ferry_runtime *rt;
    ferry_net *n;

    if (path[net][0])
        return path[net];
    snprintf(path[net], sizeof(path[net]), "%s", in_folder(names[net]));
    mkdir(path[net], 0700);
    snprintf(name, sizeof(name), "%s/1", path[net]);
    mkdir(name, 0700);
    snprintf(name, sizeof(name), "%s/1/net.prototxt", path[net]);
    write_text(name, texts[net]);
    n = open_net(net, "cpu", &rt); /* a test may set options of the device first */
    snprintf(name, sizeof(name), "%s/1/weights.npz", path[net]);
    CU_ASSERT_EQUAL(ferry_net_save(n, name, FERRY_IO_NPZ), 0);
    ferry_net_close(n);
    ferry_runtime_close(rt);
    return path[net];
}

/* ---- models ---------------------------------------------------------------------------------- */

const char *config_of(int max_batch, const char *rest)
{
    static char text[2048];

    snprintf(text, sizeof(text),
             "{\"max_batch_size\": %d, \"instance_group\": [{\"kind\": \"KIND_MODEL\"}]%s}",
             max_batch, rest);
    return text;
}

void open_model(int net, const char *config, int count)
{
    const char *error;

    backend = (TRITONBACKEND_Backend){ .config = "{\"cmdline\": {}}" };
    model = (TRITONBACKEND_Model){ .complete = true };
    for (int k = 0; k < 4; k++)
        instances[k] =
            (TRITONBACKEND_ModelInstance){ .kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL };
    CU_ASSERT_PTR_NULL_FATAL(double_open(&backend));
    error = double_load(&backend, &model, folder_of(net), config, instances, count);
    if (error)
        printf("     %s\n", error);
    CU_ASSERT_PTR_NULL_FATAL(error);
}

void close_model(int count)
{
    double_unload(&model, instances, count);
    double_close(&backend);
    CU_ASSERT_EQUAL(double_live, 0);
}

/* ---- requests -------------------------------------------------------------------------------- */

float *pixels_of(unsigned seed, size_t n)
{
    void *p = NULL;
    float *pixels;

    CU_ASSERT_EQUAL_FATAL(posix_memalign(&p, 64, n * sizeof(float)), 0);
    pixels = p;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        pixels[i] = (float)(seed >> 8 & 0xffff) / 65536.0f - 0.5f;
    }
    return pixels;
}

void ask(TRITONBACKEND_Request *r, const float *pixels, int64_t batch, int64_t h, int64_t w)
{
    *r = (TRITONBACKEND_Request){ .input_count = 1 };
    r->inputs[0] = (TRITONBACKEND_Input){
        .name = "data",
        .type = TRITONSERVER_TYPE_FP32,
        .rank = 4,
        .shape = { batch, 3, h, w },
        .buffer_count = 1,
        .buffers = { { pixels, (uint64_t)(batch * 3 * h * w) * sizeof(float) } },
    };
}

const TRITONBACKEND_Output *output_of(const TRITONBACKEND_Request *r, const char *name)
{
    for (uint32_t k = 0; k < r->response.count; k++)
        if (strcmp(r->response.outputs[k].name, name) == 0)
            return &r->response.outputs[k];
    return NULL;
}

/* The largest difference; infinity without an answer, or with a different shape. */
static double difference(const TRITONBACKEND_Request *r, int net)
{
    ferry_runtime *rt;
    ferry_net *n = open_net(net, NULL, &rt);
    ferry_blob *in = ferry_net_input_at(n, 0), *out = ferry_net_output_at(n, 0);
    const TRITONBACKEND_Output *o = output_of(r, ferry_blob_name(out));
    const TRITONBACKEND_Input *i = &r->inputs[0];
    const float *mine, *theirs = o ? o->data : NULL;
    char *to;
    double worst = o ? 0 : INFINITY;

    CU_ASSERT_EQUAL(ferry_blob_reshape(in, i->shape, (int)i->rank, NULL), 0);
    to = ferry_blob_overwrite_host_data(in);
    for (uint32_t k = 0; k < i->buffer_count; to += i->buffers[k++].size)
        memcpy(to, i->buffers[k].data, i->buffers[k].size);
    CU_ASSERT_EQUAL(ferry_net_forward(n, NULL), 0);
    mine = ferry_blob_host_data(out);
    if (o && ((int)o->rank != ferry_blob_rank(out) ||
              memcmp(o->shape, ferry_blob_shape(out), o->rank * sizeof(*o->shape)) != 0))
        worst = INFINITY;
    for (int64_t k = 0; worst < INFINITY && k < ferry_blob_element_count(out); k++)
        if (memcmp(&mine[k], &theirs[k], sizeof(float)) != 0)
            worst = fmax(worst, fabs((double)mine[k] - (double)theirs[k]) + 1e-300);
    ferry_net_close(n);
    ferry_runtime_close(rt);
    return worst;
}

bool answered(const TRITONBACKEND_Request *r, int net)
{
    return difference(r, net) == 0;
}

bool nearly_answered(const TRITONBACKEND_Request *r, int net)
{
    return difference(r, net) < 1e-5;
}

int fixture_main(int argc, char **argv, const char *suite, const ferry_test_set *sets, size_t n)
{
    char line[300];
    int result;

    if (!mkdtemp(folder))
        return 1;
    result = ferry_test_main_sets(argc, argv, suite, sets, n);
    snprintf(line, sizeof(line), "rm -rf %s", folder);
    return system(line) == 0 ? result : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <ferry/io.h>
#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nets written to files and read back, on each backend. */

static const char text[] =
    "name: 'kept' input: 'x' input_shape { dim: 2 dim: 3 dim: 5 dim: 5 }\n"
    "layer { name: 'labels' type: 'DummyData' top: 'l' include { phase: TRAIN }\n"
    "  dummy_data_param { shape { dim: 2 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' include { phase: TRAIN }\n"
    "  inner_product_param { num_output: 7 } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' param { name: 'w' lr_mult: 2 }\n"
    "  param { name: 'b' } convolution_param { num_output: 3 kernel_size: 3 pad: 1\n"
    "  weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -1 max: 1 } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { pool: MAX\n"
    "  kernel_size: 2 stride: 2 } }\n"
    "layer { name: 'again' type: 'Convolution' bottom: 'p' top: 'a' param { name: 'w' }\n"
    "  param { name: 'b' } convolution_param { num_output: 3 kernel_size: 3 } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'y' include { phase: TEST }\n"
    "  inner_product_param { num_output: 4 weight_filler { type: 'gaussian' std: 0.5 } } }\n";

static ferry_device *dev; /* of the case that runs */

static char folder[] = "/tmp/ferry-save-XXXXXX";
static char path[sizeof folder + 64];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static ferry_net *open_text(const char *prototxt, uint64_t seed)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = prototxt };
    ferry_net *net = NULL;

    o.text_size = strlen(prototxt);
    o.seed = seed;
    FX_OK(ferry_net_open(dev, "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

/* The outputs of a net for a constant input: 2 × 4 values. */
static void answer(ferry_net *net, float out[8])
{
    ferry_blob *x = ferry_net_blob_find(net, "x"), *y = ferry_net_blob_find(net, "y");
    float *to = x ? ferry_blob_overwrite_host_data(x) : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    for (int i = 0; i < 150; i++)
        to[i] = (float)(i * 37 % 19) / 8 - 1;
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(y), 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_blob_host_data(y));
    memcpy(out, ferry_blob_host_data(y), 8 * sizeof *out);
}

static const struct {
    const char *name;
    ferry_io_format format;
} formats[] = {
    { "n.caffemodel", FERRY_IO_CAFFEMODEL },
    { "n.h5", FERRY_IO_HDF5 },
    { "n.safetensors", FERRY_IO_SAFETENSORS },
    { "n.npz", FERRY_IO_NPZ },
};

static void a_net_that_is_loaded_again_computes_the_same_bits(void)
{
    float wanted[8], got[8];
    ferry_net *net, *other;

    dev = fx_device();
    net = open_text(text, 5);
    answer(net, wanted);
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        int err = ferry_net_save(net, in_folder(formats[i].name), formats[i].format);

        if (err == FERRY_EUNSUPPORTED) /* built without HDF5 */
            continue;
        FX_OK(err);
        other = open_text(text, 6);
        answer(other, got);
        CU_ASSERT(memcmp(wanted, got, sizeof got) != 0);
        FX_OK(ferry_net_load(other, path, NULL));
        answer(other, got);
        CU_ASSERT(memcmp(wanted, got, sizeof got) == 0);
        ferry_net_close(other);
    }
    ferry_net_close(net);
    fx_end();
}

static void a_caffemodel_is_a_net_without_its_prototxt(void)
{
    float wanted[8], got[8];
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_net *net, *other = NULL;

    dev = fx_device();
    net = open_text(text, 5);
    answer(net, wanted);
    FX_OK(ferry_net_save(net, in_folder("n.caffemodel"), FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
    FX_OK(ferry_net_open(dev, path, NULL, &other));
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    answer(other, got);
    CU_ASSERT(memcmp(wanted, got, sizeof got) == 0);
    /* once more: a net opened from a caffemodel keeps its definition too */
    FX_OK(ferry_net_save(other, in_folder("m.caffemodel"), FERRY_IO_CAFFEMODEL));
    ferry_net_close(other);
    FX_OK(ferry_net_open(dev, path, NULL, &other));
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    answer(other, got);
    CU_ASSERT(memcmp(wanted, got, sizeof got) == 0);
    FX_OK(ferry_net_get_layer_info(other, 1, &info));
    CU_ASSERT_STRING_EQUAL(info.type, "Convolution");
    ferry_net_close(other);
    fx_end();
}

static int64_t layers_named(const ferry_proto *net, const char *name, const ferry_proto **out)
{
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        if (strcmp(ferry_proto_string(layer, "name", 0, NULL), name) == 0) {
            *out = layer;
            n++;
        }
    }
    return n;
}

static void the_definition_is_complete_except_layers_with_duplicate_names(void)
{
    ferry_net *net;
    const ferry_proto *layer = NULL;
    ferry_proto *file = NULL;

    dev = fx_device();
    net = open_text(text, 5);
    FX_OK(ferry_net_save(net, in_folder("n.caffemodel"), FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
    FX_OK(ferry_proto_open(path, "NetParameter", NULL, &file));
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(file, "name", 0, NULL), "kept");
    /* a layer of another phase, without parameters, is saved with its rule */
    CU_ASSERT_EQUAL_FATAL(layers_named(file, "labels", &layer), 1);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "include"), 1);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "blobs"), 0);
    CU_ASSERT_EQUAL_FATAL(layers_named(file, "ip", &layer), 1);
    CU_ASSERT_EQUAL(
        ferry_proto_integer(ferry_proto_message(layer, "inner_product_param", 0), "num_output", 0),
        4);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "blobs"), 2);
    /* shared parameters are saved with each layer */
    CU_ASSERT_EQUAL_FATAL(layers_named(file, "again", &layer), 1);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "blobs"), 2);
    CU_ASSERT_EQUAL_FATAL(layers_named(file, "c", &layer), 1);
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "blobs"), 2);
    CU_ASSERT_EQUAL(ferry_proto_real(ferry_proto_message(layer, "param", 0), "lr_mult", 0), 2);
    ferry_proto_close(file);
    fx_end();
}

/* ---- two layers of one name ------------------------------------------------------------------ */

static const char twins[] =
    "name: 'twins' input: 'x' input_shape { dim: 1 dim: 2 }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'a'\n"
    "  inner_product_param { num_output: 3 weight_filler { type: 'gaussian' std: 0.5 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'y'\n"
    "  inner_product_param { num_output: 5 weight_filler { type: 'gaussian' std: 0.5 } } }\n";

/* As Caffe, a caffemodel has the blobs of both; the other formats know arrays by name. */
static void layers_of_one_name_are_all_saved_or_refused(void)
{
    static const int64_t counts[] = { 6, 3, 15, 5 };
    const ferry_io_entry *entry;
    ferry_net *net;
    ferry_io *io;

    dev = fx_device();
    net = open_text(twins, 5);
    for (size_t i = 1; i < FERRY_TEST_COUNT(formats); i++)
        FX_FAILS(FERRY_EUNSUPPORTED,
                 ferry_net_save(net, in_folder(formats[i].name), formats[i].format));
    FX_OK(ferry_net_save(net, in_folder(formats[0].name), formats[0].format));
    FX_OK_FATAL(ferry_io_open(path, &io));
    CU_ASSERT_EQUAL_FATAL(ferry_io_entry_count(io), 4);
    for (int i = 0; i < 4; i++) {
        FX_OK_FATAL(ferry_io_entry_at(io, i, &entry));
        CU_ASSERT_STRING_EQUAL(entry->layer_name, "ip");
        CU_ASSERT_EQUAL(entry->count, counts[i]);
    }
    ferry_io_close(io);
    ferry_net_close(net);
    fx_end();
}

static void has_params_of(ferry_net *net, int layer, ferry_net *of, int of_layer)
{
    for (int i = 0; i < 2; i++) {
        const ferry_blob *b = ferry_net_param_at(net, layer, i);
        const float *x = ferry_blob_host_data(b);
        const float *y = ferry_blob_host_data(ferry_net_param_at(of, of_layer, i));

        CU_ASSERT_FATAL(x && y);
        for (int64_t k = 0; k < ferry_blob_element_count(b); k++)
            CU_ASSERT_EQUAL(x[k], y[k]);
    }
}

/* One layer of the net takes the last of the file's, as in Caffe; two take the two, in order. */
static void layers_of_one_name_are_loaded_in_order(void)
{
    const char *last = "input: 'x' input_shape { dim: 1 dim: 3 } layer { name: 'ip' "
                       "type: 'InnerProduct' bottom: 'x' top: 'y' "
                       "inner_product_param { num_output: 5 } }";
    char more[1024];
    ferry_net *net, *other;

    dev = fx_device();
    net = open_text(twins, 5);
    FX_OK_FATAL(ferry_net_save(net, in_folder(formats[0].name), formats[0].format));
    other = open_text(twins, 7);
    FX_OK(ferry_net_load(other, path, NULL));
    has_params_of(other, 1, net, 1);
    has_params_of(other, 2, net, 2);
    ferry_net_close(other);
    other = open_text(last, 7);
    FX_OK(ferry_net_load(other, path, NULL));
    has_params_of(other, 1, net, 2);
    ferry_net_close(other);
    snprintf(more, sizeof more, "%s%s", twins,
             "layer { name: 'ip' type: 'InnerProduct' bottom: 'y' top: 'z' "
             "inner_product_param { num_output: 5 } }");
    other = open_text(more, 7);
    FX_FAILS(FERRY_ESHAPE, ferry_net_load(other, path, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "2 layers with the name \"ip\""));
    ferry_net_close(other);
    ferry_net_close(net);
    fx_end();
}

static char heard[4096];

static void hear(void *arg, int level, const char *line)
{
    size_t used = strlen(heard);

    (void)arg;
    if (level == FERRY_LOG_WARN)
        snprintf(heard + used, sizeof heard - used, "%s\n", line);
}

static void a_field_without_a_number_is_omitted_and_named(void)
{
    ferry_net *net;
    const ferry_proto *layer = NULL;
    ferry_proto *file = NULL;

    dev = fx_device();
    net = open_text("input: 'x' input_shape { dim: 1 dim: 4 dim: 5 dim: 5 }\n"
                    "layer { name: 'p' type: 'ShuffleChannel' bottom: 'x' top: 'y'\n"
                    "  shuffle_channel_param { group: 2 } }\n",
                    0);
    heard[0] = 0;
    ferry_log_set_handler(hear, NULL);
    FX_OK(ferry_net_save(net, in_folder("n.caffemodel"), FERRY_IO_CAFFEMODEL));
    ferry_log_set_handler(NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(heard, "shuffle_channel_param of a LayerParameter"));
    CU_ASSERT_PTR_NOT_NULL(strstr(heard, "net.prototxt:3:"));
    ferry_net_close(net);
    FX_OK(ferry_proto_open(path, "NetParameter", NULL, &file));
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(layers_named(file, "p", &layer), 1);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "top", 0, NULL), "y");
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "shuffle_channel_param"), 0);
    ferry_proto_close(file);
    fx_end();
}

static void a_failed_save_keeps_the_old_file(void)
{
    float wanted[8], got[8];
    ferry_net *net, *other = NULL;

    dev = fx_device();
    net = open_text(text, 5);
    answer(net, wanted);
    FX_OK(ferry_net_save(net, in_folder("n.caffemodel"), FERRY_IO_CAFFEMODEL));
    FX_FAILS(FERRY_EINVAL, ferry_net_save(net, path, FERRY_IO_NPY));
    FX_FAILS(FERRY_EINVAL, ferry_net_save(net, NULL, FERRY_IO_NPZ));
    FX_FAILS(FERRY_EINVAL, ferry_net_save(NULL, path, FERRY_IO_NPZ));
    FX_FAILS(FERRY_EIO, ferry_net_save(net, "/nowhere/n.caffemodel", FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
    FX_OK(ferry_net_open(dev, path, NULL, &other));
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    answer(other, got);
    CU_ASSERT(memcmp(wanted, got, sizeof got) == 0);
    ferry_net_close(other);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_net_that_is_loaded_again_computes_the_same_bits),
    FERRY_TEST(a_caffemodel_is_a_net_without_its_prototxt),
    FERRY_TEST(the_definition_is_complete_except_layers_with_duplicate_names),
    FERRY_TEST(a_field_without_a_number_is_omitted_and_named),
    FERRY_TEST(layers_of_one_name_are_all_saved_or_refused),
    FERRY_TEST(layers_of_one_name_are_loaded_in_order),
    FERRY_TEST(a_failed_save_keeps_the_old_file),
};

int main(int argc, char **argv)
{
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main_backends(argc, argv, "net save", cases, FERRY_TEST_COUNT(cases));
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++)
        unlink(in_folder(formats[i].name));
    unlink(in_folder("m.caffemodel"));
    rmdir(folder);
    return status;
}

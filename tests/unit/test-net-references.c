/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Reference results of other implementations: OpenCV 4.14 for nets with layers that Caffe lacks,
 * detection layers among them, and Caffe for single layers, from OpenCV's own tests.
 */

#define TOLERANCE 1e-4

/*
 * The input is the array with that name in a file, or the file's only array; the outputs are the
 * other arrays, or the one of another file.
 */
static const struct reference {
    const char *prototxt, *weights, *in_file, *in_array, *out_file;
    bool large; /* skipped under a sanitizer or valgrind */
} references[] = {
    { "wechat_detect/detect.prototxt", "wechat_detect/detect.caffemodel",
      "wechat_detect/detect.opencv_ref.npz", "input", "wechat_detect/detect.opencv_ref.npz", true },
    { "ultraface/RFB-320.prototxt", "ultraface/RFB-320.caffemodel", "ultraface/cv.npz",
      "input/input", "ultraface/RFB-320.opencv.npz", true },
    { "wechat_sr/sr.prototxt", "wechat_sr/sr.caffemodel", "wechat_sr/cv.npz", "input/data",
      "wechat_sr/sr.opencv.npz", true },
    { "squeezenet_dc/SqueezeNet_deploy.prototxt",
      "squeezenet_dc/squeezenet_v1.0_decoded.caffemodel", "squeezenet_dc/cv.npz", "input/data",
      "squeezenet_dc/squeezenet_v1.0_decoded.opencv.npz", true },
#define LAYER(name, weights, in)                                                             \
    {                                                                                        \
        "opencv_caffe_refs/layer_" name ".prototxt", weights, "opencv_caffe_refs/" in, NULL, \
            "opencv_caffe_refs/layer_" name ".npy", false                                    \
    }
    LAYER("convolution", "opencv_caffe_refs/layer_convolution.caffemodel", "blob.npy"),
    LAYER("deconvolution", "opencv_caffe_refs/layer_deconvolution.caffemodel",
          "layer_deconvolution.input.npy"),
    LAYER("inner_product", "opencv_caffe_refs/layer_inner_product.caffemodel", "blob.npy"),
    LAYER("lrn_channels", NULL, "blob.npy"),
    LAYER("lrn_spatial", NULL, "blob.npy"),
    LAYER("mvn", NULL, "blob.npy"),
    LAYER("pooling_ave", NULL, "blob.npy"),
    LAYER("pooling_max", NULL, "blob.npy"),
    LAYER("softmax", NULL, "blob.npy"),
#undef LAYER
};

/*
 * The path of a file in nets/, which the caller frees; NULL, and the case is skipped, if the file
 * is missing.
 */
static char *path_of(const char *name)
{
    char relative[512];
    const char *found;

    snprintf(relative, sizeof relative, "nets/%s", name);
    found = ferry_test_data(relative);
    return found ? strdup(found) : NULL;
}

static ferry_io *open_file(const char *name)
{
    char *path = path_of(name);
    ferry_io *io = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    CU_ASSERT_EQUAL_FATAL(ferry_io_open(path, &io), FERRY_OK);
    free(path);
    return io;
}

/* The array with that name, or the only array of a file without names. */
static const ferry_io_entry *array_of(ferry_io *io, const char *name)
{
    const ferry_io_entry *entry = NULL;

    if (name)
        entry = nd_find(io, name);
    else
        CU_ASSERT_EQUAL(ferry_io_entry_at(io, 0, &entry), FERRY_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return entry;
}

static bool feed(ferry_net *net, const struct reference *r)
{
    ferry_io *io = open_file(r->in_file);

    CU_ASSERT_EQUAL_FATAL(ferry_net_input_count(net), 1);
    nd_fill(io, array_of(io, r->in_array), ferry_net_input_at(net, 0));
    ferry_io_close(io);
    return true;
}

/*
 * OpenCV returns keep_top_k rows and fills those without a detection with zeros; ferry returns the
 * detections only.
 */
static bool same_rows(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b)
{
    int64_t rows = entry->count / 7, ours = ferry_blob_dim(b, 2), i;
    const float *got = ferry_blob_host_data(b);
    float *expected = malloc((size_t)entry->count * sizeof *expected);
    bool same = ours > 0 && ours <= rows;

    CU_ASSERT_FATAL(got && expected);
    CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, entry->count, expected), FERRY_OK);
    for (i = 0; same && i < rows * 7; i++)
        same = i < ours * 7 ? fabsf(got[i] - expected[i]) <= TOLERANCE : expected[i] == 0;
    if (!same)
        printf("     %s: %lld rows, and the %lldth number is another one\n", entry->name,
               (long long)ours, (long long)i);
    free(expected);
    return same;
}

static bool compare(ferry_net *net, const struct reference *r)
{
    ferry_io *io = open_file(r->out_file);
    bool good = true;

    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *entry = NULL;
        ferry_blob *b;

        CU_ASSERT_EQUAL_FATAL(ferry_io_entry_at(io, i, &entry), FERRY_OK);
        if (r->in_array && !strcmp(entry->name, r->in_array))
            continue;
        b = ferry_net_output_count(net) == 1 ? ferry_net_output_at(net, 0)
                                             : ferry_net_blob_find(net, entry->name);
        if (b && !strcmp(entry->name, "detection_output"))
            good = same_rows(io, entry, b) && good;
        else
            good = b && nd_same(io, entry, b, TOLERANCE, r->prototxt) && good;
    }
    ferry_io_close(io);
    return good;
}

static bool check(const struct reference *r, const char *prototxt, const char *weights)
{
    ferry_net *net = NULL;
    bool good = !ferry_net_open(fx_device(), prototxt, NULL, &net) &&
                (!weights || !ferry_net_load(net, weights, NULL)) && feed(net, r) &&
                !ferry_net_forward(net, NULL);

    if (good)
        good = compare(net, r);
    else
        printf("     %s: %s\n", r->prototxt, ferry_last_error());
    printf("     %s: %.1e of the largest\n", r->prototxt, nd_worst());
    ferry_net_close(net);
    fx_end();
    return good;
}

static void published_results_are_reproduced(void)
{
    size_t good = 0, tried = 0;

    if (ferry_test_skip_variant() || ferry_test_skip_slow_device())
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(references); i++) {
        const struct reference *r = &references[i];
        char *prototxt, *weights;

        if (r->large && ferry_test_is_slow())
            continue;
        prototxt = path_of(r->prototxt);
        if (!prototxt)
            return;
        weights = r->weights ? path_of(r->weights) : NULL;
        tried++;
        good += check(r, prototxt, weights);
        free(prototxt);
        free(weights);
    }
    CU_ASSERT_EQUAL(good, tried);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(published_results_are_reproduced),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net references", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net-data.h"

#include <stdlib.h>
#include <string.h>

/*
 * Trained LeNets from other sources on MNIST's 10,000 test images: the number of correct images
 * equals Caffe's, and is the same on every device. Devices other than the CPU classify the first
 * thousand images, or all with FERRY_TEST_LONG=1.
 */

#define BATCH 500
#define ALL   10000
#define FEW   1000

static const struct {
    const char *prototxt, *weights;
    int64_t right, right_of_few; /* the second is the CPU's result */
} lenets[] = {
    { "nets/lenet/lenet.prototxt", "nets/lenet/lenet_iter_10000.caffemodel", 9914, 990 },
    { "nets/lenet_everpeace/lenet.prototxt", "nets/lenet_everpeace/lenet_iter_10000.caffemodel",
      9905, 990 },
    { "nets/lenet_everpeace/lenet.prototxt", "nets/lenet_everpeace/lenet_iter_5000.caffemodel",
      9893, 989 },
};

/* The images, stored in three files, in their order. */
static const char *const files[] = { "nets/train/train_a.h5", "nets/train/train_b.h5",
                                     "nets/train/test.h5" };

struct images {
    ferry_blob *pixels, *labels; /* F32 */
};

static bool read_file(const char *path, struct images *out)
{
    ferry_io *io = NULL;

    out->pixels = FX_BLOB(FERRY_F32, 1);
    out->labels = FX_BLOB(FERRY_F32, 1);
    CU_ASSERT_EQUAL_FATAL(ferry_io_open(path, &io), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_io_read(io, nd_find(io, "data"), out->pixels), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_io_read(io, nd_find(io, "label"), out->labels), FERRY_OK);
    ferry_io_close(io);
    return true;
}

static int64_t largest_of(const float *row, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

/* How many of images first … first + n − 1 the net classifies correctly; −1 on failure. */
static int64_t right_of(ferry_net *net, const struct images *images, int64_t first, int64_t n)
{
    const float *pixels = ferry_blob_host_data(images->pixels), *labels, *scores;
    ferry_blob *input = ferry_net_input_at(net, 0);
    int64_t right = 0;
    float *to = NULL;

    if (!ferry_blob_reshape(input, (int64_t[]){ n, 1, 28, 28 }, 4, NULL))
        to = ferry_blob_overwrite_host_data(input);
    labels = ferry_blob_host_data(images->labels);
    if (!to || !pixels || !labels)
        return -1;
    memcpy(to, pixels + first * 784, (size_t)n * 784 * sizeof(*to));
    if (ferry_net_forward(net, NULL))
        return -1;
    scores = ferry_blob_host_data(ferry_net_output_at(net, 0));
    for (int64_t i = 0; scores && i < n; i++)
        right += largest_of(scores + i * 10, 10) == (int64_t)labels[first + i];
    return scores ? right : -1;
}

static int64_t how_many(void)
{
    return !strcmp(ferry_test_backend(), "cpu") || getenv("FERRY_TEST_LONG") ? ALL : FEW;
}

static int64_t right_among(ferry_net *net, const struct images *images, int64_t most, int64_t *seen)
{
    int64_t right = 0;

    for (size_t f = 0; f < FERRY_TEST_COUNT(files); f++) {
        int64_t count = ferry_blob_dim(images[f].pixels, 0);

        for (int64_t first = 0; first < count && *seen < most; first += BATCH) {
            int64_t n = count - first < BATCH ? count - first : BATCH;
            int64_t now = right_of(net, &images[f], first, n);

            if (now < 0) {
                printf("     %s\n", ferry_last_error());
                return -1;
            }
            right += now;
            *seen += n;
        }
    }
    return right;
}

static void check_lenet(const struct images *images, size_t i)
{
    const char *path = ferry_test_data(lenets[i].prototxt);
    ferry_net *net = NULL;
    int64_t right, seen = 0, most = how_many();
    int64_t wanted = most == ALL ? lenets[i].right : lenets[i].right_of_few;

    if (!path)
        return;
    FX_OK_FATAL(ferry_net_open(fx_device(), path, NULL, &net));
    path = ferry_test_data(lenets[i].weights);
    if (path)
        FX_OK_FATAL(ferry_net_load(net, path, NULL));
    right = path ? right_among(net, images, most, &seen) : wanted;
    printf("     %s: %lld of %lld right\n", lenets[i].weights, (long long)right, (long long)seen);
    CU_ASSERT_EQUAL(seen, path ? most : 0);
    CU_ASSERT_EQUAL(right, wanted);
    ferry_net_close(net);
}

static void lenet_classifies_as_many_digits_correctly_as_caffe(void)
{
    struct images images[FERRY_TEST_COUNT(files)] = { { NULL, NULL } };
    bool there = true;

    if (ferry_test_is_slow() || getenv("FERRY_TEST_QUICK")) {
        ferry_test_skip("it takes too long here");
        return;
    }
    fx_device();
    for (size_t f = 0; there && f < FERRY_TEST_COUNT(files); f++) {
        const char *path = ferry_test_data(files[f]);

        there = path && read_file(path, &images[f]);
    }
    for (size_t i = 0; there && i < FERRY_TEST_COUNT(lenets); i++)
        check_lenet(images, i);
    for (size_t f = 0; f < FERRY_TEST_COUNT(files); f++) {
        ferry_blob_destroy(images[f].pixels);
        ferry_blob_destroy(images[f].labels);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(lenet_classifies_as_many_digits_correctly_as_caffe),
};

/* The options of a plugin do not change these counts: each device is used once. */
static void drop_variants(void)
{
    const char *given = getenv("FERRY_TEST_BACKENDS");
    char kept[512] = "", copy[2048], *rest = copy, *word;

    snprintf(copy, sizeof(copy), "%s", given ? given : "");
    while ((word = strtok_r(rest, " ", &rest)))
        if (!strchr(word, '['))
            snprintf(kept + strlen(kept), sizeof(kept) - strlen(kept), "%s ", word);
    if (*kept)
        setenv("FERRY_TEST_BACKENDS", kept, 1);
}

int main(int argc, char **argv)
{
    drop_variants();
    return ferry_test_main_backends(argc, argv, "net mnist", cases, FERRY_TEST_COUNT(cases));
}

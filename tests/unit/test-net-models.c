/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Published models compared with Caffe's results: MODEL/CASE.npz holds input/NAME, and blob/NAME
 * after the forward pass.
 */

#define TOLERANCE 1e-4

struct model {
    const char *folder, *prototxt, *weights, *numbers;
    bool large; /* skipped under a sanitizer or valgrind */
};

static const struct model models[] = {
    { "lenet", "lenet.prototxt", "lenet_iter_10000.caffemodel", "mnist16", false },
    { "lenet", "lenet.prototxt", "lenet_iter_10000.caffemodel", "cv", false },
    { "lenet_everpeace", "lenet.prototxt", "lenet_iter_10000.caffemodel", "mnist4_10000", false },
    { "lenet_everpeace", "lenet.prototxt", "lenet_iter_10000.caffemodel", "cv", false },
    { "cifar10_quick", "cifar10_quick.prototxt", "cifar10_quick_iter_5000.caffemodel", "rand4",
      false },
    { "cifar10_quick", "cifar10_quick.prototxt", "cifar10_quick_iter_5000.caffemodel", "cv",
      false },
    { "mtcnn", "det1.prototxt", "det1.caffemodel", "det1", false },
    { "mtcnn", "det1.prototxt", "det1.caffemodel", "det1_cv", false },
    { "mtcnn", "det2.prototxt", "det2.caffemodel", "det2", false },
    { "mtcnn", "det2.prototxt", "det2.caffemodel", "det2_cv", false },
    { "mtcnn", "det3.prototxt", "det3.caffemodel", "det3", true },
    { "mtcnn", "det3.prototxt", "det3.caffemodel", "det3_cv", true },
    { "mtcnn", "det4.prototxt", "det4.caffemodel", "det4", true },
    { "mtcnn", "det4.prototxt", "det4.caffemodel", "det4_cv", true },
    { "squeezenet_dc", "SqueezeNet_deploy.prototxt", "squeezenet_v1.0_decoded.caffemodel",
      "rand_64", true },
    { "squeezenet_dc", "SqueezeNet_deploy.prototxt", "squeezenet_v1.0_decoded.caffemodel", "cat",
      true },
    { "squeezenet_dc", "SqueezeNet_deploy.prototxt", "squeezenet_v1.0_decoded.caffemodel", "cv",
      true },
    { "ultraface", "RFB-320.stock.prototxt", "RFB-320.caffemodel", "rand_small", true },
    { "ultraface", "RFB-320.stock.prototxt", "RFB-320.caffemodel", "cv", true },
    { "wechat_sr", "sr.prototxt", "sr.caffemodel", "rand_small", true },
    { "wechat_sr", "sr.prototxt", "sr.caffemodel", "cv", true },
};

/* The path of MODEL/NAME in the data folder; false if it cannot be read. */
static bool find_file(const struct model *m, const char *name, const char *suffix, char path[1024])
{
    const char *folder = getenv("FERRY_TEST_DATA");

    snprintf(path, 1024, "%s/nets/%s/%s%s", folder ? folder : "", m->folder, name, suffix);
    return folder && access(path, R_OK) == 0;
}

static bool failed(const struct model *m)
{
    printf("     %s/%s: %s\n", m->folder, m->numbers, ferry_last_error());
    return false;
}

static bool feed(ferry_net *net, ferry_io *io, const struct model *m)
{
    const ferry_io_entry *entry;
    bool good = true;

    ferry_io_rewind(io);
    while (!ferry_io_next(io, &entry) && entry) {
        ferry_blob *b;

        if (strncmp(entry->name, "input/", 6) != 0)
            continue;
        b = ferry_net_blob_find(net, entry->name + 6);
        if (b)
            nd_fill(io, entry, b);
        else
            good = failed(m);
    }
    return good;
}

static bool is_output(const ferry_net *net, const char *name)
{
    for (int i = 0; i < ferry_net_output_count(net); i++)
        if (!strcmp(ferry_blob_name(ferry_net_output_at(net, i)), name))
            return true;
    return false;
}

/* Every blob that the net makes visible; the outputs are among them. */
static bool compare(ferry_net *net, ferry_io *io, const struct model *m, bool all)
{
    const ferry_io_entry *entry;
    char what[128];
    bool good = true;
    int compared = 0;

    snprintf(what, sizeof(what), "%s/%s", m->folder, m->numbers);
    ferry_io_rewind(io);
    while (!ferry_io_next(io, &entry) && entry) {
        ferry_blob *b;

        if (strncmp(entry->name, "blob/", 5) != 0)
            continue;
        b = ferry_net_blob_find(net, entry->name + 5);
        if (!b) {
            if (all || is_output(net, entry->name + 5))
                good = failed(m);
            continue;
        }
        good = nd_same(io, entry, b, TOLERANCE, what) && good;
        if (is_output(net, entry->name + 5))
            good = nd_same_argmax(io, entry, b, what) && good;
        compared++;
    }
    CU_ASSERT(compared > 0);
    return good;
}

static bool check_net(const struct model *m, const char *net_path, const char *weights,
                      ferry_io *io, bool all)
{
    const char *const keep[] = { "*" };
    ferry_net_options o = { .struct_size = sizeof(o), .keep = keep, .keep_count = all };
    ferry_net *net = NULL;
    bool good = true;

    if (ferry_net_open(fx_device(), net_path, &o, &net))
        return failed(m);
    if (ferry_net_load(net, weights, NULL))
        good = failed(m);
    good = good && feed(net, io, m);
    if (good && ferry_net_forward(net, NULL))
        good = failed(m);
    good = good && compare(net, io, m, all);
    printf("     %s/%s: %.1e of the largest\n", m->folder, m->numbers, nd_worst());
    ferry_net_close(net);
    fx_end();
    return good;
}

typedef bool (*check_fn)(const struct model *m, const char *net_path, const char *weights,
                         ferry_io *io);

static void check_models(check_fn check)
{
    size_t good = 0, tried = 0;

    for (size_t i = 0; i < FERRY_TEST_COUNT(models); i++) {
        const struct model *m = &models[i];
        char net[1024], weights[1024], numbers[1024];
        ferry_io *io = NULL;

        if (m->large && ferry_test_is_slow())
            continue;
        if (!find_file(m, m->prototxt, "", net) || !find_file(m, m->weights, "", weights) ||
            !find_file(m, m->numbers, ".npz", numbers)) {
            printf("     %s/%s: not tried, its files are not there\n", m->folder, m->numbers);
            continue;
        }
        tried++;
        CU_ASSERT_EQUAL_FATAL(ferry_io_open(numbers, &io), FERRY_OK);
        good += check(m, net, weights, io);
        ferry_io_close(io);
    }
    if (!tried)
        ferry_test_skip("FERRY_TEST_DATA has none of the models");
    printf("     %zu of %zu models on %s\n", good, tried, ferry_test_backend());
    CU_ASSERT_EQUAL(good, tried);
}

static bool check_bare(const struct model *m, const char *net, const char *weights, ferry_io *io)
{
    return check_net(m, net, weights, io, true);
}

static bool check_fused(const struct model *m, const char *net, const char *weights, ferry_io *io)
{
    return check_net(m, net, weights, io, false);
}

static void every_blob_of_a_model_matches_caffe(void)
{
    if (ferry_test_skip_variant() || ferry_test_skip_slow_device())
        return;
    check_models(check_bare);
}

static void a_planned_and_fused_model_computes_the_same(void)
{
    if ((ferry_test_is_shortest() || !strcmp(ferry_test_backend(), "opencl")) &&
        ferry_test_skip_variant())
        return;
    if (ferry_test_skip_slow_device())
        return;
    check_models(check_fused);
}

/* ---- ten images at once ---------------------------------------------------------------------- */

#define TEN 10

/* Repeats the images of an entry until there are ten. */
static void fill_ten(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b)
{
    int64_t shape[FERRY_MAX_AXES], items = entry->shape[0], each = entry->count / items;
    float *to;

    memcpy(shape, entry->shape, (size_t)entry->rank * sizeof *shape);
    shape[0] = TEN;
    FX_OK(ferry_blob_reshape(b, shape, entry->rank, NULL));
    to = ferry_blob_overwrite_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < TEN; i++)
        FX_OK(ferry_io_read_values(io, entry, i % items * each, each, to + i * each));
}

/* Whether each of the ten results equals Caffe's result for the one image. */
static bool same_ten(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b,
                     const struct model *m)
{
    int64_t items = entry->shape[0], each = entry->count / items;
    const float *got = ferry_blob_host_data(b);
    float *expected = malloc((size_t)entry->count * sizeof *expected);
    double worst = 0, largest = 0;

    CU_ASSERT_FATAL(got && expected && ferry_blob_element_count(b) == TEN * each);
    FX_OK(ferry_io_read_values(io, entry, 0, entry->count, expected));
    for (int64_t i = 0; i < TEN * each; i++) {
        double e = (double)expected[i % entry->count];

        largest = fmax(largest, fabs(e));
        worst = fmax(worst, fabs((double)got[i] - e));
    }
    free(expected);
    if (worst > TOLERANCE * largest)
        printf("     %s/%s: %s of ten: %.2g of the largest\n", m->folder, m->numbers, entry->name,
               worst / largest);
    return worst <= TOLERANCE * largest;
}

static bool feed_or_compare_ten(const struct model *m, ferry_net *net, ferry_io *io, bool comparing)
{
    const char *prefix = comparing ? "blob/" : "input/";
    size_t length = strlen(prefix);
    const ferry_io_entry *entry;
    bool good = true;

    ferry_io_rewind(io);
    while (!ferry_io_next(io, &entry) && entry) {
        const char *name = entry->name + length;

        if (strncmp(entry->name, prefix, length) != 0)
            continue;
        if (!comparing)
            fill_ten(io, entry, ferry_net_blob_find(net, name));
        else if (is_output(net, name))
            good = same_ten(io, entry, ferry_net_blob_find(net, name), m) && good;
    }
    return good;
}

/* The entries with small images, for which ten images take less than a minute. */
static bool check_ten(const struct model *m, const char *path, const char *weights, ferry_io *io)
{
    ferry_net *net = NULL;
    bool good;

    if (*m->numbers == 'c' || strstr(m->numbers, "_cv"))
        return true;
    if (ferry_net_open(fx_device(), path, NULL, &net))
        return failed(m);
    good = !ferry_net_load(net, weights, NULL) && feed_or_compare_ten(m, net, io, false) &&
           !ferry_net_forward(net, NULL);
    good = good ? feed_or_compare_ten(m, net, io, true) : failed(m);
    ferry_net_close(net);
    fx_end();
    return good;
}

static void a_batch_of_ten_images_equals_ten_single_images(void)
{
    if (ferry_test_skip_variant() || ferry_test_skip_slow_device())
        return;
    check_models(check_ten);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_blob_of_a_model_matches_caffe),
    FERRY_TEST(a_planned_and_fused_model_computes_the_same),
    FERRY_TEST(a_batch_of_ten_images_equals_ten_single_images),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net models", cases, FERRY_TEST_COUNT(cases));
}

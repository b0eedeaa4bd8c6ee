/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net-data.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Caffe's backward results for every case of test-layer-cases: from topN_diff, if it was given, to
 * bottomN_diff and paramN_diff. Their force_backward reaches everything that can be differentiated.
 */

#define TOLERANCE 1e-5

struct layer_case {
    const char *name;
    ferry_net *net;
    ferry_io *io;
    int layer;
    int compared; /* diffs */
    bool good;
};

static const ferry_io_entry *entry_of(const struct layer_case *c, const char *format, int index)
{
    char key[64];

    snprintf(key, sizeof(key), format, index);
    return nd_find(c->io, key);
}

static ferry_blob *blob_of(const struct layer_case *c, char letter, int index)
{
    char name[32];

    snprintf(name, sizeof(name), "%c%d", letter, index);
    return ferry_net_blob_find(c->net, name);
}

/* The top of the layer, which is bottom 0 if it works in place. */
static ferry_blob *top_of(const struct layer_case *c, int index)
{
    ferry_blob *top = blob_of(c, 'y', index);

    return top ? top : blob_of(c, 'x', index);
}

static bool fail(struct layer_case *c)
{
    printf("     %s: %s\n", c->name, ferry_last_error());
    c->good = false;
    return false;
}

/* The K-th inputs; false after the last. */
static bool set_bottoms(const struct layer_case *c, int run)
{
    const ferry_io_entry *entry;
    char format[32];
    int i;

    snprintf(format, sizeof(format), "bottom%%d_run%d", run);
    if (run > 1 && !entry_of(c, format, 0))
        return false;
    for (i = 0;; i++) {
        entry = entry_of(c, format, i);
        entry = entry ? entry : entry_of(c, "bottom%d", i);
        if (!entry)
            return true;
        nd_fill(c->io, entry, blob_of(c, 'x', i));
    }
}

static bool run_forward(struct layer_case *c)
{
    const ferry_io_entry *entry;
    int i;

    for (i = 0; (entry = entry_of(c, "param%d", i)); i++)
        nd_fill(c->io, entry, ferry_net_param_at(c->net, c->layer, i));
    for (i = 1; set_bottoms(c, i); i++)
        if (ferry_net_forward(c->net, NULL))
            return fail(c);
    return true;
}

/* A loss's tops keep the weights that the net gave their diffs. */
static bool run_backward(struct layer_case *c)
{
    const ferry_io_entry *entry;
    int i;

    for (i = 0; (entry = entry_of(c, "top%d_diff", i)); i++)
        if (ferry_layer_loss_weight(ferry_net_layer_at(c->net, c->layer), i) == 0)
            nd_fill_diff(c->io, entry, top_of(c, i));
    return ferry_net_backward(c->net) ? fail(c) : true;
}

/*
 * HingeLoss keeps its margins in the bottom's diff between forward and backward; in these cases
 * other values had been written there, so that all margins count as positive. Those results are
 * correct where the margin is positive, and 0 elsewhere.
 */
static bool check_hinge(const struct layer_case *c)
{
    const ferry_io_entry *entry = entry_of(c, "bottom0_diff", 0);
    const ferry_blob *x = blob_of(c, 'x', 0);
    int64_t n = ferry_blob_element_count(x);
    const float *values = ferry_blob_host_data(x), *got = ferry_blob_host_diff(x);
    float *expected = calloc((size_t)n, sizeof(*expected));
    bool good = true;

    CU_ASSERT_FATAL(expected && values && got && entry && entry->count == n);
    FX_OK(ferry_io_read_values(c->io, entry, 0, n, expected));
    for (int64_t i = 0; i < n; i++) {
        float margin = 1 + (expected[i] > 0 ? values[i] : -values[i]);

        good = good && fabsf(got[i] - (margin > 0 ? expected[i] : 0)) < 1e-6f;
    }
    free(expected);
    return good;
}

static void check_bottoms(struct layer_case *c)
{
    const ferry_io_entry *entry;
    int i;

    for (i = 0; entry_of(c, "bottom%d", i); i++) {
        entry = entry_of(c, "bottom%d_diff", i);
        if (!entry)
            continue;
        c->compared++;
        if (!strncmp(c->name, "HingeLoss_l1", 12))
            c->good = check_hinge(c) && c->good;
        else
            c->good = nd_same_diff(c->io, entry, blob_of(c, 'x', i), TOLERANCE, c->name) && c->good;
    }
}

static void check_params(struct layer_case *c)
{
    const ferry_io_entry *entry;
    int i;

    for (i = 0; (entry = entry_of(c, "param%d_diff", i)); i++, c->compared++)
        c->good = nd_same_diff(c->io, entry, ferry_net_param_at(c->net, c->layer, i), TOLERANCE,
                               c->name) &&
                  c->good;
}

/* Scale's factor: without axes to sum over before its own, Caffe overwrites it. */
static bool accumulates(const struct layer_case *c, int param)
{
    return param || (strncmp(c->name, "Scale_axis0.", 12) && strncmp(c->name, "Scale_all.", 10));
}

/* The remainder of `before` after backward has accumulated its opposite. */
static bool is_gone(const struct layer_case *c, int param, double before)
{
    double sum = -1;

    FX_OK(ferry_blob_asum_diff(ferry_net_param_at(c->net, c->layer, param), &sum));
    return sum >= 0 && sum <= before * TOLERANCE;
}

/* A second backward accumulates into the diffs of parameters. */
static void check_accumulation(struct layer_case *c)
{
    int n = ferry_net_param_count(c->net, c->layer), i;
    double sums[8] = { 0 };

    CU_ASSERT_FATAL(n <= 8);
    for (i = 0; i < n; i++) {
        FX_OK(ferry_blob_asum_diff(ferry_net_param_at(c->net, c->layer, i), &sums[i]));
        FX_OK(ferry_blob_scale_diff(ferry_net_param_at(c->net, c->layer, i), -1));
    }
    if (!n || !run_backward(c))
        return;
    for (i = 0; i < n; i++)
        if (accumulates(c, i) && !is_gone(c, i, sums[i])) {
            printf("     %s: parameter %d does not accumulate\n", c->name, i);
            c->good = false;
        }
    if (!accumulates(c, 0))
        c->good = nd_same_diff(c->io, entry_of(c, "param%d_diff", 0),
                               ferry_net_param_at(c->net, c->layer, 0), TOLERANCE, c->name) &&
                  c->good;
}

/* The prototxt with force_backward, which Caffe's could not have with an infogain matrix. */
static char *read_forced(const char *path)
{
    static const char force[] = "force_backward: true\n";
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);

    CU_ASSERT_FATAL(file && text);
    strcpy(text, force);
    CU_ASSERT(fread(text + strlen(force), 1, (1 << 16) - sizeof(force), file) > 0);
    fclose(file);
    if (strstr(text + strlen(force), "force_backward:"))
        memset(text, ' ', strlen(force) - 1);
    return text;
}

static bool check_case(const char *path, int *compared)
{
    ferry_net_options options = { .struct_size = sizeof(options), .backward = 1 };
    char *text = read_forced(path);
    struct layer_case c = { .good = true };
    ferry_device *dev = fx_device();
    char data[1024];
    int err;

    snprintf(data, sizeof(data), "%.*s.npz", (int)(strrchr(path, '.') - path), path);
    c.name = strrchr(path, '/') + 1;
    options.text = text;
    options.text_size = strlen(text);
    err = ferry_io_open(data, &c.io);
    if (!err)
        err = ferry_net_open(dev, path, &options, &c.net);
    c.layer = err ? -1 : nd_layer(c.net, "l");
    if (err) {
        fail(&c);
    } else if (run_forward(&c) && run_backward(&c)) {
        check_bottoms(&c);
        check_params(&c);
        check_accumulation(&c);
    }
    ferry_net_close(c.net);
    ferry_io_close(c.io);
    fx_end();
    free(text);
    *compared += c.compared;
    return c.good;
}

static void gradients_of_each_layer_match_caffe(void)
{
    const char *folder = getenv("FERRY_TEST_DATA");
    size_t good = 0;
    int compared = 0;
    glob_t cases;
    char path[1024];

    snprintf(path, sizeof(path), "%s/nets/layers/*.prototxt", folder ? folder : "");
    if (!folder || glob(path, 0, NULL, &cases) != 0) {
        ferry_test_skip("FERRY_TEST_DATA has no nets/layers");
        return;
    }
    for (size_t i = 0; i < cases.gl_pathc; i++)
        good += check_case(cases.gl_pathv[i], &compared);
    printf("     %zu of %zu cases, %d diffs, on %s\n", good, cases.gl_pathc, compared,
           ferry_test_backend());
    CU_ASSERT(compared > 0);
    CU_ASSERT_EQUAL(good, cases.gl_pathc);
    globfree(&cases);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(gradients_of_each_layer_match_caffe),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layers backward", cases, FERRY_TEST_COUNT(cases));
}

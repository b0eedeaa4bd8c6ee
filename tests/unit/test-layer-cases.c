/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net-data.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every layer case that Caffe computed: nets/layers/TYPE_CASE.prototxt, in which the layer is "l",
 * its bottoms x0, x1, …, its tops y0, y1, … or x0 in place; and TYPE_CASE.npz with bottomN, paramN,
 * topN, those of the K-th of several runs under NAME_runK, and paramN_after.
 */

#define TOLERANCE 1e-5

struct layer_case {
    const char *name;
    ferry_net *net;
    ferry_io *io;
    bool good;
};

/* NAME0_runK if it exists, else NAME0 if `last` or there are no runs. */
static const ferry_io_entry *of_run(const struct layer_case *c, const char *name, int index,
                                    int run, bool plain)
{
    const ferry_io_entry *entry;
    char key[64];

    snprintf(key, sizeof(key), "%s%d_run%d", name, index, run);
    entry = nd_find(c->io, key);
    if (entry || !plain)
        return entry;
    snprintf(key, sizeof(key), "%s%d", name, index);
    return nd_find(c->io, key);
}

static void set_params(struct layer_case *c)
{
    int layer = nd_layer(c->net, "l"), i;

    CU_ASSERT(layer >= 0);
    for (i = 0;; i++) {
        const ferry_io_entry *entry = of_run(c, "param", i, 0, true);
        ferry_blob *param = ferry_net_param_at(c->net, layer, i);

        if (!entry != !param) {
            printf("     %s: parameter %d is %s\n", c->name, i, param ? "too much" : "missing");
            c->good = false;
        }
        if (!entry || !param)
            return;
        if (ferry_blob_rank(param) != entry->rank ||
            (entry->rank && memcmp(ferry_blob_shape(param), entry->shape,
                                   (size_t)entry->rank * sizeof(int64_t)))) {
            printf("     %s: parameter %d has another shape\n", c->name, i);
            c->good = false;
            return;
        }
        nd_fill(c->io, entry, param);
    }
}

static void set_bottoms(const struct layer_case *c, int run)
{
    const ferry_io_entry *entry;
    char name[32];
    int i;

    for (i = 0; (entry = of_run(c, "bottom", i, run, true)); i++) {
        snprintf(name, sizeof(name), "x%d", i);
        nd_fill(c->io, entry, ferry_net_blob_find(c->net, name));
    }
}

static void check_tops(struct layer_case *c, int run, bool last)
{
    const ferry_io_entry *entry;
    char name[32];
    int i;

    for (i = 0; (entry = of_run(c, "top", i, run, last)); i++) {
        ferry_blob *top;

        snprintf(name, sizeof(name), "y%d", i);
        top = ferry_net_blob_find(c->net, name);
        if (!top)
            name[0] = 'x';
        top = top ? top : ferry_net_blob_find(c->net, name);
        c->good = nd_same(c->io, entry, top, TOLERANCE, c->name) && c->good;
    }
    CU_ASSERT(i > 0 || !last);
}

static void check_params(struct layer_case *c)
{
    int layer = nd_layer(c->net, "l"), i;
    char name[32];

    for (i = 0; i < ferry_net_param_count(c->net, layer); i++) {
        const ferry_io_entry *entry;

        snprintf(name, sizeof(name), "param%d_after", i);
        entry = nd_find(c->io, name);
        if (entry)
            c->good =
                nd_same(c->io, entry, ferry_net_param_at(c->net, layer, i), TOLERANCE, c->name) &&
                c->good;
    }
}

static bool fail(struct layer_case *c)
{
    printf("     %s: %s\n", c->name, ferry_last_error());
    c->good = false;
    return false;
}

static void run_case(struct layer_case *c)
{
    int run = 1;
    bool last;

    set_params(c);
    do {
        last = !of_run(c, "bottom", 0, run + 1, false);
        set_bottoms(c, run);
        if (ferry_net_forward(c->net, NULL)) {
            fail(c);
            return;
        }
        check_tops(c, run++, last);
    } while (!last);
    check_params(c);
}

/* Runs the case of a prototxt; false if it differs from Caffe. */
static bool check_case(const char *path)
{
    struct layer_case c = { .good = true };
    char data[1024];
    ferry_device *dev = fx_device();
    int err;

    snprintf(data, sizeof(data), "%.*s.npz", (int)(strrchr(path, '.') - path), path);
    c.name = strrchr(path, '/') + 1;
    err = ferry_io_open(data, &c.io);
    if (!err)
        err = ferry_net_open(dev, path, NULL, &c.net);
    if (err)
        fail(&c);
    else
        run_case(&c);
    ferry_net_close(c.net);
    ferry_io_close(c.io);
    fx_end();
    return c.good;
}

static void each_layer_matches_caffe(void)
{
    const char *folder = getenv("FERRY_TEST_DATA");
    size_t good = 0;
    glob_t cases;
    char path[1024];

    snprintf(path, sizeof(path), "%s/nets/layers/*.prototxt", folder ? folder : "");
    if (!folder || glob(path, 0, NULL, &cases) != 0) {
        ferry_test_skip("FERRY_TEST_DATA has no nets/layers");
        return;
    }
    for (size_t i = 0; i < cases.gl_pathc; i++)
        good += check_case(cases.gl_pathv[i]);
    printf("     %zu of %zu cases on %s\n", good, cases.gl_pathc, ferry_test_backend());
    CU_ASSERT(cases.gl_pathc > 0);
    CU_ASSERT_EQUAL(good, cases.gl_pathc);
    globfree(&cases);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(each_layer_matches_caffe),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer cases", cases, FERRY_TEST_COUNT(cases));
}

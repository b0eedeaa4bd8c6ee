/* SPDX-License-Identifier: BSD-2-Clause */
#include "net-data.h"

#include <stdlib.h>
#include <string.h>

/*
 * Real models beside what Caffe computed of them: MODEL/CASE.npz holds input/NAME, and blob/NAME after
 * the forward pass.
 */

#define TOLERANCE 1e-4

struct model {
    const char *folder, *prototxt, *weights, *numbers;
    bool large; /* not under a sanitizer or valgrind */
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
    { "ultraface", "RFB-320.stock.prototxt", "RFB-320.caffemodel", "rand_small", true },
    { "ultraface", "RFB-320.stock.prototxt", "RFB-320.caffemodel", "cv", true },
    { "wechat_sr", "sr.prototxt", "sr.caffemodel", "rand_small", true },
    { "wechat_sr", "sr.prototxt", "sr.caffemodel", "cv", true },
};

/* MODEL/NAME below the folder of data, or NULL and the case is skipped. */
static const char *path_of(const struct model *m, const char *name, const char *suffix,
                           char path[1024])
{
    const char *found;
    char relative[512];

    snprintf(relative, sizeof(relative), "nets/%s/%s%s", m->folder, name, suffix);
    found = ferry_test_data(relative);
    if (!found)
        return NULL;
    snprintf(path, 1024, "%s", found);
    return path;
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
        b = ferry_net_blob(net, entry->name + 6);
        if (b)
            nd_fill(io, entry, b);
        else
            good = failed(m);
    }
    return good;
}

static bool is_output(const ferry_net *net, const char *name)
{
    for (int i = 0; i < ferry_net_n_outputs(net); i++)
        if (!strcmp(ferry_blob_name(ferry_net_output(net, i)), name))
            return true;
    return false;
}

/* Every blob, or those that the net lets be seen: its outputs among them. */
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
        b = ferry_net_blob(net, entry->name + 5);
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
    ferry_net_options o = { .struct_size = sizeof(o), .keep = keep, .n_keep = all };
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
    ferry_net_close(net);
    fx_end();
    return good;
}

static void check_models(bool all)
{
    size_t good = 0, tried = 0;

    for (size_t i = 0; i < FERRY_TEST_COUNT(models); i++) {
        const struct model *m = &models[i];
        char net[1024], weights[1024], numbers[1024];
        ferry_io *io = NULL;

        if (m->large && ferry_test_is_slow())
            continue;
        if (!path_of(m, m->prototxt, "", net) || !path_of(m, m->weights, "", weights) ||
            !path_of(m, m->numbers, ".npz", numbers))
            return;
        tried++;
        CU_ASSERT_EQUAL_FATAL(ferry_io_open(numbers, &io), FERRY_OK);
        good += check_net(m, net, weights, io, all);
        ferry_io_close(io);
    }
    printf("     %zu of %zu models on %s\n", good, tried, ferry_test_backend());
    CU_ASSERT_EQUAL(good, tried);
}

static void every_blob_of_a_model_is_what_caffe_computes(void)
{
    check_models(true);
}

static void planned_and_fused_it_computes_the_same(void)
{
    check_models(false);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_blob_of_a_model_is_what_caffe_computes),
    FERRY_TEST(planned_and_fused_it_computes_the_same),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net models", cases, FERRY_TEST_COUNT(cases));
}

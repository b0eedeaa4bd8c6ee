/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "nets.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * test-random-nets [--seconds N] [--seed N] [--layers N]
 *
 * Random nets on each backend: a planned and fused net is compared with the same net with the same
 * parameters, in which every layer computes into memory of its own; then a net that trains with
 * plan_training with one that trains without. N seconds on each backend (0.3;
 * FERRY_TEST_QUICK: 0.15), half of them with fixed nets; after these, FERRY_TEST_SEED or the time
 * of day is the first seed. The first net that fails is reduced to as few layers as fail, and
 * printed. With a seed it is that one net, with --layers the beginning of it.
 */

#define LAYERS 20

static struct {
    double seconds;
    uint64_t seed;
    int layers;
    bool one;
} asked = { .layers = LAYERS };

/* One net, opened twice. */
struct pair {
    struct net_maker made;
    ferry_net *plain, *planned;
    const char *keep[2];
    size_t kept;
};

/* ---- contents ------------------------------------------------------------------------------- */

void net_fill(struct net_maker *dice, ferry_blob *b, double low, double high)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = (float)(low + (high - low) * net_roll(dice, 0, 65535) / 65535);
}

/* Matrices that preserve the magnitude of their operand; other parameters may be variances. */
void net_fill_params(struct net_maker *dice, ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++) {
            ferry_blob *b = ferry_net_param_at(net, i, k);
            double fan = (double)ferry_blob_element_count(b) / (double)ferry_blob_dim(b, 0);

            if (ferry_blob_rank(b) > 1)
                net_fill(dice, b, -sqrt(3 / fan), sqrt(3 / fan));
            else
                net_fill(dice, b, 0.2, 1.2);
        }
}

/* The batch of round 0, a larger one, and the first one again. */
static int fill_inputs(struct pair *p, int round)
{
    ferry_blob *from = ferry_net_input_at(p->plain, 0), *to = ferry_net_input_at(p->planned, 0);
    int64_t batch = p->made.blob[0].shape[0] + (round == 1 ? 2 : 0);
    const struct net_blob *b = &p->made.blob[0];
    int err = ferry_blob_reshape4(from, batch, b->shape[1], b->shape[2], b->shape[3]);

    if (err)
        return err;
    net_fill(&p->made, from, -1, 1);
    return ferry_blob_copy_from(to, from, FERRY_COPY_RESHAPE);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Values that are too large for a meaningful comparison are skipped. */
bool net_same(const char *name, const float *x, const float *y, int64_t n)
{
    double most = 0.1, worst = 0; /* only rounding errors may be left of sums of about 1 */

    for (int64_t i = 0; i < n; i++) {
        double far = fabs((double)x[i] - (double)y[i]);

        if (!(fabs((double)x[i]) < 1e15))
            return true;
        most = fmax(most, fabs((double)x[i]));
        worst = far <= worst ? worst : far; /* NaN counts as the worst */
    }
    if (worst <= 1e-4 * most)
        return true;
    printf("     %s: off by %g of %g\n", name, worst, most);
    return false;
}

static bool same_contents(ferry_blob *a, ferry_blob *b)
{
    const float *x = a ? ferry_blob_host_data(a) : NULL;
    const float *y = b ? ferry_blob_host_data(b) : NULL;

    if (x && y && ferry_blob_shape_equals(a, b))
        return net_same(ferry_blob_name(a), x, y, ferry_blob_element_count(a));
    printf("     %s: %s\n", a ? ferry_blob_name(a) : "?", ferry_last_error());
    return false;
}

static bool same_nets(struct pair *p)
{
    bool same = ferry_net_output_count(p->plain) == ferry_net_output_count(p->planned);

    for (int i = 0; same && i < ferry_net_output_count(p->plain); i++)
        same = same_contents(ferry_net_output_at(p->plain, i), ferry_net_output_at(p->planned, i));
    for (size_t i = 0; same && i < p->kept; i++)
        same = same_contents(ferry_net_blob_find(p->plain, p->keep[i]),
                             ferry_net_blob_find(p->planned, p->keep[i]));
    return same;
}

/* ---- one net -------------------------------------------------------------------------------- */

static int open_pair(struct pair *p)
{
    ferry_net_options o = { .struct_size = sizeof(o),
                            .text = p->made.text,
                            .text_size = p->made.length,
                            .no_plan = true,
                            .no_fuse = true };
    int err = ferry_net_open(fx_device(), "net.prototxt", &o, &p->plain);

    p->kept = (size_t)net_roll(&p->made, 0, 2);
    for (size_t i = 0; i < p->kept; i++)
        p->keep[i] = p->made.blob[net_roll(&p->made, 0, p->made.blobs - 1)].name;
    o.keep = p->keep;
    o.keep_count = p->kept;
    o.no_plan = o.no_fuse = false;
    if (!err)
        err = ferry_net_open(fx_device(), "net.prototxt", &o, &p->planned);
    if (err)
        return err;
    net_fill_params(&p->made, p->plain);
    return ferry_net_share(p->planned, p->plain);
}

static bool run_round(struct pair *p, int round)
{
    int err = fill_inputs(p, round);

    if (!err)
        err = ferry_net_forward(p->plain, NULL);
    if (!err)
        err = ferry_net_forward(p->planned, NULL);
    if (err)
        printf("     %s\n", ferry_last_error());
    return !err && same_nets(p);
}

static void describe(const struct pair *p, uint64_t seed, int layers, int round)
{
    printf(
        "     round %d, kept%s%s%s%s\n%.*s     repeat: tests/random/test-random-nets --seed %llu "
        "--layers %d\n",
        round, p->kept ? " " : ": none", p->kept ? p->keep[0] : "", p->kept > 1 ? " " : "",
        p->kept > 1 ? p->keep[1] : "", (int)p->made.length, p->made.text, (unsigned long long)seed,
        layers);
}

/* Returns the number of layers of the net; 0 if a value differed. */
static int run_net(uint64_t seed, int layers, bool print)
{
    struct pair p = { .plain = NULL };
    int round = 0;
    bool good;

    net_make(&p.made, seed, layers);
    good = open_pair(&p) == FERRY_OK;
    if (!good)
        printf("     %s\n", ferry_last_error());
    while (good && round < 3) {
        good = run_round(&p, round);
        round += good;
    }
    if (!good && print)
        describe(&p, seed, layers, round);
    ferry_net_close(p.planned);
    ferry_net_close(p.plain);
    return good ? p.made.layers : 0;
}

/* The shortest beginning that also fails; the whole net, unless the device caused the failure. */
static bool check_net(int (*run)(uint64_t, int, bool), uint64_t seed, int *layers)
{
    int had = run(seed, asked.layers, false);

    *layers += had;
    for (int n = 1; !had && n <= asked.layers; n++)
        if (!run(seed, n, n == asked.layers)) {
            if (n < asked.layers)
                run(seed, n, true);
            return false;
        }
    return had > 0;
}

/* ---- many nets ------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check_nets(int (*run)(uint64_t, int, bool))
{
    double start = now();
    uint64_t seed = asked.one ? asked.seed : 1;
    int nets = 0, layers = 0;
    bool good = true, fresh = asked.one;

    while (good && !(nets && fresh && (asked.one || now() - start > asked.seconds))) {
        if (!fresh && nets && now() - start > asked.seconds / 2) {
            fresh = true;
            seed = asked.seed;
        }
        good = check_net(run, seed++, &layers);
        nets++;
    }
    printf("     %d nets of %d layers in %.1f s\n", nets, layers, now() - start);
    CU_ASSERT_TRUE(good);
    fx_end();
}

static void planned_nets_compute_the_same_as_their_layers(void)
{
    check_nets(run_net);
}

static void nets_with_planned_training_have_the_same_gradients(void)
{
    check_nets(net_run_training);
}

static bool read_arguments(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            asked.seconds = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--seed") == 0)
            asked.seed = strtoull(argv[i + 1], NULL, 10), asked.one = true;
        else if (strcmp(argv[i], "--layers") == 0)
            asked.layers = (int)strtol(argv[i + 1], NULL, 10);
        else
            return false;
    }
    return argc % 2 == 1 && asked.layers > 0;
}

static const ferry_test_case cases[] = {
    FERRY_TEST(planned_nets_compute_the_same_as_their_layers),
    FERRY_TEST(nets_with_planned_training_have_the_same_gradients),
};

int main(int argc, char **argv)
{
    const char *seed = getenv("FERRY_TEST_SEED");

    asked.seconds = getenv("FERRY_TEST_QUICK") ? 0.15 : 0.3;
    asked.seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL) * 1000;
    if (!read_arguments(argc, argv)) {
        printf("usage: %s [--seconds N] [--seed N] [--layers N]\n", argv[0]);
        return 2;
    }
    printf("     FERRY_TEST_SEED=%llu\n", (unsigned long long)asked.seed);
    return ferry_test_main_plain_backends(1, argv, "random nets", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
/*
 * Training whose products may round their factors to BF16: which nets do, what stays F32,
 * snapshots, and the accuracy of a LeNet on MNIST's pictures.
 */
#include "fixture.h"
#include "rounds.h"
#include "tiny-solver.h"

#include <ferry/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ferry_device *dev; /* of the case that runs */

static ferry_solver *open_text(const char *text, const char *path, ferry_precision precision)
{
    ferry_solver_options o = { .struct_size = sizeof o,
                               .text = text,
                               .text_size = strlen(text),
                               .plan_training = true,
                               .precision = precision };
    ferry_solver *s = NULL;

    FX_OK_FATAL(ferry_solver_open(dev, path, &o, &s));
    return s;
}

/* The precisions of a net's layer, forward and backward. */
static bool has_precisions(const ferry_net *net, int layer, const char *forward, const char *back)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    FX_OK(ferry_net_get_layer_info(net, layer, &info));
    return !strcmp(info.precision, forward) && !strcmp(info.backward_precision, back);
}

/* Whether the weights of the first product are those of another solver. */
static bool has_same_weights(ferry_solver *a, ferry_solver *b)
{
    const ferry_blob *of_a = ferry_net_param_at(ferry_solver_net(a), 1, 0);
    const ferry_blob *of_b = ferry_net_param_at(ferry_solver_net(b), 1, 0);
    const float *x = ferry_blob_host_data(of_a), *y = ferry_blob_host_data(of_b);

    CU_ASSERT_FATAL(x && y);
    return !memcmp(x, y, (size_t)ferry_blob_element_count(of_a) * sizeof *x);
}

static int log_lines; /* those that report rounding */

static void count_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    log_lines += strstr(line, "round their factors to BF16") != NULL;
}

/* The number of log lines about rounding in some iterations. */
static int count_lines(ferry_solver *s, int iterations)
{
    log_lines = 0;
    ferry_log_set_handler(count_line, NULL);
    FX_OK(ferry_solver_step(s, iterations));
    ferry_log_set_handler(NULL, NULL);
    return log_lines;
}

#define RATE "base_lr: 0.1 lr_policy: 'fixed' max_iter: 100 "

static void the_training_net_rounds_and_test_nets_do_not(void)
{
    static const char text[] = NET RATE "test_iter: 1 test_interval: 50 ";
    static const char in_text[] = NET RATE "precision: 'bf16'";
    ferry_solver *by_option, *by_text, *plain, *replaced;
    bool rounds;

    dev = fx_device();
    by_option = open_text(text, "p.prototxt", FERRY_PRECISION_BF16);
    by_text = open_text(in_text, "p.prototxt", FERRY_PRECISION_DEFAULT);
    replaced = open_text(in_text, "p.prototxt", FERRY_PRECISION_F32);
    setenv("FERRY_PRECISION", "bf16", 1);
    plain = open_text(text, "p.prototxt", FERRY_PRECISION_DEFAULT);
    unsetenv("FERRY_PRECISION");
    FX_OK(ferry_solver_step(by_option, 1));
    FX_OK(ferry_solver_step(by_text, 1));
    FX_OK(ferry_solver_step(replaced, 1));
    FX_OK(ferry_solver_step(plain, 1));
    rounds = has_precisions(ferry_solver_net(by_option), 1, "bf16", "bf16");
    CU_ASSERT(rounds || has_precisions(ferry_solver_net(by_option), 1, "f32", "f32"));
    CU_ASSERT(rounds || !rounds_to_bf16(dev, 4, 5, 3));
    CU_ASSERT_EQUAL(has_same_weights(by_option, replaced), !rounds);
    CU_ASSERT(has_same_weights(by_option, by_text) && has_same_weights(plain, replaced));
    CU_ASSERT(has_precisions(ferry_solver_net(by_text), 1, rounds ? "bf16" : "f32",
                             rounds ? "bf16" : "f32"));
    CU_ASSERT(has_precisions(ferry_solver_net(replaced), 1, "f32", "f32"));
    CU_ASSERT(has_precisions(ferry_solver_net(plain), 1, "f32", "f32"));
    CU_ASSERT(has_precisions(ferry_solver_test_net_at(by_option, 0), 1, "f32", ""));
    CU_ASSERT(has_precisions(ferry_solver_test_net_at(plain, 0), 1, "f32", ""));
    ferry_solver_close(by_option);
    ferry_solver_close(by_text);
    ferry_solver_close(replaced);
    ferry_solver_close(plain);
    fx_end();
}

/* A layer that the device computes in F32 is not one. */
static void the_log_reports_rounding_where_a_layer_rounds(void)
{
    static const char text[] = NET RATE "precision: 'bf16'";
    static const char no_product[] =
        RATE "snapshot_after_train: false precision: 'bf16' net_param {\n"
             "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param {\n"
             "  shape { dim: 1 dim: 4 } data_filler { value: 1 } } }\n"
             "layer { name: 's' type: 'Scale' bottom: 'x' top: 'y' loss_weight: 1 } }";
    ferry_solver *s, *plain;
    int lines;

    dev = fx_device();
    s = open_text(text, "p.prototxt", FERRY_PRECISION_DEFAULT);
    plain = open_text(no_product, "p.prototxt", FERRY_PRECISION_DEFAULT);
    CU_ASSERT_EQUAL(count_lines(plain, 2), 0);
    lines = count_lines(s, 2);
    CU_ASSERT_EQUAL(lines, has_precisions(ferry_solver_net(s), 1, "bf16", "bf16"));
    CU_ASSERT(lines || !rounds_to_bf16(dev, 4, 5, 3));
    ferry_solver_close(s);
    ferry_solver_close(plain);
    fx_end();
}

/*
 * x is 1, and the loss is the sum of w: the gradient is 1, and an update 2⁻¹². A step of BF16 at 1
 * is 2⁻⁸ below and 2⁻⁷ above, so that a weight of BF16 would stay 1.
 */
static void updates_below_half_a_step_of_bf16_add_up(void)
{
    static const char text[] =
        "base_lr: 0.000244140625 lr_policy: 'fixed' max_iter: 100 snapshot_after_train: false\n"
        "snapshot_prefix: 'p' precision: 'bf16' net_param {\n"
        "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param {\n"
        "  shape { dim: 1 dim: 4 } data_filler { value: 1 } } }\n"
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' loss_weight: 1\n"
        "  inner_product_param { num_output: 3 bias_term: false weight_filler { value: 1 } } } }";
    const float *w;
    ferry_solver *s;

    dev = fx_device();
    s = open_text(text, "p.prototxt", FERRY_PRECISION_DEFAULT);
    FX_OK(ferry_solver_step(s, 65));
    w = ferry_blob_host_data(ferry_net_param_at(ferry_solver_net(s), 1, 0));
    for (int i = 0; w && i < 12; i++)
        CU_ASSERT_EQUAL(w[i], 1 - 65 * 0x1p-12f);
    /* the last pass read weights of 1 − 2⁻⁶, which BF16 has */
    CU_ASSERT_EQUAL(ferry_solver_loss(s), 12 * (1 - 0x1p-6));
    ferry_solver_close(s);
    fx_end();
}

/* ---- snapshots ------------------------------------------------------------------------------ */

static bool are_equal_files(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    int x = 0, y = 0;

    while (f && g && x == y && x != EOF) {
        x = fgetc(f);
        y = fgetc(g);
    }
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    return f && g && x == y;
}

/* A snapshot before the first iteration has the same bytes; one of F32 is resumed, and reversed. */
static void snapshots_are_those_of_f32(void)
{
    static const char *const kinds[] = { "caffemodel", "ferrystate" };
    static const char text[] = NET RATE "momentum: 0.9 ";
    char folder[] = "/tmp/ferry-precision-XXXXXX", a[64], b[64];
    ferry_precision precision[] = { FERRY_PRECISION_F32, FERRY_PRECISION_BF16 };
    float w[2];
    ferry_solver *s;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    dev = fx_device();
    for (int i = 0; i < 2; i++) {
        s = open_text(text, "p.prototxt", precision[i]);
        FX_OK(ferry_solver_snapshot(s));
        for (int k = 0; k < 2; k++) {
            snprintf(a, sizeof a, "tiny_iter_0.%s", kinds[k]);
            snprintf(b, sizeof b, "%s.%d", kinds[k], i);
            CU_ASSERT_EQUAL(rename(a, b), 0);
        }
        ferry_solver_close(s);
    }
    CU_ASSERT(are_equal_files("caffemodel.0", "caffemodel.1"));
    CU_ASSERT(are_equal_files("ferrystate.0", "ferrystate.1"));
    s = open_text(text, "p.prototxt", FERRY_PRECISION_BF16);
    FX_OK(ferry_solver_step(s, 2));
    FX_OK(ferry_solver_snapshot(s));
    for (int i = 0; i < 2; i++) { /* goes on, and comes back to the same bits */
        FX_OK(ferry_solver_step(s, 3));
        w[i] = *(const float *)ferry_blob_host_data(ferry_net_param_at(ferry_solver_net(s), 1, 0));
        FX_OK(ferry_solver_restore_exact(s, "tiny_iter_2.solverstate"));
    }
    CU_ASSERT_EQUAL(w[0], w[1]);
    ferry_solver_close(s);
    s = open_text(text, "p.prototxt", FERRY_PRECISION_F32);
    FX_OK(ferry_solver_restore_exact(s, "tiny_iter_2.solverstate"));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 2);
    ferry_solver_close(s);
    fx_end();
    CU_ASSERT_EQUAL(chdir("/"), 0);
    snprintf(a, sizeof a, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(a), 0);
}

/* ---- accuracy ------------------------------------------------------------------------------- */

static int keep_accuracy(void *arg, ferry_solver *s, const ferry_solver_iteration *event)
{
    (void)s;
    for (size_t i = 0; i < event->score_count; i++)
        if (!strcmp(event->scores[i].name, "accuracy"))
            *(double *)arg = event->scores[i].value;
    return 0;
}

/* Trains the LeNet of the test data from its weights, and tests it on 2,000 pictures. */
static double accuracy_after(const char *net, const char *weights, ferry_precision precision)
{
    char text[1024];
    double accuracy = 0;
    int steps = getenv("FERRY_TEST_QUICK") ? 100 : 600;
    ferry_solver *s;
    const char *files[] = { weights };
    ferry_solver_options o = { .struct_size = sizeof o,
                               .text = text,
                               .weights = files,
                               .weight_count = 1,
                               .plan_training = true,
                               .precision = precision };

    o.text_size = (size_t)snprintf(
        text, sizeof text,
        "net: '%s' base_lr: 0.02 lr_policy: 'poly' power: 1 momentum: 0.9 weight_decay: 0.0005\n"
        "max_iter: %d snapshot_after_train: false snapshot_prefix: 'l' test_iter: 20\n"
        "test_interval: %d test_initialization: false",
        net, steps, steps);
    FX_OK_FATAL(ferry_solver_open(dev, net, &o, &s));
    FX_OK(ferry_solver_on_iteration(s, keep_accuracy, &accuracy));
    FX_OK(ferry_solver_solve(s));
    ferry_solver_close(s);
    return accuracy;
}

static void lenet_is_as_accurate_as_in_f32(void)
{
    const char *given = ferry_test_data("nets/train/lenet_small.prototxt");
    char net[512], weights[512];
    double f32, bf16;

    if (!given || ferry_test_is_slow() || strncmp(ferry_device_name(fx_device()), "cpu", 3)) {
        if (given)
            ferry_test_skip("it takes too long here");
        return;
    }
    snprintf(net, sizeof net, "%s", given);
    given = ferry_test_data("nets/train/init.caffemodel");
    snprintf(weights, sizeof weights, "%s", given ? given : "");
    dev = fx_device();
    f32 = accuracy_after(net, weights, FERRY_PRECISION_F32);
    bf16 = accuracy_after(net, weights, FERRY_PRECISION_BF16);
    printf("     accuracy %.4f in F32, %.4f with BF16\n", f32, bf16);
    CU_ASSERT(f32 > 0.9 && fabs(f32 - bf16) <= (getenv("FERRY_TEST_QUICK") ? 0.01 : 0.003));
    fx_end();
}

/* ---- errors --------------------------------------------------------------------------------- */

static void bad_precisions_are_refused(void)
{
    static const char text[] = NET RATE "precision: 'half'";
    static const char good[] = NET RATE "precision: 'bf16'";
    ferry_solver_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_solver *s = NULL;

    dev = fx_device();
    FX_FAILS(FERRY_EFORMAT, ferry_solver_open(dev, "p.prototxt", &o, &s));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "precision: half (known: f32, bf16)"));
    o.text = good;
    o.text_size = strlen(good);
    o.fake_quantize = true;
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, "p.prototxt", &o, &s));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "fake_quantize"));
    o.fake_quantize = false;
    o.precision = (ferry_precision)7;
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, "p.prototxt", &o, &s));
    CU_ASSERT_PTR_NULL(s);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_training_net_rounds_and_test_nets_do_not),
    FERRY_TEST(the_log_reports_rounding_where_a_layer_rounds),
    FERRY_TEST(updates_below_half_a_step_of_bf16_add_up),
    FERRY_TEST(snapshots_are_those_of_f32),
    FERRY_TEST(lenet_is_as_accurate_as_in_f32),
    FERRY_TEST(bad_precisions_are_refused),
};

int main(int argc, char **argv)
{
    setenv("FERRY_LOG", "info", 1); /* the line about rounding is at this level */
    return ferry_test_main_backends(argc, argv, "solver precision", cases,
                                    FERRY_TEST_COUNT(cases));
}

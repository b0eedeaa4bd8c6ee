/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * Solvers compared with a plain implementation in doubles, on each backend; and the texts that are
 * rejected.
 */
#include "fixture.h"
#include "tiny-solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ferry_device *dev; /* of the case that runs */

/* ---- updates in doubles ---------------------------------------------------------------------- */

#define MOST 15

/* The expected values of one parameter. */
struct plain {
    int count;
    double w[MOST], h[MOST], k[MOST];
};

/* A solver's type, and its fields as text. */
struct how {
    const char *type, *more;
    double momentum, momentum2, rms, delta, decay, clip;
    bool l1;
    int iter_size;
};

static const struct how hows[] = {
    { "SGD", "", 0, 0, 0, 0, 0, -1, false, 1 },
    { "SGD", "momentum: 0.9 weight_decay: 0.01", 0.9, 0, 0, 0, 0.01, -1, false, 1 },
    { "SGD", "momentum: 0.9 weight_decay: 0.01 iter_size: 3", 0.9, 0, 0, 0, 0.01, -1, false, 3 },
    { "SGD", "weight_decay: 0.01 regularization_type: 'L1'", 0, 0, 0, 0, 0.01, -1, true, 1 },
    { "SGD", "momentum: 0.5 clip_gradients: 0.25 iter_size: 2", 0.5, 0, 0, 0, 0, 0.25, false, 2 },
    { "Nesterov", "momentum: 0.9 weight_decay: 0.01", 0.9, 0, 0, 0, 0.01, -1, false, 1 },
    { "AdaGrad", "delta: 0.001 weight_decay: 0.01", 0, 0, 0, 0.001, 0.01, -1, false, 1 },
    { "RMSProp", "rms_decay: 0.9 delta: 0.001", 0, 0, 0.9, 0.001, 0, -1, false, 1 },
    { "AdaDelta", "momentum: 0.95 delta: 1e-6 iter_size: 2", 0.95, 0, 0, 1e-6, 0, -1, false, 2 },
    { "Adam", "momentum: 0.9 momentum2: 0.99 delta: 1e-6 weight_decay: 0.01", 0.9, 0.99, 0, 1e-6,
      0.01, -1, false, 1 },
    { "Adam", "momentum: 0.9 momentum2: 0.99 delta: 1e-6 clip_gradients: 0.1", 0.9, 0.99, 0, 1e-6,
      0, 0.1, false, 1 },
};

/* The update of one element, by the papers and Caffe; returns what is subtracted from it. */
static double step_of(const struct how *how, double rate, int t, double g, double *h, double *k)
{
    double m = how->momentum, old = *h;

    if (!strcmp(how->type, "SGD"))
        return *h = m * old + rate * g;
    if (!strcmp(how->type, "Nesterov")) {
        *h = m * old + rate * g;
        return (1 + m) * *h - m * old;
    }
    if (!strcmp(how->type, "AdaGrad")) {
        *h += g * g;
        return rate * g / (sqrt(*h) + how->delta);
    }
    if (!strcmp(how->type, "RMSProp")) {
        *h = how->rms * old + (1 - how->rms) * g * g;
        return rate * g / (sqrt(*h) + how->delta);
    }
    if (!strcmp(how->type, "AdaDelta")) {
        double u;

        *h = m * old + (1 - m) * g * g;
        u = g * sqrt((*k + how->delta) / (*h + how->delta));
        *k = m * *k + (1 - m) * u * u;
        return rate * u;
    }
    *h = m * old + (1 - m) * g;
    *k = how->momentum2 * *k + (1 - how->momentum2) * g * g;
    return rate * sqrt(1 - pow(how->momentum2, t)) / (1 - pow(m, t)) * *h / (sqrt(*k) + how->delta);
}

/* The data of a training's callback: the expected parameters. */
struct watch {
    const struct how *how;
    struct plain plain[2];
    int bad;
};

static double scale_of(const struct watch *w, ferry_solver *s)
{
    double sum = 0, norm;
    int p, i;

    for (p = 0; p < 2; p++) {
        const float *g = ferry_blob_host_diff(ferry_net_param_at(ferry_solver_net(s), 1, p));

        for (i = 0; g && i < w->plain[p].count; i++)
            sum += (double)g[i] * (double)g[i];
    }
    norm = sqrt(sum);
    return (w->how->clip >= 0 && norm > w->how->clip ? w->how->clip / norm : 1) / w->how->iter_size;
}

static int follow(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    struct watch *w = arg;
    double scale = scale_of(w, s);
    int p, i;

    for (p = 0; p < 2; p++) {
        const ferry_blob *b = ferry_net_param_at(ferry_solver_net(s), 1, p);
        const float *g = ferry_blob_host_diff(b), *now = ferry_blob_host_data(b);
        struct plain *plain = &w->plain[p];

        CU_ASSERT_FATAL(g && now);
        for (i = 0; i < plain->count; i++) {
            double x = plain->w[i], decay = p ? 0 : w->how->decay, rate = e->lr * (p ? 2 : 1);
            double grad = scale * (double)g[i] + decay * (w->how->l1 ? (x > 0) - (x < 0) : x);

            plain->w[i] -= step_of(w->how, rate, e->iter + 1, grad, &plain->h[i], &plain->k[i]);
            if (!(fabs(plain->w[i] - (double)now[i]) <= 2e-5 * (1 + fabs(plain->w[i]))))
                w->bad++;
        }
    }
    return 0;
}

static void solvers_agree_with_computation_in_doubles(void)
{
    dev = fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(hows); i++) {
        struct watch w = { .how = &hows[i] };
        char text[2048];
        ferry_solver *s;
        int p;

        snprintf(text, sizeof text,
                 NET "type: '%s' %s base_lr: 0.05 lr_policy: 'step' gamma: 0.5 "
                     "stepsize: 4 max_iter: 10",
                 hows[i].type, hows[i].more);
        s = tiny_open(dev, text);
        for (p = 0; p < 2; p++) {
            const ferry_blob *b = ferry_net_param_at(ferry_solver_net(s), 1, p);
            const float *from = ferry_blob_host_data(b);
            int k;

            CU_ASSERT_PTR_NOT_NULL_FATAL(from);
            w.plain[p].count = (int)ferry_blob_element_count(b);
            for (k = 0; k < w.plain[p].count; k++)
                w.plain[p].w[k] = (double)from[k];
        }
        FX_OK(ferry_solver_on_iteration(s, follow, &w));
        FX_OK(ferry_solver_solve(s));
        CU_ASSERT_EQUAL(ferry_solver_iter(s), 10);
        if (w.bad)
            printf("     %s %s: %d elements differ\n", hows[i].type, hows[i].more, w.bad);
        CU_ASSERT_EQUAL(w.bad, 0);
        ferry_solver_close(s);
    }
    fx_end();
}

/* ---- rates ----------------------------------------------------------------------------------- */

static double rate_fixed(int i)
{
    (void)i;
    return 0.02;
}

static double rate_step(int i)
{
    return 0.02 * pow(0.5, i / 7);
}

static double rate_exp(int i)
{
    return 0.02 * pow(0.97, i);
}

static double rate_inv(int i)
{
    return 0.02 * pow(1 + 0.01 * i, -0.75);
}

static double rate_multistep(int i)
{
    return 0.02 * pow(0.3, (i >= 5) + (i >= 6) + (i >= 20));
}

static double rate_poly(int i)
{
    return 0.02 * pow(1 - i / 30.0, 1.5);
}

static double rate_sigmoid(int i)
{
    return 0.02 / (1 + exp(-0.3 * (i - 15)));
}

static const struct {
    const char *text;
    double (*rate)(int iter);
} policies[] = {
    { "lr_policy: 'fixed'", rate_fixed },
    { "lr_policy: 'step' gamma: 0.5 stepsize: 7", rate_step },
    { "lr_policy: 'exp' gamma: 0.97", rate_exp },
    { "lr_policy: 'inv' gamma: 0.01 power: 0.75", rate_inv },
    { "lr_policy: 'multistep' gamma: 0.3 stepvalue: 5 stepvalue: 6 stepvalue: 20", rate_multistep },
    { "lr_policy: 'poly' power: 1.5", rate_poly },
    { "lr_policy: 'sigmoid' gamma: 0.3 stepsize: 15", rate_sigmoid },
};

/* The text's numbers are floats: 0.3 is rounded, and a power increases the error. */
static int rate_is(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    double want = policies[*(const int *)arg].rate(e->iter);

    (void)s;
    if (fabs(e->lr - want) > 4e-6 * want)
        printf("     %s: iteration %d: %.9g, not %.9g\n", policies[*(const int *)arg].text, e->iter,
               e->lr, want);
    CU_ASSERT(fabs(e->lr - want) <= 4e-6 * want);
    return 0;
}

static void learning_rate_policies_give_their_rates(void)
{
    dev = fx_device();
    for (int i = 0; i < (int)FERRY_TEST_COUNT(policies); i++) {
        char text[2048];
        ferry_solver *s;

        snprintf(text, sizeof text, NET "%s base_lr: 0.02 max_iter: 30", policies[i].text);
        s = tiny_open(dev, text);
        FX_OK(ferry_solver_on_iteration(s, rate_is, &i));
        FX_OK(ferry_solver_solve(s));
        ferry_solver_close(s);
    }
    fx_end();
}

/* ---- texts ----------------------------------------------------------------------------------- */

#define LR "base_lr: 0.1 lr_policy: 'fixed' max_iter: 2 "

static const struct {
    const char *text, *about;
    int code;
} refused[] = {
    { NET "base_lr: 0.1 max_iter: 2 lr_policy: 'fix'", "Unknown learning rate policy: fix", -15 },
    { NET "base_lr: 0.1 max_iter: 2", "lr_policy is not set (known: fixed, ", -15 },
    { NET LR "type: 'Sgd'", "Unknown solver type: Sgd", -15 },
    { NET LR "type: 'SGD' solver_type: ADAM", "both given", -15 },
    { NET LR "regularization_type: 'L3'", "regularization type: L3", -15 },
    { NET LR "type: 'AdaGrad' momentum: 0.9", "cannot be used with AdaGrad", -15 },
    { NET LR "type: 'RMSProp' rms_decay: 1", "between 0 and 1", -15 },
    { NET LR "iter_size: 0", "iter_size", -15 },
    { NET LR "average_loss: 0", "average_loss", -15 },
    { NET LR "display: -1", "display", -15 },
    { NET "base_lr: 0.1 max_iter: 2 lr_policy: 'step'", "stepsize", -15 },
    { NET "base_lr: 0.1 lr_policy: 'poly'", "max_iter", -15 },
    { NET "base_lr: 0.1 max_iter: 2 lr_policy: 'multistep' stepvalue: 3 stepvalue: 2",
      "comes after", -15 },
    { NET LR "test_iter: 1", "test_interval", -15 },
    { NET LR "test_iter: 0 test_interval: 1", "test_iter", -15 },
    { NET LR "test_iter: 1 test_interval: 1 test_state { } test_state { }", "test_state", -15 },
    { NET LR "net: 'other.prototxt'", "one train net", -15 },
    { LR, "one train net", -15 },
    { LR "net: 'there-is-none.prototxt'", "there-is-none", FERRY_EIO },
    { NET LR "maxiter: 3", "maxiter", -15 },
    { NET LR "base_lr: 0.2", "base_lr", -15 },
    { NET LR "weights: 'there-is-none.caffemodel'", "there-is-none", FERRY_EIO },
    { NET LR "snapshot_prefix: 'x'", "snapshot_prefix", -15 },
};

static void invalid_solver_texts_are_refused_with_their_position(void)
{
    dev = fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(refused); i++) {
        ferry_solver *s = NULL;
        int code = tiny_try(dev, refused[i].text, &s);

        if (code != refused[i].code || !strstr(ferry_last_error(), refused[i].about))
            printf("     \"%s\": %d, %s\n", refused[i].about, code, ferry_last_error());
        CU_ASSERT_EQUAL(code, refused[i].code);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), refused[i].about));
        CU_ASSERT_PTR_NULL(s);
        ferry_solver_close(s);
    }
    fx_end();
}

static void an_unwritable_prefix_is_reported_at_once(void)
{
    char text[2048] = NET LR "snapshot: 1";
    char *prefix = strstr(text, "'tiny' snapshot");
    ferry_solver *s = NULL;

    dev = fx_device();
    memcpy(prefix, "'/n/x'", 6);
    FX_FAILS(FERRY_EIO, tiny_try(dev, text, &s));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "/n/x"));
    CU_ASSERT_PTR_NULL(s);
    fx_end();
}

static void a_refused_argument_is_named(void)
{
    const char *const holes[] = { "x", NULL };
    const struct {
        ferry_solver_options o;
        const char *says;
    } bad[] = {
        { { .struct_size = 1 }, "ferry_solver_open: the options' struct_size is 1, at least" },
        { { .struct_size = sizeof bad[0].o, .weights = holes, .weight_count = 2 },
          "ferry_solver_open: weights[1] is NULL" },
        { { .struct_size = sizeof bad[0].o, .stages = holes, .stage_count = 2 },
          "ferry_solver_open: stages[1] is NULL" },
        { { .struct_size = sizeof bad[0].o, .keep = holes, .keep_count = 2 },
          "ferry_solver_open: keep[1] is NULL" },
        { { .struct_size = sizeof bad[0].o, .weight_count = 1 },
          "ferry_solver_open: weights is NULL, its count is 1" },
    };
    ferry_solver *s = NULL;

    for (size_t i = 0; i < FERRY_TEST_COUNT(bad); i++) {
        FX_FAILS(FERRY_EINVAL, ferry_solver_open(fx_device(), "x", &bad[i].o, &s));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), bad[i].says));
    }
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(fx_device(), "x", NULL, NULL));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_solver_open: out is NULL");
    CU_ASSERT_PTR_NULL(s);
    fx_end();
}

static void null_arguments_are_refused(void)
{
    ferry_solver_options o = { .struct_size = 1 };
    ferry_solver *s = NULL;

    dev = fx_device();
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(NULL, "x", NULL, &s));
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, NULL, NULL, &s));
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, "x", NULL, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, "x", &o, &s));
    FX_FAILS(FERRY_EINVAL, ferry_solver_step(NULL, 1));
    FX_FAILS(FERRY_EINVAL, ferry_solver_solve(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_solver_snapshot(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_solver_restore(NULL, "x"));
    FX_FAILS(FERRY_EINVAL, ferry_solver_restore_exact(NULL, "x"));
    FX_FAILS(FERRY_EINVAL, ferry_solver_on_iteration(NULL, NULL, NULL));
    CU_ASSERT_PTR_NULL(ferry_solver_net(NULL));
    CU_ASSERT_PTR_NULL(ferry_solver_test_net_at(NULL, 0));
    CU_ASSERT_PTR_NULL(ferry_solver_history_at(NULL, 0));
    CU_ASSERT_EQUAL(ferry_solver_latest_snapshot(NULL)[0], '\0');
    ferry_solver_request(NULL, FERRY_SOLVER_STOP);
    ferry_solver_close(NULL);
    fx_end();
}

/* ---- an iteration ---------------------------------------------------------------------------- */

static int notes;

static void count_notes(void *arg, int level, const char *line)
{
    (void)level;
    notes += strstr(line, arg) != NULL;
}

static void a_nan_loss_is_reported_once_and_training_continues(void)
{
    char what[] = "the loss is";
    ferry_solver *s;

    dev = fx_device();
    s = tiny_open(dev, NET "base_lr: 1e30 lr_policy: 'fixed' max_iter: 12");
    notes = 0;
    ferry_log_set_handler(count_notes, what);
    FX_OK(ferry_solver_solve(s));
    ferry_log_set_handler(NULL, NULL);
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 12);
    CU_ASSERT(!isfinite(ferry_solver_loss(s)));
    CU_ASSERT_EQUAL(notes, 1);
    ferry_solver_close(s);
    fx_end();
}

static int stop_at_three(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    (void)arg;
    if (e->iter == 2)
        ferry_solver_request(s, FERRY_SOLVER_STOP);
    return 0;
}

static int fail_at_three(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    (void)arg;
    (void)s;
    return e->iter == 2 ? FERRY_EBUSY : 0;
}

static void a_request_or_a_callback_stops_the_solver(void)
{
    ferry_solver *s;

    dev = fx_device();
    s = tiny_open(dev, NET "base_lr: 0.1 lr_policy: 'fixed' max_iter: 10");
    FX_OK(ferry_solver_on_iteration(s, stop_at_three, NULL));
    FX_OK(ferry_solver_solve(s));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 3);
    CU_ASSERT_EQUAL(ferry_solver_is_stopped(s), 1);
    FX_OK(ferry_solver_on_iteration(s, NULL, NULL));
    FX_OK(ferry_solver_step(s, 4));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 7);
    CU_ASSERT_EQUAL(ferry_solver_is_stopped(s), 0);
    ferry_solver_close(s);
    s = tiny_open(dev, NET "base_lr: 0.1 lr_policy: 'fixed' max_iter: 10");
    FX_OK(ferry_solver_on_iteration(s, fail_at_three, NULL));
    FX_FAILS(FERRY_EBUSY, ferry_solver_solve(s));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 3);
    ferry_solver_close(s);
    fx_end();
}

static void equal_seeds_give_equal_trainings(void)
{
    static const char *const seeds[] = { "random_seed: 7", "random_seed: 7", "random_seed: 8" };
    double loss[3];

    dev = fx_device();
    for (int i = 0; i < 3; i++) {
        char text[2048] = NET "base_lr: 0.1 lr_policy: 'fixed' max_iter: 5";
        ferry_solver *s;

        memcpy(strstr(text, "random_seed: 7"), seeds[i], strlen(seeds[i]));
        s = tiny_open(dev, text);
        FX_OK(ferry_solver_solve(s));
        loss[i] = ferry_solver_loss(s);
        ferry_solver_close(s);
    }
    CU_ASSERT_EQUAL(loss[0], loss[1]);
    CU_ASSERT_NOT_EQUAL(loss[0], loss[2]);
    fx_end();
}

/* ---- where it is done ------------------------------------------------------------------------ */

/* Half a MiB of weights, and less than 64 KiB of everything else. */
#define WIDE                                                                                 \
    "net_param { name: 'wide'\n"                                                             \
    "layer { name: 'data' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"          \
    "  shape { dim: 4 dim: 1024 } shape { dim: 4 dim: 8 } } }\n"                             \
    "layer { name: 'ip1' type: 'InnerProduct' bottom: 'x' top: 'h' inner_product_param {\n"  \
    "  num_output: 128 weight_filler { type: 'xavier' } } }\n"                               \
    "layer { name: 'relu' type: 'ReLU' bottom: 'h' top: 'h' }\n"                             \
    "layer { name: 'ip2' type: 'InnerProduct' bottom: 'h' top: 'y' inner_product_param {\n"  \
    "  num_output: 8 weight_filler { type: 'xavier' } } }\n"                                 \
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' } }\n"   \
    "snapshot_prefix: 'wide' snapshot_after_train: false base_lr: 0.01 lr_policy: 'fixed'\n" \
    "max_iter: 10 momentum: 0.9 weight_decay: 0.01 "

static void gradients_and_updates_stay_on_the_device(void)
{
    static const char *const texts[] = {
        WIDE "type: 'SGD' iter_size: 2",
        WIDE "type: 'Adam' momentum2: 0.99 delta: 1e-6 regularization_type: 'L1'",
        WIDE "type: 'AdaDelta' delta: 1e-6 clip_gradients: 0.001",
    };

    dev = fx_device();
    if (!fx_discrete() || !fx_has_operations()) {
        ferry_test_skip("its memory is host memory, or it has no operations");
        return;
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++) {
        ferry_solver *s = tiny_open(dev, texts[i]);

        FX_OK(ferry_solver_step(s, 2));
        fx_mark();
        FX_OK(ferry_solver_step(s, 4));
        CU_ASSERT(fx_bytes() < 4 * 2 * 64 * 1024);
        for (int k = 0; k < 2; k++) {
            const ferry_blob *w = ferry_net_param_at(ferry_solver_net(s), 1, k);

            CU_ASSERT_EQUAL(ferry_memory_is_valid_at(ferry_blob_data_memory(w), NULL), 0);
            CU_ASSERT_EQUAL(ferry_memory_is_valid_at(ferry_blob_diff_memory(w), NULL), 0);
            CU_ASSERT_EQUAL(ferry_memory_is_valid_at(
                                ferry_blob_data_memory(ferry_solver_history_at(s, k)), NULL),
                            0);
        }
        ferry_solver_close(s);
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(solvers_agree_with_computation_in_doubles),
    FERRY_TEST(learning_rate_policies_give_their_rates),
    FERRY_TEST(invalid_solver_texts_are_refused_with_their_position),
    FERRY_TEST(an_unwritable_prefix_is_reported_at_once),
    FERRY_TEST(a_refused_argument_is_named),
    FERRY_TEST(null_arguments_are_refused),
    FERRY_TEST(a_nan_loss_is_reported_once_and_training_continues),
    FERRY_TEST(a_request_or_a_callback_stops_the_solver),
    FERRY_TEST(equal_seeds_give_equal_trainings),
    FERRY_TEST(gradients_and_updates_stay_on_the_device),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "solver", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
/*
 * Every field of a solver's text has its documented effect: on a weight that is computed by hand,
 * on the lines of the log, and on the files that exist afterwards. A field without a row here fails
 * the test.
 */
#include "fixture.h"

#include "net/proto/schema.h"

#include <ferry/solver.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* y = w x with x = 1 and w = 1 at first; the loss is y²/2, so that the gradient is w. */
#define LAYERS                                                                             \
    "layer { name: 'd' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"           \
    "  shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 } data_filler { value: 1 }\n"         \
    "  data_filler { value: 0 } } }\n"                                                     \
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n" \
    "  num_output: 1 bias_term: false weight_filler { value: 1 } } }\n"                    \
    "layer { name: 'more' type: 'Power' bottom: 'y' top: 'y' power_param { scale: 3 }\n"   \
    "  include { stage: 'more' } }\n"                                                      \
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' }\n"

#define MESSAGE "net_param { " LAYERS " } "
#define RATE    "base_lr: 0.1 lr_policy: 'fixed' "
#define STEPS   "max_iter: 3 snapshot_after_train: false "
#define PLAIN   MESSAGE RATE STEPS
#define TEST    "test_iter: 2 test_interval: 2 "

/*
 * A text with the field, and its effects: the final value of w, a text that a line of the log
 * contains, a text that no line contains, and a file.
 */
static const struct row {
    const char *field, *text;
    double weight;
    const char *said, *unsaid, *file;
} rows[] = {
    { "net", "net: 'net.prototxt' " RATE STEPS, 0.729, "from net file: net.prototxt", NULL, NULL },
    { "net_param", PLAIN, 0.729, "specified in net_param", NULL, NULL },
    { "train_net", "train_net: 'net.prototxt' " RATE STEPS, 0.729, "from train_net file", NULL,
      NULL },
    { "train_net_param", "train_net_param { " LAYERS "} " RATE STEPS, 0.729, "in train_net_param",
      NULL, NULL },
    { "test_net", PLAIN TEST "test_net: 'net.prototxt'", 0.729,
      "(#0) specified by test_net file: net.prototxt", NULL, NULL },
    { "test_net_param", PLAIN TEST "test_net_param { " LAYERS " }", 0.729,
      "(#0) specified by test_net_param", NULL, NULL },
    { "train_state", PLAIN "train_state { stage: 'more' }", 0.001, NULL, NULL, NULL },
    { "test_state", PLAIN TEST "test_state { stage: 'more' }", 0.729,
      "Test net output #0: loss = 4.5 ", NULL, NULL },
    { "test_iter", PLAIN TEST, 0.729, "Test net output #0: loss = 0.5 ", NULL, NULL },
    { "test_interval", PLAIN TEST, 0.729, "Iteration 2, Testing net (#0)",
      "Iteration 1, Testing net", NULL },
    { "test_compute_loss", PLAIN TEST "test_compute_loss: true", 0.729, "Test loss: 0.5", NULL,
      NULL },
    { "test_initialization", PLAIN TEST "test_initialization: false", 0.729, "Iteration 2, Testing",
      "Iteration 0, Testing", NULL },
    { "base_lr", MESSAGE STEPS "lr_policy: 'fixed' base_lr: 0.2", 0.512, NULL, NULL, NULL },
    { "display", PLAIN "display: 2", 0.729, "Iteration 2, lr = 0.1", "Iteration 1, lr", NULL },
    { "average_loss", PLAIN "display: 1 average_loss: 2", 0.729, "loss = 0.4525", NULL, NULL },
    { "max_iter", MESSAGE RATE "snapshot_after_train: false max_iter: 2", 0.81, NULL, NULL, NULL },
    { "iter_size", PLAIN "iter_size: 2", 0.729, NULL, NULL, NULL },
    { "lr_policy", MESSAGE STEPS "base_lr: 0.1 lr_policy: 'poly' power: 2", 0.850444444,
      "Learning Rate Policy: poly", NULL, NULL },
    { "gamma", MESSAGE STEPS "base_lr: 0.1 lr_policy: 'exp' gamma: 0.5", 0.833625, NULL, NULL,
      NULL },
    { "power", MESSAGE STEPS "base_lr: 0.1 lr_policy: 'inv' gamma: 1 power: 1", 0.8265, NULL, NULL,
      NULL },
    { "stepsize", MESSAGE STEPS "base_lr: 0.1 lr_policy: 'step' gamma: 0.5 stepsize: 2", 0.7695,
      NULL, NULL, NULL },
    { "stepvalue", MESSAGE STEPS "base_lr: 0.1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 2",
      0.7695, "MultiStep Status: Iteration 2, step = 1", NULL, NULL },
    { "momentum", PLAIN "momentum: 0.5", 0.614, NULL, NULL, NULL },
    { "weight_decay", PLAIN "weight_decay: 1", 0.512, NULL, NULL, NULL },
    { "regularization_type", PLAIN "weight_decay: 1 regularization_type: 'L1'", 0.458, NULL, NULL,
      NULL },
    { "clip_gradients", PLAIN "clip_gradients: 0.5", 0.85,
      "scaling down gradients (L2 norm 1 > 0.5) by scale factor 0.5", NULL, NULL },
    { "type", PLAIN "type: 'Nesterov' momentum: 0.5", 0.559125, NULL, NULL, NULL },
    { "solver_type", PLAIN "solver_type: NESTEROV momentum: 0.5", 0.559125, NULL, NULL, NULL },
    { "delta", PLAIN "type: 'AdaGrad' delta: 1", 0.875762397, NULL, NULL, NULL },
    { "rms_decay", PLAIN "type: 'RMSProp' rms_decay: 0.5", 0.651856734, NULL, NULL, NULL },
    { "momentum2", PLAIN "type: 'Adam' momentum: 0.5 momentum2: 0.5 delta: 0.1", 0.734502812, NULL,
      NULL, NULL },
    { "random_seed", PLAIN "random_seed: 5", 0.729, "random_seed: 5", NULL, NULL },
    { "weights", PLAIN "weights: 'two.caffemodel'", 1.458, "Finetuning from two.caffemodel", NULL,
      NULL },
    { "snapshot", PLAIN "snapshot_prefix: 'a' snapshot: 2", 0.729, NULL, "a_iter_3",
      "a_iter_2.solverstate" },
    { "snapshot_prefix", PLAIN "snapshot: 3 snapshot_prefix: 'b'", 0.729, NULL, NULL,
      "b_iter_3.caffemodel" },
    { "snapshot_after_train", MESSAGE RATE "max_iter: 3 snapshot_prefix: 'c'", 0.729, NULL, NULL,
      "c_iter_3.solverstate" },
    { "snapshot_format", PLAIN "snapshot: 3 snapshot_prefix: 'e' snapshot_format: HDF5", 0.729,
      NULL, NULL, "e_iter_3.solverstate.h5" },
    { "snapshot_diff", PLAIN "snapshot: 3 snapshot_prefix: 'f' snapshot_diff: true", 0.729, NULL,
      NULL, "f_iter_3.caffemodel" },
    { "debug_info", PLAIN "display: 2 debug_info: true", 0.729,
      "    [Backward] Layer ip, param blob 0 diff: 0.81", "blob 0 diff: 0.9", NULL },
    /* its log line depends on the device: test-solver-precision */
    { "precision", MESSAGE RATE "max_iter: 1 snapshot_after_train: false precision: 'bf16'", 0.9,
      NULL, NULL, NULL },
    { "solver_mode", PLAIN "solver_mode: GPU", 0.729, "ferry: solver_mode is ignored", NULL, NULL },
    { "device_id", PLAIN "device_id: 3", 0.729, "ferry: device_id is ignored", NULL, NULL },
    { "layer_wise_reduce", PLAIN "layer_wise_reduce: false", 0.729,
      "ferry: layer_wise_reduce is ignored", NULL, NULL },
};

/* ---- log lines ------------------------------------------------------------------------------- */

static char lines[1 << 17];
static size_t used;

static void keep(void *arg, int level, const char *line)
{
    size_t n = strlen(line);

    (void)arg;
    (void)level;
    if (used + n + 2 > sizeof lines)
        return;
    memcpy(lines + used, line, n);
    lines[used + n] = '\n';
    used += n + 1;
    lines[used] = '\0';
}

/* Trains to the end and stores the log in `lines`; returns the weight, or NaN on failure. */
static double train(const char *text)
{
    ferry_solver_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_solver *s = NULL;
    const float *w;
    double weight = (double)NAN;
    int err;

    used = 0;
    lines[0] = '\0';
    ferry_log_set_handler(keep, NULL);
    err = ferry_solver_open(fx_device(), "solver.prototxt", &o, &s);
    if (!err)
        err = ferry_solver_solve(s);
    ferry_log_set_handler(NULL, NULL);
    w = err ? NULL : ferry_blob_host_data(ferry_net_param_at(ferry_solver_net(s), 1, 0));
    if (w)
        weight = (double)*w;
    else
        printf("     %s\n", ferry_last_error());
    ferry_solver_close(s);
    return weight;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static char folder[64];

/* With a net's text, and its weights where w is 2. */
static void enter(void)
{
    static const char text[] = LAYERS;
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = sizeof text - 1 };
    ferry_net *net = NULL;
    float *w;
    FILE *f;

    strcpy(folder, "/tmp/ferry-fields-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    f = fopen("net.prototxt", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
    FX_OK_FATAL(ferry_net_open(fx_device(), NULL, &o, &net));
    w = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 1, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    *w = 2;
    FX_OK_FATAL(ferry_net_save(net, "two.caffemodel", FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
}

static void leave(void)
{
    char command[128];

    fx_end();
    CU_ASSERT_EQUAL(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool wrong(const struct row *r, const char *what)
{
    printf("     %s: %s\n", r->field, what);
    return false;
}

static bool check(const struct row *r)
{
    double weight = train(r->text);
    char what[128];

    if (isnan(weight) && ferry_last_error_code() == FERRY_EUNSUPPORTED &&
        strstr(ferry_last_error(), "built without")) {
        ferry_test_skip("%s: built without HDF5; all other files were checked", r->field);
        return true;
    }
    snprintf(what, sizeof what, "w is %.9g, not %.9g", weight, r->weight);
    if (!(fabs(weight - r->weight) <= 2e-6))
        return wrong(r, what);
    if (r->said && !strstr(lines, r->said))
        return wrong(r, r->said);
    if (r->unsaid && strstr(lines, r->unsaid))
        return wrong(r, r->unsaid);
    return !r->file || !access(r->file, R_OK) || wrong(r, r->file);
}

static void every_solver_field_has_its_effect(void)
{
    enter();
    for (size_t i = 0; i < FERRY_TEST_COUNT(rows); i++)
        CU_ASSERT_TRUE(check(&rows[i]));
    leave();
}

static void every_solver_field_is_in_the_table(void)
{
    const struct ferry__proto_message *message = &ferry__proto_SolverParameter;

    for (size_t i = 0; i < message->count; i++) {
        bool found = false;

        for (size_t k = 0; k < FERRY_TEST_COUNT(rows); k++)
            found = found || !strcmp(rows[k].field, message->fields[i].name);
        if (!found)
            printf("     %s\n", message->fields[i].name);
        CU_ASSERT_TRUE(found);
    }
}

/* ---- a gradient that is NaN ------------------------------------------------------------------ */

/*
 * A NaN stays in its own parameter: clip_gradients, which then has no norm, does not change the
 * others, as in Caffe.
 */
static void a_nan_gradient_does_not_spread(void)
{
    static const char text[] = RATE STEPS
        "clip_gradients: 0.5 net_param { " LAYERS
        "layer { name: 'n' type: 'DummyData' top: 'n' dummy_data_param {\n"
        "  shape { dim: 1 dim: 1 } data_filler { value: nan } } }\n"
        "layer { name: 'ip2' type: 'InnerProduct' bottom: 'n' top: 'z'\n"
        "  inner_product_param { num_output: 1 bias_term: false } }\n"
        "layer { name: 'loss2' type: 'EuclideanLoss' bottom: 'z' bottom: 'n' top: 'l' } }";

    fx_device();
    CU_ASSERT(fabs(train(text) - 0.729) <= 2e-6);
    fx_end();
}

/* ---- debug_info ------------------------------------------------------------------------------ */

/* y is 2 · 3 · 0.5 + 1, half of it in place, and as a matrix; the losses' differences are 1. */
#define DEBUGGED                                                                             \
    "net_param { layer { name: 'd' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n" \
    "  shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } data_filler { value: 2 }\n"           \
    "  data_filler { value: 1 } } }\n"                                                       \
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' param { name: 'w' }\n"     \
    "  inner_product_param { num_output: 1 weight_filler { value: 0.5 }\n"                   \
    "  bias_filler { value: 1 } } }\n"                                                       \
    "layer { name: 'half' type: 'Power' bottom: 'y' top: 'y' power_param { scale: 0.5 } }\n" \
    "layer { name: 'flat' type: 'Flatten' bottom: 'y' top: 'z' }\n"                          \
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'z' bottom: 't' top: 'loss' } } "

static const char forward[] = "    [Forward] Layer d, top blob x data: 2\n"
                              "    [Forward] Layer d, top blob t data: 1\n"
                              "    [Forward] Layer ip, top blob y data: 4\n"
                              "    [Forward] Layer ip, param blob w data: 0.5\n"
                              "    [Forward] Layer ip, param blob 1 data: 1\n"
                              "    [Forward] Layer half, top blob y data: 2\n"
                              "    [Forward] Layer flat, top blob z data: 2\n"
                              "    [Forward] Layer loss, top blob loss data: 0.5\n";

static const char backward[] = "    [Backward] Layer loss, bottom blob z diff: 0.5\n"
                               "    [Backward] Layer flat, bottom blob y diff: 0.5\n"
                               "    [Backward] Layer half, bottom blob y diff: 0.25\n"
                               "    [Backward] Layer ip, param blob 0 diff: 1\n"
                               "    [Backward] Layer ip, param blob 1 diff: 0.5\n"
                               "    [Backward] All net params (data, diff): L1 norm = (2.5, 3.5); "
                               "L2 norm = (1.32288, 1.80278)\n"
                               "Iteration 0 ";

static void debug_info_matches_caffes_lines_and_their_order(void)
{
    static const char text[] =
        DEBUGGED RATE "max_iter: 2 snapshot_after_train: false display: 2 debug_info: true "
                      "test_iter: 1 test_interval: 2";
    const char *at;
    int pass;

    enter();
    CU_ASSERT(!isnan(train(text)));
    at = lines;
    for (pass = 0; pass < 2; pass++) { /* the test's, then the training's */
        at = strstr(at, pass ? forward : "Iteration 0, Testing net (#0)\n    [Forward]");
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        at = strstr(at, forward);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        at += strlen(forward);
    }
    CU_ASSERT_EQUAL(strncmp(at, backward, strlen(backward)), 0);
    at = strstr(at, "Iteration 2, Testing"); /* iteration 1 is not displayed */
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_PTR_NULL(strstr(strstr(lines, backward) + strlen(backward), "[Backward]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, "[Forward] Layer half"));
    leave();
}

/* Texts that cannot train, or never test, because a field is missing. */
static void missing_fields_of_a_solver_text_are_one_warning(void)
{
    static const struct {
        const char *text, *said;
    } lacking[] = {
        { MESSAGE STEPS "lr_policy: 'fixed'", "solver.prototxt: base_lr is not set" },
        { MESSAGE RATE "snapshot_after_train: false", "solver.prototxt: max_iter is not set" },
        { PLAIN "test_interval: 2", "solver.prototxt: test_iter is not set" },
        { MESSAGE STEPS "base_lr: 0.1 lr_policy: 'inv' power: 1",
          "solver.prototxt: gamma is not set" },
        { MESSAGE STEPS "base_lr: 0.1 lr_policy: 'step' stepsize: 2",
          "solver.prototxt: gamma is not set" },
        { MESSAGE STEPS "base_lr: 0.1 lr_policy: 'inv' gamma: 1",
          "solver.prototxt: power is not set" },
        { MESSAGE STEPS "base_lr: 0.1 lr_policy: 'poly'", "solver.prototxt: power is not set" },
        { MESSAGE STEPS "base_lr: 0.1 lr_policy: 'multistep' gamma: 1",
          "solver.prototxt: stepvalue is not set" },
    };

    for (size_t i = 0; i <= FERRY_TEST_COUNT(lacking); i++) {
        const char *at;
        int n = 0;

        enter();
        CU_ASSERT(!isnan(train(i < FERRY_TEST_COUNT(lacking) ? lacking[i].text : PLAIN TEST)));
        for (at = lines; (at = strstr(at, " is not set")); at++)
            n++;
        CU_ASSERT_EQUAL(n, i < FERRY_TEST_COUNT(lacking));
        if (i < FERRY_TEST_COUNT(lacking))
            CU_ASSERT_PTR_NOT_NULL(strstr(lines, lacking[i].said));
        leave();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(missing_fields_of_a_solver_text_are_one_warning),
    FERRY_TEST(every_solver_field_has_its_effect),
    FERRY_TEST(every_solver_field_is_in_the_table),
    FERRY_TEST(a_nan_gradient_does_not_spread),
    FERRY_TEST(debug_info_matches_caffes_lines_and_their_order),
};

int main(int argc, char **argv)
{
    setenv("FERRY_LOG", "info", 1); /* read once */
    setenv("FERRY_TEST_BACKENDS", "cpu sim", 1);
    return ferry_test_main_backends(argc, argv, "solver fields", cases, FERRY_TEST_COUNT(cases));
}

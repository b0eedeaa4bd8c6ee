/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `ferry train`, `test` and `plot`. */

static const char net[] =
    "name: 'small'\n"
    "layer { name: 'data' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"
    "  shape { dim: 4 dim: 5 } shape { dim: 4 dim: 3 } data_filler { type: 'gaussian' }\n"
    "  data_filler { type: 'gaussian' } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' }\n";

static const char common[] =
    "net: 'net.prototxt' base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 display: 2\n"
    "test_iter: 3 test_interval: 4 snapshot: 5 snapshot_prefix: 'snap' random_seed: 3\n";

static void write_file(const char *name, const char *text, const char *more)
{
    FILE *file = fopen(in_folder(name), "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "%s%s\n", text, more);
    fclose(file);
}

/* A shell command in the folder, where "$FERRY" is the command. */
static int here(const char *command)
{
    char line[4096];

    snprintf(line, sizeof(line), "cd %s && FERRY=\"$FERRY_TEST_COMMAND\"; rm -f snap_* *.jsonl; %s",
             in_folder("."), command);
    write_file("net.prototxt", net, "");
    write_file("solver.prototxt", common, "max_iter: 10");
    write_file("endless.prototxt", common, "max_iter: 1000000");
    return shell(line);
}

/* The number of times that the text occurs on standard error. */
static int said(const char *part)
{
    int n = 0;

    for (const char *at = err; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* ---- training -------------------------------------------------------------------------------- */

static void log_lines_of_caffe_have_the_fields_of_glog(void)
{
    char month[8], day[8], file[64], rest[64];
    const char *at;

    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt"), 0);
    CU_ASSERT_EQUAL(said("] Solving small\n"), 1);
    CU_ASSERT_EQUAL(said("] Learning Rate Policy: fixed\n"), 1);
    CU_ASSERT_EQUAL(said(", Testing net (#0)\n"), 3);
    CU_ASSERT_EQUAL(said("    Test net output #0: loss = "), 3);
    CU_ASSERT_EQUAL(said("    Train net output #0: loss = "), 5);
    CU_ASSERT_EQUAL(said(", lr = 0.05\n"), 5);
    CU_ASSERT_EQUAL(said("Snapshotting solver state to binary proto file snap_iter_10.solverstate"),
                    1);
    CU_ASSERT_EQUAL(said("Optimization Done.\n"), 2);
    at = strstr(err, "] Solving small");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    while (at > err && at[-1] != '\n')
        at--;
    CU_ASSERT_EQUAL(sscanf(at, "I%2[0-9]%2[0-9] %*d:%*d:%*d.%*6d %*d %63s Solving %63s", month, day,
                           file, rest),
                    4);
    CU_ASSERT_STRING_EQUAL(rest, "small");
    CU_ASSERT_EQUAL(out[0], '\0');
}

static json_t *line_of(char **rest)
{
    char *line = strtok_r(NULL, "\n", rest);
    json_error_t error;

    return line ? json_loads(line, 0, &error) : NULL;
}

static double number(const json_t *object, const char *key)
{
    CU_ASSERT(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static void the_log_has_a_line_for_each_iteration(void)
{
    char *rest;
    json_t *line;
    int n = 0, tests = 0;

    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --log run.jsonl"), 0);
    slurp(in_folder("run.jsonl"), out, sizeof(out) - 1);
    rest = out;
    for (; (line = line_of(&rest)); n++) {
        const json_t *test = json_object_get(line, "test");

        CU_ASSERT_EQUAL(number(line, "iter"), n);
        CU_ASSERT(fabs(number(line, "lr") - 0.05) < 1e-8);
        CU_ASSERT(number(line, "loss") > 0);
        CU_ASSERT(number(line, "smoothed_loss") > 0);
        CU_ASSERT((test != NULL) == (n % 4 == 0));
        if (test) {
            CU_ASSERT_EQUAL(number(json_array_get(test, 0), "iter"), n);
            CU_ASSERT(number(json_array_get(test, 0), "loss") > 0);
            tests++;
        }
        json_decref(line);
    }
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT_EQUAL(tests, 3);
}

/* max_iter is 8: its test is not a part of an iteration. */
static void the_last_test_is_in_the_last_line(void)
{
    char *rest = out;
    json_t *line, *last = NULL;
    int n = 0;

    CU_ASSERT_EQUAL(here("sed 's/max_iter: 10/max_iter: 8/' solver.prototxt >eight.prototxt &&"
                         "$FERRY train eight.prototxt --log run.jsonl"),
                    0);
    slurp(in_folder("run.jsonl"), out, sizeof(out) - 1);
    for (; (line = line_of(&rest)); n++) {
        json_decref(last);
        last = line;
    }
    CU_ASSERT_EQUAL(n, 8);
    CU_ASSERT_EQUAL(number(last, "iter"), 7);
    CU_ASSERT_EQUAL(number(json_array_get(json_object_get(last, "test"), 0), "iter"), 8);
    json_decref(last);
}

static void an_exact_resume_ends_with_the_same_result(void)
{
    CU_ASSERT_EQUAL(
        here("$FERRY train solver.prototxt --log a.jsonl && mv snap_iter_10.caffemodel a &&"
             "head -5 a.jsonl >b.jsonl && $FERRY train solver.prototxt --snapshot "
             "snap_iter_5.solverstate --resume exact --log b.jsonl &&"
             "cmp a snap_iter_10.caffemodel && cmp a.jsonl b.jsonl"),
        0);
    CU_ASSERT_EQUAL(
        here("$FERRY train solver.prototxt && cp snap_iter_10.caffemodel w.caffemodel && "
             "$FERRY train solver.prototxt --weights w.caffemodel"),
        0);
    CU_ASSERT_EQUAL(said("Finetuning from w.caffemodel"), 2);
}

static void recompute_ends_with_the_same_result(void)
{
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt && mv snap_iter_10.caffemodel a && "
                         "$FERRY train solver.prototxt --recompute && "
                         "cmp a snap_iter_10.caffemodel"),
                    0);
}

static void fake_quantization_trains_for_the_ranges_and_resumes(void)
{
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --fake-quantize"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "ferry quantize adds them"));
    CU_ASSERT_EQUAL(
        here("$FERRY train solver.prototxt && mv snap_iter_10.caffemodel plain && "
             "echo \"quantization { range { blob: 'x' min: -1 max: 1 } }\" >>net.prototxt &&"
             "$FERRY train solver.prototxt --fake-quantize --log a.jsonl &&"
             "mv snap_iter_10.caffemodel a && ! cmp a plain && head -5 a.jsonl >b.jsonl &&"
             "sed -i '$d' net.prototxt &&"
             "$FERRY train solver.prototxt --fake-quantize --snapshot snap_iter_5.solverstate "
             "--resume exact --log b.jsonl && cmp a snap_iter_10.caffemodel && "
             "cmp a.jsonl b.jsonl"),
        0);
}

static void the_precision_of_the_training_net_is_an_option(void)
{
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --precision bf17"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "bf17"));
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --precision bf16"), 0);
    CU_ASSERT_EQUAL(here("FERRY_LOG=info $FERRY train solver.prototxt"), 0);
    CU_ASSERT_PTR_NULL(strstr(err, "to BF16"));
}

static void signals_snapshot_and_stop(void)
{
    CU_ASSERT_EQUAL(
        here("$FERRY train endless.prototxt --log l.jsonl 2>words & p=$!;"
             "while ! test -s l.jsonl; do sleep 0.05; done; sleep 0.1;"
             "kill -INT $p; wait $p && tail -n 20 words >&2 &&"
             "ls snap_iter_*.solverstate | sort -V | tail -n 1 >newest &&"
             "n=$(wc -l <l.jsonl) && test \"$(cat newest)\" = snap_iter_$n.solverstate"),
        0);
    CU_ASSERT_EQUAL(said("Optimization stopped early.\n"), 1);
    CU_ASSERT_EQUAL(
        here("sed 's/snapshot: 5//' endless.prototxt >quiet.prototxt;"
             "$FERRY train quiet.prototxt --log l.jsonl & p=$!;"
             "while ! test -s l.jsonl; do sleep 0.05; done; kill -HUP $p;"
             "while ! ls snap_iter_*.solverstate; do sleep 0.05; done; kill -0 $p && kill -TERM $p;"
             "wait $p"),
        0);
}

/* The disk is full only for the log, which has almost reached its limit. */
static void a_full_disk_names_the_latest_good_snapshot(void)
{
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt && truncate -s 67108000 l.jsonl &&"
                         "(ulimit -f 131072; FERRY_LOG=warn $FERRY train endless.prototxt "
                         "--snapshot snap_iter_5.solverstate --log l.jsonl)"),
                    1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "ferry: l.jsonl: File too large"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "the latest snapshot is snap_iter_"));
}

/* ---- invalid arguments ----------------------------------------------------------------------- */

static void invalid_arguments_print_one_error_line(void)
{
    static const char *const bad[][2] = {
        { "train", "expected a solver" },
        { "train solver.prototxt --resume exact", "--resume" },
        { "train solver.prototxt --snapshot x --resume exactly", "--resume" },
        { "train solver.prototxt --snapshot x --weights y", "exclude each other" },
        { "train solver.prototxt --level high", "--level" },
        { "train solver.prototxt --level 4294967296", "--level 4294967296" },
        { "test net.prototxt", "weights" },
        { "test net.prototxt w --iterations 0", "--iterations" },
        { "test net.prototxt w --iterations 4294967297", "--iterations 4294967297" },
        { "test net.prototxt w --level 1.5", "--level 1.5" },
        { "test net.prototxt w --stage", "--stage requires a value" },
        { "plot x", "-o" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(bad); i++) {
        char command[512];

        snprintf(command, sizeof(command), "FERRY_LOG=warn $FERRY %s", bad[i][0]);
        CU_ASSERT_EQUAL(here(command), 2);
        if (!one_line_of_error(bad[i][1]))
            printf("     %s: %s", bad[i][0], err);
        CU_ASSERT(one_line_of_error(bad[i][1]));
    }
    CU_ASSERT_EQUAL(here("FERRY_LOG=warn $FERRY train nothing.prototxt"), 1);
    CU_ASSERT(one_line_of_error("nothing.prototxt"));
    CU_ASSERT_EQUAL(here("FERRY_LOG=warn $FERRY train solver.prototxt --snapshot none.solverstate"),
                    1);
    CU_ASSERT(one_line_of_error("none.solverstate"));
    CU_ASSERT_EQUAL(here("FERRY_LOG=warn $FERRY train solver.prototxt --log no/such/folder"), 1);
    CU_ASSERT(one_line_of_error("no/such/folder"));
}

/* ---- test and plot --------------------------------------------------------------------------- */

/* ---- weights --------------------------------------------------------------------------------- */

/* Files of weights: of this net, of another one, of both, and arrays that belong to no layer. */
static void make_weights(void)
{
    write_file("other.prototxt",
               "layer { name: 'd' type: 'Input' top: 'x' input_param { shape { dim: 1 "
               "dim: 2 } } }\n"
               "layer { name: 'fc8' type: 'InnerProduct' bottom: 'x' top: 'y' "
               "inner_product_param { num_output: 2 } }\n",
               "");
    write_file("more.prototxt", net,
               "layer { name: 'new' type: 'InnerProduct' bottom: 'y' top: 'z' "
               "inner_product_param { num_output: 2 } }\n");
    CU_ASSERT_EQUAL(
        here("$FERRY train solver.prototxt 2>&1 && mv snap_iter_10.caffemodel own.bin && "
             "$FERRY convert own.bin own.npz && "
             "$FERRY rename own.bin other.caffemodel 'ip/*=fc8/*' && "
             "$FERRY rename own.npz names.npz 'ip/*=features.*'"),
        0);
}

static void weights_of_another_net_are_an_error_with_both_names(void)
{
    static const char *const commands[] = { "run more.prototxt F --phase TRAIN",
                                            "test more.prototxt F -n 1",
                                            "time more.prototxt F -n 1",
                                            "train solver.prototxt --weights F" };
    char line[512];

    make_weights();
    for (size_t i = 0; i < FERRY_TEST_COUNT(commands); i++)
        for (int k = 0; k < 2; k++) {
            const char *file = k ? "names.npz" : "other.caffemodel";
            const char *at = strstr(commands[i], " F");

            snprintf(line, sizeof line, "$FERRY %.*s %s%s", (int)(at - commands[i]), commands[i],
                     file, at + 2);
            CU_ASSERT_EQUAL(here(line), 1);
            CU_ASSERT_EQUAL(said("weights of another net"), 1);
            CU_ASSERT(said(k ? "\"features.0\"" : "\"fc8\"") > 0 && said("\"ip\"") > 0);
            CU_ASSERT_EQUAL(said("warn: "), 0);
            strcat(line, " --weights-partial");
            CU_ASSERT_EQUAL(here(line), 0);
            CU_ASSERT_EQUAL(said("0 of ") > 0, true);
            CU_ASSERT_EQUAL(said("warn: ferry:"), 0);
        }
}

static void the_error_for_a_missing_net_lists_each_searched_path_once(void)
{
    write_file("astray.prototxt", "net: 'astray.net' lr_policy: 'fixed'", "");
    CU_ASSERT_EQUAL(here("$FERRY train astray.prototxt"), 1);
    CU_ASSERT(said("\"astray.net\": No such file") > 0);
    CU_ASSERT_EQUAL(said("likewise"), 0);
    write_file("astray.prototxt", "net: 'x/astray.net' lr_policy: 'fixed'", "");
    CU_ASSERT_EQUAL(here("$FERRY train astray.prototxt"), 1);
    CU_ASSERT(said("\"x/astray.net\": No such file or directory; likewise \"astray.net\"") > 0);
}

static void weights_for_only_some_layers_print_one_line(void)
{
    make_weights();
    CU_ASSERT_EQUAL(here("$FERRY time more.prototxt own.bin -n 1"), 0);
    CU_ASSERT_EQUAL(said("own.bin: 1 of 2 layers got weights"), 1);
    CU_ASSERT_EQUAL(said("got no weights"), 0);
    CU_ASSERT_EQUAL(here("FERRY_LOG=info $FERRY time more.prototxt own.bin -n 1"), 0);
    CU_ASSERT_EQUAL(said("layer \"new\" got no weights"), 1);
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --weights \"\""), 2);
    CU_ASSERT_EQUAL(said("--weights \"\" does not name a file"), 1);
    CU_ASSERT_EQUAL(here("$FERRY test net.prototxt \"\""), 2);
    CU_ASSERT_EQUAL(said("WEIGHTS \"\" does not name a file"), 1);
}

static void test_gives_means_of_outputs(void)
{
    json_t *document;
    double sum = 0;

    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt && $FERRY test net.prototxt "
                         "snap_iter_10.caffemodel --iterations 4 --json"),
                    0);
    document = parse_output();
    CU_ASSERT_EQUAL(number(document, "iterations"), 4);
    for (int i = 0; i < 4; i++) {
        char batch[32];
        const char *at;

        snprintf(batch, sizeof(batch), "Batch %d, loss = ", i);
        at = strstr(err, batch);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        sum += strtod(at + strlen(batch), NULL);
    }
    CU_ASSERT(fabs(number(json_object_get(document, "outputs"), "loss") - sum / 4) < 1e-4);
    CU_ASSERT(fabs(number(document, "loss") - sum / 4) < 1e-4);
    json_decref(document);
}

static void plot_draws_losses_and_tests(void)
{
    CU_ASSERT_EQUAL(here("$FERRY train solver.prototxt --log run.jsonl && "
                         "$FERRY plot run.jsonl -o run.svg && cat run.svg"),
                    0);
    CU_ASSERT_EQUAL(strncmp(out, "<svg ", 5), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">loss</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">smoothed loss</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">test net 0: loss</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">iteration</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "</svg>"));
    CU_ASSERT_PTR_NULL(strstr(out, "nan"));
    CU_ASSERT_EQUAL(
        here("echo '{\"iter\": 1, \"loss\": null, \"smoothed_loss\": null}' >n.jsonl && "
             "$FERRY plot n.jsonl -o n.svg && ! grep -q nan n.svg"),
        0);
    CU_ASSERT_EQUAL(here("echo nonsense >x.jsonl; $FERRY plot x.jsonl -o x.svg"), 1);
    CU_ASSERT(one_line_of_error("x.jsonl:1"));
    CU_ASSERT_EQUAL(here(": >x.jsonl; $FERRY plot x.jsonl -o x.svg"), 1);
    CU_ASSERT(one_line_of_error("no losses"));
    CU_ASSERT_EQUAL(here("$FERRY plot run.jsonl -o x.png"), 2);
    CU_ASSERT(one_line_of_error("a .svg"));
    CU_ASSERT_NOT_EQUAL(here("test -e x.png"), 0);
}

#define LINE(iter, loss) "{\"iter\":" #iter ",\"loss\":" #loss ",\"smoothed_loss\":" #loss
#define TWO_NETS \
    ",\"test\":[{\"iter\":0,\"accuracy\":0.1,\"loss\":2},{\"iter\":0,\"accuracy\":0.3}]"

/* How many marks of a colour the picture has. */
static int marks(const char *colour)
{
    char mark[64];
    int n = 0;

    snprintf(mark, sizeof mark, "r=\"3.5\" fill=\"%s\"", colour);
    for (const char *at = out; (at = strstr(at, mark)); at++)
        n++;
    return n;
}

static void plot_draws_scores_on_a_separate_axis(void)
{
    CU_ASSERT_EQUAL(here("echo '" LINE(0, 3) TWO_NETS "}' >s.jsonl && echo '" LINE(
                        1, 2) "}' >>s.jsonl && "
                              "$FERRY plot s.jsonl -o s.svg && cat s.svg"),
                    0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">test net 0: accuracy</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">test net 1: accuracy</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">score</text>"));
    CU_ASSERT_EQUAL(marks("#2ca02c"), 1); /* each test has a colour of its own */
    CU_ASSERT_EQUAL(marks("#d62728"), 1);
    CU_ASSERT_EQUAL(marks("#9467bd"), 1);
    CU_ASSERT(strstr(out, "stroke-width=\"5\"") < strstr(out, "stroke-width=\"1.5\""));
}

/* Iterations three, four, and four again: the plot draws one line, through four points. */
static void plot_omits_iterations_that_a_resumed_training_repeats(void)
{
    const char *line;
    int points = 0;

    CU_ASSERT_EQUAL(here("for i in 0 1 2 3 2 3 4; do echo \"{\\\"iter\\\":$i,\\\"loss\\\":1,"
                         "\\\"smoothed_loss\\\":1}\"; done >r.jsonl && "
                         "$FERRY plot r.jsonl -o r.svg && grep 'stroke-width=\"1.5\"' r.svg"),
                    0);
    for (line = out; *line && *line != '\n'; line++)
        points += *line == 'L';
    CU_ASSERT_EQUAL(points, 4);
}

static void plot_accepts_several_logs_and_a_logarithmic_axis(void)
{
    CU_ASSERT_EQUAL(
        here("echo '" LINE(0, 100) "}' >a.jsonl && echo '" LINE(
            1, 0) "}' >>a.jsonl && "
                  "echo '" LINE(
                      0, 1) "}' >b.jsonl && "
                            "$FERRY plot a.jsonl b.jsonl -o ab.svg --log-axis && cat ab.svg"),
        0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">a.jsonl, loss</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">b.jsonl, loss</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">10</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">100</text>"));
    CU_ASSERT_PTR_NULL(strstr(out, "inf"));
    CU_ASSERT_PTR_NULL(strstr(out, "nan"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(log_lines_of_caffe_have_the_fields_of_glog),
    FERRY_TEST(the_log_has_a_line_for_each_iteration),
    FERRY_TEST(the_last_test_is_in_the_last_line),
    FERRY_TEST(an_exact_resume_ends_with_the_same_result),
    FERRY_TEST(recompute_ends_with_the_same_result),
    FERRY_TEST(fake_quantization_trains_for_the_ranges_and_resumes),
    FERRY_TEST(the_precision_of_the_training_net_is_an_option),
    FERRY_TEST(signals_snapshot_and_stop),
    FERRY_TEST(a_full_disk_names_the_latest_good_snapshot),
    FERRY_TEST(invalid_arguments_print_one_error_line),
    FERRY_TEST(weights_of_another_net_are_an_error_with_both_names),
    FERRY_TEST(the_error_for_a_missing_net_lists_each_searched_path_once),
    FERRY_TEST(weights_for_only_some_layers_print_one_line),
    FERRY_TEST(test_gives_means_of_outputs),
    FERRY_TEST(plot_draws_losses_and_tests),
    FERRY_TEST(plot_draws_scores_on_a_separate_axis),
    FERRY_TEST(plot_omits_iterations_that_a_resumed_training_repeats),
    FERRY_TEST(plot_accepts_several_logs_and_a_logarithmic_axis),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command train", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry run --backward` and `ferry time --backward`. */

/* y = max(2 · Σ x + 1, 0) of each row of x. */
static const char net[] =
    "force_backward: true\n"
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 1 weight_filler { value: 2 } bias_filler { value: 1 } } }\n"
    "layer { name: 'relu' type: 'ReLU' bottom: 'y' top: 'y' }\n";

/* Runs the net on its input, with these arguments. */
static int run(const char *arguments)
{
    char command[2048];

    write_text("net.prototxt", net);
    write_array("x.npy", "(2, 3)", (const float[]){ 1, 2, 3, 4, 5, 6 }, 6);
    write_array("y.npy", "(2, 1)", (const float[]){ 1, -3 }, 2);
    snprintf(command, sizeof(command), "run %s --input x=%s %s", in_folder("net.prototxt"),
             in_folder("x.npy"), arguments);
    return ferry(command);
}

/* Whether the array of that name in o.npz has those values. */
static bool has(const char *name, size_t n, const double *values)
{
    char text[512], command[1024];
    json_t *document, *got;
    bool same;

    snprintf(text, sizeof(text), "layer { name: 'in' type: 'Input' top: '%s' }\n", name);
    write_text("show.prototxt", text);
    snprintf(command, sizeof(command), "run %s --input %s=%s --json", in_folder("show.prototxt"),
             name, in_folder("o.npz"));
    if (ferry(command)) {
        printf("     %s: %s", name, err);
        return false;
    }
    document = parse_output();
    got = json_object_get(json_array_get(json_object_get(document, "outputs"), 0), "values");
    same = json_array_size(got) == n;
    for (size_t i = 0; same && i < n; i++)
        same = json_number_value(json_array_get(got, i)) == values[i];
    json_decref(document);
    return same;
}

static bool is_there(const char *name)
{
    char command[1024];

    snprintf(command, sizeof(command), "inspect %s --json", in_folder("o.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof(command), "\"%s\"", name);
    return strstr(out, command) != NULL;
}

static void run_writes_the_diffs_of_its_blobs(void)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments), "--backward --diff y=%s -o %s", in_folder("y.npy"),
             in_folder("o.npz"));
    CU_ASSERT_EQUAL(run(arguments), 0);
    CU_ASSERT(has("y", 2, (const double[]){ 13, 31 }));
    CU_ASSERT(has("y.diff", 2, (const double[]){ 1, -3 }));
    CU_ASSERT_FALSE(is_there("x.diff"));
    snprintf(arguments, sizeof(arguments), "--backward --diff y=%s -o %s --blobs x",
             in_folder("y.npy"), in_folder("o.npz"));
    CU_ASSERT_EQUAL(run(arguments), 0);
    CU_ASSERT(has("x.diff", 6, (const double[]){ 2, 2, 2, -6, -6, -6 }));
    CU_ASSERT_FALSE(is_there("y"));
}

static void blobs_all_writes_the_diffs_of_parameters_too(void)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments), "--backward --diff y=%s -o %s --blobs all --report",
             in_folder("y.npy"), in_folder("o.npz"));
    CU_ASSERT_EQUAL(run(arguments), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "backward"));
    CU_ASSERT(has("x.diff", 6, (const double[]){ 2, 2, 2, -6, -6, -6 }));
    CU_ASSERT(has("ip/0", 3, (const double[]){ 2, 2, 2 }));
    CU_ASSERT(has("ip/0.diff", 3, (const double[]){ -11, -13, -15 }));
    CU_ASSERT(has("ip/1.diff", 1, (const double[]){ -2 }));
}

static void diffs_of_a_file_are_matched_by_blob_name(void)
{
    char arguments[1024];

    /* y itself, 13 and 31, is the diff of y */
    snprintf(arguments, sizeof(arguments), "-o %s", in_folder("d.npz"));
    CU_ASSERT_EQUAL(run(arguments), 0);
    snprintf(arguments, sizeof(arguments), "--backward --diff %s -o %s --blobs x",
             in_folder("d.npz"), in_folder("o.npz"));
    CU_ASSERT_EQUAL(run(arguments), 0);
    CU_ASSERT(has("x.diff", 6, (const double[]){ 26, 26, 26, 62, 62, 62 }));
}

static void a_net_without_a_derivative_prints_one_error_line(void)
{
    char arguments[1024];

    CU_ASSERT_EQUAL(run("--diff y=y.npy"), 2);
    CU_ASSERT(one_line_of_error("--diff"));
    CU_ASSERT_EQUAL(run("--backward --iterations 2"), 2);
    CU_ASSERT(one_line_of_error("allows one pass only"));
    snprintf(arguments, sizeof(arguments), "--backward --diff y=%s", in_folder("x.npy"));
    CU_ASSERT_EQUAL(run(arguments), 1);
    CU_ASSERT(one_line_of_error("\"y\" is 2 1 (2), the array has 6 elements"));
    snprintf(arguments, sizeof(arguments), "--backward --diff nope=%s", in_folder("y.npy"));
    CU_ASSERT_EQUAL(run(arguments), 1);
    CU_ASSERT(one_line_of_error("no blob \"nope\""));
}

static void duplicate_output_names_are_an_error(void)
{
    char command[1024];

    write_text("two.prototxt",
               "layer { name: 'in' type: 'Input' top: 'x' top: 'x.diff' input_param {\n"
               "  shape { dim: 1 } } }\n");
    write_array("x.npy", "(1,)", (const float[]){ 1 }, 1);
    snprintf(command, sizeof(command),
             "run %s --input x=%s --input x.diff=%s --blobs all --backward -o %s",
             in_folder("two.prototxt"), in_folder("x.npy"), in_folder("x.npy"),
             in_folder("o2.npz"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT(one_line_of_error("written as \"x.diff\""));
}

static void time_reports_backward_separately(void)
{
    char command[1024];
    json_t *document, *layer, *back = NULL;
    size_t i;

    write_text("net.prototxt", net);
    snprintf(command, sizeof(command), "time %s --iterations 2 --backward --json",
             in_folder("net.prototxt"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "layers"), i,
                       layer) if (strcmp(text_of(layer, "name"), "ip") == 0) back =
        json_object_get(layer, "backward");
    CU_ASSERT_PTR_NOT_NULL_FATAL(back);
    CU_ASSERT(json_number_value(json_object_get(back, "ms")) > 0);
    CU_ASSERT(json_number_value(json_object_get(back, "gflops")) > 0);
    CU_ASSERT(strlen(text_of(back, "tier")) > 0);
    json_decref(document);
    snprintf(command, sizeof(command), "time %s --iterations 2 --backward",
             in_folder("net.prototxt"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "backward"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(run_writes_the_diffs_of_its_blobs),
    FERRY_TEST(blobs_all_writes_the_diffs_of_parameters_too),
    FERRY_TEST(diffs_of_a_file_are_matched_by_blob_name),
    FERRY_TEST(a_net_without_a_derivative_prints_one_error_line),
    FERRY_TEST(duplicate_output_names_are_an_error),
    FERRY_TEST(time_reports_backward_separately),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command backward", cases, FERRY_TEST_COUNT(cases));
}

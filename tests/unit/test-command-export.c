/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `ferry export`; python/tests/test_onnx.py decodes the files that it writes. */

#define NET                                                                                       \
    "name: 'n' layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } " \
    "}\n"                                                                                         \
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"        \
    "  num_output: 4 weight_filler { type: 'xavier' } } }\n"

static void put_text(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    chmod(in_folder(name), mode);
}

/* Exports `text`; returns the exit status. */
static int export(const char *text, const char *options)
{
    char line[1024];

    put_text("net.prototxt", text, 0644);
    snprintf(line, sizeof(line), "export %s %s %s", in_folder("net.prototxt"),
             in_folder("net.onnx"), options);
    return ferry(line);
}

static bool is_written(void)
{
    bool is = access(in_folder("net.onnx"), F_OK) == 0;

    unlink(in_folder("net.onnx"));
    return is;
}

static void a_model_starts_with_the_version_and_the_producer_ferry(void)
{
    static const char begins[] = "\x08\x07\x12\x05"
                                 "ferry\x1a";
    char got[4096] = "";

    CU_ASSERT_EQUAL(export(NET, ""), 0);
    slurp(in_folder("net.onnx"), got, sizeof(got));
    CU_ASSERT_EQUAL(memcmp(got, begins, sizeof(begins) - 1), 0);
    CU_ASSERT(is_written());
}

static void layers_without_an_onnx_operator_are_named_with_their_lines(void)
{
    CU_ASSERT_EQUAL(export(NET "layer { name: 'label' type: 'Input' top: 'l' input_param {\n"
                               "  shape { dim: 2 } } }\n"
                               "layer { name: 'a' type: 'Accuracy' bottom: 'y'\n"
                               "  bottom: 'l' top: 'a' }\n",
                           ""),
                    1);
    CU_ASSERT(one_line_of_error("line 6, a (Accuracy): no operator"));
    CU_ASSERT(!is_written());
}

static void wrong_arguments_are_refused(void)
{
    CU_ASSERT_EQUAL(export(NET, "--opset 10"), 2);
    CU_ASSERT(one_line_of_error("--opset"));
    CU_ASSERT_EQUAL(export(NET, "--frobnicate"), 2);
    CU_ASSERT_EQUAL(ferry("export net.prototxt"), 2);
    CU_ASSERT(one_line_of_error("usage: ferry export NET"));
    CU_ASSERT(!is_written());
}

static void weights_that_cannot_be_read_are_refused(void)
{
    char line[1024];

    put_text("net.prototxt", NET, 0644);
    put_text("w.caffemodel", "no weights", 0644);
    snprintf(line, sizeof(line), "export %s %s %s", in_folder("net.prototxt"),
             in_folder("w.caffemodel"), in_folder("net.onnx"));
    CU_ASSERT_EQUAL(ferry(line), 1);
    CU_ASSERT(one_line_of_error("w.caffemodel"));
    CU_ASSERT(!is_written());
}

/* Runs `ferry export --check` with this script as python3. Returns the exit status. */
static int check_with(const char *python)
{
    char *path = getenv("PATH"), *before = strdup(path ? path : ""), with[8192];
    int status;

    put_text("python3", python, 0755);
    snprintf(with, sizeof(with), "%s", in_folder("python3"));
    *strrchr(with, '/') = '\0';
    snprintf(with + strlen(with), sizeof(with) - strlen(with), ":%s", before);
    setenv("PATH", with, 1);
    status = export(NET, "--check");
    setenv("PATH", before, 1);
    unlink(in_folder("python3"));
    free(before);
    return status;
}

static void check_reports_the_results_of_the_other_runtime(void)
{
    CU_ASSERT_EQUAL(
        check_with("#!/bin/sh\ntest -s \"$4\" && test -s \"$3\" && echo \"$5: same\"\n"), 0);
    CU_ASSERT_STRING_EQUAL(out, "x: same\n");
    CU_ASSERT(is_written());
    CU_ASSERT_EQUAL(check_with("#!/bin/sh\nexit 1\n"), 1);
    CU_ASSERT(one_line_of_error("differs from the net by more than 1e-4"));
    CU_ASSERT_EQUAL(check_with("#!/bin/sh\nexit 3\n"), 1);
    CU_ASSERT(one_line_of_error("python3 has no onnxruntime, openvino or cv2"));
    (void)is_written();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_model_starts_with_the_version_and_the_producer_ferry),
    FERRY_TEST(layers_without_an_onnx_operator_are_named_with_their_lines),
    FERRY_TEST(wrong_arguments_are_refused),
    FERRY_TEST(weights_that_cannot_be_read_are_refused),
    FERRY_TEST(check_reports_the_results_of_the_other_runtime),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1); /* only texts and weights are involved */
    return command_main(argc, argv, "command export", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `ferry upgrade`. */

static char got[65536];

static void put_bytes(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Upgrades `text`, with options; the result is in `got`. Returns the exit status. */
static int upgrade(const char *text, const char *options)
{
    char line[1024];
    int status;

    put_bytes("in.prototxt", text, strlen(text));
    unlink(in_folder("out.prototxt"));
    snprintf(line, sizeof(line), "upgrade %s %s %s", in_folder("in.prototxt"),
             in_folder("out.prototxt"), options);
    status = ferry(line);
    *got = '\0';
    if (access(in_folder("out.prototxt"), F_OK) == 0)
        slurp(in_folder("out.prototxt"), got, sizeof(got));
    return status;
}

static void check_upgrade(const char *text, const char *options, const char *want)
{
    CU_ASSERT_EQUAL(upgrade(text, options), 0);
    CU_ASSERT_STRING_EQUAL(got, want);
    if (strcmp(got, want) != 0)
        printf("  %s\n  got %s  want %s", err, got, want);
}

/* An error of one line that contains `about`, and no output file. */
static void check_refused(const char *text, const char *options, int status, const char *about)
{
    CU_ASSERT_EQUAL(upgrade(text, options), status);
    CU_ASSERT(one_line_of_error(about));
    CU_ASSERT_STRING_EQUAL(got, "");
}

/* ---- forms ---------------------------------------------------------------------------------- */

static void v1_text_becomes_v2_text(void)
{
    check_upgrade("name: 'n' input: 'x' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n"
                  "layers { name: 'r' type: RELU bottom: 'x' top: 'y' blobs_lr: 2 }\n",
                  "",
                  "name: \"n\"\n"
                  "layer {\n  name: \"input\"\n  type: \"Input\"\n  top: \"x\"\n  input_param {\n"
                  "    shape {\n      dim: 1\n      dim: 2\n      dim: 3\n      dim: 4\n    }\n"
                  "  }\n}\n"
                  "layer {\n  name: \"r\"\n  type: \"ReLU\"\n  bottom: \"x\"\n  top: \"y\"\n"
                  "  param {\n    lr_mult: 2\n  }\n}\n");
}

static void v0_text_becomes_v2_text(void)
{
    check_upgrade("layers { layer { name: 'p' type: 'pool' kernelsize: 3 } bottom: 'x' top: 'y' }\n"
                  "input: 'x'\n",
                  "",
                  "layer {\n  name: \"p\"\n  type: \"Pooling\"\n  bottom: \"x\"\n  top: \"y\"\n"
                  "  pooling_param {\n    kernel_size: 3\n  }\n}\n");
}

static void a_text_of_today_keeps_its_comments(void)
{
    static const char text[] = "# a net\nlayer { name: 'r' type: 'ReLU' # why\n  bottom: 'x' }\n";

    check_upgrade(text, "", text);
}

static void a_solver_gets_the_name_of_its_type(void)
{
    check_upgrade("net: 'n' base_lr: 0.5 solver_type: ADAM\n", "",
                  "base_lr: 0.5\nnet: \"n\"\ntype: \"Adam\"\n");
}

/* layers { name: "ip" type: INNER_PRODUCT blobs { num: 1 data: 1.5 } } in V1 and in V2. */
static const char v1_binary[] = "\x0a\x01n\x12\x10\x22\x02ip\x28\x0e\x32\x08"
                                "\x08\x01\x2a\x04\0\0\xc0\x3f";
static const char v2_binary[] = "\x0a\x01n\xa2\x06\x1c\x0a\x02ip\x12\x0cInnerProduct\x3a\x08"
                                "\x08\x01\x2a\x04\0\0\xc0\x3f";

static void blobs_of_a_binary_file_are_copied(void)
{
    char line[1024], bytes[64];
    FILE *file;
    size_t n;

    put_bytes("in.caffemodel", v1_binary, sizeof(v1_binary) - 1);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.caffemodel"),
             in_folder("out.caffemodel"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    file = fopen(in_folder("out.caffemodel"), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    CU_ASSERT_EQUAL(n, sizeof(v2_binary) - 1);
    CU_ASSERT(n == sizeof(v2_binary) - 1 && memcmp(bytes, v2_binary, n) == 0);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void a_bad_text_is_one_line_and_no_file(void)
{
    check_refused("layer { name: }", "", 1, "in.prototxt:1:15");
    check_refused("layer { } layers { }", "", 1, "in.prototxt:1:18");
    check_refused("layers { layer { name: 'a' type: 'nonsense' } }", "", 1, "nonsense");
}

static void parameters_that_cannot_be_upgraded_are_an_exit_status(void)
{
    CU_ASSERT_EQUAL(upgrade("layers { layer { name: 'r' type: 'relu' kernelsize: 3 } }", ""), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "Unknown parameter kernelsize for layer type relu"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "type: \"ReLU\""));
}

static void a_file_may_be_upgraded_in_place(void)
{
    char line[1024];

    put_bytes("in.prototxt", "layers { type: RELU }", 21);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.prototxt"),
             in_folder("in.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    slurp(in_folder("in.prototxt"), got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "layer {\n  type: \"ReLU\"\n}\n");
}

static void a_result_that_cannot_be_written_leaves_nothing(void)
{
    char line[1024];

    put_bytes("in.prototxt", "layers { type: RELU }", 21);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.prototxt"), in_folder("."));
    CU_ASSERT_EQUAL(ferry(line), 1);
    CU_ASSERT(strstr(err, "is a directory") != NULL);
    snprintf(line, sizeof(line), "upgrade %s", in_folder("in.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 2);
    CU_ASSERT(one_line_of_error("upgrade"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(v1_text_becomes_v2_text),
    FERRY_TEST(v0_text_becomes_v2_text),
    FERRY_TEST(a_text_of_today_keeps_its_comments),
    FERRY_TEST(a_solver_gets_the_name_of_its_type),
    FERRY_TEST(blobs_of_a_binary_file_are_copied),
    FERRY_TEST(a_bad_text_is_one_line_and_no_file),
    FERRY_TEST(parameters_that_cannot_be_upgraded_are_an_exit_status),
    FERRY_TEST(a_file_may_be_upgraded_in_place),
    FERRY_TEST(a_result_that_cannot_be_written_leaves_nothing),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command upgrade", cases, FERRY_TEST_COUNT(cases));
}

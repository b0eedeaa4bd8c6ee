/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ferry command and the examples, run like a user; the README's program too. */

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static int example(const char *name)
{
    char line[4096];

    snprintf(line, sizeof(line), "\"$FERRY_TEST_BUILDDIR\"/examples/%s", name);
    return shell(line);
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* The copies in that direction in the rows of the trace. */
static json_int_t copied(const json_t *document, const char *what, const char *key)
{
    json_int_t sum = 0;
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(document, "rows"), i,
                       row) if (strcmp(text_of(row, "what"), what) == 0 &&
                                json_is_true(json_object_get(row, "copy"))) sum +=
        json_integer_value(json_object_get(row, key));
    return sum;
}

/* Whether copies to the selected device are real. */
static bool is_discrete(void)
{
    json_t *document, *device;
    bool discrete;

    CU_ASSERT_EQUAL_FATAL(ferry("devices --json"), 0);
    document = parse_output();
    device = json_array_get(json_object_get(document, "devices"), 0);
    discrete = json_is_true(json_object_get(device, "discrete"));
    json_decref(document);
    return discrete;
}

static void ferry_trace_counts_the_copies_of_the_tour(void)
{
    char command[1024];
    json_t *document;

    if (!is_discrete()) {
        ferry_test_skip("this device copies nothing");
        return;
    }
    snprintf(command, sizeof(command), "FERRY_TRACE=%s \"$FERRY_TEST_BUILDDIR\"/examples/tour",
             in_folder("trace.json"));
    CU_ASSERT_EQUAL(shell(command), 0);
    snprintf(command, sizeof(command), "trace %s --json", in_folder("trace.json"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    CU_ASSERT_EQUAL(copied(document, "h2d", "count") + copied(document, "d2h", "count"), 4);
    CU_ASSERT_EQUAL(copied(document, "h2d", "bytes") + copied(document, "d2h", "bytes"), 4 * 480);
    json_decref(document);
    snprintf(command, sizeof(command), "trace %s", in_folder("trace.json"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "read-miss"));
    snprintf(command, sizeof(command), "head -c 700 %s >%s", in_folder("trace.json"),
             in_folder("cut.json"));
    CU_ASSERT_EQUAL(shell(command), 0);
    snprintf(command, sizeof(command), "trace %s", in_folder("cut.json"));
    CU_ASSERT_EQUAL(ferry(command), 0); /* the complete events are shown */
    write_file(in_folder("other.json"), "{}\n", 3);
    snprintf(command, sizeof(command), "trace %s", in_folder("other.json"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT(one_line_of_error("traceEvents"));
    CU_ASSERT_EQUAL(ferry("trace"), 2);
}

/* ---- inspect -------------------------------------------------------------------------------- */

static json_t *inspect(const char *path)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments), "inspect --json '%s'", path);
    CU_ASSERT_EQUAL_FATAL(ferry(arguments), 0);
    return parse_output();
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);

    CU_ASSERT(json_is_number(number));
    return json_number_value(number);
}

/*
 * The sum of the values with which examples/weights.c fills an array of that length, computed
 * without ferry.
 */
static void expected_norms(int64_t count, double *l1, double *sumsq)
{
    uint32_t state = 12345;

    *l1 = *sumsq = 0;
    for (int64_t i = 0; i < count; i++) {
        double x;

        state = state * 1664525u + 1013904223u;
        x = ((state >> 8) - 8388608.0) / 8388608.0;
        *l1 += fabs(x);
        *sumsq += x * x;
    }
}

static void weights_round_trip_and_are_inspected(void)
{
    static const char *const names[] = {
        "conv1/0", "conv1/1", "conv2/0", "conv2/1", "fc/0", "fc/1"
    };
    static const int64_t counts[] = { 216, 8, 1152, 16, 640, 10 };
    char command[512];
    json_t *document, *blob;
    size_t i;

    snprintf(command, sizeof(command), "weights %s", in_folder("w.caffemodel"));
    CU_ASSERT_EQUAL(example(command), 0);
    document = inspect(in_folder("w.caffemodel"));
    CU_ASSERT_STRING_EQUAL(text_of(document, "file"), in_folder("w.caffemodel"));
    CU_ASSERT_EQUAL(strncmp(text_of(document, "device"), ferry_test_backend(), 3), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "blobs")), 6);
    json_array_foreach(json_object_get(document, "blobs"), i, blob)
    {
        double l1, sumsq;

        expected_norms(counts[i], &l1, &sumsq);
        CU_ASSERT_STRING_EQUAL(text_of(blob, "name"), names[i]);
        CU_ASSERT_STRING_EQUAL(text_of(blob, "dtype"), "F32");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(blob, "count")), counts[i]);
        CU_ASSERT_DOUBLE_EQUAL(number_of(blob, "l1"), l1, 1e-6 * l1);
        CU_ASSERT_DOUBLE_EQUAL(number_of(blob, "sumsq"), sumsq, 1e-6 * sumsq);
    }
    blob = json_array_get(json_object_get(document, "blobs"), 2);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(blob, "shape")), 4);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(json_object_get(blob, "shape"), 0)), 16);
    json_decref(document);
}

/* A .npy of version 1.0 with one axis, whose values follow the header. */
static void write_npy(const char *path, const char *descr, int count, const void *values,
                      size_t size)
{
    char file[1024] = "\x93NUMPY\x01\x00\x76\x00";
    int n = 10;

    n += snprintf(file + n, 100, "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr,
                  count);
    memset(file + n, ' ', (size_t)(127 - n));
    file[127] = '\n';
    memcpy(file + 128, values, size);
    write_file(path, file, 128 + size);
}

static void norms_of_integers_are_computed_in_doubles(void)
{
    static const int64_t values[] = { 3, -4, INT64_C(1000000) };
    json_t *document, *blob;

    write_npy(in_folder("whole.npy"), "<i8", 3, values, sizeof(values));
    document = inspect(in_folder("whole.npy"));
    blob = json_array_get(json_object_get(document, "blobs"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(blob, "name"), "whole");
    CU_ASSERT_STRING_EQUAL(text_of(blob, "dtype"), "I64");
    CU_ASSERT_EQUAL(number_of(blob, "l1"), 1000007);
    CU_ASSERT_EQUAL(number_of(blob, "sumsq"), 1000000000025.0);
    json_decref(document);
}

static void a_sum_that_is_not_finite_is_null(void)
{
    static const float values[] = { 1, NAN };
    json_t *document, *blob;

    write_npy(in_folder("nan.npy"), "<f4", 2, values, sizeof(values));
    document = inspect(in_folder("nan.npy"));
    blob = json_array_get(json_object_get(document, "blobs"), 0);
    CU_ASSERT(json_is_null(json_object_get(blob, "l1")));
    CU_ASSERT(json_is_null(json_object_get(blob, "sumsq")));
    json_decref(document);
}

static void real_weights_are_inspected(void)
{
    const char *path = ferry_test_data("det1.caffemodel");
    json_int_t elements = 0;
    json_t *document, *blob;
    size_t i;

    if (!path)
        return;
    document = inspect(path);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "blobs")), 13);
    json_array_foreach(json_object_get(document, "blobs"), i, blob)
    {
        elements += json_integer_value(json_object_get(blob, "count"));
        CU_ASSERT(number_of(blob, "l1") > 0);
    }
    CU_ASSERT_EQUAL(elements, 6632);
    json_decref(document);
}

/* The CPU's result for a file; NULL if it was not read. */
static json_t *inspect_on_cpu(const char *path)
{
    char line[4096];

    snprintf(line, sizeof(line),
             "FERRY_BACKEND=cpu FERRY_CONF=/dev/null \"$FERRY_TEST_COMMAND\" inspect --json '%s'",
             path);
    return shell(line) == 0 ? parse_output() : NULL;
}

static void same_norms(const char *path, const json_t *on_cpu)
{
    json_t *document = inspect(path), *blobs = json_object_get(document, "blobs"), *blob;
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(blobs), json_array_size(json_object_get(on_cpu, "blobs")));
    json_array_foreach(json_object_get(on_cpu, "blobs"), i, blob)
    {
        const json_t *here = json_array_get(blobs, i);
        double l1 = number_of(blob, "l1"), sumsq = number_of(blob, "sumsq");

        CU_ASSERT_STRING_EQUAL(text_of(here, "name"), text_of(blob, "name"));
        CU_ASSERT_DOUBLE_EQUAL(number_of(here, "l1"), l1, 1e-6 * l1);
        CU_ASSERT_DOUBLE_EQUAL(number_of(here, "sumsq"), sumsq, 1e-6 * sumsq);
    }
    json_decref(document);
}

static void norms_of_real_files_equal_those_of_the_cpu(void)
{
    char folder[512], path[800];
    const char *one = ferry_test_data("det1.caffemodel");
    struct dirent *entry;
    int files = 0;
    json_t *on_cpu;
    DIR *dir;

    if (!one)
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(one, '/') - one), one);
    dir = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%.255s", folder, entry->d_name);
        on_cpu = entry->d_name[0] == '.' ? NULL : inspect_on_cpu(path);
        if (!on_cpu)
            continue;
        same_norms(path, on_cpu);
        json_decref(on_cpu);
        files++;
    }
    closedir(dir);
    CU_ASSERT(files >= 5); /* of six; some builds lack HDF5 */
}

static void check_bad_file(const char *name)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments), "inspect '%s'", in_folder(name));
    CU_ASSERT_EQUAL(ferry(arguments), 1);
    CU_ASSERT(one_line_of_error(name));
    CU_ASSERT_STRING_EQUAL(out, "");
}

static void bad_files_print_one_error_line_and_exit_with_1(void)
{
    static const char npy[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4'";
    static const char text[] = "These are not the weights you are looking for.\n";

    write_file(in_folder("empty"), "", 0);
    write_file(in_folder("text"), text, sizeof(text) - 1);
    write_file(in_folder("short.npy"), npy, sizeof(npy) - 1);
    CU_ASSERT_EQUAL(shell("mkdir -p \"$FERRY_TEST_FOLDER/folder\""), 0);
    check_bad_file("missing");
    check_bad_file("empty");
    check_bad_file("text");
    check_bad_file("short.npy");
    check_bad_file("folder");
}

/* ---- the command line ----------------------------------------------------------------------- */

static void an_invalid_command_line_exits_with_2(void)
{
    CU_ASSERT_EQUAL(ferry(""), 2);
    CU_ASSERT_EQUAL(ferry("devcies"), 2);
    CU_ASSERT(one_line_of_error("did you mean \"devices\"?"));
    CU_ASSERT_EQUAL(ferry("xyzzyxyzzy"), 2);
    CU_ASSERT(one_line_of_error("xyzzyxyzzy"));
    CU_ASSERT_EQUAL(ferry("devices --jsno"), 2);
    CU_ASSERT(one_line_of_error("--json"));
    CU_ASSERT_EQUAL(ferry("devices more"), 2);
    CU_ASSERT(one_line_of_error("more"));
    CU_ASSERT_EQUAL(ferry("inspect"), 2);
    CU_ASSERT(one_line_of_error("missing file"));
    CU_ASSERT_EQUAL(ferry("inspect a b"), 2);
    CU_ASSERT_STRING_EQUAL(out, "");
}

static void an_option_of_caffes_command_gets_a_hint(void)
{
    CU_ASSERT_EQUAL(ferry("train -solver s.prototxt"), 2);
    CU_ASSERT(one_line_of_error("ferry train SOLVER"));
    CU_ASSERT_EQUAL(ferry("train --solver=s.prototxt"), 2);
    CU_ASSERT(one_line_of_error("ferry train SOLVER"));
    CU_ASSERT_EQUAL(ferry("time --gpu 0"), 2);
    CU_ASSERT(one_line_of_error("FERRY_BACKEND"));
    CU_ASSERT_EQUAL(ferry("train --solve s.prototxt"), 2);
    CU_ASSERT(!one_line_of_error("SOLVER"));
}

static void help_and_version_are_printed(void)
{
    CU_ASSERT_EQUAL(ferry("--help"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "inspect"));
    CU_ASSERT_EQUAL(ferry("--version"), 0);
    CU_ASSERT_EQUAL(strncmp(out, "ferry ", 6), 0);
    CU_ASSERT_EQUAL(ferry("inspect --help"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "usage: ferry inspect"));
    CU_ASSERT_EQUAL(
        shell("f=$FERRY_TEST_COMMAND; for c in $(\"$f\" complete -- '' | grep -v -e help "
              "-e version); do \"$f\" $c --help 2>&1 | head -n 1 | grep -q \"^usage: ferry $c\" && "
              "\"$f\" $c --help >/dev/null || echo $c; done"),
        0);
    CU_ASSERT_STRING_EQUAL(out, "");
}

static void new_plugin_writes_the_template_with_the_given_name(void)
{
    static const char arguments[] = "new-plugin my-plug \"$FERRY_TEST_FOLDER\"/new "
                                    "--template \"$FERRY_TEST_SRCDIR\"/examples/plugin-template";

    CU_ASSERT_EQUAL(ferry(arguments), 0);
    CU_ASSERT_EQUAL(ferry(arguments), 1); /* no file is overwritten */
    CU_ASSERT(one_line_of_error("/new: "));
    CU_ASSERT_EQUAL(shell("cd \"$FERRY_TEST_FOLDER\"/new && ! grep -q acme_queues * && "
                          "grep -q ferry_my_plug_la_SOURCES Makefile.am && "
                          "grep -q '^library = /.*/ferry_my-plug.so$' plugins.conf"),
                    0);
    CU_ASSERT_EQUAL(
        shell("cd \"$FERRY_TEST_FOLDER\"/new && cc -std=c11 -Wall -Wextra -Werror -fPIC "
              "-shared -fvisibility=hidden -pthread -I\"$FERRY_TEST_SRCDIR\"/include "
              "my-plug.c acme_driver.c -o ferry_my-plug.so"),
        0);
    CU_ASSERT_EQUAL(ferry("check \"$FERRY_TEST_FOLDER\"/new/ferry_my-plug.so --only descriptor"),
                    0);
    CU_ASSERT_EQUAL(shell("mkdir \"$FERRY_TEST_FOLDER\"/half && cd \"$FERRY_TEST_FOLDER\"/half && "
                          "cp ../new/my-plug.c acme.c && cp ../new/acme_driver.c ."),
                    0);
    CU_ASSERT_EQUAL(ferry("new-plugin my-plug \"$FERRY_TEST_FOLDER\"/less "
                          "--template \"$FERRY_TEST_FOLDER\"/half"),
                    1);
    CU_ASSERT(one_line_of_error("/half/acme_driver.h: "));
    CU_ASSERT_EQUAL(shell("test ! -e \"$FERRY_TEST_FOLDER\"/less"), 0); /* no file is left */
    CU_ASSERT_EQUAL(ferry("new-plugin My"), 2);
    CU_ASSERT(one_line_of_error("is not a valid plugin name"));
    CU_ASSERT_EQUAL(shell("rm -rf \"$FERRY_TEST_FOLDER\"/new \"$FERRY_TEST_FOLDER\"/half"), 0);
}

static void a_plugin_of_new_plugin_computes_every_operation(void)
{
    if (strcmp(ferry_test_backend(), "cpu") != 0) {
        ferry_test_skip("it does not use the selected device");
        return;
    }
    CU_ASSERT_EQUAL(ferry("new-plugin all-kinds \"$FERRY_TEST_FOLDER\"/all --operations "
                          "--template \"$FERRY_TEST_SRCDIR\"/examples/plugin-template"),
                    0);
    CU_ASSERT_EQUAL(
        shell("cd \"$FERRY_TEST_FOLDER\"/all && cc -std=c11 -Wall -Wextra -Werror -fPIC -shared "
              "-ffp-contract=off -fvisibility=hidden -pthread -I\"$FERRY_TEST_SRCDIR\"/include "
              "-I\"$FERRY_TEST_SRCDIR\" -I\"$FERRY_TEST_BUILDDIR\" "
              "all-kinds.c acme_driver.c acme_launch.c -o ferry_all-kinds.so "
              "-L\"$FERRY_TEST_BUILDDIR\"/.libs "
              "-Wl,-rpath,\"$FERRY_TEST_BUILDDIR\"/.libs -lferrykernels -lm"),
        0);
    CU_ASSERT_EQUAL(ferry("check \"$FERRY_TEST_FOLDER\"/all/ferry_all-kinds.so "
                          "--only descriptor,ops-values,ops-steps,ops-reuse"),
                    0);
    CU_ASSERT_EQUAL(ferry("new-plugin all-kinds --operations --cxx"), 2);
    CU_ASSERT(one_line_of_error("--operations"));
    CU_ASSERT_EQUAL(ferry("new-plugin all-kinds \"$FERRY_TEST_FOLDER\"/none --operations "
                          "--template \"$FERRY_TEST_FOLDER\"/all"),
                    1);
    CU_ASSERT(one_line_of_error("/all has no folder operations: "));
    CU_ASSERT_EQUAL(shell("test ! -e \"$FERRY_TEST_FOLDER\"/none"), 0);
    CU_ASSERT_EQUAL(shell("rm -rf \"$FERRY_TEST_FOLDER\"/all"), 0);
}

static void unwritable_output_exits_with_1(void)
{
    if (access("/dev/full", W_OK) != 0) {
        ferry_test_skip("there is no /dev/full");
        return;
    }
    CU_ASSERT_EQUAL(shell("\"$FERRY_TEST_COMMAND\" --help >/dev/full"), 1);
    CU_ASSERT(one_line_of_error("standard output"));
}

/*
 * If memory is short for a part of an array, the array is omitted: an incomplete shape would be
 * wrong.
 */
static void json_output_without_memory_exits_with_1(void)
{
    char inspect[300], line[1024];
    const char *commands[] = { "devices", "plugins", inspect };

    snprintf(inspect, sizeof(inspect), "inspect %s", in_folder("short.npz"));
    snprintf(line, sizeof(line), "weights %s", in_folder("short.npz"));
    CU_ASSERT_EQUAL(example(line), 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        snprintf(line, sizeof(line),
                 "FERRY_TEST_SHORT=1 ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 "
                 "LD_PRELOAD=\"$FERRY_TEST_BUILDDIR\"/tests/plugins/fakes/short.so "
                 "\"$FERRY_TEST_COMMAND\" %s --json",
                 commands[i]);
        CU_ASSERT_EQUAL(shell(line), 1);
        CU_ASSERT_STRING_EQUAL(out, "");
        CU_ASSERT(one_line_of_error("out of memory"));
    }
}

/* ---- configuration -------------------------------------------------------------------------- */

static void write_conf(const char *text)
{
    FILE *file = fopen(in_folder("conf"), "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void an_option_that_a_plugin_refuses_names_its_line(void)
{
    char line[512], where[300];

    write_conf("[plugin sim]\noption.latency = 1\noption.devices = 99\n");
    snprintf(where, sizeof(where), "%s:3: option.devices = 99", in_folder("conf"));
    snprintf(line, sizeof(line), "FERRY_BACKEND=sim FERRY_CONF=%s \"$FERRY_TEST_COMMAND\" devices",
             in_folder("conf"));
    CU_ASSERT_EQUAL(shell(line), 1);
    CU_ASSERT(one_line_of_error(where));
}

static void a_missing_library_is_named(void)
{
    char line[512];

    write_conf("[plugin acme]\nlibrary = /nonexistent/acme.so\n");
    snprintf(line, sizeof(line), "FERRY_BACKEND=acme FERRY_CONF=%s \"$FERRY_TEST_COMMAND\" devices",
             in_folder("conf"));
    CU_ASSERT_EQUAL(shell(line), 1);
    CU_ASSERT(one_line_of_error("acme: /nonexistent/acme.so: "));
}

/* ---- the examples --------------------------------------------------------------------------- */

static void the_tour_makes_the_same_copies_as_caffe(void)
{
    static const char *const heads[] = { "AT_HOST", "SYNCED", "SYNCED",  "AT_DEVICE", "AT_DEVICE",
                                         "SYNCED",  "SYNCED", "AT_HOST", "AT_DEVICE", "AT_HOST" };
    static const int moved[] = { 0, 480, 0, 0, 0, 480, 0, 0, 480, 480 };
    bool discrete;
    int step = 0;

    CU_ASSERT_EQUAL(example("tour"), 0);
    discrete = strstr(out, "memory of its own") != NULL;
    for (char *rest = NULL, *line = strtok_r(out, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char access[64], head[64];
        int number, bytes;

        if (sscanf(line, "%d %63s %63s %d bytes", &number, access, head, &bytes) != 4)
            continue;
        CU_ASSERT_EQUAL_FATAL(number, step + 1);
        CU_ASSERT_STRING_EQUAL(head, heads[step]);
        CU_ASSERT_EQUAL(bytes, discrete ? moved[step] : 0);
        step++;
    }
    CU_ASSERT_EQUAL(step, 10);
}

static void a_new_wheel_has_the_name_in_its_entry_point(void)
{
    CU_ASSERT_EQUAL(ferry("new-plugin my-plug \"$FERRY_TEST_FOLDER\"/pip --wheel --cxx --template "
                          "\"$FERRY_TEST_SRCDIR\"/examples/plugin-template"),
                    0);
    CU_ASSERT_EQUAL(shell("cd \"$FERRY_TEST_FOLDER\"/pip && test ! -e Makefile.am && "
                          "grep -q '^my-plug = \"ferry_my_plug\"$' pyproject.toml && "
                          "grep -q '^name = \"ferry-my-plug\"$' pyproject.toml && "
                          "grep -q '^NAME = \"my-plug\"' setup.py && "
                          "grep -q '\\[\"my-plug.cc\", \"acme_driver.c\"\\]' setup.py && "
                          "test -f my-plug.cc && test -f acme_driver.h"),
                    0);
    CU_ASSERT_EQUAL(shell("rm -rf \"$FERRY_TEST_FOLDER\"/pip"), 0);
}

static void the_first_program_runs_and_equals_the_one_in_readme(void)
{
    static char readme[65536], source[16384];
    const char *top = getenv("FERRY_TEST_SRCDIR");
    char path[4096];
    const char *program;

    CU_ASSERT_EQUAL(example("first"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ":0: sum 15, b[0] 2.5\n"));
    snprintf(path, sizeof(path), "%s/README.md", top ? top : ".");
    slurp(path, readme, sizeof(readme));
    snprintf(path, sizeof(path), "%s/examples/first.c", top ? top : ".");
    slurp(path, source, sizeof(source));
    program = strchr(source, '\n'); /* all but the licence */
    CU_ASSERT_PTR_NOT_NULL_FATAL(program);
    CU_ASSERT_PTR_NOT_NULL(strstr(readme, program + 1));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(ferry_trace_counts_the_copies_of_the_tour),
    FERRY_TEST(weights_round_trip_and_are_inspected),
    FERRY_TEST(norms_of_integers_are_computed_in_doubles),
    FERRY_TEST(a_sum_that_is_not_finite_is_null),
    FERRY_TEST(real_weights_are_inspected),
    FERRY_TEST(norms_of_real_files_equal_those_of_the_cpu),
    FERRY_TEST(bad_files_print_one_error_line_and_exit_with_1),
    FERRY_TEST(an_invalid_command_line_exits_with_2),
    FERRY_TEST(an_option_of_caffes_command_gets_a_hint),
    FERRY_TEST(help_and_version_are_printed),
    FERRY_TEST(new_plugin_writes_the_template_with_the_given_name),
    FERRY_TEST(a_plugin_of_new_plugin_computes_every_operation),
    FERRY_TEST(a_new_wheel_has_the_name_in_its_entry_point),
    FERRY_TEST(unwritable_output_exits_with_1),
    FERRY_TEST(json_output_without_memory_exits_with_1),
    FERRY_TEST(an_option_that_a_plugin_refuses_names_its_line),
    FERRY_TEST(a_missing_library_is_named),
    FERRY_TEST(the_tour_makes_the_same_copies_as_caffe),
    FERRY_TEST(the_first_program_runs_and_equals_the_one_in_readme),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command", cases, FERRY_TEST_COUNT(cases));
}

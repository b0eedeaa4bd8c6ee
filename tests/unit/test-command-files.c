/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"
#include "io-build.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* `ferry convert`, `diff` and `merge`, run like a user. */

/* ---- convert -------------------------------------------------------------------------------- */

static void convert_copies_arrays_between_formats(void)
{
    fx_device();
    MAKE("a.safetensors", { "c/1", FERRY_F32, 3, 1, false }, { "d/0", FERRY_F64, 2, 7, false },
         { "c/0", FERRY_F16, 2, 5, false });
    /* a layer's blobs are grouped, whatever their order was */
    CU_ASSERT_EQUAL(ferry("convert a.safetensors b.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert b.caffemodel c.npz"), 0);
    CU_ASSERT_EQUAL(ferry("convert c.npz d --format safetensors"), 0);
    CU_ASSERT_EQUAL(ferry("diff a.safetensors d"), 0);
    CU_ASSERT_EQUAL(value("b.caffemodel", "c/1", 2), 3);
    clean();
    fx_end();
}

static void data_that_the_format_cannot_store_are_an_error_and_write_nothing(void)
{
    fx_device();
    MAKE("a.safetensors", { "w/0", FERRY_F32, 1, 1, false },
         { "conv.weight", FERRY_BF16, 2, 1, false });
    CU_ASSERT_EQUAL(ferry("convert a.safetensors b.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "conv.weight"));
    CU_ASSERT_EQUAL(ferry("convert a.safetensors b.caffemodel --dtype F32"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "<layer>/<index>"));
    MAKE("d.caffemodel", { "w/0", FERRY_F32, 2, 1, true });
    CU_ASSERT_EQUAL(ferry("convert d.caffemodel b.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "diff"));
    CU_ASSERT_EQUAL(files(), 2);
    CU_ASSERT_EQUAL(ferry("convert d.caffemodel b.npz --no-diff"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors c.npz --dtype f32"), 0);
    CU_ASSERT_EQUAL(value("c.npz", "conv.weight", 1), 2);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors x.what"), 2);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors x.npz --dtype F31"), 2);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors"), 2);
    CU_ASSERT_EQUAL(ferry("convert nothere.npz x.npz"), 1);
    CU_ASSERT_EQUAL(files(), 4);
    clean();
    fx_end();
}

/* ---- diff ----------------------------------------------------------------------------------- */

static void diff_measures_differences_and_sets_the_exit_status(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 3, 1, false }, { "y", FERRY_I64, 2, 5, false });
    MAKE("b.npz", { "x", FERRY_F32, 3, 1.5, false }, { "y", FERRY_I64, 2, 5, false });
    MAKE("c.npz", { "x", FERRY_F64, 3, 1, false }, { "z", FERRY_I64, 2, 5, false });
    CU_ASSERT_EQUAL(ferry("diff a.npz a.npz"), 0);
    CU_ASSERT_EQUAL(ferry("diff a.npz b.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "0.5"));
    CU_ASSERT_EQUAL(ferry("diff a.npz b.npz --tolerance 0.5"), 0);
    CU_ASSERT_EQUAL(ferry("diff a.npz c.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "equal, F32 and F64"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "only in the first"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "only in the second"));
    CU_ASSERT_EQUAL(ferry("diff a.npz b.npz --json"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"max_abs\": 0.5"));
    MAKE("d.caffemodel", { "w/0", FERRY_F32, 2, 1, true });
    MAKE("e.caffemodel", { "w/0", FERRY_F32, 2, 1, false });
    CU_ASSERT_EQUAL(ferry("diff d.caffemodel d.caffemodel"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "w/0 (diff)"));
    CU_ASSERT_EQUAL(ferry("diff d.caffemodel e.caffemodel"), 1);
    CU_ASSERT_EQUAL(ferry("diff e.caffemodel d.caffemodel"), 1);
    CU_ASSERT_EQUAL(ferry("diff a.npz nothere.npz"), 2);
    CU_ASSERT_EQUAL(ferry("diff a.npz"), 2);
    CU_ASSERT_EQUAL(ferry("diff a.npz b.npz -t x"), 2);
    clean();
    fx_end();
}

/* ---- merge ---------------------------------------------------------------------------------- */

static void weighted_sums_are_rounded_once(void)
{
    fx_device();
    MAKE("a.safetensors", { "x", FERRY_F32, 70000, 1, false }, { "h", FERRY_F16, 2, 1, false },
         { "i", FERRY_I32, 2, 1, false }, { "none", FERRY_F32, 0, 0, false });
    MAKE("b.safetensors", { "x", FERRY_F32, 70000, 3, false }, { "h", FERRY_F16, 2, 2, false },
         { "i", FERRY_I32, 2, 2, false }, { "none", FERRY_F32, 0, 0, false });
    CU_ASSERT_EQUAL(ferry("merge -o m.safetensors a.safetensors b.safetensors"), 0);
    CU_ASSERT_EQUAL(value("m.safetensors", "x", 0), 2);
    CU_ASSERT_EQUAL(value("m.safetensors", "x", 69999), 70001);
    CU_ASSERT_EQUAL(value("m.safetensors", "h", 0), 1.5);
    CU_ASSERT_EQUAL(value("m.safetensors", "i", 0), 2); /* 1.5, to even */
    CU_ASSERT_EQUAL(value("m.safetensors", "i", 1), 2);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -w 2,-1 a.safetensors b.safetensors"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "x", 10), 2 * 11 - 13);
    /* a + 3 · (b − a) */
    CU_ASSERT_EQUAL(ferry("merge -o m.npz --base a.safetensors --weights=3 b.safetensors"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "x", 10), 11 + 3 * 2);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz --base a.safetensors b.safetensors"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "x", 10), 13);
    CU_ASSERT_EQUAL(files(), 4);
    clean();
    fx_end();
}

/* Names may come from untrusted files, and so do files' names. */
static void control_characters_are_not_printed(void)
{
    fx_device();
    MAKE("e\xc2\x9b.npz", { "a\xe2\x80\xae\xc3\xa9", FERRY_F32, 3, 1, false });
    CU_ASSERT_EQUAL(ferry("inspect e*.npz"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "e?.npz: npz, 1 array"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "a???\xc3\xa9"));
    CU_ASSERT_PTR_NULL(strstr(out, "\xc2\x9b"));
    CU_ASSERT_PTR_NULL(strstr(out, "\xe2\x80\xae"));
    clean();
    fx_end();
}

static bool is_plain(const char *text)
{
    return !strpbrk(text, "\x1b\x9b\r") && !strstr(text, "\xe2\x80\xae");
}

/*
 * Error messages do not print control characters either: each of these names the array, the file or
 * both.
 */
static void errors_truncate_names_like_tables(void)
{
    static const char *const commands[] = {
        "inspect e*.npz",
        "rename e*.npz -o e*.npz --map x=x",
        "split e*.npz q=z.safetensors",
        "merge e*.npz f.npz -o m.npz",
        "inspect $(printf 'no\\033[31m\\233.npz')",
        "convert e*.npz o.safetensors --ferry$(printf '\\033[31m')"
    };

    fx_device();
    MAKE("e\x1b[31m\x9b.npz", { "a\xe2\x80\xae\x1b[2J\xc2\x9b", FERRY_F32, 3, 1, false });
    MAKE("f.npz", { "a\xe2\x80\xae\x1b[2J\xc2\x9b", FERRY_F32, 4, 1, false });
    for (size_t i = 0; i < FERRY_TEST_COUNT(commands); i++) {
        CU_ASSERT_EQUAL(ferry(commands[i]) != 0, i > 0);
        CU_ASSERT(is_plain(out));
        CU_ASSERT(is_plain(err));
    }
    CU_ASSERT_EQUAL(ferry("inspect e*.npz --plot p.svg"), 0);
    slurp("p.svg", out, sizeof(out));
    CU_ASSERT(strlen(out) > 0 && is_plain(out));
    CU_ASSERT_EQUAL(ferry("inspect e*.npz --json"), 0);
    CU_ASSERT(is_plain(out));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "a\\u202E\\u001B[2J\\u009B"));
    clean();
    fx_end();
}

static void a_full_standard_output_is_an_error(void)
{
    static const char *const diffs[] = { "diff b.npz b.npz >/dev/full",
                                         "diff b.npz c.npz >/dev/full",
                                         "diff b.npz c.npz --json >/dev/full" };
    struct array arrays[64];
    char names[64][8];

    fx_device();
    for (int i = 0; i < 64; i++) { /* more than a buffer holds */
        snprintf(names[i], sizeof(names[i]), "x%d", i);
        arrays[i] = (struct array){ names[i], FERRY_F32, 1, 1, false };
    }
    make("a.npz", arrays, 64);
    CU_ASSERT_EQUAL(ferry("inspect a.npz --json >/dev/full"), 1);
    CU_ASSERT_STRING_EQUAL(err, "ferry: standard output: No space left on device\n");
    MAKE("b.npz", { "x0", FERRY_F32, 1, 1, false });
    MAKE("c.npz", { "x0", FERRY_F32, 1, 2, false });
    for (size_t i = 0; i < FERRY_TEST_COUNT(diffs); i++) { /* status 2, whether or not they
                                                            * differ */
        CU_ASSERT_EQUAL(ferry(diffs[i]), 2);
        CU_ASSERT_STRING_EQUAL(err, "ferry: standard output: No space left on device\n");
    }
    clean();
    fx_end();
}

/* An error names the requested file, not the temporary one. */
static void errors_name_the_requested_file_not_the_temporary_one(void)
{
    fx_device();
    MAKE("a.safetensors", { "x", FERRY_BF16, 4, 1, false });
    CU_ASSERT_EQUAL(ferry("convert a.safetensors - -f npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "ferry: standard output: array x: npz cannot hold it"));
    CU_ASSERT_EQUAL(ferry("inspect - <&-"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "ferry: standard input: reading: Bad file descriptor"));
    clean();
    fx_end();
}

static void a_plot_does_not_overwrite_the_weights(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 4, 1, false });
    CU_ASSERT_EQUAL(shell("cp a.npz b.npz && ln -s a.npz c.svg"), 0);
    CU_ASSERT_EQUAL(ferry("inspect a.npz --plot a.npz"), 2);
    CU_ASSERT_EQUAL(ferry("inspect a.npz --plot c.svg"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "inspect: --plot c.svg: is the file itself"));
    CU_ASSERT_EQUAL(shell("cmp a.npz b.npz"), 0);
    CU_ASSERT_EQUAL(ferry("inspect a.npz --plot -"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "inspect: --plot writes a file, not standard output"));
    CU_ASSERT(!is_there("./-"));
    CU_ASSERT_EQUAL(shell("rm c.svg"), 0);
    CU_ASSERT_EQUAL(ferry("inspect a.npz --plot c.svg"), 0);
    CU_ASSERT_EQUAL(shell("grep -q '</svg>' c.svg"), 0);
    clean();
    fx_end();
}

/* The arrays of these files have no name, and are called by their files' names. */
static void arrays_without_names_are_matched_as_pairs(void)
{
    fx_device();
    MAKE("a.npy", { "a", FERRY_F32, 3, 1, false });
    MAKE("b.npy", { "b", FERRY_F32, 3, 3, false });
    MAKE("c.npy", { "c", FERRY_F32, 4, 3, false });
    MAKE("b.npz", { "b", FERRY_F32, 3, 3, false });
    CU_ASSERT_EQUAL(ferry("diff a.npy a.npy"), 0);
    CU_ASSERT_EQUAL(ferry("diff a.npy b.npy"), 1);
    CU_ASSERT_PTR_NULL(strstr(out, "only in"));
    CU_ASSERT_EQUAL(ferry("diff a.npy c.npy"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "different shapes"));
    CU_ASSERT_EQUAL(ferry("diff a.npy b.npz"), 1); /* an npz has names */
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "only in the first"));
    CU_ASSERT_EQUAL(ferry("merge -o m.npy a.npy b.npy"), 0);
    CU_ASSERT_EQUAL(value("m.npy", "m", 0), 2);
    CU_ASSERT_EQUAL(ferry("merge -o n.npy a.npy c.npy"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "F32 (3) in a.npy, F32 (4) in c.npy"));
    clean();
    fx_end();
}

static void all_mismatches_are_listed_before_anything_is_written(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 3, 1, false }, { "y", FERRY_F32, 2, 1, false },
         { "only", FERRY_F32, 1, 4, false }, { "both", FERRY_F32, 1, 1, false });
    MAKE("b.npz", { "x", FERRY_F32, 4, 1, false }, { "y", FERRY_F64, 2, 1, false },
         { "other", FERRY_F32, 1, 6, false }, { "both", FERRY_F32, 1, 2, false });
    CU_ASSERT_EQUAL(ferry("merge -o m.npz a.npz b.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "x: F32 (3) in a.npz, F32 (4) in b.npz"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "y: F32 (2) in a.npz, F64 (2) in b.npz"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "only: is in a.npz but missing in b.npz"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "other: is in b.npz but missing in a.npz"));
    CU_ASSERT_PTR_NULL(strstr(err, "both"));
    CU_ASSERT(!is_there("m.npz"));
    MAKE("c.npz", { "other", FERRY_F32, 1, 6, false }, { "both", FERRY_F32, 1, 2, false });
    CU_ASSERT_EQUAL(ferry("merge -o m.npz --allow-missing a.npz c.npz"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "both", 0), 1.5);
    CU_ASSERT_EQUAL(value("m.npz", "only", 0), 4);
    CU_ASSERT_EQUAL(value("m.npz", "other", 0), 6);
    CU_ASSERT_EQUAL(value("m.npz", "x", 2), 3);
    CU_ASSERT_EQUAL(ferry("merge a.npz c.npz"), 2);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz"), 2);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -w 1 a.npz c.npz"), 2);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -w 1,x a.npz c.npz"), 2);
    CU_ASSERT_EQUAL(files(), 4);
    clean();
    fx_end();
}

/* A safetensors file of one array of zeros, a hole: created at once, whatever its size. */
static void make_hole(const char *name, const char *dtype, unsigned mib)
{
    unsigned long long bytes = (unsigned long long)mib << 20;
    char header[120];
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    snprintf(header, sizeof(header),
             "{\"w\":{\"dtype\":\"%s\",\"shape\":[%llu],\"data_offsets\":[0,%llu]}}", dtype,
             bytes / (dtype[0] == 'B' ? 2 : 4), bytes);
    CU_ASSERT(fprintf(file, "%c%c%c%c%c%c%c%c%-112s", 112, 0, 0, 0, 0, 0, 0, 0, header) == 120);
    CU_ASSERT_EQUAL(ftruncate(fileno(file), 120 + (off_t)bytes), 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* The most memory that merging two such files held, MiB: private, shared, and of files. */
static long merge_memory(const char *dtype, unsigned mib)
{
    struct rusage usage = { .ru_maxrss = 0 };
    int status = -1;
    pid_t child;

    make_hole("a.safetensors", dtype, mib);
    make_hole("b.safetensors", dtype, mib);
    child = fork();
    if (child == 0) {
        if (chdir(folder) == 0)
            execl("/bin/sh", "sh", "-c",
                  "exec \"$FERRY_TEST_COMMAND\" merge -o m.safetensors a.safetensors b.safetensors",
                  (char *)NULL);
        _exit(127);
    }
    CU_ASSERT_EQUAL(wait4(child, &status, 0, &usage), child);
    CU_ASSERT_EQUAL(status, 0);
    return usage.ru_maxrss / 1024;
}

/*
 * Both have more tiles than workers. With the large tiles of discrete devices it depends on timing
 * how many of them exist at once: one of them is tested, with some margin.
 */
static void merge_uses_constant_memory_for_any_number_of_files(void)
{
    ferry_device *device = fx_device();
    bool discrete = ferry_device_get_properties(device)->host_memory == 0;
    long small, large;

    if (discrete && strcmp(ferry_device_name(device), "sim:0") != 0) {
        ferry_test_skip("only sim is tested, for all devices with memory of their own");
    } else if (discrete && ferry_test_is_shortest()) {
        ferry_test_skip("FERRY_TEST_QUICK=2: .ci/run and make check-long merge large files on sim");
    } else {
        small = merge_memory("BF16", 48);
        large = merge_memory("BF16", 240);
        CU_ASSERT(small > 0 && large <= small + (discrete ? 160 : 16));
        printf("    %ld MiB at 48 MiB, %ld MiB at 240 MiB\n", small, large);
    }
    clean();
    fx_end();
}

/* The smallest file and one of many tiles, with little memory; on the simulated device. */
static void tiles_fit_the_data_the_device_and_the_budget(void)
{
    static const char *const rooms[] = { "option.memory = 128MiB", "budget = 16MiB",
                                         "budget = 300KiB" };
    char line[512];

    if (strncmp(ferry_device_name(fx_device()), "sim:", 4) != 0) {
        ferry_test_skip("only sim is tested, for all devices with memory of their own");
        fx_end();
        return;
    }
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        FILE *conf = fopen(in_folder("small.conf"), "w");

        CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
        fprintf(conf, "[plugin sim]\n%s\n", rooms[i]);
        CU_ASSERT_EQUAL(fclose(conf), 0);
        MAKE("a.npz", { "x", FERRY_F32, 7000, 1, false }, { "y", FERRY_F32, 300000, 1, false });
        MAKE("b.npz", { "x", FERRY_F32, 7000, 3, false }, { "y", FERRY_F32, 300000, 3, false });
        snprintf(
            line, sizeof(line),
            "cd %s && FERRY_CONF=small.conf \"$FERRY_TEST_COMMAND\" merge -o m.npz a.npz b.npz",
            folder);
        CU_ASSERT_EQUAL(system(line), 0);
        CU_ASSERT_EQUAL(value("m.npz", "x", 6999), 7001);
        CU_ASSERT_EQUAL(value("m.npz", "y", 0), 2);
        CU_ASSERT_EQUAL(value("m.npz", "y", 299999), 300001);
        clean();
    }
    fx_end();
}

/* An array of 64 MiB takes some time to merge with itself 16 times. */
static void an_interrupt_leaves_no_partial_file(void)
{
    static const struct timespec moment = { 0, 30 * 1000 * 1000 };
    char arguments[512] = "";
    int status = 0;
    pid_t child;

    fx_device();
    MAKE("a.npz", { "x", FERRY_F64, 8 << 20, 1, false });
    for (int i = 0; i < 16; i++)
        strcat(arguments, " a.npz");
    child = fork();
    if (child == 0) {
        char line[1024];

        snprintf(line, sizeof(line), "cd %s && exec \"$FERRY_TEST_COMMAND\" merge -o m.npz%s",
                 folder, arguments);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    nanosleep(&moment, NULL);
    kill(child, SIGINT);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    /* if it was too fast, or beyond the point at which it checks, the file is complete */
    if ((WIFEXITED(status) && WEXITSTATUS(status) == 0) || files() != 1) {
        CU_ASSERT_EQUAL(files(), 2);
        CU_ASSERT_EQUAL(ferry("inspect m.npz"), 0);
    }
    clean();
    fx_end();
}

/* ---- types that ferry has not --------------------------------------------------------------- */

static void put_file(const char *name, const char *header, const char *values, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    uint64_t length = strlen(header);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fwrite(&length, 8, 1, file);
    fwrite(header, 1, length, file);
    fwrite(values, 1, size, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void unreadable_arrays_are_marked(void)
{
    fx_device();
    put_file("odd.safetensors",
             "{\"f4\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]},"
             "\"u16\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[2,6]}}",
             "\0\0\3\0\4\0", 6);
    CU_ASSERT_EQUAL(ferry("inspect odd.safetensors"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "2 arrays"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "ferry has no such dtype"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "u16   U16"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, " 25\n")); /* of 3 and 4 */
    CU_ASSERT_EQUAL(ferry("inspect odd.safetensors --json"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"unreadable\": \"ferry has no such dtype\""));
    CU_ASSERT_EQUAL(ferry("convert odd.safetensors x.npz"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "f4: F4: ferry has no such dtype"));
    CU_ASSERT(!is_there("x.npz"));
    CU_ASSERT_EQUAL(ferry("diff odd.safetensors odd.safetensors"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "ferry has no such dtype"));
    CU_ASSERT_EQUAL(ferry("merge -o x.npz odd.safetensors odd.safetensors"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "f4"));
    clean();
    fx_end();
}

/* ---- contents -------------------------------------------------------------------------------- */

static void statistics_sorting_and_digests_are_shown(void)
{
    fx_device();
    MAKE("s.npz", { "small/w", FERRY_F32, 3, -1, false }, { "large/w", FERRY_F32, 16, 0, false },
         { "large/b", FERRY_F64, 2, 5, false });
    CU_ASSERT_EQUAL(ferry("inspect s.npz --stats"), 0);
    /*
     * minimum, maximum, mean, deviation, zeros, NaN, Inf; a block of the same height for each bin
     */
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "  0  0.8164966      1    0    0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "7.5   4.609772      1    0    0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
                                       "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "total: 21 elements, 92 B in the file"));
    CU_ASSERT_EQUAL(ferry("inspect s.npz --only 'large/*' --sort name --sha256"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "2 of 3 arrays"));
    CU_ASSERT_PTR_NULL(strstr(out, "small"));
    CU_ASSERT_FATAL(strstr(out, "large/b") && strstr(out, "large/w"));
    CU_ASSERT(strstr(out, "large/b") < strstr(out, "large/w"));
    /* of 5 and 6 as doubles, little-endian */
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out, "9bb4833ece80484c0fb4bcbd256d3ad2a68476fdbce3a92298484932837041c7"));
    CU_ASSERT_EQUAL(ferry("inspect s.npz --sort size"), 0);
    CU_ASSERT(strstr(out, "large/w") < strstr(out, "large/b"));
    CU_ASSERT(strstr(out, "large/b") < strstr(out, "small/w") ||
              strstr(out, "small/w") > strstr(out, "large/w"));
    CU_ASSERT_EQUAL(ferry("inspect s.npz --only none"), 1);
    CU_ASSERT_EQUAL(ferry("inspect s.npz --sort colour"), 2);
    CU_ASSERT_EQUAL(ferry("inspect s.npz --plot s.svg"), 0);
    slurp("s.svg", out, sizeof(out));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "<svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ">large/b</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "</svg>"));
    clean();
    fx_end();
}

/* 1e308 and -1e308, whose sums and squares exceed a double. */
static void statistics_of_the_largest_numbers_are_finite(void)
{
    fx_device();
    CU_ASSERT_EQUAL(shell("{ printf '\\223NUMPY\\001\\000\\166\\000%-117s\\n' \""
                          "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }\" && for s in "
                          "'177' '377' '177' '377'; do printf '\\240\\310\\353\\205\\363\\314"
                          "\\341\\'$s; done; } >l.npy"),
                    0);
    CU_ASSERT_EQUAL(ferry("inspect l.npy --stats --json"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"std\": 1e308"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"mean\": 0.0"));
    clean();
    fx_end();
}

/* ---- words ---------------------------------------------------------------------------------- */

static void help_version_and_weights_options_are_parsed(void)
{
    fx_device();
    MAKE("w.npz", { "a", FERRY_F32, 3, 1, false });
    CU_ASSERT_EQUAL(ferry("help"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "usage: ferry COMMAND"));
    CU_ASSERT_EQUAL(ferry("help inspect"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "usage: ferry inspect FILE"));
    CU_ASSERT_EQUAL(ferry("help nothing"), 2);
    CU_ASSERT_EQUAL(ferry("version"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ferry_version()));
    CU_ASSERT_EQUAL(ferry("merge -o x.npz -w 0.5,nan w.npz w.npz"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "\"0.5,nan\": nan is not finite"));
    CU_ASSERT(!is_there("x.npz"));
    clean();
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(help_version_and_weights_options_are_parsed),
    FERRY_TEST(statistics_sorting_and_digests_are_shown),
    FERRY_TEST(statistics_of_the_largest_numbers_are_finite),
    FERRY_TEST(unreadable_arrays_are_marked),
    FERRY_TEST(convert_copies_arrays_between_formats),
    FERRY_TEST(data_that_the_format_cannot_store_are_an_error_and_write_nothing),
    FERRY_TEST(diff_measures_differences_and_sets_the_exit_status),
    FERRY_TEST(weighted_sums_are_rounded_once),
    FERRY_TEST(arrays_without_names_are_matched_as_pairs),
    FERRY_TEST(control_characters_are_not_printed),
    FERRY_TEST(errors_truncate_names_like_tables),
    FERRY_TEST(a_full_standard_output_is_an_error),
    FERRY_TEST(errors_name_the_requested_file_not_the_temporary_one),
    FERRY_TEST(a_plot_does_not_overwrite_the_weights),
    FERRY_TEST(all_mismatches_are_listed_before_anything_is_written),
    FERRY_TEST(tiles_fit_the_data_the_device_and_the_budget),
    FERRY_TEST(merge_uses_constant_memory_for_any_number_of_files),
    FERRY_TEST(an_interrupt_leaves_no_partial_file),
};

int main(int argc, char **argv)
{
    return array_files_main(argc, argv, "command-files", NULL, 0, cases, FERRY_TEST_COUNT(cases));
}

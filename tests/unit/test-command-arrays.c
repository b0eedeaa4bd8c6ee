/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Functions of `ferry` on arrays besides convert, diff and merge: shards, renaming, splitting,
 * pipes, differing dtypes, weights by name, and completion.
 */

#define SAYS(text)    CU_ASSERT_PTR_NOT_NULL(strstr(out, text))
#define REFUSES(text) CU_ASSERT_PTR_NOT_NULL(strstr(err, text))

/* Exactly one line on standard error. */
static void check_one_line(void)
{
    const char *end = strchr(err, '\n');

    CU_ASSERT_EQUAL(strncmp(err, "ferry: ", 7), 0);
    CU_ASSERT(end && end[1] == '\0');
}

/* ---- shards --------------------------------------------------------------------------------- */

static void weights_are_written_in_shards(void)
{
    fx_device();
    MAKE("a.safetensors", { "a", FERRY_F32, 100, 1, false }, { "none", FERRY_F32, 0, 0, false },
         { "b", FERRY_F64, 100, 2, false }, { "c", FERRY_F32, 50, 3, false },
         { "d", FERRY_F32, 50, 4, false });
    /* 400, 800 alone because it is too long, 200 and 200 */
    CU_ASSERT_EQUAL(ferry("convert a.safetensors s.safetensors --shard 0.5KB"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT(is_there("s-00001-of-00003.safetensors") && is_there("s-00003-of-00003.safetensors"));
    CU_ASSERT(!is_there("s.safetensors"));
    CU_ASSERT_EQUAL(files(), 5);
    CU_ASSERT_EQUAL(shell("cat s.safetensors.index.json"), 0);
    SAYS("\"total_size\": 1600");
    SAYS("\"c\": \"s-00003-of-00003.safetensors\"");
    CU_ASSERT_EQUAL(ferry("diff a.safetensors s.safetensors.index.json"), 0);
    SAYS("5 arrays: 5 equal, 0 different, 0 not compared");
    CU_ASSERT_EQUAL(ferry("inspect s.safetensors.index.json"), 0);
    SAYS("5 arrays");
    /* replaces shards by different shards, which the index lists */
    CU_ASSERT_EQUAL(ferry("merge -o s.safetensors.index.json --shard 1KiB s.safetensors.index.json "
                          "a.safetensors"),
                    0);
    CU_ASSERT(is_there("s-00002-of-00002.safetensors"));
    CU_ASSERT_EQUAL(ferry("diff -q a.safetensors s.safetensors.index.json"), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
    clean();
    fx_end();
}

static void invalid_shard_sizes_are_refused(void)
{
    static const char *const sizes[] = { "0", "-1GB", "5 GB", "GB", "5TB", "nan", "1e300" };
    char line[200];

    fx_device();
    MAKE("a.safetensors", { "a", FERRY_F32, 100, 1, false }, { "b", FERRY_F32, 100, 2, false });
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        snprintf(line, sizeof(line), "convert a.safetensors s.safetensors --shard '%s'", sizes[i]);
        CU_ASSERT_EQUAL(ferry(line), 2);
        check_one_line();
        REFUSES(sizes[i]);
    }
    CU_ASSERT_EQUAL(ferry("convert a.safetensors s.npz --shard 1KB"), 2);
    REFUSES("--shard requires safetensors, not npz");
    CU_ASSERT_EQUAL(files(), 1);
    /* a folder has the name of the second shard: the command leaves neither a shard nor an index */
    CU_ASSERT_EQUAL(shell("mkdir s-00002-of-00002.safetensors"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors s.safetensors --shard 400"), 1);
    REFUSES("s-00002-of-00002.safetensors: is a directory");
    CU_ASSERT_EQUAL(files(), 2);
    /* a folder has the name of the index */
    CU_ASSERT_EQUAL(shell("rmdir s-*; mkdir s.safetensors.index.json"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors s.safetensors --shard 400"), 1);
    check_one_line();
    REFUSES("s.safetensors.index.json: ");
    CU_ASSERT_EQUAL(files(), 2);
    clean();
    fx_end();
}

/* ---- names ---------------------------------------------------------------------------------- */

static void arrays_are_renamed(void)
{
    fx_device();
    MAKE("a.safetensors", { "model.c.weight", FERRY_F32, 3, 1, false },
         { "model.d.weight", FERRY_F32, 2, 5, false }, { "model.c.bias", FERRY_F32, 2, 7, false });
    CU_ASSERT_EQUAL(ferry("rename a.safetensors b.safetensors 'model.*=*'"), 0);
    CU_ASSERT_EQUAL(value("b.safetensors", "c.weight", 2), 3);
    /* a layer's blobs are grouped if the format requires it */
    CU_ASSERT_EQUAL(ferry("rename b.safetensors c.caffemodel '*.weight=*/0' '*.bias=*/1'"), 0);
    CU_ASSERT_EQUAL(value("c.caffemodel", "c/1", 1), 8);
    CU_ASSERT_EQUAL(value("c.caffemodel", "d/0", 0), 5);
    CU_ASSERT_EQUAL(ferry("rename a.safetensors x.npz model.c.bias=b '*=rest_*' --dry-run"), 0);
    SAYS("model.c.bias    b\n");
    SAYS("model.d.weight  rest_model.d.weight\n");
    CU_ASSERT(!is_there("x.npz"));
    /* in place */
    CU_ASSERT_EQUAL(ferry("rename b.safetensors b.safetensors c.bias=e"), 0);
    CU_ASSERT_EQUAL(value("b.safetensors", "e", 0), 7);
    CU_ASSERT_EQUAL(value("b.safetensors", "c.weight", 0), 1);
    clean();
    fx_end();
}

static void invalid_renamings_are_refused(void)
{
    static const char *const wrong[] = { "model", "=x", "x=", "a*b*=c", "a=*", "*=**" };
    char line[200];

    fx_device();
    MAKE("a.npz", { "a.w", FERRY_F32, 3, 1, false }, { "b.w", FERRY_F32, 2, 5, false });
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(line, sizeof(line), "rename a.npz x.npz '%s'", wrong[i]);
        CU_ASSERT_EQUAL(ferry(line), 2);
        check_one_line();
        REFUSES(wrong[i]);
    }
    CU_ASSERT_EQUAL(ferry("rename a.npz x.npz c.w=d.w"), 1);
    REFUSES("\"c.w=d.w\": matches no array of a.npz");
    CU_ASSERT_EQUAL(ferry("rename a.npz x.npz a.w=b.w"), 1);
    REFUSES("b.w: would be the new name of both a.w and b.w");
    CU_ASSERT_EQUAL(ferry("rename a.npz x.caffemodel a.w=a/0"), 1);
    REFUSES("b.w");
    CU_ASSERT_EQUAL(ferry("rename a.npz"), 2);
    CU_ASSERT_EQUAL(files(), 1);
    clean();
    fx_end();
}

static void files_are_split_by_name(void)
{
    fx_device();
    MAKE("a.npz", { "c.w", FERRY_F32, 3, 1, false }, { "d.w", FERRY_F32, 2, 5, false },
         { "c.b", FERRY_F32, 2, 7, false }, { "e", FERRY_F64, 1, 9, false });
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=c.safetensors' e=c.safetensors '*=rest.npz'"), 0);
    CU_ASSERT_EQUAL(value("c.safetensors", "c.b", 1), 8);
    CU_ASSERT_EQUAL(value("c.safetensors", "e", 0), 9);
    CU_ASSERT_EQUAL(value("rest.npz", "d.w", 0), 5);
    CU_ASSERT_EQUAL(ferry("inspect rest.npz"), 0);
    SAYS("1 array");
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=x.npz'"), 1);
    REFUSES("d.w: matches no GLOB");
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=x.npz' 'f*=y.npz' --drop-rest"), 1);
    REFUSES("\"f*=y.npz\": matches no array of a.npz");
    CU_ASSERT_EQUAL(ferry("split a.npz c.npz"), 2);
    CU_ASSERT_EQUAL(ferry("split a.npz '*=-' --shard 1KB"), 2);
    CU_ASSERT_EQUAL(files(), 3);
    CU_ASSERT_EQUAL(shell("rm -f x.npz && mkdir real && ln -s real alias"), 0);
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=x.npz' '*=./x.npz'"), 2);
    REFUSES("split: x.npz and ./x.npz are the same file");
    CU_ASSERT(!is_there("x.npz"));
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=real/x.npz' '*=alias/x.npz'"), 2);
    REFUSES("split: real/x.npz and alias/x.npz are the same file");
    CU_ASSERT(!is_there("real/x.npz"));
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=real/x.npz' '*=real/y.npz'"), 0);
    CU_ASSERT_EQUAL(shell("rm -r real alias"), 0);
    CU_ASSERT_EQUAL(ferry("split a.npz 'c.*=x.npz' --drop-rest"), 0);
    CU_ASSERT_EQUAL(value("x.npz", "c.w", 0), 1);
    clean();
    fx_end();
}

/* ---- pipes ---------------------------------------------------------------------------------- */

static void a_selection_of_arrays_is_written_to_a_pipe(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 3000, 1, false }, { "y", FERRY_F32, 2, 5, false });
    CU_ASSERT_EQUAL(shell("\"$FERRY_TEST_COMMAND\" split a.npz x=- y=y.npz -q > x.npz"), 0);
    CU_ASSERT_EQUAL(value("x.npz", "x", 2999), 3000);
    CU_ASSERT_EQUAL(value("y.npz", "y", 1), 6);
    CU_ASSERT_EQUAL(shell("\"$FERRY_TEST_COMMAND\" split a.npz x=- y=./- -f safetensors | "
                          "\"$FERRY_TEST_COMMAND\" convert - z.npz"),
                    0);
    CU_ASSERT_EQUAL(value("z.npz", "x", 1), 2);
    CU_ASSERT(is_there("./-"));
    CU_ASSERT_EQUAL(files(), 5);
    clean();
    fx_end();
}

static void notes_name_the_output_not_its_temporary_file(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 1, 1, false });
    CU_ASSERT_EQUAL(shell("printf '\\123\\0\\0\\0\\0\\0\\0\\0%-83s\\0\\0\\0\\0' "
                          "'{\"__metadata__\":{\"k\":\"v\"},\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
                          "\"data_offsets\":[0,4]}}' > a.safetensors"),
                    0);
    CU_ASSERT_EQUAL(ferry("convert a.safetensors - -f npz > b.npz"), 0);
    CU_ASSERT_STRING_EQUAL(err, "ferry: note: standard output: npz cannot hold metadata k\n");
    CU_ASSERT_EQUAL(ferry("inspect b.npz"), 0);
    SAYS("total: 1 element, 4 B in the file\n");
    clean();
    fx_end();
}

/* The sums of the products round differently than the roots of the sums of squares. */
static void a_cosine_is_at_most_one(void)
{
    fx_device();
    for (int n = 2; n < 40; n++) {
        char *cosine;

        MAKE("a.npz", { "x", FERRY_F64, n, 0.1, false });
        MAKE("b.npz", { "x", FERRY_F32, n, 0.1, false });
        (void)ferry("diff --json a.npz b.npz");
        cosine = strstr(out, "\"cosine\": ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(cosine);
        CU_ASSERT(strtod(cosine + 10, NULL) <= 1);
    }
    clean();
    fx_end();
}

static void files_are_read_from_and_written_to_pipes(void)
{
    fx_device();
    MAKE("a.npz", { "x", FERRY_F32, 3000, 1, false }, { "y", FERRY_F32, 2, 5, false });
    MAKE("b.npz", { "x", FERRY_F32, 3000, 3, false }, { "y", FERRY_F32, 2, 7, false });
    CU_ASSERT_EQUAL(shell("mkdir t && export TMPDIR=$PWD/t && f=$FERRY_TEST_COMMAND && "
                          "cat a.npz | \"$f\" merge -o - - b.npz -f safetensors | "
                          "\"$f\" convert - - -f hdf5 > m.h5 && "
                          "\"$f\" convert m.h5 - -f npz | \"$f\" rename - - x=z | cat > m.npz"),
                    0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(value("m.npz", "z", 2999), 3001);
    CU_ASSERT_EQUAL(value("m.npz", "y", 1), 7);
    CU_ASSERT_EQUAL(shell("rmdir t"), 0); /* no file was left in it */
    CU_ASSERT_EQUAL(shell("\"$FERRY_TEST_COMMAND\" diff - a.npz < a.npz"), 0);
    CU_ASSERT_EQUAL(shell("cat a.npz | \"$FERRY_TEST_COMMAND\" diff - -"), 0);
    CU_ASSERT_EQUAL(ferry("inspect - < a.npz"), 0);
    SAYS("standard input: npz, 2 arrays");
    CU_ASSERT_EQUAL(ferry("inspect -"), 1);
    REFUSES("standard input: is empty");
    CU_ASSERT_EQUAL(ferry("inspect - < m.h5"), 1);
    REFUSES("standard input: format at byte 0: HDF5 is read from files");
    CU_ASSERT_EQUAL(ferry("convert a.npz -"), 2);
    CU_ASSERT_EQUAL(ferry("convert a.npz - -f npz > /dev/full"), 1);
    REFUSES("standard output: writing: No space left on device");
    check_one_line();
    CU_ASSERT_EQUAL(ferry("merge -o - --json a.npz b.npz"), 2);
    CU_ASSERT_EQUAL(ferry("convert a.npz - -f safetensors --shard 5GB"), 2);
    CU_ASSERT_EQUAL(shell("TMPDIR=$PWD/nowhere \"$FERRY_TEST_COMMAND\" convert a.npz - -f npz"), 1);
    REFUSES("standard output: creating a temporary file for it: No such file or directory");
    CU_ASSERT_EQUAL(shell("cat a.npz | TMPDIR=$PWD/nowhere \"$FERRY_TEST_COMMAND\" inspect -"), 1);
    REFUSES("standard input: creating a temporary file for it: No such file or directory");
    clean();
    fx_end();
}

/* ---- dtypes, distances ---------------------------------------------------------------------- */

static void values_of_any_dtypes_are_compared(void)
{
    fx_device();
    MAKE("a.safetensors", { "x", FERRY_F32, 300, 1, false }, { "y", FERRY_I64, 3, 5, false },
         { "z", FERRY_F32, 2, 1, false });
    MAKE("b.safetensors", { "x", FERRY_F16, 300, 1, false }, { "y", FERRY_U8, 3, 5, false },
         { "z", FERRY_BF16, 2, 2, false });
    CU_ASSERT_EQUAL(ferry("diff a.safetensors b.safetensors"), 1);
    SAYS("equal, F32 and F16");
    SAYS("equal, I64 and U8");
    SAYS("different, F32 and BF16");
    SAYS("3 arrays: 2 equal, 1 different, 0 not compared; largest difference: z at 0, by 1");
    CU_ASSERT_EQUAL(ferry("diff a.safetensors b.safetensors --json"), 1);
    SAYS("\"dtypes\": [\n        \"F32\",\n        \"BF16\"\n      ]");
    CU_ASSERT_EQUAL(ferry("diff a.safetensors b.safetensors -t 1 -q"), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
    CU_ASSERT_EQUAL(ferry("diff a.safetensors b.safetensors --quiet"), 1);
    CU_ASSERT_STRING_EQUAL(out, "");
    CU_ASSERT_STRING_EQUAL(err, "");
    clean();
    fx_end();
}

/* A .npy of 2 × 3 values. */
static void put_matrix(const char *name, const char *dtype, const void *values, size_t size)
{
    static const char magic[10] = { '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0 };
    char header[119];
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    snprintf(header, sizeof(header),
             "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }%60s", dtype, "");
    CU_ASSERT(fwrite(magic, 1, 10, file) == 10 && fprintf(file, "%-117.117s\n", header) == 118 &&
              fwrite(values, 1, size, file) == size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void the_worst_element_and_the_angle_are_shown(void)
{
    const float a[6] = { 1, 2, 2, 0, 0, 0 }, b[6] = { 1, 2, 2, 0, 4, 0 };
    const int64_t i[6] = { 0, 0, (INT64_C(1) << 53) + 1, 0, 0, INT64_MAX };
    const double d[6] = { 0, 0, 9007199254740992.0, 0, 0, 9223372036854775808.0 };

    fx_device();
    put_matrix("a.npy", "<f4", a, sizeof(a));
    put_matrix("b.npy", "<f4", b, sizeof(b));
    put_matrix("i.npy", "<i8", i, sizeof(i));
    put_matrix("d.npy", "<f8", d, sizeof(d));
    CU_ASSERT_EQUAL(ferry("diff a.npy b.npy"), 1);
    SAYS("  1 1     0.6  different\n"); /* 9 / (3 · 5) */
    SAYS("largest difference: a at 1 1, by 4\n");
    CU_ASSERT_EQUAL(ferry("diff a.npy b.npy --json"), 1);
    SAYS("\"worst\": [\n        1,\n        1\n      ]");
    SAYS("\"not_compared\": 0");
    /* differences below a double's rounding are detected: two elements differ by 1 */
    CU_ASSERT_EQUAL(ferry("diff i.npy d.npy"), 1);
    SAYS("largest difference: i at 0 2, by 1\n");
    CU_ASSERT_EQUAL(ferry("diff d.npy i.npy"), 1);
    SAYS("largest difference: d at 0 2, by 1\n");
    clean();
    fx_end();
}

static void sums_may_have_another_dtype(void)
{
    fx_device();
    MAKE("a.safetensors", { "x", FERRY_F32, 70000, 1, false }, { "only", FERRY_I32, 2, 4, false });
    MAKE("b.safetensors", { "x", FERRY_F64, 70000, 2, false });
    CU_ASSERT_EQUAL(ferry("merge -o m.safetensors --allow-missing a.safetensors b.safetensors"), 1);
    REFUSES("x: F32 (70000) in a.safetensors, F64 (70000) in b.safetensors; --dtype sets");
    CU_ASSERT_EQUAL(ferry("merge -o m.safetensors --allow-missing --dtype BF16 a.safetensors "
                          "b.safetensors"),
                    0);
    CU_ASSERT_EQUAL(value("m.safetensors", "x", 0), 1.5);
    CU_ASSERT_EQUAL(value("m.safetensors", "x", 69999), 70144); /* 70000.5 in eight bits */
    CU_ASSERT_EQUAL(value("m.safetensors", "only", 1), 5);
    SAYS("m.safetensors: 2 arrays of 2 files, 1 copied, ");
    CU_ASSERT_EQUAL(ferry("merge -o m.npz --dtype F31 a.safetensors b.safetensors"), 2);
    clean();
    fx_end();
}

static void merge_weights_are_selected_by_array_name(void)
{
    fx_device();
    MAKE("a.npz", { "c/w", FERRY_F32, 2, 0, false }, { "d/w", FERRY_F32, 2, 0, false },
         { "e", FERRY_F32, 2, 0, false });
    MAKE("b.npz", { "c/w", FERRY_F32, 2, 8, false }, { "d/w", FERRY_F32, 2, 8, false },
         { "e", FERRY_F32, 2, 8, false });
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -w '0.25,0.75;c/*=1,0;*/w=0,1' a.npz b.npz"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "c/w", 0), 0);
    CU_ASSERT_EQUAL(value("m.npz", "d/w", 0), 8);
    CU_ASSERT_EQUAL(value("m.npz", "e", 0), 6);
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -w 'c/*=0.5' --base a.npz b.npz --json"), 0);
    CU_ASSERT_EQUAL(value("m.npz", "c/w", 0), 4);
    CU_ASSERT_EQUAL(value("m.npz", "d/w", 0), 8);
    SAYS("\"file\": \"m.npz\"");
    SAYS("\"glob\": \"c/*\"");
    SAYS("\"base\": true");
    CU_ASSERT_EQUAL(ferry("merge -o m.npz -q a.npz b.npz"), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
    CU_ASSERT_EQUAL(ferry("merge -o x.npz -w 'f*=1,0' a.npz b.npz"), 1);
    REFUSES("\"f*\" matches no array");
    CU_ASSERT_EQUAL(ferry("merge -o x.npz -w '1,0;0,1' a.npz b.npz"), 2);
    CU_ASSERT_EQUAL(ferry("merge -o x.npz -w 'c*=1' a.npz b.npz"), 2);
    CU_ASSERT_EQUAL(ferry("merge -o x.npz -w 'c*=1,inf' a.npz b.npz"), 2);
    CU_ASSERT(!is_there("x.npz"));
    clean();
    fx_end();
}

/* ---- messages -------------------------------------------------------------------------------- */

/* For a net: a note that its definition was lost, but only if a file lost it. */
static void notes_do_not_precede_errors(void)
{
    static const char net[] = "\x0a\1n\xa2\6\x14\x0a\1c\x22\1t\x3a\x0c\x2a\4\0\0\x80\x3f"
                              "\x3a\4\x0a\2\1\1";
    FILE *file = fopen(in_folder("a.caffemodel"), "wb");

    fx_device();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(net, 1, sizeof(net) - 1, file), sizeof(net) - 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel b.npz"), 0);
    REFUSES("ferry: note: ");
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel b.npz --quiet"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(shell("mkdir d.npz"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel d.npz"), 1);
    check_one_line();
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel b.solverstate --dtype I8"), 1);
    check_one_line();
    clean();
    fx_end();
}

static void a_long_name_does_not_widen_the_other_lines(void)
{
    char name[301] = "";

    fx_device();
    memset(name, 'n', 300);
    MAKE("a.npz", { "x", FERRY_F32, 3, 1, false }, { name, FERRY_F32, 3, 1, false },
         { "y", FERRY_F32, 3, 1, false });
    CU_ASSERT_EQUAL(ferry("inspect a.npz"), 0);
    SAYS("\nx     F32    3          3   6     14\n");
    SAYS("nnnnnn  F32    3          3   6     14\n");
    clean();
    fx_end();
}

/* ---- completion ----------------------------------------------------------------------------- */

static void complete_prints_the_matching_words(void)
{
    fx_device();
    CU_ASSERT_EQUAL(ferry("complete -- 'mer'"), 0);
    CU_ASSERT_STRING_EQUAL(out, "merge\n");
    CU_ASSERT_EQUAL(ferry("complete -- merge --allow"), 0);
    CU_ASSERT_STRING_EQUAL(out, "--allow-missing\n");
    CU_ASSERT_EQUAL(ferry("complete -- convert a.npz --dtype B"), 0);
    CU_ASSERT_STRING_EQUAL(out, "BF16\n");
    CU_ASSERT_EQUAL(ferry("complete -- convert --format = np"), 0); /* like bash */
    CU_ASSERT_STRING_EQUAL(out, "npy\nnpz\n");
    CU_ASSERT_EQUAL(ferry("complete -- convert a"), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
    CU_ASSERT_EQUAL(ferry("complete -- help sp"), 0);
    CU_ASSERT_STRING_EQUAL(out, "split\n");
    /* each suggested option exists: the first unknown one is ours */
    CU_ASSERT_EQUAL(
        shell("f=$FERRY_TEST_COMMAND; for c in $(\"$f\" complete -- '' | grep -v -e help "
              "-e version); do \"$f\" $c $(\"$f\" complete -- $c -- | grep -v help | "
              "sed 's/$/ x/') --zzz 2>&1 | grep -q -e '\"--zzz\"' || echo $c; done"),
        0);
    CU_ASSERT_STRING_EQUAL(out, "");
    clean();
    fx_end();
}

static void bash_and_zsh_use_the_completion(void)
{
    fx_device();
    CU_ASSERT_EQUAL(
        shell("mkdir bin && ln -s \"$FERRY_TEST_COMMAND\" bin/ferry && "
              "PATH=$PWD/bin:$PATH bash -c '. \"$FERRY_TEST_SRCDIR\"/tools/completion/"
              "bash/ferry && COMP_WORDS=(ferry merge --allow) COMP_CWORD=2 && _ferry && "
              "echo \"${COMPREPLY[@]}\" && COMP_WORDS=(ferry m) COMP_CWORD=1 && _ferry && "
              "echo \"${COMPREPLY[@]}\" && complete -p ferry'"),
        0);
    SAYS("--allow-missing\nmerge\n");
    SAYS("-F _ferry ferry");
    if (shell("command -v zsh") != 0) {
        ferry_test_skip("there is no zsh");
    } else {
        CU_ASSERT_EQUAL(
            shell("PATH=$PWD/bin:$PATH zsh -f -c 'compadd() { shift; print -l -- "
                  "\"${(@P)1}\"; }; _files() { print files; }; words=(ferry merge --all) "
                  "CURRENT=3; . \"$FERRY_TEST_SRCDIR\"/tools/completion/zsh/_ferry; "
                  "words=(ferry merge a) CURRENT=3; . "
                  "\"$FERRY_TEST_SRCDIR\"/tools/completion/zsh/_ferry'"),
            0);
        SAYS("--allow-missing\nfiles\n");
    }
    clean();
    fx_end();
}

/* Transferring an array of few elements takes longer than summing it. */
static void small_arrays_are_summed_on_the_host(void)
{
    static struct array arrays[80];
    static char names[80][8];

    fx_device();
    for (int i = 0; i < 80; i++) {
        snprintf(names[i], sizeof(names[i]), "x%d", i);
        arrays[i] = (struct array){ names[i], FERRY_F32, 20000, i, false };
    }
    make("many.safetensors", arrays, 80);
    CU_ASSERT_EQUAL(shell("FERRY_TRACE=t.json \"$FERRY_TEST_COMMAND\" inspect many.safetensors"),
                    0);
    SAYS("x79   F32    20000  20000  2.0157e+08  ");
    CU_ASSERT_EQUAL(shell("test -s t.json && grep -c x79 t.json"), 1);
    CU_ASSERT_STRING_EQUAL(out, "0\n");
    /* a file with one array is summed on the device */
    make("one.safetensors", arrays + 79, 1);
    CU_ASSERT_EQUAL(shell("FERRY_TRACE=t.json \"$FERRY_TEST_COMMAND\" inspect one.safetensors"), 0);
    CU_ASSERT_EQUAL(shell("grep -q x79 t.json || test $FERRY_BACKEND = cpu"), 0);
    clean();
    fx_end();
}

/* A hole of 96 MiB of bytes, which are 768 MiB of doubles. */
static void arrays_that_expand_are_measured_in_tiles(void)
{
    struct rusage usage = { .ru_maxrss = 0 };
    int status = -1;
    pid_t child;

    fx_device();
    CU_ASSERT_EQUAL(
        shell("printf '\\110\\0\\0\\0\\0\\0\\0\\0%-72s' "
              "'{\"w\":{\"dtype\":\"U8\",\"shape\":[100663296],\"data_offsets\":[0,100663296]}}'"
              " > a.safetensors && truncate -s 100663376 a.safetensors"),
        0);
    child = fork();
    if (child == 0) {
        if (chdir(folder) == 0)
            execl("/bin/sh", "sh", "-c", "exec \"$FERRY_TEST_COMMAND\" inspect a.safetensors >.out",
                  (char *)NULL);
        _exit(127);
    }
    CU_ASSERT_EQUAL(wait4(child, &status, 0, &usage), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(usage.ru_maxrss / 1024 < 480);
    printf("    %ld MiB\n", usage.ru_maxrss / 1024);
    clean();
    fx_end();
}

/* The squares exceed F32: the file's other arrays are not affected. */
static void squares_beyond_f32_are_summed_in_doubles(void)
{
    static const int others[] = { 3, 103 };
    struct array arrays[105] = { { "large", FERRY_F32, 2, 1e25, false },
                                 { "small", FERRY_F32, 1, 1e-30, false } };
    char names[105][8];

    fx_device();
    for (size_t k = 0; k < FERRY_TEST_COUNT(others); k++) {
        for (int i = 0; i < others[k]; i++) {
            snprintf(names[i], sizeof(names[i]), "x%d", i);
            arrays[2 + i] = (struct array){ names[i], FERRY_F32, 1, 1, false };
        }
        make("a.safetensors", arrays, (size_t)others[k] + 2);
        CU_ASSERT_EQUAL(ferry("inspect a.safetensors"), 0);
        SAYS("large  F32    2          2  2e+25  2e+50\n");
        SAYS("small  F32    1          1  1e-30  1e-60\n");
    }
    clean();
    fx_end();
}

/* The sums are computed on each device. */
static const ferry_test_case cases[] = {
    FERRY_TEST(small_arrays_are_summed_on_the_host),
    FERRY_TEST(squares_beyond_f32_are_summed_in_doubles),
    FERRY_TEST(sums_may_have_another_dtype),
    FERRY_TEST(merge_weights_are_selected_by_array_name),
};

static const ferry_test_case cases_once[] = {
    FERRY_TEST(weights_are_written_in_shards),
    FERRY_TEST(invalid_shard_sizes_are_refused),
    FERRY_TEST(arrays_are_renamed),
    FERRY_TEST(invalid_renamings_are_refused),
    FERRY_TEST(files_are_split_by_name),
    FERRY_TEST(a_selection_of_arrays_is_written_to_a_pipe),
    FERRY_TEST(files_are_read_from_and_written_to_pipes),
    FERRY_TEST(notes_name_the_output_not_its_temporary_file),
    FERRY_TEST(a_cosine_is_at_most_one),
    FERRY_TEST(values_of_any_dtypes_are_compared),
    FERRY_TEST(the_worst_element_and_the_angle_are_shown),
    FERRY_TEST(notes_do_not_precede_errors),
    FERRY_TEST(a_long_name_does_not_widen_the_other_lines),
    FERRY_TEST(arrays_that_expand_are_measured_in_tiles),
    FERRY_TEST(complete_prints_the_matching_words),
    FERRY_TEST(bash_and_zsh_use_the_completion),
};

int main(int argc, char **argv)
{
    return array_files_main(argc, argv, "command-arrays", cases_once, FERRY_TEST_COUNT(cases_once),
                            cases, FERRY_TEST_COUNT(cases));
}

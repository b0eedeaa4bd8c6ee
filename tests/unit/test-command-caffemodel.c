/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"
#include "io-build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Metadata of a caffemodel besides its blobs, from file to file. */

/* Name "n", a layer "c" with top "t" (4), and a blob [1]. */
static void make_net(const char *name)
{
    static const char net[] = "\x0a\1n\xa2\6\x14\x0a\1c\x22\1t\x3a\x0c\x2a\4\0\0\x80\x3f"
                              "\x3a\4\x0a\2\1\1";
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(net, 1, sizeof(net) - 1, file), sizeof(net) - 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void a_net_keeps_its_definition_from_caffemodel_to_caffemodel(void)
{
    fx_device();
    make_net("a.caffemodel");
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("merge -q -o c.caffemodel a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel c.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel d.caffemodel --dtype F64"), 0);
    CU_ASSERT_EQUAL(ferry("convert d.caffemodel b.caffemodel --dtype F32"), 0);
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert b.caffemodel b.caffemodel"), 0); /* onto itself */
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_EQUAL(
        shell("\"$FERRY_TEST_COMMAND\" convert - - -f caffemodel < a.caffemodel > b.caffemodel"),
        0);
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel b.caffemodel"), 0);
    clean();
    fx_end();
}

/* A format that cannot hold it, and layers with other names or missing layers. */
static void a_note_reports_a_net_definition_that_the_output_lacks(void)
{
    fx_device();
    make_net("a.caffemodel");
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel b.npz"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "0 layers without blobs and 1 fields"));
    CU_ASSERT_EQUAL(ferry("convert b.npz c.caffemodel"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(ferry("rename a.caffemodel c.npz 'c/*=d/*'"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "not carried over"));
    CU_ASSERT_EQUAL(ferry("split a.caffemodel 'c/*=c.caffemodel'"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "not carried over"));
    CU_ASSERT_EQUAL(ferry("merge -o d.safetensors a.caffemodel a.caffemodel"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "not carried over"));
    MAKE("e.caffemodel", { "e/0", FERRY_F32, 3, 1, false }); /* a layer that the first lacks */
    CU_ASSERT_EQUAL(ferry("merge --allow-missing -o f.caffemodel a.caffemodel e.caffemodel"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "not carried over"));
    clean();
    fx_end();
}

/* A layer with a top and as many blobs of three floats. */
static void put_layer(struct msg *net, const char *name, int blobs)
{
    struct msg layer = { .size = 0 };

    put_string(&layer, 1, name);
    put_string(&layer, 2, "Convolution");
    put_string(&layer, 4, "top");
    for (int i = 0; i < blobs; i++)
        put_blob(&layer, 7, 3, (float)i);
    put_bytes(net, 100, layer.at, layer.size);
}

/* Layers of these names, with "relu" between them, which has no blobs. */
static void store_net(const char *file, const char *first, const char *second)
{
    struct msg net = { .size = 0 };
    FILE *to = fopen(in_folder(file), "wb");

    put_string(&net, 1, "the net");
    put_layer(&net, first, 2);
    put_layer(&net, "relu", 0);
    put_layer(&net, second, 2);
    put_varint(&net, 5, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    CU_ASSERT_EQUAL(fwrite(net.at, 1, net.size, to), net.size);
    CU_ASSERT_EQUAL(fclose(to), 0);
}

/* The shapes are as ferry writes them after a conversion. */
static void a_layer_of_the_definition_is_renamed_with_its_blobs(void)
{
    static const char *const apart[] = {
        "conv1/0=a/0 conv1/1=b/0",                   /* one layer becomes two */
        "conv1/0=a/0 conv1/1=a/1 ip/0=a/2 ip/1=a/3", /* two layers become one */
        "'*=x.*' --format npz",
    };
    char line[200];

    fx_device();
    store_net("raw.caffemodel", "conv1", "ip");
    store_net("raw-want.caffemodel", "a longer name", "f");
    CU_ASSERT_EQUAL(ferry("convert raw.caffemodel a.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert raw-want.caffemodel want.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("rename a.caffemodel b.caffemodel 'conv1/*=a longer name/*' 'ip/*=f/*'"),
                    0);
    CU_ASSERT_STRING_EQUAL(err, "");
    CU_ASSERT_EQUAL(shell("cmp b.caffemodel want.caffemodel"), 0);
    /* two layers swap their names, in place, and back */
    CU_ASSERT_EQUAL(
        ferry("rename b.caffemodel b.caffemodel 'f/*=a longer name/*' 'a longer name/*=f/*'"), 0);
    CU_ASSERT_NOT_EQUAL(shell("cmp b.caffemodel want.caffemodel"), 0);
    CU_ASSERT_EQUAL(
        ferry("rename b.caffemodel b.caffemodel 'f/*=a longer name/*' 'a longer name/*=f/*'"), 0);
    CU_ASSERT_EQUAL(shell("cmp b.caffemodel want.caffemodel"), 0);
    for (size_t i = 0; i < FERRY_TEST_COUNT(apart); i++) {
        snprintf(line, sizeof(line), "rename a.caffemodel c.caffemodel %s", apart[i]);
        CU_ASSERT_EQUAL(ferry(line), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(err, "not carried over"));
    }
    clean();
    fx_end();
}

/* A layer "h" with a blob of three halves, 1 2 3; its diff is halves 4 5 6, or floats. */
static void make_halves(const char *name, bool floats)
{
    static const uint16_t data[] = { 0x3c00, 0x4000, 0x4200 }, diff[] = { 0x4400, 0x4500, 0x4600 };
    static const float wide[] = { 4, 5, 6 };
    struct msg net = { .size = 0 }, layer = { .size = 0 }, blob = { .size = 0 };
    FILE *file = fopen(in_folder(name), "wb");

    if (floats)
        put_bytes(&blob, 6, wide, sizeof(wide));
    put_bytes(&blob, 7, "\x0a\1\3", 3);
    put_varint(&blob, 10, 2); /* NVCaffe's FLOAT16 */
    if (!floats)
        put_varint(&blob, 11, 2);
    put_bytes(&blob, 12, data, sizeof(data));
    if (!floats)
        put_bytes(&blob, 13, diff, sizeof(diff));
    put_string(&layer, 1, "h");
    put_bytes(&layer, 7, blob.at, blob.size);
    put_bytes(&net, 100, layer.at, layer.size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(net.at, 1, net.size, file), net.size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Both diffs are compared and kept, whatever their dtype. */
static void half_floats_keep_their_diffs(void)
{
    fx_device();
    make_halves("a.caffemodel", false);
    make_halves("b.caffemodel", true);
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel c.caffemodel"), 0);
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel c.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("diff a.caffemodel c.caffemodel"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "2 arrays: 2 equal, 0 different, 0 not compared"));
    CU_ASSERT_EQUAL(ferry("diff a.caffemodel b.caffemodel"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "h/0 (diff)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "equal, F16 and F32"));
    CU_ASSERT_EQUAL(ferry("convert b.caffemodel d.caffemodel"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "its diff is F32 and its data are F16; --dtype converts"));
    CU_ASSERT(!is_there("d.caffemodel"));
    CU_ASSERT_EQUAL(ferry("convert b.caffemodel d.caffemodel --dtype F16"), 0);
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel d.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert a.caffemodel e.caffemodel --dtype F32"), 0);
    CU_ASSERT_EQUAL(ferry("diff b.caffemodel e.caffemodel"), 0);
    CU_ASSERT_EQUAL(ferry("convert e.caffemodel f.caffemodel --dtype F16"), 0);
    CU_ASSERT_EQUAL(shell("cmp a.caffemodel f.caffemodel"), 0);
    clean();
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_net_keeps_its_definition_from_caffemodel_to_caffemodel),
    FERRY_TEST(a_note_reports_a_net_definition_that_the_output_lacks),
    FERRY_TEST(a_layer_of_the_definition_is_renamed_with_its_blobs),
    FERRY_TEST(half_floats_keep_their_diffs),
};

int main(int argc, char **argv)
{
    return array_files_main(argc, argv, "command-caffemodel", NULL, 0, cases,
                            FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "data-files.h"
#include "fixture.h"

#include <ferry/image.h>
#include <ferry/io.h>
#include <ferry/net.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Data layers: pictures, lists and databases that the test writes, read through nets, and damaged
 * ones.
 */
#if defined(FERRY_NET_HAVE_PNG) && defined(FERRY_NET_HAVE_LMDB)

/* ---- nets ------------------------------------------------------------------------------------ */

static int try_net(ferry_phase phase, uint64_t seed, ferry_net **out, const char *fmt, va_list args)
{
    ferry_net_options o = { .struct_size = sizeof o, .phase = phase, .seed = seed };
    char text[2048];

    vsnprintf(text, sizeof text, fmt, args);
    o.text = text;
    o.text_size = strlen(text);
    return ferry_net_open(fx_device(), "data.prototxt", &o, out);
}

__attribute__((format(printf, 3, 4))) static ferry_net *open_net(ferry_phase phase, uint64_t seed,
                                                                 const char *fmt, ...)
{
    ferry_net *net = NULL;
    va_list args;

    if (access(df_in("written"), F_OK) != 0)
        df_write_files();
    va_start(args, fmt);
    if (try_net(phase, seed, &net, fmt, args))
        printf("     %s\n", ferry_last_error());
    va_end(args);
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

#define TEST_NET(...) open_net(FERRY_PHASE_TEST, 0, __VA_ARGS__)

static void run(ferry_net *net)
{
    if (ferry_net_forward(net, NULL)) {
        printf("     %s\n", ferry_last_error());
        CU_FAIL("forward");
    }
}

static float at(ferry_net *net, const char *name, int64_t i)
{
    const ferry_blob *b = ferry_net_blob_find(net, name);
    const float *values = b && i < ferry_blob_element_count(b) ? ferry_blob_host_data(b) : NULL;

    return values ? values[i] : -1e30f;
}

static void check_shape(ferry_net *net, const char *name, const char *wanted)
{
    char shape[160] = "";

    ferry_blob_shape_string(ferry_net_blob_find(net, name), shape, sizeof shape);
    CU_ASSERT_STRING_EQUAL(shape, wanted);
}

/* ---- MemoryData ------------------------------------------------------------------------------ */

static void memory_data_are_written_by_the_program(void)
{
    ferry_net *net =
        TEST_NET("layer { name: 'm' type: 'MemoryData' top: 'data' top: 'label' "
                 "memory_data_param { batch_size: 2 channels: 3 height: 4 width: 6 } } "
                 "layer { name: 'p' type: 'Power' bottom: 'data' top: 'y' "
                 "power_param { scale: 2 } }");
    ferry_blob *picture = FX_BLOB(FERRY_U8, 1);
    ferry_blob *data = ferry_net_blob_find(net, "data");

    CU_ASSERT_EQUAL(ferry_net_input_count(net), 2);
    check_shape(net, "data", "2 3 4 6 (144)");
    check_shape(net, "label", "2 (2)");
    for (int i = 0; i < 2; i++) {
        FX_OK(ferry_image_read(df_in(i ? "1" : "0"), 3, picture));
        FX_OK(ferry_image_transform(picture, NULL, data, i));
    }
    run(net);
    CU_ASSERT_EQUAL(at(net, "y", 1), 2 * df_pixel(0, 0, 0, 1));
    CU_ASSERT_EQUAL(at(net, "y", 72 + 24 + 7), 2 * df_pixel(1, 1, 1, 1));
    FX_OK(ferry_blob_reshape4(data, 1, 3, 4, 6));
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "label"), (const int64_t[]){ 1 }, 1, NULL));
    run(net);
    check_shape(net, "y", "1 3 4 6 (72)");
    ferry_blob_destroy(picture);
    ferry_net_close(net);
    fx_end();
}

/* ---- ImageData ------------------------------------------------------------------------------- */

#define IMAGES \
    "layer { name: 'i' type: 'ImageData' top: 'data' top: 'label' image_data_param { source: "

static void a_list_is_read_in_order_and_restarts_at_its_end(void)
{
    ferry_net *net = TEST_NET(IMAGES "'%s' batch_size: 2 } }", df_in("list"));

    check_shape(net, "data", "2 3 4 6 (144)");
    for (int i = 0; i < 8; i += 2) {
        run(net);
        for (int item = 0; item < 2; item++) {
            int which = (i + item) % 3;

            CU_ASSERT_EQUAL(at(net, "label", item), (float)(10 + which));
            CU_ASSERT_EQUAL(at(net, "data", item * 72), df_pixel(which, 0, 0, 0));
            CU_ASSERT_EQUAL(at(net, "data", item * 72 + 71), df_pixel(which, 2, 3, 5));
        }
    }
    ferry_net_close(net);
    fx_end();
}

/* The results have OpenCV's numbers. */
static void images_are_transformed_like_ferry_image_transform(void)
{
    ferry_net *net =
        TEST_NET(IMAGES "'%s' root_folder: '%s' new_height: 8 new_width: 7 is_color: false } "
                        "transform_param { mean_value: 3 crop_size: 4 scale: 0.5 } }",
                 df_in("list"), df_in(""));
    ferry_blob *picture = FX_BLOB(FERRY_U8, 1), *out = FX_BLOB(FERRY_F32, 1);
    ferry_blob *mean = FX_BLOB(FERRY_F32, 1);
    ferry_image_transform_options o = { .struct_size = sizeof o,
                                        .height = 8,
                                        .width = 7,
                                        .mean = mean,
                                        .crop_height = 4,
                                        .crop_width = 4,
                                        .scale = 0.5 };

    FX_OK(ferry_blob_fill_data(mean, 3));
    FX_OK(ferry_image_read(df_in("0"), 1, picture));
    FX_OK(ferry_image_transform(picture, &o, out, -1));
    run(net);
    check_shape(net, "data", "1 1 4 4 (16)");
    CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(out),
                           ferry_blob_host_data(ferry_net_blob_find(net, "data")),
                           16 * sizeof(float)),
                    0);
    ferry_blob_destroy(picture);
    ferry_blob_destroy(out);
    ferry_blob_destroy(mean);
    ferry_net_close(net);
    fx_end();
}

static void a_batch_has_the_size_of_its_picture(void)
{
    ferry_net *net =
        TEST_NET(IMAGES "'%s' } } layer { name: 'p' type: 'Power' bottom: 'data' top: 'y' "
                        "power_param { shift: 1 } }",
                 df_in("mixed"));

    for (int i = 0; i < 4; i++) {
        run(net);
        check_shape(net, "y", i % 2 ? "1 3 3 5 (45)" : "1 3 4 6 (72)");
        CU_ASSERT_EQUAL(at(net, "y", 2), 1 + df_pixel(i % 2 ? 3 : 0, 0, 0, 2));
    }
    ferry_net_close(net);
    fx_end();
}

/*
 * In TRAIN crops are at random positions and mirrored or not: each is a part of the picture, and
 * many different ones occur.
 */
static void training_crops_and_mirrors_depend_on_the_seed(void)
{
    bool seen[3][4][2] = { { { 0 } } };
    int kinds = 0;

    for (uint64_t seed = 1; seed <= 2; seed++) {
        ferry_net *net = open_net(FERRY_PHASE_TRAIN, seed,
                                  IMAGES "'%s' } transform_param { crop_size: 3 mirror: true } }",
                                  df_in("mixed"));
        ferry_net *again = open_net(FERRY_PHASE_TRAIN, seed,
                                    IMAGES "'%s' } transform_param { crop_size: 3 mirror: true } }",
                                    df_in("mixed"));

        for (int i = 0; i < 200; i++) {
            int first, last, y, x;
            bool mirrored;

            run(net);
            run(again);
            CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(ferry_net_blob_find(net, "data")),
                                   ferry_blob_host_data(ferry_net_blob_find(again, "data")),
                                   27 * sizeof(float)),
                            0);
            if (i % 2)
                continue;
            first = (int)at(net, "data", 0);
            last = (int)at(net, "data", 2);
            mirrored = first > last;
            y = (mirrored ? last : first) / 4;
            x = (mirrored ? last : first) % 4;
            CU_ASSERT(y == 0 || y == 1 || (y == 2 && x == 0) || x < 4);
            CU_ASSERT_EQUAL(first - last, mirrored ? 2 : -2);
            kinds += !seen[y % 3][x][mirrored];
            seen[y % 3][x][mirrored] = true;
        }
        ferry_net_close(net);
        ferry_net_close(again);
    }
    CU_ASSERT(kinds >= 12); /* of 2 rows x 4 columns x 2 */
}

static void shuffling_reads_every_picture_once_per_epoch(void)
{
    ferry_net *net =
        open_net(FERRY_PHASE_TEST, 5, IMAGES "'%s' batch_size: 3 shuffle: true } }", df_in("list"));
    int orders = 0;

    for (int i = 0; i < 20; i++) {
        int sum = 0;

        run(net);
        for (int item = 0; item < 3; item++) {
            sum += 1 << ((int)at(net, "label", item) - 10);
            CU_ASSERT_EQUAL(at(net, "data", item * 72),
                            df_pixel((int)at(net, "label", item) - 10, 0, 0, 0));
        }
        CU_ASSERT_EQUAL(sum, 7);
        orders |= 1 << ((int)at(net, "label", 0) - 10);
    }
    CU_ASSERT_EQUAL(orders, 7);
    ferry_net_close(net);
    fx_end();
}

/* ---- Data ------------------------------------------------------------------------------------ */

#define DATA "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: "

static void records_are_read_in_key_order_and_restart_at_the_end(void)
{
    ferry_net *net = TEST_NET(DATA "'%s' batch_size: 2 backend: LMDB } }", df_in("bytes"));
    ferry_net *second = TEST_NET(DATA "'%s/data.mdb' batch_size: 2 } }", df_in("bytes"));

    for (int i = 0; i < 8; i += 2) {
        run(net);
        run(second);
        check_shape(net, "data", "2 2 2 3 (24)");
        for (int item = 0; item < 2; item++) {
            int which = (i + item) % 3;

            CU_ASSERT_EQUAL(at(net, "label", item), (float)(7 + which));
            CU_ASSERT_EQUAL(at(net, "data", item * 12 + 11), (float)(100 * which + 11));
            CU_ASSERT_EQUAL(at(second, "data", item * 12 + 5), (float)(100 * which + 5));
        }
    }
    ferry_net_close(net);
    ferry_net_close(second);
}

static void float_records_are_not_converted(void)
{
    ferry_net *net =
        TEST_NET(DATA "'%s' batch_size: 1 } transform_param { scale: 2 } }", df_in("floats"));

    run(net);
    check_shape(net, "data", "1 1 2 3 (6)");
    CU_ASSERT_EQUAL(at(net, "data", 0), -3);
    CU_ASSERT_EQUAL(at(net, "data", 5), 2e6f);
    ferry_net_close(net);
    fx_end();
}

static void encoded_records_are_decoded_and_cropped_in_the_middle(void)
{
    ferry_io_writer *w = NULL;
    ferry_blob *mean = FX_BLOB(FERRY_F32, 1, 3, 4, 6);
    ferry_net *net;

    for (int i = 0; i < 72; i++)
        ((float *)ferry_blob_mutable_host_data(mean))[i] = (float)i;
    FX_OK(ferry_io_writer_create(df_in("mean.binaryproto"), FERRY_IO_BLOBPROTO, &w));
    FX_OK(ferry_io_writer_write(w, "", mean, false));
    FX_OK(ferry_io_writer_commit(w));
    ferry_blob_destroy(mean);
    net = TEST_NET(DATA "'%s' batch_size: 2 } transform_param { crop_size: 2 mean_file: '%s' } }",
                   df_in("encoded"), df_in("mean.binaryproto"));
    run(net);
    check_shape(net, "data", "2 3 2 2 (24)");
    CU_ASSERT_EQUAL(at(net, "label", 1), 2);
    CU_ASSERT_EQUAL(at(net, "data", 0), (float)(df_pixel(0, 0, 1, 2) - (1 * 6 + 2)));
    CU_ASSERT_EQUAL(at(net, "data", 23), (float)(df_pixel(1, 2, 2, 3) - (48 + 2 * 6 + 3)));
    ferry_net_close(net);
    net = TEST_NET(DATA "'%s' batch_size: 2 } transform_param { force_gray: true } }",
                   df_in("encoded"));
    check_shape(net, "data", "2 1 4 6 (48)");
    ferry_net_close(net);
    fx_end();
}

static void a_batch_has_the_size_of_its_record(void)
{
    ferry_net *net = TEST_NET(DATA "'%s' batch_size: 1 } } layer { name: 'p' type: 'Power' bottom: "
                                   "'data' top: 'y' power_param { shift: 1 } }",
                              df_in("sizes"));

    for (int i = 0; i < 4; i++) {
        run(net);
        check_shape(net, "y", i % 2 ? "1 3 3 5 (45)" : "1 3 4 6 (72)");
        CU_ASSERT_EQUAL(at(net, "y", 2), (float)(1 + df_pixel(i % 2 ? 3 : 0, 0, 0, 2)));
    }
    ferry_net_close(net);
    fx_end();
}

/* ---- HDF5Data -------------------------------------------------------------------------------- */

/* Rows of that shape, each row with one value, from `first` on. */
static int write_rows(const char *name, int first, int rank, const int64_t *shape)
{
    ferry_blob *rows = NULL;
    ferry_io_writer *w = NULL;
    int err = ferry_io_writer_create(df_in(name), FERRY_IO_HDF5, &w);

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F32, shape, rank, &rows));
    for (int i = 0; i < ferry_blob_element_count(rows); i++)
        ((float *)ferry_blob_mutable_host_data(rows))[i] =
            (float)(first + i / (ferry_blob_element_count(rows) / shape[0]));
    if (!err) {
        FX_OK(ferry_io_writer_write(w, "data", rows, false));
        FX_OK(ferry_io_writer_commit(w));
    }
    ferry_blob_destroy(rows);
    return err;
}

/* Equal numbers of elements suffice, except for leading axes of one. */
static void rows_of_another_shape_are_named(void)
{
    static const int64_t shape[] = { 3, 2, 3 }, same[] = { 3, 1, 2, 3 }, turned[] = { 3, 3, 2 };
    ferry_net *net;

    fx_device();
    if (write_rows("first.h5", 0, 3, shape) == FERRY_EUNSUPPORTED) {
        ferry_test_skip("built without HDF5: %s", ferry_last_error());
        return;
    }
    FX_OK(write_rows("same.h5", 0, 4, same));
    FX_OK(write_rows("turned.h5", 0, 3, turned));
    df_write_text("h5shapes", "first.h5\nsame.h5\nturned.h5\n");
    net = TEST_NET("layer { name: 'h' type: 'HDF5Data' top: 'data' hdf5_data_param { source: '%s' "
                   "batch_size: 3 } }",
                   df_in("h5shapes"));
    run(net);
    run(net);
    FX_FAILS(FERRY_ESHAPE, ferry_net_forward(net, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "/turned.h5\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "\"data\" is 3 3 2 (18)"));
    ferry_net_close(net);
    fx_end();
}

/* Files of 3 and 5 rows: each row once in 8, complete, in more than one order. */
static void shuffled_rows_are_read_once_per_epoch(void)
{
    ferry_net *net;
    int firsts = 0;

    fx_device();
    if (write_rows("a.h5", 0, 2, (int64_t[]){ 3, 2 }) == FERRY_EUNSUPPORTED) {
        ferry_test_skip("built without HDF5: %s", ferry_last_error());
        return;
    }
    FX_OK(write_rows("b.h5", 3, 2, (int64_t[]){ 5, 2 }));
    df_write_text("h5list", "a.h5\nb.h5\n");
    net = TEST_NET("layer { name: 'h' type: 'HDF5Data' top: 'data' hdf5_data_param { source: '%s' "
                   "batch_size: 4 shuffle: true } }",
                   df_in("h5list"));
    for (int round = 0; round < 60; round++) {
        int seen = 0;

        for (int half = 0; half < 2; half++) {
            run(net);
            for (int i = 0; i < 4; i++) {
                seen |= 1 << (int)at(net, "data", 2 * i);
                CU_ASSERT_EQUAL(at(net, "data", 2 * i), at(net, "data", 2 * i + 1));
            }
            firsts |= half ? 0 : 1 << (int)at(net, "data", 0);
        }
        CU_ASSERT_EQUAL(seen, 255);
    }
    CU_ASSERT_EQUAL(firsts, 255);
    ferry_net_close(net);
    fx_end();
}

/* ---- damaged data ---------------------------------------------------------------------------- */

static const struct {
    const char *type, *source, *more, *transform;
    int code;
    const char *word, *word2;
} broken[] = {
    { "Data", "channels", "batch_size: 2", "", FERRY_ESHAPE, "record 00000001", "1 x 2 x 3" },
    { "Data", "cut", "batch_size: 2", "", FERRY_EFORMAT, "record 00000001", "truncated" },
    { "Data", "empty", "batch_size: 2", "", FERRY_EFORMAT, "/empty", "no records" },
    { "Data", "shape", "batch_size: 1", "", FERRY_EFORMAT, "record 00000000", "2 x 9 x 3" },
    { "Data", "nothing", "batch_size: 1", "", FERRY_EFORMAT, "record 00000000", "0 x 0 x 0" },
    { "Data", "damaged", "batch_size: 1", "", FERRY_EFORMAT, "record 00000000", "PNG" },
    { "Data", "short", "batch_size: 1", "", FERRY_EFORMAT, "/short", "truncated" },
    { "Data", "level", "batch_size: 1", "", FERRY_EIO, "LevelDB", "MANIFEST-000002" },
    { "Data", "folder", "batch_size: 1", "", FERRY_EFORMAT, "/folder", "data.mdb" },
    { "Data", "nowhere", "batch_size: 1", "", FERRY_EIO, "/nowhere", "" },
    { "Data", "list", "batch_size: 1", "", FERRY_EFORMAT, "/list", "not an LMDB" },
    { "Data", "bytes", "", "", FERRY_EFORMAT, "batch_size", "" },
    { "Data", "bytes", "batch_size: 1", "crop_size: 3", FERRY_ESHAPE, "record 0",
      "crop_size of 3" },
    { "Data", "bytes", "batch_size: 1", "mean_value: 1 mean_value: 2 mean_value: 3", FERRY_ESHAPE,
      "record 0", "a mean of 3" },
    { "Data", "bytes", "batch_size: 1", "mean_value: 1 mean_file: 'x'", FERRY_EFORMAT, "mean_file",
      "mean_value" },
    { "Data", "bytes", "batch_size: 1", "force_gray: true force_color: true", FERRY_EFORMAT,
      "force_gray", "" },
    { "Data", "bytes", "batch_size: 1", "mean_file: '/none/mean'", FERRY_EIO, "/none/mean", "" },
    { "DummyData", "", "data_filler { type: 'gauss' }", "", FERRY_EFORMAT, "\"gauss\"", "xavier" },
    { "DummyData", "", "data_filler { sparse: 2 }", "", FERRY_EFORMAT, "sparse", "gaussian" },
    { "DummyData", "", "data_filler { type: 'bilinear' }", "", FERRY_EFORMAT, "square", "" },
    { "ImageData", "nowhere", "", "", FERRY_EIO, "/nowhere", "" },
    { "ImageData", "labels", "", "", FERRY_EFORMAT, "line 2", "label" },
    { "ImageData", "words", "", "", FERRY_EFORMAT, "line 1", "0 cat" },
    { "ImageData", "none", "", "", FERRY_EFORMAT, "/none", "no picture" },
    { "ImageData", "zero", "", "", FERRY_EFORMAT, "byte 5 is 0", "/zero" },
    { "ImageData", "/dev/zero", "", "", FERRY_EIO, "/dev/zero", "regular file" },
    { "HDF5Data", "/dev/zero", "batch_size: 1", "", FERRY_EIO, "/dev/zero", "regular file" },
    { "HDF5Data", "zero", "batch_size: 1", "", FERRY_EFORMAT, "byte 5 is 0", "/zero" },
    { "HDF5Data", "none", "batch_size: 1", "", FERRY_EFORMAT, "/none", "no file" },
    { "HDF5Data", "none", "batch_size: 1", "scale: 2", FERRY_EFORMAT, "does not transform data",
      "transform_param" },
    { "HDF5Data", "words", "batch_size: 1", "", FERRY_EIO, "\"cat\"", "/cat\"" },
    { "HDF5Data", "mixed", "batch_size: 1", "", FERRY_EFORMAT, "/0", "a picture (PNG)" },
    { "ImageData", "folder", "", "", FERRY_EIO, "/folder", "" },
    { "ImageData", "gone", "batch_size: 2", "", FERRY_EIO, "nowhere", "" },
    { "ImageData", "no-picture", "", "", FERRY_EFORMAT, "/list", "PNG" },
    { "ImageData", "mixed", "batch_size: 2", "", FERRY_ESHAPE, "/odd", "3 x 3 x 5" },
    { "ImageData", "list", "new_height: 3", "", FERRY_EFORMAT, "new_width", "" },
    { "ImageData", "list", "", "crop_size: 5", FERRY_ESHAPE, "/0", "crop_size" },
    { "Data", "", "batch_size: 1", "", FERRY_EFORMAT, ":1:83: ", "source names no file" },
    { "ImageData", "", "", "", FERRY_EFORMAT, ":1:94: ", "source names no file" },
    { "HDF5Data", "", "batch_size: 1", "", FERRY_EFORMAT, ":1:92: ", "source names no file" },
    { "Data", "bytes", "batch_size: 1", "mean_file: ''", FERRY_EFORMAT, "",
      "mean_file names no file" },
};

static const char *parameters_of(const char *type)
{
    return type[0] == 'D' ? "data_param" : type[0] == 'H' ? "hdf5_data_param" : "image_data_param";
}

/* Refused when the net is opened, or at its first forward pass; and again at the next one. */
static void damaged_data_give_one_error_with_file_record_and_layer(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(broken); i++) {
        ferry_net_options o = { .struct_size = sizeof o };
        ferry_net *net = NULL;
        char text[1024];
        int err;

        if (broken[i].type[1] == 'u')
            snprintf(
                text, sizeof text,
                "layer { name: 'broken' type: 'DummyData' top: 'data' dummy_data_param { shape { "
                "dim: 3 } %s } }",
                broken[i].more);
        else
            snprintf(
                text, sizeof text,
                "layer { name: 'broken' type: '%s' top: 'data' top: 'label' %s { source: '%s' %s "
                "} %s%s%s }",
                broken[i].type, parameters_of(broken[i].type),
                !broken[i].source[0] || broken[i].source[0] == '/' ? broken[i].source
                                                                   : df_in(broken[i].source),
                broken[i].more, broken[i].transform[0] ? "transform_param { " : "",
                broken[i].transform, broken[i].transform[0] ? " }" : "");
        o.text = text;
        o.text_size = strlen(text);
        err = ferry_net_open(fx_device(), "broken.prototxt", &o, &net);
        if (!err)
            err = ferry_net_forward(net, NULL);
        CU_ASSERT_EQUAL(err, broken[i].code);
        if (err != broken[i].code || !strstr(ferry_last_error(), broken[i].word) ||
            !strstr(ferry_last_error(), broken[i].word2) ||
            !strstr(ferry_last_error(), "broken\"")) {
            printf("     %s %s: %d: %s\n", broken[i].type, broken[i].source, err,
                   ferry_last_error());
            CU_FAIL("the message does not say so");
        }
        if (net)
            CU_ASSERT_NOT_EQUAL(ferry_net_forward(net, NULL), FERRY_OK);
        ferry_net_close(net);
    }
    fx_end();
}

/* Only the header of a PNG that would take 4 GB: nothing is allocated for it. */
static void pictures_beyond_the_limit_are_refused(void)
{
    static const unsigned char header[] = { 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00,
                                            0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
                                            0x40, 0x00, 0x00, 0x00, 0x40, 0x00, 0x08, 0x02, 0x00,
                                            0x00, 0x00, 0x26, 0xaa, 0x87, 0xd3, 0x00, 0x00, 0x00,
                                            0x00, 0x49, 0x44, 0x41, 0x54, 0x35, 0xaf, 0x06, 0x1e };
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F32, NULL, FERRY_UNSHAPED, &b));
    FX_FAILS(FERRY_EOVERFLOW, ferry_image_decode(header, sizeof header, "huge.png", 3, b));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "huge.png: a picture of 16384 x 16384"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "4026531840 bytes"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "--max-bytes"));
    ferry_io_set_max_bytes(4 * 6 * 3 * 5 - 1);
    FX_FAILS(FERRY_EOVERFLOW, ferry_image_read(df_in("0"), 3, b));
    ferry_io_set_max_bytes(4 * 6 * 3 * 5);
    FX_OK(ferry_image_read(df_in("0"), 3, b));
    ferry_io_set_max_bytes(0);
    CU_ASSERT_EQUAL(ferry_io_max_bytes(), FERRY_IO_MAX_BYTES);
    ferry_blob_destroy(b);
    fx_end();
}

/* A pipe in place of a file is rejected at once, whichever field names it. */
static void opening_a_pipe_does_not_block(void)
{
    static const char *const layers[] = {
        "type: 'HDF5Data' hdf5_data_param { source: '%s' batch_size: 1 }",
        "type: 'HDF5Data' hdf5_data_param { source: '%s.list' batch_size: 1 }",
        "type: 'ImageData' top: 'label' image_data_param { source: '%s' batch_size: 1 }",
        "type: 'ImageData' top: 'label' image_data_param { source: '%s.list' batch_size: 1 }",
        "type: 'Data' data_param { source: '%s' batch_size: 1 }",
        ("type: 'ImageData' top: 'label' image_data_param { source: 'LIST' batch_size: 1 } "
         "transform_param { mean_file: '%s' }"),
    };
    char pipe[256], line[320];

    fx_device();
    snprintf(pipe, sizeof pipe, "%s", df_in("pipe"));
    unlink(pipe); /* of the previous backend */
    CU_ASSERT_EQUAL_FATAL(mkfifo(pipe, 0600), 0);
    snprintf(line, sizeof line, "%s 0\n", pipe);
    df_write_text("pipe.list", line);
    for (size_t i = 0; i < FERRY_TEST_COUNT(layers); i++) {
        char layer[512], text[1024], *at;
        ferry_net_options o = { .struct_size = sizeof o, .text = text };
        ferry_net *net = NULL;
        int err;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(layer, sizeof layer, layers[i], pipe);
#pragma GCC diagnostic pop
        at = strstr(layer, "LIST");
        if (at)
            snprintf(text, sizeof text, "layer { name: 'p' top: 'data' %.*s%s%s }",
                     (int)(at - layer), layer, df_in("list"), at + 4);
        else
            snprintf(text, sizeof text, "layer { name: 'p' top: 'data' %s }", layer);
        o.text_size = strlen(text);
        err = ferry_net_open(fx_device(), "pipe.prototxt", &o, &net);
        if (!err)
            err = ferry_net_forward(net, NULL);
        CU_ASSERT_EQUAL(err, FERRY_EIO);
        if (err != FERRY_EIO || !strstr(ferry_last_error(), "pipe"))
            printf("     %s: %d: %s\n", text, err, ferry_last_error());
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "regular file"));
        ferry_net_close(net);
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(memory_data_are_written_by_the_program),
    FERRY_TEST(a_list_is_read_in_order_and_restarts_at_its_end),
    FERRY_TEST(images_are_transformed_like_ferry_image_transform),
    FERRY_TEST(a_batch_has_the_size_of_its_picture),
    FERRY_TEST(training_crops_and_mirrors_depend_on_the_seed),
    FERRY_TEST(shuffling_reads_every_picture_once_per_epoch),
    FERRY_TEST(records_are_read_in_key_order_and_restart_at_the_end),
    FERRY_TEST(float_records_are_not_converted),
    FERRY_TEST(encoded_records_are_decoded_and_cropped_in_the_middle),
    FERRY_TEST(a_batch_has_the_size_of_its_record),
    FERRY_TEST(shuffled_rows_are_read_once_per_epoch),
    FERRY_TEST(rows_of_another_shape_are_named),
    FERRY_TEST(damaged_data_give_one_error_with_file_record_and_layer),
    FERRY_TEST(opening_a_pipe_does_not_block),
    FERRY_TEST(pictures_beyond_the_limit_are_refused),
};

int main(int argc, char **argv)
{
    return df_main(argc, argv, "layer-data", cases, FERRY_TEST_COUNT(cases));
}

#else

int main(void)
{
    puts("skipped: without libpng and liblmdb there is nothing to write");
    return 77;
}

#endif

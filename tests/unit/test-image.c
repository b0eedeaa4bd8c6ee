/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "net/data/datum.h"
#include "oom.h"

#include <ferry/image.h>
#include <ferry/io.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Pictures compared with OpenCV's results (tests/data/images/make.py), and files that are not
 * pictures.
 */

#define BLOB(...) (fx_device(), FX_BLOB(__VA_ARGS__))

static ferry_io *expected;

static const char *image(const char *name)
{
    char relative[128];

    snprintf(relative, sizeof relative, "images/%s", name);
    return ferry_test_own_data(relative);
}

static void open_expected(void)
{
    if (!expected)
        CU_ASSERT_EQUAL_FATAL(ferry_io_open(image("opencv.npz"), &expected), FERRY_OK);
}

/* The distance of a blob from an expected array; infinite if the shapes differ. */
static double apart(const char *name, const ferry_blob *b)
{
    const ferry_io_entry *entry = NULL;
    ferry_blob *wanted = BLOB(FERRY_F32, 1);
    double worst = 0;

    open_expected();
    FX_OK(ferry_io_entry_find(expected, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    FX_OK(ferry_io_read(expected, entry, wanted));
    if (ferry_blob_shape_equals(wanted, b) != 1)
        worst = INFINITY;
    for (int64_t i = 0; isfinite(worst) && i < entry->count; i++) {
        double value = fx_get(ferry_blob_dtype(b), ferry_blob_host_data(b), i);

        worst = fmax(worst, fabs(value - fx_get(FERRY_F32, ferry_blob_host_data(wanted), i)));
    }
    ferry_blob_destroy(wanted);
    return worst;
}

/* JPEG may differ if the library's arithmetic does; CMYK is rounded differently. */
static const struct {
    const char *name;
    int channels;
    double tolerance;
} pictures[] = {
    { "rgb.png", 3, 0 },    { "gray.png", 1, 0 },    { "rgba.png", 3, 0 },
    { "graya.png", 1, 0 },  { "palette.png", 3, 0 }, { "palette_alpha.png", 3, 0 },
    { "gray1.png", 1, 0 },  { "gray2.png", 1, 0 },   { "rgb16.png", 3, 0 },
    { "gray16.png", 1, 0 }, { "gamma.png", 3, 0 },   { "interlaced.png", 3, 0 },
    { "rgb444.jpg", 3, 1 }, { "rgb420.jpg", 3, 1 },  { "progressive.jpg", 3, 1 },
    { "gray.jpg", 1, 1 },   { "cmyk.jpg", 3, 2 },    { "turned.jpg", 3, 1 },
};

static void every_kind_of_picture_has_the_pixels_of_opencv(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 1);

    for (size_t i = 0; i < FERRY_TEST_COUNT(pictures); i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            char name[64];
            double worst;

            snprintf(name, sizeof name, "%s/%d", pictures[i].name, channels);
            FX_OK(ferry_image_read(image(pictures[i].name), channels, b));
            worst = apart(name, b);
            if (worst > pictures[i].tolerance + (channels == 1 ? 1 : 0))
                printf("     %s: %g apart\n", name, worst);
            CU_ASSERT(worst <= pictures[i].tolerance + (channels == 1 ? 1 : 0));
        }
    ferry_blob_destroy(b);
}

static void a_picture_keeps_its_channels_unless_a_number_is_requested(void)
{
    ferry_blob *b = BLOB(FERRY_F32, 1);

    for (size_t i = 0; i < FERRY_TEST_COUNT(pictures); i++) {
        FX_OK(ferry_image_read(image(pictures[i].name), 0, b));
        CU_ASSERT_EQUAL(ferry_blob_dim(b, 0), pictures[i].channels);
        CU_ASSERT_EQUAL(ferry_blob_dim(b, 1), 9);
        CU_ASSERT_EQUAL(ferry_blob_dim(b, 2), 13);
    }
    ferry_blob_destroy(b);
}

/* ---- invalid files --------------------------------------------------------------------------- */

static unsigned char *bytes_of(const char *name, size_t *size)
{
    FILE *file = fopen(image(name), "rb");
    unsigned char *bytes = malloc(1 << 16);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    *size = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

/* Only the last bytes of a JPEG that belong to the picture matter: two mark its end. */
static void a_picture_that_is_cut_off_is_an_error_at_every_byte(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 2, 2);

    for (size_t i = 0; i < FERRY_TEST_COUNT(pictures); i++) {
        size_t size, tail = strstr(pictures[i].name, "jpg") ? 2 : 0;
        unsigned char *bytes = bytes_of(pictures[i].name, &size);

        for (size_t cut = 0; cut < size - tail; cut++) {
            int err = ferry_image_decode(bytes, cut, pictures[i].name, 3, b);

            if (err != FERRY_EFORMAT)
                printf("     %s cut at %zu of %zu: %d\n", pictures[i].name, cut, size, err);
            CU_ASSERT_EQUAL(err, FERRY_EFORMAT);
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), pictures[i].name));
        }
        free(bytes);
    }
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 2); /* as before */
    ferry_blob_destroy(b);
}

static void one_changed_byte_is_an_error_or_a_picture(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 2, 2);

    for (size_t i = 0; i < FERRY_TEST_COUNT(pictures); i++) {
        size_t size;
        unsigned char *bytes = bytes_of(pictures[i].name, &size);

        for (size_t at = 0; at < size; at++) {
            int err;

            /* otherwise dimensions become large, and slow to process */
            bytes[at] ^= (unsigned char)(at < 24 ? 0x04 : 0x41);
            err = ferry_image_decode(bytes, size, "changed", 0, b);
            CU_ASSERT(err == FERRY_OK || err == FERRY_EFORMAT || err == FERRY_EUNSUPPORTED);
            bytes[at] ^= (unsigned char)(at < 24 ? 0x04 : 0x41);
        }
        free(bytes);
    }
    ferry_blob_destroy(b);
}

/* Writes a PNG with correct checksums. */
#define PNG "\x89PNG\r\n\x1a\n"
#define TWO_THOUSAND_MILLIONS_SQUARE                                                               \
    PNG "\x00\x00\x00\x0d\x49\x48\x44\x52\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00\x9b" \
        "\xab\x9c\x31\x00\x00\x00\x00\x49\x44\x41\x54\x35\xaf\x06\x1e"
#define NO_WIDTH                                                                                   \
    PNG "\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x00\x00\x00\x00\x01\x08\x02\x00\x00\x00\x7f" \
        "\xb5\x38\xe0\x00\x00\x00\x00\x49\x44\x41\x54\x35\xaf\x06\x1e"
#define THREE_HUNDRED_MILLIONS                                                                     \
    PNG "\x00\x00\x00\x0d\x49\x48\x44\x52\x05\xf5\xe1\x00\x00\x00\x00\x03\x08\x02\x00\x00\x00\x15" \
        "\xc7\xcf\x9b\x00\x00\x00\x00\x49\x44\x41\x54\x35\xaf\x06\x1e"

static const struct {
    const char *bytes;
    size_t size;
    int code;
    const char *says;
} no_pictures[] = {
    { "", 0, FERRY_EFORMAT, "empty" },
    { "P6 1 1 255 abc", 14, FERRY_EFORMAT, "neither PNG nor JPEG" },
    { "GIF89a......", 12, FERRY_EUNSUPPORTED, "GIF" },
    { "BM......", 8, FERRY_EUNSUPPORTED, "BMP" },
    { TWO_THOUSAND_MILLIONS_SQUARE, sizeof(TWO_THOUSAND_MILLIONS_SQUARE) - 1, FERRY_EFORMAT,
      "PNG: " },
    { NO_WIDTH, sizeof(NO_WIDTH) - 1, FERRY_EFORMAT, "PNG: " },
    { THREE_HUNDRED_MILLIONS, sizeof(THREE_HUNDRED_MILLIONS) - 1, FERRY_EUNSUPPORTED,
      "100000000 x 3" },
    { "\xff\xd8\xff\xd9", 4, FERRY_EFORMAT, "JPEG: " },
};

static void a_file_that_is_not_a_picture_gives_one_error(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 2, 2), *wrong = BLOB(FERRY_F64, 2);

    for (size_t i = 0; i < FERRY_TEST_COUNT(no_pictures); i++) {
        FX_FAILS(no_pictures[i].code,
                 ferry_image_decode(no_pictures[i].bytes, no_pictures[i].size, "it", 3, b));
        if (!strstr(ferry_last_error(), no_pictures[i].says))
            printf("     %zu: %s\n", i, ferry_last_error());
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), no_pictures[i].says));
    }
    FX_FAILS(FERRY_EIO, ferry_image_read("/nowhere.png", 3, b));
    FX_FAILS(FERRY_EIO, ferry_image_read("/tmp", 3, b));
    FX_FAILS(FERRY_EINVAL, ferry_image_read(NULL, 3, b));
    FX_FAILS(FERRY_EINVAL, ferry_image_read(image("rgb.png"), 2, b));
    FX_FAILS(FERRY_EINVAL, ferry_image_read(image("rgb.png"), 3, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_image_read(image("rgb.png"), 3, wrong));
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 2);
    ferry_blob_destroy(b);
    ferry_blob_destroy(wrong);
}

/* A header alone may claim any size: it is refused before memory is allocated. */
static void dimensions_beyond_any_memory_are_refused(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 2, 2);
    size_t size, at = 0;
    unsigned char *bytes = bytes_of("gray.jpg", &size);

    while (at + 9 < size && !(bytes[at] == 0xff && bytes[at + 1] == 0xc0))
        at++;
    memset(bytes + at + 5, 0xfa, 4); /* 64250 x 64250 */
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_image_decode(bytes, size, "it", 3, b));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "64250 x 64250"));
    free(bytes);
    ferry_blob_destroy(b);
}

/* ---- transforming ---------------------------------------------------------------------------- */

static void resizing_matches_opencv(void)
{
    static const int64_t sizes[][2] = { { 20, 31 }, { 4, 5 }, { 9, 30 }, { 1, 1 }, { 100, 3 } };

    for (int u8 = 0; u8 < 2; u8++) {
        ferry_blob *b = BLOB(u8 ? FERRY_U8 : FERRY_F32, 1), *out = BLOB(FERRY_F32, 1);

        FX_OK(ferry_image_read(image("rgb.png"), 3, b));
        for (size_t i = 0; i < FERRY_TEST_COUNT(sizes); i++) {
            ferry_image_transform_options o = { .struct_size = sizeof o };
            char name[64];
            double worst;

            o.height = sizes[i][0];
            o.width = sizes[i][1];
            FX_OK(ferry_image_transform(b, &o, out, -1));
            FX_OK(ferry_blob_reshape(out, (int64_t[]){ 3, o.height, o.width }, 3, NULL));
            snprintf(name, sizeof name, "%s/%dx%d", u8 ? "resize_u8" : "resize", (int)o.height,
                     (int)o.width);
            worst = apart(name, out);
            if (worst > (u8 ? 1 : 1e-4))
                printf("     %s: %g apart\n", name, worst);
            CU_ASSERT(worst <= (u8 ? 1 : 1e-4));
        }
        ferry_blob_destroy(b);
        ferry_blob_destroy(out);
    }
}

static void mean_scale_cover_and_swap_match_opencv(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 1), *out = BLOB(FERRY_F32, 1), *mean = BLOB(FERRY_F32, 3);
    ferry_image_transform_options o = { .struct_size = sizeof o, .height = 8, .width = 7 };
    float *values = ferry_blob_overwrite_host_data(mean);

    memcpy(values, (float[]){ 10, 20, 30 }, 3 * sizeof(float));
    FX_OK(ferry_image_read(image("rgb.png"), 3, b));
    o.mean = mean;
    o.scale = 1 / 58.8;
    FX_OK(ferry_image_transform(b, &o, out, -1));
    CU_ASSERT(apart("blob", out) < 1.01 / 58.8);
    o.cover = 1;
    FX_OK(ferry_image_transform(b, &o, out, -1));
    CU_ASSERT(apart("blob_crop", out) < 1.01 / 58.8);
    o.cover = 0;
    o.scale = 2;
    o.swap_rb = 1;
    FX_OK(ferry_image_transform(b, &o, out, -1));
    CU_ASSERT(apart("blob_swap", out) < 2.01);
    ferry_blob_destroy(b);
    ferry_blob_destroy(out);
    ferry_blob_destroy(mean);
}

/* A picture of one channel whose values encode their positions: 10 y + x. */
static ferry_blob *plane(void)
{
    ferry_blob *b = BLOB(FERRY_F32, 1, 4, 6);
    float *values = ferry_blob_overwrite_host_data(b);

    for (int i = 0; i < 24; i++)
        values[i] = (float)(10 * (i / 6) + i % 6);
    return b;
}

static void the_mean_is_subtracted_before_the_crop(void)
{
    ferry_blob *b = plane(), *mean = plane(), *out = BLOB(FERRY_F32, 2, 1, 2, 2);
    ferry_image_transform_options o = { .struct_size = sizeof o,
                                        .crop_height = 2,
                                        .crop_width = 2 };
    const float *got;

    FX_OK(ferry_blob_scale_data(mean, 0.5));
    FX_OK(ferry_blob_fill_data(out, -7));
    o.mean = mean;
    o.scale = 4;
    o.mirror = 1;
    o.crop_at = (int64_t[]){ 2, 3 };
    FX_OK(ferry_image_transform(b, &o, out, 1));
    got = ferry_blob_host_data(out);
    /* half the means of four pixels: 24, 23, 34 and 33 */
    CU_ASSERT(got[0] == -7 && got[3] == -7);
    CU_ASSERT(got[4] == 48 && got[5] == 46 && got[6] == 68 && got[7] == 66);
    o.crop_at = NULL; /* the crop has rows 1 and 2, columns 2 and 3 */
    FX_OK(ferry_image_transform(b, &o, out, 0));
    got = ferry_blob_host_data(out);
    CU_ASSERT(got[0] == 26 && got[1] == 24 && got[2] == 46 && got[3] == 44);
    ferry_blob_destroy(b);
    ferry_blob_destroy(mean);
    ferry_blob_destroy(out);
}

static void mismatches_are_refused(void)
{
    ferry_blob *b = plane(), *out = BLOB(FERRY_F32, 2, 1, 2, 2), *mean = BLOB(FERRY_F32, 5);
    ferry_image_transform_options o = { .struct_size = sizeof o };

    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 0)); /* 4 x 6 does not fit into 2 x
                                                                   * 2 */
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "1 x 4 x 6 for item 0 of 2 1 2 2"));
    o.crop_height = o.crop_width = 2;
    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 2));
    o.crop_at = (int64_t[]){ 0, 5 };
    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 0));
    for (int i = 0; i < 2; i++) { /* the message has both numbers */
        o.crop_at = i ? (int64_t[]){ 1, -2 } : (int64_t[]){ -1, 0 };
        FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 0));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), i ? "2 x 2 at 1, -2 from a picture of 4 x"
                                                            : "2 x 2 at -1, 0 from a picture of"));
    }
    o.crop_at = NULL;
    o.crop_width = 7;
    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 0));
    o.crop_width = 2;
    o.mean = mean;
    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(b, &o, out, 0));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "a mean of 5 (5)"));
    o.struct_size = sizeof o.struct_size - 1;
    FX_FAILS(FERRY_EINVAL, ferry_image_transform(b, &o, out, 0));
    FX_FAILS(FERRY_EINVAL, ferry_image_transform(NULL, NULL, out, 0));
    FX_FAILS(FERRY_EINVAL, ferry_image_transform(b, NULL, b, -1));
    FX_FAILS(FERRY_ESHAPE, ferry_image_transform(mean, NULL, out, -1));
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 0), 2);
    ferry_blob_destroy(b);
    ferry_blob_destroy(out);
    ferry_blob_destroy(mean);
}

static void numbers_out_of_range_are_refused(void)
{
    static const double scales[] = { NAN, INFINITY, -INFINITY };
    ferry_blob *b = plane(), *out = BLOB(FERRY_F32, 1, 1, 2, 2);
    ferry_image_transform_options o = { .struct_size = sizeof o };

    FX_FAILS(FERRY_EINVAL, ferry_image_transform(b, &o, out, -2));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "item -2"));
    for (size_t i = 0; i < FERRY_TEST_COUNT(scales); i++) {
        o.scale = scales[i];
        FX_FAILS(FERRY_EINVAL, ferry_image_transform(b, &o, out, -1));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "scale is"));
    }
    o.scale = 0;
    o.height = o.width = INT32_MAX;
    FX_FAILS(FERRY_EOVERFLOW, ferry_image_transform(b, &o, out, -1));
    o.height = o.width = 1 << 30; /* the least number of values that is refused */
    FX_FAILS(FERRY_EOVERFLOW, ferry_image_transform(b, &o, out, -1));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "is too large"));
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 2), 2); /* as before */
    ferry_blob_destroy(b);
    ferry_blob_destroy(out);
}

static void a_size_of_0_keeps_that_axis(void)
{
    ferry_blob *b = plane(), *out = BLOB(FERRY_F32, 1);
    ferry_image_transform_options o = { .struct_size = sizeof o, .height = 8 };

    FX_OK(ferry_image_transform(b, &o, out, -1));
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 2), 8);
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 3), 6);
    o.height = 0;
    o.crop_width = 3;
    FX_OK(ferry_image_transform(b, &o, out, -1));
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 2), 4);
    CU_ASSERT_EQUAL(ferry_blob_dim(out, 3), 3);
    ferry_blob_destroy(b);
    ferry_blob_destroy(out);
}

/* ---- without memory -------------------------------------------------------------------------- */

typedef int (*make_fn)(const char *path, ferry_blob *b);

static int read_picture(const char *path, ferry_blob *b)
{
    return ferry_image_read(path, 3, b);
}

/* From a picture that was read before. */
static int prepare_picture(const char *path, ferry_blob *b)
{
    static ferry_blob *picture;
    const ferry_image_transform_options o = {
        .struct_size = sizeof o, .height = 20, .width = 31, .crop_height = 7, .crop_width = 5
    };

    if (!path) {
        ferry_blob_destroy(picture);
        picture = NULL;
        return 0;
    }
    if (!picture) {
        picture = BLOB(FERRY_U8, 1);
        FX_OK(ferry_image_read(path, 3, picture));
    }
    return ferry_image_transform(picture, &o, b, -1);
}

/*
 * The nth allocation fails, from the first on, until no allocation fails; after a failure the blob
 * is unchanged. Some allocations are optional, such as those for bytes that host and device would
 * share.
 */
static void fail_each(make_fn make, const char *path, ferry_dtype dtype)
{
    const int64_t before[] = { 2, 2 };
    ferry_blob *b = BLOB(dtype, 2, 2);
    bool failed = true;
    unsigned n, refused = 0;

    for (n = 1; failed && n < 1000; n++) {
        int err;

        oom_arm(n);
        err = make(path, b);
        failed = oom_disarm();
        if (err && !(failed && err == FERRY_ENOMEM))
            printf("     %s, allocation %u: %d: %s\n", path, n, err, ferry_last_error());
        CU_ASSERT(!err || (failed && err == FERRY_ENOMEM));
        CU_ASSERT_EQUAL(err != 0, ferry_blob_rank(b) == 2 && ferry_blob_element_count(b) == 4);
        refused += err != 0;
        if (failed && !err)
            FX_OK(ferry_blob_reshape(b, before, 2, NULL));
    }
    CU_ASSERT(refused > 2);
    ferry_blob_destroy(b);
}

/* Per value a byte and an element of the blob, and 2 bytes per component of a progressive JPEG. */
static void no_image_is_decoded_above_the_limit(void)
{
    ferry_blob *b = BLOB(FERRY_U8, 1);

    for (size_t i = 0; i < FERRY_TEST_COUNT(pictures); i++) {
        const char *path = image(pictures[i].name);
        uint64_t each = strncmp(pictures[i].name, "progressive", 11) == 0 ? 2 + 2 * 3 : 2;
        uint64_t needed = each * 9 * 13 * (uint64_t)pictures[i].channels;

        ferry_io_set_max_bytes(needed - 1);
        FX_FAILS(FERRY_EOVERFLOW, ferry_image_read(path, 0, b));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), pictures[i].name));
        ferry_io_set_max_bytes(needed);
        FX_OK(ferry_image_read(path, 0, b));
    }
    ferry_io_set_max_bytes(0);
    ferry_blob_destroy(b);
}

static void every_allocation_of_a_picture_may_fail(void)
{
    ferry_blob *b = BLOB(FERRY_F32, 1);

    fail_each(read_picture, image("rgb.png"), FERRY_U8);
    fail_each(read_picture, image("interlaced.png"), FERRY_F32);
    fail_each(read_picture, image("rgb420.jpg"), FERRY_U8);
    fail_each(read_picture, image("cmyk.jpg"), FERRY_F32);
    FX_OK(prepare_picture(image("rgb.png"), b)); /* so that the picture exists */
    fail_each(prepare_picture, image("rgb.png"), FERRY_F32);
    prepare_picture(NULL, NULL);
    ferry_blob_destroy(b);
}

/* ---- records -------------------------------------------------------------------------------- */

/* Floats of a Datum are little-endian, packed or one by one. */
static void floats_of_a_datum_become_a_picture(void)
{
    static const unsigned char record[] = { 0x08, 1, 0x10, 1, 0x18, 3, 0x35, 0,    0, 0x80, 0x3f,
                                            0x32, 8, 0,    0, 0x20, 0x40, 0, 0, 0x80, 0xbf };
    static const float want[] = { 1, 2.5f, -1 };
    struct ferry__datum datum;
    ferry_blob *bytes = BLOB(FERRY_U8, 1), *floats = FX_BLOB(FERRY_F32, 1), *picture = NULL;

    FX_OK_FATAL(ferry__datum_read(record, sizeof record, "record", &datum));
    FX_OK_FATAL(ferry__datum_picture(&datum, "record", 3, bytes, floats, &picture));
    CU_ASSERT_PTR_EQUAL_FATAL(picture, floats);
    CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(picture), 3);
    for (int64_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(fx_get(FERRY_F32, ferry_blob_host_data(picture), i), want[i]);
    ferry_blob_destroy(bytes);
    ferry_blob_destroy(floats);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(floats_of_a_datum_become_a_picture),
    FERRY_TEST(every_kind_of_picture_has_the_pixels_of_opencv),
    FERRY_TEST(a_picture_keeps_its_channels_unless_a_number_is_requested),
    FERRY_TEST(a_picture_that_is_cut_off_is_an_error_at_every_byte),
    FERRY_TEST(one_changed_byte_is_an_error_or_a_picture),
    FERRY_TEST(a_file_that_is_not_a_picture_gives_one_error),
    FERRY_TEST(dimensions_beyond_any_memory_are_refused),
    FERRY_TEST(resizing_matches_opencv),
    FERRY_TEST(mean_scale_cover_and_swap_match_opencv),
    FERRY_TEST(the_mean_is_subtracted_before_the_crop),
    FERRY_TEST(mismatches_are_refused),
    FERRY_TEST(numbers_out_of_range_are_refused),
    FERRY_TEST(a_size_of_0_keeps_that_axis),
    FERRY_TEST(no_image_is_decoded_above_the_limit),
    FERRY_TEST(every_allocation_of_a_picture_may_fail),
};

int main(int argc, char **argv)
{
    int status;

#if !defined(FERRY_NET_HAVE_PNG) || !defined(FERRY_NET_HAVE_JPEG)
    puts("skipped: without libpng or libjpeg there is nothing to read");
    return 77;
#endif
    status = ferry_test_main_backends(argc, argv, "image", cases, FERRY_TEST_COUNT(cases));

    ferry_io_close(expected);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PNG by libpng: any depth and colour type, converted like OpenCV does: the upper 8 bits of 16,
 * without transparency, without gamma correction.
 */
#include "net/data/image.h"

#ifdef FERRY_NET_HAVE_PNG

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    struct ferry__image *image;
    size_t at;
    char reason[FERRY__IMAGE_REASON];
    png_bytep *rows;
    int err; /* a ferry error whose message is set; 0: libpng's reason is the message */
};

/* libpng's messages for a lack of memory, in two spellings. */
#define NO_MEMORY "Out of memory"

static bool is_memory(const char *reason)
{
    return strncmp(reason, NO_MEMORY, 7) == 0;
}

static void refuse(png_structp png, png_const_charp reason)
{
    struct source *s = png_get_error_ptr(png);

    snprintf(s->reason, sizeof(s->reason), "%s", reason);
    longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp reason)
{
    (void)png;
    (void)reason;
}

static void take(png_structp png, png_bytep out, png_size_t size)
{
    struct source *s = png_get_io_ptr(png);

    if (size > s->image->size - s->at)
        png_error(png, "the file is truncated");
    memcpy(out, s->image->bytes + s->at, size);
    s->at += size;
}

/* Converts all colour types to 8 bits of gray, or of blue, green and red. */
static void convert(png_structp png, png_infop info, struct ferry__image *image)
{
    png_byte type = png_get_color_type(png, info);
    bool gray = type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA;

    if (image->channels == 0)
        image->channels = gray ? 1 : 3;
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    else if (gray && png_get_bit_depth(png, info) < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (image->channels == 1 && !gray)
        png_set_rgb_to_gray_fixed(png, PNG_ERROR_ACTION_NONE, 29900, 58700);
    if (image->channels == 3 && gray)
        png_set_gray_to_rgb(png);
    if (image->channels == 3)
        png_set_bgr(png);
    png_set_interlace_handling(png);
}

static void read_rows(png_structp png, png_infop info, struct source *s)
{
    struct ferry__image *image = s->image;
    size_t row = (size_t)image->width * (size_t)image->channels;

    if (png_get_rowbytes(png, info) != row)
        png_error(png, "the length of its rows differs from its header");
    s->rows = malloc((size_t)image->height * sizeof(*s->rows));
    if (!s->rows)
        png_error(png, NO_MEMORY);
    for (size_t y = 0; y < (size_t)image->height; y++)
        s->rows[y] = image->pixels + y * row;
    png_read_image(png, s->rows);
    png_read_end(png, NULL);
}

/* libpng reports an error by longjmp into this function, which then returns 1. */
static int read_png(png_structp png, png_infop info, struct source *s)
{
    if (setjmp(png_jmpbuf(png)))
        return 1;
    png_set_read_fn(png, s, take);
    png_set_user_limits(png, FERRY__IMAGE_PIXELS, FERRY__IMAGE_PIXELS);
    png_set_chunk_cache_max(png, 100);
    png_set_chunk_malloc_max(png, 4u << 20);
    png_read_info(png, info);
    convert(png, info, s->image);
    png_read_update_info(png, info);
    s->err = ferry__image_make(s->image, png_get_image_height(png, info),
                               png_get_image_width(png, info));
    if (s->err)
        return 1;
    read_rows(png, info, s);
    return 0;
}

int ferry__image_png(struct ferry__image *image)
{
    struct source s = { .image = image };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, refuse, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int failed = 1;

    if (info)
        failed = read_png(png, info, &s);
    else
        snprintf(s.reason, sizeof(s.reason), NO_MEMORY);
    png_destroy_read_struct(&png, &info, NULL);
    free(s.rows);
    if (failed && !s.err)
        s.err = ferry_error_set(is_memory(s.reason) ? FERRY_ENOMEM : FERRY_EFORMAT,
                                "%.400s: PNG: %s", image->name, s.reason);
    return s.err;
}

#else

int ferry__image_png(struct ferry__image *image)
{
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%.400s: it is PNG; this ferry was built without libpng", image->name);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JPEG by libjpeg(-turbo) with its accurate inverse transform and its smooth upsampling, the
 * defaults, which OpenCV also uses. Damage is an error; the libraries' default is to fill the rest
 * with gray.
 */
#include "net/data/image.h"

#ifdef FERRY_NET_HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

struct decoder {
    struct jpeg_error_mgr base; /* first member: libjpeg sees only this part */
    jmp_buf back;
    char reason[JMSG_LENGTH_MAX];
    unsigned char *row; /* a buffer for a row of CMYK */
    int err;            /* a ferry error whose message is set */
};

static void refuse(j_common_ptr c)
{
    struct decoder *d = (struct decoder *)c->err;

    c->err->format_message(c, d->reason);
    longjmp(d->back, 1);
}

/* Turns warnings of libjpeg about damaged files into errors. */
static void warn(j_common_ptr c, int level)
{
    switch (level < 0 ? c->err->msg_code : 0) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        refuse(c);
        break;
    default:
        break;
    }
}

static void say_nothing(j_common_ptr c)
{
    (void)c;
}

/* Chooses the colour space of libjpeg's output. */
static void choose(struct jpeg_decompress_struct *c, struct ferry__image *image)
{
    bool gray = c->jpeg_color_space == JCS_GRAYSCALE;

    if (image->channels == 0)
        image->channels = gray ? 1 : 3;
    if (c->num_components == 4)
        c->out_color_space = JCS_CMYK;
    else if (image->channels == 1 && (gray || c->jpeg_color_space == JCS_YCbCr))
        c->out_color_space = JCS_GRAYSCALE;
    else
        c->out_color_space = JCS_RGB;
}

static unsigned char luminance(unsigned r, unsigned g, unsigned b)
{
    return (unsigned char)((r * 299 + g * 587 + b * 114 + 500) / 1000);
}

static void put_pixel(const struct ferry__image *image, unsigned char *to, unsigned r, unsigned g,
                      unsigned b)
{
    if (image->channels == 1) {
        *to = luminance(r, g, b);
    } else {
        to[0] = (unsigned char)b;
        to[1] = (unsigned char)g;
        to[2] = (unsigned char)r;
    }
}

/* Copies a row of libjpeg's output into the picture. Adobe's programs write CMYK inverted. */
static void put_row(const struct jpeg_decompress_struct *c, const struct ferry__image *image,
                    const unsigned char *row, unsigned char *to)
{
    unsigned turn = c->saw_Adobe_marker ? 0 : 255, n = (unsigned)c->output_components;

    for (int64_t x = 0; x < image->width; x++, row += n, to += image->channels) {
        if (n == 1) {
            memset(to, row[0], (size_t)image->channels);
        } else if (n == 3) {
            put_pixel(image, to, row[0], row[1], row[2]);
        } else {
            unsigned k = row[3] ^ turn;

            put_pixel(image, to, ((row[0] ^ turn) * k + 127) / 255,
                      ((row[1] ^ turn) * k + 127) / 255, ((row[2] ^ turn) * k + 127) / 255);
        }
    }
}

/* libjpeg reports an error by longjmp into this function, which then returns 1. */
static int read_jpeg(struct jpeg_decompress_struct *c, struct decoder *d,
                     struct ferry__image *image)
{
    if (setjmp(d->back))
        return 1;
    jpeg_create_decompress(c);
    jpeg_mem_src(c, image->bytes, (unsigned long)image->size);
    jpeg_read_header(c, TRUE);
    choose(c, image);
    if (jpeg_has_multiple_scans(c)) /* for such a file libjpeg keeps all coefficients in memory */
        image->each += 2 * (unsigned)c->num_components;
    d->err = ferry__image_make(image, c->image_height, c->image_width);
    if (d->err)
        return 1;
    jpeg_start_decompress(c);
    d->row = malloc((size_t)c->output_width * (size_t)c->output_components);
    if (!d->row)
        ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
    while (c->output_scanline < c->output_height) {
        unsigned char *to = image->pixels + (size_t)c->output_scanline * (size_t)image->width *
                                                (size_t)image->channels;

        jpeg_read_scanlines(c, &d->row, 1);
        put_row(c, image, d->row, to);
    }
    jpeg_finish_decompress(c);
    return 0;
}

int ferry__image_jpeg(struct ferry__image *image)
{
    struct jpeg_decompress_struct c;
    struct decoder d;
    int failed;

    memset(&c, 0, sizeof(c));
    memset(&d, 0, sizeof(d));
    c.err = jpeg_std_error(&d.base);
    d.base.error_exit = refuse;
    d.base.emit_message = warn;
    d.base.output_message = say_nothing;
    failed = read_jpeg(&c, &d, image);
    jpeg_destroy_decompress(&c);
    free(d.row);
    if (failed && !d.err)
        d.err =
            ferry_error_set(d.base.msg_code == JERR_OUT_OF_MEMORY ? FERRY_ENOMEM : FERRY_EFORMAT,
                            "%.400s: JPEG: %s", image->name, d.reason);
    return d.err;
}

#else

int ferry__image_jpeg(struct ferry__image *image)
{
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%.400s: it is JPEG; this ferry was built without libjpeg", image->name);
}

#endif

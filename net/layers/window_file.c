/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/window_file.h"

#include "net/layers/reader.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

struct reading {
    const ferry_layer *layer;
    const char *path;
    char *at;
    long long line, word_line; /* the lines of the next character and of the latest word */
    double fg, bg;             /* the thresholds */
    struct ferry__window_file *out;
};

static int damaged(const struct reading *r, const char *wanted, const char *word)
{
    return ferry_layer_error(r->layer, FERRY_EFORMAT, "\"%.400s\", line %lld: \"%.80s\" is not %s",
                             r->path, r->word_line, word, wanted);
}

static int no_memory(const struct reading *r)
{
    return ferry_layer_error(r->layer, FERRY_ENOMEM, "no memory for its windows");
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Returns the next word, terminated in place; "" at the end of the text. */
static char *next_word(struct reading *r)
{
    char *word;

    for (; *r->at && strchr(" \t\r\n\v\f", *r->at); r->at++)
        r->line += *r->at == '\n';
    word = r->at;
    r->word_line = r->line;
    r->at += strcspn(r->at, " \t\r\n\v\f");
    if (*r->at) {
        r->line += *r->at == '\n';
        *r->at++ = 0;
    }
    return word;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int take_integer(struct reading *r, const char *what, int64_t least, int64_t *out)
{
    const char *word = next_word(r), *p = word + (*word == '-');
    int64_t value = 0;

    for (; is_digit(*p) && value <= INT32_MAX; p++)
        value = 10 * value + (*p - '0');
    value = *word == '-' ? -value : value;
    if (*p || !is_digit(p[-(p > word)]) || value < least || value > INT32_MAX)
        return damaged(r, what, word);
    *out = value;
    return FERRY_OK;
}

/* 10 to the power of `n`, exact up to n = 22. */
static double power(int n)
{
    double value = 1;

    while (n-- > 0)
        value *= 10;
    return value;
}

/*
 * Takes the digits after an e, with their sign; the exponent is limited to 400, which already gives
 * infinity.
 */
static bool take_exponent(const char **p, int *out)
{
    int value = 0, sign = 1;

    if (**p != 'e' && **p != 'E')
        return true;
    ++*p;
    if (**p == '-' || **p == '+')
        sign = *(*p)++ == '-' ? -1 : 1;
    if (!is_digit(**p))
        return false;
    for (; is_digit(**p); ++*p)
        value = value < 400 ? 10 * value + (**p - '0') : value;
    *out += sign * value;
    return true;
}

/* Takes a decimal number, independent of the locale; correctly rounded with up to 15 digits. */
static int take_real(struct reading *r, const char *what, double *out)
{
    const char *word = next_word(r), *p = word + (*word == '-');
    double digits = 0;
    int exponent = 0;
    bool any = false, behind = false;

    for (; is_digit(*p) || (*p == '.' && !behind); p++) {
        if (*p == '.') {
            behind = true;
            continue;
        }
        any = true;
        digits = 10 * digits + (*p - '0');
        exponent -= behind;
    }
    if (!any || !take_exponent(&p, &exponent) || *p)
        return damaged(r, what, word);
    digits = exponent < 0 ? digits / power(-exponent) : digits * power(exponent);
    *out = *word == '-' ? -digits : digits;
    return FERRY_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

static int add(const struct reading *r, struct ferry__picture_windows *to,
               struct ferry__picture_window window)
{
    if (to->count == to->room) {
        size_t room = to->room ? 2 * to->room : 256;
        struct ferry__picture_window *grown = realloc(to->at, room * sizeof *grown);

        if (!grown)
            return no_memory(r);
        to->at = grown;
        to->room = room;
    }
    to->at[to->count++] = window;
    return FERRY_OK;
}

static int take_window(struct reading *r, size_t image)
{
    struct ferry__picture_window window = { .image = image };
    int64_t label = 0, at[4] = { 0 };
    double overlap = 0;
    int i, err = take_integer(r, "a label", INT32_MIN, &label);

    if (!err)
        err = take_real(r, "an overlap", &overlap);
    for (i = 0; !err && i < 4; i++)
        err = take_integer(r, "a row or column of a window", INT32_MIN, &at[i]);
    if (err)
        return err;
    window.x1 = (int32_t)at[0];
    window.y1 = (int32_t)at[1];
    window.x2 = (int32_t)at[2];
    window.y2 = (int32_t)at[3];
    if ((float)overlap >= (float)r->fg) {
        window.label = (int32_t)label;
        return label > 0
                   ? add(r, &r->out->objects, window)
                   : ferry_layer_error(r->layer, FERRY_EFORMAT,
                                       "\"%.400s\", line %lld: an object's label is %lld, but 0 is "
                                       "the background",
                                       r->path, r->word_line, (long long)label);
    }
    return (float)overlap < (float)r->bg ? add(r, &r->out->background, window) : FERRY_OK;
}

/* ---- pictures -------------------------------------------------------------------------------- */

static int add_path(const struct reading *r, const char *path)
{
    struct ferry__window_file *f = r->out;

    if (f->image_count == f->image_room) {
        size_t room = f->image_room ? 2 * f->image_room : 64;
        const char **grown = realloc(f->paths, room * sizeof *grown);

        if (!grown)
            return no_memory(r);
        f->paths = grown;
        f->image_room = room;
    }
    f->paths[f->image_count++] = path;
    return FERRY_OK;
}

/* Reads a picture after its "#". Pictures are read in color, so that only 3 channels are valid. */
static int take_picture(struct reading *r)
{
    int64_t index = 0, channels = 0, unused, count = 0;
    const char *path = "";
    int err = take_integer(r, "an index", 0, &index);

    if (!err) {
        path = next_word(r);
        err = *path ? add_path(r, path) : damaged(r, "the path of a picture", path);
    }
    if (!err)
        err = take_integer(r, "a number of channels", 1, &channels);
    if (!err && channels != 3)
        err = ferry_layer_error(r->layer, FERRY_EUNSUPPORTED,
                                "\"%.400s\", line %lld: %lld channels; pictures are read in color, "
                                "with 3",
                                r->path, r->word_line, (long long)channels);
    if (!err)
        err = take_integer(r, "a height", 1, &unused);
    if (!err)
        err = take_integer(r, "a width", 1, &unused);
    if (!err)
        err = take_integer(r, "a number of windows", 0, &count);
    while (!err && count-- > 0)
        err = take_window(r, (size_t)index);
    return err;
}

static int check(const struct reading *r)
{
    const struct ferry__picture_windows *kinds[] = { &r->out->background, &r->out->objects };

    for (int k = 0; k < 2; k++) {
        if (!kinds[k]->count)
            return ferry_layer_error(
                r->layer, FERRY_EFORMAT, "\"%.400s\" has no windows with an overlap %s %g", r->path,
                k ? "from fg_threshold" : "below bg_threshold", k ? r->fg : r->bg);
        for (size_t i = 0; i < kinds[k]->count; i++)
            if (kinds[k]->at[i].image >= r->out->image_count)
                return ferry_layer_error(r->layer, FERRY_EFORMAT,
                                         "\"%.400s\": picture # %zu is out of order; there are %zu "
                                         "pictures, numbered from 0",
                                         r->path, kinds[k]->at[i].image, r->out->image_count);
    }
    return FERRY_OK;
}

int ferry__window_file_read(const ferry_layer *layer, const ferry_proto *p, const char *path,
                            struct ferry__window_file *out)
{
    struct reading r = { .layer = layer, .path = path, .line = 1, .out = out };
    const char *word;
    int err = ferry__source_read(layer, p, path, &out->text);

    if (err)
        return err;
    r.at = out->text;
    r.fg = ferry_proto_real(p, "fg_threshold", 0);
    r.bg = ferry_proto_real(p, "bg_threshold", 0);
    for (word = next_word(&r); !err && *word; word = err ? "" : next_word(&r))
        err = strcmp(word, "#") == 0 ? take_picture(&r) : damaged(&r, "\"#\"", word);
    return err ? err : check(&r);
}

void ferry__window_file_free(struct ferry__window_file *file)
{
    free(file->text);
    free(file->paths);
    free(file->background.at);
    free(file->objects.at);
    *file = (struct ferry__window_file){ 0 };
}

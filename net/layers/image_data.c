/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ImageData (image_data_param, transform_param): batch_size pictures with their labels in each
 * forward pass, from the text file `source`, which has a path, a space and a number on each line;
 * after the last line reading restarts at the first. root_folder is prefixed to the paths; without
 * it, paths that do not exist are tried relative to the list's folder. new_height and new_width
 * resize, is_color selects three channels or one. rand_skip skips a random number of lines below
 * its value, and `shuffle` reorders the lines in each epoch; both by the net's seed. Without
 * resizing, the pictures of a batch must have the same size; the next batch may have another one.
 * Empty lines are ignored. data_param.prefetch batches are prefetched, as in Caffe. (Caffe:
 * ImageDataLayer, whose shuffled order differs.)
 */
#define _POSIX_C_SOURCE 200809L
#include "net/layers/pictures.h"

#include "net/data/chance.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *path;
    int32_t label;
};

struct image_data {
    struct ferry__pictures pictures;
    char *source, *text; /* the list's path, and its text, split into lines */
    struct line *lines;
    int64_t line_count, skip; /* the first line to read */
    int64_t line, *order;     /* the position of the next line, and the order of the lines in
                               * this epoch */
    uint64_t round;
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "image_data_param", 0);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int no_memory(const ferry_layer *layer)
{
    return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its list");
}

/* Splits "a path 7" at its last space. */
static int read_line(const ferry_layer *layer, struct image_data *s, char *line, long long number)
{
    size_t length = strlen(line);
    char *space, *end;
    long label;

    while (length && strchr(" \t\r", line[length - 1]))
        line[--length] = 0;
    if (!length)
        return 0;
    space = strrchr(line, ' ');
    errno = 0;
    label = space ? strtol(space + 1, &end, 10) : 0;
    if (!space || *end || errno || label < INT32_MIN || label > INT32_MAX)
        return ferry_layer_error(layer, FERRY_EFORMAT,
                                 "\"%.400s\", line %lld: no label after \"%.200s\"", s->source,
                                 number, line);
    *space = 0;
    s->lines[s->line_count++] = (struct line){ line, (int32_t)label };
    return 0;
}

static int read_lines(const ferry_layer *layer, struct image_data *s)
{
    size_t n = 1;
    long long number = 0;
    char *line, *next;
    int err = 0;

    for (line = s->text; *line; line++)
        n += *line == '\n';
    s->lines = calloc(n, sizeof *s->lines);
    s->order = calloc(n, sizeof *s->order);
    if (!s->lines || !s->order)
        return no_memory(layer);
    for (line = s->text; !err && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        err = read_line(layer, s, line, ++number);
    }
    if (!err && !s->line_count)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%.500s\" lists no pictures", s->source);
    return err;
}

static int read_list(const ferry_layer *layer, struct image_data *s)
{
    int err = ferry__file_of(layer, parameters(layer), "source", &s->source);

    if (!err)
        err = ferry__source_read(layer, parameters(layer), s->source, &s->text);
    return err ? err : read_lines(layer, s);
}

/* The order of the lines in an epoch: the list's own, or shuffled. */
static void order_lines(ferry_layer *layer, struct image_data *s)
{
    int64_t i;

    if (ferry_proto_boolean(parameters(layer), "shuffle", 0))
        ferry__chance_order(ferry__chance(s->pictures.reader.key, FERRY__CHANCE_ORDER, s->round),
                            s->order, s->line_count);
    else
        for (i = 0; i < s->line_count; i++)
            s->order[i] = i;
}

/* ---- records --------------------------------------------------------------------------------- */

static int load(ferry_layer *layer, ferry_blob **out_picture, int32_t *out_label)
{
    struct image_data *s = ferry_layer_state(layer);
    const struct line *line = &s->lines[s->order[s->line]];
    const char *root = ferry_proto_string(parameters(layer), "root_folder", 0, NULL);
    size_t size = strlen(root) + strlen(line->path) + 1;
    char *joined = malloc(size), *path;
    int err;

    if (!joined)
        return no_memory(layer);
    snprintf(joined, size, "%s%s", root, line->path);
    err = ferry__find_file(joined, s->source, &path);
    free(joined);
    if (err)
        return err;
    snprintf(s->pictures.record, sizeof s->pictures.record, "%s", path);
    err = ferry_image_read(path, ferry_proto_boolean(parameters(layer), "is_color", 0) ? 3 : 1,
                           s->pictures.bytes);
    free(path);
    *out_picture = s->pictures.bytes;
    *out_label = line->label;
    return err;
}

static int step(ferry_layer *layer)
{
    struct image_data *s = ferry_layer_state(layer);

    if (++s->line < s->line_count)
        return 0;
    s->line = 0;
    s->round++;
    order_lines(layer, s);
    return 0;
}

static int seek(ferry_layer *layer, uint64_t record)
{
    struct image_data *s = ferry_layer_state(layer);
    uint64_t at = (uint64_t)s->skip + record;

    s->line = (int64_t)(at % (uint64_t)s->line_count);
    s->round = at / (uint64_t)s->line_count;
    order_lines(layer, s);
    return 0;
}

/* ---- the layer ------------------------------------------------------------------------------- */

static int skip(ferry_layer *layer, struct image_data *s)
{
    int64_t most = ferry_proto_integer(parameters(layer), "rand_skip", 0);

    if (most < 1)
        return 0;
    s->skip = (int64_t)ferry_layer_random(layer, (uint64_t)most);
    if (s->skip >= s->line_count)
        return ferry_proto_error(parameters(layer), "rand_skip", 0, FERRY_EFORMAT,
                                 "layer \"%s\": skips %lld of the %lld pictures of \"%.400s\"",
                                 ferry_layer_name(layer), (long long)s->skip,
                                 (long long)s->line_count, s->source);
    return 0;
}

static int setup(ferry_layer *layer)
{
    struct image_data *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    int err;

    s->pictures.load = load;
    s->pictures.step = step;
    s->pictures.seek = seek;
    s->pictures.how.height = ferry_proto_integer(p, "new_height", 0);
    s->pictures.how.width = ferry_proto_integer(p, "new_width", 0);
    if (!s->pictures.how.height != !s->pictures.how.width)
        return ferry_proto_error(
            p, s->pictures.how.height ? "new_height" : "new_width", 0, FERRY_EFORMAT,
            "layer \"%s\": new_height and new_width must be set together", ferry_layer_name(layer));
    err = ferry__pictures_setup(layer, p);
    if (!err)
        err = read_list(layer, s);
    if (!err)
        err = skip(layer, s);
    return err ? err : seek(layer, 0);
}

static void destroy(ferry_layer *layer)
{
    struct image_data *s = ferry_layer_state(layer);

    ferry__pictures_end(layer);
    free(s->source);
    free(s->text);
    free(s->lines);
    free(s->order);
}

static const char *const messages[] = { "image_data_param", "transform_param", "data_param", NULL };

const ferry_layer_type ferry__image_data_layer = {
    .struct_size = sizeof ferry__image_data_layer,
    .name = "ImageData",
    .state_size = sizeof(struct image_data),
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .flags = FERRY_LAYER_RESHAPES,
    .messages = messages,
    .setup = setup,
    .reshape = ferry__pictures_reshape,
    .forward = ferry__reader_forward,
    .destroy = destroy,
    .position = ferry__reader_position,
    .seek = ferry__pictures_seek,
    .seed = ferry__pictures_seed,
};

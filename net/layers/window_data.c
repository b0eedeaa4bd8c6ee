/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WindowData (window_data_param, transform_param): windows of pictures, the training data of R-CNN.
 * The last ⌊batch_size · fg_fraction⌋ windows of a batch are objects, the others background, each
 * drawn at random with the net's seed from the file `source` (window_file.h). A window is cropped
 * from its picture, in color, and warped to crop_size × crop_size: unchanged with crop_mode "warp",
 * extended to a square with "square", with context_pad pixels of context (window_place.h); pixels
 * outside of the picture stay 0. `mirror` flips windows at random in both phases. Then the mean is
 * subtracted, a mean_value per channel or the centre of mean_file, and the result is multiplied by
 * `scale`. Top 0 has the windows, top 1 their labels. root_folder is prefixed to the paths; without
 * it they are relative to the folder of the window file. cache_images keeps the pictures' files in
 * memory. data_param.prefetch batches are prefetched.
 *
 * crop_size, mirror and the mean are those of transform_param, as in Caffe. A picture that cannot
 * be read is an error; in Caffe the rest of the batch is then 0. transform_param's scale is applied
 * too: Caffe's upgrade of older nets moves `scale` there, where its layer ignores it. (Caffe:
 * WindowDataLayer.)
 */
#include "net/data/chance.h"
#include "net/data/list.h"
#include "net/layers/pictures.h"
#include "net/layers/window_place.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A picture's file in the cache of cache_images. */
struct cached {
    char *bytes;
    size_t size;
};

struct window_data {
    struct ferry__reader reader;
    struct ferry__window_file file;
    char *source;
    struct cached *cache; /* the files of the pictures; NULL: pictures are read from the disk */
    ferry_blob *mean, *picture, *window, *warped;
    int64_t batch, crop, context_pad, objects;
    int64_t mean_at; /* the row and column of the mean at which the crop begins */
    uint64_t next;   /* the number of the next window to be drawn */
    float scale;
    bool square, mirror;
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "window_data_param", 0);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static int no_memory(const ferry_layer *layer)
{
    return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for a picture");
}

/* Makes the path of a picture, which the caller frees. */
static int path_of(const ferry_layer *layer, const struct window_data *s, size_t image, char **out)
{
    const char *root = ferry_proto_string(parameters(layer), "root_folder", 0, NULL);
    size_t size = strlen(root) + strlen(s->file.paths[image]) + 1;
    char *joined = malloc(size);
    int err;

    if (!joined)
        return no_memory(layer);
    snprintf(joined, size, "%s%s", root, s->file.paths[image]);
    err = ferry__find_file(joined, s->source, out);
    free(joined);
    return err;
}

static int read_picture(const ferry_layer *layer, struct window_data *s, size_t image)
{
    char *path;
    int err;

    if (s->cache)
        return ferry_image_decode(s->cache[image].bytes, s->cache[image].size, s->file.paths[image],
                                  3, s->picture);
    err = path_of(layer, s, image, &path);
    if (err)
        return err;
    err = ferry_image_read(path, 3, s->picture);
    free(path);
    return err;
}

/* Copies the window's pixels, channels × rows × columns. */
static int cut(struct window_data *s, const struct ferry__window_place *at)
{
    int64_t rows = ferry_blob_dim(s->picture, 1), columns = ferry_blob_dim(s->picture, 2);
    int64_t shape[3] = { 3, at->y2 - at->y1 + 1, at->x2 - at->x1 + 1 };
    int err = ferry_blob_reshape(s->window, shape, 3, NULL);
    const unsigned char *from = err ? NULL : ferry_blob_host_data(s->picture);
    unsigned char *to = from ? ferry_blob_overwrite_host_data(s->window) : NULL;

    if (!to)
        return err ? err : ferry_last_error_code();
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = at->y1; y <= at->y2; y++, to += shape[2])
            memcpy(to, from + (c * rows + y) * columns + at->x1, (size_t)shape[2]);
    return FERRY_OK;
}

/* ---- a window -------------------------------------------------------------------------------- */

/* The mean at a channel, row and column of the crop; NULL: no mean is subtracted. */
static float mean_at(const struct window_data *s, const float *mean, int64_t c, int64_t y,
                     int64_t x)
{
    int rank = s->mean ? ferry_blob_rank(s->mean) : 0;

    if (!mean)
        return 0;
    if (rank == 1)
        return mean[ferry_blob_dim(s->mean, 0) == 1 ? 0 : c];
    return mean[(c * ferry_blob_dim(s->mean, rank - 2) + y + s->mean_at) *
                    ferry_blob_dim(s->mean, rank - 1) +
                x + s->mean_at];
}

/* Writes the warped window into its item, whose other values are 0. */
static int put(struct window_data *s, const struct ferry__window_place *at, float *item)
{
    const float *from = ferry_blob_host_data(s->warped);
    const float *mean = s->mean ? ferry_blob_host_data(s->mean) : NULL;

    if (!from || (s->mean && !mean))
        return ferry_last_error_code();
    memset(item, 0, (size_t)(3 * s->crop * s->crop) * sizeof *item);
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = at->pad_top; y < at->pad_top + at->height; y++)
            for (int64_t x = at->pad_left; x < at->pad_left + at->width; x++)
                item[(c * s->crop + y) * s->crop + x] =
                    (*from++ - mean_at(s, mean, c, y, x)) * s->scale;
    return FERRY_OK;
}

static int outside(const ferry_layer *layer, const struct window_data *s,
                   const struct ferry__picture_window *w)
{
    return ferry_layer_error(
        layer, FERRY_EFORMAT,
        "\"%.300s\": the window %d %d %d %d of \"%.300s\" is not in the picture "
        "of %lld x %lld",
        s->source, w->x1, w->y1, w->x2, w->y2, s->file.paths[w->image],
        (long long)ferry_blob_dim(s->picture, 1), (long long)ferry_blob_dim(s->picture, 2));
}

/* Draws the next window, of an object or of the background, and fills its item and label. */
static int draw(const ferry_layer *layer, struct window_data *s, bool object, float *item,
                float *label)
{
    const struct ferry__picture_windows *from = object ? &s->file.objects : &s->file.background;
    struct ferry__chance chance = ferry__chance(s->reader.key, FERRY__CHANCE_PICTURE, s->next);
    const struct ferry__picture_window *w = &from->at[ferry__chance_next(&chance, from->count)];
    ferry_image_transform_options how = { .struct_size = sizeof how };
    struct ferry__window_place at;
    int err = read_picture(layer, s, w->image);

    if (err)
        return err;
    how.mirror = s->mirror && ferry__chance_next(&chance, 2);
    if (!ferry__window_place(w, ferry_blob_dim(s->picture, 1), ferry_blob_dim(s->picture, 2),
                             s->crop, s->context_pad, s->square, how.mirror, &at))
        return outside(layer, s, w);
    how.height = at.height;
    how.width = at.width;
    err = cut(s, &at);
    if (!err)
        err = ferry_image_transform(s->window, &how, s->warped, -1);
    if (!err)
        err = put(s, &at, item);
    *label = (float)w->label;
    return err;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int shape(ferry_layer *layer, ferry_blob *data, ferry_blob *labels)
{
    const struct window_data *s = ferry_layer_state(layer);
    int err = ferry_blob_reshape4(data, s->batch, 3, s->crop, s->crop);

    return err ? err : ferry_blob_reshape(labels, &s->batch, 1, NULL);
}

static int read_batch(void *arg, struct ferry__batch *batch)
{
    ferry_layer *layer = arg;
    struct window_data *s = ferry_layer_state(layer);
    uint64_t first = s->next;
    int err = shape(layer, batch->blobs[0], batch->blobs[1]);
    float *data = err ? NULL : ferry_blob_overwrite_host_data(batch->blobs[0]);
    float *labels = data ? ferry_blob_overwrite_host_data(batch->blobs[1]) : NULL;
    int64_t i;

    if (!labels)
        return err ? err : ferry_last_error_code();
    for (i = 0; !err && i < s->batch && !ferry__prefetch_ends(s->reader.prefetch); i++) {
        err = draw(layer, s, i >= s->batch - s->objects, data + i * 3 * s->crop * s->crop,
                   labels + i);
        s->next += s->reader.ranks;
    }
    if (err)
        s->next = first;
    batch->position = s->next - s->reader.rank;
    return err;
}

/* ---- setup ----------------------------------------------------------------------------------- */

static int read_sizes(const ferry_layer *layer, struct window_data *s)
{
    const ferry_proto *p = parameters(layer);
    const ferry_proto *t = ferry_proto_message(ferry_layer_message(layer), "transform_param", 0);
    const char *mode = ferry_proto_string(p, "crop_mode", 0, NULL);
    double fraction = ferry_proto_real(p, "fg_fraction", 0);

    s->batch = ferry_proto_integer(p, "batch_size", 0);
    s->crop = ferry_proto_integer(t, "crop_size", 0);
    s->context_pad = ferry_proto_integer(p, "context_pad", 0);
    s->mirror = ferry_proto_boolean(t, "mirror", 0) != 0;
    s->scale = (float)ferry_proto_real(p, "scale", 0) * (float)ferry_proto_real(t, "scale", 0);
    s->square = strcmp(mode, "square") == 0;
    if (s->batch < 1)
        return ferry_proto_error(p, "batch_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a batch_size of %lld", ferry_layer_name(layer),
                                 (long long)s->batch);
    if (s->crop < 1 || s->crop > INT16_MAX)
        return ferry_proto_error(t, "crop_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a crop_size of %lld in transform_param; the limit "
                                 "is %d",
                                 ferry_layer_name(layer), (long long)s->crop, INT16_MAX);
    if (2 * s->context_pad >= s->crop)
        return ferry_proto_error(
            p, "context_pad", 0, FERRY_EFORMAT,
            "layer \"%s\": a context_pad of %lld leaves nothing of %lld pixels",
            ferry_layer_name(layer), (long long)s->context_pad, (long long)s->crop);
    if (!s->square && strcmp(mode, "warp") != 0)
        return ferry_proto_error(p, "crop_mode", 0, FERRY_EFORMAT,
                                 "layer \"%s\": unknown crop_mode \"%.80s\"; warp and square are "
                                 "supported",
                                 ferry_layer_name(layer), mode);
    if (!(fraction >= 0 && fraction <= 1))
        return ferry_proto_error(p, "fg_fraction", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a fg_fraction of %g, must be from 0 to 1",
                                 ferry_layer_name(layer), fraction);
    s->objects = (int64_t)((float)s->batch * (float)fraction);
    return FERRY_OK;
}

/*
 * Checks that a mean_file is large enough: the crop is at its centre, with the same offset for rows
 * and columns, as in Caffe.
 */
static int check_mean(const ferry_layer *layer, struct window_data *s)
{
    int rank = s->mean ? ferry_blob_rank(s->mean) : 1;
    char have[160];
    int64_t rows, columns;

    if (rank == 1 &&
        (!s->mean || ferry_blob_dim(s->mean, 0) == 1 || ferry_blob_dim(s->mean, 0) == 3))
        return FERRY_OK;
    if (rank >= 3) {
        rows = ferry_blob_dim(s->mean, rank - 2);
        columns = ferry_blob_dim(s->mean, rank - 1);
        s->mean_at = (columns - s->crop) / 2;
        if (columns >= s->crop && rows >= s->mean_at + s->crop &&
            ferry_blob_element_count(s->mean) == 3 * rows * columns)
            return FERRY_OK;
    }
    ferry_blob_shape_string(s->mean, have, sizeof have);
    return ferry_layer_error(layer, FERRY_ESHAPE,
                             "its mean is %s; it must have 1 or 3 values, or 3 channels of at "
                             "least %lld x %lld",
                             have, (long long)s->crop, (long long)s->crop);
}

static int read_file(const ferry_layer *layer, size_t image, struct window_data *s)
{
    char *path;
    int err = path_of(layer, s, image, &path);

    if (err)
        return err;
    err = ferry__file_read(path, &s->cache[image].bytes, &s->cache[image].size);
    free(path);
    return err;
}

static int fill_cache(const ferry_layer *layer, struct window_data *s)
{
    int err = FERRY_OK;

    if (!ferry_proto_boolean(parameters(layer), "cache_images", 0))
        return FERRY_OK;
    s->cache = calloc(s->file.image_count, sizeof *s->cache);
    if (!s->cache)
        return no_memory(layer);
    for (size_t i = 0; !err && i < s->file.image_count; i++)
        err = read_file(layer, i, s);
    return err;
}

static int create_blobs(ferry_layer *layer, struct window_data *s)
{
    ferry_device *dev = ferry_layer_device(layer);
    int err = ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &s->picture);

    if (!err)
        err = ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &s->window);
    return err ? err : ferry_blob_create(dev, FERRY_F32, NULL, FERRY_UNSHAPED, &s->warped);
}

static int setup(ferry_layer *layer)
{
    struct window_data *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    int err = read_sizes(layer, s);

    if (!err)
        err = ferry__mean_read(layer, &s->mean);
    if (!err)
        err = check_mean(layer, s);
    if (!err)
        err = ferry__file_of(layer, p, "source", &s->source);
    if (!err)
        err = ferry__window_file_read(layer, p, s->source, &s->file);
    if (!err)
        err = fill_cache(layer, s);
    if (!err)
        err = create_blobs(layer, s);
    if (!err)
        err = ferry__reader_setup(layer, &s->reader, read_batch);
    s->next = s->reader.rank;
    return err;
}

static void destroy(ferry_layer *layer)
{
    struct window_data *s = ferry_layer_state(layer);

    ferry__reader_end(&s->reader);
    for (size_t i = 0; s->cache && i < s->file.image_count; i++)
        free(s->cache[i].bytes);
    free(s->cache);
    ferry__window_file_free(&s->file);
    free(s->source);
    ferry_blob_destroy(s->mean);
    ferry_blob_destroy(s->picture);
    ferry_blob_destroy(s->window);
    ferry_blob_destroy(s->warped);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int reshape(ferry_layer *layer)
{
    const struct window_data *s = ferry_layer_state(layer);

    if (ferry__prefetch_reads(s->reader.prefetch))
        return FERRY_OK;
    return shape(layer, ferry_layer_top_at(layer, 0), ferry_layer_top_at(layer, 1));
}

static int seek(ferry_layer *layer, uint64_t to)
{
    struct window_data *s = ferry_layer_state(layer);
    int err = ferry__reader_stop(layer, &s->reader);

    if (err)
        return err;
    s->next = to + s->reader.rank;
    s->reader.position = to;
    return FERRY_OK;
}

static int seed(ferry_layer *layer)
{
    struct window_data *s = ferry_layer_state(layer);

    return ferry__reader_seed(layer, &s->reader);
}

static const char *const messages[] = { "window_data_param", "transform_param", "data_param",
                                        NULL };

const ferry_layer_type ferry__window_data_layer = {
    .struct_size = sizeof ferry__window_data_layer,
    .name = "WindowData",
    .state_size = sizeof(struct window_data),
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .flags = FERRY_LAYER_RESHAPES,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = ferry__reader_forward,
    .destroy = destroy,
    .position = ferry__reader_position,
    .seek = seek,
    .seed = seed,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/resize.h"

#include <math.h>
#include <stdlib.h>

/* The two neighbours of a pixel along an axis, and the weight of the second. */
struct tap {
    int64_t first, second;
    float weight;
};

/*
 * Makes the taps of `n` output pixels, each `step` source pixels wide, in a row of `size` pixels;
 * NULL without memory. The caller frees them.
 */
static struct tap *make_taps(int64_t size, int64_t n, double step)
{
    struct tap *taps = malloc((size_t)n * sizeof(*taps));

    for (int64_t i = 0; taps && i < n; i++) {
        double at = ((double)i + 0.5) * step - 0.5;
        int64_t first = (int64_t)floor(at);

        taps[i].weight = (float)(at - (double)first);
        if (first < 0 || first >= size - 1)
            taps[i].weight = 0;
        taps[i].first = first < 0 ? 0 : first >= size ? size - 1 : first;
        taps[i].second = taps[i].first + 1 < size ? taps[i].first + 1 : taps[i].first;
    }
    return taps;
}

static void resize_plane(const float *from, int64_t width, float *to, int64_t to_height,
                         int64_t to_width, const struct tap *rows, const struct tap *columns)
{
    for (int64_t y = 0; y < to_height; y++) {
        const float *upper = from + rows[y].first * width, *lower = from + rows[y].second * width;
        float down = rows[y].weight;

        for (int64_t x = 0; x < to_width; x++) {
            const struct tap *c = &columns[x];
            float above = upper[c->first] + (upper[c->second] - upper[c->first]) * c->weight;
            float below = lower[c->first] + (lower[c->second] - lower[c->first]) * c->weight;

            *to++ = above + (below - above) * down;
        }
    }
}

int ferry__resize(const float *from, int64_t channels, int64_t height, int64_t width, float *to,
                  int64_t to_height, int64_t to_width, const double steps[2])
{
    struct tap *rows = make_taps(height, to_height, steps[0]);
    struct tap *columns = make_taps(width, to_width, steps[1]);
    int err = FERRY_OK;

    if (!rows || !columns)
        err = ferry_error_set(FERRY_ENOMEM, "no memory to resize a picture");
    for (int64_t c = 0; !err && c < channels; c++)
        resize_plane(from + c * height * width, width, to + c * to_height * to_width, to_height,
                     to_width, rows, columns);
    free(rows);
    free(columns);
    return err;
}

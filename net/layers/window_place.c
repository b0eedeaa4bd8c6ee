/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/window_place.h"

#include <math.h>

/* One axis of a window: from first to last, in a picture of `size` pixels. */
struct span {
    int64_t first, last;
    int64_t before, behind; /* padding of the crop */
    int64_t length;         /* the length after warping */
};

static float larger(float a, float b)
{
    return a > b ? a : b;
}

/* Extends the window by `half` on both sides of its centre. */
static struct span expand(int64_t first, int64_t last, float half, float scale)
{
    float middle = (float)first + (float)((double)(float)(last - first + 1) / 2.0);

    return (struct span){ .first = (int64_t)roundf(middle - half * scale),
                          .last = (int64_t)roundf(middle + half * scale) };
}

/* Clips to the picture, and measures the padding in pixels of the crop. */
static void clip(struct span *s, int64_t size, int64_t crop)
{
    float scale = (float)crop / (float)(s->last - s->first + 1);
    int64_t before = s->first < 0 ? -s->first : 0;
    int64_t behind = s->last >= size ? s->last - size + 1 : 0;

    s->first += before;
    s->last -= behind;
    s->length = (int64_t)roundf((float)(s->last - s->first + 1) * scale);
    s->before = (int64_t)roundf((float)before * scale);
    s->behind = (int64_t)roundf((float)behind * scale);
}

static bool is_inside(const struct span *s, int64_t size)
{
    return s->first >= 0 && s->last < size && s->first <= s->last;
}

/* Limits the window and its padding to the crop, which rounding may have exceeded. */
static int64_t fit(int64_t length, int64_t pad, int64_t crop)
{
    return pad + length > crop ? crop - pad : length;
}

bool ferry__window_place(const struct ferry__picture_window *w, int64_t rows, int64_t columns,
                         int64_t crop, int64_t context_pad, bool square, bool mirror,
                         struct ferry__window_place *out)
{
    struct span x = { w->x1, w->x2, 0, 0, crop }, y = { w->y1, w->y2, 0, 0, crop };

    if (context_pad > 0 || square) {
        float scale = (float)crop / (float)(crop - 2 * context_pad);
        float half_height = (float)((double)(float)(y.last - y.first + 1) / 2.0);
        float half_width = (float)((double)(float)(x.last - x.first + 1) / 2.0);
        float half = larger(half_height, half_width);

        x = expand(x.first, x.last, square ? half : half_width, scale);
        y = expand(y.first, y.last, square ? half : half_height, scale);
        if (x.first > x.last || y.first > y.last)
            return false;
        clip(&x, columns, crop);
        clip(&y, rows, crop);
    }
    *out = (struct ferry__window_place){ .x1 = x.first, .x2 = x.last, .y1 = y.first, .y2 = y.last };
    out->pad_top = y.before;
    out->pad_left = mirror ? x.behind : x.before;
    out->height = fit(y.length, out->pad_top, crop);
    out->width = fit(x.length, out->pad_left, crop);
    return is_inside(&x, columns) && is_inside(&y, rows) && out->height > 0 && out->width > 0;
}

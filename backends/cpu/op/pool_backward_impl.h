/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POOL backward of a plane, for type T: pool_backward.c includes this once for each type. No
 * include guard.
 */

/* Adds to the element at the mask's position, if the window contains it. */
static void NAME(give_one)(const struct cpu_window *w, const struct held *h, int64_t named, T dy,
                           T *dx)
{
    for (int64_t i = h->first[0]; i < h->end[0]; i++)
        for (int64_t j = h->first[1]; j < h->end[1]; j++) {
            int64_t k = named - (i * w->in[1] + j) * w->in[2];

            if (k >= h->first[2] && k < h->end[2])
                dx[i * w->x[2] + j * w->x[3] + k * w->x[4]] += dy;
        }
}

static void NAME(give_all)(const struct cpu_window *w, const struct held *h, T share, T *dx)
{
    for (int64_t i = h->first[0]; i < h->end[0]; i++)
        for (int64_t j = h->first[1]; j < h->end[1]; j++)
            for (int64_t k = h->first[2]; k < h->end[2]; k++)
                dx[i * w->x[2] + j * w->x[3] + k * w->x[4]] += share;
}

/* Processes windows of a line, whose range on the two outer axes is set. */
static void NAME(give_line)(const struct giving *g, const struct held *line, const T *dy,
                            int64_t mask, int64_t first, int64_t end, T *dx)
{
    const struct cpu_window *w = g->window;
    int64_t plane = w->in[0] * w->in[1] * w->in[2];

    for (int64_t at = first; at < end; at++) {
        struct held h = *line;
        T value = dy[at * w->y[4]];

        hold(w, 2, at, &h);
        if (g->is_max)
            NAME(give_one)(w, &h, mask_at(g, mask + at * g->mask_stride[4], plane), value, dx);
        else
            NAME(give_all)(w, &h, value / (T)(g->is_padded ? h.padded : h.valid), dx);
    }
}

/*
 * Adds the gradients of a line of MAX to a plane with contiguous rows; no window is clipped along
 * the line, and each mask is the index of an element.
 */
static void NAME(give_maxima)(const struct giving *g, const struct held *line, const T *dy,
                              int64_t mask, int64_t first, int64_t end, T *dx)
{
    const struct cpu_window *w = g->window;
    const uint64_t width = (uint64_t)w->kernel[2], row = (uint64_t)w->in[2];
    const int64_t rows = line->end[1] - line->first[1], plane = w->in[1] * w->in[2];

    for (int64_t at = first; at < end; at++) {
        int64_t named = mask_at(g, mask + at * g->mask_stride[4], plane);
        uint64_t within =
            (uint64_t)(named - line->first[1] * w->in[2] - (at * w->stride[2] - w->pad[2]));

        bool holds = false;

        for (int64_t i = 0; i < rows; i++, within -= row)
            holds |= within < width;
        if (holds)
            dx[named] += dy[at * w->y[4]];
    }
}

/*
 * Processes a line. The first and the last windows may be clipped; those between are not, and may
 * already be processed.
 */
static void NAME(give_some)(const struct giving *g, const struct held *line, const T *dy,
                            int64_t mask, bool is_given, T *dx)
{
    const struct cpu_window *w = g->window;
    struct cpu_span whole = g->whole[2];

    if (!g->is_max || w->in[0] > 1 || w->kernel[0] > 1 || w->out[0] > 1 || w->x[4] != 1 ||
        w->x[3] != w->in[2])
        whole.first = whole.end = w->out[2];
    NAME(give_line)(g, line, dy, mask, 0, whole.first, dx);
    if (!is_given)
        NAME(give_maxima)(g, line, dy, mask, whole.first, whole.end, dx);
    NAME(give_line)(g, line, dy, mask, whole.end, w->out[2], dx);
}

static void NAME(clear_plane)(const struct cpu_window *w, T *dx)
{
    bool is_close = w->in[2] == 1 || w->x[4] == 1;

    if (is_close && w->in[0] == 1 && w->x[3] == w->in[2]) {
        memset(dx, 0, (size_t)(w->in[1] * w->in[2]) * sizeof(*dx));
        return;
    }
    for (int64_t i = 0; i < w->in[0]; i++)
        for (int64_t j = 0; j < w->in[1]; j++) {
            T *row = dx + i * w->x[2] + j * w->x[3];

            if (is_close)
                memset(row, 0, (size_t)w->in[2] * sizeof(*row));
            for (int64_t k = 0; k < w->in[2] && !is_close; k++)
                row[k * w->x[4]] = 0;
        }
}

static void NAME(give_plane)(const struct giving *g, const T *dy, int64_t mask, T *dx)
{
    const struct cpu_window *w = g->window;

    if (!g->covers)
        NAME(clear_plane)(w, dx);
    if (g->is_disjoint)
        give_inside(g, dy, mask, dx);
    for (int64_t i = 0; i < w->out[0] && !g->covers; i++)
        for (int64_t j = 0; j < w->out[1]; j++) {
            bool is_given = g->is_disjoint && j >= g->whole[1].first && j < g->whole[1].end;
            struct held line = { .padded = 1, .valid = 1 };

            hold(w, 0, i, &line);
            hold(w, 1, j, &line);
            NAME(give_some)
            (g, &line, dy + i * w->y[2] + j * w->y[3],
             mask + i * g->mask_stride[2] + j * g->mask_stride[3], is_given, dx);
        }
}

static void NAME(give_planes)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct giving *g = arg;
    const struct cpu_window *w = g->window;

    (void)piece;
    for (int64_t p = first; p < first + count; p++) {
        int64_t image = p / w->channels, channel = p % w->channels;

        NAME(give_plane)
        (g, (const T *)g->dy + image * w->y[0] + channel * w->y[1],
         image * g->mask_stride[0] + channel * g->mask_stride[1],
         (T *)g->dx + image * w->x[0] + channel * w->x[1]);
    }
}

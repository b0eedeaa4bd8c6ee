/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/ops.h"

#include <ferry/status.h>

#include <string.h>

/*
 * Reads the values of an attribute for each spatial axis, 1 without the attribute; fails unless
 * they are in 1 … INT32_MAX.
 */
static void read(struct ferry__import *im, const char *name, int n, int64_t *out)
{
    int given = ferry__import_integers(im, name, out, FERRY__IMPORT_SPATIAL);

    if (!im->err && given && given != n)
        ferry__import_fail(im, FERRY_EFORMAT, "%s has %d values for %d axes", name, given, n);
    for (int i = 0; !im->err && i < n; i++) {
        if (!given)
            out[i] = 1;
        if (out[i] < 1 || out[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "%s is %lld", name, (long long)out[i]);
    }
}

static int64_t extent(const struct ferry__import_window *w, int i)
{
    return w->dilation[i] * (w->kernel[i] - 1) + 1;
}

/*
 * Sets the pads so that the result has in / stride elements, rounded up; an odd number of pads has
 * one more at the end.
 */
static void pad_alike(struct ferry__import_window *w, const struct ferry__import_shape *x,
                      bool lower)
{
    for (int i = 0; i < w->n; i++) {
        int64_t in = x->dim[i + 2], out = (in + w->stride[i] - 1) / w->stride[i];
        int64_t pad = (out - 1) * w->stride[i] + extent(w, i) - in;

        pad = pad > 0 ? pad : 0;
        w->begin[i] = lower ? pad - pad / 2 : pad / 2;
        w->end[i] = pad - w->begin[i];
    }
}

static void read_pads(struct ferry__import *im, struct ferry__import_window *w,
                      const struct ferry__import_shape *x)
{
    const char *how = ferry__import_string(im, "auto_pad", "NOTSET");
    int64_t pads[2 * FERRY__IMPORT_SPATIAL];
    int n = ferry__import_integers(im, "pads", pads, 2 * FERRY__IMPORT_SPATIAL);

    if (im->err || !strcmp(how, "VALID"))
        return;
    if (!strcmp(how, "SAME_UPPER") || !strcmp(how, "SAME_LOWER")) {
        pad_alike(w, x, !strcmp(how, "SAME_LOWER"));
        return;
    }
    if (strcmp(how, "NOTSET") || (n && n != 2 * w->n))
        ferry__import_fail(im, FERRY_EFORMAT, "auto_pad is %.40s, pads has %d values", how, n);
    for (int i = 0; !im->err && n && i < w->n; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[w->n + i];
        if (w->begin[i] < 0 || w->end[i] < 0 || w->begin[i] > INT32_MAX || w->end[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "pads of %lld and %lld", (long long)w->begin[i],
                               (long long)w->end[i]);
    }
}

struct ferry__import_window ferry__import_window_of(struct ferry__import *im,
                                                    const struct ferry__import_shape *x,
                                                    const int64_t *kernel)
{
    struct ferry__import_window w = { .n = x->rank - 2 };

    if (w.n < 1)
        ferry__import_fail(im, FERRY_EFORMAT, "its input has %d axes", x->rank);
    if (im->err)
        return (struct ferry__import_window){ 0 };
    for (int i = 0; i < w.n; i++)
        if (x->dim[i + 2] > INT32_MAX || x->dim[i + 2] < 1)
            ferry__import_fail(im, FERRY_EFORMAT, "an axis of %lld elements",
                               (long long)x->dim[i + 2]);
    read(im, "kernel_shape", w.n, w.kernel);
    if (kernel)
        memcpy(w.kernel, kernel, (size_t)w.n * sizeof w.kernel[0]);
    else if (!ferry__import_attribute(im, "kernel_shape"))
        ferry__import_fail(im, FERRY_EFORMAT, "it has no kernel_shape");
    for (int i = 0; i < w.n; i++)
        if (w.kernel[i] < 1 || w.kernel[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "a kernel of %lld", (long long)w.kernel[i]);
    read(im, "strides", w.n, w.stride);
    read(im, "dilations", w.n, w.dilation);
    if (!im->err)
        read_pads(im, &w, x);
    return w;
}

int64_t ferry__import_window_slid(const struct ferry__import_window *w, int i, int64_t in,
                                  bool ceil)
{
    int64_t room = in + w->begin[i] + w->end[i] - extent(w, i), out;

    if (room < 0)
        return 0;
    out = (room + (ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if (ceil && (out - 1) * w->stride[i] >= in + w->begin[i]) /* this window begins in the
                                                               * padding */
        out--;
    return out;
}

bool ferry__import_window_is_even(const struct ferry__import_window *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->begin[i] != w->end[i])
            return false;
    return true;
}

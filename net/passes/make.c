/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a program by running the passes in order. */
#include "net/passes/passes.h"

#include "net/segment/segment.h"

#include <ferry/status.h>

#include <stdlib.h>

/* Each pass changes the program of the previous one; the first error stops. */
static int (*const passes[])(struct ferry__program *) = {
    ferry__pass_collect,   /* makes items and values from the emitted operations */
    ferry__pass_fuse,      /* merges operations */
    ferry__pass_segment,   /* replaces segments that a plugin compiles */
    ferry__pass_positions, /* computes only the positions that are read */
    ferry__pass_quantize,  /* computes products with integers of 8 bits */
    ferry__pass_halves,    /* gives products weights of F16 or BF16 */
    ferry__pass_layout,    /* selects channels last or row-major */
    ferry__pass_narrow,    /* stores values as BF16 */
    ferry__pass_slice,     /* makes values slices of others */
    ferry__pass_strides,   /* gives operations the strides of their values */
    ferry__pass_arena,     /* assigns memory to values */
    ferry__pass_train,     /* writes results where backward keeps them */
    ferry__pass_prepare,   /* creates and prepares the operations on their devices */
    ferry__divide_prepare, /* creates those for sub-batches with one image less */
    ferry__pass_differentiate,
    ferry__pass_share, /* assigns memory to the values of a planned training pass */
};

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/*
 * Walks over the shapes of the layers' bottoms and tops: counts the numbers if `shapes` is NULL;
 * with `fill` writes them; otherwise compares them. Returns the count, or −1 at a difference.
 */
static int walk_shapes(const ferry_net *net, int first, int last, int64_t *shapes, bool fill)
{
    int i, k, a, n = 0;

    for (i = first; i <= last; i++) {
        const ferry_layer *layer = &net->layers[i];

        for (k = 0; k < layer->n_bottoms + layer->n_tops; k++) {
            const ferry_blob *b = k < layer->n_bottoms
                                      ? ferry_layer_bottom_at(layer, k)
                                      : ferry_layer_top_at(layer, k - layer->n_bottoms);

            for (a = -1; a < ferry_blob_rank(b); a++, n++) {
                int64_t number = a < 0 ? ferry_blob_rank(b) : ferry_blob_dim(b, a);

                if (shapes && fill)
                    shapes[n] = number;
                else if (shapes && shapes[n] != number)
                    return -1;
            }
        }
    }
    return n;
}

bool ferry__program_fits(const struct ferry__program *p)
{
    return walk_shapes(p->net, p->first_layer, p->last_layer, p->shapes, false) >= 0;
}

static int note_shapes(struct ferry__program *p)
{
    p->n_shapes = walk_shapes(p->net, p->first_layer, p->last_layer, NULL, false);
    p->shapes = calloc((size_t)p->n_shapes + 1, sizeof *p->shapes);
    if (!p->shapes)
        return no_memory();
    walk_shapes(p->net, p->first_layer, p->last_layer, p->shapes, true);
    return 0;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Links the items of each layer. */
static int link_items(struct ferry__program *p, struct ferry__item *items, int n, int **out)
{
    int layers = p->last_layer - p->first_layer + 1, i;
    int *first = malloc((size_t)layers * sizeof *first);

    if (!first)
        return no_memory();
    for (i = 0; i < layers; i++)
        first[i] = -1;
    for (i = n; i-- > 0;) {
        int *at = &first[items[i].layer->index - p->first_layer];

        items[i].next = *at;
        *at = i;
    }
    *out = first;
    return 0;
}

int ferry__program_make(ferry_net *net, int first, int last, struct ferry__program **out)
{
    struct ferry__program *p = calloc(1, sizeof *p);
    size_t i;
    int err;

    if (!p)
        return no_memory();
    p->net = net;
    p->first_layer = first;
    p->last_layer = last;
    err = note_shapes(p);
    for (i = 0; !err && i < sizeof passes / sizeof *passes; i++)
        err = passes[i](p);
    if (!err)
        err = link_items(p, p->items, p->n_items, &p->first_item[0]);
    if (!err)
        err = link_items(p, p->back, p->n_back, &p->first_item[1]);
    free(p->of_blob);
    p->of_blob = NULL;
    if (err)
        ferry__program_end(p);
    else
        *out = p;
    return err;
}

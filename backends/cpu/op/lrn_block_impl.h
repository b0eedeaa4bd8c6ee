/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRN across channels, forward and backward, for contiguous pixels and an instruction set: see
 * vector.h. No include guard. The loops go channel by channel, so that the rows of a sum are still
 * in the cache for the next sum.
 */

/* Loads the first n elements, which usually are a whole vector. */
INLINE vec NAME(take)(const float *p, int64_t n)
{
    return n == LANES ? LOAD(p) : LOAD_SOME(p, n);
}

INLINE void NAME(put)(float *p, int64_t n, vec v)
{
    if (n == LANES)
        STORE(p, v);
    else
        STORE_SOME(p, n, v);
}

/* Applies `what` to each vector of the block's pixels; n pixels from i on. */
#define EACH_VECTOR(what)                          \
    do {                                           \
        int64_t i = 0, n = LANES;                  \
                                                   \
        for (; i + LANES <= b->pixels; i += LANES) \
            what;                                  \
        n = b->pixels - i;                         \
        if (n > 0)                                 \
            what;                                  \
    } while (0)

/*
 * The first channel of the window around c, which has up to `half` existing channels on either
 * side.
 */
INLINE int64_t NAME(first_around)(int64_t c, int64_t half)
{
    return c > half ? c - half : 0;
}

INLINE int64_t NAME(end_around)(int64_t c, int64_t half, int64_t channels)
{
    return c + half < channels ? c + half + 1 : channels;
}

/* scale^−3/4 is 1 / (√scale · √√scale). */
INLINE vec NAME(damped)(vec v, vec scale)
{
    const vec root = SQRT(scale);

    return v / (root * SQRT(root));
}

INLINE void NAME(lrn_some)(const struct cpu_lrn_block *b, int64_t c, int64_t i, int64_t n)
{
    const int64_t end = NAME(end_around)(c, b->half, b->channels);
    const float *x = b->x + i;
    vec sum = { 0 }, scale, y;

    for (int64_t k = NAME(first_around)(c, b->half); k < end; k++) {
        const vec v = NAME(take)(x + k * b->x_channel, n);

        sum = FMA(v, v, sum);
    }
    scale = FMA(SPLAT(b->alpha), sum, SPLAT(b->k));
    y = NAME(damped)(NAME(take)(x + c * b->x_channel, n), scale);
    NAME(put)(b->y + c * b->y_channel + i, n, y);
    if (b->scale)
        NAME(put)(b->scale + c * b->scale_channel + i, n, scale);
}

TARGET static void NAME(lrn_block)(const struct cpu_lrn_block *b)
{
    for (int64_t c = 0; c < b->channels; c++)
        EACH_VECTOR(NAME(lrn_some)(b, c, i, n));
}

/* Computes dy·y/scale, a term of every sum around a channel. */
INLINE void NAME(lrn_share)(const struct cpu_lrn_back *b, int64_t c, float *share, int64_t i,
                            int64_t n)
{
    const vec dy = NAME(take)(b->in[0] + c * b->in_channel[0] + i, n);
    const vec y = NAME(take)(b->in[2] + c * b->in_channel[2] + i, n);

    NAME(put)(share + i, n, dy * y / NAME(take)(b->in[3] + c * b->in_channel[3] + i, n));
}

INLINE void NAME(lrn_back_some)(const struct cpu_lrn_back *b, int64_t c, float (*shares)[LRN_BLOCK],
                                int64_t i, int64_t n)
{
    const int64_t end = NAME(end_around)(c, b->half, b->channels);
    const vec dy = NAME(take)(b->in[0] + c * b->in_channel[0] + i, n);
    const vec x = NAME(take)(b->in[1] + c * b->in_channel[1] + i, n);
    const vec scale = NAME(take)(b->in[3] + c * b->in_channel[3] + i, n);
    vec sum = { 0 };

    for (int64_t k = NAME(first_around)(c, b->half); k < end; k++)
        sum += NAME(take)(shares[k % LRN_RING] + i, n);
    sum = NAME(damped)(dy, scale) - SPLAT(b->factor) * x * sum;
    NAME(put)(b->dx + c * b->dx_channel + i, n, sum);
}

/* The backward pass. A channel's terms are kept from the first sum that needs them to the last. */
TARGET static void NAME(lrn_back)(const struct cpu_lrn_back *b)
{
    float shares[LRN_RING][LRN_BLOCK];

    for (int64_t c = -b->half; c < b->channels; c++) {
        int64_t entering = c + b->half;

        if (entering < b->channels)
            EACH_VECTOR(NAME(lrn_share)(b, entering, shares[entering % LRN_RING], i, n));
        if (c >= 0)
            EACH_VECTOR(NAME(lrn_back_some)(b, c, shares, i, n));
    }
}

#undef EACH_VECTOR

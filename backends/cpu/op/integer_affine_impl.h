/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scales and shifts of channels before a conversion, for an instruction set: see vector.h. Included
 * by integer_impl.h only. No include guard.
 */

TARGET static void NAME(integer_affine)(const struct cpu_integer_store *s, int64_t n,
                                        uint32_t dtype, const void *x, const float *scale,
                                        const float *shift, void *y)
{
    const int64_t x_size = NAME(integer_size)(dtype), size = NAME(integer_size)(s->dtype);
    const struct NAME(clip) clip = NAME(integer_clip)(s);
    const vec x_factor = SPLAT(s->x_factor), x_term = SPLAT(s->x_term);

    for (int64_t i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v =
            FMA(NAME(integer_load)(dtype, (const char *)x + i * x_size, some), x_factor, x_term);
        vec factor = some < LANES ? LOAD_SOME(scale + i, some) : LOAD(scale + i);
        vec term = some < LANES ? LOAD_SOME(shift + i, some) : LOAD(shift + i);

        NAME(integer_put)(s->dtype, &clip, FMA(v, factor, term), some, (char *)y + i * size);
    }
}

/* Vectors whose factors are in registers for all pixels. */
#define TOGETHER 4

/*
 * Computes up to TOGETHER vectors of channels of all pixels, from channel `c` on: `some` channels
 * of the last vector. All steps become one factor and one term of each channel, and bounds.
 */
INLINE void NAME(pixels_some)(const struct cpu_integer_pixels *p, uint32_t from, uint32_t to,
                              int64_t c, int vectors, int64_t some)
{
    const struct cpu_integer_store *s = p->store;
    const vec low = SPLAT(s->low), high = SPLAT(s->high);
    const char *x = p->x + c * NAME(integer_size)(from);
    char *y = p->y + c;
    vec factor[TOGETHER], term[TOGETHER];

#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) {
        const int64_t n = i + 1 < vectors ? LANES : some;
        const vec scale = NAME(integer_load)(FERRY_F32, p->scale + c + i * LANES, n);
        const vec shift = NAME(integer_load)(FERRY_F32, p->shift + c + i * LANES, n);

        factor[i] = scale * SPLAT(s->x_factor * s->factor);
        term[i] = FMA(FMA(SPLAT(s->x_term), scale, shift), SPLAT(s->factor), SPLAT(s->term));
    }
    for (int64_t k = 0; k < p->count; k++, x += p->x_next, y += p->y_next) {
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) {
            const int64_t n = i + 1 < vectors ? LANES : some;
            const char *at = x + i * LANES * NAME(integer_size)(from);
            vec v = CLIP(FMA(NAME(integer_load)(from, at, n), factor[i], term[i]), low, high);

            NAME(integer_round)(to, KNOWN(v), n, y + i * LANES);
        }
    }
}

INLINE void NAME(pixels_of)(const struct cpu_integer_pixels *p, uint32_t from, uint32_t to)
{
    int64_t c = 0;

    for (; c + TOGETHER * LANES <= p->channels; c += TOGETHER * LANES)
        NAME(pixels_some)(p, from, to, c, TOGETHER, LANES);
    for (; c + LANES <= p->channels; c += LANES)
        NAME(pixels_some)(p, from, to, c, 1, LANES);
    if (c < p->channels)
        NAME(pixels_some)(p, from, to, c, 1, p->channels - c);
}

INLINE void NAME(pixels_to)(const struct cpu_integer_pixels *p, uint32_t to)
{
    if (p->x_dtype == FERRY_F32)
        NAME(pixels_of)(p, FERRY_F32, to);
    else if (p->x_dtype == FERRY_U8)
        NAME(pixels_of)(p, FERRY_U8, to);
    else
        NAME(pixels_of)(p, FERRY_I8, to);
}

TARGET static void NAME(integer_pixels)(const struct cpu_integer_pixels *p)
{
    if (p->store->dtype == FERRY_U8)
        NAME(pixels_to)(p, FERRY_U8);
    else
        NAME(pixels_to)(p, FERRY_I8);
}

#undef TOGETHER

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolutions of bytes. The program begins with types.h and integer_args.h. VEC: the floats of a
 * vector. GROUP: the items of a group. DOT: the device adds products of four bytes
 * (cl_khr_integer_dot_product), OWN_DOT: by functions below. Otherwise products are floats, as fast
 * as those of F32: a sum of INTEGER_EXACT_TERMS products is exact, and is then added to an integer.
 * FUSED: fma is fast.
 */
#pragma OPENCL FP_CONTRACT OFF

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define PIXELS       INTEGER_PIXELS(VEC)
#define LANES        (INTEGER_VECTORS * VEC)

typedef PASTE(float, VEC) vec;
typedef PASTE(int, VEC) ivec;
#define LOAD(p)        PASTE(vload, VEC)(0, p)
#define STORE(p, v)    PASTE(vstore, VEC)(v, 0, p)
#define TO_FLOAT(v)    PASTE(convert_float, VEC)(v)
#define TO_INT(v)      PASTE(convert_int, VEC)(v)
#define TO_U8(v)       PASTE(convert_uchar, VEC)(v)
#define TO_I8(v)       PASTE(convert_char, VEC)(v)
#ifdef FUSED
#define MULTIPLY_ADD(x, y, z) fma(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

#define KERNEL(name, args)                                                                      \
    kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void name(                        \
        global u8 *b0, global u8 *b1, global u8 *b2, global u8 *b3, global u8 *b4,              \
        global u8 *b5, const struct args numbers)
#ifdef ARGS_COPIED /* doc/design/opencl.md, "Workarounds for Mesa's llvmpipe" */
#define ARGS(args)                \
    struct args copied = numbers; \
    const struct args *a = &copied
#else
#define ARGS(args) const struct args *a = &numbers
#endif
#define AT(type, i) ((global type *)(b##i + a->at[i]))

/* ---- weights --------------------------------------------------------------------------------- */

/* An item packs one element of a line, or of a tap, for all outputs of a block. */
KERNEL(integer_pack, integer_pack_args)
{
    ARGS(integer_pack_args);
    i64 padded = (a->span + a->quad - 1) / a->quad * a->quad;
    i64 all = a->groups * a->blocks * a->lines * padded;

    for (i64 i = get_global_id(0); i < all; i += get_global_size(0)) {
        i64 e = i % padded, line = i / padded % a->lines, block = i / padded / a->lines % a->blocks;
        i64 g = i / padded / a->lines / a->blocks;
        i64 k0 = line / a->taps / a->size[1], k1 = line / a->taps % a->size[1];
        i64 k2 = line % a->taps + e / a->channels;
        global const i8 *w = AT(const i8, 0) + g * a->group + k0 * a->tap[0] + k1 * a->tap[1] +
                             k2 * a->tap[2] + e % a->channels * a->channel;
        global i8 *packed = AT(i8, 1) + (i - e) * a->lanes + e / a->quad * a->quad * a->lanes +
                            e % a->quad;

        for (i64 o = 0; o < a->lanes; o++) {
            i64 output = block * a->lanes + o;

            packed[o * a->quad] =
                e < a->span && output < a->outputs ? w[output * a->output] : (i8)0;
        }
    }
}

/* ---- what follows the sums ------------------------------------------------------------------- */

/* Up to VEC numbers of a dtype, `stride` apart, as floats; the others are 0. */
vec load_numbers(i32 dtype, global const u8 *base, i64 offset, i64 stride, i64 n)
{
    f32 v[VEC];

    if (stride == 1 && n >= VEC)
        return dtype == 0   ? LOAD((global const f32 *)base + offset)
               : dtype == 5 ? TO_FLOAT(LOAD(base + offset))
                            : TO_FLOAT(LOAD((global const i8 *)base + offset));
    for (i64 i = 0; i < VEC; i++) {
        i64 at = offset + i * stride;

        v[i] = i >= n       ? 0.0f
               : dtype == 0 ? ((global const f32 *)base)[at]
               : dtype == 5 ? (f32)base[at]
                            : (f32)((global const i8 *)base)[at];
    }
    return LOAD(v);
}

/* Stores up to VEC floats as numbers of a dtype, rounded to nearest even; NaN is 0 as a byte. */
void store_numbers(i32 dtype, global u8 *base, i64 offset, i64 stride, i64 n, vec v)
{
    f32 out[VEC];

    if (dtype != 0) {
        v = v == v ? v : (vec)0.0f;
        v = rint(clamp(v, dtype == 5 ? 0.0f : -128.0f, dtype == 5 ? 255.0f : 127.0f));
    }
    if (stride == 1 && n >= VEC) {
        if (dtype == 0)
            STORE((global f32 *)base + offset, v);
        else if (dtype == 5)
            STORE(base + offset, TO_U8(v));
        else
            STORE((global i8 *)base + offset, TO_I8(v));
        return;
    }
    STORE(out, v);
    for (i64 i = 0; i < n && i < VEC; i++) {
        i64 at = offset + i * stride;

        if (dtype == 0)
            ((global f32 *)base)[at] = out[i];
        else if (dtype == 5)
            base[at] = (u8)out[i];
        else
            ((global i8 *)base)[at] = (i8)out[i];
    }
}

/* The bias and scale of a vector of outputs. */
struct factors {
    vec bias, scale;
};

struct factors factors_of(const struct integer_args *a, global const u8 *bias,
                          global const u8 *scale, i64 output, i64 n)
{
    struct factors f;

    f.bias = (vec)0.0f;
    f.scale = (vec)1.0f;
    if (a->has_bias)
        f.bias = load_numbers(0, bias, output * a->bias, a->bias, n);
    if (a->has_scale)
        f.scale = load_numbers(0, scale, output * a->scale, a->scale, n);
    return f;
}

/* The steps after the sums of a vector of outputs; `add`: the operand of ADD. */
vec finish(const struct integer_args *a, struct factors f, vec add, vec sum)
{
    vec v = (sum + f.bias) * f.scale;

    if (a->has_add)
        v = v + add;
    v = v > (vec)0.0f ? v : v * a->slope;
    v = v < (vec)a->least ? (vec)a->least : v; /* NaN remains */
    v = v > (vec)a->most ? (vec)a->most : v;
    return fma(v, (vec)a->factor, (vec)a->term);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The pixel of an output: its image, and the first element of its window. */
struct place {
    i64 image, from[3], x, y, add;
};

struct place place_of(const struct integer_args *a, i64 number)
{
    struct place p;
    i64 at2 = number % a->out[2], at1 = number / a->out[2] % a->out[1];
    i64 at0 = number / a->out[2] / a->out[1] % a->out[0];

    p.image = number / a->out[2] / a->out[1] / a->out[0];
    p.from[0] = at0 * a->stride[0] - a->pad[0];
    p.from[1] = at1 * a->stride[1] - a->pad[1];
    p.from[2] = at2 * a->stride[2] - a->pad[2];
    p.x = p.image * a->x[0] + p.from[0] * a->x[2] + p.from[1] * a->x[3] + p.from[2] * a->x[4];
    p.y = p.image * a->y[0] + at0 * a->y[2] + at1 * a->y[3] + at2 * a->y[4];
    p.add = p.image * a->add[0] + at0 * a->add[2] + at1 * a->add[3] + at2 * a->add[4];
    return p;
}

/* The part of a line of the kernel that is inside the image: elements `low` to `high` − 1. */
struct part {
    i64 x, low, high;
};

struct part part_of(const struct integer_args *a, struct place p, i64 k0, i64 k1, i64 k2)
{
    i64 at0 = p.from[0] + k0 * a->dilation[0], at1 = p.from[1] + k1 * a->dilation[1];
    i64 at2 = p.from[2] + k2 * a->dilation[2], taps = a->span / a->channels;
    i64 end = a->in[2] - at2 < taps ? a->in[2] - at2 : taps;
    struct part r;

    r.x = p.x + k0 * a->dilation[0] * a->x[2] + k1 * a->dilation[1] * a->x[3] +
          k2 * a->dilation[2] * a->x[4];
    r.low = at2 < 0 ? -at2 * a->channels : 0;
    r.high = end * a->channels;
    if (at0 < 0 || at0 >= a->in[0] || at1 < 0 || at1 >= a->in[1] || r.high < r.low)
        r.low = r.high = 0;
    return r;
}

/* Element e of a line; 0 outside the image. */
i32 element_of(const struct integer_args *a, global const u8 *x, struct part r, i64 e)
{
    i64 at = r.x + e * a->element;

    if (e < r.low || e >= r.high)
        return 0;
    return a->x_is_signed ? (i32)((global const i8 *)x)[at] : (i32)x[at];
}

#ifdef DOT

#ifdef OWN_DOT /* the compiler lacks the functions */
i32 dot_4x8packed_ss_int(u32 x, u32 y)
{
    int4 products = convert_int4(as_char4(x)) * convert_int4(as_char4(y));

    return products.x + products.y + products.z + products.w;
}

i32 dot_4x8packed_us_int(u32 x, u32 y)
{
    int4 products = convert_int4(as_uchar4(x)) * convert_int4(as_char4(y));

    return products.x + products.y + products.z + products.w;
}
#endif

/* Elements e to e + 3 of a line as one word. */
u32 quad_of(const struct integer_args *a, global const u8 *x, struct part r, i64 e)
{
    uchar4 v;

    if (a->element == 1 && e >= r.low && e + 4 <= r.high)
        return as_uint(vload4(0, x + r.x + e));
    v.x = (u8)element_of(a, x, r, e);
    v.y = (u8)element_of(a, x, r, e + 1);
    v.z = (u8)element_of(a, x, r, e + 2);
    v.w = (u8)element_of(a, x, r, e + 3);
    return as_uint(v);
}

/* Adds the products of a line of the kernel; w: its packed weights. */
void add_line(const struct integer_args *a, global const u8 *x, const struct part *part,
              global const i8 *w, ivec *sum)
{
    for (i64 e = 0; e < a->span; e += 4, w += 4 * LANES) {
        u32 quad[LANES];

#pragma unroll
        for (i32 o = 0; o < LANES; o++)
            quad[o] = as_uint(vload4(o, w));
#pragma unroll
        for (i32 p = 0; p < PIXELS; p++) {
            u32 v = quad_of(a, x, part[p], e);
            i32 *own = (i32 *)&sum[p * INTEGER_VECTORS];

#pragma unroll
            for (i32 o = 0; o < LANES; o++)
                own[o] += a->x_is_signed ? dot_4x8packed_ss_int(v, quad[o])
                                         : dot_4x8packed_us_int(v, quad[o]);
        }
    }
}

#elif GROUP > 1

/* Element e of a line whose elements are all inside the image. */
f32 number_of(const struct integer_args *a, global const u8 *x, struct part r, i64 e)
{
    i64 at = r.x + e * a->element;

    return a->x_is_signed ? (f32)((global const i8 *)x)[at] : (f32)x[at];
}

/* Adds the products of a line of the kernel; w: its packed weights. */
void add_line(const struct integer_args *a, global const u8 *x, const struct part *part,
              global const i8 *w, ivec *sum)
{
    bool is_whole = true;

#pragma unroll
    for (i32 p = 0; p < PIXELS; p++)
        is_whole = is_whole && part[p].low == 0 && part[p].high == a->span;
    for (i64 first = 0; first < a->span; first += INTEGER_EXACT_TERMS) {
        i64 left = a->span - first, n = left < INTEGER_EXACT_TERMS ? left : INTEGER_EXACT_TERMS;
        vec s[PIXELS * INTEGER_VECTORS];

#pragma unroll
        for (i32 p = 0; p < 2 * PIXELS; p++)
            s[p] = (vec)0.0f;
        for (i64 e = first; e < first + n; e++, w += LANES) {
            vec w0 = TO_FLOAT(LOAD(w)), w1 = TO_FLOAT(LOAD(w + VEC));

#pragma unroll
            for (i32 p = 0; p < PIXELS; p++) {
                vec v = (vec)(is_whole ? number_of(a, x, part[p], e)
                                       : (f32)element_of(a, x, part[p], e));

                s[2 * p] = MULTIPLY_ADD(v, w0, s[2 * p]);
                s[2 * p + 1] = MULTIPLY_ADD(v, w1, s[2 * p + 1]);
            }
        }
#pragma unroll
        for (i32 p = 0; p < 2 * PIXELS; p++)
            sum[p] += TO_INT(s[p]);
    }
}

#else /* an item of a CPU, whose cache has what it converts */

/* Converts elements `first` to `first` + `n` − 1 of a line. */
void stage(const struct integer_args *a, global const u8 *x, struct part r, i64 first, i64 n,
           f32 *out)
{
    i64 e = 0;

    if (a->element == 1 && first >= r.low && first + n <= r.high)
        for (; e + VEC <= n; e += VEC)
            STORE(out + e, load_numbers(a->x_is_signed ? 4 : 5, x, r.x + first + e, 1, VEC));
    for (; e < n; e++)
        out[e] = (f32)element_of(a, x, r, first + e);
}

/* Adds the products of a line of the kernel; w: its packed weights. */
void add_line(const struct integer_args *a, global const u8 *x, const struct part *part,
              global const i8 *w, ivec *sum)
{
    f32 staged[PIXELS * INTEGER_STAGE];

    for (i64 first = 0; first < a->span; first += INTEGER_STAGE) {
        i64 n = a->span - first < INTEGER_STAGE ? a->span - first : INTEGER_STAGE;
        vec s[PIXELS * INTEGER_VECTORS];

#pragma unroll
        for (i32 p = 0; p < PIXELS; p++) {
            stage(a, x, part[p], first, n, staged + p * INTEGER_STAGE);
            s[2 * p] = s[2 * p + 1] = (vec)0.0f;
        }
        for (i64 e = 0; e < n; e++, w += LANES) {
            vec w0 = TO_FLOAT(LOAD(w)), w1 = TO_FLOAT(LOAD(w + VEC));

#pragma unroll
            for (i32 p = 0; p < PIXELS; p++) {
                vec v = (vec)staged[p * INTEGER_STAGE + e];

                s[2 * p] = MULTIPLY_ADD(v, w0, s[2 * p]);
                s[2 * p + 1] = MULTIPLY_ADD(v, w1, s[2 * p + 1]);
            }
        }
#pragma unroll
        for (i32 p = 0; p < 2 * PIXELS; p++)
            sum[p] += TO_INT(s[p]);
    }
}

#endif

/* A tile is PIXELS pixels by a block of outputs of a group; its pixels are adjacent. */
KERNEL(integer_convolve, integer_args)
{
    ARGS(integer_args);
    i64 across = (a->pixels + PIXELS - 1) / PIXELS, begin = get_global_id(0) * a->tiles;
#ifdef DOT
    i64 line_bytes = (a->span + 3) / 4 * 4 * LANES;
#else
    i64 line_bytes = a->span * LANES;
#endif
    i64 lines = a->size[0] * a->size[1] * a->taps;

    for (i64 i = begin; i < begin + a->tiles && i < a->all; i++) {
        i64 first = i % across * PIXELS, block = i / across % a->blocks;
        i64 g = i / across / a->blocks, output = block * LANES, last = a->pixels - 1;
        global const u8 *x = AT(const u8, 0) + g * a->channels * a->x[1];
        global const i8 *w = AT(const i8, 1) + (g * a->blocks + block) * lines * line_bytes;
        struct place place[PIXELS];
        ivec sum[PIXELS * INTEGER_VECTORS];

#pragma unroll
        for (i32 p = 0; p < PIXELS; p++) {
            place[p] = place_of(a, first + p < last ? first + p : last);
            for (i32 l = 0; l < INTEGER_VECTORS; l++)
                sum[p * INTEGER_VECTORS + l] = (ivec)0;
        }
        for (i64 k = 0; k < lines; k++, w += line_bytes) {
            struct part part[PIXELS];
            bool is_seen = false;

#pragma unroll
            for (i32 p = 0; p < PIXELS; p++) {
                part[p] = part_of(a, place[p], k / a->taps / a->size[1],
                                  k / a->taps % a->size[1], k % a->taps);
                is_seen = is_seen || part[p].high > part[p].low;
            }
            if (is_seen)
                add_line(a, x, part, w, sum);
        }
        for (i32 l = 0; l < INTEGER_VECTORS; l++) {
            i64 o = output + l * VEC, n = a->outputs - o, of_all = g * a->outputs + o;
            struct factors f;

            if (n <= 0)
                continue;
            f = factors_of(a, AT(const u8, 3), AT(const u8, 4), of_all, n);
            for (i32 p = 0; p < PIXELS && first + p <= last; p++) {
                vec add = (vec)0.0f;

                if (a->has_add)
                    add = load_numbers(a->add_dtype, AT(const u8, 5),
                                       place[p].add + of_all * a->add[1], a->add[1], n);
                store_numbers(a->y_dtype, AT(u8, 2), place[p].y + of_all * a->y[1], a->y[1], n,
                              finish(a, f, add, TO_FLOAT(sum[p * INTEGER_VECTORS + l])));
            }
        }
    }
}

/* One channel in each group, and contiguous channels: a tile is a pixel by VEC channels. */
KERNEL(integer_depthwise, integer_args)
{
    ARGS(integer_args);
    i64 across = (a->outputs + VEC - 1) / VEC, begin = get_global_id(0) * a->tiles;
    i32 dtype = a->x_is_signed ? 4 : 5;

    for (i64 i = begin; i < begin + a->tiles && i < a->all; i++) {
        i64 c = i % across * VEC, n = a->outputs - c;
        struct place p = place_of(a, i / across);
        global const u8 *w = AT(const u8, 1) + c;
        struct factors f = factors_of(a, AT(const u8, 3), AT(const u8, 4), c, n);
        vec sum = (vec)0.0f, add = (vec)0.0f;

        for (i64 k0 = 0; k0 < a->size[0]; k0++)
            for (i64 k1 = 0; k1 < a->size[1]; k1++) {
                i64 at0 = p.from[0] + k0 * a->dilation[0], at1 = p.from[1] + k1 * a->dilation[1];

                for (i64 k2 = 0; k2 < a->size[2]; k2++, w += a->outputs) {
                    i64 at2 = p.from[2] + k2 * a->dilation[2];
                    i64 x = p.x + k0 * a->dilation[0] * a->x[2] + k1 * a->dilation[1] * a->x[3] +
                            k2 * a->dilation[2] * a->x[4] + c;

                    if (at0 >= 0 && at0 < a->in[0] && at1 >= 0 && at1 < a->in[1] && at2 >= 0 &&
                        at2 < a->in[2])
                        sum = MULTIPLY_ADD(load_numbers(dtype, AT(const u8, 0), x, 1, n),
                                           load_numbers(4, w, 0, 1, n), sum);
                }
            }
        if (a->has_add)
            add = load_numbers(a->add_dtype, AT(const u8, 5), p.add + c * a->add[1], a->add[1], n);
        store_numbers(a->y_dtype, AT(u8, 2), p.y + c, 1, n, finish(a, f, add, sum));
    }
}

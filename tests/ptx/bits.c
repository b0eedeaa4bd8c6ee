/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logic, shifts, fields of bits, moves and selections.
 */
#include "tests/ptx/program.h"

#define LOGIC(bits)                                                                     \
    HANDLER2(and_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x[l] & y[l])   \
    HANDLER2(or_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x[l] | y[l])    \
    HANDLER2(xor_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x[l] ^ y[l])   \
    HANDLER1(not_##bits, uint##bits##_t, uint##bits##_t, ~x[l])                         \
    HANDLER1(cnot_##bits, uint##bits##_t, uint##bits##_t, x[l] == 0)                    \
    HANDLER1(mov_##bits, uint##bits##_t, uint##bits##_t, x[l])                          \
    HANDLER3(selp_##bits, uint##bits##_t, uint##bits##_t, uint32_t, z[l] ? x[l] : y[l]) \
    HANDLER2(shl_##bits, uint##bits##_t, uint##bits##_t, uint32_t,                      \
             y[l] < bits ? (uint64_t)x[l] << y[l] : 0)                                  \
    HANDLER2(shr_u##bits, uint##bits##_t, uint##bits##_t, uint32_t,                     \
             y[l] < bits ? x[l] >> y[l] : 0)                                            \
    HANDLER2(shr_s##bits, int##bits##_t, int##bits##_t, uint32_t,                       \
             x[l] >> (y[l] < bits ? y[l] : bits - 1))
LOGIC(16)
LOGIC(32)
LOGIC(64)

/* Predicates are 0 or 1. */
HANDLER1(not_pred, uint32_t, uint32_t, x[l] ^ 1)

HANDLER1(popc_32, uint32_t, uint32_t, __builtin_popcount(x[l]))
HANDLER1(popc_64, uint32_t, uint64_t, __builtin_popcountll(x[l]))
HANDLER1(clz_32, uint32_t, uint32_t, x[l] ? __builtin_clz(x[l]) : 32)
HANDLER1(clz_64, uint32_t, uint64_t, x[l] ? __builtin_clzll(x[l]) : 64)

static uint64_t reversed(uint64_t v, unsigned bits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

HANDLER1(brev_32, uint32_t, uint32_t, reversed(x[l], 32))
HANDLER1(brev_64, uint64_t, uint64_t, reversed(x[l], 64))

static uint64_t low_mask(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/* Position and length are of 8 bits; a field of a signed number beyond its end repeats the sign. */
static uint64_t extracted(uint64_t v, uint32_t at, uint32_t n, unsigned bits, bool is_signed)
{
    uint32_t last = (at & 255) + (n & 255) - 1;
    uint64_t field = (at & 255) < bits ? v >> (at & 255) & low_mask(n & 255) : 0;
    bool negative = is_signed && (n & 255) && v >> (last < bits ? last : bits - 1) & 1;
    uint32_t known = (at & 255) >= bits              ? 0
                     : (n & 255) < bits - (at & 255) ? n & 255
                                                     : bits - (at & 255);

    return negative ? field | ~low_mask(known) : field;
}

HANDLER3(bfe_u32, uint32_t, uint32_t, uint32_t, extracted(x[l], y[l], z[l], 32, false))
HANDLER3(bfe_s32, uint32_t, uint32_t, uint32_t, extracted(x[l], y[l], z[l], 32, true))

#define BFE64(name, is_signed)                                              \
    static void name(struct warp *w, const struct instruction *i)           \
    {                                                                       \
        uint64_t *d = SLOT(w, i, 0, uint64_t);                              \
        const uint64_t *x = SLOT(w, i, 1, const uint64_t);                  \
        const uint32_t *at = SLOT(w, i, 2, const uint32_t);                 \
        const uint32_t *n = SLOT(w, i, 3, const uint32_t);                  \
                                                                            \
        APPLY(w, uint64_t, d, extracted(x[l], at[l], n[l], 64, is_signed)); \
    }
BFE64(bfe_u64, false)
BFE64(bfe_s64, true)

static uint64_t inserted(uint64_t field, uint64_t into, uint32_t at, uint32_t n, unsigned bits)
{
    uint64_t mask = (at & 255) < bits ? low_mask(n & 255) << (at & 255) : 0;

    return (into & ~mask) | ((at & 255) < bits ? field << (at & 255) & mask : 0);
}

#define BFI(bits)                                                                    \
    static void bfi_##bits(struct warp *w, const struct instruction *i)              \
    {                                                                                \
        uint##bits##_t *d = SLOT(w, i, 0, uint##bits##_t);                           \
        const uint##bits##_t *field = SLOT(w, i, 1, const uint##bits##_t);           \
        const uint##bits##_t *into = SLOT(w, i, 2, const uint##bits##_t);            \
        const uint32_t *at = SLOT(w, i, 3, const uint32_t);                          \
        const uint32_t *n = SLOT(w, i, 4, const uint32_t);                           \
                                                                                     \
        APPLY(w, uint##bits##_t, d, inserted(field[l], into[l], at[l], n[l], bits)); \
    }
BFI(32)
BFI(64)

/* A funnel of y (upper) and x (lower) by z; the clamped forms stop at 32. */
#define FUNNEL(x, y) ((uint64_t)(y) << 32 | (x))
HANDLER3(shf_l_wrap, uint32_t, uint32_t, uint32_t, FUNNEL(x[l], y[l]) << (z[l] & 31) >> 32)
HANDLER3(shf_r_wrap, uint32_t, uint32_t, uint32_t, FUNNEL(x[l], y[l]) >> (z[l] & 31))
HANDLER3(shf_l_clamp, uint32_t, uint32_t, uint32_t,
         z[l] < 32 ? FUNNEL(x[l], y[l]) << z[l] >> 32 : x[l])
HANDLER3(shf_r_clamp, uint32_t, uint32_t, uint32_t, z[l] < 32 ? FUNNEL(x[l], y[l]) >> z[l] : y[l])

/*
 * The default mode: a selector of four bits for each byte, whose highest repeats the byte's
 * sign.
 */
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t s = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(both >> (8 * (s & 7))) & 255;

        if (s & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * i);
    }
    return r;
}

HANDLER3(prmt_32, uint32_t, uint32_t, uint32_t, permuted(x[l], y[l], z[l]))

/* Any function of three bits: its table is the immediate. */
static uint32_t looked_up(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;

    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return r;
}

static void lop3_32(struct warp *w, const struct instruction *i)
{
    uint32_t *d = SLOT(w, i, 0, uint32_t);
    const uint32_t *a = SLOT(w, i, 1, const uint32_t), *b = SLOT(w, i, 2, const uint32_t);
    const uint32_t *c = SLOT(w, i, 3, const uint32_t), *table = SLOT(w, i, 4, const uint32_t);

    APPLY(w, uint32_t, d, looked_up(a[l], b[l], c[l], table[l]));
}

#define THREE(name, bits, letters, handler)                                       \
    { name ".b" #bits, letters, handler }, { name ".u" #bits, letters, handler }, \
    {                                                                             \
        name ".s" #bits, letters, handler                                         \
    }
#define OPCODES(bits, two, one, select, shift)                                        \
    { "and.b" #bits, two, and_##bits }, { "or.b" #bits, two, or_##bits },             \
        { "xor.b" #bits, two, xor_##bits }, { "not.b" #bits, one, not_##bits },       \
        { "cnot.b" #bits, one, cnot_##bits }, { "shl.b" #bits, shift, shl_##bits },   \
        { "shr.u" #bits, shift, shr_u##bits }, { "shr.b" #bits, shift, shr_u##bits }, \
        { "shr.s" #bits, shift, shr_s##bits }, THREE("mov", bits, one, mov_##bits),   \
        { "mov.f" #bits, one, mov_##bits }, THREE("selp", bits, select, selp_##bits), \
    {                                                                                 \
        "selp.f" #bits, select, selp_##bits                                           \
    }

static const struct opcode opcodes[] = {
    OPCODES(16, "h=hh", "h=h", "h=hhp", "h=hw"),
    OPCODES(32, "w=ww", "w=w", "w=wwp", "w=ww"),
    OPCODES(64, "d=dd", "d=d", "d=ddp", "d=dw"),
    { "and.pred", "p=pp", and_32 },
    { "or.pred", "p=pp", or_32 },
    { "xor.pred", "p=pp", xor_32 },
    { "not.pred", "p=p", not_pred },
    { "mov.pred", "p=p", mov_32 },
    { "popc.b32", "w=w", popc_32 },
    { "popc.b64", "w=d", popc_64 },
    { "clz.b32", "w=w", clz_32 },
    { "clz.b64", "w=d", clz_64 },
    { "brev.b32", "w=w", brev_32 },
    { "brev.b64", "d=d", brev_64 },
    { "bfe.u32", "w=www", bfe_u32 },
    { "bfe.s32", "w=www", bfe_s32 },
    { "bfe.u64", "d=dww", bfe_u64 },
    { "bfe.s64", "d=dww", bfe_s64 },
    { "bfi.b32", "w=wwww", bfi_32 },
    { "bfi.b64", "d=ddww", bfi_64 },
    { "shf.l.wrap.b32", "w=www", shf_l_wrap },
    { "shf.r.wrap.b32", "w=www", shf_r_wrap },
    { "shf.l.clamp.b32", "w=www", shf_l_clamp },
    { "shf.r.clamp.b32", "w=www", shf_r_clamp },
    { "prmt.b32", "w=www", prmt_32 },
    { "lop3.b32", "w=wwww", lop3_32 },
};

const struct opcode_group bit_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };

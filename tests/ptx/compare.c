/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparisons. The decoder makes the forms that combine the result with a predicate of these.
 */
#include "tests/ptx/real.h"

#include "tests/ptx/program.h"

#define INTEGERS(bits)                                                           \
    HANDLER2(eq_##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] == y[l])  \
    HANDLER2(ne_##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] != y[l])  \
    HANDLER2(lt_u##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] < y[l])  \
    HANDLER2(le_u##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] <= y[l]) \
    HANDLER2(gt_u##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] > y[l])  \
    HANDLER2(ge_u##bits, uint32_t, uint##bits##_t, uint##bits##_t, x[l] >= y[l]) \
    HANDLER2(lt_s##bits, uint32_t, int##bits##_t, int##bits##_t, x[l] < y[l])    \
    HANDLER2(le_s##bits, uint32_t, int##bits##_t, int##bits##_t, x[l] <= y[l])   \
    HANDLER2(gt_s##bits, uint32_t, int##bits##_t, int##bits##_t, x[l] > y[l])    \
    HANDLER2(ge_s##bits, uint32_t, int##bits##_t, int##bits##_t, x[l] >= y[l])
INTEGERS(16)
INTEGERS(32)
INTEGERS(64)

/* The unordered ones are true of a NaN, the others, `ne` among them, are false. */
#define REALS(name, type)                                                        \
    HANDLER2(eq_##name, uint32_t, type, type, x[l] == y[l])                      \
    HANDLER2(ne_##name, uint32_t, type, type, (x[l] < y[l]) | (x[l] > y[l]))     \
    HANDLER2(lt_##name, uint32_t, type, type, x[l] < y[l])                       \
    HANDLER2(le_##name, uint32_t, type, type, x[l] <= y[l])                      \
    HANDLER2(gt_##name, uint32_t, type, type, x[l] > y[l])                       \
    HANDLER2(ge_##name, uint32_t, type, type, x[l] >= y[l])                      \
    HANDLER2(equ_##name, uint32_t, type, type, !((x[l] < y[l]) | (x[l] > y[l]))) \
    HANDLER2(neu_##name, uint32_t, type, type, !(x[l] == y[l]))                  \
    HANDLER2(ltu_##name, uint32_t, type, type, !(x[l] >= y[l]))                  \
    HANDLER2(leu_##name, uint32_t, type, type, !(x[l] > y[l]))                   \
    HANDLER2(gtu_##name, uint32_t, type, type, !(x[l] <= y[l]))                  \
    HANDLER2(geu_##name, uint32_t, type, type, !(x[l] < y[l]))                   \
    HANDLER2(num_##name, uint32_t, type, type, (x[l] == x[l]) & (y[l] == y[l]))  \
    HANDLER2(nan_##name, uint32_t, type, type, (x[l] != x[l]) | (y[l] != y[l]))
REALS(f32, float)
REALS(f64, double)

#define INTEGER_OPCODES(bits, letters)                                                          \
    { "setp.eq.b" #bits, letters, eq_##bits }, { "setp.ne.b" #bits, letters, ne_##bits },       \
        { "setp.eq.s" #bits, letters, eq_##bits }, { "setp.ne.s" #bits, letters, ne_##bits },   \
        { "setp.eq.u" #bits, letters, eq_##bits }, { "setp.ne.u" #bits, letters, ne_##bits },   \
        { "setp.lt.s" #bits, letters, lt_s##bits }, { "setp.le.s" #bits, letters, le_s##bits }, \
        { "setp.gt.s" #bits, letters, gt_s##bits }, { "setp.ge.s" #bits, letters, ge_s##bits }, \
        { "setp.lt.u" #bits, letters, lt_u##bits }, { "setp.le.u" #bits, letters, le_u##bits }, \
        { "setp.gt.u" #bits, letters, gt_u##bits }, { "setp.ge.u" #bits, letters, ge_u##bits }, \
        { "setp.lo.u" #bits, letters, lt_u##bits }, { "setp.ls.u" #bits, letters, le_u##bits }, \
        { "setp.hi.u" #bits, letters, gt_u##bits },                                             \
    {                                                                                           \
        "setp.hs.u" #bits, letters, ge_u##bits                                                  \
    }
#define REAL_OPCODES(name, letters)                                                             \
    { "setp.eq." #name, letters, eq_##name }, { "setp.ne." #name, letters, ne_##name },         \
        { "setp.lt." #name, letters, lt_##name }, { "setp.le." #name, letters, le_##name },     \
        { "setp.gt." #name, letters, gt_##name }, { "setp.ge." #name, letters, ge_##name },     \
        { "setp.equ." #name, letters, equ_##name }, { "setp.neu." #name, letters, neu_##name }, \
        { "setp.ltu." #name, letters, ltu_##name }, { "setp.leu." #name, letters, leu_##name }, \
        { "setp.gtu." #name, letters, gtu_##name }, { "setp.geu." #name, letters, geu_##name }, \
        { "setp.num." #name, letters, num_##name },                                             \
    {                                                                                           \
        "setp.nan." #name, letters, nan_##name                                                  \
    }

static const struct opcode opcodes[] = {
    INTEGER_OPCODES(16, "p=hh"), INTEGER_OPCODES(32, "p=ww"), INTEGER_OPCODES(64, "p=dd"),
    REAL_OPCODES(f32, "p=ww"),   REAL_OPCODES(f64, "p=dd"),
};

const struct opcode_group compare_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };

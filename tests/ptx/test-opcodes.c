/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of opcodes, by hand from the PTX manual: each row is a statement or a few, whose result
 * is in %r9, %rd9, %h9 or %p9. Lanes of one warp differ by %laneid, in %r0.
 */
#include "tests/ptx/ptx.h"

#include "ferry-test.h"

#include <stdio.h>
#include <string.h>

#define LANES  32
#define OUT_AT 0x10000u

static const char prologue[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".const .align 4 .u32 table[4] = { 7, 8, 9, 10 };\n"
    ".visible .entry test(.param .u64 out)\n{\n"
    ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %rd<10>;\n"
    ".shared .align 8 .b8 shared[64];\n.local .align 8 .b8 local[64];\n"
    "mov.u32 %r0, %laneid;\nld.param.u64 %rd0, [out];\n";

/*
 * Runs the statements and gives each lane's result in 64 bits. False after an error, which is
 * printed.
 */
static bool lanes_of(const char *statements, char result, enum ptx_approximation way, uint64_t *out)
{
    static char text[4096];
    char error[256] = "";
    uint64_t params[1] = { OUT_AT };
    struct ptx_launch launch = { .grid = { 1, 1, 1 },
                                 .block = { LANES, 1, 1 },
                                 .params = (const unsigned char *)params,
                                 .window_count = 1,
                                 .options = { .approximation = way } };
    struct ptx_module *module;
    bool ok;

    snprintf(text, sizeof(text),
             "%s%s\n%smul.wide.u32 %%rd8, %%r0, 8;\nadd.s64 %%rd8, %%rd0, %%rd8;\n"
             "st.global.u64 [%%rd8], %%rd9;\nret;\n}\n",
             prologue, statements,
             result == 'd'   ? ""
             : result == 'h' ? "cvt.u64.u16 %rd9, %h9;\n"
             : result == 'p' ? "selp.b64 %rd9, 1, 0, %p9;\n"
                             : "cvt.u64.u32 %rd9, %r9;\n");
    module = ptx_module_new(text, error, sizeof(error));
    launch.kernel = module ? ptx_kernel_find(module, "test") : NULL;
    launch.windows[0] =
        (struct ptx_window){ OUT_AT, LANES * sizeof(*out), (unsigned char *)out, NULL };
    memset(out, 0, LANES * sizeof(*out));
    ok = module && ptx_run(&launch);
    if (!ok)
        fprintf(stderr, "%s: %s%s\n", statements, error, launch.report);
    ptx_module_delete(module);
    return ok;
}

struct value {
    const char *statements;
    char result; /* w: %r9, d: %rd9, h: %h9, p: %p9 */
    uint64_t want;
};

/* Checks the value in every lane. */
static void check(const struct value *values, size_t n, enum ptx_approximation way)
{
    uint64_t out[LANES];

    for (size_t i = 0; i < n; i++) {
        bool right = lanes_of(values[i].statements, values[i].result, way, out);

        for (int l = 0; l < LANES; l++)
            right &= out[l] == values[i].want;
        CU_ASSERT(right);
        if (!right)
            fprintf(stderr, "%s: 0x%llx, not 0x%llx\n", values[i].statements,
                    (unsigned long long)out[0], (unsigned long long)values[i].want);
    }
}
#define CHECK(values, way) check(values, sizeof(values) / sizeof((values)[0]), way)

static void integers_are_computed(void)
{
    static const struct value values[] = {
        { "add.s32 %r9, 2147483647, 1;", 'w', 0x80000000 },
        { "add.sat.s32 %r9, 2147483647, 1;", 'w', 0x7fffffff },
        { "sub.s64 %rd9, 0, 1;", 'd', UINT64_MAX },
        { "mul.lo.s16 %h9, 300, 300;", 'h', 0x5f90 },
        { "mul.hi.s32 %r9, -2, 3;", 'w', 0xffffffff },
        { "mul.hi.u32 %r9, -2, 3;", 'w', 2 },
        { "mul.hi.u64 %rd9, -1, -1;", 'd', UINT64_MAX - 1 },
        { "mul.wide.s32 %rd9, -2, 3;", 'd', (uint64_t)-6 },
        { "mul.wide.u16 %r9, 65535, 65535;", 'w', 0xfffe0001 },
        { "mad.lo.s32 %r9, -2, 3, 1;", 'w', (uint32_t)-5 },
        { "mov.u64 %rd1, 5; mad.wide.s32 %rd9, -2, 3, %rd1;", 'd', (uint64_t)-1 },
        { "div.s32 %r9, -7, 2;", 'w', (uint32_t)-3 },
        { "rem.s32 %r9, -7, 2;", 'w', (uint32_t)-1 },
        { "div.s32 %r9, -2147483648, -1;", 'w', 0x80000000 },
        { "div.u32 %r9, 7, 0;", 'w', 0xffffffff },
        { "min.s32 %r9, -1, 1;", 'w', 0xffffffff },
        { "min.u32 %r9, -1, 1;", 'w', 1 },
        { "abs.s32 %r9, -2147483648;", 'w', 0x80000000 },
        { "neg.s64 %rd9, 5;", 'd', (uint64_t)-5 },
        { "sad.u32 %r9, 3, 10, 1;", 'w', 8 },
    };

    CHECK(values, PTX_EXACT);
}

static void bits_are_computed(void)
{
    static const struct value values[] = {
        { "shl.b32 %r9, 1, 32;", 'w', 0 },
        { "shr.u32 %r9, -1, 33;", 'w', 0 },
        { "shr.s32 %r9, -8, 40;", 'w', 0xffffffff },
        { "shr.s64 %rd9, -8, 1;", 'd', (uint64_t)-4 },
        { "shf.l.wrap.b32 %r9, 0x80000000, 1, 33;", 'w', 3 },
        { "shf.r.clamp.b32 %r9, 5, 6, 32;", 'w', 6 },
        { "bfe.u32 %r9, 0xabcd, 4, 8;", 'w', 0xbc },
        { "bfe.s32 %r9, 0xabcd, 4, 8;", 'w', 0xffffffbc },
        { "bfe.s32 %r9, 0x80000000, 28, 8;", 'w', 0xfffffff8 },
        { "bfe.u32 %r9, 0xabcd, 4, 0;", 'w', 0 },
        { "bfi.b32 %r9, 0xff, 0, 4, 4;", 'w', 0xf0 },
        { "bfi.b64 %rd9, 1, 0, 63, 8;", 'd', (uint64_t)1 << 63 },
        { "prmt.b32 %r9, 0x33221100, 0x77665544, 0x7531;", 'w', 0x77553311 },
        { "prmt.b32 %r9, 0x00008000, 0, 0x0009;", 'w', 0x000000ff },
        { "lop3.b32 %r9, 12, 10, 9, 0x96;", 'w', 12 ^ 10 ^ 9 },
        { "popc.b64 %r9, -1;", 'w', 64 },
        { "clz.b32 %r9, 1;", 'w', 31 },
        { "clz.b32 %r9, 0;", 'w', 32 },
        { "brev.b32 %r9, 1;", 'w', 0x80000000 },
        { "cnot.b32 %r9, 0;", 'w', 1 },
        { "mov.b64 %rd9, {1, 2};", 'd', 0x200000001 },
        { "mov.b64 {_, %r9}, 0x500000003;", 'w', 5 },
        { "setp.lt.s32 %p9, -1, 0;", 'p', 1 },
        { "setp.lt.u32 %p9, -1, 0;", 'p', 0 },
        { "setp.eq.s32 %p1, 0, 0; setp.gt.and.s32 %p9|%p2, 1, 2, %p1; mov.pred %p9, %p2;", 'p', 1 },
        { "mov.pred %p1, -1; mov.pred %p9, %p1;", 'p', 1 },
        { "mov.pred %p1, -1; not.pred %p9, %p1;", 'p', 0 },
        { "setp.eq.s32 %p1, 0, 1; selp.b32 %r9, 3, 4, %p1;", 'w', 4 },
        { "mov.u32 %r9, 1; setp.eq.s32 %p1, 0, 0; @!%p1 mov.u32 %r9, 2;", 'w', 1 },
    };

    CHECK(values, PTX_EXACT);
}

/* 1 + 2^-12 squared less 1 is 2^-11 + 2^-24 with one rounding, 2^-11 with two. */
static void floats_are_rounded_once(void)
{
    static const struct value values[] = {
        { "fma.rn.f32 %r9, 0f3F800800, 0f3F800800, 0fBF800000;", 'w', 0x3a000400 },
        { "mul.rn.f32 %r1, 0f3F800800, 0f3F800800; add.f32 %r9, %r1, 0fBF800000;", 'w',
          0x3a000000 },
        { "fma.rm.f32 %r9, 0f3F800001, 0f3F800001, 0f00000000;", 'w', 0x3f800002 },
        { "fma.rp.f32 %r9, 0f3F800001, 0f3F800001, 0f00000000;", 'w', 0x3f800003 },
        { "add.rz.f32 %r9, 0f3F800000, 0f33FFFFFF;", 'w', 0x3f800000 },
        { "add.f32 %r9, 0f3F800000, 0f33FFFFFF;", 'w', 0x3f800001 },
        { "add.rn.f64 %rd9, 0d3FF0000000000000, 0d3CB0000000000000;", 'd', 0x3ff0000000000001 },
        { "div.rn.f32 %r9, 0f3F800000, 0f40400000;", 'w', 0x3eaaaaab },
        { "sqrt.rn.f32 %r9, 0f40000000;", 'w', 0x3fb504f3 },
        { "min.f32 %r9, 0f00000000, 0f80000000;", 'w', 0x80000000 },
        { "max.f32 %r9, 0f80000000, 0f00000000;", 'w', 0 },
        { "min.f32 %r9, 0f7FC00001, 0f3F800000;", 'w', 0x3f800000 },
        { "min.NaN.f32 %r9, 0f7FC00001, 0f3F800000;", 'w', 0x7fffffff },
        { "add.f32 %r9, 0fFFC00001, 0f3F800000;", 'w', 0x7fffffff },
        { "neg.f32 %r9, 0f7FC00001;", 'w', 0xffc00001 },
        { "copysign.f32 %r9, 0f80000000, 0f3F800000;", 'w', 0xbf800000 },
        { "mul.ftz.f32 %r9, 0f00000001, 0f7F000000;", 'w', 0 },
        { "setp.ltu.f32 %p9, 0f7FC00000, 0f00000000;", 'p', 1 },
        { "setp.ne.f32 %p9, 0f7FC00000, 0f00000000;", 'p', 0 },
        { "setp.neu.f32 %p9, 0f7FC00000, 0f00000000;", 'p', 1 },
        { "setp.num.f32 %p9, 0f7FC00000, 0f00000000;", 'p', 0 },
    };

    CHECK(values, PTX_EXACT);
}

static void conversions_are_rounded_and_saturated(void)
{
    static const struct value values[] = {
        { "mov.u32 %r1, 0x1ff; cvt.u64.u8 %rd9, %r1;", 'd', 0xff },
        { "mov.u32 %r1, 0x1ff; cvt.s64.s8 %rd9, %r1;", 'd', UINT64_MAX },
        { "mov.u32 %r1, 0x80; cvt.s16.s8 %h9, %r1;", 'h', 0xff80 },
        { "cvt.sat.u8.s32 %r9, -5;", 'w', 0 },
        { "cvt.sat.s8.s32 %r9, 300;", 'w', 127 },
        { "cvt.sat.s32.u32 %r9, 0xffffffff;", 'w', 0x7fffffff },
        { "cvt.sat.u32.s64 %r9, -1;", 'w', 0 },
        { "cvt.rzi.s32.f32 %r9, 0f4F800000;", 'w', 0x7fffffff },
        { "cvt.rzi.u32.f32 %r9, 0fBF800000;", 'w', 0 },
        { "cvt.rni.s32.f32 %r9, 0f40200000;", 'w', 2 },
        { "cvt.rmi.s32.f32 %r9, 0fC0200000;", 'w', (uint32_t)-3 },
        { "cvt.rzi.s32.f32 %r9, 0f7FC00000;", 'w', 0 },
        { "cvt.rzi.s64.f64 %rd9, 0d43E0000000000000;", 'd', INT64_MAX },
        { "cvt.rn.f32.u64 %r9, 0xffffffffffffffff;", 'w', 0x5f800000 },
        { "cvt.rn.f32.s32 %r9, 16777217;", 'w', 0x4b800000 },
        { "cvt.rn.f32.f64 %r9, 0d3FF0000010000000;", 'w', 0x3f800000 },
        { "cvt.rn.f32.f64 %r9, 0d3FF0000010000001;", 'w', 0x3f800001 },
        { "cvt.rni.f32.f32 %r9, 0f3F000000;", 'w', 0 },
        { "cvt.sat.f32.f32 %r9, 0f40000000;", 'w', 0x3f800000 },
        { "cvt.sat.f32.f32 %r9, 0f7FC00000;", 'w', 0 },
    };

    CHECK(values, PTX_EXACT);
}

static void f16_and_bf16_are_converted(void)
{
    static const struct value values[] = {
        { "cvt.rn.f16.f32 %h9, 0f3F801000;", 'h', 0x3c00 }, /* a tie */
        { "cvt.rn.f16.f32 %h9, 0f3F803000;", 'h', 0x3c02 },
        { "cvt.rn.f16.f32 %h9, 0f477FEFFF;", 'h', 0x7bff },
        { "cvt.rn.f16.f32 %h9, 0f477FF000;", 'h', 0x7c00 },
        { "cvt.rn.f16.f32 %h9, 0f33800000;", 'h', 0x0001 }, /* 2^-24 */
        { "cvt.rn.f16.f32 %h9, 0f33000000;", 'h', 0 },
        { "cvt.rn.f16.f32 %h9, 0fB3000001;", 'h', 0x8001 },
        { "cvt.rn.f16.f32 %h9, 0f387FF000;", 'h', 0x0400 }, /* up to a normal number */
        { "cvt.rn.f16.f32 %h9, 0f7F800001;", 'h', 0x7fff },
        { "cvt.rn.f16.f32 %h9, 0fFF800000;", 'h', 0xfc00 },
        { "mov.b16 %h1, 0x0001; cvt.f32.f16 %r9, %h1;", 'w', 0x33800000 },
        { "mov.b16 %h1, 0x8400; cvt.f32.f16 %r9, %h1;", 'w', 0xb8800000 },
        { "mov.b16 %h1, 0x7bff; cvt.f64.f16 %rd9, %h1;", 'd', 0x40effc0000000000 },
        { "cvt.rn.bf16.f32 %h9, 0f3F808000;", 'h', 0x3f80 },
        { "cvt.rn.bf16.f32 %h9, 0f3F808001;", 'h', 0x3f81 },
        { "cvt.rn.bf16.f32 %h9, 0f7F7FFFFF;", 'h', 0x7f80 },
        { "cvt.rn.bf16.f32 %h9, 0f00010000;", 'h', 0x0001 },
        { "cvt.rn.f16x2.f32 %r9, 0f40000000, 0f3F800000;", 'w', 0x40003c00 },
        { "cvt.rn.bf16x2.f32 %r9, 0f40000000, 0f3F800000;", 'w', 0x40003f80 },
        { "mov.b16 %h1, 0x3c10; fma.rn.f16 %h9, %h1, %h1, 0xbc00;", 'h', 0x2808 },
        { "add.rn.f16x2 %r9, 0x3c003c00, 0x3c000000;", 'w', 0x40003c00 },
        { "mov.b16 %h1, 0x3f81; mul.rn.bf16 %h9, %h1, %h1;", 'h', 0x3f82 },
    };

    CHECK(values, PTX_EXACT);
}

/* At the largest error 2^1 differs by 2^-21. The manual's special values are exact. */
static void approximate_instructions_have_a_largest_error(void)
{
    static const struct value exact[] = {
        { "ex2.approx.ftz.f32 %r9, 0f3F800000;", 'w', 0x40000000 },
        { "rcp.approx.ftz.f32 %r9, 0f40000000;", 'w', 0x3f000000 },
        { "lg2.approx.f32 %r9, 0f41000000;", 'w', 0x40400000 }
    };
    static const struct value low[] = { { "ex2.approx.ftz.f32 %r9, 0f3F800000;", 'w', 0x3ffffffc },
                                        { "rcp.approx.ftz.f32 %r9, 0f40000000;", 'w',
                                          0x3efffffe } };
    static const struct value high[] = { { "ex2.approx.ftz.f32 %r9, 0f3F800000;", 'w', 0x40000002 },
                                         { "rcp.approx.ftz.f32 %r9, 0f40000000;", 'w',
                                           0x3f000001 } };
    static const struct value special[] = { { "ex2.approx.ftz.f32 %r9, 0f00000000;", 'w',
                                              0x3f800000 },
                                            { "ex2.approx.f32 %r9, 0f80000000;", 'w', 0x3f800000 },
                                            { "ex2.approx.ftz.f32 %r9, 0f007FFFFF;", 'w',
                                              0x3f800000 },
                                            { "cos.approx.f32 %r9, 0f00000000;", 'w', 0x3f800000 },
                                            { "sin.approx.f32 %r9, 0f80000000;", 'w', 0x80000000 },
                                            { "lg2.approx.f32 %r9, 0f3F800000;", 'w', 0 },
                                            { "ex2.approx.ftz.f32 %r9, 0f7F800000;", 'w',
                                              0x7f800000 },
                                            { "rcp.approx.ftz.f32 %r9, 0f80000000;", 'w',
                                              0xff800000 },
                                            { "rsqrt.approx.f32 %r9, 0f00000000;", 'w',
                                              0x7f800000 } };

    CHECK(exact, PTX_EXACT);
    CHECK(special, PTX_EXACT);
    CHECK(low, PTX_LOW);
    CHECK(high, PTX_HIGH);
    CHECK(special, PTX_LOW);
    CHECK(special, PTX_HIGH);
}

static void memory_is_accessed_in_every_space(void)
{
    static const struct value values[] = {
        { "ld.const.u32 %r9, [table+8];", 'w', 9 },
        { "mov.u64 %rd1, table; cvta.const.u64 %rd1, %rd1; ld.u32 %r9, [%rd1+4];", 'w', 8 },
        { "st.local.u16 [local+2], 0x1234; ld.local.u32 %r1, [local]; shr.u32 %r9, %r1, 16;", 'w',
          0x1234 },
        { "st.local.v2.u32 [local], {1, 2}; ld.local.v2.u32 {%r1, %r2}, [local]; add.s32 %r9, %r1, "
          "%r2;",
          'w', 3 },
        { "mov.u64 %rd1, local; cvta.local.u64 %rd2, %rd1; st.u64 [%rd2], 77; ld.local.u64 %rd9, "
          "[%rd1];",
          'd', 77 },
        { "st.shared.u8 [shared], 200; ld.shared.s8 %r9, [shared];", 'w', (uint32_t)-56 },
        { "st.shared.u8 [shared], 200; ld.shared.u8 %h9, [shared];", 'h', 200 },
        { "mov.u64 %rd1, shared; cvta.shared.u64 %rd2, %rd1; st.shared.u32 [shared], 5;"
          "ld.u32 %r9, [%rd2];",
          'w', 5 },
        { "ld.param.u64 %rd9, [out];", 'd', OUT_AT },
        { "st.shared.u32 [shared], 0; atom.shared.add.u32 %r1, [shared], 1; bar.sync 0; "
          "ld.shared.u32 %r9, [shared];",
          'w', 32 },
        { "st.shared.u32 [shared], 9; atom.shared.cas.b32 %r1, [shared], 9, 4; ld.shared.u32 %r9, "
          "[shared];",
          'w', 4 },
        { "st.shared.u32 [shared], 1; red.shared.max.u32 [shared], %r0; ld.shared.u32 %r9, "
          "[shared];",
          'w', 31 },
        { "st.shared.u32 [shared], 0; atom.shared.inc.u32 %r1, [shared], 30; ld.shared.u32 %r9, "
          "[shared];",
          'w', 1 },
        { "st.shared.f32 [shared], 0f00000000; red.shared.add.f32 [shared], 0f3F800000; "
          "ld.shared.f32 %r9, [shared];",
          'w', 0x42000000 },
    };

    CHECK(values, PTX_EXACT);
}

static void lanes_exchange_values_by_warp_operations(void)
{
    static const struct value values[] = {
        { "setp.gt.u32 %p1, %r0, 7; vote.sync.ballot.b32 %r9, %p1, -1;", 'w', 0xffffff00 },
        { "setp.gt.u32 %p1, %r0, 7; vote.sync.any.pred %p9, %p1, -1;", 'p', 1 },
        { "setp.gt.u32 %p1, %r0, 7; vote.sync.all.pred %p9, %p1, -1;", 'p', 0 },
        { "redux.sync.add.u32 %r9, %r0, -1;", 'w', 496 },
        { "redux.sync.max.u32 %r9, %r0, -1;", 'w', 31 },
        { "activemask.b32 %r9;", 'w', 0xffffffff },
        { "shfl.sync.idx.b32 %r9, %r0, 5, 31, -1;", 'w', 5 },
        { "and.b32 %r1, %r0, 1; match.any.sync.b32 %r2, %r1, -1; shr.u32 %r9, %r2, %r1;", 'w',
          0x55555555 },
    };
    uint64_t out[LANES];

    CHECK(values, PTX_EXACT);
    CU_ASSERT(lanes_of("shfl.sync.down.b32 %r9|%p1, %r0, 4, 31, -1;", 'w', PTX_EXACT, out));
    for (unsigned l = 0; l < LANES; l++)
        CU_ASSERT_EQUAL(out[l], l < 28 ? l + 4 : l);
    CU_ASSERT(lanes_of("shfl.sync.up.b32 %r9, %r0, 1, 0, -1;", 'w', PTX_EXACT, out));
    for (unsigned l = 0; l < LANES; l++)
        CU_ASSERT_EQUAL(out[l], l ? l - 1 : 0);
    CU_ASSERT(lanes_of("shfl.sync.bfly.b32 %r9, %r0, 16, 31, -1;", 'w', PTX_EXACT, out));
    for (unsigned l = 0; l < LANES; l++)
        CU_ASSERT_EQUAL(out[l], l ^ 16);
    /* Segments of eight lanes. */
    CU_ASSERT(lanes_of("shfl.sync.down.b32 %r9|%p9, %r0, 1, 0x181f, -1;", 'p', PTX_EXACT, out));
    for (unsigned l = 0; l < LANES; l++)
        CU_ASSERT_EQUAL(out[l], l % 8 != 7);
}

/* ---- matrices ---- */

#define FRAGMENTS                                                                              \
    ".reg .b32 %f<20>; shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3; shl.b32 %r2, %r2, 1;\n"       \
    "mov.u32 %f4, 0; mov.u32 %f5, 0; mov.u32 %f6, 0; mov.u32 %f7, 0; mov.u32 %f8, 0;\n"
/* Register %f4 is a word of the unit matrix: its diagonal is in rows of the lane's group. */
#define UNIT(one)                                                                              \
    "setp.eq.s32 %p1, %r1, %r2; selp.b32 %f4, " one ", 0, %p1; add.s32 %r3, %r2, 1;\n"         \
    "setp.eq.s32 %p1, %r1, %r3; selp.b32 %r4, " one "0000, 0, %p1; or.b32 %f4, %f4, %r4;\n"
/* Registers %f10 and %f11: element k, n of the matrix is 8k + n. */
#define NUMBERS(type)                                                                          \
    "shl.b32 %r5, %r2, 3; add.s32 %r5, %r5, %r1; cvt.rn.f32.u32 %r6, %r5;\n"                   \
    "cvt.rn." type ".f32 %h1, %r6; add.s32 %r6, %r5, 8; cvt.rn.f32.u32 %r6, %r6;\n"            \
    "cvt.rn." type ".f32 %h2, %r6; mov.b32 %f10, {%h1, %h2}; add.s32 %r6, %r5, 64;\n"          \
    "cvt.rn.f32.u32 %r6, %r6; cvt.rn." type ".f32 %h1, %r6; add.s32 %r6, %r5, 72;\n"           \
    "cvt.rn.f32.u32 %r6, %r6; cvt.rn." type ".f32 %h2, %r6; mov.b32 %f11, {%h1, %h2};\n"
#define M16N8K8(type)                                                                          \
    "mma.sync.aligned.m16n8k8.row.col.f32." type "." type ".f32 {%f0, %f1, %f2, %f3}, "        \
    "{%f4, %f5}, {%f10}, {%f8, %f8, %f8, %f8};\n"
#define M16N8K16(type)                                                                         \
    "mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%f0, %f1, %f2, %f3}, "       \
    "{%f4, %f5, %f6, %f7}, {%f10, %f11}, {%f8, %f8, %f8, %f8};\n"

/* The statements' product in each lane is that of the unit matrix and the matrix of numbers. */
static void check_product(const char *statements, unsigned below)
{
    char text[3072];
    uint64_t out[LANES];

    for (unsigned n = 0; n < 4; n++) {
        snprintf(text, sizeof(text), "%scvt.rzi.u32.f32 %%r9, %%f%u;", statements, n);
        CU_ASSERT(lanes_of(text, 'w', PTX_EXACT, out));
        for (unsigned l = 0; l < LANES; l++)
            CU_ASSERT_EQUAL(out[l], l / 4 * 8 + l % 4 * 2 + n % 2 + (n > 1 ? below : 0));
    }
}

static void matrix_fragments_have_the_layout_that_ptx_documents(void)
{
    check_product(FRAGMENTS UNIT("0x3c00") NUMBERS("f16") "mov.u32 %f5, %f4;\n" M16N8K8("f16"), 0);
    check_product(
        FRAGMENTS UNIT("0x3f80") NUMBERS("bf16") "mov.u32 %f5, %f4;\n" M16N8K8("bf16"), 0);
    check_product(FRAGMENTS UNIT("0x3c00") NUMBERS("f16") "mov.u32 %f7, %f4;\n" M16N8K16("f16"),
                  64);
    check_product(FRAGMENTS UNIT("0x3f80")
                      NUMBERS("bf16") "mov.u32 %f7, %f4;\n" M16N8K16("bf16"),
                  64);
}

/* 1 and eight products of 2^-26, in rows 0 to 7. */
static void matrix_products_accept_any_rounding(void)
{
    static const char sum[] = FRAGMENTS "mov.u32 %f4, 0x08000800; mov.u32 %f10, %f4;\n"
                                        "mov.u32 %f8, 0f3F800000;\n" M16N8K8("f16")
                                            "mov.u32 %r9, %f1;";
    static const struct value exact[] = { { sum, 'w', 0x3f800001 } };
    static const struct value low[] = { { sum, 'w', 0x3f800000 } };
    static const struct value high[] = { { sum, 'w', 0x3f800008 } };

    CHECK(exact, PTX_EXACT);
    CHECK(low, PTX_LOW);
    CHECK(high, PTX_HIGH);
}

/* Lanes that went different ways meet where the ways join. */
static void lanes_reconverge_after_a_branch(void)
{
    uint64_t out[LANES];

    CU_ASSERT(lanes_of("and.b32 %r1, %r0, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra $L__even;\n"
                       "mov.u32 %r2, 10; bra.uni $L__join;\n$L__even: mov.u32 %r2, 20;\n"
                       "$L__join: activemask.b32 %r3; add.s32 %r9, %r2, %r3;",
                       'w', PTX_EXACT, out));
    for (unsigned l = 0; l < LANES; l++)
        CU_ASSERT_EQUAL(out[l], l % 2 ? 9u : 19u);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(integers_are_computed),
        FERRY_TEST(bits_are_computed),
        FERRY_TEST(floats_are_rounded_once),
        FERRY_TEST(conversions_are_rounded_and_saturated),
        FERRY_TEST(f16_and_bf16_are_converted),
        FERRY_TEST(approximate_instructions_have_a_largest_error),
        FERRY_TEST(memory_is_accessed_in_every_space),
        FERRY_TEST(lanes_exchange_values_by_warp_operations),
        FERRY_TEST(lanes_reconverge_after_a_branch),
        FERRY_TEST(matrix_fragments_have_the_layout_that_ptx_documents),
        FERRY_TEST(matrix_products_accept_any_rounding),
    };

    return ferry_test_main(argc, argv, "ptx-opcodes", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AMX's instructions. The registers 0 to 7 are tiles of up to 16 rows of up to 64 bytes, whose
 * shapes AMX_CONFIGURE sets from a structure of 64 bytes; it fills them with zeros. Register
 * numbers are literals. A test defines the macros before this file, by its model of the
 * instructions.
 *
 * The statements name no registers as changed, since the compiler uses none of them; "memory" keeps
 * their order with other accesses. The assembler needs AMX, the compiler does not.
 */
#ifndef FERRY_CPU_OP_AMX_H
#define FERRY_CPU_OP_AMX_H

#ifndef AMX_CONFIGURE
#define AMX_CONFIGURE(config) __asm__ volatile("ldtilecfg (%0)" : : "r"(config) : "memory")
/* Back to the initial state, in which the registers have no shapes. */
#define AMX_RELEASE() __asm__ volatile("tilerelease" : : : "memory")
#define AMX_ZERO(t)   __asm__ volatile("tilezero %%tmm" #t : : : "memory")
/* `next` is the distance in bytes from a row to the next. */
#define AMX_LOAD(t, p, next)                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t                \
                     :                                              \
                     : "r"((const void *)(p)), "r"((int64_t)(next)) \
                     : "memory")
#define AMX_STORE(t, p, next)                                 \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)"      \
                     :                                        \
                     : "r"((void *)(p)), "r"((int64_t)(next)) \
                     : "memory")
/*
 * c += a · b. A row of b has one group of four bytes, or of two numbers of BF16, of each column; a
 * row of a has as many groups as b has rows. `a` of AMX_DOT_U8 has no signs.
 */
#define AMX_DOT(name, c, a, b) \
    __asm__ volatile(name " %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define AMX_DOT_U8(c, a, b)   AMX_DOT("tdpbusd", c, a, b)
#define AMX_DOT_I8(c, a, b)   AMX_DOT("tdpbssd", c, a, b)
#define AMX_DOT_BF16(c, a, b) AMX_DOT("tdpbf16ps", c, a, b)
#endif

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/op_types.h>
#include <stdio.h>

/*
 * Strided copies from each dtype to each other dtype. If a plugin computes only in F32, ferry
 * converts its halves by dtypes that it accepts.
 */

static void copy(uint32_t from, uint32_t to, const int64_t *shape)
{
    ferry_op_desc op = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);
    char note[16];

    snprintf(note, sizeof(note), "to %s", kit_dtype_name(to));
    op_shape(&op.in[0], from, shape);
    op_shape(&op.out[0], to, shape);
    op_try(&op, note, false);
}

void op_conversion_trials(void)
{
    static const int64_t shapes[][5] = {
        { 1, -1 }, { 3, 71, -1 }, { 2, 3, 5, 7, -1 }, { 1037, -1 }
    };

    for (uint32_t from = 0; from < FERRY_DTYPE_COUNT; from++)
        for (uint32_t to = 0; to < FERRY_DTYPE_COUNT; to++)
            for (size_t i = 0; to != from && i < sizeof(shapes) / sizeof(shapes[0]); i++)
                copy(from, to, shapes[i]);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rounds.h"

#include "fixture.h"

#include <ferry/op.h>

#include <string.h>

bool rounds_to_bf16(ferry_device *dev, int64_t rows, int64_t terms, int64_t outputs)
{
    const int64_t x[2] = { rows, terms }, w[2] = { outputs, terms }, y[2] = { rows, outputs };
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_op_desc op = { .struct_size = sizeof op,
                         .kind = FERRY_OP_INNER_PRODUCT,
                         .math = FERRY_MATH_BF16,
                         .n_in = 2,
                         .n_out = 1 };

    op.in[0] = ferry_operand_make(FERRY_F32, x, 2, NULL);
    op.in[1] = ferry_operand_make(FERRY_F32, w, 2, NULL);
    op.out[0] = ferry_operand_make(FERRY_F32, y, 2, NULL);
    FX_OK_FATAL(ferry_operation_query(dev, &op, &plan));
    return !strncmp(ferry_device_name(dev), "cpu", 3) && (plan.math & FERRY_MATH_BF16);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-backward.h"

#include "arith.h"

#include "tests/reference/reference.h"

#include <string.h>

#define DATA    FERRY_PASS_BACKWARD_DATA
#define WEIGHTS FERRY_PASS_BACKWARD_WEIGHTS
#define BIAS    FERRY_PASS_BACKWARD_BIAS

const struct ob_pass ob_passes[] = {
    { FERRY_OP_CONVOLUTION, DATA, OB_X },
    { FERRY_OP_CONVOLUTION, WEIGHTS, OB_U },
    { FERRY_OP_CONVOLUTION, BIAS, OB_V },
    { FERRY_OP_INNER_PRODUCT, DATA, OB_X },
    { FERRY_OP_INNER_PRODUCT, WEIGHTS, OB_U },
    { FERRY_OP_INNER_PRODUCT, BIAS, OB_V },
    { FERRY_OP_POOL, DATA, OB_X },
    { FERRY_OP_UNARY, DATA, OB_X },
    { FERRY_OP_BINARY, DATA, OB_X },
    { FERRY_OP_BINARY, WEIGHTS, OB_U },
    { FERRY_OP_BINARY, BIAS, OB_V },
    { FERRY_OP_REDUCE, DATA, OB_X },
    { FERRY_OP_MOMENTS, DATA, OB_X },
    { FERRY_OP_SOFTMAX, DATA, OB_X },
    { FERRY_OP_LRN, DATA, OB_X },
    { FERRY_OP_RESIZE, DATA, OB_X },
};
const int ob_pass_count = sizeof ob_passes / sizeof *ob_passes;

/* The inputs of the pass after dy; NULL: the function lacks the pass. */
static const char *unary_inputs(uint32_t function)
{
    switch (function) {
    case FERRY_UNARY_ELU:
    case FERRY_UNARY_SIGMOID:
    case FERRY_UNARY_TANH:
    case FERRY_UNARY_EXP:
        return "y";
    case FERRY_UNARY_THRESHOLD:
        return NULL;
    default:
        return "x";
    }
}

static const char *binary_inputs(uint32_t function, uint32_t pass)
{
    switch (function) {
    case FERRY_BINARY_SUM:
        return pass == WEIGHTS ? "" : NULL;
    case FERRY_BINARY_PRODUCT:
        return pass == WEIGHTS ? "x" : NULL;
    case FERRY_BINARY_SCALE:
        return pass == WEIGHTS ? "x" : pass == BIAS ? "" : NULL;
    case FERRY_BINARY_MAX:
        return pass == BIAS ? NULL : "xu";
    case FERRY_BINARY_PRELU:
        return pass == BIAS ? NULL : pass == WEIGHTS ? "x" : "xu";
    default:
        return NULL;
    }
}

static const char *inputs(const ferry_op_desc *f, uint32_t pass)
{
    switch (f->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
        return pass == DATA ? "u" : pass == WEIGHTS ? "x" : "";
    case FERRY_OP_POOL:
        return f->params.pool.method == FERRY_POOL_MAX ? "s" : "";
    case FERRY_OP_UNARY:
        return unary_inputs(f->params.unary.function);
    case FERRY_OP_BINARY:
        return binary_inputs(f->params.binary.function, pass);
    case FERRY_OP_REDUCE:
        return f->params.reduce.function == FERRY_REDUCE_SUM  ? ""
               : f->params.reduce.function < FERRY_REDUCE_MAX ? "x"
                                                              : NULL;
    case FERRY_OP_MOMENTS:
        return f->math ? "ys" : "";
    case FERRY_OP_SOFTMAX:
        return "y";
    case FERRY_OP_LRN:
        return "xys";
    default:
        return "";
    }
}

static const ferry_operand *operand_of(const ferry_op_desc *f, enum ob_role role)
{
    switch (role) {
    case OB_X:
        return &f->in[0];
    case OB_U:
        return &f->in[1];
    case OB_V:
        return &f->in[2];
    case OB_EXTRA:
        return &f->out[f->kind == FERRY_OP_MOMENTS ? 0 : 1];
    default: /* the normalised operand has x's layout */
        return f->kind == FERRY_OP_MOMENTS ? &f->in[0] : &f->out[0];
    }
}

/* The operands that the pass needs and the forward operation lacks: a mask, a scale, a bias. */
static void complete(struct om_numbers *n, const struct ob_pass *pass, ferry_op_desc *f)
{
    if (f->kind == FERRY_OP_POOL && f->params.pool.method == FERRY_POOL_MAX) {
        f->n_out = 2;
        f->out[1] = f->out[0];
        f->out[1].dtype = om_pick(n, 2) ? FERRY_I32 : FERRY_F32;
    } else if (f->kind == FERRY_OP_LRN) {
        f->n_out = 2;
        f->out[1] = f->out[0];
    } else if (f->kind == FERRY_OP_MOMENTS) {
        f->math = (uint32_t)om_pick(n, 2); /* used only in this file: with the variance */
    } else if (f->kind == FERRY_OP_BINARY && pass->pass == BIAS &&
               f->params.binary.function == FERRY_BINARY_SCALE && f->n_in < 3) {
        f->in[f->n_in++] = f->in[1];
    } else if (pass->pass == BIAS && f->kind != FERRY_OP_BINARY) {
        f->n_in = 3;
    }
}

void ob_make(struct om_numbers *n, const struct ob_pass *pass, ferry_op_desc *forward,
             ferry_op_desc *backward, enum ob_role *roles)
{
    static const char letters[] = "xuvys";
    const char *in;

    do {
        om_make(n, pass->kind, 0, forward);
        complete(n, pass, forward);
        in = inputs(forward, pass->pass);
    } while (!in);
    ferry_op_desc_init(backward, pass->kind);
    backward->pass = pass->pass;
    backward->params = forward->params;
    backward->in[0] = *operand_of(forward, OB_Y);
    roles[0] = OB_DY;
    for (backward->n_in = 1; *in; in++, backward->n_in++) {
        roles[backward->n_in] = (enum ob_role)(strchr(letters, *in) - letters);
        backward->in[backward->n_in] = *operand_of(forward, roles[backward->n_in]);
    }
    forward->math = 0;
    backward->n_out = 1;
    backward->out[0] = *operand_of(forward, pass->of);
}

void ob_fill_mask(struct om_numbers *n, const ferry_op_desc *backward, void *mask)
{
    const ferry_op_window *w = &backward->params.window;
    const ferry_operand *o = &backward->in[1], *image = &backward->out[0];
    int64_t at[FERRY_OP_AXES] = { 0 };

    if (op_count(o) == 0)
        return;
    do {
        int64_t x[FERRY_OP_SPATIAL] = { 0 }, k[FERRY_OP_SPATIAL] = { 0 }, place = 0;
        uint32_t i;

        for (i = 0; i < w->axes; i++)
            k[i] = om_pick(n, w->kernel[i]);
        if (!om_pick(n, 10))
            place = om_pick(n, 200) - 2;
        else if (!op_covered(w, &image->shape[2], &at[2], k, x))
            place = -1;
        else
            for (i = 0; i < w->axes; i++)
                place = place * image->shape[2 + i] + x[i];
        arith_put((ferry_dtype)o->dtype, mask, op_place(o, at), (long double)place);
    } while (op_next(o, at));
}

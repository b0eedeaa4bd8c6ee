/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/device.h>
#include <ferry/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a prepared operation: once, again, on two queues, and with other constants. */

/* scale, l2, l1, rate, momentum, decay, delta */
const double op_scalars[FERRY_UPDATE_SCALARS] = { 0.5, 0.0625, 0.03125, 0.25, 0.75, 0.875, 0.125 };

/* Bytes around packed constants and workspaces, which keep their alignment. */
static uint64_t margin(void)
{
    return (uint64_t)kit_first(64, 1);
}

/* ---- text ----------------------------------------------------------------------------------- */

static size_t put_numbers(char *text, size_t size, const int64_t *numbers, uint32_t n)
{
    size_t used = 0;

    for (uint32_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "x" : "", numbers[i]);
    return used < size ? used : size - 1;
}

/* "2x3x4 by 12x4x1": shape and strides. */
static size_t put_operand(char *text, size_t size, const char *what, const ferry_operand *o)
{
    size_t used = (size_t)snprintf(text, size, "%s", what);

    used += put_numbers(text + used, size - used, o->shape, o->rank);
    used += (size_t)snprintf(text + used, size - used, " by ");
    return used + put_numbers(text + used, size - used, o->stride, o->rank);
}

/* " function RELU", or its number in op_params.h, if the kind has functions. */
static const char *function_text(const ferry_op_desc *op)
{
    static char text[32];

    text[0] = '\0';
    if (op->kind == FERRY_OP_UNARY)
        snprintf(text, sizeof(text), " function %s", op_unary_name(op->params.unary.function));
    else if (op->kind == FERRY_OP_BINARY || op->kind == FERRY_OP_REDUCE ||
        op->kind == FERRY_OP_RANDOM || op->kind == FERRY_OP_UPDATE)
        snprintf(text, sizeof(text), " function %" PRIu32, op->params.unary.function);
    else if (op->kind == FERRY_OP_POOL)
        snprintf(text, sizeof(text), " method %" PRIu32, op->params.pool.method);
    return text;
}

void op_say(const ferry_op_desc *op, const char *note, const char *doing)
{
    static const char *const passes[] = { "", " backward data", " backward weights",
                                          " backward bias" };
    uint32_t dtype = op->n_in ? op->in[0].dtype : op->out[0].dtype;
    char text[200];
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", "");

    for (uint32_t i = 0; i < op->n_in && n < 150; i++)
        n += put_operand(text + n, sizeof(text) - n, i ? ", " : "", &op->in[i]);
    if (n < 170)
        put_operand(text + n, sizeof(text) - n, n ? " to " : "to ", &op->out[0]);
    kit_case("%s%s%s %s%s%s, %s%s%s", ferry_op_kind_name(op->kind), passes[op->pass & 3],
             function_text(op), kit_dtype_name(dtype), note[0] ? " " : "", note, text,
             doing[0] ? ", " : "", doing);
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* One prepared operation and its buffers. */
struct run {
    const ferry_op_desc *op;
    ferry_op_answer answer;
    void *prepared;
    bool in_place;
    struct op_block in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    struct mirror packed;
    struct op_number *want[FERRY_OP_OUTPUTS];
};

/* NaN, unless the operation also reads it: a pass that accumulates, or an update. */
static void create_output(const ferry_op_desc *op, uint32_t n, struct op_block *out)
{
    if (op_reads_outputs(op)) {
        op_block_create(out, &op->out[n], 31 + n);
        op_block_suit(out, op, true, n);
    } else {
        op_block_output(out, &op->out[n], 31 + n);
    }
}

static void create_blocks(struct run *r)
{
    const ferry_op_desc *op = r->op;

    for (uint32_t i = 0; i < op->n_in; i++) {
        op_block_create(&r->in[i], &op->in[i], 11 + i);
        op_block_suit(&r->in[i], op, false, i);
    }
    for (uint32_t i = 0; i < op->n_out; i++)
        create_output(op, i, &r->out[i]);
    if (r->in_place) {
        mirror_destroy(r->out[0].m);
        r->out[0].m = r->in[0].m;
    }
    if (r->answer.packed_bytes)
        mirror_create(&r->packed, r->answer.packed_bytes + 2 * margin(), 51);
}

static void destroy_blocks(struct run *r)
{
    for (uint32_t i = 0; i < r->op->n_in; i++)
        op_block_destroy(&r->in[i]);
    for (uint32_t i = 0; i < r->op->n_out; i++) {
        op_block_destroy(&r->out[i]);
        free(r->want[i]);
    }
    if (r->answer.packed_bytes)
        mirror_destroy(&r->packed);
}

/* Computed before the run: an operation in place overwrites its input. */
static void expect_all(struct run *r)
{
    struct op_view in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    const struct op_scene s = {
        r->op, op_own_inputs(r->op), in, out, op_scalars, OP_SEED, OP_OFFSET
    };

    for (uint32_t n = 0; n < r->op->n_in; n++)
        in[n] = op_block_view(&r->in[n]);
    for (uint32_t n = 0; n < r->op->n_out; n++)
        out[n] = op_block_view(&r->out[n]);
    for (uint32_t n = 0; n < r->op->n_out; n++) {
        int64_t i[FERRY_OP_AXES] = { 0 }, k = 0;

        free(r->want[n]);
        r->want[n] = kit_host((size_t)op_count(&r->op->out[n]) * sizeof(**r->want));
        do
            if (!op_expect(&s, n, i, &r->want[n][k++]))
                kit_fail("the check itself does not know the kind");
        while (op_next(&r->op->out[n], i));
    }
}

/* Checks that the guards are unchanged; everything between them may change. */
static void check_guards(struct mirror *m, const char *what)
{
    mirror_download(m);
    if (memcmp(m->got, m->want, margin()) != 0 ||
        memcmp(m->got + m->bytes - margin(), m->want + m->bytes - margin(), margin()) != 0)
        kit_fail("wrote outside its %s of %" PRIu64 " bytes", what, m->bytes - 2 * margin());
}

static void prepare(struct run *r)
{
    ferry_cref in[FERRY_OP_INPUTS] = { { NULL, 0 } };

    if (!r->answer.packed_bytes)
        return;
    for (uint32_t i = 0; i < r->op->n_in; i++)
        if (r->answer.packed_inputs >> i & 1)
            in[i] = ferry_ref_const(op_block_ref(&r->in[i]));
    kit_ok(op_table->prepare(kit.dev, NULL, r->prepared, in, mirror_ref(&r->packed, margin())),
           "prepare");
    kit_wait(NULL);
    check_guards(&r->packed, "packed constants");
}

/* Submits one run with these outputs. */
static void enqueue(struct run *r, void *queue, struct op_block *outputs, struct mirror *workspace)
{
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = out, .seed = OP_SEED, .offset = OP_OFFSET
    };

    for (uint32_t i = 0; i < r->op->n_in; i++)
        in[i] = r->answer.packed_inputs >> i & 1 ? (ferry_cref){ NULL, 0 }
                                                 : ferry_ref_const(op_block_ref(&r->in[i]));
    for (uint32_t i = 0; i < r->op->n_out; i++)
        out[i] = op_block_ref(&outputs[i]);
    if (r->op->kind == FERRY_OP_UPDATE) {
        args.scalars = op_scalars;
        args.scalar_count = FERRY_UPDATE_SCALARS;
    }
    if (r->answer.packed_bytes)
        args.packed = mirror_ref(&r->packed, margin());
    if (r->answer.workspace_bytes) {
        mirror_create(workspace, r->answer.workspace_bytes + 2 * margin(), 61);
        args.workspace = mirror_ref(workspace, margin());
    }
    kit_ok(op_table->run(kit.dev, queue, r->prepared, &args), "run");
}

static void finish(const struct run *r, void *queue, struct mirror *workspace)
{
    kit_wait(queue);
    if (!r->answer.workspace_bytes)
        return;
    check_guards(workspace, "workspace");
    mirror_destroy(workspace);
}

static void check_results(struct run *r)
{
    char what[16];

    for (uint32_t i = 0; i < r->op->n_out; i++) {
        snprintf(what, sizeof(what), "out[%" PRIu32 "]", i);
        op_block_check(&r->out[i], what, r->want[i]);
    }
    for (uint32_t i = r->in_place; i < r->op->n_in; i++) {
        mirror_download(r->in[i].m);
        if (memcmp(r->in[i].m->got, r->in[i].m->want, r->in[i].m->bytes) != 0)
            kit_fail("in[%" PRIu32 "] has changed", i);
    }
}

static void run_once(struct run *r)
{
    struct mirror workspace;

    enqueue(r, NULL, r->out, &workspace);
    finish(r, NULL, &workspace);
    check_results(r);
}

/* ---- again ---------------------------------------------------------------------------------- */

/* Runs into other outputs, which must be identical, on one queue, or on two at once. */
static void run_again(struct run *r, int queues)
{
    struct op_block out[2][FERRY_OP_OUTPUTS];
    struct mirror workspace[2];
    void *queue[2] = { NULL, NULL };

    for (int q = 0; q < queues; q++) {
        if (queues > 1)
            kit_ok(kit.ops.queue_create(kit.dev, 0, &queue[q]), "queue_create");
        for (uint32_t i = 0; i < r->op->n_out; i++)
            create_output(r->op, i, &out[q][i]);
    }
    for (int q = 0; q < queues; q++)
        enqueue(r, queue[q], out[q], &workspace[q]);
    for (int q = 0; q < queues; q++) {
        finish(r, queue[q], &workspace[q]);
        for (uint32_t i = 0; i < r->op->n_out; i++) {
            mirror_download(out[q][i].m);
            if (memcmp(out[q][i].m->got, r->out[i].m->got, out[q][i].m->bytes) != 0)
                kit_fail("out[%" PRIu32 "] differs in bits from the first run", i);
            op_block_destroy(&out[q][i]);
        }
        if (queue[q])
            kit_ok(kit.ops.queue_destroy(kit.dev, queue[q]), "queue_destroy");
    }
}

/* Runs after the constants have been rewritten, and packs them again, as ferry does. */
static void run_rewritten(struct run *r)
{
    for (uint32_t i = 0; i < r->op->n_in; i++)
        if (r->answer.packed_inputs >> i & 1)
            op_block_refill(&r->in[i], 71 + i);
    prepare(r);
    expect_all(r);
    run_once(r);
}

void op_run(const ferry_op_desc *op, const ferry_op_answer *answer, void *prepared,
            const char *note, bool in_place, bool queues)
{
    struct run all = { .op = op, .answer = *answer, .prepared = prepared, .in_place = in_place };
    struct run *r = &all;

    create_blocks(r);
    expect_all(r);
    prepare(r);
    run_once(r);
    if (!r->in_place) {
        op_say(r->op, note, "once more");
        run_again(r, 1);
        if (queues && kit.ops.queue_create && kit.ops.queue_destroy) {
            op_say(r->op, note, "on two queues");
            run_again(r, 2);
        }
    }
    if (r->answer.packed_inputs) {
        op_say(r->op, note, "with other constants");
        run_rewritten(r);
    }
    destroy_blocks(r);
}

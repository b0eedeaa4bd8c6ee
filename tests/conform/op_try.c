/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <string.h>

/* A trial: the answer of query for an operation, in each layout, and whether it holds. */

const ferry_op_table *op_table;
struct op_tally op_tally;

/* ---- query ---------------------------------------------------------------------------------- */

static bool is_order(const uint8_t *order, uint32_t rank)
{
    uint32_t seen = 0, sum = 0;

    for (uint32_t i = 0; i < rank; i++) {
        sum += order[i];
        seen |= order[i] < FERRY_OP_AXES ? 1u << order[i] : 0;
    }
    return sum == 0 || seen == (1u << rank) - 1;
}

static void check_answer(const ferry_op_desc *op, const ferry_op_answer *a)
{
    if (a->struct_size != sizeof(*a))
        kit_fail("query changed the answer's struct_size to %" PRIu32, a->struct_size);
    if (a->epilogue > op->n_epilogue)
        kit_fail("query accepts %" PRIu32 " epilogue steps of %" PRIu32, a->epilogue,
                 op->n_epilogue);
    if (!is_order(a->order, op->in[0].rank))
        kit_fail("query's order is not a permutation of the %" PRIu32 " axes", op->in[0].rank);
    if (a->packed_inputs & ~op->constants)
        kit_fail("query packs inputs 0x%" PRIx32 ", of which only 0x%" PRIx32 " are constants",
                 a->packed_inputs, op->constants);
    if (a->packed_inputs && !a->packed_bytes)
        kit_fail("query packs inputs 0x%" PRIx32 " into 0 bytes", a->packed_inputs);
    if (a->packed_bytes > UINT64_C(1) << 30 || a->workspace_bytes > UINT64_C(1) << 30)
        kit_fail("query requires %" PRIu64 " bytes packed and %" PRIu64 " of workspace for this",
                 a->packed_bytes, a->workspace_bytes);
}

int op_ask(const ferry_op_desc *op, ferry_op_answer *out)
{
    struct {
        ferry_op_answer answer;
        unsigned char guard[64];
    } room;
    int code;

    memset(&room, 0, sizeof(room));
    memset(room.guard, 0xee, sizeof(room.guard));
    room.answer.struct_size = sizeof(room.answer);
    code = op_table->query(kit.dev, op, &room.answer);
    for (size_t i = 0; i < sizeof(room.guard); i++)
        if (room.guard[i] != 0xee)
            kit_fail("query wrote past the answer's struct_size");
    *out = room.answer;
    if (code != FERRY_EUNSUPPORTED)
        kit_ok(code, "query");
    return code;
}

static bool query(const ferry_op_desc *op, ferry_op_answer *out)
{
    ferry_op_answer again;
    int code = op_ask(op, out);

    if (code != op_ask(op, &again) || (code == 0 && memcmp(out, &again, sizeof(again)) != 0))
        kit_fail("query gave a different answer when asked again");
    if (code == 0)
        check_answer(op, out);
    return code == 0;
}

/* ---- a trial -------------------------------------------------------------------------------- */

void op_cut(ferry_op_desc *op, uint32_t steps)
{
    for (uint32_t k = op->n_epilogue; k-- > steps;)
        op->n_in -= op->epilogue[k].step != FERRY_STEP_UNARY;
    op->n_epilogue = steps;
    op->constants &= (1u << op->n_in) - 1;
}

bool op_try_laid(const ferry_op_desc *op, const char *note, bool in_place, bool queues)
{
    ferry_op_desc cut = *op;
    ferry_op_answer answer;
    void *prepared = NULL;

    op_say(op, note, "");
    if (ferry_op_desc_check(op) != FERRY_OK)
        kit_fail("the check itself is wrong: %s", ferry_last_error());
    if (!query(op, &answer))
        return false;
    if (answer.epilogue < op->n_epilogue) { /* ferry computes the other steps by operations of their
                                             * own */
        op_cut(&cut, answer.epilogue);
        if (!query(&cut, &answer))
            kit_fail("query refuses the operation without the epilogue that it did not accept");
    }
    op_create(&cut, &prepared);
    if (op_count(&op->out[0])) /* ferry does not run operations with empty outputs */
        op_run(&cut, &answer, prepared, note, in_place, queues);
    op_table->destroy(kit.dev, prepared);
    op_tally.kinds |= op->kind >= 32 && op->kind < 64 ? UINT64_C(1) << (op->kind - 32) : 0;
    return true;
}

void op_try(const ferry_op_desc *op, const char *note, bool in_place)
{
    static const struct {
        enum op_layout first, others, out;
    } layouts[] = { { OP_PLAIN, OP_PLAIN, OP_PLAIN }, { OP_LAST, OP_PLAIN, OP_LAST },
                 { OP_SLICE, OP_PLAIN, OP_SLICE }, { OP_LAST_SLICE, OP_PLAIN, OP_LAST_SLICE },
                 { OP_WIDE, OP_WIDE, OP_WIDE },    { OP_PLAIN, OP_LAST, OP_LAST } };
    bool plain = false;

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        ferry_op_desc laid = *op;
        bool done;

        for (uint32_t k = 0; k < op->n_in; k++)
            op_lay(&laid.in[k], k ? layouts[i].others : layouts[i].first);
        for (uint32_t k = 0; k < op->n_out; k++)
            op_lay(&laid.out[k], layouts[i].out);
        if (in_place && layouts[i].first != layouts[i].out)
            continue;
        done = op_try_laid(&laid, note, in_place, i % 3 == 0);
        if (done && i && !plain)
            kit_fail("query accepts these strides but refuses the same operation with plain ones");
        plain = plain || done;
        op_tally.tried++;
        op_tally.taken += done;
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ops: the table "ferry.op/1", and each kind of operation, compared with the kit's reference. */

static void take_table(void)
{
    const size_t mandatory = offsetof(ferry_op_table, begin); /* the table of ABI 1.1 ends here */
    const void *found = NULL;
    int code;

    kit_case("extension");
    if (kit.ops.extension(kit.dev, "acme.nonesuch/1", &found) != FERRY_EUNSUPPORTED)
        kit_fail("extension of an invalid name is not FERRY_EUNSUPPORTED");
    code = kit.ops.extension(kit.dev, FERRY_OP_EXTENSION, &found);
    if (code == FERRY_EUNSUPPORTED)
        kit_not_offered("no extension \"" FERRY_OP_EXTENSION "\"; ferry computes on the host");
    kit_ok(code, "extension(\"" FERRY_OP_EXTENSION "\")");
    if (!found)
        kit_fail("it returned 0 and stored no table");
    op_table = found;
    if (op_table->struct_size < mandatory)
        kit_fail("the table's struct_size is %" PRIu32
                 ", less than the size of its mandatory entries (%zu)",
                 op_table->struct_size, mandatory);
    if (!op_table->query || !op_table->create || !op_table->prepare || !op_table->run ||
        !op_table->destroy)
        kit_fail("an entry of the table is NULL; all are mandatory");
}

static void refused(const ferry_op_desc *op, const char *what)
{
    ferry_op_answer answer;

    kit_case("query of %s", what);
    if (op_ask(op, &answer) == 0)
        kit_fail("query returned 0");
}

/* Operations of a later version of ferry, and a larger structure. */
static void unknown(void)
{
    struct {
        ferry_op_desc op;
        unsigned char more[64];
    } later;
    ferry_op_desc *op = &later.op;
    ferry_op_answer answer;
    int before;

    ferry_op_desc_init(op, FERRY_OP_UNARY);
    op->n_in = op->n_out = 1;
    op->in[0] = (ferry_operand){ .dtype = FERRY_F32, .rank = 1, .shape = { 9 }, .stride = { 1 } };
    op->out[0] = op->in[0];
    kit_case("query of an operation of a later minor, which is larger");
    before = op_ask(op, &answer);
    memset(later.more, 0xee, sizeof(later.more));
    op->struct_size = sizeof(later);
    if (op_ask(op, &answer) != before)
        kit_fail("query gave another answer than for the current size");
    op->struct_size = sizeof(*op);
    op->kind = 60;
    refused(op, "an unknown kind");
    op->kind = UINT32_MAX;
    refused(op, "an unknown kind, 4294967295");
    op->kind = FERRY_OP_UNARY;
    op->pass = 77;
    refused(op, "an unknown pass");
    op->pass = FERRY_PASS_FORWARD;
    op->in[0].dtype = op->out[0].dtype = 200;
    refused(op, "an unknown dtype");
    op->in[0].dtype = op->out[0].dtype = FERRY_F32;
    op->params.unary.function = 900;
    refused(op, "an unknown function");
    op->kind = FERRY_OP_NAMED;
    memset(&op->params, 0, sizeof(op->params));
    strcpy(op->params.named.name, "acme.nonesuch/1");
    refused(op, "an operation with an invalid name");
    memset(op->params.named.name, 'n', sizeof(op->params.named.name));
    refused(op, "an operation whose name lacks a NUL");
}

void op_open(void)
{
    kit_open();
    if (!kit.ops.extension)
        kit_not_offered("no extension entry; ferry computes on the host");
    take_table();
}

void op_remark(const char *dtypes)
{
    char names[400] = "";
    size_t n = 0;

    for (uint32_t k = 0; k < 32; k++)
        if (op_tally.kinds >> k & 1 && n < sizeof(names) - 40)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
                                  ferry_op_kind_name(32 + k));
    if (!op_tally.taken)
        kit_not_offered("its table accepts none of %d operations", op_tally.tried);
    kit_remark("%d of %d trials, %s: %s", op_tally.taken, op_tally.tried, dtypes, names);
}

void group_ops(void)
{
    ferry_plugin_counters before, after;
    bool counts;
    uint32_t mask = 0;

    op_open();
    unknown();
    counts = kit_counters(&before);
    for (uint32_t t = FERRY_F32; t <= FERRY_F64; t++) {
        int so_far = op_tally.taken;

        op_trials(t);
        mask |= op_tally.taken > so_far ? 1u << t : 0;
    }
    op_conversion_trials();
    kit_case("counters after %d operations", op_tally.taken);
    if (counts && kit_counters(&after) && after.live_blocks != before.live_blocks)
        kit_fail("live_blocks was %" PRIu64 ", is %" PRIu64, before.live_blocks, after.live_blocks);
    op_remark(kit_dtype_list(mask));
}

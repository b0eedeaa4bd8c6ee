/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes copies of whole diffs from a planned backward pass, such as those of Eltwise and Split:
 * the items that read the copy read its source instead, as long as neither is written. An item that
 * works in place on the copy reads the source and writes the copy.
 */
#include "net/passes/passes.h"

#include "op/kind.h"

#include <ferry/op.h>

static bool is_copy(const struct ferry__program *p, const struct ferry__item *item)
{
    const ferry_op_desc *op = &item->op;

    return ferry__item_runs(item) && op->kind == FERRY_OP_STRIDED_COPY &&
           op->in[0].dtype == op->out[0].dtype && ferry__covers(p, &op->in[0], &item->in[0]) &&
           ferry__covers(p, &op->out[0], &item->out[0]) &&
           item->in[0].value != item->out[0].value && !p->values[item->in[0].value].own &&
           !p->values[item->out[0].value].own;
}

static bool writes(const struct ferry__item *item, int value)
{
    uint32_t k;

    for (k = 0; k < item->op.n_out; k++)
        if (item->out[k].value == value)
            return true;
    return false;
}

/* Whether an item replaces all contents of a value that it writes. */
static bool replaces(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    return item->op.n_out == 1 && item->out[0].value == value &&
           !ferry__op_reads_outputs(&item->op) && ferry__covers(p, &item->op.out[0], &item->out[0]);
}

/*
 * The end of the range of items after copy `at` in which the source can stand for the copy; −1 if
 * the copy is needed.
 */
static int find_end(const struct ferry__program *p, int at)
{
    int from = p->back[at].in[0].value, to = p->back[at].out[0].value, i, source_end = p->n_back;

    for (i = at + 1; i < p->n_back; i++) {
        const struct ferry__item *item = &p->back[i];

        if (!ferry__item_runs(item))
            continue;
        if (source_end < i && (ferry__item_reads(item, to) ||
                               (writes(item, to) && !replaces(p, item, to))))
            return -1;
        if (writes(item, to))
            return replaces(p, item, to) && !writes(item, from) && !ferry__item_reads(item, from)
                       ? i + 1
                       : -1;
        if (writes(item, from)) {
            if (ferry__item_reads(item, to))
                return -1;
            source_end = i;
        }
    }
    return p->n_back;
}

void ferry__elide_copies(struct ferry__program *p)
{
    int at, i, end;
    uint32_t k;

    for (at = 0; at < p->n_back; at++) {
        struct ferry__item *copy = &p->back[at];

        end = is_copy(p, copy) ? find_end(p, at) : -1;
        for (i = at + 1; i < end; i++)
            for (k = 0; ferry__item_runs(&p->back[i]) && k < p->back[i].op.n_in; k++)
                if (p->back[i].in[k].value == copy->out[0].value) {
                    p->back[i].in[k].value = copy->in[0].value;
                    p->back[i].in[k].blob = copy->in[0].blob;
                    p->back[i].in[k].diff = copy->in[0].diff;
                }
        copy->dropped |= end >= 0;
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "rig-inside.h"

#include <stdio.h>
#include <string.h>

/* Steps in which a call of the plugin fails, at once or when its work runs. */

/* Accepts that the copy staged on the host, without peer copies, is valid after the failure. */
static void admit_staged_copy(void)
{
    unsigned from = rig.model.valid & 2 ? 1 : 2;

    if (wx_valid(rig.m) != (rig.model.valid | 1) || rig.model.valid & 1 || rig.peer)
        return;
    rig.model.valid |= 1;
    rig.model.length[0] = rig.model.length[from];
    if (rig.model.length[0] > rig.model.used)
        rig.model.length[0] = rig.model.used;
    memcpy(rig.model.cell[0], rig.model.cell[from], MODEL_CELLS);
    if (!(rig.model.adopted & 1))
        rig.model.allocated |= 1;
}

/* Checks that the library reports no change, and repeats the operation without a failure. */
static bool again(unsigned index)
{
    admit_staged_copy();
    rig_count_from_here();
    if (!rig_compare())
        return false;
    snprintf(rig.how, sizeof(rig.how), "[again]");
    rig.nops--;
    return rig_step(index);
}

/* A failed eviction has no effect and is not an error. */
static bool was_skipped(const struct model_op *op)
{
    return op->kind == MODEL_EVICT && wx_valid(rig.m) == rig.model.valid &&
           rig_blocks() - rig.live == rig_bits(rig.model.allocated);
}

enum rig_outcome rig_step_failing(unsigned index, int dev, unsigned nth)
{
    const struct model_op *op = rig_next(index);
    ferry_ref ref = { NULL, 0 };
    uint64_t calls;
    bool fired, ok;
    int err;

    snprintf(rig.how, sizeof(rig.how), "[call %u of dev%d fails]", nth, dev);
    if (!rig_get_ready(op))
        return RIG_WRONG;
    calls = wx_calls(dev, SIM_CALL_ANY);
    wx_fail_next(dev, SIM_CALL_ANY, nth, FERRY_EDEVICE);
    err = rig_call(op, &ref);
    wx_fail_next(dev, SIM_CALL_ANY, 0, 0);
    fired = wx_calls(dev, SIM_CALL_ANY) - calls >= nth;
    if (err && !fired)
        return rig_failed("call"), RIG_WRONG;
    ok = err || was_skipped(op) ? again(index) : rig_follow(op, ref);
    return !ok ? RIG_WRONG : fired ? RIG_WITHSTOOD : RIG_UNREACHED;
}

/* Makes the model expect the contents of slot `from` in every slot. */
static void same_everywhere(unsigned from)
{
    for (unsigned s = 0; s < MODEL_SLOTS; s++)
        memcpy(rig.model.cell[s], rig.model.cell[from], MODEL_CELLS);
}

/* With `lost`, no read may succeed; otherwise each must succeed at the second attempt. */
static bool read_around(unsigned first, bool lost)
{
    for (unsigned i = 0; i < 2 * MODEL_SLOTS; i++) {
        unsigned slot = (first + i / 2) % MODEL_SLOTS;
        ferry_ref ref = { NULL, 0 };
        int err = ferry_memory_access(rig.m, rig_device(slot), FERRY_READ, rig_queue(slot), &ref);

        if (!err && lost)
            return rig_fail("a read at %u of lost contents succeeds", slot);
        if (err && !lost && i % 2)
            return rig_failed("a second read");
        if (!err && !(slot ? rig_kernel_reads(slot, rig_queue(slot), ref, &rig.model)
                           : rig_host_reads(ref.handle, &rig.model)))
            return false;
        wx_run_all();
    }
    return true;
}

/* A slot with the correct bytes, after the step. */
static unsigned a_valid_slot(void)
{
    return rig.model.valid & 1 ? 0 : rig.model.valid & 2 ? 1 : 2;
}

enum rig_outcome rig_step_failing_later(unsigned index, int dev, unsigned nth, unsigned first)
{
    const struct model_op *op = rig_next(index);
    struct model before = rig.model;
    ferry_ref ref = { NULL, 0 };
    uint64_t calls;
    bool lost;
    int err;

    snprintf(rig.how, sizeof(rig.how), "[copy %u of dev%d fails later, read %u first]", nth, dev,
             first);
    if (!rig_get_ready(op))
        return RIG_WRONG;
    calls = wx_calls(dev, SIM_CALL_MEMCPY);
    wx_fail_later(dev, SIM_CALL_MEMCPY, nth, FERRY_EDEVICE);
    err = rig_call(op, &ref);
    wx_fail_later(dev, SIM_CALL_MEMCPY, 0, 0);
    if (wx_calls(dev, SIM_CALL_MEMCPY) - calls < nth)
        return RIG_UNREACHED;
    wx_run_all();
    lost = !err && op->kind == MODEL_MUTABLE;
    rig.model = before;
    same_everywhere(a_valid_slot());
    rig.model.valid = 0; /* the order of reads decides, and was compared before */
    if (!read_around(first, lost))
        return RIG_WRONG;
    rig_count_from_here();
    return RIG_WITHSTOOD;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "rig-inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rig rig;

bool rig_fail(const char *fmt, ...)
{
    va_list args;

    if (rig.quiet)
        return false;
    printf("     ");
    for (unsigned i = 0; i < rig.nops; i++)
        printf("%s ", model_op_name(rig.ops[i]));
    printf("%s%s: ", rig.settle ? "[settled]" : "[pending]", rig.how);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    return false;
}

bool rig_failed(const char *what)
{
    return rig_fail("%s: %s", what, ferry_last_error());
}

/* ---- devices -------------------------------------------------------------------------------- */

static bool lend(int i)
{
    for (int k = 0; k < SPARES; k++) {
        struct spare *spare = &rig.spare[1 + i][k];

        spare->slot = 1 + (unsigned)i;
        if (ferry_memory_create(wx_dev(i), BYTES, &rig.lent[i][k]) ||
            ferry_memory_access(rig.lent[i][k], wx_dev(i), FERRY_WRITE, NULL, &spare->ref))
            return rig_failed("lending memory");
    }
    return true;
}

bool rig_open(bool peer)
{
    if (rig.open)
        return true;
    memset(&rig, 0, sizeof(rig));
    rig.peer = peer;
    if (!wx_open(wx_running()->options))
        return false;
    for (int i = 0; i < 2; i++) {
        rig.queue[i][0] = wx_queue(i);
        if (ferry_queue_create(wx_dev(i), &rig.queue[i][1]) ||
            ferry_memory_create(wx_dev(i), (RIG_STEPS + 8) * FLOATS * sizeof(float), &rig.log[i]) ||
            !ferry_memory_host_data(rig.log[i]) || !lend(i))
            return rig_failed("opening");
    }
    for (int k = 0; k < SPARES; k++)
        rig.spare[0][k].ref = (ferry_ref){ rig.host[k], 0 };
    rig.open = true;
    return true;
}

bool rig_close(void)
{
    bool none = rig.open;

    for (int i = 0; i < 2; i++) {
        ferry_queue_destroy(rig.queue[i][1]);
        ferry_memory_release(rig.log[i]);
        for (int k = 0; k < SPARES; k++)
            ferry_memory_release(rig.lent[i][k]);
    }
    for (int i = 0; i < 2; i++) {
        ferry_plugin_counters left;

        wx_run_all();
        ferry_device_trim(wx_dev(i));
        left = wx_counters(i);
        none = none && !left.live_blocks && !left.live_host_blocks && !left.live_events &&
               !left.live_queues;
    }
    wx_close();
    rig.open = false;
    return none;
}

ferry_device *rig_device(unsigned slot)
{
    return slot ? wx_dev((int)slot - 1) : NULL;
}

/* Odd steps use a queue of the program. */
ferry_queue *rig_queue(unsigned slot)
{
    return slot ? rig.queue[slot - 1][rig.nops % 2] : NULL;
}

/* The number of blocks on all devices and the host. */
uint64_t rig_blocks(void)
{
    uint64_t live = 0;

    for (int i = 0; i < 2; i++) {
        ferry_device_stats now = { .struct_size = sizeof now };

        ferry_device_get_stats(wx_dev(i), &now);
        live += now.allocs - now.frees;
    }
    return live;
}

void rig_count_from_here(void)
{
    memset(&rig.model.traffic, 0, sizeof(rig.model.traffic));
    for (int i = 0; i < 2; i++) {
        rig.stats[i].struct_size = sizeof rig.stats[i];
        ferry_device_get_stats(wx_dev(i), &rig.stats[i]);
        rig.counters[i] = wx_counters(i);
    }
}

bool rig_begin(bool settle)
{
    rig.settle = settle;
    rig.quiet = false;
    rig.nops = rig.expectations = rig.adopted = rig.deleted = 0;
    rig.value = 0;
    rig.how[0] = '\0';
    model_init(&rig.model, rig.peer);
    for (int i = 0; i < 2; i++)
        if (ferry_memory_access(rig.log[i], wx_dev(i), FERRY_WRITE, NULL, &rig.log_at[i]))
            return rig_failed("log");
    rig.live = rig_blocks();
    rig_count_from_here();
    if (ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ FLOATS }, 1, &rig.blob))
        return rig_failed("create");
    rig.m = ferry_blob_data_memory(rig.blob);
    return rig.m || rig_failed("memory");
}

const struct model *rig_model(void)
{
    return &rig.model;
}

/* ---- kernels and host accesses --------------------------------------------------------------- */

/* A kernel that copies the cells in use to a slot of its own in the log. */
bool rig_kernel_reads(unsigned slot, ferry_queue *q, ferry_ref from, const struct model *model)
{
    struct expected *e = &rig.expected[rig.expectations];
    ferry_ref to = rig.log_at[slot - 1];

    e->dev = slot - 1;
    e->cells = model->used;
    memcpy(e->cell, model->cell[slot], sizeof(e->cell));
    to.offset += rig.expectations++ * FLOATS * sizeof(float);
    return !ferry_math_copy(q, FERRY_F32, e->cells * CELL, ferry_ref_const(from), to) ||
           rig_failed("kernel that reads");
}

bool rig_host_reads(const float *p, const struct model *model)
{
    for (unsigned i = 0; i < model->used * CELL; i++)
        if (p[i] != model->cell[0][i / CELL])
            return rig_fail("the host reads %g instead of %u in cell %u", (double)p[i],
                            model->cell[0][i / CELL], i / CELL);
    return true;
}

static bool writes(enum model_kind kind, unsigned cell)
{
    return kind == MODEL_OVERWRITE || kind == MODEL_ADOPT || model_mutates(cell);
}

static bool write_cells(enum model_kind kind, ferry_queue *q, ferry_ref at, unsigned cells)
{
    for (unsigned c = 0; c < cells; c++) {
        ferry_ref to = at;

        if (!writes(kind, c))
            continue;
        to.offset += c * CELL * sizeof(float);
        if (q && ferry_math_fill(q, FERRY_F32, CELL, rig.value, to))
            return rig_failed("kernel that writes");
        for (unsigned i = 0; !q && i < CELL; i++)
            ((float *)at.handle)[c * CELL + i] = rig.value;
    }
    return true;
}

/*
 * Adopted memory belongs to the program again: it is overwritten, so that a late access is
 * detected.
 */
static void take_back(void *arg)
{
    struct spare *spare = arg;

    rig.deleted++;
    spare->in_use = false;
    if (spare->slot)
        ferry_math_fill(rig.queue[spare->slot - 1][0], FERRY_F32, FLOATS, POISON, spare->ref);
    else
        for (unsigned i = 0; i < FLOATS; i++)
            ((float *)spare->ref.handle)[i] = POISON;
}

/* ---- operations: the call, then the program's use of the result ------------------------------ */

static const unsigned access_of[] = { FERRY_READ, FERRY_READ | FERRY_WRITE, FERRY_WRITE };

static struct spare *free_spare(unsigned slot)
{
    return &rig.spare[slot][rig.spare[slot][0].in_use];
}

static int evict(unsigned slot)
{
    int err = ferry_memory_allow_eviction(rig.m);

    if (!err)
        err = ferry_device_set_budget(rig_device(slot), 1);
    ferry_device_set_budget(rig_device(slot), 0);
    return err;
}

/* Memory to adopt is filled first, on the default queue, and its producer is reported to ferry. */
bool rig_get_ready(const struct model_op *op)
{
    ferry_queue *q = op->slot ? rig.queue[op->slot - 1][0] : NULL;

    return op->kind != MODEL_ADOPT ||
           write_cells(MODEL_ADOPT, q, free_spare(op->slot)->ref, MODEL_CELLS);
}

static int adopt(unsigned slot)
{
    struct spare *spare = free_spare(slot);
    int err;

    err = ferry_memory_adopt(rig.m, rig_device(slot), spare->ref, BYTES, 0, take_back, spare);
    if (err)
        return err;
    spare->in_use = true;
    rig.adopted++;
    return 0;
}

static int reshape(unsigned cells)
{
    bool grew = true;
    int err = ferry_blob_reshape(rig.blob, (int64_t[]){ cells * CELL }, 1, &grew);

    if (!err && grew)
        rig_fail("grew although it fits the capacity");
    return err;
}

int rig_call(const struct model_op *op, ferry_ref *out)
{
    switch (op->kind) {
    case MODEL_READ:
    case MODEL_MUTABLE:
    case MODEL_OVERWRITE:
        return ferry_memory_access(rig.m, rig_device(op->slot), access_of[op->kind],
                                   rig_queue(op->slot), out);
    case MODEL_PREFETCH:
        return ferry_memory_prefetch(rig.m, rig_device(op->slot), rig_queue(op->slot));
    case MODEL_ADOPT:
        return adopt(op->slot);
    case MODEL_EVICT:
        return evict(op->slot);
    case MODEL_INVALIDATE:
        return ferry_memory_discard(rig.m);
    case MODEL_SHRINK:
        return reshape(MODEL_CELLS / 2);
    case MODEL_REGROW:
        return reshape(MODEL_CELLS);
    }
    return FERRY_EINVAL;
}

/* Makes the program's accesses at `ref`; the model has the state after the operation. */
static bool use(const struct model_op *op, ferry_ref ref)
{
    ferry_queue *q = rig_queue(op->slot);

    if (op->kind == MODEL_ADOPT && op->slot)
        return !ferry_memory_record(rig.m, rig.queue[op->slot - 1][0], FERRY_WRITE) ||
               rig_failed("record");
    if (op->kind == MODEL_READ)
        return op->slot ? rig_kernel_reads(op->slot, q, ref, &rig.model)
                        : rig_host_reads(ref.handle, &rig.model);
    if (op->kind == MODEL_MUTABLE || op->kind == MODEL_OVERWRITE)
        return write_cells(op->kind, q, ref, rig.model.used);
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same(const char *what, int dev, uint64_t is, uint64_t was, uint64_t should)
{
    if (is - was == should)
        return true;
    return rig_fail("%s of dev%d: %llu, by the model %llu", what, dev,
                    (unsigned long long)(is - was), (unsigned long long)should);
}

/* Compares the copies by ferry's counters and by the plugin's. */
static bool same_traffic(int i)
{
    const struct model_traffic *t = &rig.model.traffic;
    const ferry_device_stats *f = &rig.stats[i];
    const ferry_plugin_counters *p = &rig.counters[i];
    ferry_plugin_counters sim = wx_counters(i);
    ferry_device_stats now = { .struct_size = sizeof now };
    const uint64_t cell = CELL * sizeof(float);

    if (ferry_device_get_stats(wx_dev(i), &now))
        return rig_failed("stats");
    return same("copies in", i, now.copies_h2d, f->copies_h2d, t->h2d[i]) &&
           same("copies out", i, now.copies_d2h, f->copies_d2h, t->d2h[i]) &&
           same("peer copies", i, now.copies_d2d, f->copies_d2d, t->d2d[i]) &&
           same("bytes in", i, now.bytes_h2d, f->bytes_h2d, t->bytes_h2d[i] * cell) &&
           same("bytes out", i, now.bytes_d2h, f->bytes_d2h, t->bytes_d2h[i] * cell) &&
           same("peer bytes", i, now.bytes_d2d, f->bytes_d2d, t->bytes_d2d[i] * cell) &&
           same("the plugin's copies in", i, sim.copies_h2d, p->copies_h2d, t->h2d[i]) &&
           same("the plugin's copies out", i, sim.copies_d2h, p->copies_d2h, t->d2h[i]) &&
           same("the plugin's peer copies", i, sim.copies_d2d, p->copies_d2d, t->d2d[i]) &&
           same("the plugin's bytes in", i, sim.bytes_h2d, p->bytes_h2d, t->bytes_h2d[i] * cell) &&
           same("the plugin's bytes out", i, sim.bytes_d2h, p->bytes_d2h, t->bytes_d2h[i] * cell) &&
           same("the plugin's peer bytes", i, sim.bytes_d2d, p->bytes_d2d, t->bytes_d2d[i] * cell);
}

unsigned rig_bits(unsigned mask)
{
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
}

static ferry_memory_head_state head_of(unsigned valid)
{
    if (!valid)
        return FERRY_HEAD_UNINITIALIZED;
    if (valid == 1)
        return FERRY_HEAD_AT_HOST;
    return valid & 1 ? FERRY_HEAD_SYNCED : FERRY_HEAD_AT_DEVICE;
}

static bool same_validity(unsigned should)
{
    unsigned v = wx_valid(rig.m);

    if (v != should)
        return rig_fail("valid: %u, by the model %u (1: host, 2: dev0, 4: dev1)", v, should);
    if (ferry_memory_head(rig.m) != head_of(v))
        return rig_fail("head: %d, by the model %d", (int)ferry_memory_head(rig.m),
                        (int)head_of(v));
    return true;
}

bool rig_compare(void)
{
    if (!model_is_sound(&rig.model))
        return rig_fail("the model violates its invariants");
    if (!same_validity(rig.model.valid))
        return false;
    if (rig_blocks() - rig.live != rig_bits(rig.model.allocated))
        return rig_fail("live blocks: %llu, by the model %u",
                        (unsigned long long)(rig_blocks() - rig.live),
                        rig_bits(rig.model.allocated));
    if (rig.adopted - rig.deleted != rig_bits(rig.model.adopted))
        return rig_fail("%u adoptions, %u deleters run, %u remain by the model", rig.adopted,
                        rig.deleted, rig_bits(rig.model.adopted));
    return same_traffic(0) && same_traffic(1);
}

/* After both have performed the step, the program uses the result. */
bool rig_follow(const struct model_op *op, ferry_ref ref)
{
    model_step(&rig.model, op, rig.value);
    if (!use(op, ref))
        return false;
    if (rig.settle)
        wx_run_all();
    return rig_compare();
}

const struct model_op *rig_next(unsigned index)
{
    rig.ops[rig.nops++] = index;
    rig.value++;
    return &model_ops[index];
}

bool rig_step(unsigned index)
{
    const struct model_op *op = rig_next(index);
    ferry_ref ref = { NULL, 0 };

    if (!rig_get_ready(op))
        return false;
    if (rig_call(op, &ref))
        return rig_failed("call");
    return rig_follow(op, ref);
}

void rig_mislead(void)
{
    rig.model.peer = !rig.model.peer;
    rig.quiet = true;
}

/* Runs the commands in the reverse order of their submission, where possible. */
static void run_backwards(void)
{
    for (int k = 1; k >= 0; k--)
        for (int i = 1; i >= 0; i--)
            wx_run_queue(rig.queue[i][k]);
    wx_run_all();
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool check_log(int i)
{
    const float *log = NULL;
    ferry_ref ref = { NULL, 0 };

    if (ferry_memory_access(rig.log[i], NULL, FERRY_READ, NULL, &ref))
        return rig_failed("log");
    log = ref.handle;
    for (unsigned k = 0; k < rig.expectations; k++) {
        const struct expected *e = &rig.expected[k];

        for (unsigned c = 0; e->dev == (unsigned)i && c < e->cells * CELL; c++)
            if (log[k * FLOATS + c] != e->cell[c / CELL])
                return rig_fail("kernel %u of dev%d read %g instead of %u in cell %u", k, i,
                                (double)log[k * FLOATS + c], e->cell[c / CELL], c / CELL);
    }
    return true;
}

bool rig_check_contents(void)
{
    ferry_ref ref = { NULL, 0 };

    run_backwards();
    for (unsigned s = MODEL_SLOTS; s-- > 0;) {
        if (!(rig.model.valid & 1u << s))
            continue;
        if (ferry_memory_access(rig.m, rig_device(s), FERRY_READ, NULL, &ref))
            return rig_failed("last read");
        if (!(s ? rig_kernel_reads(s, rig.queue[s - 1][0], ref, &rig.model)
                : rig_host_reads(ref.handle, &rig.model)))
            return false;
    }
    if (!same_traffic(0) || !same_traffic(1))
        return false;
    run_backwards();
    return check_log(0) && check_log(1);
}

bool rig_end(bool ok)
{
    ferry_blob_destroy(rig.blob);
    rig.blob = NULL;
    run_backwards();
    if (ok && rig_blocks() - rig.live != 0)
        ok = rig_fail("%llu blocks left", (unsigned long long)(rig_blocks() - rig.live));
    if (ok && rig.adopted != rig.deleted)
        ok = rig_fail("%u adoptions, %u deleters run", rig.adopted, rig.deleted);
    return ok;
}

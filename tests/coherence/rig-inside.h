/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RIG_INSIDE_H
#define FERRY_TEST_RIG_INSIDE_H

#include "rig.h"

/* What the files of the rig share. */

#define CELL   8 /* floats */
#define FLOATS (MODEL_CELLS * CELL)
#define BYTES  (FLOATS * sizeof(float))
#define POISON 222 /* what a program's memory holds once ferry has let go of it */
#define SPARES 2

/* Memory of the program's, to be adopted; two a place, so that one can follow the other. */
struct spare {
    unsigned slot;
    ferry_ref ref;
    bool in_use;
};

/* What a kernel is to have read. */
struct expected {
    unsigned dev, cells;
    uint8_t cell[MODEL_CELLS];
};

struct rig {
    struct model model;
    bool open, peer, settle, quiet;
    ferry_blob *blob;
    ferry_memory *m;
    ferry_queue *queue[2][2];
    ferry_memory *log[2], *lent[2][SPARES];
    ferry_ref log_at[2];
    _Alignas(64) float host[SPARES][FLOATS];
    struct spare spare[MODEL_SLOTS][SPARES];
    struct expected expected[RIG_STEPS + 8];
    unsigned expectations;
    ferry_device_stats stats[2];
    ferry_plugin_counters counters[2];
    unsigned ops[RIG_STEPS + 8], nops;
    char how[64];  /* the failure that was injected */
    uint64_t live; /* blocks, before */
    uint8_t value;
    unsigned adopted, deleted;
};

extern struct rig rig;

/* As rig_fail, with the library's latest error. */
bool rig_failed(const char *what);

ferry_device *rig_device(unsigned slot); /* NULL: the host */
/* The queue for this step's access. */
ferry_queue *rig_queue(unsigned slot);

/* Blocks that exist now, on all devices and the host. */
uint64_t rig_blocks(void);
/* Copies so far are forgotten, by the model too. */
void rig_count_from_here(void);
unsigned rig_bits(unsigned mask);

/* Notes the next step, with a value of its own. */
const struct model_op *rig_next(unsigned index);
/* What the program does before the call, */
bool rig_get_ready(const struct model_op *op);
/* the call, */
int rig_call(const struct model_op *op, ferry_ref *out);
/* and the model's step, what the program does with what it got, and the comparison. */
bool rig_follow(const struct model_op *op, ferry_ref ref);

/* Whether V, the head, blocks, deleters and copies are the model's. */
bool rig_compare(void);

/* A kernel that reads the cells in use; what it sees is looked at in the end. */
bool rig_kernel_reads(unsigned slot, ferry_queue *q, ferry_ref from, const struct model *model);
bool rig_host_reads(const float *p, const struct model *model);

#endif

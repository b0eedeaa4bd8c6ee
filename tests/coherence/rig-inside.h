/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RIG_INSIDE_H
#define FERRY_TEST_RIG_INSIDE_H

#include "rig.h"

/* Declarations that the files of the rig share. */

#define CELL   8 /* floats */
#define FLOATS (MODEL_CELLS * CELL)
#define BYTES  (FLOATS * sizeof(float))
#define POISON 222 /* the contents of a program's memory after ferry has released it */
#define SPARES 2

/* Memory of the program to adopt; two per slot, so that one can follow the other. */
struct spare {
    unsigned slot;
    ferry_ref ref;
    bool in_use;
};

/* The value that a kernel must read. */
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
    uint64_t live; /* number of blocks before the step */
    uint8_t value;
    unsigned adopted, deleted;
};

extern struct rig rig;

/* Like rig_fail, with the library's latest error. */
bool rig_failed(const char *what);

ferry_device *rig_device(unsigned slot); /* NULL: the host */
/* The queue for the access of this step. */
ferry_queue *rig_queue(unsigned slot);

/* The number of blocks on all devices and the host. */
uint64_t rig_blocks(void);
/* Resets the counts of copies, also those of the model. */
void rig_count_from_here(void);
unsigned rig_bits(unsigned mask);

/* Records the next step, with a value of its own. */
const struct model_op *rig_next(unsigned index);
/* Prepares the call on the program's side. */
bool rig_get_ready(const struct model_op *op);
/* Makes the call. */
int rig_call(const struct model_op *op, ferry_ref *out);
/* Makes the model's step, lets the program use the result, and compares both. */
bool rig_follow(const struct model_op *op, ferry_ref ref);

/* Whether V, the head, blocks, deleters and copies equal the model's. */
bool rig_compare(void);

/* A kernel that reads the cells in use; the values are checked at the end. */
bool rig_kernel_reads(unsigned slot, ferry_queue *q, ferry_ref from, const struct model *model);
bool rig_host_reads(const float *p, const struct model *model);

#endif

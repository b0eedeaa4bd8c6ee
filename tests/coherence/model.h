/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_MODEL_H
#define FERRY_TEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a memory with copies on the host and two devices has to do, by the design's words alone: no
 * line of it is shared with the library. It knows no time. A copy has happened as soon as it was
 * asked for, since nobody may ever see that it has not.
 *
 * A memory has four cells, two of them in use while it is shrunk; each holds a small number.
 */

#define MODEL_SLOTS 3 /* the host, device 0 (the home), device 1 */
#define MODEL_CELLS 4

enum model_kind {
    MODEL_READ,
    MODEL_MUTABLE,
    MODEL_OVERWRITE,
    MODEL_PREFETCH,
    MODEL_ADOPT,
    MODEL_EVICT,
    MODEL_INVALIDATE,
    MODEL_SHRINK,
    MODEL_REGROW
};

/* An operation at a place; the last three have none. */
struct model_op {
    enum model_kind kind;
    unsigned slot;
};

#define MODEL_OPS 20
extern const struct model_op model_ops[MODEL_OPS];
const char *model_op_name(unsigned op);

/* Copies by direction: counts for each device, at the far end or where it is received. */
struct model_traffic {
    unsigned h2d[2], d2h[2], d2d[2];
    unsigned bytes_h2d[2], bytes_d2h[2], bytes_d2d[2]; /* in cells */
};

struct model {
    bool peer;                    /* the devices copy to one another */
    unsigned valid;               /* V, bit 0 the host */
    unsigned allocated;           /* the library's own blocks */
    unsigned adopted;             /* the program's */
    unsigned used;                /* cells in use: 2 or 4 */
    unsigned length[MODEL_SLOTS]; /* how many cells of a valid copy hold something */
    uint8_t cell[MODEL_SLOTS][MODEL_CELLS];
    struct model_traffic traffic;
};

void model_init(struct model *m, bool peer);

/* Does it. A write brings the value: to all cells in use, to every other one if mutable. */
void model_step(struct model *m, const struct model_op *op, uint8_t value);

/* Whether a mutable access writes that cell. */
static inline bool model_mutates(unsigned cell)
{
    return cell % 2 == 1;
}

/*
 * Everything that decides what later operations do, contents apart, as one number below
 * MODEL_STATES.
 */
unsigned model_state(const struct model *m);
#define MODEL_STATES (2u * 8u * 8u * 8u * 8u)

/* Whether what must always hold does. */
bool model_is_sound(const struct model *m);

#endif

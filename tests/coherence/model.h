/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_MODEL_H
#define FERRY_TEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The specified behaviour of a memory with copies on the host and two devices, written from the
 * design document alone: it shares no line with the library. The model has no time: a copy takes
 * effect when it is requested, because no program can observe otherwise.
 *
 * A memory has four cells, two of them in use while it is shrunk; each contains a small number.
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

/* An operation on a slot; the last three operations have no slot. */
struct model_op {
    enum model_kind kind;
    unsigned slot;
};

#define MODEL_OPS 20
extern const struct model_op model_ops[MODEL_OPS];
const char *model_op_name(unsigned op);

/*
 * Numbers of copies by direction and device. A copy between devices is counted for its destination.
 */
struct model_traffic {
    unsigned h2d[2], d2h[2], d2d[2];
    unsigned bytes_h2d[2], bytes_d2h[2], bytes_d2d[2]; /* in cells */
};

struct model {
    bool peer;                    /* the devices can copy to each other */
    unsigned valid;               /* the set of valid copies, bit 0 the host */
    unsigned allocated;           /* allocated by the library */
    unsigned adopted;             /* adopted from the program */
    unsigned used;                /* cells in use: 2 or 4 */
    unsigned length[MODEL_SLOTS]; /* number of cells of a valid copy that have contents */
    uint8_t cell[MODEL_SLOTS][MODEL_CELLS];
    struct model_traffic traffic;
};

void model_init(struct model *m, bool peer);

/*
 * Performs it. A write stores the value: in all cells in use, or, for mutable access, in every
 * other one.
 */
void model_step(struct model *m, const struct model_op *op, uint8_t value);

/* Whether a mutable access writes that cell. */
static inline bool model_mutates(unsigned cell)
{
    return cell % 2 == 1;
}

/*
 * The state on which the result of later operations depends, without the contents, as one number
 * below MODEL_STATES.
 */
unsigned model_state(const struct model *m);
#define MODEL_STATES (2u * 8u * 8u * 8u * 8u)

/* Whether the invariants hold. */
bool model_is_sound(const struct model *m);

#endif

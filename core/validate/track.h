/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that the checks keep of a device: blocks, queues and events by their handles. One lock
 * for all devices, since events and peer copies cross them; no entry of a plugin runs under it.
 */
#ifndef FERRY_CORE_VALIDATE_TRACK_H
#define FERRY_CORE_VALIDATE_TRACK_H

#include "core/validate/validate.h"

#include <ferry/op_table.h>
#include <ferry/profile_plugin.h>
#include <pthread.h>
#include <stdbool.h>

/* Queues of all devices whose order is known; further queues are not checked. */
#define FERRY__CLOCKS 64
/* The number of latest accesses of a block that are recorded. */
#define FERRY__ACCESSES 16

/* How much work of each queue is known to be done before a point. */
struct ferry__vector {
    uint64_t at[FERRY__CLOCKS];
};

struct ferry__access {
    uint64_t from, to; /* the bytes of the block from `from` to `to`; to 0: none */
    uint64_t when;     /* the number of the submission on its queue */
    int queue;
    bool writes;
};

struct ferry__tracked_block {
    struct ferry__tracked_block *next;
    const void *handle;
    uint64_t bytes;
    bool imported;
    uint32_t mapped; /* FERRY_READ, FERRY_WRITE: the host's access; 0: not mapped */
    struct ferry__access accesses[FERRY__ACCESSES];
    unsigned latest;
};

struct ferry__tracked_queue {
    struct ferry__tracked_queue *next;
    const void *handle; /* NULL: the default queue */
    int clock;          /* an index below FERRY__CLOCKS; −1: not checked */
    struct ferry__vector vector;
};

struct ferry__tracked_event {
    struct ferry__tracked_event *next;
    const void *handle;
    struct ferry__vector vector;
};

struct ferry__tracked_host {
    struct ferry__tracked_host *next;
    const void *pointer;
};

/* Packed constants, as the latest `prepare` with this reference wrote them. */
struct ferry__tracked_packing {
    struct ferry__tracked_packing *next;
    ferry_ref at;
    uint64_t bytes, sum;
};

/* The first member of the record of a plugin's operation or section. */
struct ferry__tracked_object {
    struct ferry__tracked_object *next;
};

struct ferry__tracked_device {
    struct ferry__tracked_device *next;
    void *dev;
    const char *plugin;
    const ferry_plugin_ops *ops; /* the plugin's own entries */
    const ferry_op_table *operations;
    const ferry_profile_table *profile;
    uint64_t clock_frequency; /* the frequency in the latest result; 0: none */
    uint64_t submissions;     /* the number of submissions to all queues */
    uint32_t index, flags;
    bool synchronous; /* the plugin has no events, so that no work is pending */
    bool blind;       /* a record could not be allocated: reports have stopped */
    struct ferry__tracked_block *blocks, *freed;
    struct ferry__tracked_queue *queues;
    struct ferry__tracked_event *events;
    struct ferry__tracked_host *hosts;
    struct ferry__tracked_packing *packings;
    struct ferry__tracked_object *prepared, *sections; /* not destroyed yet */
    uint64_t told[2]; /* the rules that were reported, as bits */
};

extern pthread_mutex_t ferry__validate_lock;

/* The record of a device's handle; never NULL for a device that was opened through the checks. */
struct ferry__tracked_device *ferry__tracked(void *dev);
int ferry__track_device(void *dev, const char *plugin, const ferry_plugin_ops *ops,
                        struct ferry__tracked_device **out);
/* Reports objects that were not destroyed, and removes the device's record. */
void ferry__untrack_device(struct ferry__tracked_device *d);

/* Logs one line when the device first breaks the rule. With or without the lock. */
void ferry__broken(struct ferry__tracked_device *d, int rule, const char *entry, const char *fmt,
                   ...) FERRY_PRINTF(4, 5);

/* Stops reports, since a record could not be allocated. With or without the lock. */
void ferry__blind(struct ferry__tracked_device *d);

/* The live block of a handle; NULL: it is not one that the device's alloc returned. (locked) */
struct ferry__tracked_block *ferry__tracked_block(struct ferry__tracked_device *d,
                                                  const void *handle);
/* Whether the handle is a live block of another device (other plugin or index). (locked) */
bool ferry__is_block_elsewhere(const struct ferry__tracked_device *d, const void *handle);
struct ferry__tracked_queue *ferry__tracked_queue(struct ferry__tracked_device *d,
                                                  const void *handle);

/* An event of any device; NULL: it was destroyed, or never recorded. (locked) */
struct ferry__tracked_event *ferry__tracked_event_of_any(const void *handle);

/* Removes the records of packed constants in a block that is freed. (locked) */
void ferry__forget_packings(struct ferry__tracked_device *d, const void *handle);

/* Adds the object to `list`, a list of a device. Not locked. */
void ferry__add_object(struct ferry__tracked_object **list, struct ferry__tracked_object *o);
bool ferry__is_object(struct ferry__tracked_object *const *list, const void *o);
/* Removes the object from the list; false if the list does not contain it. */
bool ferry__take_object(struct ferry__tracked_object **list, const void *o);

/* ---- order.c (locked) ---- */

/* Takes a free clock for a queue; −1: none is free. */
int ferry__clock_take(void);
void ferry__clock_give_back(int clock);
/* Records a submission to the queue, ordered after all work that the host has waited for. */
void ferry__order_submit(struct ferry__tracked_queue *q);
/* Records that the host has waited for all work in `done`. */
void ferry__order_wait(const struct ferry__vector *done);
/* Whether the host has waited for all work in `work`. */
bool ferry__order_is_done(const struct ferry__vector *work);
/* Adds the latest submission to `q` to `work`. */
void ferry__order_note(const struct ferry__tracked_queue *q, struct ferry__vector *work);
/* Orders later work on `q` after the work in `done`. */
void ferry__order_join(struct ferry__tracked_queue *q, const struct ferry__vector *done);
/*
 * Records an access by the latest submission; false if it is not ordered after an earlier access.
 */
bool ferry__order_access(struct ferry__tracked_block *b, const struct ferry__tracked_queue *q,
                         uint64_t from, uint64_t bytes, bool writes);
/* Whether the host has waited for all accesses of the block. */
bool ferry__order_is_idle(const struct ferry__tracked_block *b);

/* ---- access.c ---- */

/* Checks a reference of `bytes` bytes that work on `queue` reads or writes. */
void ferry__check_access(struct ferry__tracked_device *d, const char *entry, const void *queue,
                         ferry_cref ref, uint64_t bytes, bool writes);
/* As ferry__check_access, for the source of a peer_copy, a block of `owner`. */
void ferry__check_peer(struct ferry__tracked_device *d, struct ferry__tracked_device *owner,
                       const void *queue, ferry_cref ref, uint64_t bytes);
/* Checks a submission before it is made. */
void ferry__check_submit(struct ferry__tracked_device *d, const char *entry, const void *queue);

/* ---- work.c ---- */

/* Checks the result of any entry, 0 or a negative code, and returns it. */
int ferry__check_code(struct ferry__tracked_device *d, const char *entry, int code);
void ferry__wrap_work(ferry_plugin_ops *ops);

/* ---- arithmetic.c ---- */

void ferry__wrap_arithmetic(ferry_plugin_ops *ops);

/* ---- profile.c ---- */

/* The "ferry.profile/1" table that checks; `profile` of the device has the plugin's table. */
extern const ferry_profile_table ferry__validate_profile;

/* ---- bytes.c ---- */

/* The maximum size of an operand that is read back, in bytes. */
#define FERRY__READ_BACK (UINT64_C(64) << 20)

/* The bytes from the operand's first element to its last. */
uint64_t ferry__operand_bytes(const ferry_operand *o);
/*
 * Reads the bytes at a reference after all work of the device; NULL on failure. The caller frees
 * them.
 */
unsigned char *ferry__read_back(const struct ferry__tracked_device *d, void *queue, ferry_cref from,
                                uint64_t bytes);

/*
 * Sets the operand's elements in `mask`, `bytes` bytes of a block from byte `first`; the operand
 * begins at byte `offset` of the block.
 */
void ferry__mark_elements(const ferry_operand *o, uint64_t offset, uint64_t first, uint64_t bytes,
                          unsigned char *mask);

/* The bytes that a run must not change: elements of inputs, and bytes around outputs. */
struct ferry__kept {
    unsigned char *in[FERRY_OP_INPUTS], *around[FERRY_OP_OUTPUTS];
    uint64_t first[FERRY_OP_OUTPUTS],
        bytes[FERRY_OP_OUTPUTS]; /* the place of `around` in the block */
    uint64_t submissions, workspace_bytes;
};

/* Reads these bytes before the run, except packed inputs and bytes that cannot be read. */
void ferry__keep(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                 const ferry_op_run_args *args, const ferry_op_answer *answer,
                 struct ferry__kept *out);
/* Compares these bytes after the run, which returned `err`, and frees them. */
void ferry__compare_kept(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                         const ferry_op_run_args *args, int err, struct ferry__kept *kept);

/* ---- overlap.c ---- */

/* Reports an output that shares elements with another operand that is not packed. */
void ferry__check_overlaps(struct ferry__tracked_device *d, const ferry_op_desc *op,
                           const ferry_op_run_args *args, uint32_t packed_inputs);

/* ---- unwritten.c ---- */

/*
 * Fills a plain output with the pattern of `run`, a number that the caller chooses. False, and the
 * output is not filled, if it is empty or too large, or if the device failed.
 */
bool ferry__poison(const struct ferry__tracked_device *d, void *queue, const ferry_operand *o,
                   ferry_ref to, uint64_t run);
/* Reports elements of out[k] that still have the run's pattern, unless a result may equal it. */
void ferry__check_written(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                          ferry_ref out, uint32_t k, uint64_t run);

/* ---- operation.c ---- */

/*
 * The "ferry.op/1" tables that check, by the flags that the plugin declares; `operations` of the
 * device has the plugin's table.
 */
#define FERRY__OP_FLAGS (FERRY_OP_INTEGERS | FERRY_OP_HALF_WEIGHTS | FERRY_OP_BF16_VALUES)
extern const ferry_op_table ferry__validate_operations[FERRY__OP_FLAGS + 1];

#endif

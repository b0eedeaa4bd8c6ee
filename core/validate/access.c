/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a reference: the block of its handle, the bytes, the order between queues. */
#include "config.h"

#include "core/validate/track.h"

void ferry__check_submit(struct ferry__tracked_device *d, const char *entry, const void *queue)
{
    struct ferry__tracked_queue *q;

    pthread_mutex_lock(&ferry__validate_lock);
    q = ferry__tracked_queue(d, queue);
    if (!q)
        ferry__broken(d, 41, entry, "a queue that was destroyed, or never created");
    else
        ferry__order_submit(q);
    d->submissions++;
    pthread_mutex_unlock(&ferry__validate_lock);
}

/*
 * One access by work of a device's queue, to memory of `owner`, which is the same device or a peer.
 */
struct accessed {
    struct ferry__tracked_device *d, *owner;
    const char *entry;
    const void *queue;
    ferry_cref ref;
    uint64_t bytes;
    bool writes;
};

/* ---- handles of unknown blocks ------------------------------------------------------------ */

static bool was_freed(const struct ferry__tracked_device *d, const void *handle)
{
    const struct ferry__tracked_block *b;

    for (b = d->freed; b && b->handle != handle; b = b->next)
        ;
    return b != NULL;
}

/*
 * Checks a handle that is not a known block. The program may pass memory that it allocated by the
 * vendor's calls, or by another opening of the same device, so the plugin is asked. If it cannot
 * tell, only a freed block or a block of another device is reported.
 */
static void check_unknown(const struct accessed *a, bool freed, bool elsewhere)
{
    struct ferry__tracked_device *d = a->d, *owner = a->owner;
    int owns = owner->ops->owns(owner->dev, a->ref.handle);

    if (owns == 1)
        return;
    if (freed)
        ferry__broken(d, 26, a->entry, "a block that was freed");
    else if (owner->flags & FERRY_DEVICE_HOST_MEMORY)
        return; /* every host pointer is a handle */
    else if (elsewhere)
        ferry__broken(d, 28, a->entry, "a handle of another device's block");
    else if (owns == 0)
        ferry__broken(d, 28, a->entry, "a handle that is not a block of the device");
}

/* ---- handles of blocks -------------------------------------------------------------------- */

static void check_known(const struct accessed *a, struct ferry__tracked_block *b)
{
    struct ferry__tracked_device *d = a->d;
    struct ferry__tracked_queue *q = ferry__tracked_queue(d, a->queue);

    if (a->ref.offset > b->bytes || a->bytes > b->bytes - a->ref.offset)
        ferry__broken(d, 27, a->entry, "%llu bytes at offset %llu of a block of %llu",
                      (unsigned long long)a->bytes, (unsigned long long)a->ref.offset,
                      (unsigned long long)b->bytes);
    else if (b->mapped & (a->writes ? FERRY_READ | FERRY_WRITE : FERRY_WRITE))
        ferry__broken(d, 32, a->entry, "%s imported memory that is mapped for the host",
                      a->writes ? "writes" : "reads");
    else if (q && !d->synchronous &&
             !ferry__order_access(b, q, a->ref.offset, a->bytes, a->writes))
        ferry__broken(d, 34, a->entry, "%s bytes that another queue uses, with no wait between",
                      a->writes ? "writes" : "reads");
}

static void check(const struct accessed *a)
{
    struct ferry__tracked_device *d = a->d;
    struct ferry__tracked_block *b;
    bool freed, elsewhere;

    if (!a->bytes)
        return;
    if (!a->ref.handle) {
        ferry__broken(d, 28, a->entry, "a reference without a handle");
        return;
    }
    pthread_mutex_lock(&ferry__validate_lock);
    b = ferry__tracked_block(a->owner, a->ref.handle);
    freed = was_freed(a->owner, a->ref.handle);
    elsewhere = ferry__is_block_elsewhere(a->owner, a->ref.handle);
    if (b)
        check_known(a, b);
    pthread_mutex_unlock(&ferry__validate_lock);
    if (!b)
        check_unknown(a, freed, elsewhere);
}

void ferry__check_access(struct ferry__tracked_device *d, const char *entry, const void *queue,
                         ferry_cref ref, uint64_t bytes, bool writes)
{
    struct accessed a = { d, d, entry, queue, ref, bytes, writes };

    check(&a);
}

void ferry__check_peer(struct ferry__tracked_device *d, struct ferry__tracked_device *owner,
                       const void *queue, ferry_cref ref, uint64_t bytes)
{
    struct accessed a = { d, owner, "peer_copy", queue, ref, bytes, false };

    if (owner)
        check(&a);
    else
        ferry__broken(d, 42, "peer_copy", "the source device is not open");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address ranges of devices, which the host cannot access, and the storage of their contents. All
 * functions are called with the lock held.
 */
#define _GNU_SOURCE
#include "double.h"

#include "executor.h"

#include <stdlib.h>
#include <string.h>

#define SPAN  ((size_t)1 << 33)
#define GAP   ((size_t)512) /* between blocks, so that no block's end is another's start */
#define ALIGN ((size_t)256)
#define FRESH 0xcb

/* All blocks, of devices and of the host, sorted by address. */
static struct {
    struct block **at;
    size_t room, count;
} table;

/* The first block that ends after the address. */
static size_t position(const unsigned char *address)
{
    size_t low = 0, high = table.count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (table.at[middle]->address + table.at[middle]->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(struct block *block)
{
    size_t at;

    if (table.count == table.room) {
        size_t room = table.room ? 2 * table.room : 64;
        struct block **larger = realloc(table.at, room * sizeof(*larger));

        if (!larger)
            return false;
        table.at = larger;
        table.room = room;
    }
    at = position(block->address);
    memmove(table.at + at + 1, table.at + at, (table.count - at) * sizeof(*table.at));
    table.at[at] = block;
    table.count++;
    return true;
}

static void take_out(struct block *block)
{
    size_t at = position(block->address);

    table.count--;
    memmove(table.at + at, table.at + at + 1, (table.count - at) * sizeof(*table.at));
}

/*
 * An unused range of addresses after the latest block, so that addresses of freed blocks are reused
 * late.
 */
static unsigned char *free_range(struct device *device, size_t size)
{
    for (int turn = 0; turn < 2; turn++) {
        unsigned char *at = device->cursor;
        size_t i = position(at);

        while (i < table.count && table.at[i]->device == device &&
               table.at[i]->address < at + size + GAP) {
            at = table.at[i]->address + table.at[i]->size + GAP;
            at += (ALIGN - (uintptr_t)at % ALIGN) % ALIGN;
            i++;
        }
        if (at + size + GAP <= device->base + SPAN) {
            device->cursor = at + size + GAP;
            device->cursor += (ALIGN - (uintptr_t)device->cursor % ALIGN) % ALIGN;
            return at;
        }
        device->cursor = device->base;
    }
    return NULL;
}

struct block *block_new(struct device *device, size_t size)
{
    static uint64_t blocks_made;
    struct block *block = calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    block->size = size;
    block->device = device;
    block->serial = ++blocks_made;
    block->ready = true;
    block->address = size <= device->memory - device->used ? free_range(device, size) : NULL;
    block->bytes = block->address ? malloc(size) : NULL;
    if (!block->bytes || !insert(block)) {
        free(block->bytes);
        free(block);
        return NULL;
    }
    memset(block->bytes, FRESH, size < 65536 ? size : 65536);
    block->written = executor_tracks() ? calloc(1, size) : NULL;
    device->used += size;
    return block;
}

void block_delete(struct block *block)
{
    take_out(block);
    if (block->device) {
        block->device->used -= block->size;
        free(block->bytes);
        free(block->written);
    }
    if (block->pool)
        block->pool->live--;
    free(block);
}

static struct block *containing(const void *address)
{
    size_t at = position(address);

    return at < table.count && table.at[at]->address <= (const unsigned char *)address
               ? table.at[at]
               : NULL;
}

struct block *block_find(const void *address)
{
    struct block *block = containing(address);

    return block && block->address == address && block->device && !block->freed ? block : NULL;
}

struct block *block_at(const void *address)
{
    struct block *block = containing(address);

    return block && !block->freed ? block : NULL;
}

bool is_leaving(const void *address)
{
    struct block *block = containing(address);

    return block && block->device && block->freed;
}

bool block_within(const void *address, size_t size)
{
    size_t at = position(address);

    return at < table.count && table.at[at]->address < (const unsigned char *)address + size;
}

struct block *host_add(void *address, size_t size, bool allocated)
{
    struct block *block = calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    block->address = block->bytes = address;
    block->size = size;
    block->ready = true;
    block->allocated = allocated;
    if (insert(block))
        return block;
    free(block);
    return NULL;
}

struct block *host_find(const void *address, size_t size)
{
    struct block *block = containing(address);
    size_t before;

    if (!block || block->device)
        return NULL;
    before = (size_t)((const unsigned char *)address - block->address);
    return size <= block->size - before ? block : NULL;
}

bool is_device_address(const void *address)
{
    for (int i = 0; i < MOST_DEVICES; i++) {
        const struct device *device = device_at(i);

        if (device->base && (const unsigned char *)address >= device->base &&
            (const unsigned char *)address < device->base + SPAN)
            return true;
    }
    return false;
}

void use(struct command *command, struct block *block)
{
    if (command->used == MOST_USES)
        return;
    command->uses[command->used++] = block;
    block->users++;
}

/*
 * Host memory that the device can access: it shares memory with the host, or the block is mapped.
 */
static unsigned char *resolve_host(const char *call, struct command *command, const void *address,
                                   size_t size)
{
    struct block *block = host_find(address, size);

    if (block && (settings.integrated || settings.page_tables)) {
        use(command, block);
        return (unsigned char *)(uintptr_t)address;
    }
    if (settings.page_tables)
        return (unsigned char *)(uintptr_t)address;
    (void)misuse("%s: %p is host memory, a device pointer is required", call,
                 (void *)(uintptr_t)address);
    return NULL;
}

unsigned char *resolve(const char *call, struct command *command, struct device *device,
                       const void *address, size_t size)
{
    struct block *block;
    size_t before;

    if (!is_device_address(address))
        return resolve_host(call, command, address, size);
    block = containing(address);
    if (!block || block->freed) {
        (void)misuse("%s: %p was freed, or never allocated", call, (void *)(uintptr_t)address);
        return NULL;
    }
    if (block->device != device) {
        (void)misuse("%s: %p belongs to device %d, the call to device %d", call,
                     (void *)(uintptr_t)address, block->device->ordinal, device->ordinal);
        return NULL;
    }
    before = (size_t)((const unsigned char *)address - block->address);
    if (size > block->size - before) {
        (void)misuse("%s: %zu bytes at offset %zu of a block of %zu", call, size, before,
                     block->size);
        return NULL;
    }
    use(command, block);
    return block->bytes + before;
}

unsigned char *written_at(const void *address)
{
    struct block *block = containing(address);

    return block && block->written
               ? block->written + ((const unsigned char *)address - block->address)
               : NULL;
}

unsigned count_blocks(const struct device *device);
unsigned count_blocks(const struct device *device)
{
    unsigned blocks = 0;

    for (size_t i = 0; i < table.count; i++)
        blocks += table.at[i]->device == device;
    return blocks;
}

void drop_blocks(const struct device *device);
void drop_blocks(const struct device *device)
{
    for (size_t i = table.count; i-- > 0;)
        if (table.at[i]->device == device)
            block_delete(table.at[i]);
}

void forget_pool(const struct pool *pool)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.at[i]->pool == pool)
            table.at[i]->pool = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads, stores and atomic operations, and the translation of addresses: every access is inside
 * an object of its space and aligned to its size.
 */
#include "tests/ptx/real.h"
#include "tests/ptx/run.h"

#include <inttypes.h>

static const char *const space_names[] = { "generic",      "global",      "shared memory",
                                           "local memory", "a parameter", "constant memory" };

static const char *verb_of(enum kind kind)
{
    return kind & ATOMIC ? "updates" : kind & WRITE ? "writes" : "reads";
}

static unsigned char *outside(struct warp *w, const struct instruction *i, unsigned lane,
                              uint64_t address, uint32_t size, enum kind kind, const char *what)
{
    run_fail(w->block, i, "thread %u of block %u %s %u bytes at 0x%" PRIx64 " of %s",
             w->first + lane, w->block->index, verb_of(kind), size, address, what);
    return NULL;
}

/* ---- global memory ---- */

static bool holds(const struct ptx_window *window, uint64_t address, uint32_t size)
{
    return address >= window->address && address - window->address < window->size &&
           size <= window->size - (address - window->address);
}

static struct ptx_window *window_of(struct run *r, uint64_t address, uint32_t size)
{
    for (unsigned i = 0; i < r->launch->window_count; i++)
        if (holds(&r->launch->windows[i], address, size))
            return r->latest = &r->launch->windows[i];
    return NULL;
}

static unsigned char *global_at(struct warp *w, const struct instruction *i, unsigned lane,
                                uint64_t address, uint32_t size, enum kind kind)
{
    struct run *r = w->block->run;
    struct ptx_window *window =
        r->latest && holds(r->latest, address, size) ? r->latest : window_of(r, address, size);
    unsigned checks = r->launch->options.checks;
    size_t offset;

    if (!window) {
        r->launch->is_address = !r->has_failed;
        return outside(w, i, lane, address, size, kind,
                       "global memory, where the launch has no allocation");
    }
    offset = (size_t)(address - window->address);
    if (checks && window->written) {
        if (checks & PTX_CHECK_UNKNOWN && kind & READ && memchr(window->written + offset, 0, size))
            return outside(w, i, lane, offset, size, kind,
                           "an allocation, counted from its start, that were never written");
        if (kind & WRITE)
            memset(window->written + offset, 1, size);
    }
    if (checks & PTX_CHECK_RACES && !check_access(w, i, lane, window, offset, size, kind))
        return NULL;
    return window->bytes + offset;
}

/* ---- the other spaces ---- */

static unsigned char *shared_at(struct warp *w, const struct instruction *i, unsigned lane,
                                uint64_t address, uint32_t size, enum kind kind)
{
    struct block *b = w->block;
    size_t room = b->run->kernel->shared_bytes;

    if (address > room || size > room - address)
        return outside(w, i, lane, address, size, kind, "shared memory, beyond its end");
    if (b->shared_cells && !check_access(w, i, lane, NULL, (size_t)address, size, kind))
        return NULL;
    return b->shared + address;
}

static unsigned char *within(struct warp *w, const struct instruction *i, unsigned lane,
                             uint64_t address, uint32_t size, enum kind kind, enum ptx_space space)
{
    const struct ptx_kernel *kernel = w->block->run->kernel;
    unsigned char *bytes = NULL;
    size_t room = 0;

    if (space == LOCAL) {
        room = kernel->local_bytes;
        bytes = w->block->local + (w->first + lane) * room;
    } else if (space == CONSTANT) {
        room = kernel->module->variable_bytes;
        bytes = kernel->module->variables;
    } else if (kind == READ) {
        room = kernel->param_bytes;
        bytes = (unsigned char *)(uintptr_t)w->block->run->launch->params;
    }
    if (address > room || size > room - address)
        return outside(w, i, lane, address, size, kind, space_names[space]);
    return bytes + address;
}

unsigned char *memory_at(struct warp *w, const struct instruction *i, unsigned lane,
                         uint64_t address, uint32_t size, enum kind kind)
{
    enum ptx_space space = (enum ptx_space)i->space;

    if (address & (size - 1))
        return outside(w, i, lane, address, size, kind, "memory, which are not aligned");
    if (space == GENERIC || space == GLOBAL) {
        if (address >> 56 < 0x80)
            return global_at(w, i, lane, address, size, kind);
        space = (enum ptx_space)((address >> 56) - 0x80);
        if (space > CONSTANT)
            return outside(w, i, lane, address, size, kind, "memory, where nothing is");
    }
    address &= UINT64_MAX >> 8;
    if (space == SHARED)
        return shared_at(w, i, lane, address, size, kind);
    return within(w, i, lane, address, size, kind, space);
}

/* ---- loads and stores ---- */

static void addresses_of(struct warp *w, const struct instruction *i, unsigned n, uint64_t *out)
{
    if (i->narrow_address) {
        const uint32_t *base = SLOT(w, i, n, const uint32_t);

        EACH_LANE(l) out[l] = (uint32_t)(base[l] + (uint32_t)i->offset);
    } else {
        const uint64_t *base = SLOT(w, i, n, const uint64_t);

        EACH_LANE(l) out[l] = base[l] + (uint64_t)i->offset;
    }
}

/*
 * Whether one translation serves all lanes that load from one address, because accesses are not
 * recorded for each lane.
 */
static bool is_alike(const struct warp *w, const struct instruction *i)
{
    return i->space == PARAM || i->space == CONSTANT ||
           (!w->block->run->launch->options.checks && (i->space == GLOBAL || i->space == SHARED));
}

/* The first `count` slots are results, the next one is the address. */
#define LOAD(bytes, type)                                                   \
    void run_load_##bytes(struct warp *w, const struct instruction *i)      \
    {                                                                       \
        uint64_t address[LANES], latest = 0;                                \
        const unsigned char *p = NULL;                                      \
        bool alike = is_alike(w, i);                                        \
        type v[4];                                                          \
                                                                            \
        addresses_of(w, i, i->count, address);                              \
        for (unsigned k = 0; k < LANES; k++) {                              \
            unsigned l = w->sequence[k];                                    \
                                                                            \
            if (!w->mask[l])                                                \
                continue;                                                   \
            if (!p || !alike || address[l] != latest)                       \
                p = memory_at(w, i, l, address[l], bytes * i->count, READ); \
            if (!p)                                                         \
                return;                                                     \
            latest = address[l];                                            \
            memcpy(v, p, (size_t)bytes * i->count);                         \
            for (unsigned n = 0; n < i->count; n++)                         \
                SLOT(w, i, n, type)[l] = v[n];                              \
        }                                                                   \
    }

/* The address is the first slot. */
#define STORE(bytes, type)                                               \
    void run_store_##bytes(struct warp *w, const struct instruction *i)  \
    {                                                                    \
        uint64_t address[LANES];                                         \
        type v[4] = { 0 };                                               \
                                                                         \
        addresses_of(w, i, 0, address);                                  \
        for (unsigned k = 0; k < LANES; k++) {                           \
            unsigned l = w->sequence[k];                                 \
            unsigned char *p;                                            \
                                                                         \
            if (!w->mask[l])                                             \
                continue;                                                \
            p = memory_at(w, i, l, address[l], bytes * i->count, WRITE); \
            if (!p)                                                      \
                return;                                                  \
            for (unsigned n = 0; n < i->count; n++)                      \
                v[n] = SLOT(w, i, n + 1, const type)[l];                 \
            memcpy(p, v, (size_t)bytes * i->count);                      \
        }                                                                \
    }
LOAD(1, uint8_t)
LOAD(2, uint16_t)
LOAD(4, uint32_t)
LOAD(8, uint64_t)
STORE(1, uint8_t)
STORE(2, uint16_t)
STORE(4, uint32_t)
STORE(8, uint64_t)

/* ---- atomic operations ---- */

#define INTEGER_UPDATE(name, type)                                    \
    static type name(enum atomic operation, type old, type y, type z) \
    {                                                                 \
        switch (operation) {                                          \
        case ADD:                                                     \
            return (type)((uint64_t)old + (uint64_t)y);               \
        case COMPARE:                                                 \
            return old == y ? z : old;                                \
        case LEAST:                                                   \
            return y < old ? y : old;                                 \
        case MOST:                                                    \
            return y > old ? y : old;                                 \
        case AND:                                                     \
            return old & y;                                           \
        case OR:                                                      \
            return old | y;                                           \
        case XOR:                                                     \
            return old ^ y;                                           \
        case INCREMENT:                                               \
            return old >= y ? 0 : (type)(old + 1);                    \
        case DECREMENT:                                               \
            return old == 0 || old > y ? y : (type)(old - 1);         \
        default:                                                      \
            return y;                                                 \
        }                                                             \
    }
INTEGER_UPDATE(update_u32, uint32_t)
INTEGER_UPDATE(update_s32, int32_t)
INTEGER_UPDATE(update_u64, uint64_t)
INTEGER_UPDATE(update_s64, int64_t)

/*
 * For floats only add and exchange exist; atom.add.f32 flushes subnormal numbers in global memory.
 */
static float update_f32(enum atomic operation, float old, float y, float z)
{
    (void)z;
    return operation == ADD ? flushed(made(flushed(old) + flushed(y))) : y;
}

static double update_f64(enum atomic operation, double old, double y, double z)
{
    (void)z;
    return operation == ADD ? made64(old + y) : y;
}

/* Slots: the old value, the address, y, and z of a compare-and-swap. */
#define ATOMIC_HANDLER(name, type)                                                            \
    void run_atomic_##name(struct warp *w, const struct instruction *i)                       \
    {                                                                                         \
        uint64_t address[LANES];                                                              \
        type old;                                                                             \
                                                                                              \
        addresses_of(w, i, 1, address);                                                       \
        for (unsigned k = 0; k < LANES; k++) {                                                \
            unsigned l = w->sequence[k];                                                      \
            unsigned char *p;                                                                 \
            type new;                                                                         \
                                                                                              \
            if (!w->mask[l])                                                                  \
                continue;                                                                     \
            p = memory_at(w, i, l, address[l], sizeof(type), READ | WRITE | ATOMIC);          \
            if (!p)                                                                           \
                return;                                                                       \
            memcpy(&old, p, sizeof(old));                                                     \
            new = update_##name((enum atomic)i->operation, old, SLOT(w, i, 2, const type)[l], \
                                i->operation == COMPARE ? SLOT(w, i, 3, const type)[l] : 0);  \
            memcpy(p, &new, sizeof(new));                                                     \
            SLOT(w, i, 0, type)[l] = old;                                                     \
            check_atomic(w->block, w->first + l, address[l]);                                 \
        }                                                                                     \
    }
ATOMIC_HANDLER(u32, uint32_t)
ATOMIC_HANDLER(s32, int32_t)
ATOMIC_HANDLER(u64, uint64_t)
ATOMIC_HANDLER(s64, int64_t)
ATOMIC_HANDLER(f32, float)
ATOMIC_HANDLER(f64, double)

/* ---- vectors of registers ---- */

static uint64_t bits_at(struct warp *w, uint32_t slot, unsigned width, unsigned l)
{
    uint64_t v = 0;

    memcpy(&v, w->registers + slot + (size_t)width * l, width);
    return v;
}

/* The result, then `count` parts of it from the lowest, each of `width` bytes. */
void run_pack(struct warp *w, const struct instruction *i)
{
    for (unsigned l = 0; l < LANES; l++) {
        unsigned whole = (unsigned)i->width * i->count;
        uint64_t v = 0;

        if (!w->mask[l])
            continue;
        for (unsigned n = 0; n < i->count; n++)
            v |= bits_at(w, i->slot[n + 1], i->width, l) << (8 * i->width * n);
        memcpy(w->registers + i->slot[0] + (size_t)whole * l, &v, whole);
    }
}

/* The first slots are the parts, the last one is the value. */
void run_unpack(struct warp *w, const struct instruction *i)
{
    for (unsigned l = 0; l < LANES; l++) {
        unsigned whole = (unsigned)i->width * i->count;
        uint64_t v;

        if (!w->mask[l])
            continue;
        v = bits_at(w, i->slot[i->count], whole, l);
        for (unsigned n = 0; n < i->count; n++) {
            uint64_t part = v >> (8 * i->width * n);

            memcpy(w->registers + i->slot[n] + (size_t)i->width * l, &part, i->width);
        }
    }
}

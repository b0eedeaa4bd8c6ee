/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations across the lanes of a warp: shfl, vote, match, redux. The decoder has every lane of
 * the mask meet before them (flow.c, run_warp_barrier), so that here all lanes that take part
 * are in the mask.
 */
#include "tests/ptx/run.h"

#include <string.h>

static uint32_t lanes_of(const struct warp *w)
{
    uint32_t bits = 0;

    EACH_LANE(l) bits |= w->mask[l] & 1u << l;
    return bits;
}

/* ---- shfl ---- */

enum shuffle { UP, DOWN, BUTTERFLY, INDEX };

/* The lane that `lane` reads; `c` has the clamp in its lower and the segment in its upper bits. */
static bool source_of(enum shuffle mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t *out)
{
    uint32_t segment = c >> 8 & 31, clamp = c & 31;
    uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int64_t from = mode == UP          ? (int64_t)lane - (b & 31)
                   : mode == DOWN      ? (int64_t)lane + (b & 31)
                   : mode == BUTTERFLY ? (int64_t)(lane ^ (b & 31))
                                       : (int64_t)(least | (b & 31 & ~segment));
    bool is_within = mode == UP ? from >= (int64_t)most : from <= (int64_t)most;

    *out = is_within ? (uint32_t)from : lane;
    return is_within;
}

static void shuffle(struct warp *w, const struct instruction *i, enum shuffle mode)
{
    uint32_t *d = SLOT(w, i, 0, uint32_t), *p = SLOT(w, i, 1, uint32_t), old[LANES];
    const uint32_t *b = SLOT(w, i, 3, const uint32_t), *c = SLOT(w, i, 4, const uint32_t);
    uint32_t lanes = lanes_of(w), from;

    memcpy(old, SLOT(w, i, 2, const uint32_t), sizeof(old));
    for (unsigned l = 0; l < LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        p[l] = source_of(mode, l, b[l], c[l], &from);
        if (!(lanes >> from & 1)) {
            run_fail(w->block, i, "lane %u of warp %u reads lane %u, which does not take part", l,
                     w->first / LANES, from);
            return;
        }
        d[l] = old[from];
    }
}

#define SHUFFLE(name, mode)                                       \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        shuffle(w, i, mode);                                      \
    }
SHUFFLE(shfl_up, UP)
SHUFFLE(shfl_down, DOWN)
SHUFFLE(shfl_bfly, BUTTERFLY)
SHUFFLE(shfl_idx, INDEX)

/* ---- vote, match ---- */

static uint32_t ballot_of(const struct warp *w, const uint32_t *p)
{
    uint32_t bits = 0;

    for (unsigned l = 0; l < LANES; l++)
        bits |= w->mask[l] && p[l] ? 1u << l : 0;
    return bits;
}

#define VOTE(name, value)                                           \
    static void name(struct warp *w, const struct instruction *i)   \
    {                                                               \
        uint32_t *d = SLOT(w, i, 0, uint32_t);                      \
        uint32_t yes = ballot_of(w, SLOT(w, i, 1, const uint32_t)); \
        uint32_t lanes = lanes_of(w), v = value;                    \
                                                                    \
        APPLY(w, uint32_t, d, v + 0 * lanes);                       \
    }
VOTE(vote_all, yes == lanes)
VOTE(vote_any, yes != 0)
VOTE(vote_uni, yes == 0 || yes == lanes)
VOTE(vote_ballot, yes)

static void match_any(struct warp *w, const struct instruction *i)
{
    uint32_t *d = SLOT(w, i, 0, uint32_t), x[LANES];

    memcpy(x, SLOT(w, i, 1, const uint32_t), sizeof(x));
    for (unsigned l = 0; l < LANES; l++) {
        if (!w->mask[l])
            continue;
        d[l] = 0;
        for (unsigned k = 0; k < LANES; k++)
            d[l] |= w->mask[k] && x[k] == x[l] ? 1u << k : 0;
    }
}

static void activemask(struct warp *w, const struct instruction *i)
{
    uint32_t *d = SLOT(w, i, 0, uint32_t), lanes = lanes_of(w);

    APPLY(w, uint32_t, d, lanes);
}

/* ---- redux ---- */

#define REDUX(name, type, value)                                  \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        type *d = SLOT(w, i, 0, type), r = 0;                     \
        const type *x = SLOT(w, i, 1, const type);                \
        bool is_first = true;                                     \
                                                                  \
        for (unsigned l = 0; l < LANES; l++) {                    \
            if (!w->mask[l])                                      \
                continue;                                         \
            r = is_first ? x[l] : (type)(value);                  \
            is_first = false;                                     \
        }                                                         \
        APPLY(w, type, d, r);                                     \
    }
REDUX(redux_add, uint32_t, r + x[l])
REDUX(redux_and, uint32_t, r &x[l])
REDUX(redux_or, uint32_t, r | x[l])
REDUX(redux_xor, uint32_t, r ^ x[l])
REDUX(redux_min_u32, uint32_t, x[l] < r ? x[l] : r)
REDUX(redux_max_u32, uint32_t, x[l] > r ? x[l] : r)
REDUX(redux_min_s32, int32_t, x[l] < r ? x[l] : r)
REDUX(redux_max_s32, int32_t, x[l] > r ? x[l] : r)

/*
 * The last operand is the mask of lanes; of shfl the second result is whether the source was
 * within bounds.
 */
static const struct opcode opcodes[] = {
    { "shfl.sync.up.b32", "wp=wwww", shfl_up },
    { "shfl.sync.down.b32", "wp=wwww", shfl_down },
    { "shfl.sync.bfly.b32", "wp=wwww", shfl_bfly },
    { "shfl.sync.idx.b32", "wp=wwww", shfl_idx },
    { "vote.sync.all.pred", "p=pw", vote_all },
    { "vote.sync.any.pred", "p=pw", vote_any },
    { "vote.sync.uni.pred", "p=pw", vote_uni },
    { "vote.sync.ballot.b32", "w=pw", vote_ballot },
    { "match.any.sync.b32", "w=ww", match_any },
    { "activemask.b32", "w=", activemask },
    { "redux.sync.add.u32", "w=ww", redux_add },
    { "redux.sync.add.s32", "w=ww", redux_add },
    { "redux.sync.and.b32", "w=ww", redux_and },
    { "redux.sync.or.b32", "w=ww", redux_or },
    { "redux.sync.xor.b32", "w=ww", redux_xor },
    { "redux.sync.min.u32", "w=ww", redux_min_u32 },
    { "redux.sync.max.u32", "w=ww", redux_max_u32 },
    { "redux.sync.min.s32", "w=ww", redux_min_s32 },
    { "redux.sync.max.s32", "w=ww", redux_max_s32 },
};

const struct opcode_group warp_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };

/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/chance.h"

/* The mixing function of SplitMix64 (Steele, Lea, Flood). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct ferry__chance ferry__chance(uint64_t key, enum ferry__chance_of of, uint64_t index)
{
    uint64_t purpose = mix(key + ((uint64_t)of + 1) * 0xd1342543de82ef95u);

    return (struct ferry__chance){ mix(purpose + (index + 1) * 0x9e3779b97f4a7c15u), 0 };
}

/*
 * Draws numbers until one is below the last whole multiple of `below`; without this, small results
 * would be more likely.
 */
uint64_t ferry__chance_next(struct ferry__chance *chance, uint64_t below)
{
    uint64_t rest = (UINT64_MAX % below + 1) % below, x;

    do
        x = mix(chance->state + ++chance->drawn * 0x9e3779b97f4a7c15u);
    while (x > UINT64_MAX - rest);
    return x % below;
}

void ferry__chance_order(struct ferry__chance chance, int64_t *order, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        int64_t k = (int64_t)ferry__chance_next(&chance, (uint64_t)i + 1);

        order[i] = order[k];
        order[k] = i;
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "nets.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text of a random net, and its random numbers. */

#define LARGEST 20000 /* maximum number of elements of a blob */

int net_roll(struct net_maker *m, int low, int high)
{
    uint64_t x = m->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return low + (int)((x >> 32) % (uint64_t)(high - low + 1));
}

const char *net_word(struct net_maker *m, const char *words)
{
    static char word[128];
    int n = 1;

    for (const char *at = words; *at; at++)
        n += *at == '|';
    for (n = net_roll(m, 1, n); n > 1; n--)
        words = strchr(words, '|') + 1;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, "|"), words);
    return word;
}

int64_t net_count(const struct net_blob *b, int from)
{
    int64_t n = 1;

    for (int i = from; i < b->axes; i++)
        n *= b->shape[i];
    return n;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void put_list(struct net_maker *m, const char *format, va_list list)
{
    size_t room = sizeof(m->text) - m->length;
    int n = vsnprintf(m->text + m->length, room, format, list);

    m->length += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static void put(struct net_maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct net_maker *m, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    put_list(m, format, list);
    va_end(list);
}

static void begin_layer(struct net_maker *m, const char *type, const int *bottom, int bottoms)
{
    put(m, "layer { name: 'l%d' type: '%s'", ++m->layers, type);
    for (int i = 0; i < bottoms; i++) {
        put(m, " bottom: '%s'", m->blob[bottom[i]].name);
        m->blob[bottom[i]].used = true;
    }
}

static void new_top(struct net_maker *m, const struct net_blob *shape)
{
    struct net_blob *b = &m->blob[m->blobs];

    *b = *shape;
    snprintf(b->name, sizeof(b->name), "b%d", m->blobs++);
    b->used = false;
    put(m, " top: '%s'", b->name);
}

static bool has_room(const struct net_maker *m, const struct net_blob *top)
{
    return m->blobs + 2 <= NET_BLOBS && m->length + 1024 <= NET_TEXT &&
           net_count(top, 0) <= LARGEST && net_count(top, 0) > 0;
}

void net_layer(struct net_maker *m, const char *type, const int *bottom, int bottoms,
               const struct net_blob *top, const char *format, ...)
{
    va_list list;

    if (!has_room(m, top))
        return;
    begin_layer(m, type, bottom, bottoms);
    new_top(m, top);
    put(m, " ");
    va_start(list, format);
    put_list(m, format, list);
    va_end(list);
    put(m, " }\n");
}

void net_layer_of_two(struct net_maker *m, const char *type, int bottom, const struct net_blob *top,
                      const struct net_blob *second, const char *format, ...)
{
    va_list list;

    if (!has_room(m, top))
        return;
    begin_layer(m, type, &bottom, 1);
    new_top(m, top);
    new_top(m, second);
    put(m, " ");
    va_start(list, format);
    put_list(m, format, list);
    va_end(list);
    put(m, " }\n");
}

void net_layer_like(struct net_maker *m, const char *type, int bottom, const char *format, ...)
{
    struct net_blob *b = &m->blob[bottom], shape = *b;
    bool in_place = bottom > 0 && !b->used && net_roll(m, 0, 2);
    va_list list;

    if (!has_room(m, b))
        return;
    begin_layer(m, type, &bottom, 1);
    if (in_place) {
        put(m, " top: '%s'", b->name);
        b->used = false;
    } else {
        new_top(m, &shape);
    }
    put(m, " ");
    va_start(list, format);
    put_list(m, format, list);
    va_end(list);
    put(m, " }\n");
}

/* ---- nets ----------------------------------------------------------------------------------- */

static void put_input(struct net_maker *m)
{
    static const int channels[] = { 1, 2, 3, 4, 6, 8, 16, 17 };
    struct net_blob b = { .axes = 4 };

    b.shape[0] = net_roll(m, 1, 3);
    b.shape[1] = channels[net_roll(m, 0, 7)];
    b.shape[2] = net_roll(m, 3, 11);
    b.shape[3] = net_roll(m, 3, 11);
    put(m, "layer { name: 'in' type: 'Input'");
    new_top(m, &b);
    put(m, " input_param { shape {");
    for (int i = 0; i < b.axes; i++)
        put(m, " dim: %" PRId64, b.shape[i]);
    put(m, " } } }\n");
}

void net_make(struct net_maker *m, uint64_t seed, int most)
{
    int layers, tries;

    memset(m, 0, sizeof(*m));
    m->state = seed * UINT64_C(0xd1342543de82ef95);
    layers = net_roll(m, 4, 20);
    net_choose_favourites(m);
    put_input(m);
    for (tries = 0; tries < 200 && m->layers < layers && m->layers < most; tries++) {
        int last = m->blobs - 1, first = last > 3 && net_roll(m, 0, 2) ? last - 3 : 0;

        net_some_layer(m, net_roll(m, first, last));
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "merge.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of files that have weights in the option. */
static int given(const struct merge *m)
{
    return m->count - m->has_base;
}

/* Sets the base's weight, 1 minus the sum of the others. */
static void set_rest(const struct merge *m, double *of)
{
    double rest = 1;

    for (int i = 0; i < given(m); i++)
        rest -= of[i];
    if (m->has_base)
        of[given(m)] = rest;
}

/* Parses "0.5,0.25,0.25", one for each file except the base. */
static int parse_numbers(const struct merge *m, const char *text, double *of)
{
    const char *at = text;
    int n = given(m);

    for (int i = 0; i < n; i++) {
        char *end;

        of[i] = strtod(at, &end);
        if (end != at && !isfinite(of[i]))
            return tool_error(TOOL_USAGE, "merge: --weights \"%s\": %.*s is not finite", text,
                              (int)(end - at), at);
        if (end == at || *end != (i + 1 < n ? ',' : '\0'))
            return tool_error(TOOL_USAGE,
                              "merge: --weights \"%s\": expected %d numbers, separated by commas",
                              text, n);
        at = end + 1;
    }
    set_rest(m, of);
    return TOOL_OK;
}

/* Appends an entry of zeros; NULL if out of memory. */
static struct merge_weights *add(struct merge *m)
{
    struct merge_weights *w = &m->weights[m->weights_count];

    w->of = calloc((size_t)m->count + 1, sizeof(*w->of));
    m->weights_count += w->of != NULL;
    return w->of ? w : NULL;
}

/* Parses "GLOB=W,…"; an entry without a glob is stored last. */
static int parse_part(struct merge *m, char *part, struct merge_weights *others, bool *general)
{
    char *sign = strrchr(part, '=');
    struct merge_weights *w = sign ? add(m) : others;

    if (!sign && *general)
        return tool_error(TOOL_USAGE,
                          "merge: --weights \"%s\": the weights without a glob occur "
                          "twice",
                          part);
    *general = *general || !sign;
    if (w && sign)
        w->glob = strndup(part, (size_t)(sign - part));
    if (!w || (sign && !w->glob))
        return tool_error(TOOL_FAILURE, "out of memory");
    return parse_numbers(m, sign ? sign + 1 : part, w->of);
}

static int parse_parts(struct merge *m, char *text, struct merge_weights *others)
{
    bool general = false;
    int status = TOOL_OK;

    while (text && status == TOOL_OK) {
        char *next = strchr(text, ';');

        if (next)
            *next++ = '\0';
        status = parse_part(m, text, others, &general);
        text = next;
    }
    return status;
}

int merge_parse_weights(struct merge *m, const char *text)
{
    struct merge_weights others = { .glob = NULL };
    char *copy = strdup(text ? text : "");
    size_t parts = 2;
    int status = TOOL_OK;

    for (const char *at = copy; at && *at; at++)
        parts += *at == ';';
    m->weights = calloc(parts, sizeof(*m->weights));
    others.of = calloc((size_t)m->count + 1, sizeof(*others.of));
    if (!copy || !m->weights || !others.of)
        status = tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < given(m) && others.of; i++)
        others.of[i] = m->has_base ? 1 : 1.0 / given(m);
    if (status == TOOL_OK)
        set_rest(m, others.of);
    if (status == TOOL_OK && text)
        status = parse_parts(m, copy, &others);
    if (m->weights)
        m->weights[m->weights_count++] = others;
    else
        free(others.of);
    free(copy);
    return status;
}

const double *merge_weights_of(struct merge *m, const char *name)
{
    size_t i = 0;

    while (m->weights[i].glob && fnmatch(m->weights[i].glob, name, 0) != 0)
        i++;
    m->weights[i].used = true;
    return m->weights[i].of;
}

const char *merge_unused_weights(const struct merge *m)
{
    for (size_t i = 0; m->weights[i].glob; i++)
        if (!m->weights[i].used)
            return m->weights[i].glob;
    return NULL;
}

void merge_free_weights(struct merge *m)
{
    for (size_t i = 0; i < m->weights_count; i++) {
        free(m->weights[i].glob);
        free(m->weights[i].of);
    }
    free(m->weights);
}

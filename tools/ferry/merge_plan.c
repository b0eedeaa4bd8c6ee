/* SPDX-License-Identifier: BSD-2-Clause */
#include "merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void shape_text(const ferry_io_entry *e, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "%s (", ferry_dtype_name(e->dtype));

    for (int i = 0; i < e->rank && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? " " : "", e->shape[i]);
    if (used < size)
        snprintf(buf + used, size - used, ")");
}

static bool same_dims(const ferry_io_entry *a, const ferry_io_entry *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(*a->shape)) == 0);
}

static void say_unreadable(const struct merge *m, const ferry_io_entry *entry, int input)
{
    (void)tool_error(0, "merge: %s: %s in %s: %s", entry->name, entry->storage,
                     m->inputs[input].path, entry->unreadable);
}

/* Reports the errors of the array in one input; returns their number. */
static int check_input(const struct merge *m, struct merge_array *array, int i)
{
    const ferry_io_entry *entry = NULL;
    char here[200], there[200];

    if (files_find(m->inputs[i].io[0], m->inputs[array->from].io[0], array->entry->name, &entry)) {
        (void)tool_ferry_error();
        return 1;
    }
    if (!entry && m->allow_missing) {
        array->copied = true;
        return 0;
    }
    if (!entry) {
        (void)tool_error(0, "merge: %s: is in %s but missing in %s", array->entry->name,
                         m->inputs[array->from].path, m->inputs[i].path);
        return 1;
    }
    if (entry->unreadable) {
        say_unreadable(m, entry, i);
        return 1;
    }
    if (same_dims(entry, array->entry) && (!m->any_dtype || entry->dtype == array->entry->dtype))
        return 0;
    shape_text(array->entry, here, sizeof(here));
    shape_text(entry, there, sizeof(there));
    (void)tool_error(0, "merge: %s: %s in %s, %s in %s%s", array->entry->name, here,
                     m->inputs[array->from].path, there, m->inputs[i].path,
                     same_dims(entry, array->entry) ? "; --dtype sets the dtype of the sum" : "");
    return 1;
}

static int check_array(const struct merge *m, struct merge_array *array)
{
    const ferry_io_entry *found = NULL;
    int wrong = 0;

    if (ferry_io_entry_find(m->inputs[array->from].io[0], array->entry->name, &found) ||
        found != array->entry) {
        (void)tool_error(0, "merge: %s: occurs twice in %s", array->entry->name,
                         m->inputs[array->from].path);
        return 1;
    }
    if (array->entry->has_diff && !m->without_diff) {
        (void)tool_error(0, "merge: %s: has a diff in %s; --no-diff leaves it out",
                         array->entry->name, m->inputs[array->from].path);
        wrong++;
    }
    if (array->entry->unreadable) {
        say_unreadable(m, array->entry, array->from);
        return wrong + 1;
    }
    for (int i = 0; i < m->count; i++)
        wrong += check_input(m, array, i);
    return wrong;
}

/* Whether an earlier input has the array, so that it is in the list already. */
static bool known(const struct merge *m, int input, const ferry_io_entry *entry)
{
    const ferry_io_entry *found = NULL;

    for (int i = 0; i < input; i++)
        if (files_find(m->inputs[i].io[0], m->inputs[input].io[0], entry->name, &found) ==
                FERRY_OK &&
            found)
            return true;
    return false;
}

int merge_plan(struct merge *m)
{
    int64_t room = 0;
    int wrong = 0;

    for (int i = 0; i < m->count; i++)
        room += ferry_io_entry_count(m->inputs[i].io[0]);
    m->arrays = calloc((size_t)room + 1, sizeof(*m->arrays));
    if (!m->arrays)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < m->count; i++) {
        ferry_io *io = m->inputs[i].io[0];
        const ferry_io_entry *entry;

        for (int64_t k = 0; k < ferry_io_entry_count(io); k++) {
            struct merge_array *array = &m->arrays[m->array_count];

            if (ferry_io_entry_at(io, k, &entry))
                return tool_ferry_error();
            if (known(m, i, entry))
                continue;
            array->entry = entry;
            array->from = i;
            array->dtype = m->any_dtype ? entry->dtype : m->dtype;
            array->weights = merge_weights_of(m, entry->name);
            wrong += check_array(m, array);
            m->array_count++;
        }
    }
    if (merge_unused_weights(m))
        wrong +=
            tool_error(1, "merge: --weights: \"%s\" matches no array", merge_unused_weights(m));
    return wrong ? TOOL_FAILURE : TOOL_OK;
}

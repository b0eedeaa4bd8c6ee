/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry trace`: sums a file of FERRY_TRACE: the bytes of each copy, by device, blob and reason. */

/* The sum of the events of one device, blob, direction and reason. */
struct sum {
    char *device, *name, *what, *reason;
    uint64_t count, bytes;
    double microseconds;
    bool copy;
};

struct sums {
    struct sum *rows;
    size_t count, room;
    json_t *devices; /* the names, by "pid" */
    size_t events;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- adding up ------------------------------------------------------------------------------ */

static bool is_same(const struct sum *s, const struct sum *key)
{
    return strcmp(s->device, key->device) == 0 && strcmp(s->name, key->name) == 0 &&
           strcmp(s->what, key->what) == 0 && strcmp(s->reason, key->reason) == 0;
}

static struct sum *append(struct sums *all, const struct sum *key)
{
    struct sum *s;

    if (all->count == all->room) {
        size_t room = all->room ? all->room * 2 : 64;
        struct sum *rows = realloc(all->rows, room * sizeof(*rows));

        if (!rows)
            return NULL;
        all->rows = rows;
        all->room = room;
    }
    s = &all->rows[all->count];
    memset(s, 0, sizeof(*s));
    s->device = strdup(key->device);
    s->name = strdup(key->name);
    s->what = strdup(key->what);
    s->reason = strdup(key->reason);
    if (s->device && s->name && s->what && s->reason) {
        all->count++;
        return s;
    }
    free(s->device);
    free(s->name);
    free(s->what);
    free(s->reason);
    return NULL;
}

/*
 * Finds a sum. A linear search is enough: a trace has many events but few blobs, directions and
 * reasons.
 */
static struct sum *find(struct sums *all, const struct sum *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_same(&all->rows[i], key))
            return &all->rows[i];
    return append(all, key);
}

/* Records a device's name, which is in an event of its own; a slot may be named again. */
static void learn_device(struct sums *all, const json_t *event)
{
    char pid[32];

    if (strcmp(text_of(event, "name"), "process_name") != 0)
        return;
    snprintf(pid, sizeof(pid), "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(event, "pid")));
    json_object_set_new(all->devices, pid,
                        json_string(text_of(json_object_get(event, "args"), "name")));
}

/*
 * Whether an event counts. Slices of layers, and of copies in device time, do not, since their
 * bytes are in other events too.
 */
static bool is_summed(const char *kind)
{
    return strcmp(kind, "copy") == 0 || strcmp(kind, "memory") == 0;
}

static bool add_event(struct sums *all, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    char pid[32];
    struct sum key = { 0 };
    struct sum *s;

    if (strcmp(text_of(event, "ph"), "M") == 0)
        learn_device(all, event);
    if (strcmp(text_of(event, "ph"), "X") != 0 || !is_summed(text_of(event, "cat")))
        return true;
    snprintf(pid, sizeof(pid), "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(event, "pid")));
    key.device = (char *)(uintptr_t)text_of(all->devices, pid);
    key.name = (char *)(uintptr_t)text_of(args, "blob");
    key.what = (char *)(uintptr_t)text_of(event, "name");
    key.reason = (char *)(uintptr_t)text_of(args, "reason");
    s = find(all, &key);
    if (!s)
        return false;
    all->events++;
    s->copy = strcmp(text_of(event, "cat"), "copy") == 0;
    s->count++;
    s->bytes += (uint64_t)json_integer_value(json_object_get(args, "bytes"));
    s->microseconds += json_number_value(json_object_get(event, "dur"));
    return true;
}

/*
 * Orders sums: copies first, those with the most bytes first; then the other events in the same
 * order.
 */
static int compare(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;

    if (x->copy != y->copy)
        return x->copy ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->what, y->what);
}

/* ---- output --------------------------------------------------------------------------------- */

static json_t *json_row(const struct sum *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:o}", "device",
                     tool_json_string(s->device), "blob", tool_json_string(s->name), "what",
                     tool_json_string(s->what), "reason", tool_json_string(s->reason), "copy",
                     s->copy, "count", (json_int_t)s->count, "bytes", (json_int_t)s->bytes,
                     "seconds", tool_json_real(s->microseconds * 1e-6));
}

static int print_json(const struct sums *all, const char *path)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < all->count; i++)
        if (json_array_append_new(rows, json_row(&all->rows[i])) != 0) {
            json_decref(rows);
            return tool_error(TOOL_FAILURE, "out of memory");
        }
    return tool_json_print(json_pack("{s:o, s:I, s:o}", "file", tool_json_string(path), "events",
                                     (json_int_t)all->events, "rows", rows));
}

static bool add_row(struct tool_table *t, const struct sum *s)
{
    char count[24], bytes[32], ms[32];
    const char *cells[] = { s->device,
                            s->what,
                            s->reason[0] ? s->reason : "-",
                            count,
                            tool_bytes(s->bytes, bytes, 32),
                            ms,
                            s->name[0] ? s->name : "(no name)" };

    snprintf(count, sizeof(count), "%" PRIu64, s->count);
    snprintf(ms, sizeof(ms), "%.3f", s->microseconds * 1e-3);
    return tool_table_add(t, cells);
}

static int print_table(const struct sums *all)
{
    static const char *const headings[] = { "DEVICE", "WHAT", "REASON", ">COUNT",
                                            ">BYTES", ">MS",  "BLOB" };
    struct tool_table *t = tool_table_create(headings, 7);
    int status = t ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");

    for (size_t i = 0; i < all->count && status == TOOL_OK; i++)
        if (!add_row(t, &all->rows[i]))
            status = tool_error(TOOL_FAILURE, "out of memory");
    if (status == TOOL_OK)
        tool_table_print(t, tool_width());
    tool_table_destroy(t);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static char *read_text(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 4);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    *out_size = text ? (size_t)size : 0;
    return text;
}

/*
 * Reads the trace of a killed program, which lacks the closing bracket and perhaps half an event.
 * Each event is a line, so the text up to the last comma at the end of a line is complete.
 */
static json_t *load_cut(const char *path)
{
    json_t *document = NULL;
    size_t size;
    char *text = read_text(path, &size);

    while (size >= 2 && memcmp(text + size - 2, ",\n", 2) != 0)
        size--;
    if (size >= 2) {
        memcpy(text + size - 2, "\n]}", 4);
        document = json_loads(text, 0, NULL);
    }
    free(text);
    return document;
}

static json_t *load(const char *path, json_error_t *error)
{
    json_t *document = json_load_file(path, 0, error);

    return document ? document : load_cut(path);
}

static int sum_up(const char *path, bool json)
{
    struct sums all = { NULL, 0, 0, json_object(), 0 };
    json_error_t error;
    json_t *document = load(path, &error), *events, *event;
    int status = TOOL_OK;
    size_t i;

    events = json_object_get(document, "traceEvents");
    if (!document)
        status = tool_error(TOOL_FAILURE, "%s: %s", path, error.text);
    else if (!json_is_array(events))
        status = tool_error(TOOL_FAILURE,
                            "%s: lacks \"traceEvents\"; FERRY_TRACE=FILE makes a program "
                            "write them",
                            path);
    json_array_foreach(events, i, event)
    {
        if (status == TOOL_OK && !add_event(&all, event))
            status = tool_error(TOOL_FAILURE, "out of memory");
    }
    if (status == TOOL_OK) {
        qsort(all.rows, all.count, sizeof(*all.rows), compare);
        status = json ? print_json(&all, path) : print_table(&all);
    }
    for (i = 0; i < all.count; i++) {
        free(all.rows[i].device);
        free(all.rows[i].name);
        free(all.rows[i].what);
        free(all.rows[i].reason);
    }
    free(all.rows);
    json_decref(all.devices);
    json_decref(document);
    return status;
}

int cmd_trace(const struct tool_command *self, int argc, char **argv)
{
    bool json = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 1);

    if (n < 0)
        return tool_parse_status(n);
    if (n == 0)
        return tool_error(TOOL_USAGE, "trace: missing file; usage: ferry trace FILE [--json]");
    return sum_up(argv[0], json);
}

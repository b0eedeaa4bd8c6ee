/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry rename`: copies the arrays of a file under other names. */

/*
 * A rule "OLD=NEW". One asterisk in OLD matches any text; an asterisk in NEW is replaced by that
 * text.
 */
struct rule {
    const char *text;
    char *from, *to;
    int64_t used;
};

struct renaming {
    struct transfer t;
    struct rule *rules;
    size_t rule_count;
    char **names; /* the names that were allocated */
    const char *path;
};

/* ---- rules ---------------------------------------------------------------------------------- */

static size_t asterisks(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '*';
    return n;
}

static int parse_rule(const char *text, struct rule *out)
{
    const char *sign = strchr(text, '=');

    out->text = text;
    if (!sign || sign == text || !sign[1])
        return tool_error(TOOL_USAGE, "rename: \"%s\": expected OLD=NEW", text);
    out->from = strndup(text, (size_t)(sign - text));
    out->to = strdup(sign + 1);
    if (!out->from || !out->to)
        return tool_error(TOOL_FAILURE, "out of memory");
    if (asterisks(out->from) > 1 || asterisks(out->to) > asterisks(out->from))
        return tool_error(TOOL_USAGE,
                          "rename: \"%s\": OLD may have one asterisk, and NEW one if OLD has one",
                          text);
    return TOOL_OK;
}

/* The text that the asterisk matches, and its length; NULL if the rule does not match the name. */
static const char *match(const struct rule *rule, const char *name, size_t *length)
{
    const char *star = strchr(rule->from, '*');
    size_t head = star ? (size_t)(star - rule->from) : 0;
    size_t tail = star ? strlen(star + 1) : 0, n = strlen(name);

    *length = 0;
    if (!star)
        return strcmp(rule->from, name) == 0 ? name : NULL;
    if (n < head + tail || memcmp(name, rule->from, head) != 0 ||
        strcmp(name + n - tail, star + 1) != 0)
        return NULL;
    *length = n - head - tail;
    return name + head;
}

/* The new name; NULL if out of memory. */
static char *make_name(const struct rule *rule, const char *middle, size_t length)
{
    const char *star = strchr(rule->to, '*');
    size_t head = star ? (size_t)(star - rule->to) : strlen(rule->to);
    size_t size = strlen(rule->to) + length + 1;
    char *name = malloc(size);

    if (name)
        snprintf(name, size, "%.*s%.*s%s", (int)head, rule->to, star ? (int)length : 0, middle,
                 star ? star + 1 : "");
    return name;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Applies the first rule that matches; without a match the name is kept. */
static int rename_item(struct renaming *r, size_t i)
{
    struct files_item *item = &r->t.items[i];

    for (size_t k = 0; k < r->rule_count; k++) {
        size_t length;
        const char *middle = match(&r->rules[k], item->name, &length);

        if (!middle)
            continue;
        r->rules[k].used++;
        r->names[i] = make_name(&r->rules[k], middle, length);
        if (!r->names[i])
            return tool_error(TOOL_FAILURE, "out of memory");
        item->name = r->names[i];
        break;
    }
    return TOOL_OK;
}

static int by_name(const void *left, const void *right)
{
    const struct files_item *a = left, *b = right;
    int c = strcmp(a->name, b->name);

    return c ? c : a->entry->index < b->entry->index ? -1 : 1;
}

/* Checks the new names. Two arrays may get the same name only if they had the same name before. */
static int check_names(const struct renaming *r)
{
    struct files_item *sorted = malloc((r->t.count + 1) * sizeof(*sorted));
    int status = TOOL_OK;

    if (!sorted)
        return tool_error(TOOL_FAILURE, "out of memory");
    memcpy(sorted, r->t.items, r->t.count * sizeof(*sorted));
    qsort(sorted, r->t.count, sizeof(*sorted), by_name);
    for (size_t i = 1; i < r->t.count && status == TOOL_OK; i++) {
        const struct files_item *a = &sorted[i - 1], *b = &sorted[i];

        if (strcmp(a->name, b->name) == 0 && strcmp(a->entry->name, b->entry->name) != 0)
            status = tool_error(TOOL_FAILURE, "rename: %s: would be the new name of both %s and %s",
                                a->name, a->entry->name, b->entry->name);
    }
    free(sorted);
    return status;
}

static int rename_all(struct renaming *r)
{
    int status = TOOL_OK;

    r->names = calloc(r->t.count + 1, sizeof(*r->names));
    if (!r->names)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (size_t i = 0; i < r->t.count && status == TOOL_OK; i++)
        status = rename_item(r, i);
    for (size_t k = 0; k < r->rule_count && status == TOOL_OK; k++)
        if (r->rules[k].used == 0)
            status = tool_error(TOOL_FAILURE, "rename: \"%s\": matches no array of %s",
                                r->rules[k].text, r->path);
    return status == TOOL_OK ? check_names(r) : status;
}

/* ---- a net's definition ---------------------------------------------------------------------- */

/* A layer's old name, and the new name that its blob implies. */
struct layer {
    const char *former, *name;
    size_t size; /* the length of name in bytes */
};

static int by_former(const void *left, const void *right)
{
    return strcmp(((const struct layer *)left)->former, ((const struct layer *)right)->former);
}

static bool same_name(const struct layer *a, const struct layer *b)
{
    return a->size == b->size && memcmp(a->name, b->name, a->size) == 0;
}

static int by_layer(const void *left, const void *right)
{
    const struct layer *a = left, *b = right;
    int c = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);

    return c ? c : a->size < b->size ? -1 : a->size > b->size;
}

/* Whether the mapping of layers is one to one: no layer is split, and no two layers are merged. */
static bool are_pairs(struct layer *layers, size_t n)
{
    bool pairs = true;

    qsort(layers, n, sizeof(*layers), by_former);
    for (size_t i = 1; i < n; i++)
        pairs &= strcmp(layers[i - 1].former, layers[i].former) != 0 ||
                 same_name(&layers[i - 1], &layers[i]);
    qsort(layers, n, sizeof(*layers), by_layer);
    for (size_t i = 1; i < n; i++)
        pairs &= !same_name(&layers[i - 1], &layers[i]) ||
                 strcmp(layers[i - 1].former, layers[i].former) == 0;
    return pairs;
}

/*
 * Whether the net's definition can be copied: a layer of it is renamed if all of its blobs are
 * renamed to the same layer.
 */
static bool can_follow(const struct renaming *r)
{
    struct layer *layers = calloc(r->t.count + 1, sizeof(*layers));
    bool can = layers != NULL;

    for (size_t i = 0; i < r->t.count && can; i++) {
        const char *name = r->t.items[i].name, *slash = strrchr(name, '/');

        layers[i].former = r->t.items[i].entry->layer_name;
        layers[i].name = name;
        layers[i].size = slash ? (size_t)(slash - name) : 0;
        can = slash && (*layers[i].former || !r->names[i]);
    }
    can = can && are_pairs(layers, r->t.count);
    free(layers);
    return can;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int show(const struct renaming *r)
{
    static const char *const headings[] = { "NAME", "NEW NAME" };
    struct tool_table *table = tool_table_create(headings, 2);
    bool added = table != NULL;

    for (size_t i = 0; i < r->t.count && added; i++) {
        const char *cells[] = { r->t.items[i].entry->name, r->t.items[i].name };

        if (r->names[i])
            added = tool_table_add(table, cells);
    }
    if (added)
        tool_table_print(table, 0);
    tool_table_destroy(table);
    return added ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int run(const struct tool_command *self, struct renaming *r, bool trust, bool dry)
{
    int status = dry ? TOOL_OK : target_check(self, &r->t.target);

    if (status != TOOL_OK)
        return status;
    if (files_open(r->path, trust, &r->t.in) || transfer_take_all(&r->t))
        return tool_ferry_error();
    status = target_format(self, &r->t.target, ferry_io_get_format(r->t.in));
    if (status == TOOL_OK)
        status = rename_all(r);
    if (status != TOOL_OK)
        return status;
    r->t.whole = can_follow(r);
    return dry ? show(r) : transfer_run(&r->t);
}

static void free_all(struct renaming *r)
{
    for (size_t i = 0; r->names && i < r->t.count; i++)
        free(r->names[i]);
    for (size_t k = 0; r->rules && k < r->rule_count; k++) {
        free(r->rules[k].from);
        free(r->rules[k].to);
    }
    free(r->names);
    free(r->rules);
    free(r->t.items);
    ferry_io_close(r->t.in);
}

int cmd_rename(const struct tool_command *self, int argc, char **argv)
{
    struct renaming r = { .t = { .any_dtype = true, .renamed = true } };
    struct target *to = &r.t.target;
    bool trust = false, dry = false;
    const struct tool_option options[] = { { "--format", "-f", NULL, &to->format_name },
                                           { "--shard", NULL, NULL, &to->shard },
                                           { "--no-diff", NULL, &r.t.without_diff, NULL },
                                           { "--dry-run", "-n", &dry, NULL },
                                           { "--quiet", "-q", &to->quiet, NULL },
                                           { "--trust", NULL, &trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 10000);
    int status = TOOL_OK;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 3)
        return tool_error(TOOL_USAGE, "rename: missing arguments; usage: ferry %s %s", self->name,
                          self->arguments);
    r.path = argv[0];
    to->path = argv[1];
    r.rules = calloc((size_t)n, sizeof(*r.rules));
    if (!r.rules)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 2; i < n && status == TOOL_OK; i++)
        status = parse_rule(argv[i], &r.rules[r.rule_count++]);
    if (status == TOOL_OK)
        status = run(self, &r, trust, dry);
    free_all(&r);
    return status;
}

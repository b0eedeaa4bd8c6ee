/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "transfer.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* `ferry split`: distributes the arrays of a file over several files. */

/* A choice "GLOB=OUT". Several globs may name one file. */
struct choice {
    const char *text;
    char *glob;
    size_t part; /* the index of the file */
    int64_t used;
};

struct splitting {
    const char *path;
    ferry_io *in;
    struct choice *choices;
    struct transfer *parts;
    size_t choice_count, part_count;
    bool drop, trust;
    struct transfer common; /* the options that apply to each part */
};

static int parse_choice(struct splitting *s, const char *text)
{
    struct choice *choice = &s->choices[s->choice_count++];
    const char *sign = strchr(text, '=');
    size_t part = 0;

    choice->text = text;
    if (!sign || sign == text || !sign[1])
        return tool_error(TOOL_USAGE, "split: \"%s\": expected GLOB=OUT", text);
    choice->glob = strndup(text, (size_t)(sign - text));
    if (!choice->glob)
        return tool_error(TOOL_FAILURE, "out of memory");
    while (part < s->part_count && strcmp(s->parts[part].target.path, sign + 1) != 0)
        part++;
    if (part == s->part_count) {
        s->parts[part] = s->common;
        s->parts[part].target.path = sign + 1;
        s->part_count++;
    }
    choice->part = part;
    return TOOL_OK;
}

/* ---- arrays to parts ------------------------------------------------------------------------ */

/* Adds the array to the part of the first glob that matches. */
static int place(struct splitting *s, const ferry_io_entry *entry)
{
    for (size_t i = 0; i < s->choice_count; i++) {
        struct transfer *part = &s->parts[s->choices[i].part];

        if (fnmatch(s->choices[i].glob, entry->name, 0) != 0)
            continue;
        s->choices[i].used++;
        part->items[part->count++] = (struct files_item){ entry, entry->name };
        return TOOL_OK;
    }
    if (s->drop)
        return TOOL_OK;
    return tool_error(TOOL_FAILURE, "split: %s: matches no GLOB; --drop-rest leaves it out",
                      entry->name);
}

static int place_all(struct splitting *s)
{
    size_t room = (size_t)ferry_io_entry_count(s->in) + 1;
    const ferry_io_entry *entry;
    int status = TOOL_OK;

    for (size_t i = 0; i < s->part_count; i++) {
        s->parts[i].in = s->in;
        s->parts[i].items = calloc(room, sizeof(*s->parts[i].items));
        if (!s->parts[i].items)
            return tool_error(TOOL_FAILURE, "out of memory");
    }
    for (int64_t i = 0; i < ferry_io_entry_count(s->in) && status == TOOL_OK; i++)
        status = ferry_io_entry_at(s->in, i, &entry) ? tool_ferry_error() : place(s, entry);
    for (size_t i = 0; i < s->choice_count && status == TOOL_OK; i++)
        if (s->choices[i].used == 0)
            status = tool_error(TOOL_FAILURE, "split: \"%s\": matches no array of %s",
                                s->choices[i].text, s->path);
    return status;
}

/* ---- the files ------------------------------------------------------------------------------ */

/* Splits a path into its folder, with all links resolved, and the name in it. */
static bool resolve(const char *path, struct stat *out_folder, const char **out_name)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    bool found = folder && stat(folder, out_folder) == 0;

    *out_name = slash ? slash + 1 : path;
    free(folder);
    return found;
}

static bool same_place(const char *a, const char *b)
{
    struct stat folder[2];
    const char *name[2];

    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) /* "-" is standard output, not a file of that
                                                     * name */
        return false;
    return resolve(a, &folder[0], &name[0]) && resolve(b, &folder[1], &name[1]) &&
           folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino &&
           strcmp(name[0], name[1]) == 0;
}

/* Refuses two names of one file, because the second part would overwrite the first. */
static int check_outputs(const struct splitting *s)
{
    for (size_t i = 1; i < s->part_count; i++)
        for (size_t k = 0; k < i; k++)
            if (same_place(s->parts[k].target.path, s->parts[i].target.path))
                return tool_error(TOOL_USAGE, "split: %s and %s are the same file",
                                  s->parts[k].target.path, s->parts[i].target.path);
    return TOOL_OK;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(const struct tool_command *self, struct splitting *s)
{
    int status = TOOL_OK;

    if (check_outputs(s) != TOOL_OK)
        return TOOL_USAGE;
    if (files_open(s->path, s->trust, &s->in))
        return tool_ferry_error();
    for (size_t i = 0; i < s->part_count && status == TOOL_OK; i++) {
        status = target_check(self, &s->parts[i].target);
        if (status == TOOL_OK)
            status = target_format(self, &s->parts[i].target, ferry_io_get_format(s->in));
    }
    if (status == TOOL_OK)
        status = place_all(s);
    for (size_t i = 0; i < s->part_count && status == TOOL_OK; i++)
        status = transfer_run(&s->parts[i]);
    return status;
}

static int split(const struct tool_command *self, struct splitting *s, int n, char **argv)
{
    int status = TOOL_OK;

    s->path = argv[0];
    s->choices = calloc((size_t)n, sizeof(*s->choices));
    s->parts = calloc((size_t)n, sizeof(*s->parts));
    if (!s->choices || !s->parts)
        status = tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 1; i < n && status == TOOL_OK; i++)
        status = parse_choice(s, argv[i]);
    if (status == TOOL_OK)
        status = run(self, s);
    for (size_t i = 0; i < s->choice_count; i++)
        free(s->choices[i].glob);
    for (size_t i = 0; i < s->part_count; i++)
        free(s->parts[i].items);
    free(s->choices);
    free(s->parts);
    ferry_io_close(s->in);
    return status;
}

int cmd_split(const struct tool_command *self, int argc, char **argv)
{
    struct splitting s = { .common = { .any_dtype = true } };
    struct target *to = &s.common.target;
    const struct tool_option options[] = { { "--format", "-f", NULL, &to->format_name },
                                           { "--shard", NULL, NULL, &to->shard },
                                           { "--no-diff", NULL, &s.common.without_diff, NULL },
                                           { "--drop-rest", NULL, &s.drop, NULL },
                                           { "--quiet", "-q", &to->quiet, NULL },
                                           { "--trust", NULL, &s.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 10000);

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "split: missing arguments; usage: ferry %s %s", self->name,
                          self->arguments);
    return split(self, &s, n, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tool.h"

#include "conform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry check`: the conformance suite on a plugin's binary. tests/conform has the suite. */

#define MOST_OPTIONS 64
#define RANDOM       "ops-random" /* the group of --minutes and --seed */

struct check {
    struct conform_target target;
    struct conform_option options[MOST_OPTIONS];
    char name[64];
    char *path;
    char *answers;    /* the strings that the options point into */
    const char *only; /* groups, "memory,copy", or NULL */
    bool quick;       /* leaves the long groups out, unless `only` names them */
    json_t *groups;   /* set with --json, else NULL */
    int failed, passed, not_offered, skipped;
};

static const char *const results[] = { "pass", "fail", "not offered" };

/* ---- the plugin to check -------------------------------------------------------------------- */

static bool is_file(const char *what)
{
    size_t n = strlen(what);

    return strchr(what, '/') || (n > 3 && strcmp(what + n - 3, ".so") == 0);
}

static int find_file(struct check *c, const char *what)
{
    c->path = realpath(what, NULL);
    if (!c->path)
        return tool_error(TOOL_USAGE, "%s: %s", what, strerror(errno));
    conform_plugin_name(c->path, c->name, sizeof(c->name));
    if (!c->name[0]) /* each group would report this error, so only the first one does */
        snprintf(c->name, sizeof(c->name), "unnamed");
    return TOOL_OK;
}

/* Parses "name:1", which means device 1 of the plugin. */
static int parse_name(struct check *c, const char *what)
{
    const char *colon = strchr(what, ':');
    unsigned long index;
    char *end;

    snprintf(c->name, sizeof(c->name), "%.*s", colon ? (int)(colon - what) : 63, what);
    if (!colon)
        return TOOL_OK;
    index = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || index > UINT32_MAX)
        return tool_error(TOOL_USAGE, "check: %s: expected a device index after the colon", what);
    c->target.device = (uint32_t)index;
    return TOOL_OK;
}

/* Parses "name" or "name:1" and finds the file that ferry would load for it, usable or not. */
static int find_plugin(struct check *c, const char *what)
{
    const ferry_runtime_candidate_info *line, *best = NULL;
    ferry_runtime *rt = NULL;
    int status = parse_name(c, what);

    if (status != TOOL_OK)
        return status;
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++)
        if (ferry_runtime_candidate_at(rt, i, &line) == FERRY_OK &&
            strcmp(line->name, c->name) == 0 && (!best || (line->ok && !best->ok)))
            best = line;
    if (best)
        c->path = strdup(best->path);
    else
        status = tool_error(TOOL_USAGE,
                            "check: there is no plugin \"%s\"; `ferry plugins` lists the plugins; "
                            "name a file by its path",
                            c->name);
    ferry_runtime_close(rt);
    return status;
}

/* Splits "a=1,b=2"; the options then point into the text. */
static int set_options(struct check *c, char *text)
{
    for (char *rest = NULL, *one = strtok_r(text, ",", &rest); one;
         one = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(one, '=');

        if (!value || value == one)
            return tool_error(TOOL_USAGE, "check: --set %s: expected KEY=VALUE", one);
        if (c->target.option_count == MOST_OPTIONS)
            return tool_error(TOOL_USAGE, "check: --set: more than %d options", MOST_OPTIONS);
        *value++ = '\0';
        for (size_t i = 0; i < c->target.option_count; i++)
            if (strcmp(c->options[i].key, one) == 0) /* an option of the configuration */
                c->options[i].key = "";
        c->options[c->target.option_count++] = (struct conform_option){ one, value };
    }
    return TOOL_OK;
}

/* Whether the group is in the list of --only, "a,b,c", or runs without --only. */
static bool is_wanted(const struct check *c, size_t index)
{
    const char *group = conform_name(index);
    size_t n = strlen(group);

    for (const char *one = c->only; one && *one; one += strcspn(one, ","), one += *one == ',')
        if (strcspn(one, ",") == n && strncmp(one, group, n) == 0)
            return true;
    return !c->only && !(c->quick && conform_is_long(index));
}

static int check_group_name(const char *only)
{
    const char *names[64], *near;
    size_t n = 0;

    for (; n < 64 && conform_name(n); n++) {
        names[n] = conform_name(n);
        if (strcmp(names[n], only) == 0)
            return TOOL_OK;
    }
    near = tool_nearest(only, names, n);
    return tool_error(TOOL_USAGE,
                      "check: unknown group \"%s\"%s%s%s; `ferry check --help` lists them", only,
                      near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int check_group_names(const char *only)
{
    char *text = strdup(only), *rest = NULL, *one;
    int status = text ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");

    for (one = text ? strtok_r(text, ",", &rest) : NULL; one && status == TOOL_OK;
         one = strtok_r(NULL, ",", &rest))
        status = check_group_name(one);
    free(text);
    return status;
}

/* ---- the groups ----------------------------------------------------------------------------- */

/*
 * Notes the skipped cases. A group can pass although cases were skipped: each skipped case has a
 * line, or an element, of its own.
 */
static json_t *note_skipped(struct check *c, const char *group, char *lines)
{
    json_t *list = c->groups ? json_array() : NULL;

    for (char *rest = NULL, *one = strtok_r(lines, "\n", &rest); one;
         one = strtok_r(NULL, "\n", &rest)) {
        c->skipped++;
        if (c->groups)
            json_array_append_new(list, tool_json_string(one));
        else
            tool_printf("%-11s  %-10s  %s\n", "skipped", group, one);
    }
    return list;
}

static int note_result(struct check *c, const char *group, struct conform_report *r)
{
    json_t *row, *skipped;

    c->passed += r->result == CONFORM_PASS;
    c->failed += r->result == CONFORM_FAIL;
    c->not_offered += r->result == CONFORM_NOT_OFFERED;
    if (!c->groups)
        tool_printf("%-11s  %-10s  %s\n", results[r->result], group, r->detail);
    skipped = note_skipped(c, group, r->skipped);
    if (!c->groups) {
        fflush(stdout);
        return TOOL_OK;
    }
    row =
        json_pack("{s:s, s:s, s:o, s:o, s:f}", "name", group, "result", results[r->result],
                  "detail", tool_json_string(r->detail), "skipped", skipped, "seconds", r->seconds);
    if (!row || json_array_append_new(c->groups, row) != 0)
        return tool_error(TOOL_FAILURE, "out of memory");
    return TOOL_OK;
}

static int run_groups(struct check *c)
{
    int status = TOOL_OK;

    for (size_t i = 0; conform_name(i) && status == TOOL_OK; i++) {
        struct conform_report r;

        if (!is_wanted(c, i))
            continue;
        if (conform_run(&c->target, i, &r) != 0)
            return tool_error(TOOL_FAILURE, "check: cannot start a process for %s: %s",
                              conform_name(i), strerror(errno));
        status = note_result(c, conform_name(i), &r);
        if (r.refused)
            break;
        if (r.devices == 0 && !c->only) {
            c->failed++;
            return tool_error(TOOL_FAILURE,
                              "check: %s finds no device here; the other groups are not run",
                              c->name);
        }
    }
    return status;
}

static int summary(struct check *c)
{
    if (c->groups) {
        json_t *document =
            json_pack("{s:o, s:o, s:b, s:o}", "plugin", tool_json_string(c->name), "path",
                      tool_json_string(c->path), "ok", c->failed == 0, "groups", c->groups);

        c->groups = NULL;
        return tool_json_print(document);
    }
    tool_printf("%s (%s): %d passed, %d failed, %d not offered", c->name, c->path, c->passed,
                c->failed, c->not_offered);
    if (c->skipped)
        tool_printf("; %d case%s skipped", c->skipped, c->skipped == 1 ? "" : "s");
    putchar('\n');
    return TOOL_OK;
}

static int run_check(struct check *c, bool json)
{
    int status, printed;

    c->target.path = c->path;
    c->target.name = c->name;
    c->target.options = c->options;
    if (json)
        c->groups = json_array();
    status = run_groups(c);
    printed = summary(c);
    if (status == TOOL_OK)
        status = printed;
    return status == TOOL_OK && c->failed ? TOOL_FAILURE : status;
}

/* Refuses an option of ops-random if --only or --quick leaves that group out. */
static int check_random_runs(const struct check *c, const char *option)
{
    size_t i = 0;

    while (conform_name(i) && strcmp(conform_name(i), RANDOM) != 0)
        i++;
    if (is_wanted(c, i))
        return TOOL_OK;
    return tool_error(TOOL_USAGE, "check: %s applies to " RANDOM ", which %s%s leaves out", option,
                      c->only ? "--only " : "--quick", c->only ? c->only : "");
}

/* Sets --minutes and --seed. */
static int set_random(struct check *c, const char *minutes, const char *seed)
{
    char *end;
    unsigned long n = minutes ? strtoul(minutes, &end, 10) : 0;

    if (minutes && (minutes[0] < '0' || minutes[0] > '9' || *end || n < 1 || n > 1440))
        return tool_error(TOOL_USAGE, "check: --minutes %s: expected minutes, 1 to 1440", minutes);
    c->target.minutes = (unsigned)n;
    errno = 0;
    c->target.seed = seed ? strtoull(seed, &end, 10) : 0;
    if (seed && (seed[0] < '0' || seed[0] > '9' || *end || errno || !c->target.seed))
        return tool_error(TOOL_USAGE, "check: --seed %s: expected a number from 1 on", seed);
    return minutes || seed ? check_random_runs(c, minutes ? "--minutes" : "--seed") : TOOL_OK;
}

/* Prints the end of --help. */
static void print_groups(void)
{
    tool_printf("\nGroups; --quick leaves out those with an asterisk:\n");
    for (size_t i = 0; conform_name(i); i++)
        tool_printf("    %-10s %c %s\n", conform_name(i), conform_is_long(i) ? '*' : ' ',
                    conform_about(i));
}

int cmd_check(const struct tool_command *self, int argc, char **argv)
{
    const char *set = NULL, *timeout = "120", *minutes = NULL, *seed = NULL;
    struct check c = { .only = NULL };
    bool json = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { "--quick", NULL, &c.quick, NULL },
                                           { "--minutes", NULL, NULL, &minutes },
                                           { "--seed", NULL, NULL, &seed },
                                           { "--only", NULL, NULL, &c.only },
                                           { "--set", NULL, NULL, &set },
                                           { "--timeout", NULL, NULL, &timeout },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 1);
    char *text = NULL;
    int status;

    if (n == -1)
        print_groups();
    if (n < 0)
        return tool_parse_status(n);
    if (n == 0)
        return tool_error(TOOL_USAGE, "check: missing plugin; usage: ferry check %s",
                          self->arguments);
    c.target.timeout = tool_parse_timeout(self, timeout);
    status = c.target.timeout ? TOOL_OK : TOOL_USAGE;
    if (status == TOOL_OK && c.only)
        status = check_group_names(c.only);
    if (status == TOOL_OK)
        status = set_random(&c, minutes, seed);
    if (status == TOOL_OK)
        status = is_file(argv[0]) ? find_file(&c, argv[0]) : find_plugin(&c, argv[0]);
    if (status == TOOL_OK && !is_file(argv[0]))
        c.target.option_count = conform_options(c.name, c.options, MOST_OPTIONS, &c.answers);
    if (status == TOOL_OK && set) {
        text = strdup(set);
        status = text ? set_options(&c, text) : tool_error(TOOL_FAILURE, "out of memory");
    }
    if (status == TOOL_OK)
        status = run_check(&c, json);
    free(text);
    free(c.answers);
    free(c.path);
    return status;
}

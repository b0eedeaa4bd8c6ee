/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/ptx/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory and errors ---- */

void *module_alloc(struct ptx_module *m, size_t size)
{
    void *memory;

    if (m->owned_count == m->owned_room) {
        size_t room = m->owned_room ? 2 * m->owned_room : 64;
        void **larger = realloc(m->owned, room * sizeof(*larger));

        if (!larger)
            return NULL;
        m->owned = larger;
        m->owned_room = room;
    }
    memory = calloc(1, size ? size : 1);
    if (memory)
        m->owned[m->owned_count++] = memory;
    return memory;
}

void parse_fail(struct parser *p, const char *format, ...)
{
    va_list args;
    int n;

    if (p->has_failed)
        return;
    p->has_failed = true;
    n = snprintf(p->error, p->error_room, "PTX line %u: ", p->text.token.line);
    va_start(args, format);
    if (n > 0 && (size_t)n < p->error_room)
        vsnprintf(p->error + n, p->error_room - (size_t)n, format, args);
    va_end(args);
}

/* Room doubles, and is a power of two: a table that is full has such a count. */
void *parse_grow(struct parser *p, void *table, size_t *count, size_t size)
{
    size_t room = *count ? 2 * *count : 16;
    void *larger;

    if (*count >= 16 || !*count) {
        if (*count & (*count - 1)) {
            ++*count;
            return table;
        }
        larger = module_alloc(p->module, room * size);
        if (!larger) {
            parse_fail(p, "no host memory");
            return NULL;
        }
        if (*count)
            memcpy(larger, table, *count * size);
        table = larger;
    }
    ++*count;
    return table;
}

static char *copy_of(struct parser *p, const struct token *token)
{
    char *text = module_alloc(p->module, token->length + 1);

    if (text)
        memcpy(text, token->at, token->length);
    else
        parse_fail(p, "no host memory");
    return text;
}

bool parse_accept(struct parser *p, const char *word)
{
    bool is = token_is(&p->text.token, word);

    if (is)
        text_next(&p->text);
    return is;
}

void parse_expect(struct parser *p, const char *word)
{
    const struct token *t = &p->text.token;

    if (!parse_accept(p, word))
        parse_fail(p, "'%s' is expected before '%.*s'", word, (int)t->length, t->at);
}

static uint64_t expect_number(struct parser *p)
{
    uint64_t v = 0;

    if (!token_number(&p->text.token, &v))
        parse_fail(p, "a number is expected");
    text_next(&p->text);
    return v;
}

static void skip_to(struct parser *p, const char *end)
{
    while (p->text.token.length && !token_is(&p->text.token, end))
        text_next(&p->text);
    text_next(&p->text);
}

/* The rest of a directive that ends with its line. */
static void skip_line(struct parser *p, uint32_t line)
{
    while (p->text.token.length && p->text.token.line == line)
        text_next(&p->text);
}

/* ---- declarations ---- */

/* `.reg .pred %p<9>, %q;` */
static void read_registers(struct parser *p)
{
    struct token type;

    text_next(&p->text);
    type = p->text.token;
    do {
        struct registers *r = parse_grow(p, p->registers, &p->register_count, sizeof(*r));
        char name[8] = "";

        text_next(&p->text);
        if (!r)
            return;
        p->registers = r;
        r += p->register_count - 1;
        memcpy(name, type.at + 1, type.length < 9 ? type.length - 1 : 7);
        *r = (struct registers){ .name = p->text.token, .width = (uint8_t)type_width(name) };
        if (!strcmp(name, "pred")) {
            r->is_predicate = true;
            r->width = 4;
        }
        if (!r->width)
            parse_fail(p, "registers of type '%.*s' are not known", (int)type.length, type.at);
        text_next(&p->text);
        if (parse_accept(p, "<")) {
            r->count = (uint32_t)expect_number(p);
            parse_expect(p, ">");
        }
        r->slots = module_alloc(p->module, (r->count + 1) * sizeof(*r->slots));
        if (!r->slots)
            parse_fail(p, "no host memory");
    } while (!p->has_failed && token_is(&p->text.token, ","));
    parse_expect(p, ";");
}

/* Skips `.align N`, and attributes without a number; gives the bytes of the type that ends them. */
static size_t read_type(struct parser *p, size_t *out_align)
{
    size_t width = 0;

    *out_align = 1;
    while (token_starts(&p->text.token, ".") && !p->has_failed) {
        char name[8] = "";

        if (parse_accept(p, ".align")) {
            *out_align = (size_t)expect_number(p);
            continue;
        }
        if (p->text.token.length < 9)
            memcpy(name, p->text.token.at + 1, p->text.token.length - 1);
        width = type_width(name) ? type_width(name) : width;
        text_next(&p->text);
    }
    *out_align = *out_align > width ? *out_align : width ? width : 1;
    return width;
}

static size_t aligned(size_t at, size_t align)
{
    return (at + align - 1) / align * align;
}

/* `= { 1, 2 }` or `= 1` into the module's variables. */
static void read_values(struct parser *p, size_t at, size_t width, size_t size)
{
    bool is_list = parse_accept(p, "{");
    size_t end = at + size;

    do {
        uint64_t v;
        bool negative = parse_accept(p, "-");

        v = expect_number(p);
        v = negative ? 0 - v : v;
        if (at + width > end)
            parse_fail(p, "more values than the variable has");
        else
            memcpy(p->module->variables + at, &v, width);
        at += width;
    } while (!p->has_failed && parse_accept(p, ","));
    if (is_list)
        parse_expect(p, "}");
}

static bool add_symbol(struct parser *p, const struct token *name, enum ptx_space space, size_t at)
{
    struct symbol *s = parse_grow(p, p->symbols, &p->symbol_count, sizeof(*s));

    if (!s)
        return false;
    p->symbols = s;
    p->symbols[p->symbol_count - 1] = (struct symbol){ *name, space, at };
    return true;
}

static bool make_variables(struct parser *p, size_t end)
{
    struct ptx_module *m = p->module;
    unsigned char *larger = module_alloc(m, end);

    if (!larger) {
        parse_fail(p, "no host memory");
        return false;
    }
    if (m->variables)
        memcpy(larger, m->variables, m->variable_bytes);
    m->variables = larger;
    m->variable_bytes = end;
    return true;
}

/* `.shared .align 4 .b8 name[512];` in a space whose bytes are counted at `end`. */
static void read_variable(struct parser *p, enum ptx_space space, size_t *end)
{
    size_t align, width, count = 1, at;
    struct token name;

    text_next(&p->text);
    width = read_type(p, &align);
    name = p->text.token;
    text_next(&p->text);
    while (parse_accept(p, "[")) {
        count *= token_is(&p->text.token, "]") ? 0 : (size_t)expect_number(p);
        parse_expect(p, "]");
    }
    if (!width)
        parse_fail(p, "a variable of a type that is not known");
    at = aligned(*end, align);
    if (p->has_failed || !add_symbol(p, &name, space, at))
        return;
    if (space == CONSTANT && !make_variables(p, at + count * width))
        return;
    *end = at + count * width;
    if (parse_accept(p, "="))
        read_values(p, at, width, count * width);
    parse_expect(p, ";");
}

/* `.loc file line column[, function_name …, inlined_at file line column]` */
static void read_location(struct parser *p)
{
    uint32_t line = p->text.token.line;
    uint64_t file = 0, source_line = 0;

    text_next(&p->text);
    (void)token_number(&p->text.token, &file);
    text_next(&p->text);
    (void)token_number(&p->text.token, &source_line);
    if (source_line) {
        p->file = (uint16_t)(file < MOST_SOURCES ? file : 0);
        p->source_line = (uint32_t)source_line;
    }
    skip_line(p, line);
}

/* `.file 1 "path"[, time, size]` */
static void read_file(struct parser *p)
{
    uint32_t line = p->text.token.line;
    uint64_t n = MOST_SOURCES;

    text_next(&p->text);
    (void)token_number(&p->text.token, &n);
    text_next(&p->text);
    if (n < MOST_SOURCES && p->text.token.length > 2) {
        struct token inside = { p->text.token.at + 1, p->text.token.length - 2, line };

        p->module->sources[n] = copy_of(p, &inside);
    }
    skip_line(p, line);
}

/* ---- entries ---- */

static void read_parameters(struct parser *p)
{
    struct ptx_kernel *k = p->kernel;

    parse_expect(p, "(");
    while (!p->has_failed && !parse_accept(p, ")")) {
        size_t align, width, count = 1;
        struct token name;

        parse_expect(p, ".param");
        width = read_type(p, &align);
        name = p->text.token;
        text_next(&p->text);
        if (parse_accept(p, "[")) {
            count = (size_t)expect_number(p);
            parse_expect(p, "]");
        }
        if (k->param_count == PTX_MOST_PARAMS)
            parse_fail(p, "more than %u parameters", PTX_MOST_PARAMS);
        if (p->has_failed)
            return;
        k->param_bytes = aligned(k->param_bytes, align);
        k->params[k->param_count++] =
            (struct parameter){ copy_of(p, &name), k->param_bytes, count * width };
        if (!add_symbol(p, &name, PARAM, k->param_bytes))
            return;
        k->param_bytes += count * width;
        parse_accept(p, ",");
    }
}

/* `.maxntid 128, 1, 1` is kept, the others are advice to ptxas. */
static void read_performance(struct parser *p)
{
    while (!p->has_failed && token_starts(&p->text.token, ".")) {
        bool bounds = parse_accept(p, ".maxntid");
        uint32_t threads = 1;

        if (!bounds)
            text_next(&p->text);
        do {
            uint64_t v = 1;

            if (token_number(&p->text.token, &v))
                text_next(&p->text);
            threads *= (uint32_t)v;
        } while (parse_accept(p, ","));
        if (bounds)
            p->kernel->most_threads = threads;
    }
}

static void add_label(struct parser *p, const struct token *name)
{
    struct label *l = parse_grow(p, p->labels, &p->label_count, sizeof(*l));

    if (!l)
        return;
    p->labels = l;
    p->labels[p->label_count - 1] =
        (struct label){ *name, (uint32_t)p->kernel->length, (uint32_t)p->reference_count, 0 };
    p->is_led = true;
}

/* `$L_brx_0: .branchtargets A, B;` */
static void read_targets(struct parser *p)
{
    struct label *l = p->label_count ? &p->labels[p->label_count - 1] : NULL;

    do {
        struct reference *r = parse_grow(p, p->references, &p->reference_count, sizeof(*r));

        text_next(&p->text);
        if (!r || !l)
            return;
        p->references = r;
        p->references[p->reference_count - 1] = (struct reference){ p->text.token, UINT32_MAX };
        l->count++;
        text_next(&p->text);
    } while (token_is(&p->text.token, ","));
    parse_expect(p, ";");
}

static void read_guard(struct parser *p)
{
    p->guard.length = 0;
    if (!parse_accept(p, "@"))
        return;
    p->guard_negated = parse_accept(p, "!");
    p->guard = p->text.token;
    text_next(&p->text);
}

/* A label, or an instruction with its guard. */
static void read_statement(struct parser *p)
{
    struct text before = p->text;
    struct token name = p->text.token;

    text_next(&p->text);
    if (parse_accept(p, ":")) {
        add_label(p, &name);
        return;
    }
    p->text = before;
    read_guard(p);
    decode_statement(p);
}

static void read_body_part(struct parser *p)
{
    const struct token *t = &p->text.token;

    if (token_is(t, ".reg"))
        read_registers(p);
    else if (token_is(t, ".loc"))
        read_location(p);
    else if (token_is(t, ".shared"))
        read_variable(p, SHARED, &p->kernel->shared_bytes);
    else if (token_is(t, ".local"))
        read_variable(p, LOCAL, &p->kernel->local_bytes);
    else if (token_is(t, ".pragma"))
        skip_to(p, ";");
    else if (token_is(t, ".branchtargets"))
        read_targets(p);
    else if (token_starts(t, "."))
        parse_fail(p, "directive '%.*s' is not known", (int)t->length, t->at);
    else
        read_statement(p);
}

static void read_body(struct parser *p)
{
    unsigned depth = 0;

    parse_expect(p, "{");
    for (depth = 1; depth && !p->has_failed;) {
        if (parse_accept(p, "{"))
            depth++;
        else if (parse_accept(p, "}"))
            depth--;
        else if (!p->text.token.length)
            parse_fail(p, "the text ends within an entry");
        else
            read_body_part(p);
    }
}

/* ---- labels ---- */

static const struct label *find_label(struct parser *p, const struct token *name)
{
    for (size_t i = 0; i < p->label_count; i++)
        if (p->labels[i].name.length == name->length &&
            !strncmp(p->labels[i].name.at, name->at, name->length))
            return &p->labels[i];
    parse_fail(p, "label '%.*s' is not there", (int)name->length, name->at);
    return NULL;
}

/*
 * Replaces labels by instruction indices: for a branch that of the instruction after the label, for
 * an indexed branch that of its first target.
 */
static void resolve_labels(struct parser *p)
{
    struct ptx_kernel *k = p->kernel;

    k->targets = module_alloc(p->module, (p->reference_count + 1) * sizeof(*k->targets));
    if (!k->targets) {
        parse_fail(p, "no host memory");
        return;
    }
    for (size_t i = 0; i < p->reference_count; i++) {
        const struct reference *r = &p->references[i];
        const struct label *l = find_label(p, &r->name);

        if (!l)
            return;
        if (r->instruction == UINT32_MAX) {
            k->targets[i] = l->at;
        } else if (l->count) {
            k->code[r->instruction].offset = l->first;
            k->code[r->instruction].count = (uint8_t)l->count;
        } else {
            k->code[r->instruction].offset = l->at;
        }
    }
}

static void begin_entry(struct parser *p)
{
    struct ptx_module *m = p->module;
    struct ptx_kernel *k = module_alloc(m, sizeof(*k));

    if (!k) {
        parse_fail(p, "no host memory");
        return;
    }
    k->module = m;
    k->name = copy_of(p, &p->text.token);
    k->next = m->kernels;
    k->register_bytes = LANES * sizeof(uint64_t); /* the sink */
    m->kernels = p->kernel = k;
    p->registers = NULL;
    p->labels = NULL;
    p->references = NULL;
    p->register_count = p->label_count = p->reference_count = p->code_room = 0;
    p->symbol_count = p->module_symbols;
    p->symbols = NULL;
    p->source_line = 0;
}

static void read_entry(struct parser *p)
{
    struct symbol *module_symbols = p->symbols;

    text_next(&p->text);
    begin_entry(p);
    p->symbols = module_symbols;
    text_next(&p->text);
    if (p->has_failed)
        return;
    if (token_is(&p->text.token, "("))
        read_parameters(p);
    read_performance(p);
    read_body(p);
    p->guard.length = 0;
    (void)decode_emit(p, run_exit);
    if (!p->has_failed) {
        p->kernel->code[p->kernel->length - 1].yields = true;
        resolve_labels(p);
    }
    p->kernel->shared_bytes = aligned(p->kernel->shared_bytes, 16);
    p->kernel->local_bytes = aligned(p->kernel->local_bytes, 16);
}

/* ---- the module ---- */

static void read_target(struct parser *p)
{
    text_next(&p->text);
    if (!token_starts(&p->text.token, "sm_"))
        parse_fail(p, "a target that is not known");
    p->module->target = atoi(p->text.token.at + 3);
    skip_line(p, p->text.token.line);
}

static void skip_section(struct parser *p)
{
    skip_to(p, "{");
    skip_to(p, "}");
}

static void read_module_part(struct parser *p)
{
    const struct token *t = &p->text.token;

    if (token_is(t, ".version") || token_is(t, ".address_size"))
        skip_line(p, t->line);
    else if (token_is(t, ".target"))
        read_target(p);
    else if (token_is(t, ".file"))
        read_file(p);
    else if (token_is(t, ".section"))
        skip_section(p);
    else if (token_is(t, ".visible") || token_is(t, ".extern") || token_is(t, ".weak"))
        text_next(&p->text);
    else if (token_is(t, ".entry"))
        read_entry(p);
    else if (token_is(t, ".const") || token_is(t, ".global")) {
        p->symbol_count = p->module_symbols;
        read_variable(p, CONSTANT, &p->module->variable_bytes);
        p->module_symbols = p->symbol_count;
    } else
        parse_fail(p, "'%.*s' is not known here", (int)t->length, t->at);
}

struct ptx_module *ptx_module_new(const char *text, char *error, size_t room)
{
    struct parser p = { .error = error, .error_room = room };

    p.module = calloc(1, sizeof(*p.module));
    text_begin(&p.text, text);
    if (!p.module)
        parse_fail(&p, "no host memory");
    while (p.text.token.length && !p.has_failed)
        read_module_part(&p);
    if (!p.has_failed)
        return p.module;
    ptx_module_delete(p.module);
    return NULL;
}

void ptx_module_delete(struct ptx_module *module)
{
    for (size_t i = 0; module && i < module->owned_count; i++)
        free(module->owned[i]);
    if (module)
        free(module->owned);
    free(module);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts statements to instructions: by the table of opcodes, or by a function of their own if
 * their form depends on their modifiers.
 */
#include "tests/ptx/parse.h"

#include <stdio.h>
#include <string.h>

struct instruction *decode_emit(struct parser *p, ptx_handler *run)
{
    struct ptx_kernel *k = p->kernel;
    unsigned width;
    bool is_predicate = true;
    uint32_t guard = 0;
    struct instruction *i;

    if (p->guard.length)
        guard = slot_register(p, &p->guard, &width, &is_predicate);
    if (!is_predicate)
        parse_fail(p, "the guard is not a predicate");
    i = p->has_failed ? NULL : parse_grow(p, k->code, &k->length, sizeof(*i));
    if (!i)
        return NULL;
    k->code = i;
    i += k->length - 1;
    *i = (struct instruction){ .run = run,
                               .guard = guard,
                               .guard_negated = p->guard_negated,
                               .leads = p->is_led,
                               .file = p->file,
                               .source_line = p->source_line,
                               .line = p->text.token.line };
    p->is_led = false;
    return i;
}

/* Emits an instruction that changes the set of running lanes. */
static struct instruction *emit_flow(struct parser *p, ptx_handler *run)
{
    struct instruction *i = decode_emit(p, run);

    if (i)
        i->yields = true;
    return i;
}

/* ---- operands by their letters ---- */

static unsigned width_of(char letter)
{
    return letter == 'b' ? 1 : letter == 'h' ? 2 : letter == 'd' ? 8 : 4;
}

static unsigned letters_before(const char *letters)
{
    return (unsigned)strcspn(letters, "=");
}

/* Reads the operands of a statement: results may be "a|b". */
static unsigned read_operands(struct parser *p, struct operand *o)
{
    unsigned n = 0;

    while (!p->has_failed && !token_is(&p->text.token, ";")) {
        if (n == MOST_GIVEN) {
            parse_fail(p, "more operands than any opcode has");
            return n;
        }
        operand_read(p, &o[n++]);
        if (!parse_accept(p, ",") && !parse_accept(p, "|") && !token_is(&p->text.token, ";"))
            parse_fail(p, "',' or ';' is expected");
    }
    return n;
}

/* Converts between the widths of registers and those of an opcode, as cvt allows. */
void decode_resize(struct parser *p, uint32_t to, unsigned to_width, uint32_t from,
                   unsigned from_width, bool is_signed)
{
    char name[24];
    const struct opcode *opcode;
    struct instruction *i;

    snprintf(name, sizeof(name), "cvt.%c%u.%c%u", is_signed ? 's' : 'u', 8 * to_width,
             is_signed ? 's' : 'u', 8 * from_width);
    opcode = opcode_find(name);
    i = opcode ? decode_emit(p, opcode->run) : NULL;
    if (i) {
        i->slot[0] = to;
        i->slot[1] = from;
    }
}

/* cvt of a register whose width is not the type's. */
static void decode_convert(struct parser *p, const struct name *name, const struct opcode *opcode,
                           const struct operand *o)
{
    unsigned to_width = width_of(opcode->operands[0]), from_width = width_of(opcode->operands[2]);
    unsigned to_actual = to_width, from_actual = from_width;
    bool predicate = false;
    uint32_t to = slot_register(p, &o[0].name, &to_actual, &predicate);
    uint32_t from = o[1].form == REGISTER ? slot_register(p, &o[1].name, &from_actual, &predicate)
                                          : slot_operand(p, &o[1], from_width, false);
    uint32_t result = to_actual == to_width ? to : slot_new(p, to_width);
    struct instruction *i;

    if (from_actual != from_width) {
        uint32_t narrow = slot_new(p, from_width);

        decode_resize(p, narrow, from_width, from, from_actual, false);
        from = narrow;
    }
    i = decode_emit(p, opcode->run);
    if (!i)
        return;
    i->slot[0] = result;
    i->slot[1] = from;
    if (result != to)
        decode_resize(p, to, to_actual, result, to_width, name->parts[name->count - 2][0] == 's');
}

static void decode_by_table(struct parser *p, const struct name *name, const struct operand *o,
                            unsigned n)
{
    const struct opcode *opcode = opcode_find(name->whole);
    uint32_t slots[MOST_OPERANDS] = { 0 };
    unsigned results, given = 0, wanted = 0;
    struct instruction *i;

    if (!opcode) {
        parse_fail(p, "opcode '%s' is not known", name->whole);
        return;
    }
    if (!strcmp(name->parts[0], "cvt") && n == 2) {
        decode_convert(p, name, opcode, o);
        return;
    }
    results = letters_before(opcode->operands);
    for (const char *at = opcode->operands; *at && wanted < MOST_OPERANDS; at++) {
        /* The second of two results may be left out. */
        bool left_out =
            at == opcode->operands + 1 && results == 2 && n + 1 < strlen(opcode->operands);

        if (*at == '=')
            continue;
        if (!left_out && given < n)
            slots[wanted] = slot_operand(p, &o[given], width_of(*at), *at == 'p');
        given += !left_out;
        wanted++;
    }
    if (given != n)
        parse_fail(p, "opcode '%s' with %u operands is not known", name->whole, n);
    if (name_has(name, "sync")) { /* lanes meet; their mask is the last operand */
        i = emit_flow(p, run_warp_barrier);
        if (i)
            i->slot[0] = slots[wanted - 1];
    }
    i = decode_emit(p, opcode->run);
    if (i)
        memcpy(i->slot, slots, sizeof(slots));
}

/* ---- mma ---- */

/* The four operands are vectors of registers, and all lanes of the warp meet. */
static void decode_matrix(struct parser *p, const struct name *name, const struct operand *o,
                          unsigned n)
{
    const struct opcode *opcode = opcode_find(name->whole);
    struct operand all[16];
    uint32_t slots[MOST_OPERANDS] = { 0 };
    unsigned given = 0;
    struct instruction *i;

    for (unsigned k = 0; k < n && n == 4; k++)
        given += operand_registers(&o[k], &all[given]);
    if (!opcode || given + 1 != strlen(opcode->operands)) {
        parse_fail(p, "opcode '%s' with %u registers is not known", name->whole, given);
        return;
    }
    for (unsigned k = 0; k < given; k++)
        slots[k] = slot_operand(p, &all[k], 4, false);
    i = emit_flow(p, run_warp_barrier);
    if (i)
        i->slot[0] = slot_constant(p, 4, UINT32_MAX);
    i = decode_emit(p, opcode->run);
    if (i)
        memcpy(i->slot, slots, sizeof(slots));
}

/* ---- mov ---- */

static void decode_vector_move(struct parser *p, const struct name *name, const struct operand *o)
{
    const struct operand *vector = o[0].form == VECTOR ? &o[0] : &o[1];
    const struct operand *whole = o[0].form == VECTOR ? &o[1] : &o[0];
    unsigned bytes = type_width(name->parts[name->count - 1]), n = vector->part_count;
    bool packs = whole == &o[0];
    uint32_t slots[MOST_OPERANDS] = { 0 };
    struct instruction *i;

    slots[packs ? 0 : n] = slot_operand(p, whole, bytes, false);
    for (unsigned k = 0; k < n; k++) {
        struct operand part = { .form = token_is(&vector->parts[k], "_") ? SINK : REGISTER,
                                .name = vector->parts[k] };

        if (token_number(&part.name, &part.value))
            part.form = NUMBER;
        slots[packs ? k + 1 : k] = slot_operand(p, &part, bytes / n, false);
    }
    i = decode_emit(p, packs ? run_pack : run_unpack);
    if (!i)
        return;
    memcpy(i->slot, slots, sizeof(slots));
    i->width = (uint8_t)(bytes / n);
    i->count = (uint8_t)n;
}

/* ---- setp with a second operation ---- */

/* setp.lt.and.s32 p|q, a, b, c: p = (a < b) and c, q = !(a < b) and c. */
static void emit_logic(struct parser *p, const char *operation, uint32_t d, uint32_t x, uint32_t y)
{
    char name[32];
    const struct opcode *opcode;
    struct instruction *i;

    snprintf(name, sizeof(name), "%s.pred", operation);
    opcode = opcode_find(name);
    i = opcode ? decode_emit(p, opcode->run) : NULL;
    if (!i)
        return;
    i->slot[0] = d;
    i->slot[1] = x;
    i->slot[2] = y;
}

static void decode_compare(struct parser *p, const struct name *name, const struct operand *o,
                           unsigned n)
{
    bool combines = name_has(name, "and") || name_has(name, "or") || name_has(name, "xor");
    const char *type = name->parts[name->count - 1];
    unsigned two = n > (combines ? 4u : 3u), width = type_width(type);
    uint32_t compared = slot_new(p, 4), opposite = slot_new(p, 4), x, y;
    const struct opcode *opcode;
    struct instruction *i;
    char plain[64];

    snprintf(plain, sizeof(plain), "setp.%s.%s", name->parts[1], type);
    opcode = opcode_find(plain);
    if (!opcode || name->count != (combines ? 4u : 3u) || n != 3 + combines + two) {
        parse_fail(p, "opcode '%s' with %u operands is not known", name->whole, n);
        return;
    }
    x = slot_operand(p, &o[1 + two], width, false);
    y = slot_operand(p, &o[2 + two], width, false);
    i = decode_emit(p, opcode->run);
    if (!i)
        return;
    i->slot[0] = compared;
    i->slot[1] = x;
    i->slot[2] = y;
    emit_logic(p, "not", opposite, compared, SINK_SLOT);
    for (unsigned k = 0; k <= two; k++) {
        uint32_t d = slot_operand(p, &o[k], 4, true), from = k ? opposite : compared;

        if (combines)
            emit_logic(p, name->parts[2], d, from, slot_operand(p, &o[3 + two], 4, true));
        else
            emit_logic(p, "mov", d, from, SINK_SLOT);
    }
}

/* ---- addresses ---- */

/*
 * Global addresses are generic addresses already; addresses of other spaces get the space's base.
 */
static void decode_cvta(struct parser *p, const struct name *name, const struct operand *o)
{
    bool to = name_has(name, "to");
    const char *space = name->parts[to ? 2 : 1];
    enum ptx_space s = !strcmp(space, "shared")  ? SHARED
                       : !strcmp(space, "local") ? LOCAL
                       : !strcmp(space, "param") ? PARAM
                       : !strcmp(space, "const") ? CONSTANT
                                                 : GLOBAL;
    uint64_t value = s == GLOBAL ? 0 : to ? ~BASE_OF(s) : BASE_OF(s);
    const struct opcode *opcode = opcode_find(s != GLOBAL && to ? "and.b64" : "or.b64");
    uint32_t d = slot_operand(p, &o[0], 8, false), x = slot_operand(p, &o[1], 8, false);
    struct instruction *i = decode_emit(p, opcode->run);

    if (!i)
        return;
    i->slot[0] = d;
    i->slot[1] = x;
    i->slot[2] = slot_constant(p, 8, value);
}

/* ---- branches and barriers ---- */

static void refer(struct parser *p, const struct token *name, const struct instruction *i)
{
    struct reference *r = parse_grow(p, p->references, &p->reference_count, sizeof(*r));

    if (!r)
        return;
    p->references = r;
    r[p->reference_count - 1] = (struct reference){ *name, (uint32_t)(i - p->kernel->code) };
}

static void decode_branch(struct parser *p, const struct name *name, const struct operand *o,
                          unsigned n)
{
    bool indexed = !strcmp(name->parts[0], "brx");
    struct instruction *i;

    if (n != (indexed ? 2u : 1u) || o[n - 1].form != NAME) {
        parse_fail(p, "a label is expected");
        return;
    }
    i = emit_flow(p, indexed ? run_branch_indexed : run_branch);
    if (i && indexed)
        i->slot[0] = slot_operand(p, &o[0], 4, false);
    if (i)
        refer(p, &o[n - 1].name, i);
}

/* bar.sync 0 and its other names, for all threads of the block; bar.warp.sync. */
static void decode_barrier(struct parser *p, const struct name *name, const struct operand *o,
                           unsigned n)
{
    struct instruction *i;

    if (name_has(name, "warp")) {
        uint32_t mask = n ? slot_operand(p, &o[0], 4, false) : slot_constant(p, 4, UINT32_MAX);

        i = emit_flow(p, run_warp_barrier);
        if (i)
            i->slot[0] = mask;
        (void)decode_emit(p, run_warp_sync);
    } else if (!name_has(name, "sync") || n > 1) {
        parse_fail(p, "opcode '%s' with %u operands is not known", name->whole, n);
    } else {
        (void)emit_flow(p, run_barrier);
    }
}

/* ---- statements ---- */

bool name_has(const struct name *name, const char *part)
{
    for (unsigned i = 1; i < name->count; i++)
        if (!strcmp(name->parts[i], part))
            return true;
    return false;
}

static void read_name(struct parser *p, struct name *out)
{
    const struct token *t = &p->text.token;
    const char *at = out->whole;

    *out = (struct name){ .count = 0 };
    if (t->length >= sizeof(out->whole)) {
        parse_fail(p, "an opcode of %zu characters", t->length);
        return;
    }
    memcpy(out->whole, t->at, t->length);
    while (out->count < 12) {
        size_t n = strcspn(at, ".");

        memcpy(out->parts[out->count++], at, n < 24 ? n : 23);
        if (!at[n])
            break;
        at += n + 1;
    }
    text_next(&p->text);
}

/*
 * Decodes opcodes whose operands differ from those in the table; returns false for an opcode of the
 * table.
 */
static bool decode_special(struct parser *p, const struct name *name, const struct operand *o,
                           unsigned n)
{
    const char *first = name->parts[0];

    if (!strcmp(first, "bra") || !strcmp(first, "brx"))
        decode_branch(p, name, o, n);
    else if (!strcmp(first, "ret") || !strcmp(first, "exit"))
        (void)emit_flow(p, run_exit);
    else if (!strcmp(first, "trap"))
        (void)emit_flow(p, run_trap);
    else if (!strcmp(first, "bar") || !strcmp(first, "barrier"))
        decode_barrier(p, name, o, n);
    else if (!strcmp(first, "membar") || !strcmp(first, "fence"))
        (void)decode_emit(p, run_fence);
    else if (!strcmp(first, "prefetch") || !strcmp(first, "prefetchu"))
        (void)decode_emit(p, run_nothing);
    else if (!strcmp(first, "cvta") && n == 2)
        decode_cvta(p, name, o);
    else if (!strcmp(first, "mma"))
        decode_matrix(p, name, o, n);
    else if (!strcmp(first, "setp") && (name->count == 4 || n > 3))
        decode_compare(p, name, o, n);
    else if (!strcmp(first, "mov") && n == 2 && (o[0].form == VECTOR || o[1].form == VECTOR))
        decode_vector_move(p, name, o);
    else
        return false;
    return true;
}

void decode_statement(struct parser *p)
{
    struct operand o[MOST_GIVEN];
    struct name name;
    unsigned n;

    read_name(p, &name);
    if (!strcmp(name.parts[0], "ld") || !strcmp(name.parts[0], "ldu")) {
        decode_load(p, &name);
    } else if (!strcmp(name.parts[0], "st")) {
        decode_store(p, &name);
    } else if (!strcmp(name.parts[0], "atom") || !strcmp(name.parts[0], "red")) {
        decode_atomic(p, &name);
    } else {
        n = read_operands(p, o);
        if (!p->has_failed && !decode_special(p, &name, o, n))
            decode_by_table(p, &name, o, n);
    }
    parse_expect(p, ";");
}

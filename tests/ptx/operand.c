/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/ptx/parse.h"

#include <string.h>

static const char *const special_names[SPECIALS] = {
    [TID_X] = "%tid.x",
    [TID_Y] = "%tid.y",
    [TID_Z] = "%tid.z",
    [NTID_X] = "%ntid.x",
    [NTID_Y] = "%ntid.y",
    [NTID_Z] = "%ntid.z",
    [CTAID_X] = "%ctaid.x",
    [CTAID_Y] = "%ctaid.y",
    [CTAID_Z] = "%ctaid.z",
    [NCTAID_X] = "%nctaid.x",
    [NCTAID_Y] = "%nctaid.y",
    [NCTAID_Z] = "%nctaid.z",
    [LANEID] = "%laneid",
    [WARPID] = "%warpid",
    [LANEMASK_EQ] = "%lanemask_eq",
    [LANEMASK_LE] = "%lanemask_le",
    [LANEMASK_LT] = "%lanemask_lt",
    [LANEMASK_GE] = "%lanemask_ge",
    [LANEMASK_GT] = "%lanemask_gt",
};

/* ---- as written ---- */

/* "+8", "-8" or nothing. */
static uint64_t read_offset(struct parser *p)
{
    bool negative = false;
    uint64_t v = 0;

    if (parse_accept(p, "+"))
        negative = parse_accept(p, "-");
    else if (parse_accept(p, "-"))
        negative = true;
    else
        return 0;
    if (!token_number(&p->text.token, &v))
        parse_fail(p, "an offset that is not a number");
    text_next(&p->text);
    return negative ? 0 - v : v;
}

static void read_address(struct parser *p, struct operand *out)
{
    out->form = ADDRESS;
    if (!token_number(&p->text.token, &out->value)) {
        out->has_base = true;
        out->name = p->text.token;
    }
    text_next(&p->text);
    out->value += read_offset(p);
    parse_expect(p, "]");
}

static void read_vector(struct parser *p, struct operand *out)
{
    out->form = VECTOR;
    do {
        if (out->part_count == 4) {
            parse_fail(p, "a vector of more than four registers");
            return;
        }
        out->parts[out->part_count++] = p->text.token;
        text_next(&p->text);
    } while (parse_accept(p, ","));
    parse_expect(p, "}");
}

void operand_read(struct parser *p, struct operand *out)
{
    bool negative;

    *out = (struct operand){ .form = SINK };
    if (parse_accept(p, "["))
        read_address(p, out);
    else if (parse_accept(p, "{"))
        read_vector(p, out);
    else if (!parse_accept(p, "_")) {
        negative = parse_accept(p, "-");
        out->name = p->text.token;
        out->form = token_number(&out->name, &out->value) ? NUMBER
                    : token_starts(&out->name, "%")       ? REGISTER
                                                          : NAME;
        out->value = negative ? 0 - out->value : out->value;
        text_next(&p->text);
        if (out->form == NAME)
            out->value = read_offset(p);
    }
}

/* ---- slots ---- */

uint32_t slot_new(struct parser *p, unsigned width)
{
    size_t at = (p->kernel->register_bytes + 31) / 32 * 32;

    p->kernel->register_bytes = at + (size_t)LANES * width;
    return (uint32_t)at;
}

uint32_t slot_constant(struct parser *p, unsigned width, uint64_t value)
{
    struct ptx_kernel *k = p->kernel;
    struct constant *c;

    value &= width < 8 ? ((uint64_t)1 << 8 * width) - 1 : UINT64_MAX;
    for (size_t i = 0; i < k->constant_count; i++)
        if (k->constants[i].width == width && k->constants[i].value == value)
            return k->constants[i].slot;
    c = parse_grow(p, k->constants, &k->constant_count, sizeof(*c));
    if (!c)
        return SINK_SLOT;
    k->constants = c;
    c += k->constant_count - 1;
    *c = (struct constant){ slot_new(p, width), (uint8_t)width, value };
    return c->slot;
}

static uint32_t special_slot(struct parser *p, const struct token *name)
{
    for (int s = 0; s < SPECIALS; s++) {
        if (!token_is(name, special_names[s]))
            continue;
        if (!p->kernel->specials[s])
            p->kernel->specials[s] = slot_new(p, sizeof(uint32_t));
        return p->kernel->specials[s];
    }
    return SINK_SLOT;
}

/* The slot in a range that the name belongs to: "%f12" of "%f<641>". NULL: of another. */
static uint32_t *slot_in(const struct registers *r, const struct token *name)
{
    uint32_t n = 0;

    if (name->length < r->name.length || strncmp(name->at, r->name.at, r->name.length) != 0)
        return NULL;
    for (size_t i = r->name.length; i < name->length; i++) {
        if (name->at[i] < '0' || name->at[i] > '9' || n > r->count)
            return NULL;
        n = 10 * n + (uint32_t)(name->at[i] - '0');
    }
    if (r->count ? name->length == r->name.length || n >= r->count : name->length != r->name.length)
        return NULL;
    return &r->slots[n];
}

uint32_t slot_register(struct parser *p, const struct token *name, unsigned *out_width,
                       bool *out_predicate)
{
    uint32_t special = special_slot(p, name);

    *out_width = sizeof(uint32_t);
    *out_predicate = false;
    if (special)
        return special;
    for (size_t i = p->register_count; i-- > 0;) {
        const struct registers *r = &p->registers[i];
        uint32_t *slot = slot_in(r, name);

        if (!slot)
            continue;
        if (!*slot)
            *slot = slot_new(p, r->width);
        *out_width = r->width;
        *out_predicate = r->is_predicate;
        return *slot;
    }
    parse_fail(p, "register '%.*s' is not known", (int)name->length, name->at);
    return SINK_SLOT;
}

const struct symbol *symbol_find(const struct parser *p, const struct token *name)
{
    for (size_t i = p->symbol_count; i-- > 0;)
        if (p->symbols[i].name.length == name->length &&
            !strncmp(p->symbols[i].name.at, name->at, name->length))
            return &p->symbols[i];
    return NULL;
}

static uint32_t symbol_slot(struct parser *p, const struct operand *o, unsigned width)
{
    const struct symbol *s = symbol_find(p, &o->name);

    if (!s) {
        parse_fail(p, "'%.*s' is not declared", (int)o->name.length, o->name.at);
        return SINK_SLOT;
    }
    return slot_constant(p, width,
                         (s->space == CONSTANT ? BASE_OF(CONSTANT) : 0) + s->offset + o->value);
}

uint32_t slot_operand(struct parser *p, const struct operand *o, unsigned width, bool predicate)
{
    unsigned actual;
    bool is_predicate;
    uint32_t slot;

    if (o->form == SINK)
        return SINK_SLOT;
    if (o->form == NUMBER) /* compilers write true as -1 */
        return slot_constant(p, width, predicate ? o->value != 0 : o->value);
    if (o->form == NAME)
        return symbol_slot(p, o, width);
    if (o->form != REGISTER) {
        parse_fail(p, "a register or a number is expected");
        return SINK_SLOT;
    }
    slot = slot_register(p, &o->name, &actual, &is_predicate);
    if (!p->has_failed && (actual != width || is_predicate != predicate))
        parse_fail(p, "register '%.*s' has %u bits, the operand %u", (int)o->name.length,
                   o->name.at, is_predicate ? 1 : 8 * actual, predicate ? 1 : 8 * width);
    return slot;
}

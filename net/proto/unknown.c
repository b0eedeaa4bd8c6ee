/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles fields that are not Caffe's. In an unknown message, or in one that a layer type has
 * claimed, all fields are accepted. Elsewhere a fork's field is noted, a probable misspelling is
 * refused, and any other field is noted.
 */
#include "net/proto/parser.h"

#include <string.h>

/*
 * Whether a layer type has claimed the message of that name. Caffe's own messages do not need that.
 */
static bool is_claimed(const struct ferry__parser *parser, const ferry_proto *p, const char *name)
{
    const ferry_proto_options *options = parser->options;

    return p->type == &ferry__proto_LayerParameter && options && options->claims &&
           options->claims(options->arg, name);
}

static bool is_noted(const struct ferry__parser *parser, const ferry_proto *p, const char *name)
{
    for (const struct ferry__parser_noted *n = parser->noted; n; n = n->next)
        if (n->type == p->type && strcmp(n->name, name) == 0)
            return true;
    return p->document->note_count > FERRY__PROTO_NOTES;
}

static int note_once(struct ferry__parser *parser, ferry_proto *p,
                     const struct ferry__proto_field *field, const char *name)
{
    const struct ferry__token *token = &parser->lexer.token;
    struct ferry__parser_noted *noted;

    if (is_noted(parser, p, name))
        return FERRY_OK;
    noted = ferry__mem_alloc(&p->document->arena, sizeof(*noted));
    if (!noted)
        return ferry__proto_no_memory(p->document);
    *noted = (struct ferry__parser_noted){ parser->noted, p->type, name };
    parser->noted = noted;
    if (field)
        return ferry__proto_add_note(p->document, FERRY_LOG_WARN,
                                     "ferry: %.300s:%u:%u: %s is a field of %s", parser->lexer.file,
                                     token->line, token->column, name, field->fork);
    return ferry__proto_add_note(
        p->document, FERRY_LOG_WARN, "ferry: %.300s:%u:%u: %s has no field %.100s; it is ignored",
        parser->lexer.file, token->line, token->column, p->type->name, name);
}

static int check_number_of_unknown(const struct ferry__parser *parser, const ferry_proto *p)
{
    int count = 0;

    for (const struct ferry__proto_slot *slot = p->slots; slot; slot = slot->next)
        count += slot->field == NULL;
    if (count < FERRY__PROTO_UNKNOWN)
        return FERRY_OK;
    return ferry__token_error(&parser->lexer, &parser->lexer.token, FERRY_EFORMAT,
                              "more than %d unknown fields in one message", FERRY__PROTO_UNKNOWN);
}

int ferry__parser_unknown(struct ferry__parser *parser, ferry_proto *p,
                          const struct ferry__proto_field *field, const char *name)
{
    const char *nearest;
    int err = field ? FERRY_OK : check_number_of_unknown(parser, p);

    if (err || !p->type)
        return err;
    if (field && (p->type == &ferry__proto_NetParameter ||
                  field->message == &ferry__proto_LayerQuantizationParameter))
        return FERRY_OK; /* every net reads the fields of ranges */
    if (!parser->claimed && is_claimed(parser, p, name)) {
        parser->claimed = true;
        return FERRY_OK;
    }
    nearest = field ? NULL : ferry__proto_nearest(p->type, name, strlen(name));
    if (nearest)
        return ferry__token_error(&parser->lexer, &parser->lexer.token, FERRY_EFORMAT,
                                  "%s has no field %.100s; did you mean %s?", p->type->name, name,
                                  nearest);
    return parser->claimed ? FERRY_OK : note_once(parser, p, field, name);
}

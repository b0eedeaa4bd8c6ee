/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf's text format. It refuses the same texts as protobuf's parser; unknown.c decides about
 * fields that are in no table.
 */
#include "net/proto/comments.h"
#include "net/proto/parser.h"

#include <stdlib.h>
#include <string.h>

static int parse_field(struct ferry__parser *parser, ferry_proto *p);

/* ---- messages ------------------------------------------------------------------------------- */

int ferry__proto_check_required(const ferry_proto *p)
{
    for (size_t i = 0; p->type && i < p->type->count; i++)
        if (p->type->fields[i].label == FERRY__PROTO_REQUIRED &&
            !ferry__proto_has(p, p->type->fields[i].name))
            return ferry_proto_error(p, NULL, 0, FERRY_EFORMAT, "%s lacks the required field %s",
                                     p->type->name, p->type->fields[i].name);
    return FERRY_OK;
}

/*
 * Parses from after the opening bracket to after the closing one; with `close` 0, to the end of the
 * text.
 */
static int parse_body(struct ferry__parser *parser, ferry_proto *p, char close)
{
    struct ferry__lexer *lexer = &parser->lexer;
    int err = FERRY_OK;

    while (!err) {
        if (close && ferry__lexer_is(lexer, close)) {
            ferry__comments_place(lexer->comments, true, p->line, p->column, FERRY__COMMENT_LAST);
            err = ferry__lexer_next(lexer);
            break;
        }
        if (lexer->token.kind == FERRY__TOKEN_END) {
            if (!close) {
                ferry__comments_place(lexer->comments, true, 0, 0, FERRY__COMMENT_LAST);
                break;
            }
            return ferry__token_error(lexer, &lexer->token, FERRY_EFORMAT,
                                      "%c was expected for the message of line %u, not the end of "
                                      "the text",
                                      close, p->line);
        }
        err = parse_field(parser, p);
    }
    return err ? err : ferry__proto_check_required(p);
}

static int parse_message(struct ferry__parser *parser, ferry_proto *p,
                         const struct ferry__proto_field *field, struct ferry__proto_value *out)
{
    struct ferry__lexer *lexer = &parser->lexer;
    char close = ferry__lexer_is(lexer, '<') ? '>' : '}';
    ferry_proto *message;
    int err;

    if (close == '}' && !ferry__lexer_is(lexer, '{'))
        return ferry__lexer_unexpected(lexer, "{ was expected");
    if (parser->depth == FERRY__PROTO_DEPTH)
        return ferry__token_error(lexer, &lexer->token, FERRY_EFORMAT,
                                  "messages nest deeper than %d", FERRY__PROTO_DEPTH);
    message = ferry__proto_new(p->document, field ? field->message : NULL);
    if (!message)
        return ferry__proto_no_memory(p->document);
    message->line = lexer->token.line;
    message->column = lexer->token.column;
    out->kind = FERRY__PROTO_MESSAGE;
    out->as.message = message;
    err = ferry__lexer_next(lexer);
    ferry__comments_place(lexer->comments, false, message->line, message->column,
                          FERRY__COMMENT_OPEN);
    parser->depth++;
    if (!err)
        err = parse_body(parser, message, close);
    parser->depth--;
    return err;
}

/* ---- fields --------------------------------------------------------------------------------- */

static int parse_value(struct ferry__parser *parser, ferry_proto *p,
                       const struct ferry__proto_field *field, const char *name)
{
    struct ferry__lexer *lexer = &parser->lexer;
    struct ferry__proto_value value = { .line = lexer->token.line,
                                        .column = lexer->token.column & 0xffffffu },
                              *slot;
    bool opens = ferry__lexer_is(lexer, '{') || ferry__lexer_is(lexer, '<');
    int err;

    ferry__comments_place(lexer->comments, true, value.line, value.column, FERRY__COMMENT_BEFORE);
    if (field ? field->kind == FERRY__PROTO_MESSAGE : opens)
        err = parse_message(parser, p, field, &value);
    else if (field)
        err = ferry__value_read(lexer, p->document, &parser->scratch, field, &value);
    else
        err = ferry__value_read_any(lexer, p->document, &parser->scratch, &value);
    if (err)
        return err;
    slot = ferry__proto_append(p, field, name, (enum ferry__proto_kind)value.kind);
    if (!slot)
        return ferry__proto_no_memory(p->document);
    if (field)
        value.kind = field->kind;
    *slot = value;
    ferry__comments_place(lexer->comments, false, value.line, value.column, FERRY__COMMENT_AFTER);
    return FERRY_OK;
}

/* Parses from after the [. */
static int parse_list(struct ferry__parser *parser, ferry_proto *p,
                      const struct ferry__proto_field *field, const char *name)
{
    struct ferry__lexer *lexer = &parser->lexer;
    int err = ferry__lexer_next(lexer);

    if (!err && ferry__lexer_is(lexer, ']'))
        return ferry__lexer_next(lexer);
    while (!err) {
        err = parse_value(parser, p, field, name);
        if (err || ferry__lexer_is(lexer, ']'))
            break;
        if (!ferry__lexer_is(lexer, ','))
            return ferry__lexer_unexpected(lexer, ", or ] was expected");
        err = ferry__lexer_next(lexer);
    }
    return err ? err : ferry__lexer_next(lexer);
}

/* Parses the part after a field's name. */
static int parse_values(struct ferry__parser *parser, ferry_proto *p,
                        const struct ferry__proto_field *field, const char *name)
{
    struct ferry__lexer *lexer = &parser->lexer;
    bool colon = ferry__lexer_is(lexer, ':');
    int err = colon ? ferry__lexer_next(lexer) : FERRY_OK;
    bool opens = ferry__lexer_is(lexer, '{') || ferry__lexer_is(lexer, '<'),
         list = ferry__lexer_is(lexer, '[');

    if (err)
        return err;
    if (!colon && !opens && !(list && field && field->kind == FERRY__PROTO_MESSAGE))
        return ferry__lexer_unexpected(lexer, ": was expected");
    if (list && (!field || ferry__proto_repeats(field)))
        err = parse_list(parser, p, field, name);
    else
        err = parse_value(parser, p, field, name);
    if (!err && (ferry__lexer_is(lexer, ',') || ferry__lexer_is(lexer, ';')))
        err = ferry__lexer_next(lexer);
    return err;
}

static int check_name(const struct ferry__parser *parser)
{
    const struct ferry__lexer *lexer = &parser->lexer;

    if (ferry__lexer_is(lexer, '['))
        return ferry__token_error(lexer, &lexer->token, FERRY_EUNSUPPORTED,
                                  "extensions and Any, [name], are not supported");
    if (lexer->token.kind != FERRY__TOKEN_NAME)
        return ferry__lexer_unexpected(lexer, "a field's name was expected");
    return FERRY_OK;
}

static int parse_field(struct ferry__parser *parser, ferry_proto *p)
{
    struct ferry__lexer *lexer = &parser->lexer;
    struct ferry__token token = lexer->token;
    const struct ferry__proto_field *field;
    bool claimed = parser->claimed;
    char *name = NULL;
    int err = check_name(parser);

    if (err)
        return err;
    field = ferry__proto_field_of(p->type, token.text, token.size);
    if (field && !ferry__proto_repeats(field) && ferry__proto_has(p, field->name))
        return ferry__token_error(lexer, &token, FERRY_EFORMAT,
                                  "%s is given twice, but is not a repeated field", field->name);
    if (!field || field->fork) {
        name = ferry__mem_copy(&p->document->arena, token.text, token.size);
        err = name ? ferry__parser_unknown(parser, p, field, name)
                   : ferry__proto_no_memory(p->document);
    }
    if (!err)
        err = ferry__lexer_next(lexer);
    if (!err)
        err = parse_values(parser, p, field, field ? field->name : name);
    parser->claimed = claimed;
    return err;
}

/* ---- texts ---------------------------------------------------------------------------------- */

int ferry__proto_parse(ferry_proto *root, const char *text, size_t size,
                       const ferry_proto_options *options)
{
    struct ferry__parser parser = { .options = options };
    struct ferry__comments comments = { .document = root->document };
    int err = ferry__lexer_start(&parser.lexer, root->document->file, text, size,
                                 options && options->comments ? &comments : NULL),
        ended;

    root->line = root->column = 1;
    if (!err)
        err = parse_body(&parser, root, 0);
    free(parser.scratch.bytes);
    ended = ferry__comments_finish(&comments);
    return err ? err : ended;
}

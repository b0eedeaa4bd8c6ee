/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/ptx/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$%.", c));
}

static void skip_blank(struct text *t)
{
    for (;;) {
        if (t->at[0] == '/' && t->at[1] == '/') {
            t->at += strcspn(t->at, "\n");
        } else if (t->at[0] == '/' && t->at[1] == '*') {
            const char *end = strstr(t->at, "*/");

            for (; *t->at && t->at != end; t->at++)
                t->line += *t->at == '\n';
            t->at += end ? 2 : 0;
        } else if (isspace((unsigned char)*t->at)) {
            t->line += *t->at++ == '\n';
        } else {
            return;
        }
    }
}

void text_next(struct text *t)
{
    const char *end;

    skip_blank(t);
    end = t->at;
    if (*end == '"') {
        end += 1 + strcspn(end + 1, "\"");
        end += *end == '"';
    } else if (is_word(*end)) {
        while (is_word(*end) || (end[0] == ':' && end[1] == ':'))
            end += *end == ':' ? 2 : 1;
    } else if (*end) {
        end++;
    }
    t->token = (struct token){ t->at, (size_t)(end - t->at), t->line };
    t->at = end;
}

void text_begin(struct text *t, const char *from)
{
    *t = (struct text){ .at = from, .line = 1 };
    text_next(t);
}

bool token_is(const struct token *token, const char *word)
{
    return token->length == strlen(word) && !strncmp(token->at, word, token->length);
}

bool token_starts(const struct token *token, const char *start)
{
    return token->length >= strlen(start) && !strncmp(token->at, start, strlen(start));
}

bool token_number(const struct token *token, uint64_t *out)
{
    char text[80], *end, *digits = text;
    int base = 0;

    if (!token->length || token->length >= sizeof(text) || !isdigit((unsigned char)*token->at))
        return false;
    memcpy(text, token->at, token->length);
    text[token->length] = '\0';
    if (text[0] == '0' && strchr("fFdDbB", text[1]) && text[1]) {
        base = strchr("bB", text[1]) ? 2 : 16;
        digits = text + 2;
    }
    *out = strtoull(digits, &end, base);
    return end != digits && (!*end || !strcmp(end, "U"));
}

#include "common/config/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ERRORS_TEXT_MAX = 64 << 10,
    ERRORS_QUOTED_MIN = 4, /* of a whole text: shorter ones are words of the sentence too */
    ERRORS_CUT_MIN = 8     /* of a text that was cut */
};

void ald_errors_init(struct ald_errors *self)
{
    self->count = 0;
    ald_buf_init(&self->text, ERRORS_TEXT_MAX);
}

void ald_errors_free(struct ald_errors *self)
{
    ald_buf_free(&self->text);
    self->count = 0;
}

/* Blot out what the sentence quotes of a text, be it cut. */
static void errors_blot(char *sentence, const char *text)
{
    size_t whole = strlen(text);
    for (char *at = sentence; *at != '\0'; at++) {
        size_t same = 0;
        while (text[same] != '\0' && at[same] == text[same])
            same++;
        if (same >= ERRORS_QUOTED_MIN && (same == whole || same >= ERRORS_CUT_MIN))
            memset(at, '*', same);
    }
}

void ald_errors_add(struct ald_errors *self, const struct ald_node *at, const char *format, ...)
{
    self->count++;
    if (self->count > ALD_ERRORS_MAX)
        return;
    char sentence[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (at != NULL && at->expanded)
        errors_blot(sentence, at->text);
    for (char *c = sentence; *c != '\0'; c++) /* it may quote a word of the file */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    if (at != NULL && at->line > 0)
        ald_buf_printf(&self->text, "%s:%u:%u: ", at->file, at->line, at->column);
    else if (at != NULL)
        ald_buf_printf(&self->text, "%s: ", at->file);
    ald_buf_put_str(&self->text, sentence);
    ald_buf_put_byte(&self->text, '\n');
    if (self->count == ALD_ERRORS_MAX)
        ald_buf_put_str(&self->text, "More errors are not shown.\n");
}

const char *ald_errors_text(struct ald_errors *self)
{
    return ald_buf_str(&self->text);
}

void ald_node_append(struct ald_node *parent, struct ald_node *child)
{
    ALD_ASSERT(child->next == NULL);
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
    parent->count++;
}

const struct ald_node *ald_node_find(const struct ald_node *map, const char *key)
{
    if (map == NULL || map->kind != ALD_NODE_MAP)
        return NULL;
    for (const struct ald_node *child = map->first; child != NULL; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

const struct ald_node *ald_node_at(const struct ald_node *map, const char *path)
{
    while (map != NULL && *path != '\0') {
        size_t len = strcspn(path, ".");
        const struct ald_node *child = map->kind == ALD_NODE_MAP ? map->first : NULL;
        while (child != NULL && (strncmp(child->key, path, len) != 0 || child->key[len] != '\0'))
            child = child->next;
        map = child;
        path += len + (path[len] == '.' ? 1 : 0);
    }
    return map;
}

bool ald_node_null(const struct ald_node *node)
{
    if (node->kind != ALD_NODE_SCALAR || node->quoted)
        return false;
    return node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0;
}

#include "common/config/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

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

struct errors_line {
    struct ald_span whole, file; /* with its end; without a place the file is "" */
    uint64_t line, column;
};

/* Read a number and the colon behind it. */
static bool errors_number(const char **at, uint64_t *out)
{
    size_t digits = strspn(*at, "0123456789");
    if (ald_text_u64(ald_span_of(*at, digits), out) != ALD_OK || (*at)[digits] != ':')
        return false;
    *at += digits + 1;
    return true;
}

static struct errors_line errors_line_of(const char *text, size_t len)
{
    struct errors_line self = {.whole = ald_span_of(text, len), .file = ald_span_of(text, 0)};
    for (const char *colon = text; (colon = memchr(colon, ':', len - (size_t)(colon - text)));
         colon++) {
        const char *at = colon + 1;
        uint64_t line = 0;
        uint64_t column = 0;
        if (!errors_number(&at, &line) || !errors_number(&at, &column))
            continue;
        self.file.len = (size_t)(colon - text);
        self.line = line;
        self.column = column;
        break;
    }
    return self;
}

static int errors_order(const void *left, const void *right)
{
    const struct errors_line *a = left;
    const struct errors_line *b = right;
    size_t shorter = a->file.len < b->file.len ? a->file.len : b->file.len;
    int files = memcmp(a->file.data, b->file.data, shorter);
    if (files != 0)
        return files;
    if (a->file.len != b->file.len)
        return a->file.len < b->file.len ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->whole.data < b->whole.data ? -1 : 1; /* as they were found */
}

void ald_errors_sort(struct ald_errors *self)
{
    struct errors_line lines[ALD_ERRORS_MAX];
    struct ald_buf sorted;
    size_t count = 0;
    const char *at = ald_errors_text(self);
    const char *end = NULL;
    if (!ald_buf_ok(&self->text))
        return;
    for (; count < ALD_ERRORS_MAX && (end = strchr(at, '\n')) != NULL; at = end + 1)
        lines[count++] = errors_line_of(at, (size_t)(end + 1 - at));
    if (count > 0)
        qsort(lines, count, sizeof lines[0], errors_order);
    ald_buf_init(&sorted, ERRORS_TEXT_MAX);
    for (size_t i = 0; i < count; i++)
        ald_buf_put(&sorted, lines[i].whole.data, lines[i].whole.len);
    ald_buf_put_str(&sorted, at); /* that there are more */
    ald_buf_free(&self->text);
    self->text = sorted;
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

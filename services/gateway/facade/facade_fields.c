#include "services/gateway/facade/facade_fields.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/form.h"
#include "services/gateway/facade/facade_parts.h"

void facade_fields_init(struct facade_fields *self)
{
    *self = (struct facade_fields){0};
}

void facade_fields_free(struct facade_fields *self)
{
    if (self->keep)
        explicit_bzero(self->keep, self->cap);
    free(self->keep);
    if (self->scratch.data)
        explicit_bzero(self->scratch.data, self->scratch.cap);
    ald_buf_free(&self->scratch);
    *self = (struct facade_fields){0};
}

/* What scratch holds, kept. Decoding never makes more bytes than it reads, so there is room. */
static struct ald_span fields_keep(struct facade_fields *self)
{
    struct ald_span bytes = ald_buf_span(&self->scratch);
    ALD_ASSERT(bytes.len <= self->cap - self->kept);
    uint8_t *at = self->keep + self->kept;
    if (bytes.len > 0)
        memcpy(at, bytes.data, bytes.len);
    self->kept += bytes.len;
    return ald_span_of(at, bytes.len);
}

static bool fields_named(struct ald_span name, const char *word)
{
    return name.len == strlen(word) && strncasecmp((const char *)name.data, word, name.len) == 0;
}

/* Does this hold what no text parameter can? */
static bool fields_binary(struct ald_span text)
{
    return ald_span_find(text, '\0') < text.len || !ald_text_utf8_ok(text);
}

/* One of the same name gives way. Fields without a name are nobody's. */
static void fields_put(struct facade_fields *self, const struct facade_field *field)
{
    if (field->name.len == 0)
        return;
    if (field->name.len > FACADE_NAME_MAX || fields_binary(field->name)) {
        self->full = true;
        return;
    }
    for (size_t i = 0; i < self->count; i++) {
        if (ald_span_eq(self->list[i].name, field->name)) {
            self->list[i] = *field;
            return;
        }
    }
    if (self->count == FACADE_FIELDS_MAX)
        self->full = true;
    else
        self->list[self->count++] = *field;
}

/* ---- pairs ---- */

/* Decoded; where an escape is none, as it stands, as servers of forms do. */
static struct ald_span fields_decode(struct facade_fields *self, struct ald_span raw,
                                     enum ald_plus plus)
{
    ald_buf_reset(&self->scratch);
    if (ald_form_decode(raw, plus, &self->scratch) == ALD_OK && ald_buf_ok(&self->scratch))
        return fields_keep(self);
    ald_buf_reset(&self->scratch);
    for (size_t i = 0; i < raw.len; i++) {
        size_t before = self->scratch.len;
        struct ald_span escape = ald_span_of(raw.data + i, 3);
        if (raw.data[i] == '%' && i + 2 < raw.len &&
            ald_hex_decode(&self->scratch, ald_span_skip(escape, 1)) == ALD_OK) {
            i += 2;
            continue;
        }
        self->scratch.len = before;
        bool space = raw.data[i] == '+' && plus == ALD_PLUS_SPACE;
        ald_buf_put_byte(&self->scratch, space ? ' ' : raw.data[i]);
    }
    return fields_keep(self);
}

static void fields_pair(struct facade_fields *self, struct ald_span pair)
{
    size_t equals = ald_span_find(pair, '=');
    struct ald_span raw = ald_span_skip(pair, equals < pair.len ? equals + 1 : equals);
    struct facade_field field = {0};
    field.name = fields_decode(self, ald_span_of(pair.data, equals), ALD_PLUS_SPACE);
    field.name = ald_span_trim(field.name);
    enum ald_plus plus = fields_named(field.name, "body") ? ALD_PLUS_AUTO : ALD_PLUS_SPACE;
    field.text = fields_decode(self, raw, plus);
    field.file = fields_binary(field.text);
    fields_put(self, &field);
}

static void fields_pairs(struct facade_fields *self, struct ald_span form)
{
    while (form.len > 0) {
        size_t end = ald_span_find(form, '&');
        fields_pair(self, ald_span_of(form.data, end));
        form = ald_span_skip(form, end < form.len ? end + 1 : end);
    }
}

/* ---- JSON ---- */

static void fields_member(struct facade_fields *self, struct ald_span key, struct ald_json value)
{
    struct facade_field field = {.json = value, .text = value.raw};
    const struct ald_json name = {.kind = ALD_JSON_STRING, .raw = key};
    ald_buf_reset(&self->scratch);
    if (value.kind == ALD_JSON_NULL || ald_json_text(name, &self->scratch) != ALD_OK)
        return;
    field.name = fields_keep(self);
    if (value.kind == ALD_JSON_STRING) {
        ald_buf_reset(&self->scratch);
        if (ald_json_text(value, &self->scratch) != ALD_OK)
            return;
        field.text = fields_keep(self);
    }
    fields_put(self, &field);
}

static bool fields_json(struct facade_fields *self, struct ald_span body)
{
    struct ald_json whole;
    struct ald_json value;
    struct ald_span key;
    if (ald_json_scan(body, &whole, NULL) != ALD_OK || whole.kind != ALD_JSON_OBJECT)
        return false;
    struct ald_json_walk walk = ald_json_walk_begin(whole);
    while (ald_json_walk_next(&walk, &key, &value))
        fields_member(self, key, value);
    return true;
}

/* ---- parts ---- */

static bool fields_parts(struct facade_fields *self, const char *content_type, struct ald_span body)
{
    struct facade_parts parts;
    struct facade_part part;
    if (!facade_parts_begin(&parts, content_type, body))
        return false;
    while (facade_parts_next(&parts, &part)) {
        struct facade_field field = {.name = part.name,
                                     .text = part.content,
                                     .file = part.file || fields_binary(part.content),
                                     .title = part.title,
                                     .type = part.type};
        fields_put(self, &field);
    }
    return true;
}

/* ---- all ---- */

bool facade_fields_read(struct facade_fields *self, struct ald_span query, const char *content_type,
                        struct ald_span body)
{
    ALD_ASSERT(!self->keep);
    self->cap = query.len + body.len;
    self->keep = malloc(self->cap + 1);
    ALD_ASSERT(self->keep);
    ald_buf_init(&self->scratch, self->cap + 1);
    fields_pairs(self, query);
    bool read = fields_json(self, body) || fields_parts(self, content_type, body);
    if (!read)
        fields_pairs(self, ald_message_trim(body));
    return !self->full;
}

const struct facade_field *facade_fields_find(const struct facade_fields *self, const char *name)
{
    for (size_t i = self->count; i > 0; i--)
        if (fields_named(self->list[i - 1].name, name))
            return &self->list[i - 1];
    return NULL;
}

struct ald_span facade_fields_text(const struct facade_fields *self, const char *name)
{
    const struct facade_field *field = facade_fields_find(self, name);
    return field ? ald_span_trim(field->text) : ald_span_of(NULL, 0);
}

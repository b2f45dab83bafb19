#include "proto/wire.h"

#include <string.h>

#include "proto/cursor.h"
#include "proto/plain.h"

/* A newer writer may add fields; so many that a version would have been due are refused. */
enum { READER_UNKNOWN_MAX = 32 };

static const uint64_t reader_number_max = UINT64_C(1) << 53;

/* One message being read. */
struct reader {
    const struct ald_schema *schema;
    struct ald_cursor cursor;
    uint64_t seen; /* a bit a field */
    size_t next;   /* the field that most likely comes next: writers keep the table's order */
    struct ald_span unknown[READER_UNKNOWN_MAX]; /* only the first unknown_count are set */
    size_t unknown_count;
};

/* The two entries that every message begins with. */
struct reader_head {
    uint64_t pairs; /* entries that follow */
    struct ald_span kind;
    uint64_t version;
};

static bool reader_key_is(struct ald_span key, const char *name)
{
    for (size_t i = 0; i < key.len; i++) {
        if (name[i] == '\0' || (uint8_t)name[i] != key.data[i])
            return false;
    }
    return name[key.len] == '\0';
}

static bool reader_head(struct ald_cursor *cursor, struct reader_head *head)
{
    struct ald_item map = ald_cursor_next(cursor);
    struct ald_item kind_key = ald_cursor_next(cursor);
    struct ald_item kind = ald_cursor_next(cursor);
    struct ald_item version_key = ald_cursor_next(cursor);
    struct ald_item version = ald_cursor_next(cursor);
    bool whole = map.type == ALD_ITEM_MAP && map.number >= 2 && kind_key.type == ALD_ITEM_TEXT &&
                 reader_key_is(kind_key.bytes, "k") && kind.type == ALD_ITEM_TEXT &&
                 version_key.type == ALD_ITEM_TEXT && reader_key_is(version_key.bytes, "v") &&
                 version.type == ALD_ITEM_UNSIGNED && version.number > 0;
    if (!whole || !ald_plain_ok(kind.bytes)) {
        ald_cursor_fail(cursor, ALD_MALFORMED);
        return false;
    }
    *head = (struct reader_head){
        .pairs = map.number - 2, .kind = kind.bytes, .version = version.number};
    return true;
}

/* The field of this key, or NULL. */
static const struct ald_field *reader_find(const struct ald_schema *schema, struct ald_span key)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        if (key.len == field->key_len && memcmp(key.data, field->key, key.len) == 0)
            return field;
    }
    return NULL;
}

/* The field that most likely comes next, if its key does. */
static const struct ald_field *reader_expected(struct reader *self)
{
    if (self->next == self->schema->count)
        return NULL;
    const struct ald_field *field = &self->schema->fields[self->next];
    return ald_cursor_took(&self->cursor, field->key, field->key_len) ? field : NULL;
}

static enum ald_rc reader_text(const struct ald_field *field, struct ald_item item, uint8_t *at)
{
    if (item.type != ALD_ITEM_TEXT)
        return ALD_MALFORMED;
    if (item.bytes.len >= field->size)
        return ALD_TOOBIG;
    if (!ald_plain_ok(item.bytes))
        return ALD_MALFORMED;
    memcpy(at, item.bytes.data, item.bytes.len); /* the struct was cleared: NUL is there */
    return ALD_OK;
}

static enum ald_rc reader_u64(struct ald_item item, uint8_t *at)
{
    if (item.type != ALD_ITEM_UNSIGNED)
        return ALD_MALFORMED;
    if (item.number >= reader_number_max)
        return ALD_TOOBIG;
    memcpy(at, &item.number, sizeof(item.number));
    return ALD_OK;
}

static enum ald_rc reader_i64(struct ald_item item, uint8_t *at)
{
    bool negative = item.type == ALD_ITEM_NEGATIVE;
    if (!negative && item.type != ALD_ITEM_UNSIGNED)
        return ALD_MALFORMED;
    uint64_t magnitude = negative ? UINT64_C(0) - item.number : item.number;
    if (magnitude > reader_number_max)
        return ALD_TOOBIG;
    int64_t value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    memcpy(at, &value, sizeof(value));
    return ALD_OK;
}

static enum ald_rc reader_bool(struct ald_item item, uint8_t *at)
{
    if (item.type != ALD_ITEM_BOOL)
        return ALD_MALFORMED;
    bool value = item.number != 0;
    memcpy(at, &value, sizeof(value));
    return ALD_OK;
}

static enum ald_rc reader_id(struct ald_item item, uint8_t *at)
{
    if (item.type != ALD_ITEM_TEXT || (item.bytes.len > 0 && item.bytes.data[0] == '0'))
        return ALD_MALFORMED;
    uint64_t value = 0;
    for (size_t i = 0; i < item.bytes.len; i++) {
        if (item.bytes.data[i] < '0' || item.bytes.data[i] > '9')
            return ALD_MALFORMED;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)item.bytes.data[i] - '0', &value))
            return ALD_TOOBIG;
    }
    memcpy(at, &value, sizeof(value));
    return ALD_OK;
}

static enum ald_rc reader_span(const struct ald_field *field, struct ald_item item, uint8_t *at)
{
    if (item.type != ALD_ITEM_BYTES)
        return ALD_MALFORMED;
    if (item.bytes.len > field->size)
        return ALD_TOOBIG;
    memcpy(at, &item.bytes, sizeof(item.bytes));
    return ALD_OK;
}

static enum ald_rc reader_value(const struct ald_field *field, struct ald_item item, uint8_t *at)
{
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        return reader_text(field, item, at);
    case ALD_FIELD_U64:
        return reader_u64(item, at);
    case ALD_FIELD_I64:
        return reader_i64(item, at);
    case ALD_FIELD_BOOL:
        return reader_bool(item, at);
    case ALD_FIELD_ID:
        return reader_id(item, at);
    case ALD_FIELD_SPAN:
        return reader_span(field, item, at);
    }
    return ALD_MALFORMED;
}

/* Step over an entry that this version does not know, unless its key came before. */
static void reader_unknown(struct reader *self, struct ald_span key)
{
    bool refused = self->unknown_count == READER_UNKNOWN_MAX || !ald_plain_ok(key) ||
                   reader_key_is(key, "k") || reader_key_is(key, "v");
    for (size_t i = 0; i < self->unknown_count && !refused; i++)
        refused = ald_span_eq(self->unknown[i], key);
    if (refused) {
        ald_cursor_fail(&self->cursor, ALD_MALFORMED);
        return;
    }
    self->unknown[self->unknown_count++] = key;
    ald_cursor_skip(&self->cursor);
}

/* The field whose key comes next, or NULL: an entry that was stepped over, or a fault. */
static const struct ald_field *reader_field(struct reader *self)
{
    const struct ald_field *field = reader_expected(self);
    if (field != NULL)
        return field;
    struct ald_item key = ald_cursor_next(&self->cursor);
    if (key.type != ALD_ITEM_TEXT) {
        ald_cursor_fail(&self->cursor, ALD_MALFORMED);
        return NULL;
    }
    field = reader_find(self->schema, key.bytes);
    if (field == NULL)
        reader_unknown(self, key.bytes);
    return field;
}

static void reader_pair(struct reader *self, uint8_t *msg)
{
    const struct ald_field *field = reader_field(self);
    if (field == NULL)
        return;
    size_t index = (size_t)(field - self->schema->fields);
    uint64_t bit = UINT64_C(1) << index;
    struct ald_item item = ald_cursor_next(&self->cursor);
    enum ald_rc rc = ALD_MALFORMED;
    if ((self->seen & bit) == 0)
        rc = reader_value(field, item, msg + field->offset);
    if (rc != ALD_OK)
        ald_cursor_fail(&self->cursor, rc);
    self->seen |= bit;
    self->next = index + 1;
}

static bool reader_complete(const struct reader *self)
{
    for (size_t i = 0; i < self->schema->count; i++) {
        if (self->schema->fields[i].required && (self->seen >> i & 1) == 0)
            return false;
    }
    return true;
}

enum ald_rc ald_wire_decode(const struct ald_schema *schema, void *msg, struct ald_span bytes)
{
    ALD_ASSERT(schema->count <= ALD_WIRE_FIELDS);
    memset(msg, 0, schema->size);
    struct reader self;
    self.schema = schema;
    self.cursor = ald_cursor_of(bytes);
    self.seen = 0;
    self.next = 0;
    self.unknown_count = 0;
    struct reader_head head;
    if (!reader_head(&self.cursor, &head))
        return ALD_MALFORMED;
    if (!reader_key_is(head.kind, schema->kind))
        return ALD_INVALID;
    if (head.version > schema->version)
        return ALD_VERSION;
    for (uint64_t i = 0; i < head.pairs && self.cursor.rc == ALD_OK; i++)
        reader_pair(&self, msg);
    if (self.cursor.at != self.cursor.end)
        ald_cursor_fail(&self.cursor, ALD_MALFORMED);
    if (self.cursor.rc != ALD_OK)
        return self.cursor.rc;
    return reader_complete(&self) ? ALD_OK : ALD_MISSING;
}

enum ald_rc ald_wire_kind(struct ald_span bytes, char *kind, size_t cap)
{
    struct ald_cursor cursor = ald_cursor_of(bytes);
    struct reader_head head;
    if (!reader_head(&cursor, &head) || head.kind.len >= cap)
        return ALD_MALFORMED;
    memcpy(kind, head.kind.data, head.kind.len);
    kind[head.kind.len] = '\0';
    return ALD_OK;
}

bool ald_wire_is(const struct ald_schema *schema, struct ald_span bytes)
{
    struct ald_cursor cursor = ald_cursor_of(bytes);
    struct reader_head head;
    return reader_head(&cursor, &head) && reader_key_is(head.kind, schema->kind);
}

#include <string.h>

#include "common/base/text.h"
#include "services/tracker/consumers/consumer_inside.h"

/* How an entry fares on disk. A lease is not kept: what was leased is offered again. Who had it is
 * kept, by name, so that a range settles what its instance had and nothing of others. */
enum flight_kind {
    FLIGHT_LEASED,
    FLIGHT_LEASED_ALONE,
    FLIGHT_WAITING,
    FLIGHT_SUSPECT,
    FLIGHT_FREE,
    FLIGHT_FREE_ALONE,
    FLIGHT_KINDS
};

enum { FLIGHT_VERSION = 1, FLIGHT_VARINT_MAX = 10 };

static enum flight_kind flight_kind(const struct consumer_entry *entry)
{
    if (entry->state == CONSUMER_LEASED)
        return entry->suspect ? FLIGHT_LEASED_ALONE : FLIGHT_LEASED;
    if (entry->free)
        return entry->suspect ? FLIGHT_FREE_ALONE : FLIGHT_FREE;
    return entry->suspect ? FLIGHT_SUSPECT : FLIGHT_WAITING;
}

static void flight_put(struct ald_buf *out, uint64_t value)
{
    uint8_t bytes[FLIGHT_VARINT_MAX];
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (uint8_t)(value | 0x80);
    bytes[len++] = (uint8_t)value;
    ald_buf_put(out, bytes, len);
}

static bool flight_get(struct ald_span *in, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < FLIGHT_VARINT_MAX && i < in->len; i++) {
        uint8_t byte = in->data[i];
        if (i == FLIGHT_VARINT_MAX - 1 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *in = ald_span_skip(*in, i + 1);
            return true;
        }
    }
    return false;
}

/* ---- to bytes ---- */

/* Entries that follow each other and fare alike. */
struct flight_run {
    uint64_t first, length;
    uint64_t kind, count, due_ms;
    uint64_t holder; /* place of its name in the table of names, from 1; 0 = nobody */
};

struct flight_names {
    uint8_t place[CONSUMER_INSTANCES_MAX]; /* of an instance, from 1 */
    size_t count;
};

static struct flight_run flight_run(const struct consumer_entry *entry,
                                    const struct flight_names *names)
{
    struct flight_run run = {
        .first = entry->seq, .length = 1, .kind = flight_kind(entry), .count = entry->count};
    if (entry->holder < CONSUMER_INSTANCES_MAX)
        run.holder = names->place[entry->holder];
    if (entry->state == CONSUMER_WAITING && entry->due_ms > 0)
        run.due_ms = (uint64_t)entry->due_ms;
    return run;
}

static bool flight_joins(const struct flight_run *run, const struct flight_run *next)
{
    return run->length > 0 && next->first == run->first + run->length && next->kind == run->kind &&
           next->count == run->count && next->due_ms == run->due_ms && next->holder == run->holder;
}

/* base: the number before the first that may come. */
static void flight_put_run(struct ald_buf *out, const struct flight_run *run, uint64_t *base)
{
    if (run->length == 0)
        return;
    flight_put(out, run->first - *base - 1);
    flight_put(out, run->length);
    flight_put(out, run->count * FLIGHT_KINDS + run->kind);
    flight_put(out, run->due_ms);
    flight_put(out, run->holder);
    *base = run->first + run->length - 1;
}

/* The names of those that had what is in flight. */
static void flight_put_names(const struct consumer *self, struct flight_names *names,
                             struct ald_buf *out)
{
    for (size_t i = 0; i < CONSUMER_INSTANCES_MAX; i++)
        if (self->instances[i].used && self->instances[i].named > 0)
            names->place[i] = (uint8_t)++names->count;
    flight_put(out, names->count);
    for (size_t i = 0; i < CONSUMER_INSTANCES_MAX; i++) {
        if (names->place[i] == 0)
            continue;
        struct ald_span name = ald_span_str(self->instances[i].name);
        flight_put(out, name.len);
        ald_buf_put(out, name.data, name.len);
    }
}

void consumer_pack(const struct consumer *self, struct ald_buf *out)
{
    struct flight_run run = {0};
    struct flight_names names = {0};
    uint64_t base = 0;
    ald_buf_put_byte(out, FLIGHT_VERSION);
    flight_put_names(self, &names, out);
    for (size_t i = self->first; i < self->end; i++) {
        if (self->flight[i].state == CONSUMER_SETTLED)
            continue;
        struct flight_run next = flight_run(&self->flight[i], &names);
        if (flight_joins(&run, &next)) {
            run.length++;
            continue;
        }
        flight_put_run(out, &run, &base);
        run = next;
    }
    flight_put_run(out, &run, &base);
}

/* ---- and back ---- */

static bool flight_get_run(struct ald_span *in, uint64_t base, struct flight_run *out)
{
    uint64_t skipped = 0;
    uint64_t both = 0;
    if (!flight_get(in, &skipped) || !flight_get(in, &out->length) || !flight_get(in, &both) ||
        !flight_get(in, &out->due_ms) || !flight_get(in, &out->holder))
        return false;
    out->kind = both % FLIGHT_KINDS;
    out->count = both / FLIGHT_KINDS;
    out->first = base + skipped + 1;
    return skipped < INT64_MAX && out->first > base && out->length > 0 &&
           out->length <= CONSUMER_PENDING_MAX && out->count <= UINT32_MAX &&
           out->due_ms <= INT64_MAX;
}

/* Those who had something, as instances that have not asked yet; who of them is whom by place. */
static bool flight_get_names(struct consumer *self, struct ald_span *in, struct flight_names *names)
{
    uint64_t count = 0;
    uint64_t len = 0;
    char name[ALD_WORD_MAX];
    if (!flight_get(in, &count) || count > CONSUMER_INSTANCES_MAX)
        return false;
    for (; names->count < count; names->count++) {
        if (!flight_get(in, &len) || len > in->len ||
            ald_text_copy(name, sizeof name, ald_span_of(in->data, len)) != ALD_OK)
            return false;
        *in = ald_span_skip(*in, len);
        names->place[names->count] = (uint8_t)consumer_instance(self, name, INT64_MIN / 2);
    }
    return true;
}

static void flight_add_run(struct consumer *self, const struct flight_names *names,
                           const struct flight_run *run)
{
    bool leased = run->kind <= FLIGHT_LEASED_ALONE;
    bool alone = run->kind == FLIGHT_LEASED_ALONE || run->kind == FLIGHT_SUSPECT ||
                 run->kind == FLIGHT_FREE_ALONE;
    struct consumer_entry entry = {
        .due_ms = (int64_t)run->due_ms,
        .count = (uint32_t)run->count,
        .state = CONSUMER_WAITING,
        .holder = run->holder > 0 ? names->place[run->holder - 1] : (uint8_t)CONSUMER_NOBODY,
        .suspect = alone,
        .free = leased || run->kind == FLIGHT_FREE || run->kind == FLIGHT_FREE_ALONE};
    for (uint64_t i = 0; i < run->length; i++) {
        entry.seq = run->first + i;
        consumer_append(self, &entry);
    }
    consumer_next(self, entry.due_ms);
}

static bool flight_read(struct consumer *self, struct ald_span in)
{
    uint64_t base = 0;
    struct flight_run run;
    struct flight_names names = {0};
    if (in.len == 0)
        return true; /* a new one */
    if (in.data[0] != FLIGHT_VERSION)
        return false;
    in = ald_span_skip(in, 1);
    if (!flight_get_names(self, &in, &names))
        return false;
    while (in.len > 0) {
        if (!flight_get_run(&in, base, &run) || run.holder > names.count ||
            self->pending + run.length > CONSUMER_PENDING_MAX ||
            run.first + run.length - 1 > self->handed)
            return false;
        flight_add_run(self, &names, &run);
        base = run.first + run.length - 1;
    }
    return true;
}

enum ald_rc consumer_unpack(struct consumer *self, struct ald_span bytes)
{
    if (flight_read(self, bytes))
        return ALD_OK;
    self->first = self->end = self->pending = self->waiting = self->leased = 0;
    memset(self->instances, 0, sizeof self->instances);
    self->next_ms = INT64_MAX;
    return ALD_MALFORMED;
}

#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "services/tracker/consumers/event_row.h"
#include "services/tracker/reader/reader_inside.h"

/* What a page is made of. */
struct page {
    struct reading *reading;
    struct reader_pull pull;
    struct reader_page head;
    uint64_t bytes;
    uint64_t seqs[2 * READER_ROWS_MAX];
    uint64_t missing[READER_ROWS_MAX];
    zmsg_t *events;
};

static bool page_room(const struct page *self)
{
    return self->head.count == 0 ||
           (self->head.count < self->pull.limit && self->bytes < self->pull.bytes);
}

/* False: it does not fit beside those that are in the page, and is one for the next. */
static bool page_add(struct page *self, ald_stmt_t *stmt, uint64_t deliveries, bool again)
{
    struct msg_event event;
    event_row_read(stmt, self->pull.lane, &event);
    if (self->head.count > 0 && self->bytes + event.result.len > self->pull.bytes)
        return false;
    event.deliveries = deliveries;
    event.redelivered = again;
    enum ald_rc rc = ald_frame_add(self->events, &MSG_EVENT, &event);
    if (rc != ALD_OK) { /* a row that is damaged: passed over, as by a fetch */
        ald_log(ALD_ERROR, "event.unfit", "seq=%" PRIu64 " rc=%s", event.seq, ald_rc_name(rc));
        return true;
    }
    self->bytes += event.result.len;
    self->seqs[self->head.count++] = event.seq;
    return true;
}

static void page_next(struct page *self)
{
    ald_stmt_t *stmt =
        reading_prepare(self->reading, "SELECT" EVENT_ROW " WHERE r.seq > ?1 ORDER BY r.seq");
    if (!stmt)
        return;
    size_t rows = 0;
    bool more = true;
    uint64_t hidden = (uint64_t)reading_fact(self->reading, VAULT_HIDDEN);
    ald_stmt_bind_i64(stmt, 1, (int64_t)(self->pull.after > hidden ? self->pull.after : hidden));
    while (rows++ < READER_ROWS_MAX && page_room(self) &&
           (more = reading_step(self->reading, stmt))) {
        if (event_row_is(stmt, self->pull.provider, self->pull.state) &&
            !page_add(self, stmt, 1, false))
            break;
        self->head.looked = event_row_seq(stmt);
    }
    ald_stmt_reset(stmt);
    /* Purging may have emptied the table. Who asks may count events that are not committed yet, and
     * could not be passed over here. */
    uint64_t told = more ? 0 : (uint64_t)reading_fact(self->reading, "last_seq");
    if (self->head.looked < told)
        self->head.looked = told;
}

static void page_again(struct page *self, const uint8_t *picks)
{
    ald_stmt_t *stmt = reading_prepare(self->reading, "SELECT" EVENT_ROW " WHERE r.seq = ?1");
    uint64_t hidden = (uint64_t)reading_fact(self->reading, VAULT_HIDDEN);
    bool room = true;
    for (size_t i = 0; stmt && room && i < self->pull.picks && page_room(self); i++) {
        struct reader_pick pick;
        memcpy(&pick, picks + i * sizeof pick, sizeof pick);
        ald_stmt_bind_i64(stmt, 1, (int64_t)pick.seq);
        if (pick.seq > hidden && reading_step(self->reading, stmt))
            room = page_add(self, stmt, pick.deliveries, true);
        else if (self->reading->rc == ALD_OK)
            self->missing[self->head.missing++] = pick.seq;
        ald_stmt_reset(stmt);
    }
}

void reading_consumer(struct reading *self, struct ald_span bytes)
{
    struct page page = {.reading = self, .events = zmsg_new()};
    ALD_ASSERT(bytes.len >= sizeof page.pull);
    memcpy(&page.pull, bytes.data, sizeof page.pull);
    ALD_ASSERT(bytes.len == sizeof page.pull + page.pull.picks * sizeof(struct reader_pick));
    ALD_ASSERT(page.pull.limit <= READER_ROWS_MAX);
    page.head = (struct reader_page){.no = page.pull.no,
                                     .ticket = page.pull.ticket,
                                     .picks = page.pull.picks,
                                     .after = page.pull.after,
                                     .looked = page.pull.after};
    if (page.pull.picks > 0)
        page_again(&page, bytes.data + sizeof page.pull);
    else
        page_next(&page);
    page.head.rc = self->rc;
    ald_frame_copy(self->answer, ald_span_of(&page.head, sizeof page.head));
    memcpy(page.seqs + page.head.count, page.missing, page.head.missing * sizeof page.seqs[0]);
    size_t seqs = page.head.count + page.head.missing;
    ald_frame_copy(self->answer, ald_span_of(page.seqs, seqs * sizeof page.seqs[0]));
    zframe_t *frame = zmsg_pop(page.events);
    for (; frame; frame = zmsg_pop(page.events))
        zmsg_append(self->answer, &frame);
    zmsg_destroy(&page.events);
}

#include <inttypes.h>
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/consumers/event_row.h"
#include "services/tracker/consumers/position.h"
#include "services/tracker/reader/reader_inside.h"

enum { FETCH_EVENTS_MAX = 1000, FETCH_BYTES = 1 << 20 };

/* The number that sql finds among the results after this one; 0: none. */
static uint64_t fetch_number(struct reading *self, const char *sql, uint64_t after)
{
    uint64_t value = 0;
    ald_stmt_t *stmt = reading_prepare(self, sql);
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)after);
    if (reading_step(self, stmt))
        value = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return value;
}

/* Events after a number into page; returns how far was looked. */
static uint64_t fetch_scan(struct reading *self, const struct msg_fetch *fetch, uint64_t after,
                           uint64_t lane, zmsg_t *page)
{
    uint64_t limit =
        fetch->limit > 0 && fetch->limit < FETCH_EVENTS_MAX ? fetch->limit : FETCH_EVENTS_MAX;
    uint64_t bytes_max = fetch->bytes > 0 ? fetch->bytes : FETCH_BYTES;
    uint64_t bytes = 0;
    ald_stmt_t *stmt =
        reading_prepare(self, "SELECT" EVENT_ROW " WHERE r.seq > ?1 ORDER BY r.seq LIMIT ?2");
    if (!stmt)
        return after;
    ald_stmt_bind_i64(stmt, 1, (int64_t)after);
    ald_stmt_bind_i64(stmt, 2, READER_ROWS_MAX);
    while (zmsg_size(page) < limit && bytes < bytes_max && reading_step(self, stmt)) {
        struct msg_event event;
        after = event_row_seq(stmt);
        if (!event_row_is(stmt, fetch->provider, fetch->state))
            continue;
        event_row_read(stmt, lane, &event);
        bytes += event.result.len;
        ald_frame_put(page, &MSG_EVENT, &event);
    }
    ald_stmt_reset(stmt);
    return after;
}

/* Is there such a place? One beyond the head would be waited for until the feed has caught up, and
 * what came until then would be missed: whoever asks kept it from a feed that is not this one. */
static bool fetch_sound(const struct msg_fetch *fetch, enum position_kind kind, uint64_t after,
                        uint64_t last, struct msg_events *head)
{
    if (kind == POSITION_BAD)
        (void)snprintf(head->detail, sizeof head->detail,
                       "'%.64s' is no position: write all, new, or LANE:SEQ as in the id of an "
                       "event, such as %.40s, the head.",
                       fetch->after, head->head);
    else if (kind == POSITION_AFTER && after > last)
        (void)snprintf(head->detail, sizeof head->detail,
                       "The position %.64s is beyond the head of the feed, %.40s: it is of another "
                       "feed, or one side was set back to a backup. Go on from the head, or from "
                       "all.",
                       fetch->after, head->head);
    return head->detail[0] == '\0';
}

void reading_fetch(struct reading *self, const struct msg_fetch *fetch)
{
    struct msg_events head = {.req = fetch->req};
    uint64_t lane = (uint64_t)reading_fact(self, "lane");
    uint64_t hidden = (uint64_t)reading_fact(self, VAULT_HIDDEN);
    uint64_t newest = fetch_number(self, "SELECT MAX(seq) FROM results WHERE seq > ?1", hidden);
    uint64_t oldest = fetch_number(self, "SELECT MIN(seq) FROM results WHERE seq > ?1", hidden);
    uint64_t told = (uint64_t)reading_fact(self, "last_seq");
    uint64_t last = newest > told ? newest : told;
    uint64_t after = 0;
    zmsg_t *page = zmsg_new();
    enum position_kind kind = position_read(fetch->after, lane, &after);
    position_write(lane, last, head.head);
    if (kind == POSITION_NEW)
        after = last;
    else if (kind == POSITION_OTHER_LANE)
        after = 0;
    uint64_t first = oldest > 0 ? oldest : last + 1;
    ald_text_cut(head.rc, sizeof head.rc, ald_span_str("invalid"));
    if (fetch_sound(fetch, kind, after, last, &head)) {
        head.gap = kind == POSITION_OTHER_LANE || (kind == POSITION_AFTER && after + 1 < first);
        after = fetch_scan(self, fetch, after + 1 < first ? first - 1 : after, lane, page);
        ald_text_cut(head.rc, sizeof head.rc, ald_span_str("ok"));
        position_write(lane, after, head.position);
    }
    if (self->rc != ALD_OK)
        ald_text_cut(head.rc, sizeof head.rc, ald_span_str("busy"));
    ald_frame_put(self->answer, &MSG_EVENTS, &head);
    zframe_t *frame = zmsg_pop(page);
    for (; frame; frame = zmsg_pop(page))
        zmsg_append(self->answer, &frame);
    zmsg_destroy(&page);
}

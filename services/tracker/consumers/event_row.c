#include "services/tracker/consumers/event_row.h"

#include "common/base/text.h"
#include "proto/words.h"
#include "services/tracker/consumers/position.h"

uint64_t event_row_seq(ald_stmt_t *stmt)
{
    return (uint64_t)ald_stmt_i64(stmt, 0);
}

bool event_row_is(ald_stmt_t *stmt, const char *provider, const char *state)
{
    return (provider[0] == '\0' || ald_span_eq_str(ald_stmt_text(stmt, 2), provider)) &&
           (state[0] == '\0' || strcmp(state, ald_state_name((enum ald_state)ald_stmt_index(
                                                  stmt, 3, ALD_STATE_COUNT))) == 0);
}

void event_row_read(ald_stmt_t *stmt, uint64_t lane, struct msg_event *event)
{
    *event = (struct msg_event){.lane = lane,
                                .seq = (uint64_t)ald_stmt_i64(stmt, 0),
                                .task = (uint64_t)ald_stmt_i64(stmt, 1),
                                .received_ms = ald_stmt_i64(stmt, 7),
                                .published_ms = ald_stmt_i64(stmt, 8),
                                .result = ald_stmt_blob(stmt, 10)};
    const char *type = ald_stmt_i64(stmt, 6) != 0 ? "json" : "text";
    ald_text_cut(event->provider, sizeof event->provider, ald_stmt_text(stmt, 2));
    ald_text_cut(
        event->state, sizeof event->state,
        ald_span_str(ald_state_name((enum ald_state)ald_stmt_index(stmt, 3, ALD_STATE_COUNT))));
    ald_text_cut(
        event->source, sizeof event->source,
        ald_span_str(ald_source_name((enum ald_source)ald_stmt_index(stmt, 4, ALD_SOURCE_COUNT))));
    ald_text_cut(event->code, sizeof event->code, ald_stmt_text(stmt, 5));
    ald_text_cut(event->result_type, sizeof event->result_type, ald_span_str(type));
    ald_text_cut(event->trace, sizeof event->trace, ald_stmt_text(stmt, 9));
    ald_text_cut(event->provider_id, sizeof event->provider_id, ald_stmt_text(stmt, 11));
    ald_text_cut(event->key, sizeof event->key, ald_stmt_text(stmt, 12));
    ald_text_cut(event->meta, sizeof event->meta, ald_stmt_text(stmt, 13));
    if (ald_stmt_i64(stmt, 14) != 0)
        position_write(lane, (uint64_t)ald_stmt_i64(stmt, 14), event->corrects);
}

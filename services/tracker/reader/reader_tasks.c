#include <inttypes.h>
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/consumers/position.h"
#include "services/tracker/reader/reader_inside.h"
#include "services/tracker/submission.h"

static uint64_t reading_number(struct reading *self, const char *sql, uint64_t of)
{
    uint64_t seq = 0;
    ald_stmt_t *stmt = reading_prepare(self, sql);
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)of);
    if (reading_step(self, stmt))
        seq = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return seq;
}

/* The last correction of a result, or that itself. Each one's number is above that of what it
 * corrects. */
static uint64_t reading_latest(struct reading *self, uint64_t seq)
{
    uint64_t next = seq;
    while (next != 0) {
        seq = next;
        next = reading_number(
            self, "SELECT MAX(seq) FROM results WHERE corrects = ?1 AND corrects > 0 AND seq > ?1",
            seq);
    }
    return seq;
}

uint64_t reading_seq(struct reading *self, uint64_t task, uint64_t hint)
{
    uint64_t seq =
        hint != 0
            ? hint
            : reading_number(self, "SELECT MAX(no) FROM finds WHERE task = ?1 AND kind = 0", task);
    return reading_latest(self, seq);
}

void reading_result(struct reading *self, uint64_t seq, uint64_t lane, struct msg_task_view *view,
                    struct ald_buf *keep)
{
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT state, source, code, result_json, published_ms, result, corrects FROM results"
              " WHERE seq = ?1");
    if (!stmt || seq == 0)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    if (reading_step(self, stmt)) {
        enum ald_state state = (enum ald_state)ald_stmt_index(stmt, 0, ALD_STATE_COUNT);
        enum ald_source source = (enum ald_source)ald_stmt_index(stmt, 1, ALD_SOURCE_COUNT);
        ald_text_cut(view->state, sizeof view->state, ald_span_str(ald_state_name(state)));
        ald_text_cut(view->source, sizeof view->source, ald_span_str(ald_source_name(source)));
        ald_text_cut(view->code, sizeof view->code, ald_stmt_text(stmt, 2));
        view->result_json = ald_stmt_i64(stmt, 3) != 0;
        view->ended_at_ms = ald_stmt_i64(stmt, 4);
        ald_buf_put_span(keep, ald_stmt_blob(stmt, 5));
        view->result = ald_buf_span(keep);
        position_write(lane, seq, view->position);
        if (ald_stmt_i64(stmt, 6) != 0)
            position_write(lane, (uint64_t)ald_stmt_i64(stmt, 6), view->corrects);
    }
    ald_stmt_reset(stmt);
}

#define READING_TASK_COLUMNS                                                                       \
    "t.id, t.provider, t.provider_id, t.task_key, t.meta, t.created_ms, t.stale_after_ms,"         \
    " t.give_up_after_ms, s.stage, s.asked_ms, s.within_ms, s.attempt, r.no, r.asked_ms,"          \
    " (SELECT f.asked_ms FROM resubmits f WHERE f.task = t.id AND f.no = 1),"                      \
    " (SELECT a.replaces FROM again a WHERE a.task = t.id),"                                       \
    " (SELECT MAX(a.task) FROM again a WHERE a.replaces = t.id), t.trace FROM tasks t"             \
    " LEFT JOIN submits s ON s.task = t.id LEFT JOIN resubmits r ON r.task = t.id AND r.no ="      \
    " (SELECT MAX(m.no) FROM resubmits m WHERE m.task = t.id)"

/* A submission's times count from its start, and the deadline of what is submitted again from the
 * first one's. Without a row of one its columns are 0. */
static void reading_times(ald_stmt_t *stmt, struct msg_task_view *view)
{
    bool again = ald_stmt_i64(stmt, 12) > 0;
    bool submits = ald_stmt_i64(stmt, 10) > 0;
    bool waits = submits && ald_stmt_i64(stmt, 8) == SUBMISSION_WAITING;
    int64_t asked_ms = ald_stmt_i64(stmt, 9);
    int64_t first_ms = again ? ald_stmt_i64(stmt, 14) : asked_ms;
    if (asked_ms == 0)
        asked_ms = ald_stmt_i64(stmt, 13);
    asked_ms = asked_ms > 0 ? asked_ms : view->created_at_ms;
    first_ms = first_ms > 0 ? first_ms : view->created_at_ms;
    view->stale_at_ms = waits ? 0 : asked_ms + ald_stmt_i64(stmt, 6);
    view->give_up_at_ms = waits && !again ? view->created_at_ms + ald_stmt_i64(stmt, 10)
                                          : first_ms + ald_stmt_i64(stmt, 7);
    view->attempts = submits ? (uint64_t)ald_stmt_i64(stmt, 11) : 0;
    view->resubmits = (uint64_t)ald_stmt_i64(stmt, 12);
}

static void reading_view(ald_stmt_t *stmt, struct msg_task_view *view)
{
    *view = (struct msg_task_view){.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                   .created_at_ms = ald_stmt_i64(stmt, 5)};
    ald_text_cut(view->provider, sizeof view->provider, ald_stmt_text(stmt, 1));
    ald_text_cut(view->provider_id, sizeof view->provider_id, ald_stmt_text(stmt, 2));
    ald_text_cut(view->key, sizeof view->key, ald_stmt_text(stmt, 3));
    ald_text_cut(view->meta, sizeof view->meta, ald_stmt_text(stmt, 4));
    reading_times(stmt, view);
    view->replaces = (uint64_t)ald_stmt_i64(stmt, 15);
    view->replaced_by = (uint64_t)ald_stmt_i64(stmt, 16);
    ald_text_cut(view->trace, sizeof view->trace, ald_stmt_text(stmt, 17));
    bool submits = ald_stmt_i64(stmt, 10) > 0;
    int64_t stage = ald_stmt_i64(stmt, 8);
    bool started = submits && (stage == SUBMISSION_STARTED || stage == SUBMISSION_UNCERTAIN);
    enum ald_state state = view->provider_id[0] != '\0' ? ALD_STATE_PENDING
                           : started                    ? ALD_STATE_SUBMITTING
                                                        : ALD_STATE_ACCEPTED;
    ald_text_cut(view->state, sizeof view->state, ald_span_str(ald_state_name(state)));
}

static void reading_answer(struct reading *self, uint64_t req, const char *rc, const char *detail,
                           const char *cursor)
{
    struct msg_answer answer = {.req = req, .more = cursor[0] != '\0'};
    ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str(rc));
    ald_text_cut(answer.detail, sizeof answer.detail, ald_span_str(detail));
    ald_text_cut(answer.cursor, sizeof answer.cursor, ald_span_str(cursor));
    ald_frame_put(self->answer, &MSG_ANSWER, &answer);
}

static bool reading_task(struct reading *self, uint64_t task, struct msg_task_view *view)
{
    ald_stmt_t *stmt = reading_prepare(self, "SELECT " READING_TASK_COLUMNS " WHERE t.id = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = reading_step(self, stmt);
    if (found)
        reading_view(stmt, view);
    ald_stmt_reset(stmt);
    return found;
}

void reading_get(struct reading *self, const struct msg_get *get, const struct reader_hint *hint)
{
    struct msg_task_view view;
    struct ald_buf keep;
    ald_buf_init(&keep, ALD_ITEM_MAX);
    bool found = reading_task(self, get->task, &view);
    if (found) {
        uint64_t lane = (uint64_t)reading_fact(self, "lane");
        uint64_t seq = reading_seq(self, get->task, hint->seq);
        reading_result(self, seq, lane, &view, &keep);
        view.polls = hint->polls;
        if (view.ended_at_ms == 0) {
            ald_text_cut(view.token, sizeof view.token, ald_span_str(hint->token));
            if (hint->polling)
                ald_text_cut(view.state, sizeof view.state, ald_span_str("polling"));
        } else {
            view.polls = reading_polls(self, get->task, &hint->notes); /* memory has forgotten it */
        }
        reading_answer(self, get->req, "ok", "", "");
        ald_frame_put(self->answer, &MSG_TASK_VIEW, &view);
        reading_timeline(self, &view, seq, hint);
    } else {
        const char *rc = self->rc == ALD_OK ? "notfound" : "busy";
        reading_answer(self, get->req, rc, "There is no task of this id.", "");
    }
    ald_buf_free(&keep);
}

static bool reading_matches(const struct msg_list *list, const struct msg_task_view *view)
{
    return (list->state[0] == '\0' || strcmp(list->state, view->state) == 0) &&
           (list->provider[0] == '\0' || strcmp(list->provider, view->provider) == 0) &&
           (list->since_ms == 0 || view->created_at_ms >= list->since_ms) &&
           (list->until_ms == 0 || view->created_at_ms < list->until_ms);
}

/* ---- searching ---- */

enum { FOUND_MAX = 64 };

/* The tasks that a searched word names, each once. */
struct found {
    size_t count;
    uint64_t id[FOUND_MAX];
};

/* Keep them from the newest to the oldest. */
static void found_add(struct found *self, uint64_t id)
{
    size_t at = 0;
    while (at < self->count && self->id[at] > id)
        at++;
    if ((at < self->count && self->id[at] == id) || self->count == FOUND_MAX)
        return;
    memmove(&self->id[at + 1], &self->id[at], (self->count - at) * sizeof self->id[0]);
    self->id[at] = id;
    self->count++;
}

static void reading_named(struct reading *self, const char *sql, const char *first,
                          const char *second, struct found *found)
{
    ald_stmt_t *stmt = reading_prepare(self, sql);
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, first);
    if (second)
        ald_stmt_bind_str(stmt, 2, second);
    if (reading_step(self, stmt))
        found_add(found, (uint64_t)ald_stmt_i64(stmt, 0));
    ald_stmt_reset(stmt);
}

/* The first provider behind this one that has tasks: from one to the next, each is one step in the
 * index. They are those of the store: its profile may be gone. */
static bool reading_provider_after(struct reading *self, char name[ALD_PROVIDER_MAX])
{
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT provider FROM refs WHERE provider > ?1 ORDER BY provider LIMIT 1");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, name);
    bool more = reading_step(self, stmt);
    if (more)
        ald_text_cut(name, ALD_PROVIDER_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return more;
}

/* An id, a key, or a provider's id: of those that had it the newest, of each provider. */
static void reading_search(struct reading *self, const char *q, struct found *found)
{
    struct msg_task_view view;
    uint64_t id = 0;
    char provider[ALD_PROVIDER_MAX] = "";
    if (ald_task_id_parse(ald_span_str(q), &id) == ALD_OK && reading_task(self, id, &view))
        found_add(found, id);
    reading_named(self, "SELECT task FROM keys WHERE task_key = ?1", q, NULL, found);
    while (reading_provider_after(self, provider))
        reading_named(self, "SELECT task FROM refs WHERE provider = ?1 AND provider_id = ?2",
                      provider, q, found);
}

static void reading_page(struct reading *self, const struct msg_list *list, int64_t below,
                         int64_t only, zmsg_t *page, uint64_t *last)
{
    uint64_t limit = list->limit == 0                ? READER_ROWS
                     : list->limit < READER_ROWS_MAX ? list->limit
                                                     : READER_ROWS_MAX;
    uint64_t lane = (uint64_t)reading_fact(self, "lane");
    reading_results_more(self);
    ald_stmt_t *stmt = reading_prepare(self, "SELECT " READING_TASK_COLUMNS
                                             " WHERE t.id < ?1 AND (?2 = 0 OR t.id = ?2)"
                                             " ORDER BY t.id DESC LIMIT ?3");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, below);
    ald_stmt_bind_i64(stmt, 2, only);
    ald_stmt_bind_i64(stmt, 3, READER_ROWS_MAX);
    uint64_t rows = 0;
    uint64_t found = 0;
    while (found < limit && reading_step(self, stmt)) {
        struct msg_task_view view;
        struct ald_buf keep;
        ald_buf_init(&keep, ALD_ITEM_MAX);
        reading_view(stmt, &view);
        struct tail_task ended = {0};
        (void)tail_get(self->results->tail, view.task, &ended);
        reading_result(self, reading_seq(self, view.task, ended.seq), lane, &view, &keep);
        if (reading_matches(list, &view) && ald_frame_add(page, &MSG_TASK_VIEW, &view) == ALD_OK)
            found++;
        ald_buf_free(&keep);
        *last = view.task;
        rows++;
    }
    ald_stmt_reset(stmt);
    if (found < limit && rows < READER_ROWS_MAX)
        *last = 0; /* seen to the end */
}

void reading_list(struct reading *self, const struct msg_list *list)
{
    uint64_t below = UINT64_C(1) << 53;
    uint64_t last = 0;
    struct found named = {0};
    char cursor[ALD_POSITION_MAX] = "";
    zmsg_t *page = zmsg_new();
    enum ald_state state = ALD_STATE_ACCEPTED;
    if (list->state[0] != '\0' && !ald_state_find(list->state, &state)) {
        reading_answer(self, list->req, "invalid", "There is no such state.", "");
        zmsg_destroy(&page);
        return;
    }
    if (list->cursor[0] != '\0' &&
        ald_task_id_parse(ald_span_str(list->cursor), &below) != ALD_OK) {
        reading_answer(self, list->req, "invalid", "cursor is not one that a list has given.", "");
        zmsg_destroy(&page);
        return;
    }
    if (list->q[0] == '\0')
        reading_page(self, list, (int64_t)below, 0, page, &last);
    else
        reading_search(self, list->q, &named);
    for (size_t i = 0; i < named.count; i++)
        reading_page(self, list, (int64_t)below, (int64_t)named.id[i], page, &last);
    if (last != 0 && list->q[0] == '\0')
        ald_task_id_text(last, cursor);
    reading_answer(self, list->req, self->rc == ALD_OK ? "ok" : "busy", "", cursor);
    zframe_t *frame = zmsg_pop(page);
    for (; frame; frame = zmsg_pop(page))
        zmsg_append(self->answer, &frame);
    zmsg_destroy(&page);
}

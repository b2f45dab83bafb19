/* What became of one task, line by line, in the order of time. */
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/reader/reader_inside.h"

enum { TIMELINE_MAX = 2 * READER_NOTES_MAX + 2 };

struct timeline {
    struct reading *reading;
    size_t count;
    struct msg_note note[TIMELINE_MAX];
};

/* In its place by time. Lines of one moment keep the order in which they are added: what led to a
 * result stands before it. */
static void timeline_add(struct timeline *self, int64_t at_ms, const char *what,
                         struct ald_span text)
{
    ALD_ASSERT(self->count < TIMELINE_MAX);
    size_t at = self->count++;
    for (; at > 0 && self->note[at - 1].at_ms > at_ms; at--)
        self->note[at] = self->note[at - 1];
    struct msg_note *note = &self->note[at];
    *note = (struct msg_note){.at_ms = at_ms};
    ald_text_cut(note->what, sizeof note->what, ald_span_str(what));
    ald_text_cut(note->text, sizeof note->text, text);
}

/* Put a number in its place among those that rise, if it is not there and there is room. */
static size_t timeline_insert(int64_t *no, size_t count, int64_t one)
{
    size_t at = count;
    while (at > 0 && no[at - 1] > one)
        at--;
    if (count == READER_NOTES_MAX || (at > 0 && no[at - 1] == one))
        return count;
    memmove(&no[at + 1], &no[at], (count - at) * sizeof *no);
    no[at] = one;
    return count + 1;
}

/* Rows of a task, rising: those that are indexed, and those of the hint. */
static size_t timeline_rows(struct reading *reading, uint64_t task, enum gather_kind kind,
                            const struct reader_rows *hint, int64_t *no)
{
    size_t count = 0;
    ald_stmt_t *stmt = reading_prepare(
        reading, "SELECT no FROM finds WHERE task = ?1 AND kind = ?2 ORDER BY no LIMIT ?3");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, kind);
    ald_stmt_bind_i64(stmt, 3, READER_NOTES_MAX);
    while (count < READER_NOTES_MAX && reading_step(reading, stmt))
        no[count++] = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    for (size_t i = 0; i < hint->count; i++)
        count = timeline_insert(no, count, hint->no[i]);
    return count;
}

static void timeline_arrival(struct timeline *self, ald_stmt_t *stmt)
{
    char text[ALD_TEXT_MAX];
    char letter[ALD_ULID_MAX];
    ald_text_cut(letter, sizeof letter, ald_stmt_text(stmt, 3));
    enum ald_disposition now = (enum ald_disposition)ald_stmt_index(stmt, 1, ALD_DISP_COUNT);
    bool later = letter[0] != '\0' && now != ALD_DISP_DEAD; /* what it became by its letter */
    (void)snprintf(text, sizeof text, "%s, proof %s%s%s%s%s",
                   ald_disposition_name(later ? ALD_DISP_DEAD : now),
                   ald_proof_name((enum ald_proof)ald_stmt_index(stmt, 2, ALD_PROOF_COUNT)),
                   letter[0] != '\0' ? ", letter " : "", letter, later ? ", later " : "",
                   later ? ald_disposition_name(now) : "");
    timeline_add(self, ald_stmt_i64(stmt, 0), "callback", ald_span_str(text));
}

static void timeline_note(struct timeline *self, ald_stmt_t *stmt)
{
    char what[ALD_WORD_MAX];
    ald_text_cut(what, sizeof what, ald_stmt_text(stmt, 1));
    timeline_add(self, ald_stmt_i64(stmt, 0), what, ald_stmt_text(stmt, 2));
}

typedef void timeline_fn(struct timeline *self, ald_stmt_t *stmt);

/* A line for each of these rows that is there. */
static void timeline_lines(struct timeline *self, const char *sql, const int64_t *no, size_t count,
                           timeline_fn *fn)
{
    ald_stmt_t *stmt = reading_prepare(self->reading, sql);
    for (size_t i = 0; i < count && stmt; i++) {
        ald_stmt_bind_i64(stmt, 1, no[i]);
        if (reading_step(self->reading, stmt))
            fn(self, stmt);
        ald_stmt_reset(stmt);
    }
}

/* How it ended, before all corrections: those are notes. */
static void timeline_result(struct timeline *self, uint64_t last)
{
    while (last != 0) {
        uint64_t before = 0;
        ald_stmt_t *stmt = reading_prepare(
            self->reading, "SELECT published_ms, state, corrects FROM results WHERE seq = ?1");
        if (!stmt)
            return;
        ald_stmt_bind_i64(stmt, 1, (int64_t)last);
        if (reading_step(self->reading, stmt)) {
            const char *state =
                ald_state_name((enum ald_state)ald_stmt_index(stmt, 1, ALD_STATE_COUNT));
            before = (uint64_t)ald_stmt_i64(stmt, 2);
            if (before == 0)
                timeline_add(self, ald_stmt_i64(stmt, 0), "result", ald_span_str(state));
        }
        ald_stmt_reset(stmt);
        last = before < last ? before : 0;
    }
}

void reading_timeline(struct reading *self, const struct msg_task_view *view, uint64_t last,
                      const struct reader_hint *hint)
{
    int64_t no[READER_NOTES_MAX];
    struct timeline *timeline = zmalloc(sizeof *timeline);
    timeline->reading = self;
    timeline_add(timeline, view->created_at_ms, "created", ald_span_str(""));
    size_t count = timeline_rows(self, view->task, GATHER_ARRIVAL, &hint->arrivals, no);
    timeline_lines(timeline, "SELECT at_ms, disposition, proof, letter FROM arrivals WHERE no = ?1",
                   no, count, timeline_arrival);
    count = timeline_rows(self, view->task, GATHER_NOTE, &hint->notes, no);
    timeline_lines(timeline, "SELECT at_ms, what, said FROM notes WHERE no = ?1", no, count,
                   timeline_note);
    timeline_result(timeline, last);
    for (size_t i = 0; i < timeline->count; i++)
        ald_frame_put(self->answer, &MSG_NOTE, &timeline->note[i]);
    free(timeline);
}

uint64_t reading_polls(struct reading *self, uint64_t task, const struct reader_rows *notes)
{
    uint64_t polls = 0;
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT COUNT(*) FROM finds f JOIN notes n ON n.no = f.no"
              " WHERE f.task = ?1 AND f.kind = 2 AND n.what IN ('poll', 'poll.hinted')");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    if (reading_step(self, stmt))
        polls = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    stmt = reading_prepare(
        self, "SELECT 1 FROM notes WHERE no = ?1 AND what IN ('poll', 'poll.hinted')"
              " AND NOT EXISTS (SELECT 1 FROM finds WHERE task = ?2 AND kind = 2 AND no = ?1)");
    for (size_t i = 0; i < notes->count && stmt; i++) {
        ald_stmt_bind_i64(stmt, 1, notes->no[i]);
        ald_stmt_bind_i64(stmt, 2, (int64_t)task);
        polls += reading_step(self, stmt);
        ald_stmt_reset(stmt);
    }
    return polls;
}

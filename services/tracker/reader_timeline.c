/* What became of one task, line by line, in the order of time. */
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/reader_inside.h"

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

/* Callbacks of a task: those that are indexed, and those that came since. */
static void timeline_arrivals(struct timeline *self, uint64_t task)
{
    ald_stmt_t *stmt = reading_prepare(
        self->reading,
        "SELECT a.at_ms, a.disposition, a.proof, a.letter FROM arrivals a WHERE a.no IN"
        " (SELECT no FROM finds WHERE task = ?1 AND kind = 1 UNION"
        "  SELECT no FROM arrivals WHERE no > ?2 AND task = ?1) ORDER BY a.no LIMIT ?3");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, reading_fact(self->reading, "indexed_arrival"));
    ald_stmt_bind_i64(stmt, 3, READER_NOTES_MAX);
    while (reading_step(self->reading, stmt)) {
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
    ald_stmt_reset(stmt);
}

static void timeline_notes(struct timeline *self, uint64_t task)
{
    ald_stmt_t *stmt = reading_prepare(
        self->reading,
        "SELECT n.at_ms, n.what, n.said FROM notes n WHERE n.no IN"
        " (SELECT no FROM finds WHERE task = ?1 AND kind = 2 UNION"
        "  SELECT no FROM notes WHERE no > ?2 AND task = ?1) ORDER BY n.no LIMIT ?3");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, reading_fact(self->reading, "indexed_note"));
    ald_stmt_bind_i64(stmt, 3, READER_NOTES_MAX);
    while (reading_step(self->reading, stmt)) {
        char what[ALD_WORD_MAX];
        ald_text_cut(what, sizeof what, ald_stmt_text(stmt, 1));
        timeline_add(self, ald_stmt_i64(stmt, 0), what, ald_stmt_text(stmt, 2));
    }
    ald_stmt_reset(stmt);
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

void reading_timeline(struct reading *self, const struct msg_task_view *view, uint64_t last)
{
    struct timeline *timeline = zmalloc(sizeof *timeline);
    timeline->reading = self;
    timeline_add(timeline, view->created_at_ms, "created", ald_span_str(""));
    timeline_arrivals(timeline, view->task);
    timeline_notes(timeline, view->task);
    timeline_result(timeline, last);
    for (size_t i = 0; i < timeline->count; i++)
        ald_frame_put(self->answer, &MSG_NOTE, &timeline->note[i]);
    free(timeline);
}

uint64_t reading_polls(struct reading *self, uint64_t task)
{
    uint64_t polls = 0;
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT COUNT(*) FROM notes n WHERE n.what IN ('poll', 'poll.hinted') AND n.no IN"
              " (SELECT no FROM finds WHERE task = ?1 AND kind = 2 UNION"
              "  SELECT no FROM notes WHERE no > ?2 AND task = ?1)");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, reading_fact(self, "indexed_note"));
    if (reading_step(self, stmt))
        polls = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return polls;
}

/* Dead letters that still wait for the dlq, for those who list letters. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/tracker/reader/reader_inside.h"

enum { LETTERS_SHOWN = 100, LETTERS_BYTES = 16 << 20 };

static void letters_view(const struct msg_letter *letter, struct msg_letter_view *out)
{
    *out = (struct msg_letter_view){.state = "open",
                                    .outcome = "outbox",
                                    .task = letter->task,
                                    .made_at_ms = letter->made_at_ms};
    memcpy(out->letter, letter->letter, sizeof out->letter);
    memcpy(out->reason, letter->reason, sizeof out->reason);
    memcpy(out->cause, letter->cause, sizeof out->cause);
    memcpy(out->provider, letter->provider, sizeof out->provider);
    memcpy(out->provider_id, letter->provider_id, sizeof out->provider_id);
    memcpy(out->proof, letter->proof, sizeof out->proof);
    memcpy(out->consumer, letter->consumer, sizeof out->consumer);
}

static bool letters_hold(struct ald_span text, const char *q)
{
    return text.len > 0 && memmem(text.data, text.len, q, strlen(q)) != NULL;
}

/* As the dlq looks for a text in those that it has. */
static bool letters_find(const char *q, const struct msg_letter *letter)
{
    char task[ALD_TASK_ID_TEXT];
    ald_task_id_text(letter->task, task);
    return q[0] == '\0' || letters_hold(ald_span_str(letter->cause), q) ||
           letters_hold(ald_span_str(letter->provider_id), q) ||
           (letter->task != 0 && letters_hold(ald_span_str(task), q)) ||
           letters_hold(letter->original, q);
}

static bool letters_match(const struct msg_letters *ask, const struct msg_letter *letter)
{
    return (ask->reason[0] == '\0' || strcmp(ask->reason, letter->reason) == 0) &&
           (ask->provider[0] == '\0' || strcmp(ask->provider, letter->provider) == 0) &&
           (ask->consumer[0] == '\0' || strcmp(ask->consumer, letter->consumer) == 0) &&
           (ask->task == 0 || ask->task == letter->task) &&
           (ask->since_ms == 0 || letter->made_at_ms >= ask->since_ms) &&
           (ask->until_ms == 0 || letter->made_at_ms < ask->until_ms) &&
           letters_find(ask->q, letter);
}

static bool letters_sound(const struct msg_letters *ask)
{
    static const char *const states[] = {"", "open", "held", "resolved", "dropped"};
    enum ald_reason reason;
    if (ask->reason[0] != '\0' && !ald_reason_find(ask->reason, &reason))
        return false;
    for (size_t i = 0; i < ALD_COUNT(states); i++)
        if (strcmp(ask->state, states[i]) == 0)
            return true;
    return false;
}

/* Newest first, below the cursor; the new cursor is "" at the end. A letter that was closed while
 * its acknowledgement is missing is no open one. */
static void letters_page(struct reading *self, const struct msg_letters *ask, zmsg_t *page,
                         char cursor[ALD_ULID_MAX])
{
    uint64_t limit = ask->limit > 0 && ask->limit < READER_ROWS_MAX ? ask->limit : LETTERS_SHOWN;
    size_t bytes = 0;
    unsigned rows = 0;
    bool full = false;
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT o.letter, o.message FROM outbox o JOIN letters l ON l.letter = o.letter"
              " WHERE o.letter < ?1 AND l.state = 0 ORDER BY o.letter DESC LIMIT ?2");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, ask->cursor[0] != '\0' ? ask->cursor : "~"); /* above every ULID */
    ald_stmt_bind_i64(stmt, 2, READER_ROWS_MAX);
    while (!full && reading_step(self, stmt)) {
        struct msg_letter letter;
        struct msg_letter_view view;
        struct ald_span message = ald_stmt_blob(stmt, 1);
        ald_text_cut(cursor, ALD_ULID_MAX, ald_stmt_text(stmt, 0));
        bytes += message.len;
        if (ald_wire_decode(&MSG_LETTER, &letter, message) == ALD_OK &&
            letters_match(ask, &letter)) {
            letters_view(&letter, &view);
            ald_frame_put(page, &MSG_LETTER_VIEW, &view);
        }
        full = ++rows == READER_ROWS_MAX || bytes >= LETTERS_BYTES || zmsg_size(page) == limit;
    }
    ald_stmt_reset(stmt);
    if (!full)
        cursor[0] = '\0';
}

void reading_letters(struct reading *self, const struct msg_letters *ask)
{
    struct msg_answer answer = {.req = ask->req, .rc = "ok"};
    char cursor[ALD_ULID_MAX] = "";
    zmsg_t *page = zmsg_new();
    bool open = ask->state[0] == '\0' || strcmp(ask->state, "open") == 0;
    if (!letters_sound(ask))
        ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str("invalid"));
    else if (open) /* letters in another state do not wait */
        letters_page(self, ask, page, cursor);
    if (self->rc != ALD_OK)
        ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str("busy"));
    answer.more = cursor[0] != '\0';
    ald_text_cut(answer.cursor, sizeof answer.cursor, ald_span_str(cursor));
    ald_frame_put(self->answer, &MSG_ANSWER, &answer);
    for (zframe_t *frame = zmsg_pop(page); frame; frame = zmsg_pop(page))
        zmsg_append(self->answer, &frame);
    zmsg_destroy(&page);
}

void reading_letter(struct reading *self, const struct msg_letter_ref *ask)
{
    struct msg_answer answer = {.req = ask->req, .rc = "notfound"};
    struct msg_letter letter;
    struct msg_letter_view view;
    ald_stmt_t *stmt =
        reading_prepare(self, "SELECT o.message FROM outbox o JOIN letters l ON l.letter = o.letter"
                              " WHERE o.letter = ?1 AND l.state = 0");
    if (stmt)
        ald_stmt_bind_str(stmt, 1, ask->letter);
    bool found = stmt && reading_step(self, stmt) &&
                 ald_wire_decode(&MSG_LETTER, &letter, ald_stmt_blob(stmt, 0)) == ALD_OK;
    if (found || self->rc != ALD_OK)
        ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str(found ? "ok" : "busy"));
    ald_frame_put(self->answer, &MSG_ANSWER, &answer);
    if (found) {
        letters_view(&letter, &view);
        view.original = letter.original; /* borrowed until the statement is reset */
        ald_frame_put(self->answer, &MSG_LETTER_VIEW, &view);
    }
    if (stmt)
        ald_stmt_reset(stmt);
}

/* Dead letters that still wait for the dlq, for those who list letters. */
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/reader_inside.h"

enum { LETTERS_SHOWN = 100, LETTERS_BYTES = 16 << 20, LETTERS_ORIGINAL_MAX = 80 << 20 };

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
}

static bool letters_match(const struct msg_letters *ask, const struct msg_letter *letter)
{
    return (ask->state[0] == '\0' || strcmp(ask->state, "open") == 0) &&
           (ask->reason[0] == '\0' || strcmp(ask->reason, letter->reason) == 0) &&
           (ask->provider[0] == '\0' || strcmp(ask->provider, letter->provider) == 0) &&
           (ask->task == 0 || ask->task == letter->task);
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

/* Newest first. False: there are more than fit. */
static bool letters_page(struct reading *self, const struct msg_letters *ask, zmsg_t *page)
{
    uint64_t limit = ask->limit > 0 && ask->limit < READER_ROWS_MAX ? ask->limit : LETTERS_SHOWN;
    unsigned rows = 0;
    size_t bytes = 0;
    bool more = false;
    /* One that was closed while its acknowledgement is missing is no open letter. */
    ald_stmt_t *stmt =
        reading_prepare(self, "SELECT o.message FROM outbox o JOIN letters l ON l.letter = o.letter"
                              " WHERE l.state = 0 ORDER BY o.num DESC LIMIT ?1");
    if (!stmt)
        return true;
    ald_stmt_bind_i64(stmt, 1, READER_ROWS_MAX);
    while (!more && reading_step(self, stmt)) {
        struct msg_letter letter;
        struct msg_letter_view view;
        struct ald_span message = ald_stmt_blob(stmt, 0);
        bytes += message.len;
        more = ++rows == READER_ROWS_MAX || bytes >= LETTERS_BYTES;
        if (ald_wire_decode(&MSG_LETTER, &letter, message) != ALD_OK ||
            !letters_match(ask, &letter))
            continue;
        letters_view(&letter, &view);
        if (zmsg_size(page) == limit)
            more = true;
        else if (ald_frame_add(page, &MSG_LETTER_VIEW, &view) != ALD_OK)
            continue;
    }
    ald_stmt_reset(stmt);
    return !more;
}

void reading_letters(struct reading *self, const struct msg_letters *ask)
{
    struct msg_answer answer = {.req = ask->req, .rc = "ok"};
    zmsg_t *page = zmsg_new();
    if (!letters_sound(ask))
        ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str("invalid"));
    else
        answer.more = !letters_page(self, ask, page);
    if (self->rc != ALD_OK)
        ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str("busy"));
    ald_frame_put(self->answer, &MSG_ANSWER, &answer);
    for (zframe_t *frame = zmsg_pop(page); frame; frame = zmsg_pop(page))
        zmsg_append(self->answer, &frame);
    zmsg_destroy(&page);
}

/* What the tracker itself keeps of an open letter; the message is that of its arrival. */
static bool letters_kept(struct reading *self, const char *letter, struct msg_letter_view *out,
                         struct ald_buf *original)
{
    *out = (struct msg_letter_view){.state = "open", .outcome = "outbox"};
    ald_stmt_t *stmt = reading_prepare(
        self, "SELECT l.reason, l.task, l.made_at_ms, l.provider, l.proof, a.message"
              " FROM letters l LEFT JOIN arrivals a ON a.no = l.arrival"
              " WHERE l.letter = ?1 AND l.state = 0");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, letter);
    bool found = reading_step(self, stmt);
    if (found) {
        const char *reason = ald_reason_name((enum ald_reason)ald_stmt_i64(stmt, 0));
        const char *proof = ald_proof_name((enum ald_proof)ald_stmt_i64(stmt, 4));
        ald_text_cut(out->letter, sizeof out->letter, ald_span_str(letter));
        ald_text_cut(out->reason, sizeof out->reason, ald_span_str(reason));
        ald_text_cut(out->proof, sizeof out->proof, ald_span_str(proof));
        ald_text_cut(out->provider, sizeof out->provider, ald_stmt_text(stmt, 3));
        out->task = (uint64_t)ald_stmt_i64(stmt, 1);
        out->made_at_ms = ald_stmt_i64(stmt, 2);
        ald_buf_put_span(original, ald_stmt_blob(stmt, 5));
        out->original = ald_buf_span(original);
    }
    ald_stmt_reset(stmt);
    return found;
}

void reading_letter(struct reading *self, const struct msg_letter_ref *ask)
{
    struct msg_answer answer = {.req = ask->req, .rc = "ok"};
    struct msg_letter_view view;
    struct ald_buf original;
    ald_buf_init(&original, LETTERS_ORIGINAL_MAX);
    bool found = letters_kept(self, ask->letter, &view, &original);
    if (!found)
        ald_text_cut(answer.rc, sizeof answer.rc,
                     ald_span_str(self->rc == ALD_OK ? "notfound" : "busy"));
    ald_frame_put(self->answer, &MSG_ANSWER, &answer);
    if (found)
        ald_frame_put(self->answer, &MSG_LETTER_VIEW, &view);
    ald_buf_free(&original);
}

#include "services/dlq/answers.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/dlq/browse.h"
#include "services/dlq/edit.h"
#include "services/dlq/piles.h"

/* ---- heads ---- */

static const char *answers_word(enum ald_rc rc)
{
    switch (rc) {
    case ALD_OK:
        return "ok";
    case ALD_NOTFOUND:
        return "notfound";
    case ALD_EXISTS:
        return "exists";
    case ALD_AGAIN:
    case ALD_TIMEOUT:
    case ALD_CLOSED:
        return "busy";
    case ALD_FULL:
        return "full";
    case ALD_INVALID:
    case ALD_MALFORMED:
    case ALD_MISSING:
    case ALD_TOOBIG:
    case ALD_VERSION:
        return "invalid";
    case ALD_IO:
    case ALD_CORRUPT:
        break;
    }
    return "io";
}

static const char *answers_sentence(enum ald_rc rc)
{
    if (rc == ALD_NOTFOUND)
        return "There is no such letter.";
    if (rc == ALD_FULL)
        return "The disk of the letters is full: make room, then try again.";
    return rc == ALD_OK ? "" : "The store of the letters has failed; it is opened again by itself.";
}

zmsg_t *answers_head(zmsg_t *msg, uint64_t req, const char *word, const char *detail,
                     const char *cursor)
{
    struct msg_answer head = {.req = req, .more = cursor[0] != '\0'};
    ald_text_cut(head.rc, sizeof head.rc, ald_span_str(word));
    ald_text_cut(head.detail, sizeof head.detail, ald_span_str(detail));
    ald_text_cut(head.cursor, sizeof head.cursor, ald_span_str(cursor));
    zmsg_t *front = zmsg_new();
    enum ald_rc rc = ald_frame_add(front, &MSG_ANSWER, &head);
    ALD_ASSERT(rc == ALD_OK);
    zframe_t *frame = zmsg_pop(front);
    (void)zmsg_prepend(msg, &frame);
    zmsg_destroy(&front);
    return msg;
}

zmsg_t *answers_rc(uint64_t req, enum ald_rc rc)
{
    return answers_head(zmsg_new(), req, answers_word(rc), answers_sentence(rc), "");
}

zmsg_t *answers_plain(uint64_t req, enum ald_rc rc, const char *detail)
{
    return answers_head(zmsg_new(), req, answers_word(rc), detail, "");
}

/* ---- views ---- */

void answers_view(zmsg_t *to, const struct shelf_row *row, struct ald_span original, uint64_t shown)
{
    struct msg_letter_view view = {.task = row->task,
                                   .made_at_ms = row->made_at_ms,
                                   .due_at_ms = row->letter.due_at_ms,
                                   .closed_at_ms = row->letter.closed_at_ms,
                                   .attempts = row->letter.attempts,
                                   .revision = row->letter.revision,
                                   .original = original,
                                   .shown = shown};
    memcpy(view.letter, row->id, sizeof view.letter);
    memcpy(view.cause, row->cause, sizeof view.cause);
    memcpy(view.outcome, row->outcome, sizeof view.outcome);
    memcpy(view.provider, row->provider, sizeof view.provider);
    memcpy(view.provider_id, row->provider_id, sizeof view.provider_id);
    memcpy(view.proof, row->proof, sizeof view.proof);
    memcpy(view.consumer, row->consumer, sizeof view.consumer);
    ald_text_cut(view.reason, sizeof view.reason,
                 ald_span_str(ald_reason_name(row->letter.reason)));
    ald_text_cut(view.state, sizeof view.state, ald_span_str(letter_state_name(row->letter.state)));
    if (ald_frame_add(to, &MSG_LETTER_VIEW, &view) != ALD_OK)
        ald_log(ALD_ERROR, "letter.unshown", "letter=%s", row->id);
}

static void answers_seen(void *context, const struct shelf_row *row)
{
    answers_view(context, row, ald_span_of(NULL, 0), 0);
}

/* ---- history ---- */

static void answers_line(zmsg_t *to, const struct msg_attempt *line)
{
    if (ald_frame_add(to, &MSG_ATTEMPT, line) != ALD_OK)
        ald_log(ALD_ERROR, "attempt.unshown", "attempt=%llu", (unsigned long long)line->attempt);
}

static void answers_attempt(void *context, const struct shelf_attempt *attempt)
{
    struct msg_attempt view = {
        .attempt = attempt->attempt, .revision = attempt->revision, .at_ms = attempt->at_ms};
    ald_text_cut(view.by, sizeof view.by, ald_span_str(attempt->by));
    ald_text_cut(view.outcome, sizeof view.outcome, ald_span_str(attempt->outcome));
    ald_text_cut(view.detail, sizeof view.detail, ald_span_str(attempt->detail));
    ald_text_cut(view.replay, sizeof view.replay, ald_span_str(attempt->replay));
    ald_text_cut(view.what, sizeof view.what, ald_span_str(attempt->attempt == 0 ? "edited" : ""));
    answers_line(context, &view);
}

/* How it began, what was tried and edited, how it ended. */
static enum ald_rc answers_history(struct answers *self, const struct shelf_row *row, zmsg_t *to)
{
    struct msg_attempt made = {.revision = 1, .at_ms = row->made_at_ms, .what = "made"};
    struct msg_attempt closed = {
        .revision = row->letter.revision, .at_ms = row->letter.closed_at_ms, .what = "closed"};
    ald_text_cut(made.detail, sizeof made.detail, ald_span_str(row->cause));
    memcpy(closed.by, row->by, sizeof closed.by);
    memcpy(closed.outcome, row->outcome, sizeof closed.outcome);
    answers_line(to, &made);
    enum ald_rc rc = browse_history(self->shelf, row->id, to, answers_attempt);
    if (rc == ALD_OK && letter_closed(row->letter.state))
        answers_line(to, &closed);
    return rc;
}

/* ---- list and show ---- */

const char *answers_list_wrong(const struct msg_letters *ask)
{
    enum letter_state state;
    enum ald_reason reason;
    if (ask->state[0] != '\0' && !letter_state_find(ask->state, &state))
        return "The state is one of open, held, resolved, dropped; none means open and held.";
    if (ask->reason[0] != '\0' && !ald_reason_find(ask->reason, &reason))
        return "There is no such reason.";
    return NULL;
}

static zmsg_t *answers_list(struct answers *self, struct ald_span question)
{
    struct msg_letters ask;
    char cursor[ALD_ULID_MAX] = "";
    if (ald_wire_decode(&MSG_LETTERS, &ask, question) != ALD_OK)
        return NULL;
    const char *wrong = answers_list_wrong(&ask);
    if (wrong != NULL)
        return answers_plain(ask.req, ALD_INVALID, wrong);
    zmsg_t *msg = zmsg_new();
    enum ald_rc rc = browse_list(self->shelf, &ask, msg, answers_seen, cursor);
    if (rc == ALD_OK)
        return answers_head(msg, ask.req, "ok", "", cursor);
    zmsg_destroy(&msg);
    return answers_rc(ask.req, rc);
}

static void answers_group(void *context, const struct msg_letter_group *group)
{
    ald_frame_put(context, &MSG_LETTER_GROUP, group);
}

static zmsg_t *answers_groups(struct answers *self, struct ald_span question)
{
    struct msg_letter_groups ask;
    char cursor[ALD_POSITION_MAX] = "";
    if (ald_wire_decode(&MSG_LETTER_GROUPS, &ask, question) != ALD_OK)
        return NULL;
    zmsg_t *msg = zmsg_new();
    enum ald_rc rc = piles_list(self->shelf, &ask, msg, answers_group, cursor);
    if (rc == ALD_OK)
        return answers_head(msg, ask.req, "ok", "", cursor);
    zmsg_destroy(&msg);
    return answers_rc(ask.req, rc);
}

static zmsg_t *answers_show(struct answers *self, struct ald_span question)
{
    struct msg_letter_ref ask;
    struct shelf_row row;
    struct ald_buf original;
    if (ald_wire_decode(&MSG_LETTER_SHOW, &ask, question) != ALD_OK)
        return NULL;
    enum ald_rc rc = browse_find(self->shelf, ask.letter, &row);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    uint64_t shown = ask.revision != 0 ? ask.revision : row.letter.revision;
    if (shown > row.letter.revision)
        return answers_head(zmsg_new(), ask.req, "notfound", "There is no such revision.", "");
    zmsg_t *msg = zmsg_new();
    ald_buf_init(&original, ALD_ITEM_MAX);
    rc = browse_original(self->shelf, row.id, shown, &original);
    const char *detail = rc == ALD_CORRUPT ? "The stored message is damaged." : "";
    answers_view(msg, &row, ald_buf_span(&original), shown);
    if (rc == ALD_OK || rc == ALD_NOTFOUND || rc == ALD_CORRUPT)
        rc = answers_history(self, &row, msg);
    ald_buf_free(&original);
    if (rc == ALD_OK)
        return answers_head(msg, ask.req, "ok", detail, "");
    zmsg_destroy(&msg);
    return answers_rc(ask.req, rc);
}

/* ---- replay and drop ---- */

static const char *answers_verdict_word(enum letter_verdict verdict)
{
    switch (verdict) {
    case LETTER_YES:
        return "ok";
    case LETTER_UNDER_WAY:
        return "busy";
    case LETTER_UNVOUCHED:
    case LETTER_NOT_FORGED:
        return "invalid";
    case LETTER_CLOSED:
    case LETTER_NOT_ALLOWED:
    case LETTER_EMPTY:
    case LETTER_NO_EDIT:
    case LETTER_STALE:
    case LETTER_REVISED:
    case LETTER_VERDICTS:
        break;
    }
    return "conflict";
}

void answers_by(char out[ALD_WORD_MAX], const char *by)
{
    ald_text_cut(out, ALD_WORD_MAX, ald_span_str(by[0] != '\0' ? by : "operator"));
}

static enum letter_verdict answers_replay(struct answers *self, const struct msg_letter_ref *ask,
                                          struct shelf_row *row)
{
    enum letter_word word;
    bool one = letter_word_said(ask->believe, ask->buy, ask->publish, &word);
    enum letter_verdict verdict =
        one ? letter_replay(&row->letter, word, self->now_ms) : LETTER_NOT_FORGED;
    if (verdict == LETTER_YES)
        answers_by(row->by, ask->by);
    return verdict;
}

static enum letter_verdict answers_drop(struct answers *self, const struct msg_letter_ref *ask,
                                        struct shelf_row *row)
{
    enum letter_verdict verdict = letter_drop(&row->letter, self->now_ms);
    if (verdict != LETTER_YES)
        return verdict;
    answers_by(row->by, ask->by);
    ald_text_cut(row->outcome, sizeof row->outcome, ald_span_str("dropped"));
    row->closing = shelf_number(self->shelf);
    return verdict;
}

typedef enum letter_verdict answers_decision(struct answers *self, const struct msg_letter_ref *ask,
                                             struct shelf_row *row);

/* Find, decide, write, in one transaction. */
static enum ald_rc answers_decide(struct answers *self, const struct msg_letter_ref *ask,
                                  answers_decision *decide, struct shelf_row *row,
                                  enum letter_verdict *verdict)
{
    enum ald_rc rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return rc;
    rc = browse_find(self->shelf, ask->letter, row);
    *verdict = LETTER_YES;
    if (rc == ALD_OK)
        *verdict = decide(self, ask, row);
    if (rc == ALD_OK && *verdict == LETTER_YES)
        rc = shelf_update(self->shelf, row);
    if (rc == ALD_OK && *verdict == LETTER_YES)
        return shelf_commit(self->shelf);
    shelf_rollback(self->shelf);
    return rc;
}

static zmsg_t *answers_command(struct answers *self, const struct ald_schema *schema,
                               answers_decision *decide, struct ald_span question)
{
    struct msg_letter_ref ask;
    struct shelf_row row;
    enum letter_verdict verdict;
    if (ald_wire_decode(schema, &ask, question) != ALD_OK)
        return NULL;
    enum ald_rc rc = answers_decide(self, &ask, decide, &row, &verdict);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    zmsg_t *msg = zmsg_new();
    answers_view(msg, &row, ald_span_of(NULL, 0), 0);
    if (verdict == LETTER_YES) {
        self->work = true;
        ald_log(ALD_INFO, schema->kind, "letter=%s reason=%s believe=%d buy=%d publish=%d by=%s",
                row.id, ald_reason_name(row.letter.reason), ask.believe, ask.buy, ask.publish,
                ALD_Q(ask.by));
    }
    return answers_head(msg, ask.req, answers_verdict_word(verdict),
                        letter_why(verdict, row.letter.reason), "");
}

/* ---- edits ---- */

/* In the caller's transaction. ALD_OK: *verdict says whether it was done. ALD_INVALID: err says why
 * the message can't be like that. */
static enum ald_rc answers_edit_in(struct answers *self, const struct msg_letter_edit *ask,
                                   struct shelf_row *row, enum letter_verdict *verdict,
                                   struct ald_err *err)
{
    struct ald_buf original;
    struct ald_buf edited;
    enum ald_rc rc = browse_find(self->shelf, ask->letter, row);
    if (rc != ALD_OK)
        return rc;
    uint64_t from = row->letter.revision;
    *verdict = letter_edit(&row->letter, ask->revision);
    if (*verdict != LETTER_YES)
        return ALD_OK;
    ald_buf_init(&original, ALD_ITEM_MAX);
    ald_buf_init(&edited, ALD_ITEM_MAX);
    rc = browse_original(self->shelf, row->id, from, &original);
    if (rc == ALD_OK)
        rc = edit_apply(ald_buf_span(&original), ask, &edited, err);
    const struct shelf_edit edit = {
        .original = ald_buf_span(&edited), .at_ms = self->now_ms, .by = ask->by};
    if (rc == ALD_OK)
        rc = shelf_edit(self->shelf, row, &edit);
    ald_buf_free(&edited);
    ald_buf_free(&original);
    return rc;
}

static zmsg_t *answers_edit(struct answers *self, struct ald_span question)
{
    struct msg_letter_edit ask;
    struct shelf_row row;
    struct ald_err err = {0};
    enum letter_verdict verdict = LETTER_YES;
    if (ald_wire_decode(&MSG_LETTER_EDIT, &ask, question) != ALD_OK)
        return NULL;
    if (ask.by[0] == '\0')
        return answers_plain(ask.req, ALD_INVALID, "Say who edits the letter: `by`.");
    enum ald_rc rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    rc = answers_edit_in(self, &ask, &row, &verdict, &err);
    if (rc == ALD_OK && verdict == LETTER_YES)
        rc = shelf_commit(self->shelf);
    else
        shelf_rollback(self->shelf);
    if (rc == ALD_CORRUPT)
        return answers_plain(ask.req, ALD_INVALID, "The stored message is damaged.");
    if (rc != ALD_OK)
        return err.text[0] != '\0' ? answers_plain(ask.req, rc, err.text) : answers_rc(ask.req, rc);
    if (verdict == LETTER_YES)
        ald_log(ALD_INFO, "letter.edited", "letter=%s reason=%s revision=%llu by=%s", row.id,
                ald_reason_name(row.letter.reason), (unsigned long long)row.letter.revision,
                ALD_Q(ask.by));
    zmsg_t *msg = zmsg_new();
    answers_view(msg, &row, ald_span_of(NULL, 0), 0);
    return answers_head(msg, ask.req, answers_verdict_word(verdict),
                        letter_why(verdict, row.letter.reason), "");
}

/* ---- status ---- */

static void answers_figure(zmsg_t *to, const char *name, int64_t value)
{
    struct msg_figure figure = {.value = value};
    ald_text_cut(figure.group, sizeof figure.group, ald_span_str("letters"));
    ald_text_cut(figure.name, sizeof figure.name, ald_span_str(name));
    enum ald_rc rc = ald_frame_add(to, &MSG_FIGURE, &figure);
    ALD_ASSERT(rc == ALD_OK);
}

static zmsg_t *answers_status(struct answers *self, struct ald_span question)
{
    struct msg_status ask;
    char name[ALD_KEY_MAX];
    int64_t made_at_ms = 0;
    if (ald_wire_decode(&MSG_STATUS, &ask, question) != ALD_OK)
        return NULL;
    enum ald_rc rc = browse_oldest(self->shelf, &made_at_ms);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    const struct tally *tally = shelf_tally(self->shelf);
    zmsg_t *msg = zmsg_new();
    for (unsigned i = 0; i < LETTER_STATES; i++)
        answers_figure(msg, letter_state_name((enum letter_state)i),
                       tally_state(tally, (enum letter_state)i));
    for (unsigned i = ALD_REASON_NONE + 1; i < ALD_REASON_COUNT; i++) {
        (void)snprintf(name, sizeof name, "reason.%s", ald_reason_name((enum ald_reason)i));
        answers_figure(msg, name, tally_reason(tally, (enum ald_reason)i));
    }
    int64_t age_ms = made_at_ms > 0 && self->now_ms > made_at_ms ? self->now_ms - made_at_ms : 0;
    answers_figure(msg, "oldest_age_ms", age_ms);
    answers_figure(msg, "open_xor", (int64_t)tally->open_xor);
    answers_figure(msg, "purged", tally->purged);
    return answers_head(msg, ask.req, "ok", "", "");
}

zmsg_t *answers_of(struct answers *self, struct ald_span question)
{
    if (ald_wire_is(&MSG_LETTERS, question))
        return answers_list(self, question);
    if (ald_wire_is(&MSG_LETTER_SHOW, question))
        return answers_show(self, question);
    if (ald_wire_is(&MSG_LETTER_REPLAY, question))
        return answers_command(self, &MSG_LETTER_REPLAY, answers_replay, question);
    if (ald_wire_is(&MSG_LETTER_DROP, question))
        return answers_command(self, &MSG_LETTER_DROP, answers_drop, question);
    if (ald_wire_is(&MSG_LETTER_GROUPS, question))
        return answers_groups(self, question);
    if (ald_wire_is(&MSG_LETTER_EDIT, question))
        return answers_edit(self, question);
    if (ald_wire_is(&MSG_STATUS, question))
        return answers_status(self, question);
    return answers_of_replay(self, question);
}

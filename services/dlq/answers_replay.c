/* Questions and commands about bulk replays. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/dlq/answers.h"
#include "services/dlq/replays.h"

/* ---- views ---- */

static void replay_answer_filter(const struct msg_letters *filter, struct msg_replay *view)
{
    memcpy(view->reason, filter->reason, sizeof view->reason);
    memcpy(view->provider, filter->provider, sizeof view->provider);
    memcpy(view->letter_state, filter->state, sizeof view->letter_state);
    memcpy(view->q, filter->q, sizeof view->q);
    memcpy(view->consumer, filter->consumer, sizeof view->consumer);
    view->task = filter->task;
    view->since_ms = filter->since_ms;
    view->until_ms = filter->until_ms;
}

static void replay_answer_view(zmsg_t *to, const struct replay *replay, const char *note)
{
    struct msg_replay view = {.rate = replay->rate,
                              .believe = replay->word == LETTER_BELIEVE,
                              .buy = replay->word == LETTER_BUY,
                              .publish = replay->word == LETTER_PUBLISH,
                              .dry_run = replay->dry_run,
                              .made_at_ms = replay->made_at_ms,
                              .begun_at_ms = replay->begun_at_ms,
                              .ended_at_ms = replay->ended_at_ms,
                              .total = replay->total,
                              .scanned = replay->scanned,
                              .seen = replay->seen,
                              .replayed = replay->replayed,
                              .answered = replay->answered,
                              .skipped = replay->skipped};
    memcpy(view.replay, replay->id, sizeof view.replay);
    memcpy(view.by, replay->by, sizeof view.by);
    memcpy(view.bound, replay->bound, sizeof view.bound);
    memcpy(view.cursor, replay->cursor, sizeof view.cursor);
    ald_text_cut(view.state, sizeof view.state, ald_span_str(replay_state_name(replay->state)));
    if (replay->state == REPLAY_RUNNING)
        ald_text_cut(view.note, sizeof view.note, ald_span_str(note));
    replay_answer_filter(&replay->filter, &view);
    ald_frame_put(to, &MSG_REPLAY, &view);
}

static void replay_answer_count(void *context, const struct msg_replay_count *count)
{
    ald_frame_put(context, &MSG_REPLAY_COUNT, count);
}

/* Where a list is put together. */
struct replay_answer {
    zmsg_t *to;
    const char *note;
};

static void replay_answer_listed(void *context, const struct replay *replay)
{
    const struct replay_answer *self = context;
    replay_answer_view(self->to, replay, self->note);
}

static zmsg_t *replay_answer_gone(uint64_t req)
{
    return answers_plain(req, ALD_NOTFOUND, "There is no such bulk replay.");
}

/* One with its counts. */
static zmsg_t *replay_answer_one(struct answers *self, uint64_t req, const struct replay *replay)
{
    zmsg_t *msg = zmsg_new();
    replay_answer_view(msg, replay, self->replay_note);
    enum ald_rc rc = replays_counts(self->shelf, replay->id, msg, replay_answer_count);
    if (rc == ALD_OK)
        return answers_head(msg, req, "ok", "", "");
    zmsg_destroy(&msg);
    return answers_rc(req, rc);
}

/* ---- begin one ---- */

static const char *replay_answer_wrong(const struct msg_replay_start *ask,
                                       const struct msg_letters *filter)
{
    enum letter_state state;
    const char *wrong = answers_list_wrong(filter);
    if (wrong != NULL)
        return wrong;
    if (filter->state[0] != '\0' && letter_state_find(filter->state, &state) &&
        letter_closed(state))
        return "Closed letters are not tried again: the state is open or held, none means both.";
    enum letter_word word;
    if (!letter_word_said(ask->believe, ask->buy, ask->publish, &word))
        return "Of believe, buy and publish a bulk replay takes one.";
    if (ask->rate > REPLAY_RATE_MAX)
        return "The rate is at most 1000 letters a second.";
    return NULL;
}

static void replay_answer_made(struct answers *self, const struct msg_replay_start *ask,
                               struct replay *out)
{
    *out = (struct replay){.state = REPLAY_QUEUED,
                           .rate = ask->rate > 0 ? ask->rate : REPLAY_RATE,
                           .dry_run = ask->dry_run,
                           .made_at_ms = self->now_ms};
    (void)!letter_word_said(ask->believe, ask->buy, ask->publish, &out->word);
    struct msg_letters *filter = &out->filter;
    memcpy(filter->reason, ask->reason, sizeof filter->reason);
    memcpy(filter->provider, ask->provider, sizeof filter->provider);
    memcpy(filter->state, ask->letter_state, sizeof filter->state);
    memcpy(filter->q, ask->q, sizeof filter->q);
    memcpy(filter->consumer, ask->consumer, sizeof filter->consumer);
    filter->task = ask->task;
    filter->since_ms = ask->since_ms;
    filter->until_ms = ask->until_ms;
    const struct tally *tally = shelf_tally(self->shelf);
    out->total = (uint64_t)(tally_state(tally, LETTER_OPEN) + tally_state(tally, LETTER_HELD));
    answers_by(out->by, ask->by);
    ald_ulid_new(out->id);
}

/* ALD_EXISTS: as many wait as may. */
static enum ald_rc replay_answer_add(struct answers *self, struct replay *replay)
{
    int64_t unfinished = 0;
    enum ald_rc rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return rc;
    rc = replays_unfinished(self->shelf, &unfinished);
    if (rc == ALD_OK && unfinished >= REPLAY_UNFINISHED_MAX)
        rc = ALD_EXISTS;
    if (rc == ALD_OK)
        rc = replays_bound(self->shelf, replay->bound);
    if (rc == ALD_OK)
        rc = replays_add(self->shelf, replay);
    if (rc == ALD_OK)
        return shelf_commit(self->shelf);
    shelf_rollback(self->shelf);
    return rc;
}

static zmsg_t *replay_answer_start(struct answers *self, struct ald_span question)
{
    struct msg_replay_start ask;
    struct replay replay;
    if (ald_wire_decode(&MSG_REPLAY_START, &ask, question) != ALD_OK)
        return NULL;
    if (!shelf_ready(self->shelf))
        return answers_rc(ask.req, ALD_IO);
    replay_answer_made(self, &ask, &replay);
    const char *wrong = replay_answer_wrong(&ask, &replay.filter);
    if (wrong != NULL)
        return answers_plain(ask.req, ALD_INVALID, wrong);
    enum ald_rc rc = replay_answer_add(self, &replay);
    if (rc == ALD_EXISTS)
        return answers_plain(ask.req, ALD_FULL,
                             "100 bulk replays have not ended yet: cancel some, or wait.");
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    ald_log(ALD_INFO, "replay.start",
            "replay=%s letters=%" PRIu64 " rate=%" PRIu64 " dry_run=%d by=%s", replay.id,
            replay.total, replay.rate, replay.dry_run, ALD_Q(replay.by));
    self->replays = true;
    return replay_answer_one(self, ask.req, &replay);
}

/* ---- list and show ---- */

static zmsg_t *replay_answer_list(struct answers *self, struct ald_span question)
{
    struct msg_replay_list ask;
    char cursor[ALD_ULID_MAX] = "";
    if (ald_wire_decode(&MSG_REPLAY_LIST, &ask, question) != ALD_OK)
        return NULL;
    struct replay_answer list = {.to = zmsg_new(), .note = self->replay_note};
    enum ald_rc rc = replays_list(self->shelf, &ask, &list, replay_answer_listed, cursor);
    if (rc == ALD_OK)
        return answers_head(list.to, ask.req, "ok", "", cursor);
    zmsg_destroy(&list.to);
    return answers_rc(ask.req, rc);
}

static zmsg_t *replay_answer_show(struct answers *self, struct ald_span question)
{
    struct msg_replay_ref ask;
    struct replay replay;
    if (ald_wire_decode(&MSG_REPLAY_SHOW, &ask, question) != ALD_OK)
        return NULL;
    enum ald_rc rc = replays_find(self->shelf, ask.replay, &replay);
    if (rc == ALD_NOTFOUND)
        return replay_answer_gone(ask.req);
    return rc == ALD_OK ? replay_answer_one(self, ask.req, &replay) : answers_rc(ask.req, rc);
}

/* ---- pause, resume, cancel ---- */

typedef bool replay_answer_deed(struct replay *replay, int64_t now_ms);

static bool replay_answer_pause(struct replay *replay, int64_t now_ms)
{
    (void)now_ms;
    return replay_pause(replay);
}

static bool replay_answer_resume(struct replay *replay, int64_t now_ms)
{
    (void)now_ms;
    return replay_resume(replay);
}

static zmsg_t *replay_answer_command(struct answers *self, const struct ald_schema *schema,
                                     replay_answer_deed *deed, struct ald_span question)
{
    struct msg_replay_ref ask;
    struct replay replay;
    bool done = false;
    if (ald_wire_decode(schema, &ask, question) != ALD_OK)
        return NULL;
    enum ald_rc rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    rc = replays_find(self->shelf, ask.replay, &replay);
    if (rc == ALD_OK)
        done = deed(&replay, self->now_ms);
    if (rc == ALD_OK && done)
        rc = replays_save(self->shelf, &replay);
    if (rc == ALD_OK && done)
        rc = shelf_commit(self->shelf);
    else
        shelf_rollback(self->shelf);
    if (rc == ALD_NOTFOUND)
        return replay_answer_gone(ask.req);
    if (rc != ALD_OK)
        return answers_rc(ask.req, rc);
    if (!done)
        return answers_head(zmsg_new(), ask.req, "conflict", "The bulk replay has ended already.",
                            "");
    ald_log(ALD_INFO, schema->kind, "replay=%s state=%s by=%s", replay.id,
            replay_state_name(replay.state), ALD_Q(ask.by));
    self->replays = true;
    return replay_answer_one(self, ask.req, &replay);
}

zmsg_t *answers_of_replay(struct answers *self, struct ald_span question)
{
    if (ald_wire_is(&MSG_REPLAY_START, question))
        return replay_answer_start(self, question);
    if (ald_wire_is(&MSG_REPLAY_LIST, question))
        return replay_answer_list(self, question);
    if (ald_wire_is(&MSG_REPLAY_SHOW, question))
        return replay_answer_show(self, question);
    if (ald_wire_is(&MSG_REPLAY_PAUSE, question))
        return replay_answer_command(self, &MSG_REPLAY_PAUSE, replay_answer_pause, question);
    if (ald_wire_is(&MSG_REPLAY_RESUME, question))
        return replay_answer_command(self, &MSG_REPLAY_RESUME, replay_answer_resume, question);
    if (ald_wire_is(&MSG_REPLAY_CANCEL, question))
        return replay_answer_command(self, &MSG_REPLAY_CANCEL, replay_cancel, question);
    return NULL;
}

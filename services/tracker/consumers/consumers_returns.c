#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/consumers/consumers_inside.h"
#include "services/tracker/vault/vault_consumers.h"

/* ---- the list of a consumer ---- */

static struct comeback *return_of(const struct durable *one, const char *letter)
{
    for (size_t i = 0; i < one->return_count; i++)
        if (strcmp(one->returns[i].letter, letter) == 0)
            return &one->returns[i];
    return NULL;
}

static void return_add(struct durable *one, const char *letter, uint64_t lane, uint64_t seq)
{
    if (one->return_count == one->return_cap) {
        one->return_cap = one->return_cap ? one->return_cap * 2 : 8;
        one->returns = realloc(one->returns, one->return_cap * sizeof *one->returns);
        ALD_ASSERT(one->returns);
    }
    struct comeback *back = &one->returns[one->return_count++];
    *back = (struct comeback){.lane = lane, .seq = seq, .instance = -1};
    ald_text_cut(back->letter, sizeof back->letter, ald_span_str(letter));
}

static void return_let_go(struct durable *one, struct comeback *back)
{
    if (back->instance >= 0)
        consumer_alone(&one->core, back->instance, false);
    back->instance = -1;
}

static void return_remove(struct durable *one, struct comeback *back)
{
    return_let_go(one, back);
    size_t after = (size_t)(one->returns + one->return_count - (back + 1));
    memmove(back, back + 1, after * sizeof *back);
    one->return_count--;
}

/* ---- over ---- */

/* It is over: written with the next commit. */
static void return_over(consumers_t *self, struct durable *one, struct comeback *back, bool taken)
{
    if (self->closing_count == self->closing_cap) {
        self->closing_cap = self->closing_cap ? self->closing_cap * 2 : 8;
        self->closings = realloc(self->closings, self->closing_cap * sizeof *self->closings);
        ALD_ASSERT(self->closings);
    }
    struct consumers_closing *closing = &self->closings[self->closing_count++];
    *closing = (struct consumers_closing){.taken = taken};
    memcpy(closing->letter, back->letter, sizeof closing->letter);
    return_remove(one, back);
    self->owed = true;
}

void consumers_return_close(consumers_t *self)
{
    for (size_t i = 0; i < self->closing_count; i++) {
        const struct consumers_closing *closing = &self->closings[i];
        vault_return_delete(&self->tracker->vault, closing->letter);
        if (closing->taken)
            ending_answered(self->tracker, closing->letter, false);
    }
    self->closing_count = 0;
}

/* By its number whoever has it, as a settlement is a fact; of a range only what is his. */
static bool return_is_meant(const struct comeback *back, int instance,
                            const struct consumer_settle *settle)
{
    if (back->lane != settle->lane)
        return false;
    if (settle->first == 0)
        return back->seq == settle->seq;
    return back->instance == instance && back->seq >= settle->first && back->seq <= settle->seq;
}

bool consumers_return_settle(consumers_t *self, struct durable *one, int instance,
                             const struct consumer_settle *settle, int64_t now_ms)
{
    bool changed = false;
    for (size_t i = one->return_count; i-- > 0;) {
        struct comeback *back = &one->returns[i];
        if (!return_is_meant(back, instance, settle))
            continue;
        if (settle->verb == CONSUMER_EXTEND && back->instance != instance)
            continue; /* who has it may take longer, nobody else says so */
        if (settle->verb == CONSUMER_EXTEND) {
            int64_t more_ms = settle->delay_ms > 0 ? settle->delay_ms : one->core.rules.ack_wait_ms;
            back->due_ms = now_ms + more_ms;
            continue;
        }
        if (settle->verb != CONSUMER_ACK && back->instance != instance)
            continue;
        if (settle->verb == CONSUMER_RELEASE) {
            return_let_go(one, back);
            continue;
        }
        return_over(self, one, back, settle->verb == CONSUMER_ACK);
        changed = true;
    }
    return changed;
}

void consumers_return_due(consumers_t *self, struct durable *one, int instance, int64_t now_ms)
{
    for (size_t i = one->return_count; i-- > 0;) {
        struct comeback *back = &one->returns[i];
        bool over = back->instance >= 0 && (back->instance == instance || back->due_ms <= now_ms);
        if (over)
            return_over(self, one, back, false); /* its letter is tried again in its time */
    }
}

/* ---- out ---- */

void consumers_return_unsent(struct durable *one, const char *letter)
{
    struct comeback *back = return_of(one, letter);
    if (back)
        return_let_go(one, back);
}

static bool return_read(consumers_t *self, const struct comeback *back, struct msg_event *event)
{
    ald_buf_reset(&self->original);
    if (!vault_return_event(&self->tracker->vault, back->letter, &self->original) ||
        ald_wire_decode(&MSG_EVENT, event, ald_buf_span(&self->original)) != ALD_OK)
        return false;
    event->lane = back->lane; /* whatever an edited message claims, this settles it */
    event->seq = back->seq;
    event->consumer[0] = '\0';
    event->deliveries++;
    event->redelivered = true;
    return true;
}

bool consumers_return(consumers_t *self, struct durable *one, struct pull *pull)
{
    struct msg_event event;
    struct comeback *back = one->returns;
    while (back < one->returns + one->return_count && back->instance >= 0)
        back++;
    if (back == one->returns + one->return_count)
        return false;
    if (!return_read(self, back, &event)) {
        return_over(self, one, back, false);
        return false;
    }
    back->instance = pull->instance;
    back->due_ms = tracker_now(self->tracker).run_ms + one->core.rules.ack_wait_ms;
    consumer_alone(&one->core, pull->instance, true);
    struct consumers_answer answer = {
        .msg = consumers_events(self, &pull->who, pull->req, one, "ok", ""),
        .no = one->no,
        .instance = pull->instance};
    ald_frame_put(answer.msg, &MSG_EVENT, &event);
    memcpy(answer.letter, back->letter, sizeof answer.letter);
    consumers_say(self, &answer, true);
    return true;
}

/* ---- in ---- */

/* Which event of whom a letter is about, "NAME LANE:SEQ": an edited message can't change that. */
static bool return_names(const char *digest, char name[ALD_CONSUMER_MAX], struct vault_return *out)
{
    struct ald_span said = ald_span_str(digest);
    size_t space = ald_span_find(said, ' ');
    ald_text_cut(name, ALD_CONSUMER_MAX, ald_span_of(said.data, space));
    if (space == said.len)
        return false;
    said = ald_span_skip(said, space + 1);
    size_t colon = ald_span_find(said, ':');
    return colon < said.len && ald_text_u64(ald_span_of(said.data, colon), &out->lane) == ALD_OK &&
           ald_text_u64(ald_span_skip(said, colon + 1), &out->seq) == ALD_OK;
}

enum ald_disposition consumers_again(consumers_t *self, const char *letter, const char *digest,
                                     struct ald_span original)
{
    char name[ALD_CONSUMER_MAX];
    struct msg_event event;
    struct vault_return row = {.letter = ald_span_str(letter)};
    struct durable *one =
        self && return_names(digest, name, &row) ? consumers_find(self, name) : NULL;
    if (!one)
        return ALD_DISP_DROPPED;
    if (ald_wire_decode(&MSG_EVENT, &event, original) != ALD_OK)
        return ALD_DISP_STILL; /* it was edited, and is none any more */
    row.consumer = one->no;
    vault_return_put(&self->tracker->vault, &row, original);
    if (!return_of(one, letter))
        return_add(one, letter, row.lane, row.seq);
    self->woken = true;
    return ALD_DISP_STILL;
}

void consumers_dropped(consumers_t *self, const char *letter)
{
    for (size_t i = 0; self && i < self->count; i++) {
        struct comeback *back = return_of(self->list[i], letter);
        if (back)
            return_remove(self->list[i], back);
    }
    if (self)
        vault_return_delete(&self->tracker->vault, letter);
}

/* ---- as a whole ---- */

/* Ids of letters, end to end. */
static void returns_gather(void *arg, struct ald_span letter)
{
    char id[ALD_ULID_MAX];
    ald_text_cut(id, sizeof id, letter);
    ald_buf_put(arg, id, sizeof id);
}

void consumers_returns_gone(consumers_t *self, const struct durable *one)
{
    struct ald_buf ids;
    ald_buf_init(&ids, (size_t)64 << 20);
    vault_each_letter_of(&self->tracker->vault, one->name, returns_gather, &ids);
    for (size_t at = 0; at < ids.len; at += ALD_ULID_MAX)
        ending_answered(self->tracker, (const char *)ids.data + at, true);
    ald_buf_free(&ids);
}

static void returns_row(void *arg, const struct vault_return *row)
{
    consumers_t *self = arg;
    char letter[ALD_ULID_MAX];
    struct durable *one = consumers_of(self, row->consumer);
    ald_text_cut(letter, sizeof letter, row->letter);
    if (one)
        return_add(one, letter, row->lane, row->seq);
}

void consumers_returns_back(consumers_t *self)
{
    vault_each_return(&self->tracker->vault, returns_row, self);
}

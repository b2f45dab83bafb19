#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/consumers/consumers_inside.h"
#include "services/tracker/consumers/position.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/vault/vault_consumers.h"

enum { OPEN_DELIVER = 5, OPEN_WAIT_MS = 30000, OPEN_PENDING = 1000, CONSUMERS_ALIVE_MS = 60000 };

#define OPEN_HELD_MS (INT64_C(3650) * 86400000)

/* ---- figures of one ---- */

static struct msg_consumer consumers_view(consumers_t *self, const struct durable *one)
{
    struct tracker *tracker = self->tracker;
    const struct consumer *core = &one->core;
    uint64_t floor = consumer_floor(core);
    uint64_t head = tracker->vault.last_seq;
    struct msg_consumer view = {
        .lag = head > floor ? head - floor : 0,
        .pending = core->pending,
        .instances = consumer_instances(core, CONSUMERS_ALIVE_MS, tracker_now(tracker).run_ms),
        .max_deliver = core->rules.max_deliver,
        .ack_wait_ms = core->rules.ack_wait_ms,
        .max_ack_pending = core->rules.max_pending,
        .rejected = core->rejected,
        .made_at_ms = one->made_ms,
        .asked_at_ms = one->asked_ms,
        .oldest_at_ms = head > floor ? vault_published_after(&tracker->vault, floor) : 0};
    memcpy(view.consumer, one->name, sizeof view.consumer);
    memcpy(view.provider, one->provider, sizeof view.provider);
    memcpy(view.state, one->state, sizeof view.state);
    ald_text_cut(view.mode, sizeof view.mode,
                 ald_span_str(core->rules.ordered ? "ordered" : "shared"));
    tracker_position(tracker, floor, view.position);
    tracker_position(tracker, core->handed, view.handed);
    const char *sink = sinks_state(tracker->sinks, one->name);
    view.sink = sink != NULL;
    ald_text_cut(view.sink_state, sizeof view.sink_state, ald_span_str(sink ? sink : ""));
    return view;
}

struct consumers_sum consumers_each(consumers_t *self, consumers_fn *fn, void *context)
{
    struct consumers_sum sum = {0};
    int64_t now_ms = tracker_now(self->tracker).wall_ms;
    for (size_t i = 0; i < self->count; i++) {
        const struct msg_consumer view = consumers_view(self, self->list[i]);
        int64_t age_ms = view.oldest_at_ms > 0 ? now_ms - view.oldest_at_ms : 0;
        sum.count++;
        sum.lag = (int64_t)view.lag > sum.lag ? (int64_t)view.lag : sum.lag;
        sum.pending = (int64_t)view.pending > sum.pending ? (int64_t)view.pending : sum.pending;
        sum.oldest_ms = age_ms > sum.oldest_ms ? age_ms : sum.oldest_ms;
        if (fn)
            fn(context, &view);
    }
    return sum;
}

void consumers_word(consumers_t *self, zframe_t **who_p, uint64_t req, const char *rc,
                    const char *detail, const struct durable *one, bool after)
{
    struct msg_answer word = {.req = req};
    struct consumers_answer answer = {.msg = zmsg_new()};
    zmsg_append(answer.msg, who_p);
    ald_text_cut(word.rc, sizeof word.rc, ald_span_str(rc));
    ald_text_cut(word.detail, sizeof word.detail, ald_span_str(detail));
    ald_frame_put(answer.msg, &MSG_ANSWER, &word);
    if (one) {
        const struct msg_consumer view = consumers_view(self, one);
        ald_frame_put(answer.msg, &MSG_CONSUMER, &view);
    }
    consumers_say(self, &answer, after);
}

/* ---- open ---- */

static bool open_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    return name[0] != '\0' && strspn(name, letters) == strlen(name);
}

static bool open_state(const char *word)
{
    enum ald_state state;
    return word[0] == '\0' || (ald_state_find(word, &state) && ald_state_ended(state));
}

/* What is wrong with it; "" if nothing is. */
static const char *open_wrong(const struct msg_consumer_open *ask)
{
    if (!open_name(ask->consumer))
        return "The name of a consumer is made of a to z, 0 to 9, dot, hyphen and underscore.";
    if (!open_state(ask->state))
        return "state is that of an event: done, failed, lost, expired or cancelled.";
    if (ask->mode[0] != '\0' && strcmp(ask->mode, "shared") != 0 &&
        strcmp(ask->mode, "ordered") != 0)
        return "mode is shared or ordered.";
    if (ask->max_deliver > CONSUMER_DELIVER_MAX)
        return "max_deliver is 1,000,000 at most.";
    if (ask->ack_wait_ms != 0 &&
        (ask->ack_wait_ms < CONSUMER_WAIT_MIN_MS || ask->ack_wait_ms > CONSUMER_WAIT_MAX_MS))
        return "ack_wait_ms is from 100 to 86,400,000.";
    if (ask->max_ack_pending > CONSUMER_PENDING_MAX)
        return "max_ack_pending is 10,000 at most.";
    return "";
}

/* What was given and is not as it is there. "": nothing. */
static const char *open_differs(const struct durable *one, const struct msg_consumer_open *ask)
{
    const struct consumer_rules *rules = &one->core.rules;
    if (ask->provider[0] != '\0' && strcmp(ask->provider, one->provider) != 0)
        return "provider";
    if (ask->state[0] != '\0' && strcmp(ask->state, one->state) != 0)
        return "state";
    if (ask->mode[0] != '\0' && (strcmp(ask->mode, "ordered") == 0) != rules->ordered)
        return "mode";
    if (ask->max_deliver != 0 && ask->max_deliver != rules->max_deliver)
        return "max_deliver";
    if (ask->ack_wait_ms != 0 && ask->ack_wait_ms != rules->ack_wait_ms)
        return "ack_wait_ms";
    if (ask->max_ack_pending != 0 && ask->max_ack_pending != rules->max_pending)
        return "max_ack_pending";
    return "";
}

/* Where a new one begins. False: there is no such place. */
static bool open_from(struct tracker *tracker, const char *from, struct consumer *core)
{
    struct vault *vault = &tracker->vault;
    uint64_t kept = vault_seq_kept(vault);
    uint64_t after = 0;
    int64_t at_ms = 0;
    if (from[0] == '@') {
        core->handed = ald_text_i64(ald_span_str(from + 1), &at_ms) == ALD_OK
                           ? vault_seq_before(vault, at_ms)
                           : UINT64_MAX;
        return core->handed != UINT64_MAX;
    }
    switch (position_read(from[0] != '\0' ? from : "new", vault->lane, &after)) {
    case POSITION_BAD:
        return false;
    case POSITION_NEW:
        core->handed = vault->last_seq;
        return true;
    case POSITION_ALL:
        core->handed = kept;
        return true;
    case POSITION_OTHER_LANE:
        core->handed = kept;
        consumer_lane(core, vault->lane, vault->last_seq);
        return true;
    case POSITION_AFTER:
        core->handed = after;
        (void)consumer_purged(core, kept);
        return after <= vault->last_seq;
    }
    return false;
}

static struct durable *open_new(consumers_t *self, const struct msg_consumer_open *ask)
{
    struct tracker *tracker = self->tracker;
    const struct consumer_rules rules = {
        .ordered = strcmp(ask->mode, "ordered") == 0,
        .max_deliver = ask->max_deliver ? (uint32_t)ask->max_deliver : OPEN_DELIVER,
        .ack_wait_ms = ask->ack_wait_ms ? ask->ack_wait_ms : OPEN_WAIT_MS,
        .max_pending = ask->max_ack_pending ? (size_t)ask->max_ack_pending : OPEN_PENDING};
    struct durable *one = zmalloc(sizeof *one);
    consumer_init(&one->core, &rules, tracker->vault.lane, 0);
    if (!open_from(tracker, ask->from, &one->core)) {
        consumers_free(&one);
        return NULL;
    }
    one->no = self->last_no + 1;
    one->fresh = true;
    one->made_ms = tracker_now(tracker).wall_ms;
    memcpy(one->name, ask->consumer, sizeof one->name);
    memcpy(one->provider, ask->provider, sizeof one->provider);
    memcpy(one->state, ask->state, sizeof one->state);
    one->written = one->core.handed;
    consumers_add(self, one);
    consumers_touch(self, one);
    ald_log(ALD_INFO, "consumer.opened", "consumer=%s seq=%" PRIu64, one->name, one->core.handed);
    return one;
}

void consumers_open(consumers_t *self, zframe_t **who_p, const struct msg_consumer_open *ask)
{
    char detail[ALD_TEXT_MAX] = "";
    const char *rc = "exists";
    ald_text_cut(detail, sizeof detail, ald_span_str(open_wrong(ask)));
    struct durable *one = detail[0] == '\0' ? consumers_find(self, ask->consumer) : NULL;
    const char *differs = one ? open_differs(one, ask) : "";
    if (detail[0] != '\0') {
        rc = "invalid";
    } else if (differs[0] != '\0') {
        rc = "conflict";
        (void)snprintf(detail, sizeof detail,
                       "The consumer is there with another %s. Leave it away, or delete the "
                       "consumer and open it anew.",
                       differs);
    } else if (!one && (int64_t)self->count >= self->tracker->settings->tracker.max_consumers) {
        rc = "full";
        (void)snprintf(detail, sizeof detail, "There are %zu consumers: see tracker.max_consumers.",
                       self->count);
    } else if (!one) {
        one = open_new(self, ask);
        rc = one ? "ok" : "invalid";
        if (!one)
            (void)snprintf(detail, sizeof detail,
                           "'%.64s' is no place in the feed: write new, all, LANE:SEQ as in the "
                           "id of an event, or @MILLISECONDS.",
                           ask->from);
    }
    consumers_word(self, who_p, ask->req, rc, detail, one, one && one->fresh);
}

/* Who had it until now gets nothing any more, and what he has goes out again, uncounted. Its own
 * rules are for later. Who holds its events is in this process then: they come back by its word, or
 * with its memory. */
static void own_begin(consumers_t *self, struct durable *one, const struct msg_consumer_open *ask)
{
    if (!one->owned) {
        one->kept_rules = one->core.rules;
        memcpy(one->kept_provider, one->provider, sizeof one->kept_provider);
        memcpy(one->kept_state, one->state, sizeof one->kept_state);
        for (struct pull *pull = one->first; pull; pull = pull->next)
            pull->closed = true; /* answered with nothing */
        if (one->reading)
            one->reading->closed = true;
        self->owed = true;
        consumer_release(&one->core, tracker_now(self->tracker).run_ms);
    }
    one->owned = true;
    one->core.rules = (struct consumer_rules){.max_deliver = (uint32_t)ask->max_deliver,
                                              .ack_wait_ms = OPEN_HELD_MS,
                                              .max_pending = CONSUMER_PENDING_MAX};
    memcpy(one->provider, ask->provider, sizeof one->provider);
    memcpy(one->state, ask->state, sizeof one->state);
}

static void own_end(struct durable *one)
{
    one->owned = false;
    one->core.rules = one->kept_rules;
    memcpy(one->provider, one->kept_provider, sizeof one->provider);
    memcpy(one->state, one->kept_state, sizeof one->state);
}

bool consumers_own(consumers_t *self, const struct msg_consumer_open *ask, bool own)
{
    struct durable *one = consumers_find(self, ask->consumer);
    if (!one && (!own || (int64_t)self->count >= self->tracker->settings->tracker.max_consumers))
        return !own;
    if (!one) {
        one = open_new(self, ask);
        ALD_ASSERT(one); /* it begins at new or all */
        self->owed = true;
    }
    if (own)
        own_begin(self, one, ask);
    else if (one->owned)
        own_end(one);
    return true;
}

/* ---- the others ---- */

void consumers_list(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask)
{
    bool all = ask->consumer[0] == '\0';
    struct durable *one = consumers_find(self, ask->consumer);
    if (!all) {
        consumers_word(self, who_p, ask->req, one ? "ok" : "notfound",
                       one ? "" : "There is no such consumer.", one, false);
        return;
    }
    struct msg_answer word = {.req = ask->req, .rc = "ok"};
    struct consumers_answer answer = {.msg = zmsg_new()};
    zmsg_append(answer.msg, who_p);
    ald_frame_put(answer.msg, &MSG_ANSWER, &word);
    for (size_t i = 0; i < self->count; i++) {
        const struct msg_consumer view = consumers_view(self, self->list[i]);
        ald_frame_put(answer.msg, &MSG_CONSUMER, &view);
    }
    consumers_say(self, &answer, false);
}

void consumers_close(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask,
                     zmsg_t *msg)
{
    struct durable *one = consumers_find(self, ask->consumer);
    if (!one) {
        consumers_word(self, who_p, ask->req, "notfound", "There is no such consumer.", NULL,
                       false);
        return;
    }
    if (consumers_closed(self, ask->consumer)) {
        consumers_word(self, who_p, ask->req, "conflict", consumers_closed(self, ask->consumer),
                       NULL, false);
        return;
    }
    if (!consumers_sound(msg)) {
        consumers_word(self, who_p, ask->req, "invalid", consumers_unsound, NULL, false);
        return;
    }
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    struct consumers_rejecting rejecting = {self, one};
    const struct consumer_rejects rejects = {consumers_reject, &rejecting};
    int instance = consumer_instance(&one->core, ask->instance, now_ms);
    if (instance >= 0) {
        consumers_settle(self, one, instance, msg); /* it is served no more in between */
        if (consumer_close(&one->core, instance, now_ms, &rejects))
            consumers_touch(self, one);
        consumers_return_due(self, one, instance, now_ms);
    }
    consumers_word(self, who_p, ask->req, "ok", "", NULL, one->dirty);
    if (instance >= 0)
        consumers_end_of(self, one, instance);
}

void consumers_delete(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask)
{
    struct durable *one = consumers_find(self, ask->consumer);
    if (!one) {
        consumers_word(self, who_p, ask->req, "notfound", "There is no such consumer.", NULL,
                       false);
        return;
    }
    if (consumers_closed(self, ask->consumer)) {
        consumers_word(self, who_p, ask->req, "conflict", consumers_closed(self, ask->consumer),
                       NULL, false);
        return;
    }
    consumers_take(self, one);
    if (self->gone_count == self->gone_cap) {
        self->gone_cap = self->gone_cap ? self->gone_cap * 2 : 4;
        self->gone = realloc(self->gone, self->gone_cap * sizeof(struct durable *));
        ALD_ASSERT(self->gone);
    }
    self->gone[self->gone_count++] = one;
    ald_log(ALD_INFO, "consumer.deleted", "consumer=%s", one->name);
    consumers_word(self, who_p, ask->req, "ok", "", NULL, true);
}

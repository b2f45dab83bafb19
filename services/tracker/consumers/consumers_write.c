#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/consumers/consumers_inside.h"
#include "services/tracker/events.h"
#include "services/tracker/feed.h"
#include "services/tracker/vault/vault_consumers.h"

enum { CONSUMERS_WHY_MAX = 161 }; /* of what a consumer said, in the cause of a letter */

static struct ald_metric consumers_rejected = {.kind = ALD_COUNTER,
                                               .name = "aldaba_consumer_rejected_total",
                                               .help =
                                                   "Events that a consumer did not take: letters."};

/* ---- answers ---- */

void consumers_say(consumers_t *self, struct consumers_answer *answer, bool after)
{
    if (!after) {
        feed_send(self->tracker->feed, &answer->msg);
        return;
    }
    if (self->answer_count == self->answer_cap) {
        self->answer_cap = self->answer_cap ? self->answer_cap * 2 : 16;
        self->answers = realloc(self->answers, self->answer_cap * sizeof *self->answers);
        ALD_ASSERT(self->answers);
    }
    self->answers[self->answer_count++] = *answer;
    self->owed = true;
}

zmsg_t *consumers_events(consumers_t *self, zframe_t **who_p, uint64_t req,
                         const struct durable *one, const char *rc, const char *detail)
{
    struct msg_events head = {.req = req};
    zmsg_t *msg = zmsg_new();
    zmsg_append(msg, who_p);
    ald_text_cut(head.rc, sizeof head.rc, ald_span_str(rc));
    ald_text_cut(head.detail, sizeof head.detail, ald_span_str(detail));
    if (one) {
        tracker_position(self->tracker, one->core.handed, head.position);
        tracker_position(self->tracker, self->tracker->vault.last_seq, head.head);
    }
    if (one && one->core.gap != 0) {
        head.gap = true;
        tracker_position(self->tracker, one->core.gap, head.gap_before);
        ald_text_cut(head.gap_why, sizeof head.gap_why,
                     ald_span_str(one->core.gap_why == CONSUMER_GAP_LANE ? "lane" : "retention"));
    }
    ald_frame_put(msg, &MSG_EVENTS, &head);
    return msg;
}

/* ---- before the commit ---- */

void consumers_reject(void *context, uint64_t seq, uint32_t count, const char *why)
{
    const struct consumers_rejecting *to = context;
    consumers_t *self = to->self;
    if (self->reject_count == self->reject_cap) {
        self->reject_cap = self->reject_cap ? self->reject_cap * 2 : 16;
        self->rejects = realloc(self->rejects, self->reject_cap * sizeof *self->rejects);
        ALD_ASSERT(self->rejects);
    }
    struct consumers_reject *reject = &self->rejects[self->reject_count++];
    *reject = (struct consumers_reject){.no = to->one->no, .seq = seq, .count = count};
    ald_text_cut(reject->why, sizeof reject->why, ald_span_str(why));
    consumers_touch(self, to->one);
    self->owed = true;
}

/* The letter holds the whole event: it outlives what the feed keeps. */
static void consumers_letter(consumers_t *self, const struct consumers_reject *reject)
{
    struct msg_event event;
    char id[ALD_ULID_MAX];
    char digest[ALD_POSITION_MAX];
    char cause[ALD_TEXT_MAX];
    char why[CONSUMERS_WHY_MAX];
    const struct durable *one = consumers_of(self, reject->no);
    if (!one)
        return; /* deleted since */
    if (!vault_event(&self->tracker->vault, reject->seq, &event, &self->event)) {
        ald_log(ALD_ERROR, "consumer.event_gone", "consumer=%s seq=%" PRIu64, one->name,
                reject->seq);
        return;
    }
    event.deliveries = reject->count;
    memcpy(event.consumer, one->name, sizeof event.consumer);
    ald_buf_reset(&self->original);
    if (ald_wire_encode(&MSG_EVENT, &event, &self->original) != ALD_OK)
        ald_buf_reset(&self->original);
    (void)snprintf(digest, sizeof digest, "%s %" PRIu64 ":%" PRIu64, one->name, event.lane,
                   event.seq);
    ald_text_cut(why, sizeof why, ald_span_str(reject->why));
    if (why[0] != '\0')
        (void)snprintf(cause, sizeof cause, "%s: %s", one->name, why);
    else
        (void)snprintf(cause, sizeof cause,
                       "%s: it was handed out %" PRIu32 " times and not acknowledged.", one->name,
                       reject->count);
    const struct ending_letter letter = {.reason = ALD_REASON_CONSUMER_REJECTED,
                                         .cause = cause,
                                         .provider = event.provider,
                                         .provider_id = event.provider_id,
                                         .task = event.task,
                                         .proof = ALD_PROOF_AUTH, /* our own words */
                                         .digest = digest,
                                         .original = ald_buf_span(&self->original),
                                         .consumer = one->name};
    ending_letter(self->tracker, &letter, id);
    ald_metric_add(&consumers_rejected, 1);
}

static void consumers_row(consumers_t *self, struct durable *one)
{
    ald_buf_reset(&self->flight);
    consumer_pack(&one->core, &self->flight);
    const struct consumer_rules *rules = one->owned ? &one->kept_rules : &one->core.rules;
    const struct vault_consumer row = {
        .no = one->no,
        .name = ald_span_str(one->name),
        .provider = ald_span_str(one->owned ? one->kept_provider : one->provider),
        .state = ald_span_str(one->owned ? one->kept_state : one->state),
        .ordered = rules->ordered,
        .max_deliver = rules->max_deliver,
        .ack_wait_ms = rules->ack_wait_ms,
        .max_ack_pending = rules->max_pending,
        .made_ms = one->made_ms,
        .lane = one->core.lane,
        .floor = consumer_floor(&one->core),
        .handed = one->core.handed,
        .gap_before = one->core.gap,
        .gap_why = one->core.gap_why,
        .rejected = one->core.rejected,
        .flight = ald_buf_span(&self->flight)};
    if (one->fresh)
        vault_consumer_add(&self->tracker->vault, &row);
    else
        vault_consumer_write(&self->tracker->vault, &row);
    one->written = row.floor;
    one->fresh = one->dirty = one->settled = false;
}

void consumers_act(consumers_t *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->gone_count; i++) {
        consumers_returns_gone(self, self->gone[i]);
        vault_consumer_delete(&self->tracker->vault, self->gone[i]->no);
        consumers_free(&self->gone[i]);
    }
    consumers_return_close(self);
    for (size_t i = 0; i < self->count && self->dirty; i++)
        if (self->list[i]->dirty)
            consumers_row(self, self->list[i]);
    for (size_t i = 0; i < self->reject_count; i++)
        consumers_letter(self, &self->rejects[i]);
    self->gone_count = self->reject_count = 0;
    self->dirty = false;
}

/* ---- after it ---- */

bool consumers_owe(const consumers_t *self)
{
    return self && self->owed;
}

void consumers_turn(consumers_t *self)
{
    if (consumers_owe(self) && self->tracker->open)
        events_drain(self->tracker->events);
}

/* What did not leave is nobody's: whoever waits next has it. */
static void consumers_unsent(consumers_t *self, const struct consumers_answer *answer)
{
    struct durable *one = answer->no != 0 ? consumers_of(self, answer->no) : NULL;
    if (!one)
        return;
    if (answer->letter[0] != '\0') {
        consumers_return_unsent(one, answer->letter);
        return;
    }
    consumer_unsent(&one->core, answer->instance, answer->first, answer->last,
                    tracker_now(self->tracker).run_ms);
    consumers_touch(self, one);
}

/* An answer on its way. */
struct consumers_parcel {
    consumers_t *consumers;
    struct consumers_answer answer;
};

static void consumers_sent(void *arg, bool sent)
{
    struct consumers_parcel *parcel = arg;
    if (!sent)
        consumers_unsent(parcel->consumers, &parcel->answer);
    free(parcel);
}

static void consumers_send(consumers_t *self, struct consumers_answer *answer)
{
    struct consumers_parcel *parcel = zmalloc(sizeof *parcel);
    *parcel = (struct consumers_parcel){.consumers = self, .answer = *answer};
    answer->msg = NULL;
    feed_send_then(self->tracker->feed, &parcel->answer.msg, consumers_sent, parcel);
}

void consumers_tell(consumers_t *self)
{
    if (!self)
        return;
    size_t count = self->answer_count;
    self->owed = false;
    for (size_t i = 0; i < count; i++)
        consumers_send(self, &self->answers[i]);
    self->answer_count = 0;
    if (count == 0 && !self->woken && self->told_seq == self->tracker->vault.last_seq)
        return;
    self->woken = false;
    self->told_seq = self->tracker->vault.last_seq;
    for (size_t i = 0; i < self->count; i++)
        consumers_serve(self, self->list[i]);
}

/* ---- what is kept ---- */

uint64_t consumers_owed(const consumers_t *self)
{
    uint64_t owed = 0;
    for (size_t i = 0; self && i < self->count; i++)
        if (owed == 0 || self->list[i]->written < owed - 1)
            owed = self->list[i]->written + 1;
    return owed;
}

void consumers_purged(consumers_t *self)
{
    if (!self || self->count == 0)
        return;
    uint64_t kept = vault_seq_kept(&self->tracker->vault);
    for (size_t i = 0; i < self->count; i++) {
        struct durable *one = self->list[i];
        if (!consumer_purged(&one->core, kept))
            continue;
        ald_log(ALD_WARN, "consumer.gap",
                "consumer=%s seq=%" PRIu64 " text=\"events up to this were deleted before it had "
                "settled them: see store.max_lag\"",
                one->name, kept);
        consumers_touch(self, one);
    }
}

/* ---- at the start ---- */

static void consumers_read_row(void *arg, const struct vault_consumer *row)
{
    consumers_t *self = arg;
    const struct vault *vault = &self->tracker->vault;
    struct consumer_rules rules;
    const bool sound =
        consumer_rules_bound(row->ordered, (int64_t)row->max_deliver, row->ack_wait_ms,
                             (int64_t)row->max_ack_pending, &rules);
    struct durable *one = zmalloc(sizeof *one);
    one->no = row->no;
    one->made_ms = row->made_ms;
    ald_text_cut(one->name, sizeof one->name, row->name);
    ald_text_cut(one->provider, sizeof one->provider, row->provider);
    ald_text_cut(one->state, sizeof one->state, row->state);
    if (!sound)
        ald_log(ALD_ERROR, "consumer.rules",
                "consumer=%s text=\"its row has rules that nobody may ask for; the nearest are "
                "used\"",
                one->name);
    consumer_init(&one->core, &rules, row->lane, row->handed);
    one->core.gap = row->gap_before;
    one->core.gap_why = (enum consumer_gap)row->gap_why;
    one->core.rejected = row->rejected;
    if (consumer_unpack(&one->core, row->flight) != ALD_OK) {
        ald_log(ALD_ERROR, "consumer.flight",
                "consumer=%s text=\"what it had in hand cannot be "
                "read; all after its floor is handed out again\"",
                one->name);
        one->core.handed = row->floor;
        consumers_touch(self, one);
    }
    if (row->lane != vault->lane) {
        consumer_lane(&one->core, vault->lane, vault->last_seq);
        consumers_touch(self, one);
    }
    one->written = row->floor;
    consumers_add(self, one);
}

void consumers_back(consumers_t *self)
{
    if (!self)
        return;
    ald_metric_register(&consumers_rejected);
    vault_each_consumer(&self->tracker->vault, consumers_read_row, self);
    consumers_returns_back(self);
    consumers_purged(self);
    self->told_seq = self->tracker->vault.last_seq;
}

#include "services/dlq/reinject.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/courier.h"
#include "services/dlq/meters.h"

enum {
    REINJECT_FIRST = 4, /* at once, after the tracker was away */
    REINJECT_ACKS = 256,
    REINJECT_RESEND_MS = 10000,
    REINJECT_UNDER_WAY_BYTES = 16 << 20,
    REINJECT_WAKE_MS = 1
};

struct reinject {
    shelf_t *shelf;
    const copy_t *copy;
    const struct letter_plan *plan;
    zloop_t *loop;
    ald_courier_t *courier;
    struct msg_ack acks[REINJECT_ACKS]; /* answered, not on disk yet */
    size_t ack_count;
    unsigned window; /* attempts that may be under way */
    uint64_t floor;  /* as last read */
    int wake;        /* timer of the next sweep, -1 = none */
    bool draining;
};

static int reinject_woken(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    reinject_t *self = arg;
    self->wake = -1;
    reinject_sweep(self);
    return 0;
}

static void reinject_wake(reinject_t *self)
{
    if (self->wake < 0)
        self->wake = zloop_timer(self->loop, REINJECT_WAKE_MS, 1, reinject_woken, self);
}

/* ---- answers ---- */

/* The tracker may have found that the letter is one for another reason than it was made for. */
static enum ald_rc reinject_turn(reinject_t *self, struct shelf_row *row, const struct msg_ack *ack)
{
    struct shelf_turn turn = {.cause = ack->cause, .task = ack->task};
    if (ack->cause[0] == '\0' || !ald_reason_find(ack->reason, &turn.reason) ||
        turn.reason == ALD_REASON_NONE)
        return ALD_OK;
    /* Another message was put in its place meanwhile, and a conflict is not judged again. */
    if (turn.reason == ALD_REASON_CONFLICT && row->letter.revision != row->letter.pinned)
        return ALD_OK;
    const enum ald_reason was = row->letter.reason;
    enum ald_rc rc = shelf_turn(self->shelf, row, &turn);
    if (rc == ALD_OK && row->letter.reason != was)
        ald_log(ALD_INFO, "letter.turned", "letter=%s reason=%s was=%s", row->id,
                ald_reason_name(row->letter.reason), ald_reason_name(was));
    return rc;
}

static enum ald_rc reinject_answered(reinject_t *self, struct shelf_row *row,
                                     const struct msg_ack *ack)
{
    enum ald_disposition disposition = ALD_DISP_STILL;
    uint64_t random = 0;
    ald_random(&random, sizeof random);
    if (!ald_disposition_find(ack->disposition, &disposition))
        disposition = ALD_DISP_STILL;
    uint64_t revision = row->letter.pinned;
    bool closed = letter_closed(row->letter.state); /* by the tracker, in the meantime */
    enum ald_rc rc = reinject_turn(self, row, ack);
    if (rc != ALD_OK)
        return rc;
    (void)letter_answer(&row->letter, self->plan, disposition, ald_clock_now().wall_ms, random);
    if (!closed)
        memcpy(row->outcome, ack->disposition, sizeof row->outcome);
    row->by[0] = '\0';
    row->sending = 0;
    struct shelf_attempt end = {.attempt = row->letter.attempts,
                                .revision = revision,
                                .outcome = ack->disposition,
                                .detail = letter_refusal(ack->reason)};
    rc = shelf_attempt_end(self->shelf, row->id, &end);
    return rc == ALD_OK ? shelf_update(self->shelf, row) : rc;
}

/* *reason: of the letter whose attempt was answered; NONE when the number was a closing's or is
 * settled already. */
static enum ald_rc reinject_apply(reinject_t *self, const struct msg_ack *ack,
                                  enum ald_reason *reason)
{
    struct shelf_row row;
    *reason = ALD_REASON_NONE;
    enum ald_rc rc = browse_find_number(self->shelf, ack->num, &row);
    if (rc == ALD_NOTFOUND)
        return ALD_OK;
    if (rc != ALD_OK)
        return rc;
    if (row.closing == ack->num) {
        row.closing = 0;
        return shelf_update(self->shelf, &row);
    }
    *reason = row.letter.reason;
    rc = reinject_answered(self, &row, ack);
    if (rc == ALD_OK)
        ald_log(ALD_INFO, "letter.answered",
                "letter=%s reason=%s attempt=%" PRIu64 " outcome=%s state=%s", row.id,
                ald_reason_name(row.letter.reason), row.letter.attempts, ALD_Q(ack->disposition),
                letter_state_name(row.letter.state));
    return rc;
}

static enum ald_rc reinject_apply_all(reinject_t *self, enum ald_reason *reasons)
{
    enum ald_rc rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < self->ack_count && rc == ALD_OK; i++)
        rc = reinject_apply(self, &self->acks[i], &reasons[i]);
    if (rc == ALD_OK)
        return shelf_commit(self->shelf);
    shelf_rollback(self->shelf);
    return rc;
}

/* Put the answers on disk. What does not get there is sent again, and answered alike.
 * false: the shelf can't write just now. */
static bool reinject_settle(reinject_t *self)
{
    enum ald_reason reasons[REINJECT_ACKS];
    if (self->ack_count == 0)
        return true;
    enum ald_rc rc = reinject_apply_all(self, reasons);
    for (size_t i = 0; i < self->ack_count && rc == ALD_OK; i++) {
        if (reasons[i] == ALD_REASON_NONE)
            continue;
        meters_reinjected(reasons[i], self->acks[i].disposition);
        if (self->window < REINJECT_MAX)
            self->window++;
    }
    if (rc != ALD_OK)
        ald_log(ALD_ERROR, "letter.unsettled", "answers=%zu rc=%s", self->ack_count,
                ald_rc_name(rc));
    self->ack_count = 0;
    return rc == ALD_OK;
}

static void reinject_queue(reinject_t *self, const struct msg_ack *ack)
{
    if (self->ack_count == REINJECT_ACKS)
        (void)reinject_settle(self);
    self->acks[self->ack_count++] = *ack;
    reinject_wake(self);
}

static void reinject_settled(void *arg, void *tag, const struct msg_ack *ack)
{
    (void)tag;
    reinject_queue(arg, ack);
}

static void reinject_head(void *arg, struct msg_batch *head)
{
    reinject_t *self = arg;
    if (browse_floor(self->shelf, &head->floor) == ALD_OK)
        self->floor = head->floor;
    head->floor = self->floor;
}

static void reinject_welcome(void *arg, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg)
{
    (void)welcome, (void)msg;
    reinject_t *self = arg;
    if (fresh)
        self->window = REINJECT_FIRST;
    reinject_wake(self);
}

/* ---- sending ---- */

/* Answer for the tracker: this attempt can't be judged. */
static void reinject_give_up(reinject_t *self, uint64_t num, const char *outcome,
                             const char *detail)
{
    struct msg_ack ack = {.num = num};
    ald_text_cut(ack.disposition, sizeof ack.disposition, ald_span_str(outcome));
    ald_text_cut(ack.reason, sizeof ack.reason, ald_span_str(detail));
    reinject_queue(self, &ack);
}

static void reinject_oversized(void *arg, uint64_t num, void *tag, struct ald_span bytes)
{
    (void)tag, (void)bytes;
    reinject_give_up(arg, num, "refused", "oversized");
}

static bool reinject_room(const reinject_t *self)
{
    return ald_courier_bytes(self->courier) < REINJECT_UNDER_WAY_BYTES;
}

static void reinject_post(reinject_t *self, uint64_t num, const struct ald_schema *schema,
                          const void *msg)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, ALD_ITEM_MAX);
    enum ald_rc rc = ald_wire_encode(schema, msg, &bytes);
    ALD_FAILPOINT_STEP("reinject.send");
    if (rc == ALD_OK)
        rc = ald_courier_add(self->courier, num, ald_buf_span(&bytes), NULL);
    if (rc != ALD_OK)
        reinject_oversized(self, num, NULL, ald_span_of(NULL, 0));
    ald_buf_free(&bytes);
}

/* When the attempt began, if the tracker has to know. */
static int64_t reinject_asked(const reinject_t *self, const struct shelf_row *row)
{
    int64_t at_ms = 0;
    if (row->letter.word == LETTER_BUY &&
        browse_attempt_at(self->shelf, row->id, row->letter.attempts, &at_ms) != ALD_OK)
        at_ms = 0;
    return at_ms;
}

static void reinject_post_attempt(reinject_t *self, const struct shelf_row *row)
{
    struct ald_buf original;
    ald_buf_init(&original, ALD_ITEM_MAX);
    enum ald_rc rc = browse_original(self->shelf, row->id, row->letter.pinned, &original);
    if (rc == ALD_NOTFOUND && row->letter.empty && row->letter.word == LETTER_BUY)
        rc = ALD_OK; /* there is none, and none is needed */
    if (rc == ALD_OK && ald_buf_ok(&original)) {
        struct msg_reinject msg = {.num = row->sending,
                                   .attempt = row->letter.attempts,
                                   .revision = row->letter.pinned,
                                   .by_person = row->letter.by_person,
                                   .believe = row->letter.word == LETTER_BELIEVE,
                                   .buy = row->letter.word == LETTER_BUY,
                                   .publish = row->letter.word == LETTER_PUBLISH,
                                   .asked_at_ms = reinject_asked(self, row),
                                   .original = ald_buf_span(&original)};
        memcpy(msg.letter, row->id, sizeof msg.letter);
        ald_text_cut(msg.reason, sizeof msg.reason,
                     ald_span_str(ald_reason_name(row->letter.reason)));
        reinject_post(self, row->sending, &MSG_REINJECT, &msg);
    } else if (rc == ALD_CORRUPT || rc == ALD_NOTFOUND) {
        ald_log(ALD_ERROR, "letter.corrupt", "letter=%s revision=%" PRIu64 " rc=%s", row->id,
                row->letter.pinned, ald_rc_name(rc));
        reinject_give_up(self, row->sending, "corrupt", "the stored message is damaged");
    }
    ald_buf_free(&original);
}

static void reinject_post_closing(reinject_t *self, const struct shelf_row *row)
{
    struct msg_closing msg = {.num = row->closing, .at_ms = row->letter.closed_at_ms};
    memcpy(msg.letter, row->id, sizeof msg.letter);
    ald_text_cut(msg.state, sizeof msg.state, ald_span_str(letter_state_name(row->letter.state)));
    reinject_post(self, row->closing, &MSG_CLOSING, &msg);
}

/* Hand the courier what the disk says is under way and it does not hold. */
static void reinject_resume(reinject_t *self, const struct browse_ids *ids)
{
    struct shelf_row row;
    for (size_t i = 0; i < ids->count && reinject_room(self); i++) {
        if (browse_find(self->shelf, ids->id[i], &row) != ALD_OK)
            return;
        if (row.sending != 0 && !ald_courier_holds(self->courier, row.sending))
            reinject_post_attempt(self, &row);
        if (row.closing != 0 && !ald_courier_holds(self->courier, row.closing))
            reinject_post_closing(self, &row);
    }
}

static enum ald_rc reinject_begin_one(reinject_t *self, const char *id, int64_t now_ms)
{
    struct shelf_row row;
    enum ald_rc rc = browse_find(self->shelf, id, &row);
    if (rc != ALD_OK || !letter_begin(&row.letter, now_ms))
        return rc;
    row.sending = shelf_number(self->shelf);
    struct shelf_attempt attempt = {.attempt = row.letter.attempts,
                                    .revision = row.letter.pinned,
                                    .at_ms = now_ms,
                                    .by = row.letter.by_person ? row.by : "schedule",
                                    .outcome = "",
                                    .detail = "",
                                    .replay = row.replay};
    rc = shelf_attempt_begin(self->shelf, id, &attempt);
    return rc == ALD_OK ? shelf_update(self->shelf, &row) : rc;
}

/* Begin up to room due attempts, on disk. */
static enum ald_rc reinject_begin(reinject_t *self, size_t room, struct browse_ids *ids)
{
    int64_t now_ms = ald_clock_now().wall_ms;
    ids->count = 0;
    enum ald_rc rc = browse_due(self->shelf, now_ms, room, ids);
    if (rc != ALD_OK || ids->count == 0)
        return rc;
    rc = shelf_begin(self->shelf);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < ids->count && rc == ALD_OK; i++)
        rc = reinject_begin_one(self, ids->id[i], now_ms);
    if (rc == ALD_OK)
        return shelf_commit(self->shelf);
    shelf_rollback(self->shelf);
    return rc;
}

static bool reinject_present(const reinject_t *self)
{
    return !ald_courier_away(self->courier) && ald_courier_receiver(self->courier)[0] != '\0';
}

void reinject_sweep(reinject_t *self)
{
    struct browse_ids ids;
    if (!shelf_ready(self->shelf)) {
        self->ack_count = 0;
        return;
    }
    if (!reinject_settle(self))
        return;
    if (!reinject_present(self)) {
        self->window = REINJECT_FIRST;
        return;
    }
    if (self->draining || copy_holds(self->copy) || browse_sending(self->shelf, &ids) != ALD_OK)
        return;
    reinject_resume(self, &ids);
    size_t under_way = ids.count;
    if (browse_closing(self->shelf, &ids) == ALD_OK)
        reinject_resume(self, &ids);
    if (under_way < self->window && reinject_room(self) &&
        reinject_begin(self, self->window - under_way, &ids) == ALD_OK)
        reinject_resume(self, &ids);
    ald_courier_flush(self->courier);
}

void reinject_drain(reinject_t *self)
{
    self->draining = true;
}

bool reinject_idle(const reinject_t *self)
{
    return !reinject_present(self) ||
           (ald_courier_items(self->courier) == 0 && self->ack_count == 0);
}

enum ald_rc reinject_new(zloop_t *loop, const struct reinject_options *options, reinject_t **out,
                         struct ald_err *err)
{
    reinject_t *self = zmalloc(sizeof *self);
    self->shelf = options->shelf;
    self->copy = options->copy;
    self->plan = options->plan;
    self->loop = loop;
    self->window = REINJECT_FIRST;
    self->floor = 1;
    self->wake = -1;
    struct ald_courier_options courier = {.endpoint = options->endpoint,
                                          .role = "dlq",
                                          .sender = shelf_sender(options->shelf),
                                          .instance = options->instance,
                                          .heartbeat_ms = options->heartbeat_ms,
                                          .resend_after_ms = REINJECT_RESEND_MS,
                                          .self = self,
                                          .on_settled = reinject_settled,
                                          .on_oversized = reinject_oversized,
                                          .on_head = reinject_head,
                                          .on_welcome = reinject_welcome};
    enum ald_rc rc = ald_courier_new(loop, &courier, &self->courier, err);
    if (rc != ALD_OK)
        reinject_destroy(&self);
    *out = self;
    return rc;
}

void reinject_destroy(reinject_t **self_p)
{
    reinject_t *self = *self_p;
    if (self == NULL)
        return;
    if (self->wake >= 0)
        (void)zloop_timer_end(self->loop, self->wake);
    ald_courier_destroy(&self->courier);
    free(self);
    *self_p = NULL;
}

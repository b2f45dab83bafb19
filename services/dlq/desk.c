#include "services/dlq/desk.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/dlq/answers.h"
#include "services/dlq/browse.h"
#include "services/dlq/intake.h"
#include "services/dlq/meters.h"

enum {
    DESK_TURN = 64, /* messages before the loop's other work has its turn */
    DESK_FULL_LOG_MS = 10000
};

struct desk {
    struct desk_options options;
    zloop_t *loop;
    ald_sock_t *sock;
    struct msg_ack *acks; /* of the batch in hand */
    bool draining;
    bool full;
    int64_t full_logged_ms;
};

/* ---- answering ---- */

/* Send msg to who; both are gone afterwards. A peer that left misses its answer. */
static void desk_send(desk_t *self, zframe_t **who_p, zmsg_t **msg_p)
{
    (void)zmsg_prepend(*msg_p, who_p);
    if (ALD_SOCK_SEND("desk.answer", self->sock, msg_p) != ALD_OK)
        zmsg_destroy(msg_p);
}

static void desk_hello(desk_t *self, zframe_t **who_p, struct ald_span head, zmsg_t *rest)
{
    struct msg_hello hello;
    (void)rest;
    if (ald_wire_decode(&MSG_HELLO, &hello, head) != ALD_OK) {
        meters_garbage();
        return;
    }
    if (!shelf_ready(self->options.shelf))
        return;
    struct msg_welcome welcome = {.max_item = self->options.max_item_bytes};
    ald_text_cut(welcome.instance, sizeof welcome.instance,
                 ald_span_str(shelf_run(self->options.shelf)));
    zmsg_t *msg = zmsg_new();
    if (ald_frame_add(msg, &MSG_WELCOME, &welcome) == ALD_OK)
        desk_send(self, who_p, &msg);
    zmsg_destroy(&msg);
}

/* ---- letters in ---- */

static enum ald_rc desk_take(desk_t *self, const struct msg_batch *head, zmsg_t *items,
                             size_t *count)
{
    struct intake intake = {.shelf = self->options.shelf,
                            .plan = self->options.plan,
                            .max_item_bytes = self->options.max_item_bytes,
                            .sender = head->sender,
                            .floor = head->floor,
                            .now_ms = ald_clock_now().wall_ms};
    enum ald_rc rc = shelf_begin(self->options.shelf);
    if (rc != ALD_OK)
        return rc;
    rc = shelf_floor_note(self->options.shelf, head->sender, head->floor);
    zframe_t *item = zmsg_first(items);
    for (; item != NULL && *count < INTAKE_ITEMS && rc == ALD_OK; item = zmsg_next(items)) {
        rc = intake_take(&intake, ald_frame_span(item), &self->acks[*count]);
        if (self->acks[*count].num != 0)
            ++*count;
        else
            meters_garbage();
    }
    if (rc == ALD_OK)
        return shelf_commit(self->options.shelf);
    shelf_rollback(self->options.shelf);
    return rc;
}

/* The numbers of a batch that could not be kept, each `busy`. */
static size_t desk_busy(desk_t *self, zmsg_t *items)
{
    size_t count = 0;
    zframe_t *item = zmsg_first(items);
    for (; item != NULL && count < INTAKE_ITEMS; item = zmsg_next(items)) {
        struct msg_ack *ack = &self->acks[count];
        if (intake_number(ald_frame_span(item), ack) != ALD_OK)
            continue;
        ald_text_cut(ack->disposition, sizeof ack->disposition,
                     ald_span_str(ald_disposition_name(ALD_DISP_BUSY)));
        count++;
    }
    return count;
}

static void desk_acknowledge(desk_t *self, zframe_t **who_p, uint64_t batch, size_t count)
{
    struct msg_acks head = {.batch = batch};
    ald_text_cut(head.instance, sizeof head.instance, ald_span_str(shelf_run(self->options.shelf)));
    zmsg_t *msg = zmsg_new();
    enum ald_rc rc = ald_frame_add(msg, &MSG_ACKS, &head);
    for (size_t i = 0; i < count && rc == ALD_OK; i++)
        rc = ald_frame_add(msg, &MSG_ACK, &self->acks[i]);
    if (rc == ALD_OK)
        desk_send(self, who_p, &msg);
    zmsg_destroy(&msg);
}

static void desk_count(const desk_t *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct msg_ack *ack = &self->acks[i];
        enum ald_disposition disposition;
        if (!ald_disposition_find(ack->disposition, &disposition))
            disposition = ALD_DISP_REFUSED;
        meters_received(disposition);
        if (disposition == ALD_DISP_REFUSED)
            ald_log(ALD_ERROR, "letter.refused", "num=%" PRIu64 " reason=%s", ack->num,
                    ack->reason);
    }
}

static void desk_say_full(desk_t *self, enum ald_rc rc)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    self->full = true;
    if (self->full_logged_ms != 0 && now_ms - self->full_logged_ms < DESK_FULL_LOG_MS)
        return;
    self->full_logged_ms = now_ms;
    ald_log(ALD_ERROR, "letters.unkept", "rc=%s text=\"letters wait at their sender\"",
            ald_rc_name(rc));
}

static void desk_batch(desk_t *self, zframe_t **who_p, struct ald_span bytes, zmsg_t *items)
{
    struct msg_batch head;
    if (ald_wire_decode(&MSG_BATCH, &head, bytes) != ALD_OK || !intake_id_ok(head.sender)) {
        meters_garbage();
        return;
    }
    if (!shelf_ready(self->options.shelf))
        return;
    size_t count = 0;
    bool shut = self->draining || copy_holds(self->options.copy);
    enum ald_rc rc = shut ? ALD_CLOSED : desk_take(self, &head, items, &count);
    if (rc == ALD_OK) {
        self->full = false;
        desk_count(self, count);
        desk_acknowledge(self, who_p, head.batch, count);
        return;
    }
    if (!shelf_ready(self->options.shelf))
        return;
    if (rc != ALD_CLOSED)
        desk_say_full(self, rc);
    desk_acknowledge(self, who_p, head.batch, desk_busy(self, items));
}

/* ---- questions ---- */

/* A person's command would pass to the tracker, and the copy would not know of it. */
static bool desk_refused_by_hold(desk_t *self, zframe_t **who_p, struct ald_span head)
{
    struct msg_letter_ref ask;
    if (!copy_holds(self->options.copy) ||
        (ald_wire_decode(&MSG_LETTER_REPLAY, &ask, head) != ALD_OK &&
         ald_wire_decode(&MSG_LETTER_DROP, &ask, head) != ALD_OK))
        return false;
    zmsg_t *msg = answers_plain(ask.req, ALD_AGAIN, "A backup is under way: try again after it.");
    desk_send(self, who_p, &msg);
    return true;
}

static void desk_question(desk_t *self, zframe_t **who_p, struct ald_span head, zmsg_t *rest)
{
    (void)rest;
    if (desk_refused_by_hold(self, who_p, head))
        return;
    struct answers ask = {.shelf = self->options.shelf,
                          .now_ms = ald_clock_now().wall_ms,
                          .replay_note = runner_note(self->options.runner)};
    zmsg_t *msg = answers_of(&ask, head);
    if (msg == NULL) {
        meters_garbage();
        return;
    }
    desk_send(self, who_p, &msg);
    if (ask.work)
        self->options.on_work(self->options.context);
    if (ask.replays)
        runner_wake(self->options.runner);
}

/* Who waits for a copy, or for the tracker's word on a letter. */
struct desk_waiter {
    desk_t *desk;
    zframe_t *who;
    uint64_t req;
    char letter[ALD_ULID_MAX];
};

static zmsg_t *desk_judgement(struct desk_waiter *waiter, enum ald_rc rc,
                              const struct msg_judged *judged)
{
    struct shelf_row row;
    if (rc == ALD_TIMEOUT || rc == ALD_AGAIN || rc == ALD_FULL)
        return answers_plain(waiter->req, ALD_AGAIN,
                             "The tracker does not answer, so nobody can say; nothing was done.");
    if (rc == ALD_CORRUPT || rc == ALD_NOTFOUND)
        return answers_plain(waiter->req, ALD_INVALID, "The stored message is damaged.");
    if (rc == ALD_OK)
        rc = browse_find(waiter->desk->options.shelf, waiter->letter, &row);
    if (rc != ALD_OK)
        return answers_rc(waiter->req, rc);
    zmsg_t *msg = zmsg_new();
    answers_view(msg, &row, ald_span_of(NULL, 0), 0);
    ald_frame_put(msg, &MSG_JUDGED, judged);
    return answers_head(msg, waiter->req, "ok", "", "");
}

static void desk_judged(void *context, enum ald_rc rc, const struct msg_judged *judged)
{
    struct desk_waiter *waiter = context;
    zmsg_t *msg = desk_judgement(waiter, rc, judged);
    desk_send(waiter->desk, &waiter->who, &msg);
    zframe_destroy(&waiter->who);
    free(waiter);
}

static void desk_judge(desk_t *self, zframe_t **who_p, struct ald_span head, zmsg_t *rest)
{
    (void)rest;
    struct msg_letter_ref ask;
    struct shelf_row row;
    if (ald_wire_decode(&MSG_LETTER_JUDGE, &ask, head) != ALD_OK) {
        meters_garbage();
        return;
    }
    enum letter_word word;
    bool one = letter_word_said(ask.believe, ask.buy, ask.publish, &word);
    enum ald_rc rc = browse_find(self->options.shelf, ask.letter, &row);
    if (rc != ALD_OK || !one) {
        zmsg_t *msg = rc != ALD_OK
                          ? answers_rc(ask.req, rc)
                          : answers_plain(ask.req, ALD_INVALID,
                                          letter_why(LETTER_NOT_FORGED, row.letter.reason));
        desk_send(self, who_p, &msg);
        return;
    }
    struct desk_waiter *waiter = zmalloc(sizeof *waiter);
    *waiter = (struct desk_waiter){.desk = self, .who = *who_p, .req = ask.req};
    memcpy(waiter->letter, row.id, sizeof waiter->letter);
    *who_p = NULL;
    if (judger_ask(self->options.judger, &row, word, desk_judged, waiter) != ALD_OK)
        desk_judged(waiter, ALD_FULL, NULL);
}

static void desk_copied(void *context, enum ald_rc rc, const struct ald_err *err)
{
    struct desk_waiter *waiter = context;
    zmsg_t *msg = answers_plain(waiter->req, rc, rc == ALD_OK ? "" : err->text);
    desk_send(waiter->desk, &waiter->who, &msg);
    free(waiter);
}

/* Of a copy that was begun before. */
static void desk_hold(desk_t *self, zframe_t **who_p, const struct msg_backup *ask)
{
    struct ald_err err = {0};
    enum ald_rc rc = ask->release ? copy_release(self->options.copy, ask->hold, &err)
                                  : copy_renew(self->options.copy, ask, &err);
    zmsg_t *msg = answers_plain(ask->req, rc, err.text);
    desk_send(self, who_p, &msg);
    if (ask->release && rc == ALD_OK)
        self->options.on_work(self->options.context);
}

static void desk_backup(desk_t *self, zframe_t **who_p, struct ald_span head, zmsg_t *rest)
{
    (void)rest;
    struct msg_backup ask;
    if (ald_wire_decode(&MSG_BACKUP, &ask, head) != ALD_OK) {
        meters_garbage();
        return;
    }
    if (ask.release || ask.again) {
        desk_hold(self, who_p, &ask);
        return;
    }
    struct ald_err err = {0};
    struct desk_waiter *waiter = zmalloc(sizeof *waiter);
    *waiter = (struct desk_waiter){.desk = self, .who = *who_p, .req = ask.req};
    enum ald_rc rc = copy_begin(self->options.copy, &ask, desk_copied, waiter, &err);
    if (rc == ALD_OK) {
        *who_p = NULL;
        return;
    }
    free(waiter);
    zmsg_t *msg = answers_plain(ask.req, rc, err.text);
    desk_send(self, who_p, &msg);
}

/* ---- the channel ---- */

/* rest holds the frames after the head. A handler that answers takes who. */
typedef void desk_handler(desk_t *self, zframe_t **who_p, struct ald_span head, zmsg_t *rest);

static const struct {
    const struct ald_schema *schema;
    desk_handler *handler;
} desk_kinds[] = {
    {&MSG_BATCH, desk_batch},
    {&MSG_HELLO, desk_hello},
    {&MSG_LETTERS, desk_question},
    {&MSG_LETTER_SHOW, desk_question},
    {&MSG_LETTER_REPLAY, desk_question},
    {&MSG_LETTER_DROP, desk_question},
    {&MSG_LETTER_EDIT, desk_question},
    {&MSG_LETTER_JUDGE, desk_judge},
    {&MSG_LETTER_GROUPS, desk_question},
    {&MSG_REPLAY_START, desk_question},
    {&MSG_REPLAY_SHOW, desk_question},
    {&MSG_REPLAY_LIST, desk_question},
    {&MSG_REPLAY_PAUSE, desk_question},
    {&MSG_REPLAY_RESUME, desk_question},
    {&MSG_REPLAY_CANCEL, desk_question},
    {&MSG_STATUS, desk_question},
    {&MSG_BACKUP, desk_backup},
};

static void desk_message(desk_t *self, zframe_t **who_p, zframe_t *head, zmsg_t *rest)
{
    struct ald_span bytes = ald_frame_span(head);
    for (size_t i = 0; i < ALD_COUNT(desk_kinds); i++)
        if (ald_wire_is(desk_kinds[i].schema, bytes)) {
            desk_kinds[i].handler(self, who_p, bytes, rest);
            return;
        }
    meters_garbage();
}

static int desk_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    desk_t *self = arg;
    for (unsigned turn = 0; turn < DESK_TURN; turn++) {
        zmsg_t *msg = ald_sock_recv(self->sock);
        if (msg == NULL)
            break;
        zframe_t *who = zmsg_pop(msg);
        zframe_t *head = zmsg_pop(msg);
        if (who != NULL && head != NULL)
            desk_message(self, &who, head, msg);
        else
            meters_garbage();
        zframe_destroy(&who);
        zframe_destroy(&head);
        zmsg_destroy(&msg);
    }
    return 0;
}

enum ald_rc desk_new(zloop_t *loop, const struct desk_options *options, desk_t **out,
                     struct ald_err *err)
{
    desk_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->loop = loop;
    self->acks = zmalloc(INTAKE_ITEMS * sizeof *self->acks);
    struct ald_sock_options sock = {.type = ZMQ_ROUTER,
                                    .max_frame = (int64_t)self->options.max_item_bytes,
                                    .heartbeat_ms = options->heartbeat_ms};
    *out = self;
    enum ald_rc rc = ald_sock_bind(&sock, options->endpoint, &self->sock, err);
    if (rc != ALD_OK) {
        desk_destroy(out);
        return rc;
    }
    ald_sock_watch(self->sock, loop, desk_read, self);
    return ALD_OK;
}

void desk_destroy(desk_t **self_p)
{
    desk_t *self = *self_p;
    if (self == NULL)
        return;
    ald_sock_destroy(&self->sock);
    free(self->acks);
    free(self);
    *self_p = NULL;
}

void desk_drain(desk_t *self)
{
    self->draining = true;
}

bool desk_full(const desk_t *self)
{
    return self->full;
}

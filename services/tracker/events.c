#include "services/tracker/events.h"

#include <inttypes.h>

#include "common/base/bug.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/net/gate.h"
#include "proto/channels.h"
#include "proto/joined.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/feed.h"
#include "services/tracker/inbox.h"
#include "services/tracker/jwks.h"
#include "services/tracker/keep.h"
#include "services/tracker/outbox.h"

static struct ald_metric events_garbage = {
    .kind = ALD_COUNTER,
    .name = "aldaba_tracker_garbage_total",
    .help = "Messages on the events channel that could not be read."};

static struct ald_metric events_received = {.kind = ALD_COUNTER,
                                            .name = "aldaba_tracker_items_total",
                                            .help =
                                                "Callbacks, re-injections and closings acted on."};

static struct ald_metric events_alone = {
    .kind = ALD_COUNTER,
    .name = "aldaba_consumer_commits_total",
    .help = "Transactions that were made for consumers alone, with no callback waiting."};

enum { EVENTS_WAIT_MS = 20 };

struct events {
    struct tracker *tracker;
    ald_sock_t *sock;
    struct inbox inbox;
};

static void events_renumber(events_t *self, zframe_t *who, const struct sender *sender);

/* The gateway of this id, on record from its first word on: after a start we wait for what all of
 * them have in their spools. NULL: too many, or it is not to be believed and was told so. */
static struct sender *events_sender(events_t *self, zframe_t *who, const char *id,
                                    const char *instance, uint64_t floor)
{
    struct tracker *tracker = self->tracker;
    struct sender *sender = senders_get(tracker->senders, id);
    if (!sender)
        return NULL;
    if (!sender_speaks(sender, instance)) {
        events_renumber(self, who, sender);
        return NULL;
    }
    ald_window_raise(&sender->window, floor);
    if (sender->heard_at_ms == 0) {
        keep_sender(tracker, sender);
        senders_moved(tracker->senders, sender, instance);
    }
    sender->heard_at_ms = tracker_now(tracker).wall_ms;
    return sender;
}

/* What a gateway is welcomed with. */
static void events_welcome(events_t *self, zframe_t **who_p, const struct sender *sender,
                           uint64_t has, bool renumber)
{
    struct tracker *tracker = self->tracker;
    const struct ald_keys *keys = &tracker->keys;
    struct msg_welcome welcome = {.max_item = ALD_ITEM_MAX,
                                  .keys = ald_span_of(keys->record, keys->count * ALD_KEY_RECORD),
                                  .jwks = jwks_number(tracker->jwks),
                                  .joined = true,
                                  .seen = sender_highest(sender),
                                  .renumber = renumber};
    ald_text_cut(welcome.instance, sizeof welcome.instance,
                 ald_span_str(ald_service_instance(tracker->service)));
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, who_p);
    ald_frame_put(answer, &MSG_WELCOME, &welcome);
    if (has != 0 && has != welcome.jwks) /* an older gateway does not say, and takes none */
        jwks_tell(tracker->jwks, answer);
    if (ALD_SOCK_SEND("events.welcome", self->sock, &answer) != ALD_OK)
        zmsg_destroy(&answer); /* it is gone, and will ask again */
}

/* Nothing of what it says is taken: it says all of it again, by its new id. */
static void events_renumber(events_t *self, zframe_t *who, const struct sender *sender)
{
    ald_log(
        ALD_ERROR, "events.copied",
        "sender=%s text=\"two gateways speak by one spool's id: one of the spools is a copy; the "
        "older run takes another id\"",
        sender->id);
    zframe_t *again = zframe_dup(who);
    events_welcome(self, &again, sender, 0, true);
}

/* A gateway misses keys of this provider. It counts when it has the ones that were fetched last. */
static void events_missed(events_t *self, uint64_t has, const char *provider)
{
    if (provider[0] != '\0' && has == jwks_number(self->tracker->jwks))
        jwks_missed(self->tracker->jwks, provider);
}

static void events_hello(events_t *self, zframe_t **who_p, const struct msg_hello *hello)
{
    struct tracker *tracker = self->tracker;
    if (strcmp(hello->role, "gateway") == 0) {
        struct sender *sender =
            events_sender(self, *who_p, hello->sender, hello->instance, hello->floor);
        if (!sender)
            return;
        senders_told(tracker->senders, sender, hello->spool_oldest_ms, hello->spool_items,
                     tracker_now(tracker).run_ms);
        events_missed(self, hello->jwks, hello->lacks);
        events_welcome(self, who_p, sender, hello->jwks, false);
        return;
    }
    struct msg_welcome welcome = {.max_item = ALD_ITEM_MAX, .joined = true};
    ald_text_cut(welcome.instance, sizeof welcome.instance,
                 ald_span_str(ald_service_instance(tracker->service)));
    inbox_welcome(self->sock, who_p, &welcome);
}

/* What a gateway says in the head of a batch. */
static void events_head(events_t *self, zframe_t *who, const struct sender *sender,
                        const struct msg_batch *head)
{
    struct tracker *tracker = self->tracker;
    events_missed(self, head->jwks, head->lacks);
    if (head->jwks == 0 || head->jwks == jwks_number(tracker->jwks))
        return;
    zframe_t *again = zframe_dup(who);
    events_welcome(self, &again, sender, head->jwks, false); /* under load it says no hello */
}

static bool events_item(events_t *self, struct sender *sender, struct ald_span bytes,
                        struct msg_ack *ack)
{
    struct msg_callback callback;
    struct msg_reinject reinject;
    struct msg_closing closing;
    if (sender && ald_wire_decode(&MSG_CALLBACK, &callback, bytes) == ALD_OK)
        act_callback(self->tracker, sender, &callback, bytes, ack);
    else if (ald_wire_decode(&MSG_REINJECT, &reinject, bytes) == ALD_OK)
        act_reinject(self->tracker, &reinject, ack);
    else if (ald_wire_decode(&MSG_CLOSING, &closing, bytes) == ALD_OK)
        act_closing(self->tracker, &closing, ack);
    else
        return false;
    ald_metric_add(&events_received, 1);
    return true;
}

/* The items of one frame. */
static void events_frame(events_t *self, struct sender *sender, struct ald_span left)
{
    struct ald_span item;
    while (ald_joined_next(&left, &item)) {
        struct msg_ack ack = {0};
        ald_gate_turn(self->tracker->gate);
        if (events_item(self, sender, item, &ack))
            inbox_ack(&self->inbox, &ack);
        else
            ald_metric_add(&events_garbage, 1);
    }
}

/* Only gateways send callbacks; the dlq's batches have no spool behind them. */
static bool events_of_gateway(zframe_t *frame)
{
    struct ald_span item = ald_span_of(NULL, 0);
    struct ald_span left = frame ? ald_frame_span(frame) : item;
    return ald_joined_next(&left, &item) && ald_wire_is(&MSG_CALLBACK, item);
}

static void events_batch(events_t *self, zframe_t **who_p, const struct msg_batch *head,
                         zmsg_t *msg)
{
    struct tracker *tracker = self->tracker;
    zframe_t *frame = zmsg_next(msg);
    bool gateway = events_of_gateway(frame);
    struct sender *sender = NULL;
    if (gateway)
        sender = events_sender(self, *who_p, head->sender, head->instance, head->floor);
    if (gateway && !sender)
        return; /* silence makes it spool, or say it again by another id */
    if (sender)
        events_head(self, *who_p, sender, head);
    inbox_begin(&self->inbox, who_p, ald_service_instance(tracker->service), head->batch);
    if (sender) {
        sender->ledger = *head;
        senders_told(tracker->senders, sender, head->spool_oldest_ms, head->spool_items,
                     tracker_now(tracker).run_ms);
    }
    for (; frame; frame = zmsg_next(msg))
        events_frame(self, sender, ald_frame_span(frame));
}

/* One message; true if it was a batch. */
static bool events_message(events_t *self, zmsg_t *msg)
{
    zframe_t *who = zmsg_pop(msg);
    zframe_t *first = zmsg_first(msg);
    struct ald_span bytes = first ? ald_frame_span(first) : ald_span_of(NULL, 0);
    struct msg_batch head;
    struct msg_hello hello;
    bool batch = false;
    if (!self->tracker->open) {
        /* The store is away: silence makes gateways spool. */
    } else if (ald_wire_is(&MSG_BATCH, bytes) &&
               ald_wire_decode(&MSG_BATCH, &head, bytes) == ALD_OK) {
        events_batch(self, &who, &head, msg);
        batch = true;
    } else if (ald_wire_decode(&MSG_HELLO, &hello, bytes) == ALD_OK) {
        events_hello(self, &who, &hello);
    } else {
        ald_metric_add(&events_garbage, 1);
    }
    zframe_destroy(&who);
    return batch;
}

/* The next message of this transaction. While the one before is not on disk, which the commit would
 * have to wait for, more may come. */
static zmsg_t *events_next(events_t *self, bool begun)
{
    struct tracker *tracker = self->tracker;
    for (;;) {
        zmsg_t *msg = ald_sock_recv(self->sock);
        if (msg || !begun || vault_settled(&tracker->vault))
            return msg;
        ald_sock_wait(self->sock, ald_store_settle_fd(tracker->vault.store), EVENTS_WAIT_MS);
        ald_store_settle_heard(tracker->vault.store);
        ald_gate_turn(tracker->gate);
    }
}

/* What has gathered, up to a bound, as one transaction. True: there may be more. */
static bool events_turn(events_t *self)
{
    struct tracker *tracker = self->tracker;
    bool begun = tracker->open && consumers_owe(tracker->consumers);
    zmsg_t *msg = NULL;
    if (begun)
        vault_begin(&tracker->vault);
    while (self->inbox.count < INBOX_MESSAGES && (msg = events_next(self, begun))) {
        if (!begun && tracker->open)
            vault_begin(&tracker->vault);
        begun = begun || tracker->open;
        (void)events_message(self, msg);
        zmsg_destroy(&msg);
    }
    bool full = self->inbox.count == INBOX_MESSAGES;
    if (!begun)
        return false;
    ald_metric_add(&events_alone, self->inbox.count == 0 && consumers_owe(tracker->consumers));
    if (ALD_BUG(ack_before_commit))
        inbox_send(&self->inbox, self->sock);
    if (tracker_commit(tracker))
        inbox_send(&self->inbox, self->sock);
    else
        inbox_forget(&self->inbox);
    return full;
}

void events_drain(events_t *self)
{
    while (events_turn(self))
        ;
}

static int events_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    events_t *self = arg;
    (void)tracker_awake(self->tracker);
    events_drain(self);
    return 0;
}

enum ald_rc events_new(struct tracker *tracker, events_t **out, struct ald_err *err)
{
    ald_sock_t *sock = NULL;
    enum ald_rc rc =
        ald_sock_serve(tracker->settings, ALD_CHANNEL_EVENTS, ZMQ_ROUTER, ALD_ITEM_MAX, &sock, err);
    if (rc != ALD_OK)
        return rc;
    events_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->sock = sock;
    ald_metric_register(&events_garbage);
    ald_metric_register(&events_received);
    ald_metric_register(&events_alone);
    ald_sock_gate(sock, tracker->gate);
    ald_sock_watch(sock, ald_service_loop(tracker->service), events_read, self);
    *out = self;
    return ALD_OK;
}

void events_destroy(events_t **self_p)
{
    events_t *self = *self_p;
    if (!self)
        return;
    inbox_forget(&self->inbox);
    ald_sock_destroy(&self->sock);
    free(self);
    *self_p = NULL;
}

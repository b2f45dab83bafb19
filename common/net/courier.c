#include "common/net/courier.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/alarm.h"
#include "common/net/parcels.h"
#include "proto/joined.h"

enum {
    COURIER_TICK_MS = 25,    /* while something is under way */
    COURIER_HELLO_MS = 500,  /* silence after which we ask whether the receiver is there */
    COURIER_AWAY_MS = 1500,  /* silence after which it is not */
    COURIER_UNMET_MS = 5000, /* time to start, after which it is told that it was never there */
    COURIER_MEET_MS = 50,    /* between two hellos to a run that answers before it was met */
    COURIER_BUSY_MS = 200,   /* an item answered `busy` rides again after this */
    COURIER_ENDPOINT = 512
};

/* A batch under way. */
struct courier_ride {
    uint64_t batch;
    int64_t sent_ms;
    size_t bytes; /* also of what was late meanwhile: the receiver may hold it still */
};

struct ald_courier {
    struct ald_courier_options options;
    char endpoint[COURIER_ENDPOINT];
    char role[ALD_WORD_MAX];
    char sender[ALD_ULID_MAX];
    char instance[ALD_ULID_MAX];
    ald_sock_t *sock;
    ald_alarm_t *alarm;
    struct ald_parcels parcels;
    char receiver[ALD_ULID_MAX];
    uint64_t max_item;
    bool joined; /* the receiver takes several items in a frame */
    struct ald_buf frame;
    uint64_t batch;                                 /* number of the last one */
    struct courier_ride rides[ALD_COURIER_BATCHES]; /* oldest first */
    size_t ride_count;
    int64_t heard_ms; /* last sign of the receiver */
    int64_t hello_ms; /* last hello */
    int64_t unmet_ms; /* when to tell that it never answered; INT64_MAX: no more */
    bool away;
    int64_t smoothed_ms; /* acknowledgement time */
    uint64_t garbage;
};

static int64_t courier_now(void)
{
    return ald_clock_now().mono_ms;
}

static void courier_hello(ald_courier_t *self, int64_t now_ms)
{
    struct msg_batch head = {0};
    if (self->options.on_head)
        self->options.on_head(self->options.self, &head);
    struct msg_hello hello = {.floor = head.floor,
                              .spool_oldest_ms = head.spool_oldest_ms,
                              .spool_items = head.spool_items,
                              .jwks = head.jwks};
    memcpy(hello.lacks, head.lacks, sizeof hello.lacks);
    memcpy(hello.sender, self->sender, sizeof hello.sender);
    memcpy(hello.instance, self->instance, sizeof hello.instance);
    memcpy(hello.role, self->role, sizeof hello.role);
    zmsg_t *msg = zmsg_new();
    if (ald_frame_add(msg, &MSG_HELLO, &hello) != ALD_OK ||
        ALD_SOCK_SEND("courier.hello", self->sock, &msg) != ALD_OK)
        zmsg_destroy(&msg);
    self->hello_ms = now_ms;
}

/* None is under way any more: what rode waits. */
static void courier_call_back(ald_courier_t *self)
{
    self->ride_count = 0;
    ald_parcels_unload(&self->parcels, 0);
}

/* A batch has its answer; what that did not name rides again. */
static void courier_arrived(ald_courier_t *self, uint64_t batch, int64_t now_ms)
{
    size_t i = 0;
    while (i < self->ride_count && self->rides[i].batch != batch)
        i++;
    if (i == self->ride_count)
        return;
    int64_t took = now_ms - self->rides[i].sent_ms;
    self->smoothed_ms = self->smoothed_ms == 0 ? took : (self->smoothed_ms * 7 + took) / 8;
    self->ride_count--;
    for (; i < self->ride_count; i++)
        self->rides[i] = self->rides[i + 1];
    ald_parcels_unload(&self->parcels, batch);
}

static void courier_settle(ald_courier_t *self, const struct msg_ack *ack)
{
    struct ald_parcel *parcel = ald_parcels_take(&self->parcels, ack->num);
    void *tag = parcel ? parcel->tag : NULL;
    free(parcel);
    self->options.on_settled(self->options.self, tag, ack);
}

static void courier_ack(ald_courier_t *self, const struct msg_ack *ack, int64_t now_ms)
{
    if (strcmp(ack->disposition, "busy") != 0)
        courier_settle(self, ack);
    else
        (void)ald_parcels_again(&self->parcels, ack->num, now_ms + COURIER_BUSY_MS);
}

static void courier_acks(ald_courier_t *self, zmsg_t *msg, const struct msg_acks *head,
                         int64_t now_ms)
{
    zframe_t *frame = zmsg_next(msg);
    for (; frame; frame = zmsg_next(msg)) {
        struct msg_ack ack;
        if (ald_wire_decode(&MSG_ACK, &ack, ald_frame_span(frame)) != ALD_OK) {
            self->garbage++;
            continue;
        }
        uint64_t count = ack.count > 0 ? ack.count : 1;
        if (count > ALD_ACK_COUNT_MAX) {
            self->garbage++;
            continue;
        }
        for (; count > 0; count--, ack.num++)
            courier_ack(self, &ack, now_ms);
    }
    courier_arrived(self, head->batch, now_ms);
}

/* Hand back what the receiver does not take: to be kept elsewhere, or as the owner sees fit. */
static void courier_unload_oversized(ald_courier_t *self)
{
    struct ald_parcel *parcel = ald_parcels_above(&self->parcels, self->max_item);
    for (; parcel; parcel = ald_parcels_above(&self->parcels, self->max_item)) {
        if (self->options.on_late)
            self->options.on_late(self->options.self, parcel->num, parcel->tag, parcel->batch != 0);
        else
            self->options.on_oversized(self->options.self, parcel->num, parcel->tag,
                                       ald_span_of(parcel->bytes, parcel->len));
        free(parcel);
    }
}

static void courier_welcome(ald_courier_t *self, const struct msg_welcome *welcome, zmsg_t *msg)
{
    bool fresh = strcmp(welcome->instance, self->receiver) != 0;
    if (fresh) {
        memcpy(self->receiver, welcome->instance, sizeof self->receiver);
        courier_call_back(self);
    }
    bool less = welcome->max_item < self->max_item;
    self->max_item = welcome->max_item;
    if (less)
        courier_unload_oversized(self);
    self->joined = welcome->joined;
    if (self->options.on_welcome)
        self->options.on_welcome(self->options.self, welcome, fresh, msg);
}

static void courier_heard(ald_courier_t *self, int64_t now_ms)
{
    self->heard_ms = now_ms;
    self->unmet_ms = INT64_MAX;
    if (!self->away)
        return;
    self->away = false;
    ald_log(ALD_INFO, "courier.back", "endpoint=%s", self->endpoint);
}

static void courier_message(ald_courier_t *self, zmsg_t *msg, int64_t now_ms)
{
    zframe_t *frame = zmsg_first(msg);
    struct ald_span bytes = frame ? ald_frame_span(frame) : ald_span_of(NULL, 0);
    struct msg_acks acks;
    struct msg_welcome welcome;
    if (ald_wire_is(&MSG_ACKS, bytes) && ald_wire_decode(&MSG_ACKS, &acks, bytes) == ALD_OK) {
        courier_heard(self, now_ms);
        if (ALD_FAILPOINT("courier.ack", true, false)) /* else it is lost */
            courier_acks(self, msg, &acks, now_ms);
        /* Another run took the next batch before it was met: it is not silent, so nothing else
         * would tell that what the run before had is lost. */
        if (strcmp(acks.instance, self->receiver) != 0 &&
            now_ms - self->hello_ms >= COURIER_MEET_MS)
            courier_hello(self, now_ms);
    } else if (ald_wire_decode(&MSG_WELCOME, &welcome, bytes) == ALD_OK) {
        courier_heard(self, now_ms);
        courier_welcome(self, &welcome, msg);
    } else {
        self->garbage++;
    }
}

static int courier_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    ald_courier_t *self = arg;
    int64_t now_ms = courier_now();
    zmsg_t *msg = ald_sock_recv(self->sock);
    for (; msg; msg = ald_sock_recv(self->sock)) {
        courier_message(self, msg, now_ms);
        zmsg_destroy(&msg);
    }
    ald_courier_flush(self);
    if (self->options.on_round)
        self->options.on_round(self->options.self);
    return 0;
}

/* Hand back what is late. */
static void courier_late(ald_courier_t *self, int64_t added_ms)
{
    if (!self->options.on_late)
        return;
    struct ald_parcel *parcel = ald_parcels_late(&self->parcels, added_ms);
    for (; parcel; parcel = ald_parcels_late(&self->parcels, added_ms)) {
        self->options.on_late(self->options.self, parcel->num, parcel->tag, parcel->batch != 0);
        free(parcel);
    }
}

static int64_t courier_patience(const ald_courier_t *self)
{
    int64_t wait = self->smoothed_ms * 4;
    if (wait < self->options.ack_min_ms)
        return self->options.ack_min_ms;
    return wait > self->options.ack_max_ms ? self->options.ack_max_ms : wait;
}

static void courier_overdue(ald_courier_t *self, int64_t after_ms, int64_t now_ms)
{
    if (self->ride_count > 0 && !self->away && now_ms - self->rides[0].sent_ms >= after_ms)
        courier_call_back(self);
}

/* When the clock has something to say. Without items that is about the receiver alone. */
static int64_t courier_next(const ald_courier_t *self, int64_t now_ms)
{
    if (ald_courier_items(self) > 0)
        return now_ms + COURIER_TICK_MS;
    int64_t last_ms = self->heard_ms > self->hello_ms ? self->heard_ms : self->hello_ms;
    int64_t next_ms = last_ms + COURIER_HELLO_MS;
    int64_t away_ms = self->heard_ms + COURIER_AWAY_MS;
    return self->away || next_ms < away_ms ? next_ms : away_ms;
}

/* Whoever looks why nothing goes on finds it in the log. */
static void courier_unmet(ald_courier_t *self, int64_t now_ms)
{
    if (now_ms < self->unmet_ms)
        return;
    self->unmet_ms = INT64_MAX;
    ald_log(ALD_WARN, "courier.unmet",
            "endpoint=%s text=\"nobody has answered there since the start; it is asked on and on\"",
            self->endpoint);
}

static void courier_ring(void *arg)
{
    ald_courier_t *self = arg;
    (void)courier_read(NULL, NULL, self); /* answers before clocks */
    int64_t now_ms = courier_now();
    int64_t silent = now_ms - self->heard_ms;
    if (silent >= COURIER_HELLO_MS && now_ms - self->hello_ms >= COURIER_HELLO_MS)
        courier_hello(self, now_ms);
    if (silent >= COURIER_AWAY_MS && !self->away) {
        self->away = true;
        ald_log(ALD_WARN, "courier.away", "endpoint=%s waiting=%zu", self->endpoint,
                ald_courier_items(self));
        if (self->options.on_away)
            self->options.on_away(self->options.self);
    }
    courier_unmet(self, now_ms);
    courier_overdue(self, self->options.resend_after_ms, now_ms);
    courier_late(self, self->away ? now_ms : now_ms - courier_patience(self));
    ald_courier_flush(self);
    ald_alarm_by(self->alarm, courier_next(self, now_ms));
}

enum ald_rc ald_courier_new(zloop_t *loop, const struct ald_courier_options *options,
                            ald_courier_t **out, struct ald_err *err)
{
    *out = NULL;
    ALD_ASSERT(options->on_settled && (options->on_late || options->on_oversized));
    ald_courier_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->away = true;
    self->alarm = ald_alarm_new(loop, courier_ring, self);
    self->max_item = UINT64_MAX;
    ald_buf_init(&self->frame, ALD_JOINED_MAX);
    self->heard_ms = courier_now() - COURIER_AWAY_MS;
    self->unmet_ms = courier_now() + COURIER_UNMET_MS;
    enum ald_rc rc =
        ald_text_copy(self->endpoint, sizeof self->endpoint, ald_span_str(options->endpoint));
    ald_text_cut(self->role, sizeof self->role, ald_span_str(options->role));
    ald_text_cut(self->sender, sizeof self->sender, ald_span_str(options->sender));
    ald_text_cut(self->instance, sizeof self->instance, ald_span_str(options->instance));
    struct ald_sock_options sock = {
        .type = ZMQ_DEALER, .max_frame = 1 << 20, .heartbeat_ms = options->heartbeat_ms};
    if (rc == ALD_OK)
        rc = ald_sock_connect(&sock, self->endpoint, &self->sock, err);
    if (rc != ALD_OK) {
        ald_courier_destroy(&self);
        return rc;
    }
    ald_sock_gate(self->sock, options->gate);
    ald_sock_watch(self->sock, loop, courier_read, self);
    ald_alarm_within(self->alarm, COURIER_TICK_MS);
    *out = self;
    return ALD_OK;
}

void ald_courier_destroy(ald_courier_t **self_p)
{
    ald_courier_t *self = *self_p;
    if (!self)
        return;
    ald_alarm_destroy(&self->alarm);
    ald_sock_destroy(&self->sock);
    ald_parcels_free(&self->parcels);
    ald_buf_free(&self->frame);
    free(self);
    *self_p = NULL;
}

enum ald_rc ald_courier_add(ald_courier_t *self, uint64_t num, struct ald_span bytes, void *tag)
{
    if (bytes.len > self->max_item)
        return ALD_TOOBIG;
    int64_t now_ms = courier_now();
    ald_parcels_add(&self->parcels, num, bytes, tag, now_ms);
    ald_alarm_by(self->alarm, now_ms + COURIER_TICK_MS);
    return ALD_OK;
}

static void courier_frame_end(ald_courier_t *self, zmsg_t *msg)
{
    if (self->frame.len > 0)
        ald_frame_copy(msg, ald_buf_span(&self->frame));
    ald_buf_reset(&self->frame);
}

/* Append an item, in a frame with others where the receiver takes that. */
static void courier_pack(ald_courier_t *self, zmsg_t *msg, struct ald_span item)
{
    if (!ald_joined_fits(&self->frame, item))
        courier_frame_end(self, msg);
    if (self->joined && ald_joined_fits(&self->frame, item))
        ald_joined_add(&self->frame, item);
    else
        ald_frame_copy(msg, item);
}

static enum ald_rc courier_send(ald_courier_t *self, uint64_t batch)
{
    struct msg_batch head = {.batch = batch};
    if (self->options.on_head)
        self->options.on_head(self->options.self, &head);
    memcpy(head.sender, self->sender, sizeof head.sender);
    memcpy(head.instance, self->instance, sizeof head.instance);
    zmsg_t *msg = zmsg_new();
    enum ald_rc rc = ald_frame_add(msg, &MSG_BATCH, &head);
    for (const struct ald_parcel *p = self->parcels.riding.first; p; p = p->next)
        if (p->batch == batch)
            courier_pack(self, msg, ald_span_of(p->bytes, p->len));
    courier_frame_end(self, msg);
    if (rc == ALD_OK)
        rc = ALD_SOCK_SEND("courier.send", self->sock, &msg);
    zmsg_destroy(&msg);
    return rc;
}

static size_t courier_bytes_under_way(const ald_courier_t *self)
{
    size_t bytes = 0;
    for (size_t i = 0; i < self->ride_count; i++)
        bytes += self->rides[i].bytes;
    return bytes;
}

size_t ald_courier_lacks(const ald_courier_t *self)
{
    const struct ald_parcels *parcels = &self->parcels;
    if (self->away || self->ride_count == ALD_COURIER_BATCHES || self->receiver[0] == '\0')
        return SIZE_MAX;
    if (courier_bytes_under_way(self) >= ALD_COURIER_BYTES)
        return SIZE_MAX;
    size_t wanted = parcels->riding.items > 0 ? parcels->riding.items : 1;
    return parcels->waiting.items < wanted ? wanted - parcels->waiting.items : 0;
}

void ald_courier_flush(ald_courier_t *self)
{
    if (self->away) {
        courier_late(self, INT64_MAX);
        return;
    }
    int64_t now_ms = courier_now();
    while (ald_courier_lacks(self) == 0) {
        uint64_t batch = self->batch + 1;
        size_t bytes = 0;
        const struct ald_load_limit limit = {.items = ALD_COURIER_ITEMS,
                                             .bytes =
                                                 ALD_COURIER_BYTES - courier_bytes_under_way(self),
                                             .any_one = self->ride_count == 0};
        if (ald_parcels_load(&self->parcels, batch, &limit, now_ms, &bytes) == 0)
            return;
        if (courier_send(self, batch) != ALD_OK) {
            ald_parcels_unload(&self->parcels, batch);
            return;
        }
        self->batch = batch;
        self->rides[self->ride_count++] =
            (struct courier_ride){.batch = batch, .sent_ms = now_ms, .bytes = bytes};
    }
}

void ald_courier_rename(ald_courier_t *self, const char *sender)
{
    ald_text_cut(self->sender, sizeof self->sender, ald_span_str(sender));
    courier_call_back(self);
    courier_hello(self, courier_now());
}

void ald_courier_hurry(ald_courier_t *self, int64_t after_ms)
{
    courier_overdue(self, after_ms, courier_now());
    ald_courier_flush(self);
}

bool ald_courier_away(const ald_courier_t *self)
{
    return self->away;
}

bool ald_courier_holds(const ald_courier_t *self, uint64_t num)
{
    return ald_parcels_hold(&self->parcels, num);
}

size_t ald_courier_items(const ald_courier_t *self)
{
    return self->parcels.waiting.items + self->parcels.riding.items;
}

size_t ald_courier_bytes(const ald_courier_t *self)
{
    return self->parcels.waiting.bytes + self->parcels.riding.bytes;
}

const char *ald_courier_receiver(const ald_courier_t *self)
{
    return self->receiver;
}

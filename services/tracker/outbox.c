#include "services/tracker/outbox.h"

#include <inttypes.h>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/net/courier.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_letters.h"

enum {
    OUTBOX_UNDER_WAY = 256,
    OUTBOX_UNDER_WAY_BYTES = 16 << 20,
    OUTBOX_RESEND_MS = 10000,
    OUTBOX_HURRY_MS = 300 /* an audit looks again for longer than that, so that it sees the end */
};

struct outbox {
    struct tracker *tracker;
    ald_courier_t *courier;
    uint64_t floor;                     /* as last read */
    uint64_t sent;                      /* all up to here were given to the courier */
    uint64_t settled[OUTBOX_UNDER_WAY]; /* to be deleted */
    size_t settled_count;
    uint64_t max_item; /* that the dlq takes, as last heard */
    uint64_t stuck;    /* set aside since the store was read from its start */
};

static void outbox_settled(void *arg, void *tag, const struct msg_ack *ack)
{
    (void)tag;
    outbox_t *self = arg;
    if (strcmp(ack->disposition, "refused") == 0) {
        /* It stays in the outbox, is listed, and does not hold up the others. */
        self->stuck++;
        ald_log(ALD_ERROR, "outbox.refused", "num=%" PRIu64 " reason=%s", ack->num, ack->reason);
        return;
    }
    tracker_stir(self->tracker);
    if (self->settled_count < OUTBOX_UNDER_WAY)
        self->settled[self->settled_count++] = ack->num;
    if (self->settled_count == OUTBOX_UNDER_WAY)
        outbox_clear(self);
}

static void outbox_oversized(void *arg, uint64_t num, void *tag, struct ald_span bytes)
{
    (void)tag;
    outbox_t *self = arg;
    self->stuck++;
    ald_log(ALD_ERROR, "outbox.oversized",
            "num=%" PRIu64 " bytes=%zu text=\"a letter is larger than this dlq takes: install the "
            "tracker's version of it; the letter waits\"",
            num, bytes.len);
}

/* With room for more, what was set aside has another try. */
static void outbox_welcome(void *arg, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg)
{
    (void)fresh, (void)msg;
    outbox_t *self = arg;
    if (welcome->max_item > self->max_item)
        self->sent = self->stuck = 0;
    self->max_item = welcome->max_item;
    tracker_stir(self->tracker);
}

/* All below the first letter that is still here are the dlq's alone. */
static void outbox_head(void *arg, struct msg_batch *head)
{
    outbox_t *self = arg;
    if (self->tracker->open)
        self->floor = vault_outbox_floor(&self->tracker->vault);
    head->floor = self->floor;
}

/* The numbering is the store's, as long as one history writes it. */
static void outbox_name(struct tracker *tracker, char out[ALD_ULID_MAX])
{
    struct vault *vault = &tracker->vault;
    int64_t store = vault_meta(vault, "store");
    if (store == 0) {
        uint32_t chance = 0;
        ald_random(&chance, sizeof chance);
        store = 1 + (int64_t)chance;
        vault_begin(vault);
        vault_meta_set(vault, "store", store);
        (void)!vault_commit(vault);
    }
    (void)snprintf(out, ALD_ULID_MAX, "%013" PRIu64 "%013" PRId64,
                   vault->lane % UINT64_C(10000000000000), store);
}

enum ald_rc outbox_new(struct tracker *tracker, outbox_t **out, struct ald_err *err)
{
    char endpoint[ALD_PATH_MAX + 64];
    enum ald_rc rc =
        ald_sock_endpoint(tracker->settings, "letters", endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    outbox_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->max_item = UINT64_MAX;
    char sender[ALD_ULID_MAX];
    outbox_name(tracker, sender);
    struct ald_courier_options options = {
        .endpoint = endpoint,
        .role = "tracker",
        .sender = sender,
        .instance = ald_service_instance(tracker->service),
        .gate = tracker->gate,
        .heartbeat_ms = tracker->settings->bus.heartbeat_ms,
        .resend_after_ms = OUTBOX_RESEND_MS,
        .self = self,
        .on_settled = outbox_settled,
        .on_oversized = outbox_oversized,
        .on_welcome = outbox_welcome,
        .on_head = outbox_head,
    };
    rc = ald_courier_new(ald_service_loop(tracker->service), &options, &self->courier, err);
    if (rc != ALD_OK) {
        outbox_destroy(&self);
        return rc;
    }
    *out = self;
    return ALD_OK;
}

void outbox_destroy(outbox_t **self_p)
{
    outbox_t *self = *self_p;
    if (!self)
        return;
    ald_courier_destroy(&self->courier);
    free(self);
    *self_p = NULL;
}

static bool outbox_room(const outbox_t *self)
{
    return ald_courier_items(self->courier) < OUTBOX_UNDER_WAY &&
           ald_courier_bytes(self->courier) < OUTBOX_UNDER_WAY_BYTES;
}

static bool outbox_more(const outbox_t *self)
{
    return (int64_t)self->sent < self->tracker->vault.last_outbox && outbox_room(self);
}

static bool outbox_send(void *arg, uint64_t num, struct ald_span message)
{
    outbox_t *self = arg;
    ALD_FAILPOINT_STEP("outbox.send");
    if (num > self->sent)
        self->sent = num;
    /* Held: the store was read back; the courier was not. */
    if (!ald_courier_holds(self->courier, num) &&
        ald_courier_add(self->courier, num, message, NULL) != ALD_OK)
        outbox_oversized(self, num, NULL, message);
    return outbox_room(self);
}

void outbox_sweep(outbox_t *self)
{
    if (outbox_more(self))
        vault_outbox_each(&self->tracker->vault, self->sent, outbox_send, self);
    ald_courier_flush(self->courier);
}

void outbox_hurry(outbox_t *self)
{
    ald_courier_hurry(self->courier, OUTBOX_HURRY_MS);
}

void outbox_clear(outbox_t *self)
{
    if (self->settled_count == 0 || !self->tracker->open)
        return;
    ALD_FAILPOINT_STEP("outbox.clear");
    vault_begin(&self->tracker->vault);
    for (size_t i = 0; i < self->settled_count; i++)
        vault_outbox_remove(&self->tracker->vault, self->settled[i]);
    self->settled_count = 0;
    (void)tracker_commit(self->tracker);
}

/* With as many under way as may be, the dlq's answer is waited for. */
int64_t outbox_rest_ms(const outbox_t *self)
{
    return outbox_more(self) || self->settled_count > 0 ? 0 : REST_NOTHING;
}

uint64_t outbox_stuck(const outbox_t *self)
{
    return self->tracker->vault.outbox > 0 ? self->stuck : 0;
}

void outbox_reset(outbox_t *self)
{
    /* The courier keeps what it has; the dlq knows a letter by its id when it comes again. */
    self->sent = 0;
    self->stuck = 0;
    self->settled_count = 0;
}

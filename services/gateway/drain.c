#include "services/gateway/drain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "proto/words.h"
#include "services/gateway/quota.h"
#include "services/gateway/renumber.h"
#include "services/gateway/sent.h"

enum {
    DRAIN_ITEMS = 256, /* under way at once: room is left for what comes in meanwhile */
    DRAIN_BESIDE = 64, /* the same, while callbacks come in: they wait for what rides with them */
    DRAIN_BYTES = 512 * 1024, /* of one look into the spool */
    DRAIN_GONE = 4096,     /* acknowledged, still to be removed; more come with the next answer */
    DRAIN_ASIDE = 64,      /* found unreadable in one look */
    DRAIN_AGAIN_MS = 1000, /* after an I/O error, and between two walks over the spool */
    DRAIN_REFUSED_MS = 5000,
    DRAIN_FREE_PERCENT = 10,
    DRAIN_FREE_BYTES = 1 << 20,
    DRAIN_RESERVE_BYTES = 1 << 20
};

struct drain {
    ald_spool_t *spool;
    ald_courier_t *courier;
    quota_t *quota;
    const struct ald_settings *settings;
    struct ald_buf message; /* an item encoded again */
    uint64_t under_way[DRAIN_ITEMS];
    size_t under_way_count;
    size_t window; /* the most under way, now */
    uint64_t gone[DRAIN_GONE];
    size_t gone_count;
    uint64_t aside[DRAIN_ASIDE]; /* nobody can read them; to be moved out of the way */
    size_t aside_count;
    uint64_t after; /* the walk has come so far */
    bool held_met;  /* by this walk: an item whose time has not come */
    struct sent sent;
    struct renumber renumber;
    int64_t pause_until_ms;  /* monotonic */
    int64_t reopen_at_ms;    /* monotonic */
    uint64_t damaged;        /* moved aside, as last told */
    bool full;               /* the last store found no room */
    uint64_t oversized_met;  /* by this walk: the tracker takes none of that size */
    uint64_t oversized_told; /* by the last whole one */
    bool empty_said;         /* in the last hello or batch */
    bool empty_heard;        /* and the tracker has answered it */
};

static bool drain_share(void *context, struct ald_span provider, struct ald_span proof,
                        uint64_t items, uint64_t bytes)
{
    drain_t *self = context;
    if (ald_span_eq_str(proof, ald_proof_name(ALD_PROOF_NONE)))
        quota_found(self->quota, provider, items, bytes);
    return true;
}

static enum ald_rc drain_open(drain_t *self, struct ald_err *err)
{
    const struct ald_spool_options options = {
        .dir = self->settings->gateway.spool,
        .max_bytes = self->settings->gateway.spool_max_bytes,
        .room = {.min_free_percent = DRAIN_FREE_PERCENT, .min_free_bytes = DRAIN_FREE_BYTES},
        .reserve_bytes = DRAIN_RESERVE_BYTES,
        .wal_max_bytes = self->settings->store.wal_max_bytes};
    enum ald_rc rc = ald_spool_open(&options, &self->spool, err);
    if (rc != ALD_OK)
        return rc;
    struct ald_spool_stats stats;
    ald_spool_stats(self->spool, &stats);
    if (stats.items == 0)
        return ALD_OK;
    ald_log(ALD_INFO, "spool.found", "items=%llu bytes=%llu", (unsigned long long)stats.items,
            (unsigned long long)stats.bytes);
    rc = ald_spool_shares(self->spool, drain_share, self);
    return rc == ALD_OK ? rc : ald_err_set(err, rc, "%s: cannot be read", options.dir);
}

enum ald_rc drain_new(const struct ald_settings *settings, const ald_profiles_t *profiles,
                      drain_t **out, struct ald_err *err)
{
    *out = NULL;
    drain_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->settings = settings;
    self->quota = quota_new(profiles);
    ald_buf_init(&self->message, ALD_ITEM_MAX);
    enum ald_rc rc = drain_open(self, err);
    if (rc != ALD_OK) {
        drain_destroy(&self);
        return rc;
    }
    *out = self;
    return ALD_OK;
}

void drain_destroy(drain_t **self_p)
{
    drain_t *self = *self_p;
    if (!self)
        return;
    ald_spool_destroy(&self->spool);
    quota_destroy(&self->quota);
    ald_buf_free(&self->message);
    free(self);
    *self_p = NULL;
}

void drain_renew(drain_t *self, const ald_profiles_t *profiles)
{
    quota_renew(self->quota, profiles);
}

void drain_use(drain_t *self, ald_courier_t *courier, uint64_t first)
{
    self->courier = courier;
    self->renumber.first = first;
}

void *drain_tag(drain_t *self)
{
    return self;
}

ald_spool_t *drain_spool(drain_t *self)
{
    return self->spool;
}

/* ---- in ---- */

static void drain_trouble(drain_t *self, enum ald_rc rc)
{
    if (rc == ALD_FULL && !self->full)
        ald_log(ALD_ERROR, "spool.full", "dir=%s text=%s", ALD_Q(self->settings->gateway.spool),
                ALD_Q(ald_spool_message(self->spool)));
    if (rc != ALD_FULL)
        ald_log(ALD_ERROR, "spool.failed", "dir=%s rc=%s text=%s",
                ALD_Q(self->settings->gateway.spool), ald_rc_name(rc),
                ALD_Q(ald_spool_message(self->spool)));
    self->full = rc == ALD_FULL;
}

static void drain_give_back(drain_t *self, const struct item *item)
{
    if (!item->proven)
        quota_give(self->quota, item->provider, item->peer, item->bytes.len);
}

void drain_store(drain_t *self, struct item *const *items, size_t count, struct ald_now now,
                 enum item_end *ends)
{
    struct ald_spool_item *rows = calloc(count, sizeof *rows);
    ALD_ASSERT(rows);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct item *item = items[i];
        bool room =
            item->proven || quota_take(self->quota, item->provider, item->peer, item->bytes.len);
        ends[i] = room ? ITEM_SPOOLED : ITEM_REFUSED;
        if (room)
            rows[n++] = (struct ald_spool_item){.num = item->num,
                                                .at_ms = now.wall_ms,
                                                .provider = item->provider,
                                                .proof = item->proof,
                                                .bytes = item->bytes};
    }
    enum ald_rc rc = n > 0 ? ald_spool_put(self->spool, rows, n) : ALD_OK;
    if (rc == ALD_FULL && n > 1) { /* one big item must not shut the door for the small ones */
        n = 0;
        for (size_t i = 0; i < count; i++) {
            if (ends[i] == ITEM_SPOOLED && ald_spool_put(self->spool, &rows[n++], 1) != ALD_OK) {
                ends[i] = ITEM_REFUSED;
                drain_give_back(self, items[i]);
            }
        }
    } else if (rc != ALD_OK) {
        for (size_t i = 0; i < count; i++) {
            if (ends[i] == ITEM_SPOOLED)
                drain_give_back(self, items[i]);
            ends[i] = ITEM_REFUSED;
        }
    }
    if (rc != ALD_OK)
        drain_trouble(self, rc);
    else if (n > 0)
        self->full = false;
    for (size_t i = 0; i < count; i++)
        if (ends[i] == ITEM_SPOOLED && items[i]->sent)
            sent_add(&self->sent, items[i]->num, now.mono_ms,
                     now.mono_ms + self->settings->gateway.resend_after_ms);
    free(rows);
}

/* ---- out ---- */

static bool drain_is_under_way(const drain_t *self, uint64_t num)
{
    for (size_t i = 0; i < self->under_way_count; i++)
        if (self->under_way[i] == num)
            return true;
    return false;
}

static bool drain_is_gone(const drain_t *self, uint64_t num)
{
    for (size_t i = 0; i < self->gone_count; i++)
        if (self->gone[i] == num)
            return true;
    return false;
}

static void drain_landed(drain_t *self, uint64_t num)
{
    for (size_t i = 0; i < self->under_way_count; i++) {
        if (self->under_way[i] == num) {
            self->under_way[i] = self->under_way[--self->under_way_count];
            return;
        }
    }
}

/* The walk begins again. */
static void drain_from_start(drain_t *self)
{
    self->after = 0;
    self->oversized_met = 0;
    self->held_met = false;
}

void drain_acked(drain_t *self, const struct msg_ack *ack, int64_t now_mono_ms)
{
    drain_landed(self, ack->num);
    if (strcmp(ack->disposition, "refused") == 0) {
        self->pause_until_ms = now_mono_ms + DRAIN_REFUSED_MS;
        drain_from_start(self);
        return;
    }
    if (self->gone_count < DRAIN_GONE && !drain_is_gone(self, ack->num))
        self->gone[self->gone_count++] = ack->num;
}

void drain_late(drain_t *self, uint64_t num, bool sent, int64_t now_mono_ms)
{
    drain_landed(self, num);
    if (sent)
        sent_add(&self->sent, num, now_mono_ms,
                 now_mono_ms + self->settings->gateway.resend_after_ms);
    self->pause_until_ms = now_mono_ms + DRAIN_AGAIN_MS;
    drain_from_start(self);
}

void drain_head(drain_t *self, struct msg_batch *head)
{
    struct ald_spool_stats stats;
    ald_spool_stats(self->spool, &stats);
    head->spool_items = stats.items;
    head->spool_oldest_ms = drain_oldest_ms(self, ald_clock_now().wall_ms);
    self->empty_said = stats.items == 0;
    self->empty_heard = self->empty_heard && self->empty_said;
}

bool drain_told_empty(const drain_t *self)
{
    return self->empty_heard;
}

void drain_welcomed(drain_t *self, const struct msg_welcome *welcome, bool fresh)
{
    bool other = renumber_wanted(&self->renumber, welcome);
    self->empty_heard = self->empty_said;
    if (other)
        renumber_do(self->spool, self->courier);
    if (!fresh && !other)
        return;
    sent_clear(&self->sent);
    self->pause_until_ms = 0;
    drain_from_start(self);
}

struct drain_give {
    drain_t *self;
    uint64_t num;
};

/* The quota learns that an unproven item leaves. */
static bool drain_give_fn(void *context, const struct ald_spool_item *item)
{
    struct drain_give *give = context;
    struct msg_callback callback = {0};
    if (item->num != give->num || !ald_span_eq_str(item->proof, ald_proof_name(ALD_PROOF_NONE)))
        return false;
    if (ald_wire_decode(&MSG_CALLBACK, &callback, item->bytes) != ALD_OK)
        callback.peer[0] = '\0';
    quota_give(give->self->quota, item->provider, ald_span_str(callback.peer), item->bytes.len);
    return false;
}

static void drain_forget(drain_t *self)
{
    if (self->gone_count == 0 || ald_spool_failed(self->spool))
        return;
    for (size_t i = 0; quota_items(self->quota) > 0 && i < self->gone_count; i++) {
        struct drain_give give = {.self = self, .num = self->gone[i]};
        if (ald_spool_peek(self->spool, self->gone[i] - 1, 1, 0, drain_give_fn, &give) != ALD_OK)
            break;
    }
    enum ald_rc rc = ald_spool_remove(self->spool, self->gone, self->gone_count);
    if (rc == ALD_OK)
        self->gone_count = 0;
    else
        drain_trouble(self, rc);
}

struct drain_walk {
    drain_t *self;
    int64_t now_mono_ms;
    size_t seen;
};

static bool drain_encode(drain_t *self, const struct ald_spool_item *item)
{
    struct msg_callback callback;
    ald_buf_reset(&self->message);
    if (ald_wire_decode(&MSG_CALLBACK, &callback, item->bytes) == ALD_OK) {
        callback.spooled = true;
        if (ald_wire_encode(&MSG_CALLBACK, &callback, &self->message) == ALD_OK)
            return true;
    }
    return false;
}

/* An item that can never be sent would hold back the floor, and every task's end with it. */
static void drain_unreadable(drain_t *self, const struct ald_spool_item *item)
{
    ald_log(ALD_ERROR, "spool.unreadable",
            "num=%llu bytes=%zu dir=%s text=\"an acknowledged callback can't be read; it is kept in"
            " the table damaged\"",
            (unsigned long long)item->num, item->bytes.len, ALD_Q(self->settings->gateway.spool));
    if (ald_span_eq_str(item->proof, ald_proof_name(ALD_PROOF_NONE)))
        quota_give(self->quota, item->provider, ald_span_str(""), item->bytes.len);
    self->aside[self->aside_count++] = item->num;
}

static void drain_set_aside(drain_t *self)
{
    if (self->aside_count == 0)
        return;
    enum ald_rc rc = ald_spool_set_aside(self->spool, self->aside, self->aside_count);
    if (rc != ALD_OK)
        drain_trouble(self, rc); /* found again by the next walk */
    self->aside_count = 0;
}

static bool drain_send(void *context, const struct ald_spool_item *item)
{
    struct drain_walk *walk = context;
    drain_t *self = walk->self;
    if (self->under_way_count >= self->window)
        return false;
    walk->seen++;
    if (item->num > self->after) /* in a damaged tree they come in any order */
        self->after = item->num;
    if (sent_holds(&self->sent, item->num, walk->now_mono_ms)) {
        self->held_met = true;
        return true;
    }
    if (drain_is_under_way(self, item->num) || drain_is_gone(self, item->num) ||
        ald_courier_holds(self->courier, item->num))
        return true;
    if (!drain_encode(self, item)) {
        drain_unreadable(self, item);
        return self->aside_count < DRAIN_ASIDE;
    }
    enum ald_rc rc = ald_courier_add(self->courier, item->num, ald_buf_span(&self->message), self);
    if (rc == ALD_OK)
        self->under_way[self->under_way_count++] = item->num;
    else if (rc == ALD_TOOBIG)
        self->oversized_met++;
    return true;
}

static void drain_reopen(drain_t *self, int64_t now_mono_ms)
{
    if (now_mono_ms < self->reopen_at_ms)
        return;
    self->reopen_at_ms = now_mono_ms + DRAIN_AGAIN_MS;
    struct ald_err err = {0};
    if (ald_spool_reopen(self->spool, &err) == ALD_OK)
        ald_log(ALD_INFO, "spool.reopened", "dir=%s", ALD_Q(self->settings->gateway.spool));
    else
        ald_log(ALD_ERROR, "spool.closed", "text=%s", ALD_Q(err.text));
}

/* These were acknowledged: somebody must know that they will not come by themselves. */
static void drain_tell_damaged(drain_t *self, uint64_t damaged)
{
    if (damaged == self->damaged)
        return;
    ald_log(ALD_ERROR, "spool.damaged",
            "dir=%s rows=%llu text=\"acknowledged callbacks can't be read; they are kept in "
            "the table damaged, and their tasks are polled\"",
            ALD_Q(self->settings->gateway.spool), (unsigned long long)damaged);
    self->damaged = damaged;
}

/* At the end of a walk from the start. They were acknowledged, and hold back every end by our own
 * verdict while they lie here. */
static void drain_tell_oversized(drain_t *self)
{
    if (self->oversized_met > self->oversized_told)
        ald_log(ALD_ERROR, "spool.oversized",
                "dir=%s rows=%llu text=\"acknowledged callbacks are larger than this tracker "
                "takes: install the gateway's version of it; they wait\"",
                ALD_Q(self->settings->gateway.spool), (unsigned long long)self->oversized_met);
    self->oversized_told = self->oversized_met;
    self->oversized_met = 0;
}

void drain_turn(drain_t *self, bool beside, int64_t now_mono_ms)
{
    self->window = beside ? DRAIN_BESIDE : DRAIN_ITEMS;
    if (ald_spool_failed(self->spool)) {
        drain_reopen(self, now_mono_ms);
        return;
    }
    drain_forget(self);
    struct ald_spool_stats stats;
    ald_spool_stats(self->spool, &stats);
    drain_tell_damaged(self, stats.damaged);
    if (stats.items == 0)
        self->oversized_told = 0;
    if (stats.items == 0 || ald_courier_away(self->courier) || now_mono_ms < self->pause_until_ms ||
        ald_courier_receiver(self->courier)[0] == '\0' ||
        self->under_way_count + self->gone_count >= self->window)
        return;
    struct drain_walk walk = {.self = self, .now_mono_ms = now_mono_ms};
    enum ald_rc rc = ald_spool_peek(self->spool, self->after, self->window - self->under_way_count,
                                    DRAIN_BYTES, drain_send, &walk);
    if (rc != ALD_OK)
        drain_trouble(self, rc);
    drain_set_aside(self);
    if (walk.seen == 0) { /* the end: look again from the start */
        drain_tell_oversized(self);
        self->pause_until_ms = now_mono_ms + (self->held_met ? DRAIN_AGAIN_MS / 4 : DRAIN_AGAIN_MS);
        drain_from_start(self);
    }
}

int64_t drain_next_ms(const drain_t *self)
{
    struct ald_spool_stats stats;
    if (ald_spool_failed(self->spool))
        return self->reopen_at_ms;
    if (self->gone_count > 0)
        return 0;
    ald_spool_stats(self->spool, &stats);
    return stats.items > 0 ? self->pause_until_ms : INT64_MAX;
}

int64_t drain_oldest_ms(const drain_t *self, int64_t now_wall_ms)
{
    struct ald_spool_stats stats;
    ald_spool_stats(self->spool, &stats);
    if (stats.items == 0)
        return 0;
    int64_t age = now_wall_ms - stats.oldest_at_ms;
    return age > 0 ? age : 1;
}

uint64_t drain_oversized(const drain_t *self)
{
    struct ald_spool_stats stats;
    ald_spool_stats(self->spool, &stats);
    return stats.items > 0 ? self->oversized_told : 0;
}

void drain_stats(const drain_t *self, struct ald_spool_stats *out)
{
    ald_spool_stats(self->spool, out);
}

bool drain_writable(const drain_t *self)
{
    return !ald_spool_failed(self->spool) && !self->full;
}

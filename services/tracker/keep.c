#include "services/tracker/keep.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/jwks.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/keep_orphans.h"
#include "services/tracker/keep_submits.h"
#include "services/tracker/pending_figures.h"
#include "services/tracker/pushes.h"
#include "services/tracker/reader/reader.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_open.h"
#include "services/tracker/vault/vault_purge.h"

enum {
    KEEP_BEAT_MS = 1000,
    KEEP_SNAPSHOT_ARRIVALS = 50000, /* read again at start: at most about so many */
    KEEP_INDEX_ROWS = 200000,       /* index under load only when so much has gathered */
    KEEP_INDEX_EVERY_MS = 30,       /* every other tick: a commit costs as much as many rows */
    KEEP_STEP_MS = 4,               /* of indexing or purging at a time, under load */
    KEEP_INDEX_IDLE_MS = 200,
    KEEP_PURGE_MS = 10000,
    KEEP_PURGE_EVERY_MS = 40,   /* a step, under load */
    KEEP_PURGE_LATE_MS = 30000, /* not through for so long: steps as long again, and so on */
    KEEP_PURGE_LATE_MAX = 7,
    KEEP_PURGE_WAIT_MS = 60000, /* for whoever counts the rows: `aldaba audit --deep` */
    KEEP_SNAPSHOT_MS = 60000,
    KEEP_NETWORKS_MS = 3600000,
    KEEP_PURGE_ROWS = 1000
};

static const int64_t KEEP_DAY_MS = INT64_C(86400000);

static void keep_task(void *arg, const struct vault_open *row)
{
    struct tracker *self = arg;
    char name[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    ald_text_cut(name, sizeof name, row->provider);
    ald_text_cut(provider_id, sizeof provider_id, row->provider_id);
    struct pending_facts facts = {.id = row->id,
                                  .profile = ald_profiles_find(self->profiles, name),
                                  .provider_id = provider_id,
                                  .made_ms = row->made_ms,
                                  .stale_after_ms = row->stale_after_ms,
                                  .give_up_after_ms = row->give_up_after_ms,
                                  .placed = row->placed,
                                  .alerted =
                                      row->made_ms + row->stale_after_ms <= self->run_base_ms};
    if (!facts.profile) {
        keep_orphan(self, name, row->id);
        return;
    }
    if (pending_add(self->pending, &facts) != ALD_OK)
        ald_log(ALD_ERROR, "task.twice", "provider=%s task=%" PRIu64, name, row->id);
}

static void keep_polls(void *arg, const struct vault_polls *polls)
{
    struct tracker *self = arg;
    struct pending_task *open = pending_find(self->pending, polls->task);
    if (open)
        pending_polls(self->pending, open, polls->polls, polls->hinted, polls->last_ms);
}

/* The last one of a task counts. */
static void keep_tail(void *arg, uint64_t task, uint64_t seq)
{
    if (tracker_tail_seq(arg, task) < seq)
        tracker_tail_add(arg, task, seq);
}

static void keep_parked(void *arg, const struct vault_arrival *row)
{
    struct tracker *self = arg;
    char ref[ALD_PROVIDER_MAX + ALD_PROVIDER_ID_MAX];
    char name[ALD_PROVIDER_MAX];
    ald_text_cut(ref, sizeof ref, row->ref);
    ald_text_cut(name, sizeof name, ald_span_of(ref, ald_span_find(ald_span_str(ref), '/')));
    const struct ald_profile *profile = ald_profiles_find(self->profiles, name);
    int64_t keep_ms = profile ? profile->parked_for_ms : KEEP_DAY_MS;
    struct park_item item = {.no = row->no,
                             .made_ms = row->made_ms,
                             .until_ms = row->made_ms + keep_ms,
                             .bytes = row->bytes};
    park_add(self->park, ref, &item);
}

static void keep_restore_sender(void *arg, const struct vault_sender *row)
{
    struct tracker *self = arg;
    char id[ALD_ULID_MAX];
    ald_text_cut(id, sizeof id, row->sender);
    senders_restore(self->senders, row->no, id, row->floor, row->marks, row->heard_ms);
}

/* Arrivals since the last snapshot: their numbers were taken. */
static void keep_arrival(void *arg, const struct vault_arrival *row)
{
    struct tracker *self = arg;
    struct sender *sender = NULL;
    for (size_t i = 0; (sender = senders_at(self->senders, i)); i++)
        if (sender->no == row->sender)
            break;
    if (sender && row->num >= sender->window.floor)
        (void)!sender_note(sender, row->num, row->disposition);
}

static void keep_unproven(void *arg, const char *provider, const struct vault_letter *sum,
                          uint64_t count)
{
    struct tracker *self = arg;
    if (arrival_unproven(sum->proof, sum->reason))
        quota_letter(self->quota, provider, (int64_t)count, (int64_t)sum->size);
}

static void keep_memory(struct tracker *self)
{
    struct pending_options options = {.lease_ms = self->settings->tracker.lease_ms,
                                      .request_max_ms = self->settings->poller.timeout_ms,
                                      .last_poll_grace_ms =
                                          self->settings->tracker.last_poll_grace_ms,
                                      .seed = (uint64_t)ald_clock_now().wall_ms};
    self->pending = pending_new(&options);
    self->senders = senders_new(self->settings->tracker.recover_grace_ms, tracker_now(self).run_ms);
    self->park = park_new();
    self->quota = quota_new();
    self->tail = tail_new();
    self->away = keep_orphans_new();
    self->index_pace = (struct pace){.least = 64, .most = 4096, .rows = 1024};
    self->purging = false;
    self->purge_pace = (struct pace){.least = 16, .most = KEEP_PURGE_ROWS, .rows = 64};
    self->orphans = 0;
    self->lowest_orphan = 0;
    self->older = false;
}

void keep_forget(struct tracker *self)
{
    pending_destroy(&self->pending);
    senders_destroy(&self->senders);
    park_destroy(&self->park);
    quota_destroy(&self->quota);
    tail_destroy(&self->tail);
    zhashx_destroy(&self->away);
}

enum ald_rc keep_mark_open(struct tracker *self, struct ald_err *err)
{
    char path[ALD_PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/tracker.mark", self->settings->store.data);
    ald_mark_destroy(&self->mark);
    return ald_mark_open(path, &self->mark, err);
}

static uint64_t keep_book(const struct tracker *self, unsigned book)
{
    return (uint64_t)self->vault.books.value[book];
}

/* Never ahead of what is on disk. */
static void keep_mark(struct tracker *self)
{
    struct ald_err err = {0};
    if (vault_settle(&self->vault) != ALD_OK)
        return; /* found at the next commit */
    if (!self->mark && keep_mark_open(self, &err) != ALD_OK) {
        ald_log(ALD_WARN, "mark.closed", "text=%s", ALD_Q(err.text));
        return;
    }
    struct ald_mark_values mark = {.lane = self->vault.lane,
                                   .seq = self->vault.last_seq,
                                   .last_n = self->ids.last_n * ALD_TRACKERS,
                                   .wall_ms = ald_clock_now().wall_ms,
                                   .received = keep_book(self, BOOK_RECEIVED),
                                   .created = keep_book(self, BOOK_CREATED)};
    struct ald_mark_values told;
    bool same = ald_mark_read(self->mark, &told) == ALD_OK && told.lane == mark.lane &&
                told.seq == mark.seq && told.last_n == mark.last_n &&
                told.received == mark.received && told.created == mark.created;
    if (same)
        return; /* an idle tracker leaves the disk alone */
    if (ald_mark_write(self->mark, &mark) == ALD_OK && ald_mark_sync(self->mark) == ALD_OK)
        return;
    ald_log(ALD_WARN, "mark.unwritten", "seq=%" PRIu64, self->vault.last_seq);
    ald_mark_destroy(&self->mark); /* after an I/O error only a new opening brings it back */
}

/* No task below it is open. */
static uint64_t keep_lowest(const struct tracker *self)
{
    uint64_t lowest = pending_lowest(self->pending);
    if (self->orphans > 0 && (lowest == 0 || self->lowest_orphan < lowest))
        lowest = self->lowest_orphan; /* open, and found again when its profile is back */
    return lowest ? lowest : self->ids.last_n * ALD_TRACKERS;
}

static bool keep_index_due(const struct tracker *self, bool idle, int64_t mono_ms)
{
    int64_t rows = vault_unindexed(&self->vault);
    int64_t since_ms = mono_ms - self->indexed_at_ms;
    if (vault_index_running(&self->vault))
        return idle || since_ms >= KEEP_INDEX_EVERY_MS;
    return rows >= KEEP_INDEX_ROWS || (idle && rows > 0 && since_ms >= KEEP_INDEX_IDLE_MS);
}

/* Numbers go on in another lane, above seq. Its name is the time, and not one more than the last:
 * a copy that is put back a second time must not begin a lane that the first time has begun. */
static void keep_new_lane(struct tracker *self, const struct ald_mark_values *mark)
{
    uint64_t now_ms = (uint64_t)ald_clock_now().wall_ms;
    uint64_t base = mark->lane > self->vault.lane ? mark->lane : self->vault.lane;
    self->vault.lane = now_ms > base ? now_ms : base + 1;
    if (mark->seq > self->vault.last_seq)
        self->vault.last_seq = mark->seq;
    self->older = true;
}

/* Last of all that an older copy changes: killed before, the next start finds it older again. */
static void keep_lane_write(struct tracker *self)
{
    if (!self->older)
        return;
    vault_begin(&self->vault);
    vault_meta_set(&self->vault, "lane", (int64_t)self->vault.lane);
    vault_meta_set(&self->vault, "last_seq", (int64_t)self->vault.last_seq);
    (void)!vault_commit(&self->vault); /* the error is sticky, and seen by who reads back */
}

static uint64_t keep_missing(uint64_t told, uint64_t found)
{
    return told > found ? told - found : 0;
}

/* A store behind its mark has forgotten numbers that others have seen: go on in a new lane. So has,
 * as far as can be told, one without a mark: a backup brings none. */
static void keep_check_mark(struct tracker *self)
{
    struct ald_mark_values mark = {0};
    if (!self->mark)
        return; /* opened again after an error of the disk: the process knows its own numbers */
    enum ald_rc rc = ald_mark_read(self->mark, &mark);
    if (rc == ALD_NOTFOUND && self->vault.last_seq == 0 && self->vault.last_task == 0) {
        keep_mark(self); /* at once: from now on a store without its mark is an older copy */
        return;
    }
    if (rc != ALD_OK) {
        ald_log(ALD_WARN, "mark.gone",
                "text=\"tracker.mark is not there or can't be read, as after a restore: tracker.db "
                "may be an older copy, so a new lane of the feed begins\"");
        keep_new_lane(self, &mark);
        return;
    }
    ald_idgen_above(&self->ids, mark.last_n);
    uint64_t received = keep_missing(mark.received, keep_book(self, BOOK_RECEIVED));
    uint64_t created = keep_missing(mark.created, keep_book(self, BOOK_CREATED));
    bool behind = mark.lane > self->vault.lane || received > 0 || created > 0 ||
                  (mark.lane == self->vault.lane && mark.seq > self->vault.last_seq);
    if (!behind)
        return;
    ald_log(ALD_ERROR, "store.behind",
            "lane=%" PRIu64 " seq=%" PRIu64 " mark_lane=%" PRIu64 " mark_seq=%" PRIu64
            " missing_callbacks=%" PRIu64 " missing_tasks=%" PRIu64
            " text=\"what was acknowledged is missing; a new lane of the feed begins, and what is "
            "open is polled again\"",
            self->vault.lane, self->vault.last_seq, mark.lane, mark.seq, received, created);
    keep_new_lane(self, &mark);
}

enum ald_rc keep_read_back(struct tracker *self, struct ald_err *err)
{
    self->run_base_ms = self->vault.run_ms;
    self->run_since_ms = ald_clock_now().mono_ms;
    self->turned_ms = self->run_since_ms;
    self->beat_ms = self->vault.run_ms;
    keep_memory(self);
    ald_idgen_above(&self->ids, self->vault.last_task);
    keep_check_mark(self);
    vault_each_unindexed(&self->vault, keep_tail, self);
    vault_each_open(&self->vault, keep_task, self);
    vault_each_polled(&self->vault, keep_polls, self);
    pushes_back(self);
    consumers_back(self->consumers);
    if (self->sinks)
        sinks_back(self->sinks);
    jwks_renew(self->jwks);
    keep_submits_back(self);
    keep_budgets_back(self);
    keep_orphans_back(self);
    keep_lane_write(self);
    vault_each_parked(&self->vault, keep_parked, self);
    vault_each_sender(&self->vault, keep_restore_sender, self);
    self->kept_arrival = vault_meta(&self->vault, "kept_arrival");
    vault_each_arrival(&self->vault, self->kept_arrival, keep_arrival, self);
    vault_each_unproven(&self->vault, keep_unproven, self);
    if (self->vault.rc != ALD_OK)
        return ald_err_set(err, self->vault.rc, "tracker.db cannot be read back: %s",
                           ald_store_message(self->vault.store));
    ald_log(ALD_INFO, "tracker.recovered",
            "open=%zu parked=%zu seq=%" PRIu64 " orphans=%" PRIu64 " service_ms=%" PRId64,
            pending_count(self->pending), park_count(self->park), self->vault.last_seq,
            self->orphans, self->run_base_ms);
    return ALD_OK;
}

void keep_sender(struct tracker *self, const struct sender *sender)
{
    size_t count = sender->window.count;
    uint8_t *marks = malloc(count + 1);
    ALD_ASSERT(marks);
    (void)ald_window_save(&sender->window, marks, count);
    struct vault_sender row = {.no = sender->no,
                               .sender = ald_span_str(sender->id),
                               .floor = sender->window.floor,
                               .marks = ald_span_of(marks, count),
                               .heard_ms = tracker_now(self).wall_ms};
    vault_sender_put(&self->vault, &row);
    free(marks);
}

static void keep_snapshot(struct tracker *self)
{
    vault_begin(&self->vault);
    struct sender *sender = NULL;
    for (size_t i = 0; (sender = senders_at(self->senders, i)); i++)
        if (sender->heard_at_ms != 0)
            keep_sender(self, sender);
    vault_meta_set(&self->vault, "kept_arrival", self->vault.last_arrival);
    if (tracker_commit(self))
        self->kept_arrival = self->vault.last_arrival;
}

static void keep_beat(struct tracker *self)
{
    int64_t now_ms = tracker_now(self).run_ms;
    vault_begin(&self->vault);
    vault_meta_set(&self->vault, "run_ms", now_ms);
    keep_stale(self);
    if (tracker_commit(self))
        self->beat_ms = now_ms;
}

/* A little of the run that is under way. The more rows wait, the longer it may take: callbacks then
 * come in more slowly, and memory has a bound where the disk is slow. */
static void keep_index(struct tracker *self)
{
    int64_t began_ms = ald_clock_now().mono_ms;
    int64_t runs = vault_unindexed(&self->vault) / (2 * KEEP_INDEX_ROWS);
    if (!vault_index_running(&self->vault)) {
        vault_index_begin(&self->vault);
        tail_turn(self->tail);
    }
    bool through = vault_index_step(&self->vault, self->index_pace.rows, keep_lowest(self));
    if (self->vault.rc != ALD_OK) {
        (void)tracker_commit(self);
        return;
    }
    if (through)
        tail_drop(self->tail);
    self->indexed_at_ms = ald_clock_now().mono_ms;
    pace_took(&self->index_pace, self->indexed_at_ms - began_ms,
              KEEP_STEP_MS * (runs > 0 ? runs : 1));
}

/* A purged task answers for itself as long as some provider may call back about it. */
static int64_t keep_tombs_for(const struct tracker *self)
{
    int64_t longest = 0;
    if (ald_profiles_count(self->profiles) == 0)
        return 7 * KEEP_DAY_MS; /* the setting's default */
    for (size_t i = 0; i < ald_profiles_count(self->profiles); i++) {
        int64_t retries_ms = ald_profiles_at(self->profiles, i)->provider_retries_ms;
        longest = retries_ms > longest ? retries_ms : longest;
    }
    return longest;
}

/* idle: nobody waits, so as much as there may be. */
static void keep_purge(struct tracker *self, bool idle)
{
    int64_t began_ms = ald_clock_now().mono_ms;
    size_t rows = idle ? KEEP_PURGE_ROWS : self->purge_pace.rows;
    int64_t now_ms = ald_clock_now().wall_ms;
    const struct ald_settings *settings = self->settings;
    struct vault_bounds before = {.results_ms = now_ms - settings->store.keep_results_ms,
                                  .evidence_ms = now_ms - settings->store.keep_evidence_ms,
                                  .tombs_ms = now_ms - keep_tombs_for(self),
                                  .keys_ms = now_ms - 30 * KEEP_DAY_MS,
                                  .owed_seq = consumers_owed(self->consumers),
                                  .lag_ms = now_ms - settings->store.max_lag_ms,
                                  .lag_bytes = settings->store.max_lag_bytes,
                                  .spare_ms = now_ms - settings->store.keep_letters_ms,
                                  .kept_arrival = self->kept_arrival};
    bool more = vault_purge(&self->vault, &before, rows, now_ms);
    self->purged_at_ms = ald_clock_now().mono_ms;
    if (!self->purging)
        self->purging_since_ms = began_ms;
    self->purging = more;
    int64_t late = (self->purged_at_ms - self->purging_since_ms) / KEEP_PURGE_LATE_MS;
    if (late > KEEP_PURGE_LATE_MAX)
        late = KEEP_PURGE_LATE_MAX;
    if (more && !idle)
        pace_took(&self->purge_pace, self->purged_at_ms - began_ms, KEEP_STEP_MS * (1 + late));
    if (self->vault.rc != ALD_OK)
        (void)tracker_commit(self);
    else
        consumers_purged(self->consumers);
}

static bool keep_purge_due(const struct tracker *self, bool idle, int64_t mono_ms)
{
    if (reader_counts(self->reader) && mono_ms - self->purged_at_ms < KEEP_PURGE_WAIT_MS)
        return false;
    int64_t step_ms = idle ? 0 : KEEP_PURGE_EVERY_MS;
    return mono_ms - self->purged_at_ms >= (self->purging ? step_ms : KEEP_PURGE_MS);
}

/* The next heartbeat row, in service time. */
static int64_t keep_beat_at(const struct tracker *self)
{
    bool work = pending_count(self->pending) > 0 || park_count(self->park) > 0 || self->learned;
    return self->beat_ms + (work ? KEEP_BEAT_MS : 10 * KEEP_BEAT_MS);
}

void keep_tick(struct tracker *self, bool idle)
{
    int64_t mono_ms = ald_clock_now().mono_ms;
    if (tracker_now(self).run_ms >= keep_beat_at(self))
        keep_beat(self);
    if (self->open && mono_ms - self->told_mark_ms >= KEEP_BEAT_MS) {
        keep_mark(self);
        self->told_mark_ms = mono_ms;
    }
    int64_t taken = self->open ? self->vault.last_arrival - self->kept_arrival : 0;
    if (taken >= KEEP_SNAPSHOT_ARRIVALS ||
        (taken > 0 && mono_ms - self->kept_at_ms >= KEEP_SNAPSHOT_MS)) {
        keep_snapshot(self);
        self->kept_at_ms = mono_ms;
    }
    if (self->open && keep_index_due(self, idle, mono_ms))
        keep_index(self);
    if (self->open && keep_purge_due(self, idle, mono_ms))
        keep_purge(self, idle);
    if (self->open && mono_ms - self->networks_at_ms >= KEEP_NETWORKS_MS) {
        quota_forget(self->quota);
        self->networks_at_ms = mono_ms;
    }
}

/* Each thing that is done a little at a time goes on with the next tick. */
int64_t keep_rest_ms(const struct tracker *self)
{
    const int64_t mono_ms = ald_clock_now().mono_ms;
    if (self->purging || vault_index_running(&self->vault) || vault_unindexed(&self->vault) > 0)
        return 0;
    int64_t least_ms = rest_until(keep_beat_at(self), tracker_now(self).run_ms);
    least_ms = rest_less(least_ms, rest_until(self->told_mark_ms + KEEP_BEAT_MS, mono_ms));
    if (self->vault.last_arrival > self->kept_arrival)
        least_ms = rest_less(least_ms, rest_until(self->kept_at_ms + KEEP_SNAPSHOT_MS, mono_ms));
    return rest_less(least_ms, rest_until(self->purged_at_ms + KEEP_PURGE_MS, mono_ms));
}

void keep_last(struct tracker *self)
{
    if (!self->open)
        return;
    keep_beat(self);
    if (self->open)
        keep_budgets_last(self);
    if (self->open)
        keep_snapshot(self);
    if (self->open)
        keep_mark(self);
}

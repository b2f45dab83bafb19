#include "tests/unit/tracker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/store/mark.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/commands.h"
#include "services/tracker/feed.h"
#include "services/tracker/jobs.h"
#include "services/tracker/keep.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/outbox.h"
#include "services/tracker/pending_figures.h"
#include "services/tracker/renew.h"
#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/config/profile_of.h"

#define GATEWAY "01ARZ3NDEKTSV4RRFFQ69G5FB1"

#define STAGE_PROFILE(name, more, callback)                                                        \
    name ": {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: " more                      \
         ", callback: {quota_count: 4, parked_for: 1h, " callback "}}\n"
#define STAGE_POLL                                                                                 \
    "{request: {url: \"https://h.example/res.php\"}, schedule: {every: 5s, jitter: 0%, "           \
    "max_requests: 5, give_up_after: 600s}}"

static const char STAGE_YAML[] =
    STAGE_PROFILE("two", STAGE_POLL, "trust: token") STAGE_PROFILE("bare", STAGE_POLL, "trust: id")
        STAGE_PROFILE("thin", STAGE_POLL, "trust: hint") "mute: {family: inphp, poll: none}\n";

/* Time, and the channels that this stage has not. */
static struct ald_now stage_now = {.wall_ms = INT64_C(1800000000000), .mono_ms = 1000000};

struct ald_now __wrap_ald_clock_now(void);
void __wrap_feed_add(feed_t *self, const char *provider_id, const struct vault_result *result);
void __wrap_feed_tell(feed_t *self);
void __wrap_feed_forget(feed_t *self);
void __wrap_outbox_sweep(outbox_t *self);
void __wrap_outbox_reset(outbox_t *self);
void __wrap_jobs_reset(jobs_t *self);

struct ald_now __wrap_ald_clock_now(void)
{
    return stage_now;
}

void __wrap_feed_add(feed_t *self, const char *provider_id, const struct vault_result *result)
{
    (void)self;
    assert_non_null(provider_id);
    assert_true(result->corrects < result->seq);
    assert_int_not_equal(result->seq, 0);
}

void __wrap_feed_tell(feed_t *self)
{
    (void)self;
}

void __wrap_feed_forget(feed_t *self)
{
    (void)self;
}

void __wrap_outbox_sweep(outbox_t *self)
{
    (void)self;
}

void __wrap_outbox_reset(outbox_t *self)
{
    (void)self;
}

void __wrap_jobs_reset(jobs_t *self)
{
    (void)self;
}

void stage_pass(int64_t ms)
{
    stage_now.wall_ms += ms;
    stage_now.mono_ms += ms;
}

static void stage_open(struct stage *self)
{
    struct tracker *tracker = &self->tracker;
    struct ald_err err = {0};
    *tracker = (struct tracker){.settings = &self->settings, .profiles = self->profiles};
    ald_buf_init(&tracker->scratch, 1 << 20);
    ald_buf_init(&tracker->kept, 1 << 13);
    ald_buf_init(&tracker->evidence, 1 << 20);
    ald_keys_rotate(&tracker->keys);
    assert_int_equal(ald_mark_open(folder_file(&self->folder, "mark"), &tracker->mark, &err),
                     ALD_OK);
    const struct vault_options options = {.data = self->folder.path, .sync_beside = true};
    assert_int_equal(vault_open(&tracker->vault, &options, &err), ALD_OK);
    if (keep_read_back(tracker, &err) != ALD_OK)
        fail_msg("%s", err.text);
    tracker->open = true;
}

static void stage_kill(struct stage *self)
{
    struct tracker *tracker = &self->tracker;
    keep_forget(tracker);
    vault_close(&tracker->vault);
    ald_mark_destroy(&tracker->mark);
    ald_buf_free(&tracker->scratch);
    ald_buf_free(&tracker->kept);
    ald_buf_free(&tracker->evidence);
}

static void stage_profiles(struct stage *self, const char *yaml)
{
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "key", 1);
    ald_profiles_destroy(&self->profiles);
    self->profiles = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
    if (!self->profiles)
        fail_msg("%s", ald_errors_text(&errors));
    ald_errors_free(&errors);
}

int stage_setup(void **state)
{
    struct stage *self = calloc(1, sizeof *self);
    folder_make(&self->folder);
    self->settings.tracker.max_open = 1000;
    self->settings.tracker.outbox_max = 1000;
    self->settings.tracker.max_consumers = 256;
    self->settings.tracker.lease_ms = 30000;
    self->settings.poller.timeout_ms = 20000; /* within a lease */
    self->settings.tracker.last_poll_grace_ms = 60000;
    self->settings.tracker.recover_grace_ms = 600000;
    self->settings.store.keep_results_ms = INT64_C(30) * 24 * STAGE_HOUR;
    self->settings.store.keep_evidence_ms = INT64_C(7) * 24 * STAGE_HOUR;
    self->settings.store.keep_letters_ms = INT64_C(30) * 24 * STAGE_HOUR;
    self->settings.store.keep_submitted_bytes = 1 << 20;
    stage_profiles(self, STAGE_YAML);
    stage_open(self);
    *state = self;
    return 0;
}

/* Whatever a test did, the ledgers balance. */
static void stage_balanced(struct stage *self)
{
    struct tracker *tracker = &self->tracker;
    const char *which = "";
    int64_t letters = 0;
    int64_t outbox = 0;
    uint64_t sums[2];
    vault_letter_sums(&tracker->vault, &letters, &sums[0], &outbox, &sums[1]);
    int64_t open = (int64_t)(pending_count(tracker->pending) + tracker->orphans);
    (void)books_balance(&tracker->vault.books, open, letters, &which);
    assert_string_equal(which, "");
    assert_int_equal(park_count(tracker->park), stage_disposition(self, ALD_DISP_PARKED));
}

int stage_teardown(void **state)
{
    struct stage *self = *state;
    stage_balanced(self);
    stage_restart(self, NULL);
    stage_balanced(self);
    stage_kill(self);
    ald_profiles_destroy(&self->profiles);
    folder_remove(&self->folder);
    free(self);
    return 0;
}

void stage_restart(struct stage *self, const char *yaml)
{
    stage_kill(self);
    if (yaml)
        stage_profiles(self, yaml);
    stage_open(self);
}

void stage_renew(struct stage *self, const char *yaml)
{
    struct ald_errors errors;
    ald_profiles_t *fresh = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
    if (!fresh)
        fail_msg("%s", ald_errors_text(&errors));
    ald_errors_free(&errors);
    ald_profiles_keep(fresh, self->profiles);
    renew_profiles(&self->tracker, fresh);
    ald_profiles_destroy(&self->profiles);
    self->profiles = fresh;
}

static void stage_begin(struct stage *self)
{
    self->tracker.turned_ms = stage_now.mono_ms; /* no gap */
    vault_begin(&self->tracker.vault);
}

static void stage_commit(struct stage *self)
{
    assert_true(tracker_commit(&self->tracker));
}

void stage_stop(struct stage *self)
{
    self->tracker.turned_ms = stage_now.mono_ms;
    keep_last(&self->tracker);
    assert_true(self->tracker.open);
}

void stage_tick(struct stage *self)
{
    stage_begin(self);
    act_due(&self->tracker, 100);
    act_parked_due(&self->tracker, 100);
    keep_budgets(&self->tracker);
    stage_commit(self);
}

void stage_index(struct stage *self)
{
    struct tracker *tracker = &self->tracker;
    vault_index_begin(&tracker->vault);
    tail_turn(tracker->tail);
    assert_true(vault_index_step(&tracker->vault, SIZE_MAX, pending_lowest(tracker->pending)));
    tail_drop(tracker->tail);
}

struct sender *stage_gateway(struct stage *self)
{
    struct sender *sender = senders_get(self->tracker.senders, GATEWAY);
    if (sender->heard_at_ms == 0) {
        stage_begin(self);
        keep_sender(&self->tracker, sender);
        stage_commit(self);
    }
    sender->heard_at_ms = stage_now.wall_ms;
    senders_told(self->tracker.senders, sender, 0, 0, tracker_now(&self->tracker).run_ms);
    return sender;
}

static void stage_text(char *out, size_t cap, const char *text, const char *otherwise)
{
    ald_text_cut(out, cap, ald_span_str(text ? text : otherwise));
}

struct msg_ack stage_take(struct stage *self, const struct stage_callback *callback)
{
    struct msg_callback message = {.num = callback->num ? callback->num : ++self->num,
                                   .task = callback->task,
                                   .attempt = callback->attempt,
                                   .query = ald_span_str(callback->query ? callback->query : ""),
                                   .received_at_ms = stage_now.wall_ms - callback->age_ms,
                                   .spooled = callback->spooled};
    stage_text(message.provider, sizeof message.provider, callback->provider, "two");
    stage_text(message.proof, sizeof message.proof, callback->proof,
               callback->task ? "token" : "none");
    stage_text(message.fault, sizeof message.fault, callback->fault, "");
    stage_text(message.method, sizeof message.method, "GET", "");
    stage_text(message.peer, sizeof message.peer, callback->peer, "192.0.2.1");
    struct sender *sender = stage_gateway(self);
    struct ald_buf bytes;
    struct msg_ack ack = {0};
    ald_buf_init(&bytes, 65536);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &message, &bytes), ALD_OK);
    struct msg_callback read;
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &read, ald_buf_span(&bytes)), ALD_OK);
    stage_begin(self);
    act_callback(&self->tracker, sender, &read, ald_buf_span(&bytes), &ack);
    stage_commit(self);
    ald_buf_free(&bytes);
    assert_int_equal(ack.num, message.num);
    return ack;
}

unsigned stage_whole(struct stage *self)
{
    struct ald_buf buf;
    struct vault_arrival row;
    unsigned count = 0;
    ald_buf_init(&buf, 65536);
    for (int64_t no = 1; no <= self->tracker.vault.last_arrival; no++)
        count += vault_arrival_get(&self->tracker.vault, no, &row, &buf) && row.message.len > 0;
    ald_buf_free(&buf);
    return count;
}

uint64_t stage_register(struct stage *self, const char *provider, const char *provider_id)
{
    struct msg_register ask = {.req = 1};
    struct msg_answer answer = {0};
    struct msg_task_view view = {0};
    stage_text(ask.provider, sizeof ask.provider, provider, "");
    stage_text(ask.provider_id, sizeof ask.provider_id, provider_id, "");
    stage_begin(self);
    command_register(&self->tracker, &ask, &answer, &view);
    stage_commit(self);
    assert_string_equal(answer.rc, "ok");
    return view.task;
}

const char *stage_attach(struct stage *self, uint64_t task, const char *provider_id)
{
    static char rc[ALD_WORD_MAX];
    struct msg_attach ask = {.req = 1, .task = task};
    struct msg_answer answer = {0};
    struct msg_task_view view = {0};
    stage_text(ask.provider_id, sizeof ask.provider_id, provider_id, "");
    stage_begin(self);
    command_attach(&self->tracker, &ask, &answer, &view);
    stage_commit(self);
    memcpy(rc, answer.rc, sizeof rc);
    return rc;
}

void stage_cancel(struct stage *self, uint64_t task)
{
    struct msg_cancel ask = {.req = 1, .task = task};
    struct msg_answer answer = {0};
    struct msg_task_view view = {0};
    stage_begin(self);
    command_cancel(&self->tracker, &ask, &answer, &view);
    stage_commit(self);
    assert_string_equal(answer.rc, "ok");
}

uint64_t stage_poll(struct stage *self, const struct msg_outcome *outcome)
{
    static uint64_t leases;
    struct tracker *tracker = &self->tracker;
    struct msg_outcome told = *outcome;
    struct msg_ack ack = {0};
    tracker->turned_ms = stage_now.mono_ms;
    const struct pending_task *task =
        pending_lease(tracker->pending, 1, ++leases, tracker_now(tracker).run_ms);
    if (!task)
        return 0;
    told.lease = leases;
    told.task = task->id;
    told.at_ms = stage_now.wall_ms;
    stage_begin(self);
    act_outcome(tracker, &told, &ack);
    stage_commit(self);
    return told.task;
}

static struct msg_letter newest;
static uint8_t newest_bytes[65536];

static bool stage_see_letter(void *context, uint64_t num, struct ald_span message)
{
    (void)num;
    if (!ald_wire_is(&MSG_LETTER, message))
        return true; /* the closing of one */
    assert_true(message.len <= sizeof newest_bytes);
    memcpy(newest_bytes, message.data, message.len);
    assert_int_equal(ald_wire_decode(&MSG_LETTER, &newest, ald_span_of(newest_bytes, message.len)),
                     ALD_OK);
    *(bool *)context = true;
    return true;
}

bool stage_letter(struct stage *self, struct msg_letter *out)
{
    bool found = false;
    vault_outbox_each(&self->tracker.vault, 0, stage_see_letter, &found);
    *out = newest;
    return found;
}

/* The message with another query, in out if there is one. */
static struct ald_span stage_edited(struct ald_span original, const char *query,
                                    struct ald_buf *out)
{
    struct msg_callback message;
    if (!query)
        return original;
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &message, original), ALD_OK);
    message.query = ald_span_str(query);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &message, out), ALD_OK);
    return ald_buf_span(out);
}

struct msg_ack stage_reinject(struct stage *self, const struct stage_again *again)
{
    struct msg_letter letter;
    struct msg_ack ack = {0};
    struct ald_buf edited;
    ald_buf_init(&edited, 1 << 16);
    assert_true(stage_letter(self, &letter));
    struct msg_reinject reinject = {
        .num = 5,
        .attempt = 1,
        .revision = again->edited ? 2 : 1,
        .by_person = again->by_person,
        .believe = again->believe,
        .buy = again->buy,
        .publish = again->publish,
        .asked_at_ms = again->asked_at_ms ? again->asked_at_ms : stage_now.wall_ms,
        .original = stage_edited(letter.original, again->query, &edited)};
    stage_text(reinject.letter, sizeof reinject.letter, again->letter, letter.letter);
    stage_text(reinject.reason, sizeof reinject.reason, letter.reason, "");
    stage_begin(self);
    act_reinject(&self->tracker, &reinject, &ack);
    stage_commit(self);
    ald_buf_free(&edited);
    assert_int_equal(ack.num, 5);
    return ack;
}

struct msg_ack stage_close(struct stage *self, const char *letter)
{
    struct msg_closing closing = {.num = 6, .at_ms = stage_now.wall_ms};
    struct msg_ack ack = {0};
    stage_text(closing.letter, sizeof closing.letter, letter, "");
    stage_begin(self);
    act_closing(&self->tracker, &closing, &ack);
    stage_commit(self);
    return ack;
}

static enum ald_source source_of;

static void stage_see_result(struct stage *self, uint64_t seq)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(self->tracker.vault.store,
                                       "SELECT source FROM results WHERE seq = ?1", &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    source_of = (enum ald_source)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
}

const char *stage_state(struct stage *self, uint64_t task)
{
    static char text[64];
    struct tracker *tracker = &self->tracker;
    struct vault_end end;
    if (pending_find(tracker->pending, task))
        return "open";
    if (!vault_end_find(&tracker->vault, task, tracker_tail_seq(tracker, task), &end))
        return "none";
    stage_see_result(self, end.seq);
    (void)snprintf(text, sizeof text, "%s %s", ald_state_name(end.state),
                   ald_source_name(source_of));
    return text;
}

int64_t stage_book(const struct stage *self, unsigned book)
{
    return self->tracker.vault.books.value[book];
}

int64_t stage_disposition(const struct stage *self, enum ald_disposition disposition)
{
    return stage_book(self, BOOK_DISPOSITION + (unsigned)disposition);
}

#include "services/tracker/pushes.h"

#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/facade_word.h"
#include "common/config/request.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_pushes.h"

enum { PUSHES_LEASE_MS = 60000, PUSHES_BYTES_MAX = 1 << 20 /* in a message, and one more */ };
enum { PUSHES_LETTER_MAX = ALD_SUBMISSION_MAX + (64 << 10) };

/* One that a poller has. */
struct push {
    uint64_t task; /* 0: free */
    uint64_t lease;
    int64_t until_ms; /* monotonic */
};

struct pushes {
    struct tracker *tracker;
    int64_t next_ms; /* service time: look for more then */
    struct push out[PUSHES_MAX];
    struct { /* while leases are made */
        uint64_t *lease;
        size_t credit;
        size_t count;
        size_t bytes;
        zmsg_t **msg;
        void (*begin)(void *context, zmsg_t **msg);
        void *context;
    } now;
};

pushes_t *pushes_new(struct tracker *tracker)
{
    pushes_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    return self;
}

void pushes_destroy(pushes_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

void pushes_forget(pushes_t *self)
{
    if (!self)
        return;
    memset(self->out, 0, sizeof self->out);
    self->next_ms = 0;
}

void pushes_add(struct tracker *tracker, struct pending_task *task, const struct msg_register *ask)
{
    if (!ald_url_ok(ask->pingback)) {
        vault_note(&tracker->vault, task->id, tracker_now(tracker).wall_ms, "pingback.ignored",
                   "it is no http or https address");
        return;
    }
    vault_push_add(&tracker->vault, task->id, ask->pingback, ask->pingback_json);
    task->pushes = true;
}

static void pushes_waits(void *arg, uint64_t id)
{
    struct tracker *tracker = arg;
    struct pending_task *task = pending_find(tracker->pending, id);
    if (task)
        task->pushes = true;
}

void pushes_back(struct tracker *tracker)
{
    vault_each_waiting_push(&tracker->vault, pushes_waits, tracker);
}

/* What nobody took is not lost: the letter holds what is to be sent. */
static void pushes_letter(struct tracker *tracker, uint64_t task, const char *provider,
                          struct ald_span body, const char *cause)
{
    char id[ALD_ULID_MAX];
    struct ald_buf original;
    struct vault_end end = {0};
    struct msg_callback message = {
        .task = task, .body = body, .received_at_ms = tracker_now(tracker).wall_ms};
    if (vault_letter_of(&tracker->vault, task, ALD_REASON_CONSUMER_REJECTED, id))
        return; /* it was sent again by its letter */
    (void)vault_end_find(&tracker->vault, task, tracker_tail_seq(tracker, task), &end);
    ald_text_cut(message.provider, sizeof message.provider, ald_span_str(provider));
    ald_text_cut(message.proof, sizeof message.proof, ald_span_str(ald_proof_name(ALD_PROOF_AUTH)));
    ald_text_cut(message.method, sizeof message.method, ald_span_str("POST"));
    ald_text_cut(message.path, sizeof message.path, ald_span_str("pingback"));
    ald_buf_init(&original, PUSHES_LETTER_MAX);
    if (body.len > 0 && ald_wire_encode(&MSG_CALLBACK, &message, &original) != ALD_OK)
        ald_buf_reset(&original);
    const struct ending_letter letter = {.reason = ALD_REASON_CONSUMER_REJECTED,
                                         .cause = cause,
                                         .provider = provider,
                                         .provider_id = end.provider_id,
                                         .task = task,
                                         .proof = ALD_PROOF_AUTH, /* our own words */
                                         .digest = "",
                                         .original = ald_buf_span(&original)};
    ending_letter(tracker, &letter, id);
    ald_buf_free(&original);
}

void pushes_ended(pushes_t *self, uint64_t task, const struct ald_profile *profile,
                  const struct ending *ending)
{
    struct tracker *tracker = self->tracker;
    const struct ald_facade_end end = {.task = task,
                                       .state = ending->state,
                                       .result = ending->result,
                                       .result_json = ending->result_json,
                                       .code = ending->code};
    struct ald_buf body;
    bool json = false;
    if (!vault_push_waits(&tracker->vault, task, &json))
        return;
    ald_buf_init(&body, ALD_SUBMISSION_MAX);
    ald_facade_pingback(json ? ALD_FACADE_TASKS : ALD_FACADE_PLAIN, &end, &body);
    if (ald_buf_ok(&body)) {
        vault_push_due(&tracker->vault, task, ald_buf_span(&body), tracker_now(tracker).run_ms);
        self->next_ms = 0;
    } else {
        vault_push_settle(&tracker->vault, task, false);
        vault_note(&tracker->vault, task, tracker_now(tracker).wall_ms, "pingback.given_up",
                   "the result is too large");
        pushes_letter(tracker, task, profile->name, ald_span_of(NULL, 0),
                      "The result is too large for the caller's own pingback.");
    }
    ald_buf_free(&body);
}

/* ---- leases ---- */

static struct push *pushes_place(pushes_t *self, uint64_t task)
{
    struct push *free_one = NULL;
    int64_t now_ms = ald_clock_now().mono_ms;
    for (size_t i = 0; i < PUSHES_MAX; i++) {
        struct push *push = &self->out[i];
        if (push->task != 0 && push->until_ms <= now_ms)
            *push = (struct push){0};
        if (push->task == task)
            return NULL;
        if (push->task == 0 && !free_one)
            free_one = push;
    }
    return free_one;
}

static bool pushes_one(void *arg, const struct vault_push *row)
{
    pushes_t *self = arg;
    struct push *push = pushes_place(self, row->task);
    if (!push)
        return true; /* a poller has it */
    *push = (struct push){.task = row->task,
                          .lease = ++*self->now.lease,
                          .until_ms = ald_clock_now().mono_ms + PUSHES_LEASE_MS};
    struct vault_words words;
    struct msg_lease lease = {.lease = push->lease,
                              .task = push->task,
                              .lease_ms = PUSHES_LEASE_MS,
                              .poll_url = row->url,
                              .push = true,
                              .body = row->body};
    vault_task_words(&self->tracker->vault, row->task, &words);
    memcpy(lease.trace, words.trace, sizeof lease.trace);
    self->now.begin(self->now.context, self->now.msg);
    ald_frame_put(*self->now.msg, &MSG_LEASE, &lease);
    self->now.bytes += row->body.len;
    return ++self->now.count < self->now.credit && self->now.bytes < PUSHES_BYTES_MAX;
}

size_t pushes_lease(pushes_t *self, uint64_t *lease, size_t credit, zmsg_t **msg,
                    void (*begin)(void *context, zmsg_t **msg), void *context)
{
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    if (credit == 0 || self->next_ms > now_ms)
        return 0;
    self->now.lease = lease;
    self->now.credit = credit;
    self->now.count = 0;
    self->now.bytes = 0;
    self->now.msg = msg;
    self->now.begin = begin;
    self->now.context = context;
    vault_each_due_push(&self->tracker->vault, now_ms, PUSHES_MAX, pushes_one, self);
    if (self->now.count < credit && self->now.bytes < PUSHES_BYTES_MAX) /* none was left */
        self->next_ms = now_ms + 1000;
    return self->now.count;
}

int64_t pushes_rest_ms(const pushes_t *self)
{
    return rest_until(self->next_ms, tracker_now(self->tracker).run_ms);
}

/* ---- outcomes ---- */

static void pushes_give_up(pushes_t *self, uint64_t task, unsigned tries, const char *said)
{
    struct tracker *tracker = self->tracker;
    struct ald_buf body;
    char cause[ALD_TEXT_MAX];
    char provider[ALD_PROVIDER_MAX] = "";
    ald_buf_init(&body, ALD_SUBMISSION_MAX);
    (void)snprintf(cause, sizeof cause,
                   "The caller's own pingback was not taken in %u tries; at last: %.160s", tries,
                   said);
    if (vault_push_words(&tracker->vault, task, provider, &body))
        pushes_letter(tracker, task, provider, ald_buf_span(&body), cause);
    vault_push_rest(&tracker->vault, task);
    ald_buf_free(&body);
}

static void pushes_failed(pushes_t *self, const struct msg_outcome *outcome, unsigned tries)
{
    static const struct ald_backoff backoff = {.first_ms = PUSHES_FIRST_MS,
                                               .percent = 200,
                                               .max_ms = PUSHES_WAIT_MAX_MS,
                                               .jitter_percent = 20};
    struct tracker *tracker = self->tracker;
    uint64_t random = 0;
    char said[ALD_TEXT_MAX];
    ald_random(&random, sizeof random);
    (void)snprintf(said, sizeof said, "http=%llu %.200s", (unsigned long long)outcome->http,
                   outcome->error);
    bool over = tries + 1 >= PUSHES_TRIES_MAX;
    vault_note(&tracker->vault, outcome->task, outcome->at_ms,
               over ? "pingback.given_up" : "pingback.failed", said);
    if (over) {
        ald_log(ALD_WARN, "pingback.given_up", "task=%llu%s tries=%u text=%s",
                (unsigned long long)outcome->task, tracker_trace(tracker, outcome->task), tries + 1,
                ALD_Q(said));
        pushes_give_up(self, outcome->task, tries + 1, said);
        return;
    }
    int64_t wait_ms = ald_backoff_wait(&backoff, tries, random);
    vault_push_again(&tracker->vault, outcome->task, tries + 1,
                     tracker_now(tracker).run_ms + wait_ms);
}

/* Who has it now; NULL: nobody, as far as is known. */
static struct push *pushes_out(pushes_t *self, uint64_t task)
{
    for (size_t i = 0; i < PUSHES_MAX; i++)
        if (self->out[i].task == task)
            return &self->out[i];
    return NULL;
}

/* Handed back without having been sent: by a poller that stops, or has no room. */
static void pushes_untried(pushes_t *self, uint64_t task, unsigned tries)
{
    vault_push_again(&self->tracker->vault, task, tries,
                     tracker_now(self->tracker).run_ms + PUSHES_FIRST_MS);
}

const char *pushes_outcome(pushes_t *self, const struct msg_outcome *outcome)
{
    unsigned tries = 0;
    bool taken = outcome->answered && outcome->http >= 200 && outcome->http < 300;
    struct push *out = pushes_out(self, outcome->task);
    if (!taken && out && out->lease != outcome->lease)
        return "duplicate"; /* of a lease that is over: another poller has it */
    if (out)
        *out = (struct push){0};
    if (!vault_push_tries(&self->tracker->vault, outcome->task, &tries))
        return "duplicate";
    char letter[ALD_ULID_MAX];
    if (taken) {
        if (vault_letter_of(&self->tracker->vault, outcome->task, ALD_REASON_CONSUMER_REJECTED,
                            letter))
            ending_answered(self->tracker, letter, false);
        vault_push_settle(&self->tracker->vault, outcome->task, true);
        vault_note(&self->tracker->vault, outcome->task, outcome->at_ms, "pingback", "");
    } else if (strcmp(outcome->class_, ald_class_name(ALD_CLASS_NONE)) == 0) {
        pushes_untried(self, outcome->task, tries);
    } else {
        pushes_failed(self, outcome, tries);
    }
    self->next_ms = 0;
    return taken ? "applied" : "progress";
}

enum ald_disposition pushes_again(struct tracker *tracker, uint64_t task, struct ald_span original)
{
    struct msg_callback message;
    switch (vault_push_state(&tracker->vault, task)) {
    case VAULT_PUSH_NONE: /* with its task its address is forgotten */
        return ALD_DISP_DROPPED;
    case VAULT_PUSH_OVER:
        return ALD_DISP_DUPLICATE;
    case VAULT_PUSH_LIVE:
        break;
    case VAULT_PUSH_RESTS:
        if (ald_wire_decode(&MSG_CALLBACK, &message, original) != ALD_OK || message.body.len == 0)
            break;
        vault_push_revive(&tracker->vault, task, message.body, PUSHES_TRIES_MAX - 1,
                          tracker_now(tracker).run_ms);
        if (tracker->pushes)
            tracker->pushes->next_ms = 0;
        break;
    }
    return ALD_DISP_STILL; /* who takes it closes the letter */
}

void pushes_drop(struct tracker *tracker, uint64_t task)
{
    if (vault_push_state(&tracker->vault, task) != VAULT_PUSH_OVER)
        vault_push_settle(&tracker->vault, task, false);
}

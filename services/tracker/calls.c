#include "services/tracker/calls.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/outcome.h"
#include "services/tracker/query.h"
#include "services/tracker/rest.h"

struct call {
    zframe_t *who; /* NULL: free */
    uint64_t req;
    uint64_t lease; /* 0: no poller has it */
    uint64_t task;
    int64_t until_ms; /* monotonic */
    char provider[ALD_PROVIDER_MAX];
    char path[ALD_WORD_MAX];
    char verb[ALD_WORD_MAX];
    size_t len;
    uint8_t params[ALD_KEPT_PARAMS_MAX];
};

struct calls {
    struct tracker *tracker;
    struct call list[CALLS_MAX];
};

calls_t *calls_new(struct tracker *tracker)
{
    calls_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    return self;
}

/* NULL: its profile is gone. */
static struct pending_account *calls_account(const calls_t *self, const struct call *call)
{
    const struct ald_profile *profile = ald_profiles_find(self->tracker->profiles, call->provider);
    return profile ? pending_account(self->tracker->pending, profile) : NULL;
}

/* Of whoever's budgets name it. */
static enum budget_use call_use(const struct call *call)
{
    return call->task != 0 ? BUDGET_REPORT : BUDGET_BALANCE;
}

static void call_end(struct call *call)
{
    zframe_destroy(&call->who);
    explicit_bzero(call, sizeof *call);
}

void calls_forget(calls_t *self)
{
    for (size_t i = 0; self && i < CALLS_MAX; i++)
        if (self->list[i].who)
            call_end(&self->list[i]);
}

void calls_recount(const calls_t *self)
{
    for (size_t i = 0; self && i < CALLS_MAX; i++) {
        const struct call *call = &self->list[i];
        struct pending_account *account =
            call->who && call->lease != 0 ? calls_account(self, call) : NULL;
        if (account)
            budget_recount(&account->budget, call_use(call));
    }
}

void calls_destroy(calls_t **self_p)
{
    if (!*self_p)
        return;
    calls_forget(*self_p);
    free(*self_p);
    *self_p = NULL;
}

static bool calls_refuse(struct msg_answer *answer, const char *rc, const char *detail)
{
    ald_text_cut(answer->rc, sizeof answer->rc, ald_span_str(rc));
    ald_text_cut(answer->detail, sizeof answer->detail, ald_span_str(detail));
    return false;
}

/* Is the same being said about this task? */
static bool calls_under_way(const calls_t *self, const struct msg_call *ask)
{
    for (size_t i = 0; i < CALLS_MAX && ask->task != 0; i++)
        if (self->list[i].who && self->list[i].task == ask->task &&
            strcmp(self->list[i].verb, ask->verb) == 0)
            return true;
    return false;
}

bool calls_ask(calls_t *self, zframe_t **who_p, const struct msg_call *ask,
               struct msg_answer *answer)
{
    struct call *call = NULL;
    answer->req = ask->req;
    for (size_t i = 0; i < CALLS_MAX && !call; i++)
        if (!self->list[i].who)
            call = &self->list[i];
    if (!ald_profiles_find(self->tracker->profiles, ask->provider) || ask->wait_ms < 0 ||
        ask->wait_ms > CALLS_WAIT_MAX_MS)
        return calls_refuse(answer, "invalid",
                            "There is no such provider, or the wait is too long.");
    if (calls_under_way(self, ask))
        return calls_refuse(answer, "exists", "This is being said about the task already.");
    if (!call)
        return calls_refuse(answer, "full", "Too many calls wait for the providers.");
    *call = (struct call){.who = *who_p,
                          .req = ask->req,
                          .task = ask->task,
                          .until_ms = ald_clock_now().mono_ms + ask->wait_ms,
                          .len = ask->params.len};
    *who_p = NULL;
    memcpy(call->provider, ask->provider, sizeof call->provider);
    memcpy(call->path, ask->path, sizeof call->path);
    memcpy(call->verb, ask->verb, sizeof call->verb);
    if (call->len > 0)
        memcpy(call->params, ask->params.data, call->len);
    return true;
}

bool calls_lease(calls_t *self, uint64_t lease, struct msg_lease *out)
{
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        struct call *call = &self->list[i];
        if (!call->who || call->lease != 0)
            continue;
        struct pending_account *account = calls_account(self, call);
        if (!account || budget_when(&account->budget, call_use(call), now_ms) > now_ms)
            continue;
        budget_take(&account->budget, call_use(call), lease, now_ms);
        call->lease = lease;
        *out = (struct msg_lease){.lease = lease,
                                  .task = call->task,
                                  .lease_ms = CALLS_WAIT_MAX_MS,
                                  .params = ald_span_of(call->params, call->len),
                                  .call = true};
        memcpy(out->provider, call->provider, sizeof out->provider);
        memcpy(out->path, call->path, sizeof out->path);
        return true;
    }
    return false;
}

static void calls_answer(calls_t *self, struct call *call, const char *rc,
                         const struct msg_reply *reply)
{
    struct msg_answer head = {.req = call->req};
    zmsg_t *msg = zmsg_new();
    ald_text_cut(head.rc, sizeof head.rc, ald_span_str(rc));
    zmsg_append(msg, &call->who);
    ald_frame_put(msg, &MSG_ANSWER, &head);
    if (reply)
        ald_frame_put(msg, &MSG_REPLY, reply);
    query_send(self->tracker->query, &msg);
    call_end(call);
}

/* Words of the protocol, or a page of somebody in between? */
static enum budget_sign calls_sign(const struct msg_outcome *outcome)
{
    struct ald_span body = ald_span_trim(outcome->result);
    if (!outcome->left)
        return BUDGET_NOTHING;
    bool sane = outcome->answered && outcome->http < 500 && body.len > 0 && body.data[0] != '<';
    return sane ? BUDGET_SANE : BUDGET_TROUBLE;
}

/* What it says of the account. True: the account must wait. */
static bool calls_told(calls_t *self, const struct call *call, const struct msg_outcome *outcome)
{
    struct tracker *tracker = self->tracker;
    struct pending_account *account = calls_account(self, call);
    int64_t now_ms = tracker_now(tracker).run_ms;
    struct ald_verdict verdict;
    if (!account)
        return false;
    outcome_verdict(outcome, &verdict);
    budget_settle(&account->budget, call_use(call), outcome->left, now_ms);
    outcome_told(tracker, account, outcome->lease, calls_sign(outcome));
    if (!verdict.block || !outcome->answered)
        return false;
    budget_block(&account->budget, now_ms + verdict.wait_ms, verdict.code);
    vault_block_set(&tracker->vault, call->provider, account->budget.blocked_until_ms);
    ald_log(ALD_WARN, "account.blocked", "provider=%s code=%s wait_ms=%lld", call->provider,
            ALD_Q(verdict.code), (long long)verdict.wait_ms);
    return true;
}

const char *calls_outcome(calls_t *self, const struct msg_outcome *outcome)
{
    struct call *call = NULL;
    for (size_t i = 0; i < CALLS_MAX && !call; i++)
        if (self->list[i].who && outcome->lease != 0 && self->list[i].lease == outcome->lease)
            call = &self->list[i];
    if (!call)
        return "duplicate"; /* its time was up */
    struct msg_reply reply = {.http = outcome->http, .body = outcome->result};
    reply.block = calls_told(self, call, outcome);
    bool good = outcome->answered && calls_sign(outcome) == BUDGET_SANE;
    if (good && call->task != 0)
        vault_note(&self->tracker->vault, call->task, outcome->at_ms, call->verb, "");
    if (!outcome->answered)
        ald_log(ALD_INFO, "call.unanswered", "provider=%s text=%s", call->provider,
                ALD_Q(outcome->error));
    calls_answer(self, call, outcome->answered ? "ok" : "busy", outcome->answered ? &reply : NULL);
    return "progress";
}

void calls_tick(calls_t *self)
{
    int64_t mono_ms = ald_clock_now().mono_ms;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        struct call *call = &self->list[i];
        if (!call->who || mono_ms < call->until_ms)
            continue;
        struct pending_account *account = calls_account(self, call);
        int64_t now_ms = tracker_now(self->tracker).run_ms;
        if (account &&
            call->lease != 0) { /* a probe of the breaker that nobody answers is trouble */
            budget_settle(&account->budget, call_use(call), true, now_ms);
            outcome_told(self->tracker, account, call->lease, BUDGET_TROUBLE);
        }
        calls_answer(self, call, "busy", NULL);
    }
}

/* They are few, wait for budgets and pollers, and each for seconds only. */
int64_t calls_rest_ms(const calls_t *self)
{
    for (size_t i = 0; i < CALLS_MAX; i++)
        if (self->list[i].who)
            return 0;
    return REST_NOTHING;
}

#include "services/poller/poller_inside.h"

#include "common/base/clock.h"
#include "common/base/failpoint.h"
#include "common/config/params.h"
#include "services/poller/call.h"
#include "services/poller/jwks.h"
#include "services/poller/submit.h"
#include "services/poller/terms.h"

/* What ${id} stands for: the item's, or those of all that are asked for with it. */
static const char *poller_ids(poller_t *self, const struct work_item *item)
{
    if (!item->with)
        return item->lease.provider_id;
    ald_buf_reset(&self->ids);
    for (const struct work_item *one = item; one; one = one->with) {
        if (one != item)
            ald_buf_put_byte(&self->ids, ALD_BATCH_COMMA);
        ald_buf_put_str(&self->ids, one->lease.provider_id);
    }
    ALD_ASSERT(ald_buf_ok(&self->ids));
    return ald_buf_str(&self->ids);
}

/* Begin a request that is filled in. ALD_OK: under way. ALD_FULL: not now; else it never can be. */
static enum ald_rc poller_launch(poller_t *self, const struct ald_profile *profile,
                                 struct ald_request *ask, struct work_item *item, int64_t now_ms)
{
    const struct fetch_request request = {
        .url = ald_buf_str(&ask->url),
        .method = ask->method,
        .headers = ald_buf_str(&ask->headers),
        .type = ask->content_type,
        .post = ald_buf_span(&ask->body),
        .timeout_ms = terms_timeout(self->settings, profile, item->until_ms - now_ms),
        .max_bytes = profile->poll_max_bytes < self->settings->poller.max_answer_bytes
                         ? profile->poll_max_bytes
                         : self->settings->poller.max_answer_bytes,
        .once = item->submit != NULL,
        .done = poller_on_answer,
        .arg = item,
    };
    item->owner = self;
    return ALD_FAILPOINT("poller.ask", fetch_start(self->fetch, &request), ALD_FULL);
}

/* The same. NULL: under way; else why it is not. */
static const char *poller_send(poller_t *self, const struct ald_profile *profile,
                               struct ald_request *ask, struct work_item *item, int64_t now_ms)
{
    enum ald_rc rc = poller_launch(self, profile, ask, item, now_ms);
    return rc == ALD_OK ? NULL : "libcurl refused the request";
}

/* The tracker is asked first: what may have been sent must be on disk before it is. */
static const char *poller_ask_start(poller_t *self, struct work_item *item, int64_t now_ms)
{
    struct msg_started started = {
        .lease = item->lease.lease, .task = item->lease.task, .attempt = item->submit->attempt};
    item->owner = self;
    item->submit->asked_ms = now_ms;
    return jobs_start(self->jobs, &started, item) ? NULL : "the tracker can't be asked";
}

static void poller_submit(poller_t *self, struct work_item *item, int64_t now_ms)
{
    const struct ald_profile *profile = ald_profiles_find(item->profiles, item->lease.provider);
    struct msg_outcome outcome;
    struct ald_err wrong = {0};
    enum ald_rc rc = ALD_INVALID;
    /* Before the tracker takes it for lost. */
    item->until_ms = now_ms + item->lease.lease_ms - item->lease.lease_ms / 10;
    bool good = submit_request(profile, item->submit, &self->submission, &wrong);
    if (good)
        rc = poller_launch(self, profile, &self->submission, item, now_ms);
    ald_request_free(&self->submission); /* it may be large */
    if (rc == ALD_OK)
        return;
    if (rc == ALD_FULL) { /* nothing is wrong with it, and it has not left */
        poller_hand_back(self, item, "handed back: too many requests are under way");
        return;
    }
    submit_refused(good ? "libcurl refused the request" : wrong.text, &outcome);
    outcome.attempt = item->submit->attempt;
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
}

/* Whoever was stopped in between may come too late: the tracker takes it for lost, makes it
 * uncertain, and a person may have done something about it. */
void poller_on_started(void *arg, void *tag, bool go)
{
    poller_t *self = arg;
    struct work_item *item = tag;
    int64_t now_ms = ald_clock_now().mono_ms;
    if (!go)
        work_end(self->work, &item);
    else if (self->draining)
        poller_hand_back(self, item, "handed back: the poller stops");
    else if (now_ms - item->submit->asked_ms >= item->lease.lease_ms / 2)
        poller_hand_back(self, item, "the right to send came too late");
    else
        poller_submit(self, item, now_ms);
    poller_begin_some(self);
}

static void poller_on_pushed(void *arg, const struct fetch_answer *answer)
{
    struct work_item *item = arg;
    poller_t *self = item->owner;
    struct msg_outcome outcome;
    push_answered(answer, &outcome);
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
    poller_begin_some(self);
    poller_say_load(self);
}

/* Call a caller's pingback. To an address that is none it fails, which is a try: handed back it
 * would come again for ever. */
static const char *poller_push(poller_t *self, struct work_item *item)
{
    struct fetch_request request;
    char header[PUSH_HEADER_MAX];
    push_request(item, &self->push_blocks, header, &request);
    request.done = poller_on_pushed;
    request.arg = item;
    item->owner = self;
    enum ald_rc rc = ALD_FAILPOINT("poller.push", fetch_start(self->fetch, &request), ALD_FULL);
    if (rc == ALD_FULL)
        return "handed back: the poller has no room";
    if (rc != ALD_OK) {
        const struct fetch_answer none = {.error = "the address of the pingback is none"};
        struct msg_outcome outcome;
        push_answered(&none, &outcome);
        poller_report(self, &item->lease, &outcome);
        work_end(self->work, &item);
    }
    return NULL;
}

static void poller_on_sunk(void *arg, const struct fetch_answer *answer)
{
    struct work_item *item = arg;
    poller_t *self = item->owner;
    struct msg_outcome outcome;
    sink_answered(answer, &outcome);
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
    poller_begin_some(self);
    poller_say_load(self);
}

/* Post an event to a sink, by the settings as they are now. What can't be sent ends here, with its
 * own outcome. */
static const char *poller_sink(poller_t *self, struct work_item *item, struct ald_now now)
{
    struct fetch_request request;
    struct msg_outcome outcome;
    enum ald_class cls = ALD_CLASS_NONE;
    const char *error =
        sink_request(ald_sinks_find(self->settings->sinks, item->lease.sink), item,
                     now.wall_ms / 1000, now.mono_ms, &self->sink_room, &request, &cls);
    request.done = poller_on_sunk;
    request.arg = item;
    item->owner = self;
    if (!error &&
        ALD_FAILPOINT("poller.sink", fetch_start(self->fetch, &request), ALD_FULL) != ALD_OK)
        error = "libcurl refused the request";
    if (!error)
        return NULL;
    sink_unsent(error, cls, &outcome);
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
    return NULL;
}

static void poller_on_jwks(void *arg, const struct fetch_answer *answer)
{
    struct work_item *item = arg;
    poller_t *self = item->owner;
    const struct ald_profile *profile = ald_profiles_find(item->profiles, item->lease.provider);
    struct msg_outcome outcome;
    ALD_ASSERT(profile);
    jwks_answered(profile, answer, &outcome);
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
    poller_begin_some(self);
    poller_say_load(self);
}

/* Fetch a provider's public keys. */
static const char *poller_jwks(poller_t *self, const struct ald_profile *profile,
                               struct work_item *item)
{
    struct fetch_request request;
    const char *error = jwks_request(profile, &request);
    if (error)
        return error;
    request.done = poller_on_jwks;
    request.arg = item;
    item->owner = self;
    enum ald_rc rc = ALD_FAILPOINT("poller.keys", fetch_start(self->fetch, &request), ALD_FULL);
    return rc == ALD_OK ? NULL : "libcurl refused the request";
}

const char *poller_ask(poller_t *self, struct work_item *item, int64_t now_ms)
{
    if (item->lease.sink[0] != '\0')
        return poller_sink(self, item, ald_clock_now());
    if (item->lease.push)
        return poller_push(self, item);
    if (!item->profiles) /* an answer is read by the rules that its question was made by */
        item->profiles = ald_profiles_share(self->profiles);
    const struct ald_profile *profile = ald_profiles_find(item->profiles, item->lease.provider);
    if (!profile)
        return "this poller has no profile of that name";
    if (item->lease.jwks)
        return poller_jwks(self, profile, item);
    if (item->submit)
        return poller_ask_start(self, item, now_ms);
    if (item->lease.call) {
        const char *error = call_request(profile, item, &self->request);
        return error ? error : poller_send(self, profile, &self->request, item, now_ms);
    }
    struct ald_params params;
    ald_params_init(&params, ald_span_str(item->params ? item->params : ""));
    const struct ald_request_in in = {
        .stage = item->fetching ? ALD_STAGE_FETCH : ALD_STAGE_POLL,
        .id = poller_ids(self, item),
        .several = item->with != NULL,
        .poll_url = item->poll_url,
        .result_url = item->result_url,
        .param = ald_params_text,
        .arg = &params,
    };
    enum ald_rc rc = ald_profile_request(profile, &in, &self->request);
    ald_params_free(&params);
    if (rc != ALD_OK)
        return terms_why(rc);
    return poller_send(self, profile, &self->request, item, now_ms);
}

#include "services/tracker/consumers/consumers.h"

#include "common/base/clock.h"
#include "services/tracker/consumers/consumers_inside.h"
#include "services/tracker/consumers/sinks.h"

/* ---- the list ---- */

consumers_t *consumers_new(struct tracker *tracker)
{
    consumers_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->by_name = zhashx_new();
    ald_buf_init(&self->flight, CONSUMER_FLIGHT_MAX);
    ald_buf_init(&self->event, ALD_ITEM_MAX);
    ald_buf_init(&self->original, ALD_ITEM_MAX);
    consumers_pages_init();
    return self;
}

struct durable *consumers_find(const consumers_t *self, const char *name)
{
    return zhashx_lookup(self->by_name, name);
}

struct durable *consumers_of(const consumers_t *self, int64_t no)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i]->no == no)
            return self->list[i];
    return NULL;
}

void consumers_add(consumers_t *self, struct durable *one)
{
    if (self->count == self->cap) {
        self->cap = self->cap ? self->cap * 2 : 16;
        self->list = realloc(self->list, self->cap * sizeof(struct durable *));
        ALD_ASSERT(self->list);
    }
    self->list[self->count++] = one;
    ALD_ASSERT(zhashx_insert(self->by_name, one->name, one) == 0);
    if (one->no > self->last_no)
        self->last_no = one->no;
}

void consumers_pull_free(consumers_t *self, struct pull **pull_p)
{
    zframe_destroy(&(*pull_p)->who);
    free(*pull_p);
    *pull_p = NULL;
    self->waiters--;
}

void consumers_turn_away(consumers_t *self, struct durable *one, const char *rc, const char *detail)
{
    if (one->reading) {
        one->reading->next = one->first;
        one->first = one->reading;
        one->reading = NULL;
    }
    while (one->first) {
        struct pull *pull = one->first;
        one->first = pull->next;
        struct consumers_answer answer = {
            .msg = consumers_events(self, &pull->who, pull->req, NULL, rc, detail)};
        consumers_say(self, &answer, false);
        consumers_pull_free(self, &pull);
    }
}

void consumers_take(consumers_t *self, struct durable *one)
{
    consumers_turn_away(self, one, "notfound", "The consumer was deleted.");
    zhashx_delete(self->by_name, one->name);
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i] == one)
            self->list[i--] = self->list[--self->count];
}

void consumers_free(struct durable **one_p)
{
    consumer_free(&(*one_p)->core);
    free((*one_p)->returns);
    free(*one_p);
    *one_p = NULL;
}

void consumers_forget(consumers_t *self)
{
    static const char busy[] = "The store cannot be written now; it is opened again.";
    if (!self)
        return;
    for (size_t i = 0; i < self->answer_count; i++)
        zmsg_destroy(&self->answers[i].msg); /* whoever asked hears nothing, and asks again */
    for (size_t i = 0; i < self->gone_count; i++)
        consumers_free(&self->gone[i]);
    while (self->count > 0) {
        struct durable *one = self->list[0];
        consumers_turn_away(self, one, "busy", busy);
        consumers_take(self, one);
        consumers_free(&one);
    }
    self->answer_count = self->reject_count = self->gone_count = self->closing_count = 0;
    self->dirty = self->owed = false;
    self->last_no = 0;
}

void consumers_destroy(consumers_t **self_p)
{
    consumers_t *self = *self_p;
    if (!self)
        return;
    consumers_forget(self);
    zhashx_destroy(&self->by_name);
    ald_buf_free(&self->flight);
    ald_buf_free(&self->event);
    ald_buf_free(&self->original);
    free(self->list);
    free(self->answers);
    free(self->rejects);
    free(self->closings);
    free(self->gone);
    free(self);
    *self_p = NULL;
}

void consumers_touch(consumers_t *self, struct durable *one)
{
    one->dirty = true;
    self->dirty = true;
}

/* ---- settling ---- */

static bool settle_verb(const char *word, enum consumer_verb *out)
{
    static const char *const words[] = {
        [CONSUMER_ACK] = "ack",       [CONSUMER_NACK] = "nack",       [CONSUMER_REJECT] = "reject",
        [CONSUMER_EXTEND] = "extend", [CONSUMER_RELEASE] = "release",
    };
    for (size_t i = 0; i < ALD_COUNT(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *out = (enum consumer_verb)i;
            return true;
        }
    }
    return false;
}

static bool settle_read(zframe_t *frame, struct msg_settle *out, enum consumer_verb *verb)
{
    return ald_wire_decode(&MSG_SETTLE, out, ald_frame_span(frame)) == ALD_OK &&
           settle_verb(out->verb, verb) && out->first <= out->seq && out->delay_ms >= 0;
}

/* All of them, or none. */
bool consumers_sound(zmsg_t *msg)
{
    struct msg_settle settle;
    enum consumer_verb verb;
    bool sound = zmsg_size(msg) <= CONSUMERS_SETTLES_MAX + 1;
    (void)zmsg_first(msg);
    for (zframe_t *frame = zmsg_next(msg); frame && sound; frame = zmsg_next(msg))
        sound = settle_read(frame, &settle, &verb);
    return sound;
}

void consumers_settle(consumers_t *self, struct durable *one, int instance, zmsg_t *msg)
{
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    struct consumers_rejecting rejecting = {self, one};
    const struct consumer_rejects rejects = {consumers_reject, &rejecting};
    bool changed = false;
    (void)zmsg_first(msg);
    for (zframe_t *frame = zmsg_next(msg); frame; frame = zmsg_next(msg)) {
        struct msg_settle said;
        struct consumer_settle settle = {.why = said.reason};
        if (!settle_read(frame, &said, &settle.verb))
            continue;
        settle.lane = said.lane;
        settle.first = said.first;
        settle.seq = said.seq;
        settle.delay_ms =
            said.delay_ms < CONSUMERS_DELAY_MAX_MS ? said.delay_ms : CONSUMERS_DELAY_MAX_MS;
        changed |= consumer_settle(&one->core, instance, &settle, now_ms, &rejects);
        changed |= consumers_return_settle(self, one, instance, &settle, now_ms);
    }
    if (!changed)
        return;
    one->settled = true;
    consumers_touch(self, one);
}

/* ---- questions ---- */

const char consumers_unsound[] =
    "A settle frame can't be read: it has lane, seq, perhaps first (not above seq), and a verb, "
    "ack, nack, reject, extend or release; none was heeded. At most 10,000 go in a message.";

const char *consumers_closed(const consumers_t *self, const char *name)
{
    if (self->ours || !sinks_state(self->tracker->sinks, name))
        return NULL;
    return "It is a sink of the settings, and is read by nobody else: take it out of them first.";
}

/* Who asks, of which consumer; the word that says why not. */
static const char *consumers_asked(consumers_t *self, const char *name, const char *instance,
                                   struct durable **one, int *number, const char **detail)
{
    *one = consumers_find(self, name);
    *detail = "There is no such consumer: open it.";
    if (!*one)
        return "notfound";
    *detail = consumers_closed(self, name);
    if (*detail)
        return "conflict";
    *number = consumer_instance(&(*one)->core, instance, tracker_now(self->tracker).run_ms);
    *detail = "64 instances share the consumer; another one may when one of them has been silent "
              "for two minutes and has nothing.";
    return *number < 0 ? "full" : NULL;
}

static void consumers_refuse(consumers_t *self, zframe_t **who_p, uint64_t req, const char *word,
                             const char *detail)
{
    struct consumers_answer answer = {.msg =
                                          consumers_events(self, who_p, req, NULL, word, detail)};
    consumers_say(self, &answer, false);
}

static void consumers_gap_seen(consumers_t *self, struct durable *one, const char *position)
{
    char gap[ALD_POSITION_MAX];
    tracker_position(self->tracker, one->core.gap, gap);
    if (one->core.gap == 0 || strcmp(gap, position) != 0)
        return;
    consumer_gap_seen(&one->core);
    consumers_touch(self, one);
}

static void consumers_wait(consumers_t *self, struct durable *one, zframe_t **who_p,
                           const struct msg_pull *ask, int instance)
{
    int64_t wait_ms = ask->wait_ms < CONSUMERS_WAIT_MAX_MS ? ask->wait_ms : CONSUMERS_WAIT_MAX_MS;
    if (self->waiters >= CONSUMERS_WAITERS_MAX || wait_ms < 0)
        wait_ms = 0;
    struct pull *pull = zmalloc(sizeof *pull);
    *pull = (struct pull){.who = *who_p,
                          .req = ask->req,
                          .instance = instance,
                          .limit = ask->limit > 0 ? (size_t)ask->limit : CONSUMERS_LIMIT,
                          .bytes = ask->bytes > 0 ? ask->bytes : CONSUMERS_BYTES,
                          .until_ms = ald_clock_now().mono_ms + wait_ms};
    *who_p = NULL;
    if (pull->bytes > ALD_PAGE_BYTES_MAX)
        pull->bytes = ALD_PAGE_BYTES_MAX;
    self->waiters++;
    struct pull **at = &one->first;
    while (*at)
        at = &(*at)->next;
    *at = pull;
}

static void consumers_pull(consumers_t *self, zframe_t **who_p, const struct msg_pull *ask,
                           zmsg_t *msg)
{
    struct durable *one = NULL;
    int instance = 0;
    const char *detail = "";
    const char *word =
        consumers_asked(self, ask->consumer, ask->instance, &one, &instance, &detail);
    if (!word && !consumers_sound(msg)) {
        word = "invalid";
        detail = consumers_unsound;
    }
    if (word) {
        consumers_refuse(self, who_p, ask->req, word, detail);
        return;
    }
    one->asked_ms = tracker_now(self->tracker).wall_ms;
    consumers_settle(self, one, instance, msg);
    consumers_gap_seen(self, one, ask->gap_seen);
    consumers_wait(self, one, who_p, ask, instance);
    consumers_serve(self, one);
}

static void consumers_settles(consumers_t *self, zframe_t **who_p, const struct msg_settles *ask,
                              zmsg_t *msg)
{
    struct durable *one = NULL;
    int instance = 0;
    const char *detail = "";
    const char *word =
        consumers_asked(self, ask->consumer, ask->instance, &one, &instance, &detail);
    if (!word && !consumers_sound(msg)) {
        word = "invalid";
        detail = consumers_unsound;
    }
    if (!word)
        consumers_settle(self, one, instance, msg);
    consumers_word(self, who_p, ask->req, word ? word : "ok", word ? detail : "", NULL,
                   !word && one->settled);
    if (!word)
        consumers_serve(self, one);
}

/* While the store is away: what can be said. */
static bool consumers_away(consumers_t *self, zframe_t **who_p, struct ald_span bytes)
{
    static const char busy[] = "The store cannot be read now; it is opened again.";
    struct msg_pull pull;
    struct msg_settles settles;
    struct msg_consumer_open open;
    struct msg_consumer_ref ref;
    if (ald_wire_decode(&MSG_PULL, &pull, bytes) == ALD_OK)
        consumers_refuse(self, who_p, pull.req, "busy", busy);
    else if (ald_wire_decode(&MSG_SETTLES, &settles, bytes) == ALD_OK)
        consumers_word(self, who_p, settles.req, "busy", busy, NULL, false);
    else if (ald_wire_decode(&MSG_CONSUMER_OPEN, &open, bytes) == ALD_OK)
        consumers_word(self, who_p, open.req, "busy", busy, NULL, false);
    else if (ald_wire_decode(&MSG_CONSUMER_LIST, &ref, bytes) == ALD_OK ||
             ald_wire_decode(&MSG_CONSUMER_CLOSE, &ref, bytes) == ALD_OK ||
             ald_wire_decode(&MSG_CONSUMER_DELETE, &ref, bytes) == ALD_OK)
        consumers_word(self, who_p, ref.req, "busy", busy, NULL, false);
    else
        return false;
    return true;
}

/* Those that are about the consumer itself. */
static bool consumers_command(consumers_t *self, zframe_t **who_p, struct ald_span bytes,
                              zmsg_t *msg)
{
    struct msg_consumer_open open;
    struct msg_consumer_ref ref;
    if (ald_wire_decode(&MSG_CONSUMER_OPEN, &open, bytes) == ALD_OK)
        consumers_open(self, who_p, &open);
    else if (ald_wire_decode(&MSG_CONSUMER_LIST, &ref, bytes) == ALD_OK)
        consumers_list(self, who_p, &ref);
    else if (ald_wire_decode(&MSG_CONSUMER_CLOSE, &ref, bytes) == ALD_OK)
        consumers_close(self, who_p, &ref, msg);
    else if (ald_wire_decode(&MSG_CONSUMER_DELETE, &ref, bytes) == ALD_OK)
        consumers_delete(self, who_p, &ref);
    else
        return false;
    return true;
}

bool consumers_message(consumers_t *self, zframe_t **who_p, zmsg_t *msg)
{
    struct msg_pull pull;
    struct msg_settles settles;
    struct ald_span bytes = ald_frame_span(zmsg_first(msg));
    self->ours = sinks_ask(*who_p);
    if (!self->tracker->open)
        return consumers_away(self, who_p, bytes);
    if (ald_wire_is(&MSG_PULL, bytes) && ald_wire_decode(&MSG_PULL, &pull, bytes) == ALD_OK)
        consumers_pull(self, who_p, &pull, msg);
    else if (ald_wire_is(&MSG_SETTLES, bytes) &&
             ald_wire_decode(&MSG_SETTLES, &settles, bytes) == ALD_OK)
        consumers_settles(self, who_p, &settles, msg);
    else
        return consumers_command(self, who_p, bytes, msg);
    return true;
}

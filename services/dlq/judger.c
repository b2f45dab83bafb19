#include "services/dlq/judger.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/dlq/browse.h"
#include "services/dlq/meters.h"

enum {
    JUDGER_WAIT_MS = 5000,
    JUDGER_UNSENT_MS = 2000, /* above the longest wait between two tries to connect */
    JUDGER_TICK_MS = 250
};

/* A question under way; req 0: a free place. */
struct judger_ask {
    uint64_t req;
    int64_t until_ms;      /* mono */
    struct shelf_row row;  /* that is asked about */
    enum letter_word word; /* and with this */
    bool unsent;           /* the tracker was not there: made again at the next turn */
    judger_done_fn *done;
    void *context;
};

struct judger {
    struct judger_options options;
    zloop_t *loop;
    ald_sock_t *sock;
    uint64_t last_req;
    struct judger_ask asks[JUDGER_MAX];
    int timer; /* -1 = none */
};

static struct judger_ask *judger_place(judger_t *self, uint64_t req)
{
    for (size_t i = 0; i < JUDGER_MAX; i++)
        if (self->asks[i].req == req)
            return &self->asks[i];
    return NULL;
}

/* The place is free before done is called, which may ask again. */
static void judger_end(struct judger_ask *ask, enum ald_rc rc, const struct msg_judged *judged)
{
    struct judger_ask ended = *ask;
    *ask = (struct judger_ask){0};
    ended.done(ended.context, rc, judged);
}

/* ---- answers ---- */

static void judger_answer(judger_t *self, zmsg_t *msg)
{
    struct msg_answer head;
    struct msg_judged judged;
    zframe_t *frame = zmsg_first(msg);
    if (!frame || ald_wire_decode(&MSG_ANSWER, &head, ald_frame_span(frame)) != ALD_OK) {
        meters_garbage();
        return;
    }
    struct judger_ask *ask = head.req != 0 ? judger_place(self, head.req) : NULL;
    if (!ask)
        return; /* it came too late */
    frame = zmsg_next(msg);
    bool said = strcmp(head.rc, "ok") == 0 && frame &&
                ald_wire_decode(&MSG_JUDGED, &judged, ald_frame_span(frame)) == ALD_OK;
    if (said && judged.why[0] == '\0') /* a word of the tracker's for why nothing is done */
        ald_text_cut(judged.why, sizeof judged.why, ald_span_str(letter_refusal(judged.reason)));
    judger_end(ask, said ? ALD_OK : ALD_AGAIN, said ? &judged : NULL);
}

static int judger_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    judger_t *self = arg;
    for (zmsg_t *msg = ald_sock_recv(self->sock); msg; msg = ald_sock_recv(self->sock)) {
        judger_answer(self, msg);
        zmsg_destroy(&msg);
    }
    return 0;
}

/* ---- questions ---- */

/* What the letter's own rules say. True: the tracker need not be asked. */
static bool judger_forbidden(const struct shelf_row *row, enum letter_word word,
                             struct msg_judged *out)
{
    struct letter letter = row->letter;
    enum letter_verdict verdict = letter_replay(&letter, word, ald_clock_now().wall_ms);
    if (verdict == LETTER_YES || verdict == LETTER_UNDER_WAY)
        return false; /* an attempt under way is no reason not to tell what the next would do */
    *out = (struct msg_judged){.task = row->task};
    memcpy(out->letter, row->id, sizeof out->letter);
    ald_text_cut(out->why, sizeof out->why, ald_span_str(letter_why(verdict, letter.reason)));
    return true;
}

static enum ald_rc judger_send(judger_t *self, const struct judger_ask *ask)
{
    const struct shelf_row *row = &ask->row;
    const enum letter_word word = ask->word;
    struct ald_buf original;
    struct msg_judge msg = {.req = ask->req,
                            .revision = row->letter.revision,
                            .believe = word == LETTER_BELIEVE,
                            .buy = word == LETTER_BUY,
                            .publish = word == LETTER_PUBLISH};
    ald_buf_init(&original, ALD_ITEM_MAX);
    enum ald_rc rc = browse_original(self->options.shelf, row->id, row->letter.revision, &original);
    if (rc == ALD_NOTFOUND && row->letter.empty && word == LETTER_BUY)
        rc = ALD_OK; /* there is none, and none is needed */
    if (rc == ALD_OK && !ald_buf_ok(&original))
        rc = ALD_TOOBIG;
    memcpy(msg.letter, row->id, sizeof msg.letter);
    ald_text_cut(msg.reason, sizeof msg.reason, ald_span_str(ald_reason_name(row->letter.reason)));
    msg.original = ald_buf_span(&original);
    zmsg_t *out = zmsg_new();
    if (rc == ALD_OK)
        rc = ald_frame_add(out, &MSG_JUDGE, &msg);
    if (rc == ALD_OK)
        rc = ALD_SOCK_SEND("judger.ask", self->sock, &out);
    zmsg_destroy(&out);
    ald_buf_free(&original);
    return rc;
}

/* ---- time ---- */

/* Ask those that could not be asked: a daemon that has just begun is not connected yet. */
static void judger_again(judger_t *self, struct judger_ask *ask, int64_t now_ms)
{
    enum ald_rc rc = judger_send(self, ask);
    bool late = now_ms >= ask->until_ms - JUDGER_WAIT_MS + JUDGER_UNSENT_MS;
    ask->unsent = rc == ALD_AGAIN;
    if (rc != ALD_OK && (rc != ALD_AGAIN || late))
        judger_end(ask, rc, NULL);
}

static int judger_tick(zloop_t *loop, int timer, void *arg)
{
    judger_t *self = arg;
    int64_t now_ms = ald_clock_now().mono_ms;
    bool waits = false;
    for (size_t i = 0; i < JUDGER_MAX; i++) {
        if (self->asks[i].req != 0 && self->asks[i].unsent)
            judger_again(self, &self->asks[i], now_ms);
        else if (self->asks[i].req != 0 && now_ms >= self->asks[i].until_ms)
            judger_end(&self->asks[i], ALD_TIMEOUT, NULL);
        waits = waits || self->asks[i].req != 0;
    }
    if (waits)
        return 0;
    (void)zloop_timer_end(loop, timer);
    self->timer = -1;
    return 0;
}

enum ald_rc judger_ask(judger_t *self, const struct shelf_row *row, enum letter_word word,
                       judger_done_fn *done, void *context)
{
    struct msg_judged judged;
    struct judger_ask *ask = judger_place(self, 0);
    if (!ask)
        return ALD_FULL;
    if (judger_forbidden(row, word, &judged)) {
        done(context, ALD_OK, &judged);
        return ALD_OK;
    }
    *ask = (struct judger_ask){.req = ++self->last_req,
                               .until_ms = ald_clock_now().mono_ms + JUDGER_WAIT_MS,
                               .row = *row,
                               .word = word,
                               .done = done,
                               .context = context};
    enum ald_rc rc = judger_send(self, ask);
    ask->unsent = rc == ALD_AGAIN;
    if (rc != ALD_OK && rc != ALD_AGAIN)
        judger_end(ask, rc, NULL);
    if (self->timer < 0)
        self->timer = zloop_timer(self->loop, JUDGER_TICK_MS, 0, judger_tick, self);
    return ALD_OK;
}

/* ---- life ---- */

enum ald_rc judger_new(zloop_t *loop, const struct judger_options *options, judger_t **out,
                       struct ald_err *err)
{
    judger_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->loop = loop;
    self->timer = -1;
    *out = self;
    struct ald_sock_options sock = {.type = ZMQ_DEALER, .heartbeat_ms = options->heartbeat_ms};
    enum ald_rc rc = ald_sock_connect(&sock, options->endpoint, &self->sock, err);
    if (rc != ALD_OK) {
        judger_destroy(out);
        return rc;
    }
    ald_sock_watch(self->sock, loop, judger_read, self);
    return ALD_OK;
}

void judger_destroy(judger_t **self_p)
{
    judger_t *self = *self_p;
    if (self == NULL)
        return;
    if (self->timer >= 0)
        (void)zloop_timer_end(self->loop, self->timer);
    for (size_t i = 0; i < JUDGER_MAX; i++)
        if (self->asks[i].req != 0)
            judger_end(&self->asks[i], ALD_AGAIN, NULL);
    ald_sock_destroy(&self->sock);
    free(self);
    *self_p = NULL;
}

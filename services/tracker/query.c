#include "services/tracker/query.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "proto/channels.h"
#include "services/tracker/acts/acts_judge.h"
#include "services/tracker/calls.h"
#include "services/tracker/commands.h"
#include "services/tracker/feed.h"
#include "services/tracker/figures.h"
#include "services/tracker/keyfile.h"
#include "services/tracker/outbox.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/providers.h"
#include "services/tracker/reader/reader.h"
#include "services/tracker/rest.h"

enum { QUERY_TURN = 64, QUERY_BACKUP_PAGES = 2000 };

static const char QUERY_FULL[] = "Too many questions are under way; ask again.";

struct query {
    struct tracker *tracker;
    ald_sock_t *sock;
    zmsg_t *answers[QUERY_TURN]; /* of commands, sent after the commit */
    size_t answer_count;
    ald_backup_t *backup;
    zframe_t *backup_who;
    struct msg_backup backup_ask;
    struct msg_answer backup_end; /* how it ended, for who asks again */
};

static struct ald_metric query_garbage = {
    .kind = ALD_COUNTER,
    .name = "aldaba_query_garbage_total",
    .help = "Messages on the query channel that could not be read."};

void query_send(query_t *self, zmsg_t **msg_p)
{
    if (ALD_SOCK_SEND("query.answer", self->sock, msg_p) != ALD_OK)
        zmsg_destroy(msg_p);
}

/* An answer that begins with its routing id. */
static zmsg_t *query_answer(zframe_t **who_p, const struct msg_answer *answer)
{
    zmsg_t *msg = zmsg_new();
    zmsg_append(msg, who_p);
    ald_frame_put(msg, &MSG_ANSWER, answer);
    return msg;
}

static void query_rows(const struct tracker *tracker, uint64_t task, enum gather_kind kind,
                       struct reader_rows *rows)
{
    rows->count = gather_find(tracker->vault.gather, task, kind, rows->no, READER_NOTES_MAX);
}

void query_ask_task(query_t *self, zframe_t **who_p, const struct msg_get *get)
{
    struct tracker *tracker = self->tracker;
    struct reader_hint hint = {.seq = tracker_tail_seq(tracker, get->task)};
    const struct pending_task *task = pending_find(tracker->pending, get->task);
    if (task) {
        hint.polling = task->phase == PENDING_LEASED && !task->submit;
        hint.polls = pending_looked(task)->polls + (task->again ? task->again->polls : 0);
        ald_token_make(&tracker->keys, task->account->profile->name, task->id, 0, hint.token);
    }
    query_rows(tracker, get->task, GATHER_ARRIVAL, &hint.arrivals);
    query_rows(tracker, get->task, GATHER_NOTE, &hint.notes);
    struct ald_buf bytes;
    ald_buf_init(&bytes, 4096);
    ALD_ASSERT(ald_wire_encode(&MSG_GET, get, &bytes) == ALD_OK);
    reader_ask(tracker->reader, READER_QUERY, who_p, ald_buf_span(&bytes), &hint);
    ald_buf_free(&bytes);
}

static void query_get(query_t *self, zframe_t **who_p, const struct msg_get *get)
{
    bool open = pending_find(self->tracker->pending, get->task) != NULL;
    if (get->wait_ms > 0 && open && feed_wait_task(self->tracker->feed, who_p, get))
        return;
    query_ask_task(self, who_p, get);
}

static const char *query_backup_word(enum ald_rc rc)
{
    return rc == ALD_OK        ? "ok"
           : rc == ALD_AGAIN   ? "busy"
           : rc == ALD_EXISTS  ? "exists"
           : rc == ALD_FULL    ? "full"
           : rc == ALD_INVALID ? "invalid"
                               : "io";
}

static struct msg_answer query_backup_answer(uint64_t req, const char *word, const char *detail)
{
    struct msg_answer answer = {.req = req};
    ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str(word));
    ald_text_cut(answer.detail, sizeof answer.detail, ald_span_str(detail));
    return answer;
}

static enum ald_rc query_backup_open(query_t *self, const char *dir, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/tracker.db", dir);
    if (self->backup)
        return ald_err_set(err, ALD_AGAIN, "A copy is under way: wait for its end.");
    if (n < 0 || (size_t)n >= sizeof path)
        return ald_err_set(err, ALD_INVALID, "The path of the copy is too long.");
    return ald_store_backup_begin(self->tracker->vault.store, path, &self->backup, err);
}

static void query_backup_begin(query_t *self, zframe_t **who_p, const struct msg_backup *ask)
{
    struct ald_err err = {0};
    enum ald_rc rc = query_backup_open(self, ask->dir, &err);
    if (rc == ALD_OK) {
        self->backup_who = *who_p;
        *who_p = NULL;
        self->backup_ask = *ask;
        return;
    }
    struct msg_answer answer = query_backup_answer(ask->req, query_backup_word(rc), err.text);
    zmsg_t *msg = query_answer(who_p, &answer);
    query_send(self, &msg);
}

/* It has ended, or is given up: told now, and to who asks again. */
static void query_backup_end(query_t *self, const char *word, const char *detail)
{
    if (self->backup)
        (void)!ald_store_backup_finish(&self->backup, NULL);
    self->backup_end = query_backup_answer(self->backup_ask.req, word, detail);
    zmsg_t *msg = query_answer(&self->backup_who, &self->backup_end);
    query_send(self, &msg);
}

/* Of a copy that was begun before. One that this process does not know of is lost. */
static void query_backup_again(query_t *self, zframe_t **who_p, const struct msg_backup *ask)
{
    bool known = ask->hold[0] != '\0' && strcmp(ask->hold, self->backup_ask.hold) == 0;
    if (known && ask->release && self->backup)
        query_backup_end(self, "gone", "The copy was given up.");
    struct msg_answer answer =
        known && !self->backup
            ? self->backup_end
            : query_backup_answer(0, known ? "busy" : "notfound",
                                  known ? "The copy is being made."
                                        : "The tracker does not know this copy, as after a start: "
                                          "make the backup again.");
    answer.req = ask->req;
    zmsg_t *msg = query_answer(who_p, &answer);
    query_send(self, &msg);
}

void query_tick(query_t *self)
{
    if (!self->backup)
        return;
    enum ald_rc rc = ald_store_backup_step(self->backup, QUERY_BACKUP_PAGES);
    if (rc == ALD_AGAIN)
        return;
    struct ald_err err = {0};
    enum ald_rc end = ald_store_backup_finish(&self->backup, &err);
    if (rc == ALD_OK)
        rc = end;
    if (rc == ALD_OK) /* a store without the keys of its URLs is half a store */
        rc = keyfile_copy(&self->tracker->keys, self->backup_ask.dir, &err);
    query_backup_end(self, query_backup_word(rc), err.text);
}

int64_t query_rest_ms(const query_t *self)
{
    return self->backup ? 0 : REST_NOTHING;
}

/* Status and audit are the same figures; who asks for an audit judges them, and asks again. */
static bool query_asks_figures(query_t *self, struct ald_span bytes, struct msg_answer *answer)
{
    struct msg_status status;
    struct msg_audit audit;
    if (ald_wire_decode(&MSG_STATUS, &status, bytes) == ALD_OK)
        answer->req = status.req;
    else if (ald_wire_decode(&MSG_AUDIT, &audit, bytes) != ALD_OK)
        return false;
    else {
        answer->req = audit.req;
        outbox_hurry(self->tracker->outbox);
    }
    ald_text_cut(answer->rc, sizeof answer->rc, ald_span_str("ok"));
    return true;
}

/* A question or command that is answered at once or after this turn's commit. */
static zmsg_t *query_command(query_t *self, zframe_t **who_p, struct ald_span bytes)
{
    union {
        struct msg_register reg;
        struct msg_attach attach;
        struct msg_cancel cancel;
        struct msg_withdraw withdraw;
    } ask;
    struct msg_answer answer = {0};
    struct msg_task_view view = {0};
    bool figures = false;
    zmsg_t *more = NULL;
    if (ald_wire_decode(&MSG_REGISTER, &ask.reg, bytes) == ALD_OK)
        command_register(self->tracker, &ask.reg, &answer, &view);
    else if (ald_wire_decode(&MSG_ATTACH, &ask.attach, bytes) == ALD_OK)
        command_attach(self->tracker, &ask.attach, &answer, &view);
    else if (ald_wire_decode(&MSG_CANCEL, &ask.cancel, bytes) == ALD_OK)
        command_cancel(self->tracker, &ask.cancel, &answer, &view);
    else if (ald_wire_decode(&MSG_WITHDRAW, &ask.withdraw, bytes) == ALD_OK)
        command_withdraw(self->tracker, &ask.withdraw, &answer, &view);
    else if (query_asks_figures(self, bytes, &answer))
        figures = true;
    else if (!act_judge_ask(self->tracker, bytes, &answer, &more) &&
             !providers_ask(self->tracker, bytes, &answer, &more))
        return NULL;
    zmsg_t *msg = query_answer(who_p, &answer);
    if (figures)
        figures_add(self->tracker, msg);
    else if (view.task != 0)
        ald_frame_put(msg, &MSG_TASK_VIEW, &view);
    for (zframe_t *frame = more ? zmsg_pop(more) : NULL; frame; frame = zmsg_pop(more))
        zmsg_append(msg, &frame);
    zmsg_destroy(&more);
    return msg;
}

/* Answered when the provider has answered, or why it was not asked at once. */
static void query_call(query_t *self, zframe_t **who_p, const struct msg_call *ask)
{
    struct msg_answer answer = {0};
    if (calls_ask(self->tracker->calls, who_p, ask, &answer))
        return;
    zmsg_t *msg = query_answer(who_p, &answer);
    query_send(self, &msg);
}

/* Whatever was asked: not now. */
static void query_busy(query_t *self, zframe_t **who_p, struct ald_span bytes, const char *why)
{
    char kind[ALD_WORD_MAX];
    struct ald_schema any = MSG_STATUS; /* every question carries `req` */
    struct msg_status ask;
    if (ald_wire_kind(bytes, kind, sizeof kind) != ALD_OK)
        return;
    any.kind = kind;
    if (ald_wire_decode(&any, &ask, bytes) != ALD_OK)
        return;
    struct msg_answer answer = {.req = ask.req, .rc = "busy"};
    ald_text_cut(answer.detail, sizeof answer.detail, ald_span_str(why));
    zmsg_t *msg = query_answer(who_p, &answer);
    query_send(self, &msg);
}

/* For the reader's thread, which has one question at a time. */
static void query_ask_reader(query_t *self, zframe_t **who_p, struct ald_span bytes)
{
    if (reader_full(self->tracker->reader))
        query_busy(self, who_p, bytes, QUERY_FULL);
    else
        reader_ask(self->tracker->reader, READER_QUERY, who_p, bytes, NULL);
}

static void query_message(query_t *self, zframe_t **who_p, struct ald_span bytes)
{
    struct msg_get get;
    struct msg_list list;
    struct msg_letters letters;
    struct msg_letter_ref letter;
    struct msg_audit audit;
    struct msg_backup backup;
    struct msg_call call;
    if (ald_wire_decode(&MSG_GET, &get, bytes) == ALD_OK) {
        if (reader_full(self->tracker->reader))
            query_busy(self, who_p, bytes, QUERY_FULL);
        else
            query_get(self, who_p, &get);
    } else if (ald_wire_decode(&MSG_LIST, &list, bytes) == ALD_OK ||
               ald_wire_decode(&MSG_LETTERS, &letters, bytes) == ALD_OK ||
               ald_wire_decode(&MSG_LETTER_SHOW, &letter, bytes) == ALD_OK) {
        query_ask_reader(self, who_p, bytes);
    } else if (ald_wire_decode(&MSG_AUDIT, &audit, bytes) == ALD_OK && audit.deep) {
        query_ask_reader(self, who_p, bytes);
    } else if (ald_wire_is(&MSG_CALL, bytes) &&
               ald_wire_decode(&MSG_CALL, &call, bytes) == ALD_OK) {
        query_call(self, who_p, &call);
    } else if (ald_wire_decode(&MSG_BACKUP, &backup, bytes) == ALD_OK) {
        if (backup.again || backup.release)
            query_backup_again(self, who_p, &backup);
        else
            query_backup_begin(self, who_p, &backup);
    } else {
        zmsg_t *answer = query_command(self, who_p, bytes);
        if (answer)
            self->answers[self->answer_count++] = answer;
        else
            ald_metric_add(&query_garbage, 1);
    }
}

static void query_done(query_t *self, bool committed)
{
    for (size_t i = 0; i < self->answer_count; i++) {
        if (committed)
            query_send(self, &self->answers[i]);
        zmsg_destroy(&self->answers[i]);
    }
    self->answer_count = 0;
}

static bool query_backup_asked(struct ald_span bytes)
{
    return ald_wire_is(&MSG_BACKUP, bytes);
}

/* The store is away: whatever was asked, it can't be answered now; but a copy of it has ended. */
static void query_closed(query_t *self, zframe_t **who_p, struct ald_span bytes)
{
    struct msg_backup backup;
    if (ald_wire_decode(&MSG_BACKUP, &backup, bytes) == ALD_OK &&
        (backup.again || backup.release)) {
        query_backup_again(self, who_p, &backup);
        return;
    }
    query_busy(self, who_p, bytes, "The store cannot be written now; it is opened again.");
}

static int query_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    query_t *self = arg;
    struct tracker *tracker = self->tracker;
    (void)tracker_awake(tracker);
    bool begun = false;
    for (int i = 0; i < QUERY_TURN; i++) {
        zmsg_t *msg = ald_sock_recv(self->sock);
        if (!msg)
            break;
        zframe_t *who = zmsg_pop(msg);
        zframe_t *frame = zmsg_first(msg);
        struct ald_span bytes = frame ? ald_frame_span(frame) : ald_span_of(NULL, 0);
        bool writes = !query_backup_asked(bytes);
        if (tracker->open && writes && !begun) {
            vault_begin(&tracker->vault);
            begun = true;
        }
        if (who && frame && tracker->open)
            query_message(self, &who, bytes);
        else if (who && frame)
            query_closed(self, &who, bytes);
        zframe_destroy(&who);
        zmsg_destroy(&msg);
    }
    query_done(self, begun && tracker_commit(tracker));
    return 0;
}

enum ald_rc query_new(struct tracker *tracker, query_t **out, struct ald_err *err)
{
    ald_sock_t *sock = NULL;
    /* A letter's message that is to be judged is as large as one that came. */
    enum ald_rc rc =
        ald_sock_serve(tracker->settings, ALD_CHANNEL_QUERY, ZMQ_ROUTER, ALD_ITEM_MAX, &sock, err);
    if (rc != ALD_OK)
        return rc;
    query_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->sock = sock;
    ald_metric_register(&query_garbage);
    ald_sock_gate(sock, tracker->gate);
    ald_sock_watch(sock, ald_service_loop(tracker->service), query_read, self);
    *out = self;
    return ALD_OK;
}

void query_forget(query_t *self)
{
    if (self && self->backup)
        query_backup_end(self, "io", "The store was closed under the backup; begin again.");
}

void query_destroy(query_t **self_p)
{
    query_t *self = *self_p;
    if (!self)
        return;
    query_done(self, false);
    if (self->backup)
        query_backup_end(self, "io", "The tracker stops; make the backup again.");
    zframe_destroy(&self->backup_who);
    ald_sock_destroy(&self->sock);
    free(self);
    *self_p = NULL;
}

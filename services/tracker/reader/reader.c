#include "services/tracker/reader/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/feed.h"
#include "services/tracker/query.h"
#include "services/tracker/reader/reader_inside.h"
#include "services/tracker/vault/recount.h"

/* No zactor: that waits for ever for a thread that could not be made. */
enum { READER_ASKED_MAX = 1000 };

struct reader {
    struct tracker *tracker;
    zsock_t *pipe;
    pthread_t thread;
    atomic_bool counting; /* the thread's to say */
    size_t asked;         /* questions that have no answer yet, pages not counted */
};

/* What the thread is given at its start. */
struct reader_start {
    zsock_t *pipe; /* becomes the thread's */
    atomic_bool *counting;
    char path[ALD_STORE_PATH_MAX];
};

ald_stmt_t *reading_prepare(struct reading *self, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    if (self->rc == ALD_OK)
        self->rc = ald_store_prepare(self->store, sql, &stmt);
    return self->rc == ALD_OK ? stmt : NULL;
}

bool reading_step(struct reading *self, ald_stmt_t *stmt)
{
    enum ald_rc rc = ald_stmt_step(stmt);
    if (rc != ALD_OK && rc != ALD_NOTFOUND)
        self->rc = rc;
    return rc == ALD_OK;
}

int64_t reading_fact(struct reading *self, const char *name)
{
    int64_t value = 0;
    ald_stmt_t *stmt = reading_prepare(self, "SELECT value FROM facts WHERE name = ?1");
    if (!stmt)
        return 0;
    ald_stmt_bind_str(stmt, 1, name);
    if (reading_step(self, stmt))
        value = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return value;
}

static void reader_question(struct reading *reading, struct ald_span bytes,
                            const struct reader_hint *hint)
{
    struct msg_get get;
    struct msg_list list;
    struct msg_letters letters;
    struct msg_letter_ref letter;
    struct msg_fetch fetch;
    if (ald_wire_decode(&MSG_GET, &get, bytes) == ALD_OK)
        reading_get(reading, &get, hint);
    else if (ald_wire_decode(&MSG_LIST, &list, bytes) == ALD_OK)
        reading_list(reading, &list);
    else if (ald_wire_decode(&MSG_LETTERS, &letters, bytes) == ALD_OK)
        reading_letters(reading, &letters);
    else if (ald_wire_decode(&MSG_LETTER_SHOW, &letter, bytes) == ALD_OK)
        reading_letter(reading, &letter);
    else if (ald_wire_decode(&MSG_FETCH, &fetch, bytes) == ALD_OK)
        reading_fetch(reading, &fetch);
}

/* First frame of a question on the pipe, and of its answer. */
struct reader_ticket {
    enum reader_channel channel;
    struct reader_hint hint;
};

/* Open the store if it is not; a handle that met an error is closed after its question. */
static enum ald_rc reader_open(ald_store_t **store_p, const char *path)
{
    if (*store_p)
        return ALD_OK;
    struct ald_store_options options = vault_store_options(path, true);
    struct ald_err err = {0};
    enum ald_rc rc = ald_store_open(&options, store_p, &err);
    if (rc != ALD_OK)
        ald_log(ALD_WARN, "reader.closed", "text=%s", ALD_Q(err.text));
    return rc;
}

/* ---- counting, between other questions ---- */

struct reader_count {
    atomic_bool *going; /* the reader's */
    zframe_t *ticket;   /* NULL: nobody asked */
    zframe_t *who;
    uint64_t req;
    struct recount recount;
};

static void reader_count_frames(zmsg_t *to, uint64_t req, const char *rc, const char *detail)
{
    struct msg_answer answer = {.req = req};
    ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str(rc));
    ald_text_cut(answer.detail, sizeof answer.detail, ald_span_str(detail));
    ald_frame_put(to, &MSG_ANSWER, &answer);
}

static void reader_count_figure(void *arg, const char *name, int64_t value, const char *problem)
{
    struct msg_figure figure = {.group = "recount", .value = value};
    ald_text_cut(figure.name, sizeof figure.name, ald_span_str(name));
    ald_text_cut(figure.text, sizeof figure.text, ald_span_str(problem));
    ald_frame_put(arg, &MSG_FIGURE, &figure);
}

static void reader_count_end(struct reader_count *self, enum ald_rc rc, zsock_t *pipe)
{
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, &self->ticket);
    zmsg_append(answer, &self->who);
    if (rc == ALD_OK) {
        reader_count_frames(answer, self->req, "ok", "");
        recount_tell(&self->recount, reader_count_figure, answer);
    } else {
        reader_count_frames(answer, self->req, "busy",
                            rc == ALD_TIMEOUT ? "What is counted did not stand still; try again."
                                              : "The store can't be read now; try again.");
    }
    (void)zmsg_send(&answer, pipe);
    zmsg_destroy(&answer);
    atomic_store(self->going, false);
}

/* Begin, or say that somebody else's count is under way. ticket and who are taken. */
static void reader_count_begin(struct reader_count *self, zframe_t **ticket_p, zframe_t **who_p,
                               uint64_t req, zsock_t *pipe)
{
    if (self->ticket) {
        zmsg_t *answer = zmsg_new();
        zmsg_append(answer, ticket_p);
        zmsg_append(answer, who_p);
        reader_count_frames(answer, req, "busy", "The rows are being counted already.");
        (void)zmsg_send(&answer, pipe);
        zmsg_destroy(&answer);
        return;
    }
    self->ticket = *ticket_p;
    self->who = *who_p;
    *ticket_p = *who_p = NULL;
    self->req = req;
    recount_begin(&self->recount);
    atomic_store(self->going, true);
}

static void reader_count_page(struct reader_count *self, ald_store_t **store_p, const char *path,
                              zsock_t *pipe)
{
    enum ald_rc rc = reader_open(store_p, path);
    if (rc == ALD_OK)
        rc = recount_page(&self->recount, *store_p);
    if (rc == ALD_AGAIN)
        return;
    if (rc != ALD_OK && rc != ALD_TIMEOUT)
        ald_store_destroy(store_p);
    reader_count_end(self, rc, pipe);
}

/* ---- one question at a time ---- */

/* Answer one message of the pipe: [ticket][routing id][question]. */
static void reader_serve(zsock_t *pipe, zmsg_t *msg, ald_store_t **store_p,
                         const struct reader_start *start, struct reader_count *count,
                         struct reading_results *results)
{
    zframe_t *ticket_frame = zmsg_pop(msg);
    zframe_t *who = zmsg_pop(msg);
    zframe_t *question = zmsg_pop(msg);
    struct reader_ticket ticket;
    struct msg_audit audit;
    ALD_ASSERT(question && zframe_size(ticket_frame) == sizeof ticket);
    memcpy(&ticket, zframe_data(ticket_frame), sizeof ticket);
    if (ald_wire_decode(&MSG_AUDIT, &audit, ald_frame_span(question)) == ALD_OK) {
        reader_count_begin(count, &ticket_frame, &who, audit.req, pipe);
        zframe_destroy(&question);
        return;
    }
    struct reading reading = {.answer = zmsg_new(), .results = results};
    zmsg_append(reading.answer, &ticket_frame);
    zmsg_append(reading.answer, &who);
    reading.rc = reader_open(store_p, start->path);
    reading.store = *store_p;
    if (reading.rc == ALD_OK)
        reading.rc = ald_store_begin(*store_p);
    bool begun = reading.rc == ALD_OK;
    if (ticket.channel == READER_CONSUMER)
        reading_consumer(&reading, ald_frame_span(question));
    else
        reader_question(&reading, ald_frame_span(question), &ticket.hint);
    if (begun)
        ald_store_rollback(*store_p);
    if (reading.rc != ALD_OK)
        ald_store_destroy(store_p);
    (void)zmsg_send(&reading.answer, pipe);
    zmsg_destroy(&reading.answer);
    zframe_destroy(&question);
}

static void *reader_thread(void *arg)
{
    struct reader_start start = *(const struct reader_start *)arg;
    zsock_t *pipe = start.pipe;
    ald_store_t *store = NULL;
    struct reader_count count = {.going = start.counting};
    struct reading_results results;
    reading_results_init(&results);
    (void)zsock_signal(pipe, 0);
    for (bool stop = false; !stop;) {
        zsock_set_rcvtimeo(pipe, count.ticket ? 0 : -1);
        zmsg_t *msg = zmsg_recv(pipe);
        stop = msg && zmsg_size(msg) == 1; /* $TERM: a question has three frames */
        if (msg && !stop)
            reader_serve(pipe, msg, &store, &start, &count, &results);
        zmsg_destroy(&msg);
        if (count.ticket && !stop)
            reader_count_page(&count, &store, start.path, pipe);
    }
    zframe_destroy(&count.ticket);
    zframe_destroy(&count.who);
    reading_results_free(&results);
    ald_store_destroy(&store);
    zsock_destroy(&pipe);
    return NULL;
}

/* On return the thread has copied start. */
static enum ald_rc reader_begin(reader_t *self, struct reader_start *start, struct ald_err *err)
{
    /* Neither side may wait for the other to take something: each would, in the end. What can lie
     * in the pipe is bounded by reader_full, the feed's waiters, and a page a consumer. */
    zsys_set_pipehwm(0);
    self->pipe = zsys_create_pipe(&start->pipe);
    ALD_ASSERT(self->pipe);
    int failed = pthread_create(&self->thread, NULL, reader_thread, start);
    if (failed != 0) {
        zsock_destroy(&self->pipe);
        zsock_destroy(&start->pipe);
        return ald_err_set(err, ALD_IO, "no thread can be made that answers questions: %s",
                           strerror(failed));
    }
    (void)zsock_wait(self->pipe);
    return ALD_OK;
}

static int reader_read(zloop_t *loop, zsock_t *pipe, void *arg)
{
    (void)loop;
    reader_t *self = arg;
    while (zsock_events(pipe) & ZMQ_POLLIN) {
        zmsg_t *msg = zmsg_recv(pipe);
        zframe_t *frame = zmsg_pop(msg);
        struct reader_ticket ticket;
        ALD_ASSERT(frame && zframe_size(frame) == sizeof ticket);
        memcpy(&ticket, zframe_data(frame), sizeof ticket);
        zframe_destroy(&frame);
        self->asked -= ticket.channel != READER_CONSUMER;
        if (ticket.channel == READER_QUERY)
            query_send(self->tracker->query, &msg);
        else if (ticket.channel == READER_CONSUME)
            feed_send(self->tracker->feed, &msg);
        else
            consumers_page(self->tracker->consumers, &msg);
        zmsg_destroy(&msg);
    }
    tracker_stir(self->tracker);
    consumers_turn(self->tracker->consumers); /* may close the store, and with it this reader */
    return 0;
}

enum ald_rc reader_new(struct tracker *tracker, reader_t **out, struct ald_err *err)
{
    struct reader_start start = {0};
    int n = snprintf(start.path, sizeof start.path, "%s/tracker.db", tracker->settings->store.data);
    if (n < 0 || (size_t)n >= sizeof start.path)
        return ald_err_set(err, ALD_TOOBIG, "store.data: the path is too long");
    reader_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    atomic_init(&self->counting, false);
    start.counting = &self->counting;
    enum ald_rc rc = reader_begin(self, &start, err);
    if (rc != ALD_OK) {
        free(self);
        return rc;
    }
    zloop_t *loop = ald_service_loop(tracker->service);
    zloop_reader(loop, self->pipe, reader_read, self);
    zloop_reader_set_tolerant(loop, self->pipe);
    *out = self;
    return ALD_OK;
}

void reader_destroy(reader_t **self_p)
{
    reader_t *self = *self_p;
    if (!self)
        return;
    zloop_reader_end(ald_service_loop(self->tracker->service), self->pipe);
    (void)zstr_send(self->pipe, "$TERM");
    (void)pthread_join(self->thread, NULL);
    zsock_destroy(&self->pipe);
    free(self);
    *self_p = NULL;
}

bool reader_counts(const reader_t *self)
{
    return self && atomic_load(&self->counting);
}

bool reader_full(const reader_t *self)
{
    return self && self->asked >= READER_ASKED_MAX;
}

void reader_ask(reader_t *self, enum reader_channel channel, zframe_t **who_p,
                struct ald_span bytes, const struct reader_hint *hint)
{
    struct reader_ticket ticket = {.channel = channel};
    if (hint)
        ticket.hint = *hint;
    zmsg_t *msg = zmsg_new();
    ald_frame_copy(msg, ald_span_of(&ticket, sizeof ticket));
    zmsg_append(msg, who_p);
    ald_frame_copy(msg, bytes);
    self->asked++;
    (void)zmsg_send(&msg, self->pipe);
    zmsg_destroy(&msg);
}

void reader_ask_page(reader_t *self, const struct reader_pull *pull,
                     const struct reader_pick *picks)
{
    struct reader_ticket ticket = {.channel = READER_CONSUMER};
    zmsg_t *msg = zmsg_new();
    zframe_t *question = ald_frame_new(NULL, sizeof *pull + pull->picks * sizeof *picks);
    memcpy(zframe_data(question), pull, sizeof *pull);
    if (pull->picks > 0)
        memcpy(zframe_data(question) + sizeof *pull, picks, pull->picks * sizeof *picks);
    ald_frame_copy(msg, ald_span_of(&ticket, sizeof ticket));
    ald_frame_copy(msg, ald_span_of(NULL, 0));
    zmsg_append(msg, &question);
    (void)zmsg_send(&msg, self->pipe);
    zmsg_destroy(&msg);
}

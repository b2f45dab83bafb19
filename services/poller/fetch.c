#include "services/poller/fetch.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "services/poller/fetch_ask.h"
#include "services/poller/fetch_shard.h"
#include "services/poller/gate.h"
#include "services/poller/reply.h"
#include "services/poller/watch.h"

enum {
    FETCH_ADMIT = 64,          /* requests begun in a turn: each connects */
    FETCH_RESOLVING = 4,       /* resolver threads a host */
    FETCH_AGAIN = 4,           /* how often libcurl is called in a turn for what is due at once */
    FETCH_POST_MAX = 32 << 20, /* an event for a sink is the largest */
    FETCH_POST_KEEP = 64 << 10,
    FETCH_CONNECT_MS = 10000,
    FETCH_LOW_SPEED = 10 /* bytes a second */
};

/* One request; its handle is used again for another when it has ended. */
struct fetch_call {
    struct gate_entry entry; /* first: the gate hands it back */
    fetch_t *owner;
    struct fetch_shard *shard; /* NULL: not begun */
    CURL *easy;
    struct fetch_call *prev, *next; /* among those under way, or the spare ones */
    struct reply reply;
    struct ald_buf post;
    struct curl_slist *headers; /* of this request; NULL: the common ones */
    int64_t started_ms;         /* monotonic */
    int64_t deadline_ms;        /* monotonic */
    bool left;
    bool forbidden; /* an address that it may not go to */
    bool (*may)(const void *arg, const struct sockaddr *address);
    const void *may_arg;
    void (*done)(void *arg, const struct fetch_answer *answer);
    void *arg;
};

struct fetch {
    struct fetch_options options;
    struct fetch_shard *shards;
    size_t shard_count;
    CURLSH *share; /* addresses and TLS sessions are common to the shards */
    gate_t *gate;
    watch_t *watch;
    struct curl_slist *headers;
    struct fetch_call *calls; /* under way */
    struct fetch_call *spare;
    size_t under_way;
    struct reply_budget budget;
};

/* A socket is opened: the name has its address. */
static curl_socket_t fetch_on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct fetch_call *call = arg;
    gate_resolved(&call->entry);
    if (call->may && !call->may(call->may_arg, &address->addr)) {
        call->forbidden = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    watch_opened(call->owner->watch, fd);
    return fd;
}

/* A connection outlives the request that it was opened for. */
static int fetch_on_close(void *arg, curl_socket_t fd)
{
    watch_closing(arg, fd);
    return close(fd);
}

/* There is a connection, and nothing of the request has been sent on it. */
static int fetch_on_request(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    (void)peer, (void)local, (void)peer_port, (void)local_port;
    struct fetch_call *call = arg;
    gate_resolved(&call->entry);
    call->left = true;
    return CURL_PREREQFUNC_OK;
}

static size_t fetch_on_header(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_call *call = arg;
    return reply_take_header(&call->reply, data, size * count) ? size * count : 0;
}

static size_t fetch_on_body(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_call *call = arg;
    bool ok = reply_take_body(&call->reply, &call->owner->budget, data, size * count);
    return ok ? size * count : 0;
}

static void fetch_call_free(struct fetch_call *call)
{
    curl_easy_cleanup(call->easy);
    reply_free(&call->reply);
    ald_buf_free(&call->post);
    curl_slist_free_all(call->headers);
    free(call);
}

/* Set what is alike in all requests. */
static bool fetch_call_setup(struct fetch_call *call)
{
    const fetch_t *self = call->owner;
    CURL *easy = call->easy;
    CURLcode rc = CURLE_OK;
#define FETCH_SET(option, value) rc = rc ? rc : curl_easy_setopt(easy, option, value)
    FETCH_SET(CURLOPT_PRIVATE, call);
    FETCH_SET(CURLOPT_NOSIGNAL, 1L);
    FETCH_SET(CURLOPT_QUICK_EXIT, 1L); /* never wait for a resolver thread */
    FETCH_SET(CURLOPT_NOPROGRESS, 1L);
    FETCH_SET(CURLOPT_PROTOCOLS_STR, "http,https");
    FETCH_SET(CURLOPT_FOLLOWLOCATION, 0L);
    FETCH_SET(CURLOPT_PROXY, "");
    FETCH_SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    FETCH_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    FETCH_SET(CURLOPT_ACCEPT_ENCODING, NULL); /* else a coding that it does not know is an error */
    FETCH_SET(CURLOPT_USERAGENT, "aldaba/" ALDABA_VERSION);
    FETCH_SET(CURLOPT_HTTPHEADER, self->headers);
    FETCH_SET(CURLOPT_SHARE, self->share);
    FETCH_SET(CURLOPT_BUFFERSIZE, 8192L);
    FETCH_SET(CURLOPT_LOW_SPEED_LIMIT, (long)FETCH_LOW_SPEED);
    FETCH_SET(CURLOPT_OPENSOCKETFUNCTION, fetch_on_open);
    FETCH_SET(CURLOPT_OPENSOCKETDATA, call);
    FETCH_SET(CURLOPT_CLOSESOCKETFUNCTION, fetch_on_close);
    FETCH_SET(CURLOPT_CLOSESOCKETDATA, self->watch);
    FETCH_SET(CURLOPT_PREREQFUNCTION, fetch_on_request);
    FETCH_SET(CURLOPT_PREREQDATA, call);
    FETCH_SET(CURLOPT_HEADERFUNCTION, fetch_on_header);
    FETCH_SET(CURLOPT_HEADERDATA, call);
    FETCH_SET(CURLOPT_WRITEFUNCTION, fetch_on_body);
    FETCH_SET(CURLOPT_WRITEDATA, call);
#undef FETCH_SET
    return rc == CURLE_OK;
}

static struct fetch_call *fetch_call_new(fetch_t *self)
{
    struct fetch_call *call = calloc(1, sizeof *call);
    ALD_ASSERT(call);
    call->owner = self;
    call->easy = curl_easy_init();
    ALD_ASSERT(call->easy && fetch_call_setup(call));
    reply_init(&call->reply);
    ald_buf_init(&call->post, FETCH_POST_MAX);
    return call;
}

static struct fetch_call *fetch_call_take(fetch_t *self)
{
    struct fetch_call *call = self->spare;
    if (call)
        self->spare = call->next;
    else
        call = fetch_call_new(self);
    call->prev = NULL;
    call->next = self->calls;
    if (call->next)
        call->next->prev = call;
    self->calls = call;
    self->under_way++;
    return call;
}

static void fetch_call_unlink(struct fetch_call *call)
{
    fetch_t *self = call->owner;
    if (call->shard) {
        curl_multi_remove_handle(call->shard->multi, call->easy);
        call->shard->under_way--;
        call->shard = NULL;
    }
    gate_leave(self->gate, &call->entry);
    *(call->prev ? &call->prev->next : &self->calls) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    self->under_way--;
}

static void fetch_call_give_back(struct fetch_call *call)
{
    fetch_t *self = call->owner;
    reply_end(&call->reply, &self->budget);
    if (call->post.cap > FETCH_POST_KEEP)
        ald_buf_free(&call->post);
    call->next = self->spare;
    self->spare = call;
}

/* Why there is no whole answer; NULL: there is one. Fixed sentences: libcurl's own error buffer may
 * name what was asked for. */
static const char *fetch_reason(const struct fetch_call *call, CURLcode rc)
{
    const char *fault = reply_fault(&call->reply);
    if (rc == CURLE_OK || (rc == CURLE_WRITE_ERROR && fault))
        return fault;
    if (call->forbidden && !call->left)
        return "it leads to an address that the settings do not allow";
    if (rc == CURLE_OPERATION_TIMEDOUT)
        return call->left ? "no whole answer within the time limit"
                          : "not connected within the time limit";
    if (rc == CURLE_UNSUPPORTED_PROTOCOL && call->left)
        return "the answer is not HTTP";
    return curl_easy_strerror(rc);
}

static void fetch_end(struct fetch_call *call, const char *error)
{
    long status = 0;
    char *type = NULL;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &type);
    const struct fetch_answer answer = {
        .left = call->left,
        .answered = !error,
        .status = call->left && status > 0 ? (unsigned)status : 0,
        .body = ald_buf_span(&call->reply.body),
        .head = ald_buf_span(&call->reply.head),
        .content_type = ald_span_str(call->left && type ? type : ""),
        .error = error ? error : "",
        .took_ms = ald_clock_mono_ms() - call->started_ms,
    };
    fetch_call_unlink(call);
    call->done(call->arg, &answer);
    fetch_call_give_back(call);
}

/* Those that wait for the same name have the same answer. */
static void fetch_end_unresolved(struct fetch_call *call, const char *error)
{
    struct gate_entry *all = NULL;
    struct gate_entry *entry = gate_take_waiting(call->owner->gate, &call->entry);
    for (; entry; entry = gate_take_waiting(call->owner->gate, &call->entry)) {
        entry->next = all;
        all = entry;
    }
    fetch_end(call, error);
    while (all) { /* callbacks may queue others; those look for the name anew */
        entry = all;
        all = entry->next;
        fetch_end((struct fetch_call *)(void *)entry, error);
    }
}

static void fetch_collect(struct fetch_shard *shard)
{
    CURLMsg *message = NULL;
    int rest = 0;
    while ((message = curl_multi_info_read(shard->multi, &rest))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode rc = message->data.result;
        struct fetch_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        if (call->entry.resolving)
            fetch_end_unresolved(call, fetch_reason(call, rc));
        else
            fetch_end(call, fetch_reason(call, rc));
    }
}

/* Begin a request whose turn at its host has come. */
static void fetch_admit_one(struct fetch_call *call)
{
    fetch_t *self = call->owner;
    int64_t left_ms = call->deadline_ms - ald_clock_mono_ms();
    if (left_ms <= 0) {
        fetch_end(call, "its time was up before its turn at the host");
        return;
    }
    long connect_ms = left_ms < FETCH_CONNECT_MS ? (long)left_ms : FETCH_CONNECT_MS;
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    curl_easy_setopt(call->easy, CURLOPT_LOW_SPEED_TIME, (long)(left_ms * 3 / 4 / 1000 + 1));
    struct fetch_shard *shard = fetch_shard_choose(self->shards, self->shard_count);
    if (curl_multi_add_handle(shard->multi, call->easy) != CURLM_OK) {
        fetch_end(call, "libcurl refused the request");
        return;
    }
    call->shard = shard;
    shard->under_way++;
}

static void fetch_admit(fetch_t *self)
{
    for (unsigned i = 0; i < FETCH_ADMIT; i++) {
        struct gate_entry *entry = gate_next(self->gate);
        if (!entry)
            return;
        fetch_admit_one((struct fetch_call *)(void *)entry);
    }
    watch_timer(self->watch, 0); /* the rest in the loop's next turn */
}

enum ald_rc fetch_start(fetch_t *self, const struct fetch_request *request)
{
    char host[GATE_HOST_MAX];
    if (self->under_way >= self->options.max_under_way)
        return ALD_FULL;
    if (gate_host_of(ald_span_str(request->url), host) != ALD_OK)
        return ALD_INVALID;
    struct fetch_call *call = fetch_call_take(self);
    reply_begin(&call->reply, request->max_bytes);
    call->left = call->forbidden = false;
    call->may = request->may;
    call->may_arg = request->may_arg;
    call->done = request->done;
    call->arg = request->arg;
    call->started_ms = ald_clock_mono_ms();
    call->deadline_ms = call->started_ms + request->timeout_ms;
    if (!fetch_ask(call->easy, request, self->headers, &call->post, &call->headers)) {
        fetch_call_unlink(call);
        fetch_call_give_back(call);
        return ALD_INVALID;
    }
    gate_enter(self->gate, host, &call->entry);
    watch_turn(self->watch); /* it begins then */
    return ALD_OK;
}

static void fetch_turn_timer(void *arg)
{
    fetch_t *self = arg;
    int64_t now_ms = ald_clock_mono_ms();
    for (size_t i = 0; i < self->shard_count; i++) {
        if (self->shards[i].due_ms > now_ms)
            continue;
        fetch_shard_timeout(&self->shards[i]);
        fetch_collect(&self->shards[i]);
    }
}

static void fetch_turn_fd(void *arg, int fd, unsigned tag, struct watch_ready ready)
{
    fetch_t *self = arg;
    fetch_shard_ready(&self->shards[tag], fd, ready);
    fetch_collect(&self->shards[tag]);
}

/* Until libcurl wants to be called; INT64_MAX: it does not. */
static int64_t fetch_rest_ms(const fetch_t *self)
{
    int64_t due_ms = INT64_MAX;
    for (size_t i = 0; i < self->shard_count; i++)
        if (self->shards[i].due_ms < due_ms)
            due_ms = self->shards[i].due_ms;
    if (due_ms == INT64_MAX)
        return INT64_MAX;
    int64_t rest_ms = due_ms - ald_clock_mono_ms();
    return rest_ms > 0 ? rest_ms : 0;
}

/* Begin what may begin, and let libcurl send it at once: it asks for that by a timer of nothing,
 * and setting one and waking for it costs as much as sending. Then set the timer for what it waits
 * for. */
static void fetch_turn_end(void *arg)
{
    fetch_t *self = arg;
    fetch_admit(self);
    for (unsigned i = 0; i < FETCH_AGAIN && fetch_rest_ms(self) == 0; i++) {
        fetch_turn_timer(self);
        fetch_admit(self);
    }
    int64_t rest_ms = fetch_rest_ms(self);
    if (rest_ms < INT64_MAX)
        watch_timer(self->watch, rest_ms);
}

/* Descriptors of all shards together are counted by max_under_way. */
static bool fetch_shards_open(fetch_t *self)
{
    size_t rest = self->options.max_under_way;
    for (unsigned i = 0; i < self->shard_count; i++) {
        size_t most = rest < FETCH_SHARD ? rest : FETCH_SHARD;
        if (!fetch_shard_open(&self->shards[i], self->watch, i, most))
            return false;
        rest -= most;
    }
    return true;
}

static enum ald_rc fetch_open(fetch_t *self, zloop_t *loop, struct ald_err *err)
{
    const struct watch_options watch = {.self = self,
                                        .on_fd = fetch_turn_fd,
                                        .on_timer = fetch_turn_timer,
                                        .on_turn = fetch_turn_end};
    enum ald_rc rc = watch_new(loop, &watch, &self->watch, err);
    if (rc != ALD_OK)
        return rc;
    bool ok = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && fetch_shards_open(self);
    self->share = ok ? curl_share_init() : NULL;
    if (!self->share)
        return ald_err_set(err, ALD_IO, "libcurl can't be initialised");
    curl_share_setopt(self->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(self->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    self->headers = curl_slist_append(NULL, "Expect:"); /* never wait for 100 Continue */
    return ALD_OK;
}

enum ald_rc fetch_new(zloop_t *loop, const struct fetch_options *options, fetch_t **out,
                      struct ald_err *err)
{
    ALD_ASSERT(options->max_under_way > 0 && options->per_host > 0);
    fetch_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->options = *options;
    self->budget.max_bytes = options->max_held_bytes;
    self->shard_count = (options->max_under_way + FETCH_SHARD - 1) / FETCH_SHARD;
    self->shards = calloc(self->shard_count, sizeof *self->shards);
    ALD_ASSERT(self->shards);
    const struct gate_limits limits = {.resolving = FETCH_RESOLVING,
                                       .under_way = options->per_host};
    self->gate = gate_new(&limits);
    enum ald_rc rc = fetch_open(self, loop, err);
    if (rc == ALD_OK)
        *out = self;
    else
        fetch_destroy(&self);
    return rc;
}

void fetch_destroy(fetch_t **self_p)
{
    fetch_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (struct fetch_call *call = NULL; (call = self->calls);) {
        fetch_call_unlink(call);
        fetch_call_give_back(call);
    }
    for (struct fetch_call *call = NULL; (call = self->spare);) {
        self->spare = call->next;
        fetch_call_free(call);
    }
    for (size_t i = 0; i < self->shard_count; i++)
        fetch_shard_close(&self->shards[i]);
    curl_share_cleanup(self->share);
    curl_slist_free_all(self->headers);
    watch_destroy(&self->watch);
    gate_destroy(&self->gate);
    free(self->shards);
    curl_global_cleanup();
    free(self);
}

size_t fetch_under_way(const fetch_t *self)
{
    return self->under_way;
}

void fetch_abort_all(fetch_t *self, const char *error)
{
    while (self->calls)
        fetch_end(self->calls, error);
}

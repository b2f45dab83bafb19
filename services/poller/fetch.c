#include "services/poller/fetch.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "services/poller/gate.h"
#include "services/poller/watch.h"

enum {
    FETCH_ADMIT = 64,            /* requests begun in a turn: each connects */
    FETCH_RESOLVING = 4,         /* resolver threads a host */
    FETCH_HEADER_MAX = 64 << 10, /* bytes of status line and headers */
    FETCH_KEEP_MAX = 16 << 10,   /* a buffer larger than this is freed between requests */
    FETCH_SPARE_MAX = 256,       /* idle handles kept beside those under way */
    FETCH_POST_MAX = 64 << 10,
    FETCH_CONNECT_MS = 10000,
    FETCH_LOW_SPEED = 10 /* bytes a second */
};

/* One request; its handle is used again for another when it has ended. */
struct fetch_call {
    struct gate_entry entry; /* first: the gate hands it back */
    fetch_t *owner;
    CURL *easy;
    struct fetch_call *prev, *next; /* among those under way, or the spare ones */
    struct ald_buf body;
    struct ald_buf post;
    size_t header_bytes;
    int64_t started_ms;  /* monotonic */
    int64_t deadline_ms; /* monotonic */
    bool in_multi;
    bool left;
    bool too_big;
    bool crowded;    /* max_held_bytes are held */
    bool head_whole; /* the empty line behind the headers came: libcurl does not ask for it */
    void (*done)(void *arg, const struct fetch_answer *answer);
    void *arg;
};

struct fetch {
    struct fetch_options options;
    CURLM *multi;
    gate_t *gate;
    watch_t *watch;
    struct curl_slist *headers;
    struct fetch_call *calls; /* under way */
    struct fetch_call *spare;
    size_t under_way;
    size_t spares;
    size_t held_bytes; /* of the bodies under way */
};

/* ---- what libcurl calls ---- */

static int fetch_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    (void)easy, (void)known;
    fetch_t *self = arg;
    /* Never an error from here: it would end every request. This one alone runs into its time. */
    if (what == CURL_POLL_REMOVE)
        watch_forget(self->watch, fd);
    else
        (void)watch_fd(self->watch, fd, what & CURL_POLL_IN, what & CURL_POLL_OUT);
    return 0;
}

static int fetch_on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    fetch_t *self = arg;
    watch_timer(self->watch, timeout_ms);
    return 0;
}

/* A socket is opened: the name has its address. */
static curl_socket_t fetch_on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct fetch_call *call = arg;
    gate_resolved(&call->entry);
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->protocol);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
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
    size_t len = size * count;
    call->header_bytes += len;
    call->too_big = call->too_big || call->header_bytes > FETCH_HEADER_MAX;
    if (len > 5 && memcmp(data, "HTTP/", 5) == 0)
        call->head_whole = false;
    if (len > 0 && len <= 2 && data[len - 1] == '\n')
        call->head_whole = true;
    return call->too_big ? 0 : len;
}

static size_t fetch_on_body(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_call *call = arg;
    fetch_t *self = call->owner;
    size_t len = size * count;
    size_t room = call->body.max - call->body.len;
    size_t all_room = self->options.max_held_bytes - self->held_bytes;
    call->crowded = len > all_room;
    if (call->crowded)
        return 0;
    call->too_big = len > room;
    size_t taken = call->too_big ? room : len;
    ald_buf_put(&call->body, data, taken);
    self->held_bytes += taken;
    return call->too_big ? 0 : len;
}

/* ---- calls ---- */

static void fetch_call_free(struct fetch_call *call)
{
    curl_easy_cleanup(call->easy);
    ald_buf_free(&call->body);
    ald_buf_free(&call->post);
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
    FETCH_SET(CURLOPT_ACCEPT_ENCODING, NULL);
    FETCH_SET(CURLOPT_USERAGENT, "aldaba/" ALD_VERSION);
    FETCH_SET(CURLOPT_HTTPHEADER, self->headers);
    FETCH_SET(CURLOPT_BUFFERSIZE, 8192L);
    FETCH_SET(CURLOPT_LOW_SPEED_LIMIT, (long)FETCH_LOW_SPEED);
    FETCH_SET(CURLOPT_OPENSOCKETFUNCTION, fetch_on_open);
    FETCH_SET(CURLOPT_OPENSOCKETDATA, call);
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
    ald_buf_init(&call->body, 0);
    ald_buf_init(&call->post, FETCH_POST_MAX);
    return call;
}

static struct fetch_call *fetch_call_take(fetch_t *self)
{
    struct fetch_call *call = self->spare;
    if (call) {
        self->spare = call->next;
        self->spares--;
    } else {
        call = fetch_call_new(self);
    }
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
    if (call->in_multi)
        curl_multi_remove_handle(self->multi, call->easy);
    call->in_multi = false;
    gate_leave(self->gate, &call->entry);
    *(call->prev ? &call->prev->next : &self->calls) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    self->under_way--;
}

static void fetch_call_give_back(struct fetch_call *call)
{
    fetch_t *self = call->owner;
    self->held_bytes -= call->body.len;
    ald_buf_reset(&call->body);
    if (self->spares >= FETCH_SPARE_MAX) {
        fetch_call_free(call);
        return;
    }
    if (call->body.cap > FETCH_KEEP_MAX)
        ald_buf_free(&call->body);
    call->next = self->spare;
    self->spare = call;
    self->spares++;
}

/* ---- ends ---- */

/* Why there is no whole answer; NULL: there is one. Fixed sentences: libcurl's own error buffer may
 * name what was asked for. */
static const char *fetch_reason(const struct fetch_call *call, CURLcode rc)
{
    if (rc == CURLE_OK)
        return call->head_whole ? NULL : "the answer was cut off in its headers";
    if (call->too_big)
        return "the answer is too big";
    if (call->crowded)
        return "too many bytes of other answers are under way";
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
        .body = ald_buf_span(&call->body),
        .content_type = ald_span_str(call->left && type ? type : ""),
        .error = error ? error : "",
        .took_ms = ald_clock_now().mono_ms - call->started_ms,
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

static void fetch_collect(fetch_t *self)
{
    CURLMsg *message = NULL;
    int rest = 0;
    while ((message = curl_multi_info_read(self->multi, &rest))) {
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

/* ---- begins ---- */

/* Begin a request whose turn at its host has come. */
static void fetch_admit_one(struct fetch_call *call)
{
    fetch_t *self = call->owner;
    int64_t left_ms = call->deadline_ms - ald_clock_now().mono_ms;
    if (left_ms <= 0) {
        fetch_end(call, "its time was up before its turn at the host");
        return;
    }
    long connect_ms = left_ms < FETCH_CONNECT_MS ? (long)left_ms : FETCH_CONNECT_MS;
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    curl_easy_setopt(call->easy, CURLOPT_LOW_SPEED_TIME, (long)(left_ms * 3 / 4 / 1000 + 1));
    if (curl_multi_add_handle(self->multi, call->easy) == CURLM_OK)
        call->in_multi = true;
    else
        fetch_end(call, "libcurl refused the request");
}

static void fetch_admit(void *arg)
{
    fetch_t *self = arg;
    for (unsigned i = 0; i < FETCH_ADMIT; i++) {
        struct gate_entry *entry = gate_next(self->gate);
        if (!entry)
            return;
        fetch_admit_one((struct fetch_call *)(void *)entry);
    }
    watch_timer(self->watch, 0); /* the rest in the loop's next turn */
}

static bool fetch_call_ask(struct fetch_call *call, const struct fetch_request *request)
{
    CURL *easy = call->easy;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_URL, request->url);
    if (!request->post.len)
        return !rc && !curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    ald_buf_reset(&call->post);
    ald_buf_put(&call->post, request->post.data, request->post.len);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POST, 1L);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->post.len);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->post.data);
    return !rc && ald_buf_ok(&call->post);
}

enum ald_rc fetch_start(fetch_t *self, const struct fetch_request *request)
{
    char host[GATE_HOST_MAX];
    if (self->under_way >= self->options.max_under_way)
        return ALD_FULL;
    if (gate_host_of(ald_span_str(request->url), host) != ALD_OK)
        return ALD_INVALID;
    struct fetch_call *call = fetch_call_take(self);
    call->body.max = request->max_bytes;
    call->header_bytes = 0;
    call->left = call->too_big = call->crowded = call->head_whole = false;
    call->done = request->done;
    call->arg = request->arg;
    call->started_ms = ald_clock_now().mono_ms;
    call->deadline_ms = call->started_ms + request->timeout_ms;
    if (!fetch_call_ask(call, request)) {
        fetch_call_unlink(call);
        fetch_call_give_back(call);
        return ALD_INVALID;
    }
    gate_enter(self->gate, host, &call->entry);
    watch_timer(self->watch, 0); /* it begins in the loop's next turn */
    return ALD_OK;
}

/* ---- the loop ---- */

static void fetch_turn_timer(void *arg)
{
    fetch_t *self = arg;
    int running = 0;
    curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    fetch_collect(self);
}

static void fetch_turn_fd(void *arg, int fd, struct watch_ready ready)
{
    fetch_t *self = arg;
    int running = 0;
    int what = (ready.in ? CURL_CSELECT_IN : 0) | (ready.out ? CURL_CSELECT_OUT : 0) |
               (ready.broken ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(self->multi, fd, what, &running);
    fetch_collect(self);
}

static enum ald_rc fetch_open(fetch_t *self, zloop_t *loop, struct ald_err *err)
{
    const struct watch_options watch = {
        .self = self, .on_fd = fetch_turn_fd, .on_timer = fetch_turn_timer, .on_turn = fetch_admit};
    enum ald_rc rc = watch_new(loop, &watch, &self->watch, err);
    if (rc != ALD_OK)
        return rc;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(self->multi = curl_multi_init()))
        return ald_err_set(err, ALD_IO, "libcurl can't be initialised");
    long max = (long)self->options.max_under_way;
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, fetch_on_socket);
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, fetch_on_timer);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, max);
    curl_multi_setopt(self->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max);
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
    while (self->calls) {
        struct fetch_call *call = self->calls;
        fetch_call_unlink(call);
        fetch_call_give_back(call);
    }
    while (self->spare) {
        struct fetch_call *call = self->spare;
        self->spare = call->next;
        fetch_call_free(call);
    }
    curl_multi_cleanup(self->multi);
    curl_slist_free_all(self->headers);
    watch_destroy(&self->watch);
    gate_destroy(&self->gate);
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

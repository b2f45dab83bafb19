#include "services/gateway/http/http.h"

#include <civetweb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/address.h"
#include "services/gateway/http/http_frame.h"
#include "services/gateway/http/http_head.h"
#include "services/gateway/http/http_listen.h"
#include "services/gateway/http/http_socket.h"
#include "services/gateway/http/http_watch.h"

enum {
    HTTP_PIECE = 16 * 1024,       /* bytes of a body read at once */
    HTTP_LINGER_BYTES = 64 << 20, /* of an unread body, so that the client sees its answer */
    HTTP_LINGER_MS = 1000
};

/* One thread of a listener. */
struct http_worker {
    http_t *http;
    struct http_watch watch;
    bool refused;       /* the library has refused the request: it is answered */
    const char *buffer; /* the library's, for this thread's heads: http_frame_begin_ok */
    void *own;
    /* Not cleared: a thread without work has no pages of them. Nor are they on the stack, whose
     * pages would all be touched. */
    struct http_head head;
    char piece[HTTP_PIECE];
};

struct http {
    struct http_options options;
    struct mg_context *context;
    struct http_crew crew;
    unsigned port;
    atomic_bool leaving;
};

struct http_exchange {
    struct mg_connection *connection;
    struct http_worker *worker;
    struct http_request request;
    struct http_frame frame;
    bool read; /* the body was read whole */
    bool head_only;
    bool last; /* the connection ends whatever is answered */
    bool answered;
    int socket;                                   /* 0: not looked for, -1: not found */
    bool cut;                                     /* the body did not come: no answer */
    struct http_header headers[HTTP_HEADERS_MAX]; /* not cleared */
};

const char *http_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (http_header_is(&request->headers[i], name))
            return request->headers[i].value;
    return NULL;
}

const struct http_request *http_request(const http_exchange_t *self)
{
    return &self->request;
}

/* ---- bodies ---- */

static enum ald_rc http_read_chunked(http_exchange_t *self, const struct http_sink *sink,
                                     int64_t until_ms)
{
    size_t total = 0;
    for (;;) {
        if (sink->hold && !sink->hold(sink->self, HTTP_PIECE))
            return ALD_FULL;
        int n = mg_read(self->connection, self->worker->piece, HTTP_PIECE);
        if (n < 0 || ald_clock_now().mono_ms >= until_ms)
            return ALD_CLOSED;
        if (n == 0)
            return ALD_OK;
        total += (size_t)n;
        if (total > sink->max)
            return ALD_TOOBIG;
        ald_buf_put(sink->body, self->worker->piece, (size_t)n);
    }
}

static enum ald_rc http_read_declared(http_exchange_t *self, const struct http_sink *sink,
                                      int64_t until_ms)
{
    char *piece = self->worker->piece;
    size_t left = self->frame.declared;
    while (left > 0) {
        int n = mg_read(self->connection, piece, left < HTTP_PIECE ? left : (size_t)HTTP_PIECE);
        if (n <= 0 || (size_t)n > left)
            return ALD_CLOSED;
        left -= (size_t)n;
        if (left > 0 && ald_clock_now().mono_ms >= until_ms)
            return ALD_CLOSED;
        ald_buf_put(sink->body, piece, (size_t)n);
    }
    return ALD_OK;
}

static void http_continue(http_exchange_t *self)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (self->frame.expects)
        (void)mg_write(self->connection, line, sizeof line - 1);
    self->frame.expects = false;
}

static void http_unclear(http_exchange_t *self)
{
    (void)http_answer(self, 400, "", ald_span_str("where the request ends is not clear\n"));
}

/* It was read. CR NUL, which it leaves in the library's buffer, must not end a later head. */
static enum ald_rc http_read_sound(http_exchange_t *self, struct ald_span body)
{
    static const char end[] = "\r"; /* and NUL */
    self->last = self->last || (body.len > 0 && memmem(body.data, body.len, end, sizeof end));
    if (self->frame.chunked || !http_frame_torn(body))
        return ALD_OK;
    http_unclear(self);
    return ALD_CLOSED;
}

enum ald_rc http_read(http_exchange_t *self, const struct http_sink *sink)
{
    if (self->read) /* there is none */
        return ALD_OK;
    if (self->frame.declared > sink->max)
        return ALD_TOOBIG;
    if (!self->frame.chunked && sink->hold && !sink->hold(sink->self, self->frame.declared))
        return ALD_FULL;
    http_continue(self);
    int64_t until_ms = ald_clock_now().mono_ms + self->worker->http->options.request_timeout_ms;
    size_t before = sink->body->len;
    http_watch_body(&self->worker->watch, until_ms);
    enum ald_rc rc = self->frame.chunked ? http_read_chunked(self, sink, until_ms)
                                         : http_read_declared(self, sink, until_ms);
    (void)http_watch_done(&self->worker->watch);
    if (rc == ALD_OK && !ald_buf_ok(sink->body))
        rc = ALD_TOOBIG;
    if (rc == ALD_OK)
        rc = http_read_sound(self, ald_span_skip(ald_buf_span(sink->body), before));
    self->read = rc == ALD_OK;
    self->cut = rc == ALD_CLOSED;
    return rc;
}

/* Take what the client still sends, within bounds: closing at once would reset the connection and
 * the client might never see why it was refused. */
static void http_linger(http_exchange_t *self)
{
    size_t total = 0;
    int64_t until_ms = ald_clock_now().mono_ms + HTTP_LINGER_MS;
    http_watch_body(&self->worker->watch, until_ms);
    while (total < HTTP_LINGER_BYTES && ald_clock_now().mono_ms < until_ms) {
        int n = mg_read(self->connection, self->worker->piece, HTTP_PIECE);
        if (n <= 0)
            break;
        total += (size_t)n;
    }
    (void)http_watch_done(&self->worker->watch);
}

bool http_tick(http_t *self)
{
    return http_crew_tick(&self->crew, ald_clock_now().mono_ms);
}

/* ---- answers ---- */

static enum ald_rc http_put(http_exchange_t *self, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        size_t piece = len < (1 << 20) ? len : (size_t)1 << 20;
        int n = mg_write(self->connection, at, piece);
        if (n < 0 || (size_t)n != piece)
            return ALD_CLOSED;
        at += piece;
        len -= piece;
    }
    return ALD_OK;
}

enum ald_rc http_answer(http_exchange_t *self, unsigned status, const char *extra,
                        struct ald_span body)
{
    ALD_ASSERT(!self->answered && !self->cut);
    self->answered = true;
    const char *connection = "";
    if (!self->read || self->last)
        connection = "Connection: close\r\n";
    else if (self->frame.keep_alive_asked)
        connection = "Connection: keep-alive\r\n";
    struct http_head *head = &self->worker->head;
    http_head_begin(head, status);
    http_head_put(head, extra);
    http_head_put(head, connection);
    if (status != 304) /* there it would be the length of what the client has */
        http_head_length(head, body.len);
    http_head_put(head, "\r\n");
    if (self->head_only)
        body.len = 0;
    if (body.len > 0 && body.len <= sizeof head->text - head->len) { /* in one call */
        memcpy(head->text + head->len, body.data, body.len);
        head->len += body.len;
        body.len = 0;
    }
    enum ald_rc rc = ALD_FAILPOINT("gateway.answer", http_put(self, head->text, head->len),
                                   (self->read = false, (enum ald_rc)ALD_CLOSED));
    return rc == ALD_OK ? http_put(self, body.data, body.len) : rc;
}

enum ald_rc http_begin(http_exchange_t *self, unsigned status, const char *extra)
{
    ALD_ASSERT(!self->answered && !self->cut);
    const struct mg_request_info *info = mg_get_request_info(self->connection);
    self->answered = true;
    self->read = false; /* the end of the connection is the end of the answer */
    self->socket =
        http_socket_find(info->remote_addr, (unsigned)info->remote_port, self->worker->http->port);
    struct http_head *head = &self->worker->head;
    http_head_begin(head, status);
    http_head_put(head, extra);
    http_head_put(head, "Connection: close\r\n\r\n");
    return ALD_FAILPOINT("gateway.stream", http_put(self, head->text, head->len), ALD_CLOSED);
}

enum ald_rc http_write(http_exchange_t *self, struct ald_span bytes)
{
    return ALD_FAILPOINT("gateway.event", http_put(self, bytes.data, bytes.len), ALD_CLOSED);
}

bool http_gone(http_exchange_t *self)
{
    return http_socket_closed(self->socket);
}

/* ---- requests ---- */

static void http_facts(http_exchange_t *self, const struct mg_request_info *info)
{
    for (int i = 0; i < info->num_headers && i < HTTP_HEADERS_MAX; i++)
        self->headers[self->request.header_count++] = (struct http_header){
            .name = info->http_headers[i].name, .value = info->http_headers[i].value};
    self->request.headers = self->headers;
    self->request.method = info->request_method;
    self->request.peer = info->remote_addr;
    self->head_only = strcmp(info->request_method, "HEAD") == 0;
}

static void http_end(http_exchange_t *self)
{
    if (self->answered && self->read && !self->last)
        return;
    if (self->answered && !self->read && !self->frame.expects && !self->cut)
        http_linger(self);
    mg_disable_keep_alive(self->connection);
}

/* A request whose connection ends with it if `last`. */
static void http_run(struct mg_connection *connection, const char *path, const char *query,
                     bool last)
{
    const struct mg_request_info *info = mg_get_request_info(connection);
    struct http_worker *worker = mg_get_thread_pointer(connection);
    struct http_exchange exchange;
    memset(&exchange, 0, offsetof(struct http_exchange, headers));
    exchange.connection = connection;
    exchange.worker = worker;
    exchange.last = last || atomic_load_explicit(&worker->http->leaving, memory_order_relaxed);
    exchange.request.path = path;
    exchange.request.query = ald_span_str(query ? query : "");
    http_facts(&exchange, info);
    if (!http_frame_begin_ok(&worker->buffer, info->request_method) ||
        !http_frame_read(&exchange.request, info->http_version, &exchange.frame)) {
        http_unclear(&exchange);
    } else {
        const struct http_options *options = &worker->http->options;
        exchange.read = !exchange.frame.chunked && exchange.frame.declared == 0;
        options->handle(options->self, worker->own, &exchange);
    }
    http_end(&exchange);
}

static int http_serve(struct mg_connection *connection)
{
    const struct mg_request_info *info = mg_get_request_info(connection);
    struct http_worker *worker = mg_get_thread_pointer(connection);
    (void)http_watch_done(&worker->watch);
    http_run(connection, info->local_uri_raw, info->query_string, false);
    http_watch_head(&worker->watch); /* the library ends it sooner if nothing comes */
    return 200;
}

static void http_say(struct mg_connection *connection, unsigned status)
{
    struct http_head head;
    http_head_begin(&head, status);
    http_head_put(&head, "Connection: close\r\n");
    if (status != 204)
        http_head_length(&head, 0);
    http_head_put(&head, "\r\n");
    mg_disable_keep_alive(connection);
    (void)mg_write(connection, head.text, head.len);
}

/* The library serves no target that names a host; it is taken as if it did not. */
static void http_stray(struct mg_connection *connection, const struct mg_request_info *info)
{
    struct http_target target;
    char *text = (char *)(uintptr_t)info->request_uri; /* the library's buffer, written by it too */
    if (http_frame_target(text, &target))
        http_run(connection, target.path, target.query, true);
    else if (strcmp(text, "*") == 0 && strcmp(info->request_method, "OPTIONS") == 0)
        http_say(connection, 204);
    else
        http_say(connection, 400);
}

/* ---- listeners ---- */

static void *http_thread_begin(const struct mg_context *context, int type)
{
    if (type != 1)
        return NULL;
    http_t *self = mg_get_user_data(context);
    struct http_worker *worker = malloc(sizeof *worker);
    ALD_ASSERT(worker);
    memset(worker, 0, offsetof(struct http_worker, head));
    worker->http = self;
    worker->own = self->options.worker_new(self->options.self);
    http_crew_join(&self->crew, &worker->watch);
    return worker;
}

static void http_thread_end(const struct mg_context *context, int type, void *pointer)
{
    (void)context;
    struct http_worker *worker = pointer;
    if (type != 1 || !worker)
        return;
    http_t *self = worker->http;
    http_crew_leave(&self->crew, &worker->watch);
    self->options.worker_free(self->options.self, worker->own);
    free(worker);
}

static int http_connect(const struct mg_connection *connection, void **own ALD_UNUSED)
{
    struct http_worker *worker = mg_get_thread_pointer(connection);
    http_watch_head(&worker->watch);
    return 0;
}

/* The library closes without an answer what has a target that it does not serve; this is the last
 * moment to give one. Its buffer still holds the head and what came of the body. */
static void http_disconnect(const struct mg_connection *connection)
{
    struct http_worker *worker = mg_get_thread_pointer(connection);
    const struct mg_request_info *info = mg_get_request_info(connection);
    (void)http_watch_done(&worker->watch);
    if (info && info->request_uri && !info->local_uri && !worker->refused)
        http_stray((struct mg_connection *)(uintptr_t)connection, info);
    worker->refused = false;
    http_watch_free(&worker->watch);
}

static int http_log(const struct mg_connection *connection, const char *message)
{
    (void)connection;
    ald_log(ALD_DEBUG, "http.library", "text=%s", ALD_Q(message));
    return 1;
}

/* The library's own refusals repeat what the client named as the version, whatever that is. */
static int http_refuse(struct mg_connection *connection, int status, const char *message)
{
    struct http_worker *worker = mg_get_thread_pointer(connection);
    if (strcmp(message, "Invalid URI") == 0) /* such as a host with a port: see http_disconnect */
        return 0;
    bool late = http_watch_done(&worker->watch);
    worker->refused = true;
    http_say(connection, late ? 408 : (unsigned)status);
    return 0;
}

static const struct mg_callbacks http_callbacks = {.begin_request = http_serve,
                                                   .log_message = http_log,
                                                   .http_error = http_refuse,
                                                   .init_connection = http_connect,
                                                   .connection_close = http_disconnect,
                                                   .init_thread = http_thread_begin,
                                                   .exit_thread = http_thread_end};

static enum ald_rc http_open(http_t *self, struct ald_err *err)
{
    struct http_listen_options said;
    http_listen_options(&self->options, &said);
    struct mg_init_data init = {
        .callbacks = &http_callbacks, .user_data = self, .configuration_options = said.list};
    unsigned code = 0;
    char text[200] = "";
    struct mg_error_data error = {.code = &code, .text = text, .text_buffer_size = sizeof text};
    self->context = mg_start2(&init, &error);
    if (!self->context)
        return http_listen_failed(self->options.listen, self->options.setting, text, err);
    struct mg_server_port port;
    if (mg_get_server_ports(self->context, 1, &port) == 1)
        self->port = (unsigned)port.port;
    return ALD_OK;
}

enum ald_rc http_start(const struct http_options *options, http_t **out, struct ald_err *err)
{
    *out = NULL;
    struct sockaddr_in address; /* the library takes more: paths, redirects, TLS marks */
    if (ald_address_parse(options->listen, &address) != ALD_OK)
        return ald_err_set(err, ALD_INVALID,
                           "%s: not an IPv4 address and port such as 127.0.0.1:7780 (TLS ends at a "
                           "proxy in front)",
                           options->listen);
    (void)mg_init_library(0);
    http_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->options = *options;
    http_crew_init(&self->crew, options->request_timeout_ms, options->on_stir, options->stirred);
    enum ald_rc rc = http_open(self, err);
    if (rc != ALD_OK) {
        http_crew_free(&self->crew);
        free(self);
        return rc;
    }
    *out = self;
    return ALD_OK;
}

unsigned http_port(const http_t *self)
{
    return self->port;
}

void http_leave(http_t *self)
{
    atomic_store(&self->leaving, true);
}

bool http_idle(http_t *self)
{
    return http_crew_idle(&self->crew);
}

static void *http_stop_one(void *arg)
{
    http_t *self = arg;
    mg_stop(self->context);
    http_crew_free(&self->crew);
    free(self);
    return NULL;
}

void http_stop(http_t **list[], size_t count)
{
    enum { STOP_MAX = 4 };
    ALD_ASSERT(count <= STOP_MAX);
    pthread_t threads[STOP_MAX];
    size_t started = 0;
    for (size_t i = 0; i < count; i++) {
        http_t *self = *list[i];
        *list[i] = NULL;
        if (!self)
            continue;
        if (pthread_create(&threads[started], NULL, http_stop_one, self) == 0)
            started++;
        else
            (void)http_stop_one(self);
    }
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}

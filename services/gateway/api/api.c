#include "services/gateway/api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/facade/facade.h"

enum { API_KEPT = 1 << 20 }; /* a thread's buffers are given back beyond this */

enum {
    API_OPEN = 1, /* no token needed; probes may ask with whatever query they like */
    API_ASKS = 2, /* reads its query; the others take none */
    API_ACT = 4   /* what a person does: it is put on record */
};

/* A segment {id} takes one segment of the path. */
static const struct api_route {
    const char *method;
    const char *path;
    api_route_fn *run;
    unsigned flags;
} API_ROUTES[] = {
    {"POST", "/v1/tasks", api_task_make, 0},
    {"GET", "/v1/tasks", api_task_list, API_ASKS},
    {"GET", "/v1/tasks/{id}", api_task_show, API_ASKS},
    {"GET", "/v1/tasks/{id}/result", api_task_result, API_ASKS},
    {"POST", "/v1/tasks/{id}/cancel", api_task_cancel, API_ACT},
    {"POST", "/v1/tasks/{id}/attach", api_task_attach, 0},
    {"GET", "/v1/events", api_events, API_ASKS},
    {"GET", "/v1/consumers", api_consumer_list, 0},
    {"GET", "/v1/consumers/{id}", api_consumer_show, 0},
    {"PUT", "/v1/consumers/{id}", api_consumer_open, 0},
    {"DELETE", "/v1/consumers/{id}", api_consumer_delete, API_ACT},
    {"POST", "/v1/consumers/{id}/pull", api_consumer_pull, 0},
    {"POST", "/v1/consumers/{id}/settle", api_consumer_settle, 0},
    {"GET", "/v1/dead-letters", api_letter_list, API_ASKS},
    {"POST", "/v1/dead-letters/replay", api_replay_start, API_ACT},
    {"GET", "/v1/dead-letters/{id}", api_letter_show, API_ASKS},
    {"PATCH", "/v1/dead-letters/{id}", api_letter_edit, API_ACT},
    {"POST", "/v1/dead-letters/{id}/replay", api_letter_replay, API_ACT},
    {"DELETE", "/v1/dead-letters/{id}", api_letter_drop, API_ACT},
    {"GET", "/v1/replays", api_replay_list, API_ASKS},
    {"GET", "/v1/replays/{id}", api_replay_show, 0},
    {"POST", "/v1/replays/{id}/pause", api_replay_pause, API_ACT},
    {"POST", "/v1/replays/{id}/resume", api_replay_resume, API_ACT},
    {"DELETE", "/v1/replays/{id}", api_replay_cancel, API_ACT},
    {"GET", "/v1/providers", api_provider_list, API_ASKS},
    {"POST", "/v1/providers/{id}/pause", api_provider_pause, API_ACT},
    {"POST", "/v1/providers/{id}/resume", api_provider_resume, API_ACT},
    {"GET", "/v1/actions", api_action_list, API_ASKS},
    {"GET", "/v1/access", api_access, API_OPEN},
    {"GET", "/v1/status", api_status, 0},
    {"GET", "/v1/watch", api_watch, 0},
    {"GET", "/v1/audit", api_audit, API_ASKS},
    {"POST", "/v1/backup", api_backup, API_ACT},
    {"GET", "/", api_page, API_OPEN},
    {"GET", "/ui/{id}", api_page_file, API_OPEN},
    {"GET", "/healthz", api_alive, API_OPEN},
    {"GET", "/readyz", api_ready, API_OPEN},
    {"GET", "/metrics", api_metrics, API_ASKS},
};

void api_init(struct api *self, const struct ald_settings *settings)
{
    self->settings = settings;
    self->token_count = settings->gateway.tokens.count;
    for (size_t i = 0; i < self->token_count; i++)
        ald_sha256(ald_span_str(settings->gateway.tokens.item[i]), self->tokens[i]);
    self->read_token_count = settings->gateway.read_tokens.count;
    for (size_t i = 0; i < self->read_token_count; i++)
        ald_sha256(ald_span_str(settings->gateway.read_tokens.item[i]), self->read_tokens[i]);
    self->facade_key_count = settings->facade.keys.count;
    for (size_t i = 0; i < self->facade_key_count; i++)
        ald_sha256(ald_span_str(settings->facade.keys.item[i]), self->facade_keys[i]);
    (void)snprintf(self->retry, sizeof self->retry, "Retry-After: %lld\r\n",
                   (long long)((settings->gateway.retry_after_ms + 999) / 1000));
}

void *api_worker_new(void *self)
{
    (void)self;
    struct api_worker *worker = calloc(1, sizeof *worker);
    ALD_ASSERT(worker);
    ald_buf_init(&worker->body, API_BODY_MAX);
    ald_buf_init(&worker->out, API_OUT_MAX);
    return worker;
}

void api_worker_free(void *self, void *arg)
{
    (void)self;
    struct api_worker *worker = arg;
    ald_buf_free(&worker->body);
    ald_buf_free(&worker->out);
    free(worker);
}

/* The route's pattern against the path; fills the argument. */
static bool api_matches(const char *pattern, const char *path, char *argument)
{
    argument[0] = '\0';
    for (;;) {
        size_t want = strcspn(pattern, "/");
        size_t have = strcspn(path, "/");
        if (strncmp(pattern, "{id}", want) == 0 && want > 0) {
            if (have == 0 ||
                ald_text_copy(argument, API_ARGUMENT_MAX, ald_span_of(path, have)) != ALD_OK)
                return false;
        } else if (want != have || strncmp(pattern, path, want) != 0) {
            return false;
        }
        pattern += want;
        path += have;
        if (*pattern == '\0' || *path == '\0')
            return *pattern == *path;
        pattern++;
        path++;
    }
}

static bool api_open(const struct api *self)
{
    return self->token_count + self->read_token_count == 0;
}

static bool api_token_of(const uint8_t digest[32], const uint8_t (*tokens)[32], size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= ald_equal_ct(digest, tokens[i], 32);
    return found;
}

/* What the request's token may do. */
static void api_allow(struct api_call *call)
{
    static const char scheme[] = "Bearer ";
    const struct api *self = call->api;
    const char *header = http_header(call->request, "Authorization");
    call->may_read = call->may_change = api_open(self);
    if (call->may_read || !header || strncmp(header, scheme, sizeof scheme - 1) != 0)
        return;
    uint8_t digest[32];
    ald_sha256(ald_span_str(header + sizeof scheme - 1), digest);
    call->may_change = api_token_of(digest, self->tokens, self->token_count);
    call->may_read =
        api_token_of(digest, self->read_tokens, self->read_token_count) || call->may_change;
}

/* Is it the listener's own page that asks? Its origin is then what the browser was pointed at. */
static bool api_own_origin(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ALD_COUNT(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], len) == 0)
            return strcasecmp(origin + len, host) == 0;
    }
    return false;
}

/* Browsers say whose page asks, also for pictures and scripts, which are asked for by GET. Anybody
 * may lead to the dashboard. */
static bool api_said_foreign(const struct http_request *request)
{
    const char *site = http_header(request, "Sec-Fetch-Site");
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 &&
           strcmp(request->path, "/") != 0;
}

/* A page in a browser can send requests here, and a name that suddenly means 127.0.0.1 lets it read
 * the answers. Programs send no Origin; and they know whom they talk to. */
static bool api_from_foreign_page(const struct api *self, const struct http_request *request)
{
    const char *origin = http_header(request, "Origin");
    const char *host = http_header(request, "Host");
    if (api_said_foreign(request))
        return true;
    if (strcmp(request->method, "GET") != 0 && origin && !(host && api_own_origin(origin, host)))
        return true;
    if (!host || !api_open(self))
        return false;
    struct ald_span name = ald_span_of(host, strcspn(host, ":"));
    return !ald_span_eq_str(name, "localhost") && strspn(host, "0123456789.") != name.len;
}

static void api_no_route(struct api_call *call)
{
    const char *setting = facade_setting(call->request->path);
    char text[128] = "There is no such route.";
    if (setting)
        (void)snprintf(text, sizeof text,
                       "There is no such route as long as %s names no provider in the settings.",
                       setting);
    api_problem(call, 404, text);
}

/* False: a problem was answered. */
static bool api_admits(struct api_call *call, const struct api_route *route)
{
    api_allow(call);
    if ((route->flags & API_OPEN) != 0)
        return true;
    if (!call->may_read) {
        api_problem_with(call, 401, "WWW-Authenticate: Bearer\r\n",
                         "A token is needed, one of gateway.tokens: Authorization: Bearer "
                         "TOKEN.");
        return false;
    }
    if (call->may_change || strcmp(call->request->method, "GET") == 0)
        return true;
    api_problem(call, 403,
                "This token is one of gateway.read_tokens, which only read: what changes something "
                "needs one of gateway.tokens.");
    return false;
}

static void api_run(struct api_call *call, const struct api_route *route)
{
    if (!api_admits(call, route))
        return;
    if ((route->flags & (API_OPEN | API_ASKS)) != 0 || api_query(call, NULL, 0))
        route->run(call);
    if ((route->flags & API_ACT) != 0)
        api_action_note(call, route->path);
}

static void api_dispatch(struct api_call *call)
{
    const struct http_request *request = call->request;
    char allow[64] = "";
    for (size_t i = 0; i < ALD_COUNT(API_ROUTES); i++) {
        const struct api_route *route = &API_ROUTES[i];
        if (!api_matches(route->path, request->path, call->argument))
            continue;
        if (strcmp(route->method, request->method) != 0) {
            size_t at = strlen(allow);
            (void)snprintf(allow + at, sizeof allow - at, "%s%s", at ? ", " : "", route->method);
            continue;
        }
        api_run(call, route);
        return;
    }
    if (allow[0] == '\0') {
        api_no_route(call);
        return;
    }
    char extra[96];
    (void)snprintf(extra, sizeof extra, "Allow: %s\r\n", allow);
    api_problem_with(call, 405, extra,
                     "This route takes another method: the header Allow names it.");
}

static void api_renew(struct ald_buf *buf)
{
    ald_buf_reset(buf);
    if (buf->cap <= API_KEPT)
        return;
    size_t max = buf->max;
    ald_buf_free(buf);
    ald_buf_init(buf, max);
}

void api_handle(void *arg, void *arg_worker, http_exchange_t *exchange)
{
    struct api_call call = {
        .api = arg, .worker = arg_worker, .exchange = exchange, .request = http_request(exchange)};
    if (facade_serves(call.api, call.request->path)) /* its key is in the request itself */
        facade_handle(&call);
    else if (api_from_foreign_page(call.api, call.request))
        api_problem(&call, 403,
                    "Requests for pages of other sites are refused: use the address of "
                    "the listener, and send no Origin but its own.");
    else
        api_dispatch(&call);
    api_renew(&call.worker->body);
    api_renew(&call.worker->out);
}

/* The private listener's requests, with the HTTP library and the daemons at its other ends taken
 * away: the first byte chooses a route; lines follow with what stands for {id}, the query and a
 * header; the body goes up to a NUL; the rest is what daemons answer.
 *
 * Every request whose body came is answered once, and what is called JSON is JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/config/extract.h"
#include "common/net/sock.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/facade/facade.h"
#include "tests/fuzz/fill.h"

enum { API_TEXT_MAX = 4096, API_FRAMES_MAX = 8, API_ASKED_MAX = 12, API_MSG_MAX = 8192 };

const struct http_request *__wrap_http_request(const http_exchange_t *self);
enum ald_rc __wrap_http_read(http_exchange_t *self, const struct http_sink *sink);
enum ald_rc __wrap_http_answer(http_exchange_t *self, unsigned status, const char *extra,
                               struct ald_span body);
enum ald_rc __wrap_http_begin(http_exchange_t *self, unsigned status, const char *extra);
enum ald_rc __wrap_http_write(http_exchange_t *self, struct ald_span bytes);
bool __wrap_http_gone(http_exchange_t *self);
enum ald_rc __wrap_caller_ask(caller_t *self, const char *channel, const struct ald_schema *schema,
                              void *msg, int64_t wait_ms, zmsg_t **answer);
enum ald_rc __wrap_caller_ask_with(caller_t *self, const char *channel,
                                   const struct ald_schema *schema, void *msg, zmsg_t **frames_p,
                                   int64_t wait_ms, zmsg_t **answer);
struct ald_now __wrap_ald_clock_now(void);
void __wrap_ald_service_note(const ald_service_t *self, char *out, size_t cap);
const char *__wrap_ald_service_channel(const ald_service_t *self);

static struct asked {
    struct http_request request;
    struct http_header headers[3];
    char path[API_TEXT_MAX];
    char query[API_TEXT_MAX];
    char value[API_TEXT_MAX];
    struct ald_span body;
    struct input in; /* what daemons say */
    unsigned questions;
    unsigned answers;
    int64_t now_ms;
} asked;

/* Time passes with each look at it, so that no wait is long. */
struct ald_now __wrap_ald_clock_now(void)
{
    asked.now_ms += 700;
    return (struct ald_now){.wall_ms = INT64_C(1800000000000) + asked.now_ms,
                            .mono_ms = asked.now_ms};
}

void __wrap_ald_service_note(const ald_service_t *self, char *out, size_t cap)
{
    (void)self;
    ald_text_cut(out, cap, ald_span_str("a note"));
}

const char *__wrap_ald_service_channel(const ald_service_t *self)
{
    (void)self;
    return "control-gateway";
}

const struct http_request *__wrap_http_request(const http_exchange_t *self)
{
    (void)self;
    return &asked.request;
}

enum ald_rc __wrap_http_read(http_exchange_t *self, const struct http_sink *sink)
{
    (void)self;
    if (asked.body.len > sink->max)
        return ALD_TOOBIG;
    if (sink->hold && !sink->hold(sink->self, asked.body.len))
        return ALD_FULL;
    ald_buf_put_span(sink->body, asked.body);
    return ALD_OK;
}

static enum ald_rc api_is_answered(unsigned status, const char *extra)
{
    ALD_ASSERT(status >= 200 && status < 600 && extra);
    ALD_ASSERT(asked.answers++ == 0);
    size_t len = strlen(extra);
    ALD_ASSERT(len == 0 || (len > 2 && strcmp(extra + len - 2, "\r\n") == 0));
    ALD_ASSERT(!strstr(extra, "\r\n\r\n"));
    return (input_byte(&asked.in) & 15) == 15 ? ALD_CLOSED : ALD_OK;
}

enum ald_rc __wrap_http_answer(http_exchange_t *self, unsigned status, const char *extra,
                               struct ald_span body)
{
    struct ald_json whole;
    struct ald_span tail;
    (void)self;
    if (strstr(extra, "json\r\n") && body.len > 0)
        ALD_ASSERT(ald_json_scan(body, &whole, &tail) == ALD_OK && tail.len == 0);
    return api_is_answered(status, extra);
}

enum ald_rc __wrap_http_begin(http_exchange_t *self, unsigned status, const char *extra)
{
    (void)self;
    return api_is_answered(status, extra);
}

enum ald_rc __wrap_http_write(http_exchange_t *self, struct ald_span bytes)
{
    (void)self;
    (void)bytes;
    ALD_ASSERT(asked.answers == 1);
    return (input_byte(&asked.in) & 15) == 15 ? ALD_CLOSED : ALD_OK;
}

bool __wrap_http_gone(http_exchange_t *self)
{
    (void)self;
    return asked.in.left.len == 0 || asked.questions > API_ASKED_MAX;
}

/* A frame of some kind with some values, or any bytes. */
static void api_frame(zmsg_t *answer)
{
    static const struct ald_schema *const kinds[] = {
        &MSG_TASK_VIEW,   &MSG_EVENT,   &MSG_CONSUMER,     &MSG_FIGURE,
        &MSG_LETTER_VIEW, &MSG_ATTEMPT, &MSG_LETTER_GROUP, &MSG_REPLAY,
        &MSG_NOTE,        &MSG_BLOB,    &MSG_JUDGED,       &MSG_PROVIDER_VIEW};
    static _Alignas(16) uint8_t msg[API_MSG_MAX];
    uint8_t which = input_byte(&asked.in);
    if (which % 16 >= ALD_COUNT(kinds)) {
        struct ald_span bytes = input_part(&asked.in, '\n');
        (void)zmsg_addmem(answer, bytes.data, bytes.len);
        return;
    }
    const struct ald_schema *kind = kinds[which % 16];
    ALD_ASSERT(kind->size <= sizeof msg);
    fill_message(kind, msg, &asked.in);
    (void)!ald_frame_add(answer, kind, msg);
}

/* The head, which whoever asks is always given. */
static void api_put_head(zmsg_t *answer, const struct ald_schema *schema, const void *head)
{
    static const struct msg_answer plain = {.req = 1, .rc = "ok"};
    if (ald_frame_add(answer, schema, head) != ALD_OK)
        ald_frame_put(answer, &MSG_ANSWER, &plain);
}

static void api_head(zmsg_t *answer, const struct ald_schema *schema)
{
    static const char *const words[] = {"ok", "ok",   "ok",       "exists",  "busy",
                                        "io", "full", "notfound", "invalid", "conflict"};
    const char *word = words[input_byte(&asked.in) % ALD_COUNT(words)];
    bool events = schema == &MSG_PULL || schema == &MSG_FETCH;
    if (events != ((input_byte(&asked.in) & 31) == 31)) {
        struct msg_events head = {.req = 1};
        ald_text_cut(head.rc, sizeof head.rc, ald_span_str(word));
        input_text(&asked.in, '\n', head.position, sizeof head.position);
        head.gap = (input_byte(&asked.in) & 7) == 7;
        api_put_head(answer, &MSG_EVENTS, &head);
        return;
    }
    struct msg_answer head = {.req = 1};
    ald_text_cut(head.rc, sizeof head.rc, ald_span_str(word));
    input_text(&asked.in, '\n', head.cursor, sizeof head.cursor);
    api_put_head(answer, &MSG_ANSWER, &head);
}

enum ald_rc __wrap_caller_ask_with(caller_t *self, const char *channel,
                                   const struct ald_schema *schema, void *msg, zmsg_t **frames_p,
                                   int64_t wait_ms, zmsg_t **answer)
{
    struct ald_buf question;
    (void)self;
    ALD_ASSERT(channel && wait_ms > 0);
    zmsg_destroy(frames_p);
    ald_buf_init(&question, 80 << 20);
    enum ald_rc rc = ald_wire_encode(schema, msg, &question);
    ald_buf_free(&question);
    if (rc != ALD_OK)
        return rc;
    if (asked.in.left.len == 0 || ++asked.questions > API_ASKED_MAX)
        return ALD_CLOSED;
    uint8_t how = input_byte(&asked.in);
    if (how % 8 == 7)
        return (how & 8) != 0 ? ALD_FULL : ALD_TIMEOUT;
    *answer = zmsg_new();
    api_head(*answer, schema);
    for (unsigned i = 0; i < how / 8U % API_FRAMES_MAX; i++)
        api_frame(*answer);
    return ALD_OK;
}

enum ald_rc __wrap_caller_ask(caller_t *self, const char *channel, const struct ald_schema *schema,
                              void *msg, int64_t wait_ms, zmsg_t **answer)
{
    zmsg_t *none = NULL;
    return __wrap_caller_ask_with(self, channel, schema, msg, &none, wait_ms, answer);
}

static ald_profiles_t *api_profiles(void)
{
    static const char text[] = "a: {extends: twocaptcha-v1, secrets: {key: {env: FUZZ_KEY}}}\n"
                               "open: {family: inphp, poll: none, callback: {trust: id}}\n";
    ald_profiles_t *profiles = NULL;
    ald_yaml_t *yaml = NULL;
    struct ald_errors errors;
    ald_errors_init(&errors);
    (void)setenv("FUZZ_KEY", "fuzzed", 1);
    enum ald_rc rc = ald_yaml_parse("p", ald_span_str(text), 0, &errors, &yaml);
    if (rc == ALD_OK)
        rc = ald_profiles_load(ald_yaml_root(yaml), 0, &errors, &profiles);
    if (rc != ALD_OK)
        (void)fprintf(stderr, "%s\n", ald_errors_text(&errors));
    ALD_ASSERT(rc == ALD_OK);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
    return profiles;
}

static struct api *api_made(void)
{
    static struct ald_settings settings;
    static struct api api;
    if (api.settings)
        return &api;
    settings.gateway.api_waiters = 2;
    settings.gateway.retry_after_ms = 1000;
    (void)snprintf(settings.bus.run, sizeof settings.bus.run, "/nowhere/at/all");
    (void)snprintf(settings.facade.in_php, sizeof settings.facade.in_php, "a");
    (void)snprintf(settings.facade.create_task, sizeof settings.facade.create_task, "a");
    settings.facade.keys.count = 1;
    (void)snprintf(settings.facade.keys.item[0], sizeof settings.facade.keys.item[0], "k");
    facade_register();
    api_init(&api, &settings);
    api.keyring = keyring_new("/nowhere/at/all/keys");
    api.actions = actions_new("/nowhere/at/all");
    ald_profiles_t *profiles = api_profiles();
    api.current = current_new(profiles);
    (void)snprintf(api.base, sizeof api.base, "https://cb.example");
    atomic_store(&api.welcomed, true);
    return &api;
}

static const struct {
    const char *method;
    const char *path; /* %s: what stands for {id} */
} API_WAYS[] = {
    {"POST", "/v1/tasks%s"},
    {"GET", "/v1/tasks"},
    {"GET", "/v1/tasks/%s"},
    {"GET", "/v1/tasks/%s/result"},
    {"POST", "/v1/tasks/%s/cancel"},
    {"POST", "/v1/tasks/%s/attach"},
    {"GET", "/v1/events"},
    {"GET", "/v1/consumers"},
    {"GET", "/v1/consumers/%s"},
    {"PUT", "/v1/consumers/%s"},
    {"DELETE", "/v1/consumers/%s"},
    {"POST", "/v1/consumers/%s/pull"},
    {"POST", "/v1/consumers/%s/settle"},
    {"GET", "/v1/dead-letters"},
    {"POST", "/v1/dead-letters/replay"},
    {"GET", "/v1/dead-letters/%s"},
    {"PATCH", "/v1/dead-letters/%s"},
    {"POST", "/v1/dead-letters/%s/replay"},
    {"DELETE", "/v1/dead-letters/%s"},
    {"GET", "/v1/replays"},
    {"GET", "/v1/replays/%s"},
    {"POST", "/v1/replays/%s/pause"},
    {"POST", "/v1/replays/%s/resume"},
    {"DELETE", "/v1/replays/%s"},
    {"GET", "/v1/providers"},
    {"POST", "/v1/providers/%s/pause"},
    {"POST", "/v1/providers/%s/resume"},
    {"GET", "/v1/status"},
    {"GET", "/v1/watch"},
    {"GET", "/v1/access"},
    {"GET", "/v1/actions"},
    {"GET", "/ui/%s"},
    {"GET", "/v1/audit"},
    {"GET", "/readyz"},
    {"GET", "/%s"},
    {"GET", "/in.php"},
    {"POST", "/in.php"},
    {"GET", "/res.php"},
    {"POST", "/createTask"},
    {"POST", "/getTaskResult"},
    {"POST", "/getBalance"},
};

static void api_request(struct input *in)
{
    static const char *const names[] = {"Content-Type", "Idempotency-Key", "Last-Event-ID",
                                        "Origin", "Prefer"};
    char id[API_TEXT_MAX / 2];
    size_t way = input_byte(in) % ALD_COUNT(API_WAYS);
    memset(&asked, 0, sizeof asked);
    input_text(in, '\n', id, sizeof id);
    const char *at = strstr(API_WAYS[way].path, "%s");
    size_t before = at ? (size_t)(at - API_WAYS[way].path) : strlen(API_WAYS[way].path);
    (void)snprintf(asked.path, sizeof asked.path, "%.*s%s%s", (int)before, API_WAYS[way].path,
                   at ? id : "", at ? at + 2 : "");
    input_text(in, '\n', asked.query, sizeof asked.query);
    const char *name = names[input_byte(in) % ALD_COUNT(names)];
    input_text(in, '\n', asked.value, sizeof asked.value);
    asked.headers[0] = (struct http_header){"Host", "127.0.0.1:7781"};
    asked.headers[1] = (struct http_header){name, asked.value};
    asked.request = (struct http_request){.method = API_WAYS[way].method,
                                          .path = asked.path,
                                          .query = ald_span_str(asked.query),
                                          .peer = "127.0.0.1",
                                          .headers = asked.headers,
                                          .header_count = 2};
    asked.body = input_part(in, 0);
    asked.in = *in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void *worker;
    struct api *api = api_made();
    struct input in = {.left = ald_span_of(data, size)};
    if (!worker)
        worker = api_worker_new(api);
    api_request(&in);
    if (strcmp(asked.path, "/v1/backup") == 0)
        return 0; /* makes folders */
    api_handle(api, worker, (http_exchange_t *)&asked);
    ALD_ASSERT(asked.answers == 1);
    ALD_ASSERT(atomic_load(&api->waiters) == 0);
    return 0;
}

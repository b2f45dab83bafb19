#include "services/ctl/api.h"

#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "common/base/text.h"
#include "common/base/trace.h"

enum { API_TEXT_MAX = 1024, API_CONNECT_MS = 5000 };

struct api {
    CURL *curl;
    char base[API_TEXT_MAX];
    char token[API_TEXT_MAX];
};

/* One request while it is under way. */
struct api_exchange {
    api_t *api;
    struct api_answer *answer;
    api_piece_fn *fn; /* NULL: everything goes into answer */
    void *context;
    bool enough; /* fn said so */
};

void api_answer_init(struct api_answer *answer)
{
    answer->status = 0;
    ald_buf_init(&answer->body, API_ANSWER_MAX);
}

void api_answer_free(struct api_answer *answer)
{
    ald_buf_free(&answer->body);
}

api_t *api_new(const char *base, const char *token)
{
    api_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    ALD_ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    self->curl = curl_easy_init();
    ALD_ASSERT(self->curl != NULL);
    ald_text_cut(self->base, sizeof self->base, ald_span_str(base));
    ald_text_cut(self->token, sizeof self->token, ald_span_str(token ? token : ""));
    size_t len = strlen(self->base);
    if (len > 0 && self->base[len - 1] == '/')
        self->base[len - 1] = '\0';
    return self;
}

void api_destroy(api_t **self_p)
{
    if (*self_p == NULL)
        return;
    curl_easy_cleanup((*self_p)->curl);
    curl_global_cleanup();
    free(*self_p);
    *self_p = NULL;
}

static size_t api_write(char *data, size_t size, size_t count, void *context)
{
    struct api_exchange *self = context;
    size_t len = size * count;
    (void)curl_easy_getinfo(self->api->curl, CURLINFO_RESPONSE_CODE, &self->answer->status);
    if (self->fn != NULL && self->answer->status == 200) {
        self->enough = !self->fn(self->context, ald_span_of(data, len));
        return self->enough ? 0 : len;
    }
    ald_buf_put(&self->answer->body, data, len);
    return ald_buf_ok(&self->answer->body) ? len : 0;
}

/* A line of the head; a value that would make two of one is refused. */
static bool api_header(struct curl_slist **list, const char *name, const char *value)
{
    struct ald_buf line;
    if (strpbrk(value, "\r\n") != NULL)
        return false;
    ald_buf_init(&line, 2 * API_TEXT_MAX);
    ald_buf_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = NULL;
    if (ald_buf_ok(&line))
        longer = curl_slist_append(*list, ald_buf_str(&line));
    ald_buf_free(&line);
    *list = longer ? longer : *list;
    return longer != NULL;
}

static bool api_headers(const api_t *self, const struct api_request *request,
                        struct curl_slist **list)
{
    char bearer[API_TEXT_MAX + 8] = "Bearer ";
    bool ok = api_header(list, "Expect", "") && api_header(list, "User-Agent", "aldaba");
    if (request->body != NULL)
        ok = ok &&
             api_header(list, "Content-Type", request->type ? request->type : "application/json");
    if (request->key != NULL)
        ok = ok && api_header(list, "Idempotency-Key", request->key);
    if (request->after != NULL && request->after[0] != '\0')
        ok = ok && api_header(list, "Last-Event-ID", request->after);
    const char *trace = getenv("TRACEPARENT"); /* as tools that trace leave it for their children */
    if (trace && ald_trace_ok(ald_span_str(trace)))
        ok = ok && api_header(list, "traceparent", trace);
    if (self->token[0] != '\0') {
        memcpy(bearer + 7, self->token, strlen(self->token) + 1);
        ok = ok && api_header(list, "Authorization", bearer);
    }
    return ok;
}

static int api_tick(void *context, curl_off_t total, curl_off_t got, curl_off_t up, curl_off_t sent)
{
    const struct api_request *request = context;
    (void)total;
    (void)got;
    (void)up;
    (void)sent;
    return request->go_on(request->context) ? 0 : 1;
}

static void api_prepare(api_t *self, const struct api_request *request, const char *url,
                        struct curl_slist *headers, struct api_exchange *exchange)
{
    CURL *curl = self->curl;
    curl_easy_reset(curl);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)API_CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    if (request->silence_ms > 0) {
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)(request->silence_ms / 1000));
    }
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (request->body != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(request->body));
    }
    if (request->go_on != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, api_tick);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
    }
    if (request->method != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, api_write);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
}

static enum ald_rc api_rc(CURLcode code)
{
    if (code == CURLE_OK)
        return ALD_OK;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return ALD_TIMEOUT;
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return ALD_INVALID;
    return code == CURLE_WRITE_ERROR ? ALD_TOOBIG : ALD_CLOSED;
}

static enum ald_rc api_perform(api_t *self, const struct api_request *request,
                               struct api_exchange *exchange, struct ald_err *err)
{
    struct curl_slist *headers = NULL;
    struct ald_buf url;
    CURLcode code = CURLE_URL_MALFORMAT;
    exchange->answer->status = 0;
    ald_buf_reset(&exchange->answer->body);
    ald_buf_init(&url, 64 * API_TEXT_MAX);
    ald_buf_printf(&url, "%s%s", self->base, request->path);
    if (ald_buf_ok(&url) && api_headers(self, request, &headers)) {
        api_prepare(self, request, ald_buf_str(&url), headers, exchange);
        code = curl_easy_perform(self->curl);
        (void)curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &exchange->answer->status);
    }
    curl_slist_free_all(headers);
    ald_buf_free(&url);
    if (exchange->enough)
        return ALD_OK;
    enum ald_rc rc = api_rc(code);
    return rc == ALD_OK ? rc : ald_err_set(err, rc, "%s", curl_easy_strerror(code));
}

enum ald_rc api_call(api_t *self, const struct api_request *request, struct api_answer *answer,
                     struct ald_err *err)
{
    struct api_exchange exchange = {.api = self, .answer = answer};
    return api_perform(self, request, &exchange, err);
}

enum ald_rc api_stream(api_t *self, const struct api_request *request, api_piece_fn *fn,
                       void *context, struct api_answer *answer, struct ald_err *err)
{
    struct api_exchange exchange = {.api = self, .answer = answer, .fn = fn, .context = context};
    enum ald_rc rc = api_perform(self, request, &exchange, err);
    if (rc != ALD_OK || exchange.enough || answer->status != 200)
        return rc;
    return ald_err_set(err, ALD_CLOSED, "the stream has ended");
}

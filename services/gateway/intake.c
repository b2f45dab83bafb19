#include "services/gateway/intake.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/base/trace.h"
#include "common/config/extract.h"
#include "common/config/ruled.h"
#include "proto/words.h"

enum {
    INTAKE_HEADERS_MAX = 4096,
    INTAKE_HEADER_MAX = 512, /* bytes kept of one header */
    INTAKE_SCRATCH_MAX = 64 << 20
};

static const char INTAKE_TOKEN[] = "/cb/";
static const char INTAKE_BARE[] = "/callback";

/* ---- routes ---- */

static bool intake_name_ok(struct ald_span name)
{
    if (name.len == 0 || name.len >= ALD_PROVIDER_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')
            return false;
    }
    return true;
}

static bool intake_method_ok(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0;
}

/* Split at the first slash; false when there is none. */
static bool intake_split(struct ald_span text, struct ald_span *head, struct ald_span *tail)
{
    const uint8_t *slash = text.len > 0 ? memchr(text.data, '/', text.len) : NULL;
    if (!slash)
        return false;
    size_t at = (size_t)(slash - text.data);
    *head = ald_span_of(text.data, at);
    *tail = ald_span_of(slash + 1, text.len - at - 1);
    return true;
}

static void intake_path(struct intake_route *out, const char *a, const char *b, const char *c)
{
    size_t la = strlen(a), lb = strlen(b), lc = strlen(c);
    ALD_ASSERT(la + lb + lc < sizeof out->path);
    memcpy(out->path, a, la);
    memcpy(out->path + la, b, lb);
    memcpy(out->path + la + lb, c, lc + 1);
}

static void intake_limits(const struct intake_rules *rules, struct intake_route *out)
{
    uint64_t max = out->profile ? out->profile->max_body : rules->max_body;
    if (max > rules->max_item)
        max = rules->max_item;
    out->max_body = (size_t)max;
}

static void intake_by_token(const struct intake_rules *rules, const struct ald_keys *keys,
                            struct ald_span rest, struct intake_route *out)
{
    struct ald_span name, token;
    if (!intake_split(rest, &name, &token) || !intake_name_ok(name) ||
        ald_text_copy(out->provider, sizeof out->provider, name) != ALD_OK)
        return;
    if (!keys) {
        out->next = INTAKE_NO_KEYS;
        return;
    }
    size_t end = ald_span_find(token, '/');
    struct ald_span trace = ald_span_skip(token, end + 1);
    if (end < token.len && ald_trace_ok(trace)) {
        ald_text_cut(out->trace, sizeof out->trace, trace);
        token.len = end;
    }
    /* The text handed over is of any length and content; nothing that is not a token verifies. */
    if (ald_token_verify(keys, out->provider, (const char *)token.data, token.len, &out->task,
                         &out->attempt) != ALD_OK)
        return;
    out->next = INTAKE_CALLBACK;
    out->genuine = true;
    out->profile = ald_profiles_find(rules->profiles, out->provider);
    intake_path(out, INTAKE_TOKEN, out->provider, "/{token}");
}

static void intake_by_name(const struct intake_rules *rules, struct ald_span name,
                           struct intake_route *out)
{
    if (!intake_name_ok(name) || ald_text_copy(out->provider, sizeof out->provider, name) != ALD_OK)
        return;
    out->profile = ald_profiles_find(rules->profiles, out->provider);
    out->next = out->profile ? INTAKE_CALLBACK : INTAKE_NOBODY;
}

static bool intake_file(const struct intake_rules *rules, const char *path,
                        struct intake_route *out)
{
    for (size_t i = 0; i < ald_profiles_count(rules->profiles); i++) {
        const struct ald_profile *profile = ald_profiles_at(rules->profiles, i);
        if (profile->verification_path[0] == '/' && strcmp(profile->verification_path, path) == 0) {
            out->next = INTAKE_FILE;
            out->content = profile->verification_content;
            return true;
        }
    }
    return false;
}

void intake_route(const struct intake_rules *rules, const struct ald_keys *keys,
                  const struct http_request *request, struct intake_route *out)
{
    *out = (struct intake_route){.next = INTAKE_NOT_FOUND};
    struct ald_span path = ald_span_str(request->path);
    if (intake_file(rules, request->path, out)) {
        if (strcmp(request->method, "GET") != 0)
            out->next = INTAKE_METHOD;
        return;
    }
    if (path.len > 1 && path.data[path.len - 1] == '/')
        path.len--;
    size_t token = sizeof INTAKE_TOKEN - 1;
    size_t bare = sizeof INTAKE_BARE - 1;
    if (path.len > token && memcmp(path.data, INTAKE_TOKEN, token) == 0) {
        intake_by_token(rules, keys, ald_span_of(path.data + token, path.len - token), out);
    } else if (ald_span_eq_str(path, INTAKE_BARE)) {
        intake_by_name(rules, ald_span_str(rules->default_provider), out);
        intake_path(out, INTAKE_BARE, "", "");
    } else if (path.len > bare + 1 && memcmp(path.data, INTAKE_BARE, bare) == 0 &&
               path.data[bare] == '/') {
        intake_by_name(rules, ald_span_of(path.data + bare + 1, path.len - bare - 1), out);
        intake_path(out, INTAKE_BARE, "/", out->provider);
    }
    if (out->next == INTAKE_CALLBACK && !intake_method_ok(request->method))
        out->next = INTAKE_METHOD;
    intake_limits(rules, out);
}

/* ---- messages ---- */

void intake_work_init(struct intake_work *work)
{
    ald_buf_init(&work->headers, INTAKE_HEADERS_MAX);
    ald_buf_init(&work->scratch, INTAKE_SCRATCH_MAX);
}

void intake_work_free(struct intake_work *work)
{
    ald_buf_free(&work->headers);
    ald_buf_free(&work->scratch);
}

/* A header as text that is fit for a message: printable ASCII, cut to size. */
static void intake_text(char *out, size_t cap, const char *value)
{
    size_t n = 0;
    for (; *value != '\0' && n + 1 < cap; value++)
        out[n++] = *value >= 0x20 && *value < 0x7f ? *value : '?';
    out[n] = '\0';
}

static void intake_keep_header(const struct http_request *request,
                               const struct ald_profile *profile, const char *name,
                               struct ald_buf *out)
{
    const char *value = http_header(request, name);
    if (!value || (profile && ald_auth_hides(profile->auth, name)))
        return;
    char text[INTAKE_HEADER_MAX];
    intake_text(text, sizeof text, value);
    ald_buf_put_str(out, name);
    ald_buf_put_str(out, ": ");
    ald_buf_put_str(out, text);
    ald_buf_put_byte(out, '\n');
}

/* Those for people, and those that the profile's rules look at. */
static void intake_keep_headers(const struct http_request *request,
                                const struct ald_profile *profile, struct ald_buf *out)
{
    static const char *const kept[] = {"content-type", "user-agent", "x-request-id", "traceparent"};
    const struct ald_ruled *ruled = profile ? profile->ruled : NULL;
    ald_buf_reset(out);
    for (unsigned i = 0; ruled && i < ruled->header_count; i++)
        intake_keep_header(request, profile, ruled->header[i], out);
    for (size_t i = 0; i < ALD_COUNT(kept); i++) {
        bool twice = false;
        for (unsigned k = 0; ruled && k < ruled->header_count; k++)
            twice = twice || strcasecmp(ruled->header[k], kept[i]) == 0;
        if (!twice)
            intake_keep_header(request, profile, kept[i], out);
    }
}

static bool intake_hex(uint8_t c)
{
    return isxdigit(c) != 0;
}

/* Why an urlencoded text can't be read; NULL when it can. A %00 would end a text early and name
 * another task. */
static const char *intake_form_fault(struct ald_span form)
{
    for (size_t i = 0; i < form.len; i++) {
        if (form.data[i] == '\0')
            return "a NUL byte in the form";
        if (form.data[i] != '%')
            continue;
        if (form.len - i < 3 || !intake_hex(form.data[i + 1]) || !intake_hex(form.data[i + 2]))
            return "a % that two hexadecimal digits do not follow";
        if (form.data[i + 1] == '0' && form.data[i + 2] == '0')
            return "a %00";
    }
    return NULL;
}

/* what: in small letters. */
static bool intake_is(const char *content_type, const char *what)
{
    size_t n = strcspn(content_type, ";, \t");
    size_t len = strlen(what);
    for (size_t i = 0; i + len <= n; i++)
        if ((content_type[i] | 0x20) == what[0] && strncasecmp(content_type + i, what, len) == 0)
            return true;
    return false;
}

static const char *intake_fault(const struct http_request *request, const char *content_type,
                                struct ald_span body)
{
    const char *fault = intake_form_fault(request->query);
    if (fault || body.len == 0)
        return fault;
    if (intake_is(content_type, "x-www-form-urlencoded"))
        return intake_form_fault(body);
    struct ald_json value;
    if (intake_is(content_type, "json") &&
        ald_json_scan(ald_message_trim(body), &value, NULL) != ALD_OK)
        return "declared as JSON, but it is none";
    return NULL;
}

/* Does a message on the bare form name a task at all? */
static bool intake_names_task(const struct intake_route *route, const struct msg_callback *message,
                              struct ald_buf *scratch)
{
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const struct ald_facts facts = {.headers = headers,
                                    .header_count = ald_headers_read(message->headers, headers),
                                    .query = message->query,
                                    .content_type = ald_span_str(message->content_type),
                                    .body = message->body};
    return ald_profile_names_task(route->profile, &facts, scratch);
}

static void intake_set(char *out, size_t cap, const char *text)
{
    ald_text_cut(out, cap, ald_span_str(text));
}

static void intake_spoilt(struct msg_callback *out, enum ald_reason reason, const char *why)
{
    intake_set(out->fault, sizeof out->fault, ald_reason_name(reason));
    intake_set(out->detail, sizeof out->detail, why);
}

/* Who sent it: what is proved, and what is wrong with a proof. */
static enum intake_fate intake_prove(const struct intake_rules *rules,
                                     const struct intake_route *route,
                                     const struct http_request *request,
                                     const struct ald_span *body, struct intake_work *work,
                                     struct msg_callback *out)
{
    const struct proof_facts facts = {.profile = route->profile,
                                      .genuine = route->genuine,
                                      .peer_ok = !route->profile ||
                                                 ald_profile_peer_ok(route->profile, out->peer),
                                      .body = body,
                                      .now_ms = out->received_at_ms,
                                      .found = rules->found};
    struct proof *proof = &work->proof;
    proof_find(&facts, request, proof);
    intake_set(out->proof, sizeof out->proof, ald_proof_name(proof->proof));
    if (proof->then == PROOF_SPOIL) {
        char why[ALD_TEXT_MAX];
        (void)snprintf(why, sizeof why, "%s: %s", proof->result.scheme,
                       ald_auth_why_text(proof->result.why));
        intake_spoilt(out, ALD_REASON_UNAUTHENTICATED, why);
    }
    return proof->then == PROOF_REJECT  ? INTAKE_REJECT
           : proof->then == PROOF_LATER ? INTAKE_LATER
                                        : INTAKE_STORE;
}

static void intake_envelope(const struct intake_rules *rules, const struct intake_route *route,
                            const struct http_request *request, struct intake_work *work,
                            struct msg_callback *out)
{
    const char *content_type = http_header(request, "Content-Type");
    const char *trace =
        route->trace[0] != '\0' ? route->trace : http_header(request, "traceparent");
    intake_set(out->provider, sizeof out->provider, route->provider);
    intake_set(out->method, sizeof out->method, request->method);
    intake_set(out->path, sizeof out->path, route->path);
    intake_text(out->content_type, sizeof out->content_type, content_type ? content_type : "");
    intake_text(out->trace, sizeof out->trace, trace ? trace : "");
    peer_find(rules->peers, request, out->peer);
    intake_keep_headers(request, route->profile, &work->headers);
    out->headers = ald_buf_span(&work->headers);
}

enum intake_fate intake_message(const struct intake_rules *rules, const struct intake_route *route,
                                const struct http_request *request, const struct ald_span *body,
                                int64_t received_at_ms, struct intake_work *work,
                                struct msg_callback *out)
{
    *out = (struct msg_callback){
        .task = route->task, .attempt = route->attempt, .received_at_ms = received_at_ms};
    intake_envelope(rules, route, request, work, out);
    bool oversized = !body || request->query.len > ALD_QUERY_MAX;
    enum intake_fate fate = intake_prove(rules, route, request, oversized ? NULL : body, work, out);
    if (fate != INTAKE_STORE)
        return fate;
    if (!oversized) {
        out->query = request->query;
        out->body = *body;
    }
    const char *fault = oversized ? NULL : intake_fault(request, out->content_type, out->body);
    bool vouched = route->genuine || work->proof.proof == ALD_PROOF_AUTH;
    if (!vouched && (oversized || fault || !intake_names_task(route, out, &work->scratch)))
        return INTAKE_REFUSE;
    if (fault && out->fault[0] == '\0')
        intake_spoilt(out, ALD_REASON_MALFORMED, fault);
    if (oversized)
        intake_set(out->fault, sizeof out->fault, "oversized");
    return INTAKE_STORE;
}

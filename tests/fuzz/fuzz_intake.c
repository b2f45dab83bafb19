/* Any bytes as a request at the door: lines of method, path, query, a peer and headers, then a body
 * after an empty line. What is stored must be a message that the bus can carry, and nobody who does
 * not know the secrets proves that he does. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "services/gateway/intake.h"

enum { HEAD_MAX = 4096, LINES_MAX = 32, OUT_MAX = 4 << 20, NOW_MS = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char INTAKE_PROFILES[] =
    "open: {family: inphp, poll: none, callback: {trust: token, max_body: 1KiB,"
    " verification_file: {path: /v.txt, content: abc}}}\n"
    "lan: {family: inphp, poll: none, callback: {trust: id, auth: {source_ips: [10.0.0.0/8]}}}\n"
    "hooks: {family: inphp, poll: none, callback: {auth: {standard_webhooks: {secret: {env: "
    "S}}}}}\n"
    "stamped: {family: inphp, poll: none, callback: {auth: {hmac: {header: h, format: t_v, secret: "
    "{env: S}}}}}\n"
    "keyed: {family: inphp, poll: none, callback: {auth: {ed25519: {headers: {sig: h, ts: t}, "
    "message: "
    "\"${header.t}.${body}\", keys: [A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg]}}}}\n";

static struct world {
    ald_profiles_t *profiles;
    struct peer_rules peers;
    struct ald_keys keys;
    struct intake_rules rules;
    struct intake_work work;
} world;

static void world_make(void)
{
    struct ald_errors errors;
    struct ald_err err;
    ald_yaml_t *yaml = NULL;
    ald_errors_init(&errors);
    (void)setenv("S", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", 1);
    enum ald_rc rc = ald_yaml_parse("p", ald_span_str(INTAKE_PROFILES), 0, &errors, &yaml);
    ALD_ASSERT(rc == ALD_OK);
    rc = ald_profiles_load(ald_yaml_root(yaml), ALD_SECRETS_AUTH, &errors, &world.profiles);
    ALD_ASSERT(rc == ALD_OK);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
    const struct ald_texts proxies = {.count = 1, .item = {"127.0.0.0/8"}};
    rc = peer_rules_load(&proxies, &world.peers, &err);
    ALD_ASSERT(rc == ALD_OK);
    ald_keys_rotate(&world.keys);
    world.rules = (struct intake_rules){.profiles = world.profiles,
                                        .default_provider = "lan",
                                        .peers = &world.peers,
                                        .max_body = 4096,
                                        .max_item = 1 << 20};
    intake_work_init(&world.work);
}

/* The text with the word TOKEN, if it stands there, made into a genuine one: no fuzzer finds it. */
static const char *intake_genuine(const char *path, char *out, size_t cap)
{
    const char *at = strstr(path, "TOKEN");
    char token[ALD_TOKEN_MAX];
    struct ald_buf text;
    if (at == NULL)
        return path;
    ald_token_make(&world.keys, "open", 4711, 1, token);
    ald_buf_init(&text, cap);
    ald_buf_printf(&text, "%.*s%s%s", (int)(at - path), path, token, at + 5);
    bool ok = ald_buf_ok(&text) && ald_text_copy(out, cap, ald_buf_span(&text)) == ALD_OK;
    ald_buf_free(&text);
    return ok ? out : path;
}

static void intake_store(const struct intake_route *route, const struct http_request *request,
                         const struct ald_span *body)
{
    struct msg_callback message;
    if (INTAKE_STORE !=
        intake_message(&world.rules, route, request, body, NOW_MS, &world.work, &message))
        return;
    ALD_ASSERT(strcmp(message.proof, "auth") != 0);
    struct ald_buf bytes;
    struct msg_callback again;
    message.num = 1;
    ald_buf_init(&bytes, OUT_MAX);
    ALD_ASSERT(ald_wire_encode(&MSG_CALLBACK, &message, &bytes) == ALD_OK);
    ALD_ASSERT(ald_wire_decode(&MSG_CALLBACK, &again, ald_buf_span(&bytes)) == ALD_OK);
    ALD_ASSERT(again.task == message.task && strcmp(again.proof, message.proof) == 0);
    ALD_ASSERT(ald_span_eq(again.body, message.body) && ald_span_eq(again.query, message.query));
    ald_buf_free(&bytes);
}

/* Cut head, which ends in a NUL, into lines; text has at least four. */
static size_t intake_lines(char *head, char *lines[LINES_MAX])
{
    size_t count = 0;
    for (char *at = head; at != NULL && count < LINES_MAX; count++) {
        lines[count] = at;
        at = strchr(at, '\n');
        if (at != NULL)
            *at++ = '\0';
    }
    return count;
}

static void intake_request(char *lines[], size_t count, const struct ald_span *body)
{
    struct http_header headers[LINES_MAX];
    char path[HEAD_MAX];
    size_t header_count = 0;
    for (size_t i = 4; i < count; i++) {
        char *colon = strchr(lines[i], ':');
        if (colon == NULL)
            continue;
        *colon = '\0';
        headers[header_count++] = (struct http_header){.name = lines[i], .value = colon + 1};
    }
    const struct http_request request = {.method = lines[0],
                                         .path = intake_genuine(lines[1], path, sizeof path),
                                         .query = ald_span_str(lines[2]),
                                         .peer = lines[3],
                                         .headers = headers,
                                         .header_count = header_count};
    struct intake_route route;
    intake_route(&world.rules, &world.keys, &request, &route);
    if (route.next != INTAKE_CALLBACK)
        return;
    intake_store(&route, &request, body->len <= route.max_body ? body : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char end[] = "\n\n";
    if (world.profiles == NULL)
        world_make();
    const uint8_t *blank = size == 0 ? NULL : memmem(data, size, end, 2);
    size_t head_len = blank == NULL ? size : (size_t)(blank - data);
    struct ald_span body = ald_span_of(NULL, 0);
    if (blank != NULL)
        body = ald_span_of(blank + 2, size - head_len - 2);
    char head[HEAD_MAX];
    char *lines[LINES_MAX];
    if (head_len >= sizeof head)
        return 0;
    memcpy(head, data, head_len);
    head[head_len] = '\0';
    size_t count = intake_lines(head, lines);
    if (count >= 4)
        intake_request(lines, count, &body);
    return 0;
}

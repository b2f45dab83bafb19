/* Any bytes as what a caller wants submitted, written by profiles of every encoding: it is refused,
 * or the request is whole. The first byte chooses the profile. */
#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"
#include "common/config/profile_request.h"

#define PROFILE(name, request, more)                                                               \
    name ": {id: {}, codes: {_default: {class: unknown}}, submit: {request: {url: "                \
         "\"https://h.example/in\", " request "}, " more "rules: []}, poll: none, "                \
         "recover: {on_stale: alert}}\n"
#define HOOK(in) "callback_param: {in: " in ", name: hook}, "

static const char PROFILES[] = PROFILE("a", "method: POST, encode: form", HOOK("body")) PROFILE(
    "b", "method: POST, encode: json", HOOK("body") "params: {m: {x: [1, \"${param.a}\"]}}, ")
    PROFILE("c", "method: POST, encode: multipart", HOOK("body"))
        PROFILE("d", "method: POST, encode: raw", HOOK("query"))
            PROFILE("e", "method: GET, encode: query", HOOK("query")) PROFILE(
                "f", "method: POST, encode: json, headers: {X: \"${param.a}\"}", HOOK("header"));

static ald_profiles_t *fuzz_profiles(void)
{
    struct ald_errors errors;
    ald_yaml_t *doc = NULL;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    if (ald_yaml_parse("p.yaml", ald_span_str(PROFILES), 0, &errors, &doc) == ALD_OK)
        (void)!ald_profiles_load(ald_yaml_root(doc), 0, &errors, &profiles);
    ald_yaml_destroy(&doc);
    ALD_ASSERT(profiles);
    ald_errors_free(&errors);
    return profiles;
}

/* No line of a header can be added, and no line ends inside of one. */
static void fuzz_whole(struct ald_request *request)
{
    const char *at = ald_buf_str(&request->headers);
    size_t lines = 0;
    for (; *at; at++)
        lines += *at == '\n';
    ALD_ASSERT(lines <= 2 && strlen(ald_buf_str(&request->headers)) == request->headers.len);
    ALD_ASSERT(strlen(ald_buf_str(&request->url)) == request->url.len);
    ALD_ASSERT(!strpbrk(ald_buf_str(&request->url), " \r\n#"));
    ALD_ASSERT(!strpbrk(request->content_type, "\r\n"));
    struct ald_json value;
    if (strcmp(request->content_type, "application/json") == 0)
        ALD_ASSERT(ald_json_scan(ald_buf_span(&request->body), &value, NULL) == ALD_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ald_profiles_t *profiles;
    struct ald_given given;
    struct ald_request request;
    const char *why = NULL;
    if (!profiles)
        profiles = fuzz_profiles();
    if (size == 0)
        return 0;
    const struct ald_profile *profile =
        ald_profiles_at(profiles, data[0] % ald_profiles_count(profiles));
    if (ald_given_read(ald_span_of(data + 1, size - 1), &given, &why) != ALD_OK) {
        ALD_ASSERT(why && why[0]);
        return 0;
    }
    const struct ald_request_in in = {.stage = ALD_STAGE_SUBMIT,
                                      .callback_url = "https://cb.example/cb/a/TOKEN",
                                      .given = &given};
    ald_request_init(&request, 64 << 10);
    if (ald_profile_request(profile, &in, &request) == ALD_OK)
        fuzz_whole(&request);
    ald_request_free(&request);
    return 0;
}

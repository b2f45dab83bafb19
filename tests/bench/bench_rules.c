/* How long a profile's rules take: of a callback of 400 bytes on top of reading its JSON, and of
 * loading a thousand profiles. Prints; judges nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/config/extract.h"
#include "common/config/profile.h"

enum { ROUNDS = 200000, PROFILES = 1000 };

/* Of this process alone: others use the machine, too. */
static double now_s(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static ald_profiles_t *profiles_of(const char *yaml)
{
    struct ald_errors errors;
    ald_yaml_t *doc = NULL;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    if (ald_yaml_parse("bench", ald_span_str(yaml), 0, &errors, &doc) != ALD_OK ||
        ald_profiles_load(ald_yaml_root(doc), 0, &errors, &profiles) != ALD_OK) {
        (void)fputs(ald_errors_text(&errors), stderr);
        exit(1);
    }
    ald_yaml_destroy(&doc);
    ald_errors_free(&errors);
    return profiles;
}

/* A message filled up to 400 bytes where the dollar stands. */
static void fill(const char *form, char out[401])
{
    const char *at = strchr(form, '$');
    size_t before = (size_t)(at - form);
    size_t after = strlen(at + 1);
    memset(out, 'x', 400);
    memcpy(out, form, before);
    memcpy(out + 400 - after, at + 1, after);
    out[400] = '\0';
}

static void judge(const ald_profiles_t *profiles, const char *name, const char *form)
{
    const struct ald_profile *profile = ald_profiles_find(profiles, name);
    char body[401];
    fill(form, body);
    const struct ald_facts facts = {.body = ald_span_str(body)};
    struct ald_buf scratch;
    struct ald_verdict verdict;
    struct ald_json json;
    unsigned seen = 0;
    ald_buf_init(&scratch, 4096);
    double begin = now_s();
    for (unsigned i = 0; i < ROUNDS; i++)
        seen += ald_json_scan(ald_message_trim(facts.body), &json, NULL) == ALD_OK;
    double parsed = now_s();
    for (unsigned i = 0; i < ROUNDS; i++) {
        ald_profile_judge(profile, ALD_STAGE_CALLBACK, &facts, &scratch, &verdict);
        seen += verdict.then == ALD_THEN_DONE;
    }
    double judged = now_s();
    double json_us = (parsed - begin) / ROUNDS * 1e6;
    double all_us = (judged - parsed) / ROUNDS * 1e6;
    printf("rules %-16s %s json_us=%.2f judge_us=%.2f on_top_us=%.2f seen=%u\n", name,
           ald_then_name(verdict.then), json_us, all_us, all_us - json_us, seen);
    ald_buf_free(&scratch);
}

static void load(void)
{
    static const char *const parents[] = {"twocaptcha-v1", "captchaai",        "createtask-json",
                                          "assemblyai",    "deepgram",         "replicate",
                                          "fal",           "openai-responses", "azure-lro"};
    struct ald_buf yaml;
    ald_buf_init(&yaml, 1 << 20);
    for (unsigned i = 0; i < PROFILES; i++)
        ald_buf_printf(&yaml, "p%u: {extends: %s, version: 1}\n", i,
                       parents[i % ALD_COUNT(parents)]);
    double begin = now_s();
    ald_profiles_t *profiles = profiles_of(ald_buf_str(&yaml));
    printf("load profiles=%zu seconds=%.3f\n", ald_profiles_count(profiles), now_s() - begin);
    ald_profiles_destroy(&profiles);
    ald_buf_free(&yaml);
}

int main(void)
{
    ald_profiles_t *profiles = profiles_of("twocaptcha-v1: {extends: twocaptcha-v1}\n"
                                           "createtask-json: {extends: createtask-json}\n"
                                           "replicate: {extends: replicate}\n"
                                           "fal: {extends: fal}\n");
    judge(profiles, "twocaptcha-v1", "id=51555263943&code=03AG$");
    judge(
        profiles, "createtask-json",
        "{\"errorId\":0,\"status\":\"ready\",\"taskId\":74372499131,\"solution\":{\"token\":\"$\"},"
        "\"cost\":\"0.00299\"}");
    judge(profiles, "replicate",
          "{\"id\":\"ufawqh\",\"logs\":\"$\",\"status\":\"succeeded\",\"output\":[\"u\"]}");
    judge(profiles, "fal",
          "{\"request_id\":\"024ca5b1\",\"status\":\"OK\",\"payload\":{\"images\":[\"$\"]}}");
    ald_profiles_destroy(&profiles);
    load();
    return 0;
}

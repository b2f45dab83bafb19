/* Any bytes as what a provider says: to the readers of JSON and forms, and to every judgement that
 * a profile makes of them. The first byte chooses the stage, the profile and the content type. */
#include <string.h>

#include "common/config/extract.h"
#include "common/config/form.h"
#include "common/config/profile.h"

enum { SCRATCH_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char JUDGE_PROFILES[] =
    "a: {family: inphp, poll: none, callback: {trust: id, plus: auto}}\n"
    "b: {family: inphp, dialect: captchaai, poll: none, callback: {plus: literal}}\n";

static const char *const JUDGE_TYPES[] = {"", "application/json",
                                          "application/x-www-form-urlencoded", "text/html"};

static ald_profiles_t *judge_profiles(void)
{
    static ald_profiles_t *profiles;
    if (profiles != NULL)
        return profiles;
    struct ald_errors errors;
    ald_yaml_t *yaml = NULL;
    ald_errors_init(&errors);
    enum ald_rc rc = ald_yaml_parse("p", ald_span_str(JUDGE_PROFILES), 0, &errors, &yaml);
    ALD_ASSERT(rc == ALD_OK);
    rc = ald_profiles_load(ald_yaml_root(yaml), 0, &errors, &profiles);
    ALD_ASSERT(rc == ALD_OK);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
    return profiles;
}

/* The canonical form of the canonical form is itself. */
static void judge_canonical(struct ald_json value)
{
    struct ald_buf once;
    struct ald_buf twice;
    ald_buf_init(&once, SCRATCH_MAX);
    ald_buf_init(&twice, SCRATCH_MAX);
    if (ald_json_canonical(value, &once) == ALD_OK) {
        struct ald_json again;
        struct ald_span tail;
        ALD_ASSERT(ald_json_scan(ald_buf_span(&once), &again, &tail) == ALD_OK && tail.len == 0);
        ALD_ASSERT(ald_json_canonical(again, &twice) == ALD_OK);
        ALD_ASSERT(ald_span_eq(ald_buf_span(&once), ald_buf_span(&twice)));
    }
    ald_buf_free(&once);
    ald_buf_free(&twice);
}

static void judge_json(struct ald_span bytes)
{
    struct ald_json value;
    struct ald_buf text;
    if (ald_json_scan(ald_message_trim(bytes), &value, NULL) != ALD_OK)
        return;
    ald_buf_init(&text, SCRATCH_MAX);
    static const char *const pointers[] = {"", "/id", "/request/0", "/a~1b/~0", "/-", "/"};
    for (size_t i = 0; i < ALD_COUNT(pointers); i++)
        (void)!ald_json_text(ald_json_find(value, pointers[i]), &text);
    ald_buf_free(&text);
    judge_canonical(value);
}

static void judge_form(struct ald_span bytes)
{
    struct ald_span raw;
    struct ald_buf text;
    ald_buf_init(&text, SCRATCH_MAX);
    if (ald_form_find(bytes, "id", &raw) == ALD_OK) {
        ALD_ASSERT(raw.data >= bytes.data && raw.data + raw.len <= bytes.data + bytes.len);
        (void)!ald_form_decode(raw, ALD_PLUS_AUTO, &text);
    }
    ald_buf_free(&text);
}

static void judge_profile(const struct ald_profile *profile, enum ald_stage stage,
                          const struct ald_facts *facts)
{
    struct ald_buf scratch;
    struct ald_verdict verdict;
    char digest[65];
    ald_buf_init(&scratch, SCRATCH_MAX);
    ald_profile_judge(profile, stage, facts, &scratch, &verdict);
    ALD_ASSERT(strnlen(verdict.id, sizeof verdict.id) < sizeof verdict.id);
    ALD_ASSERT(strnlen(verdict.code, sizeof verdict.code) < sizeof verdict.code);
    for (const char *at = verdict.id; *at != '\0'; at++)
        ALD_ASSERT((uint8_t)*at >= 0x20 && *at != 0x7f);
    ald_profile_digest(profile, "done", verdict.result, verdict.result_json, digest);
    ALD_ASSERT(strlen(digest) == 64);
    ald_buf_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t how = data[0];
    struct ald_span bytes = ald_span_of(data + 1, size - 1);
    judge_json(bytes);
    judge_form(bytes);
    size_t line = ald_span_find(bytes, '\n');
    bool both = (how & 0x20) != 0 && line < bytes.len;
    const struct ald_facts facts = {.http = (how & 0x40) != 0 ? 502 : 200,
                                    .query = (how & 0x10) != 0 ? ald_span_of(bytes.data, line)
                                                               : ald_span_of(NULL, 0),
                                    .content_type = ald_span_str(JUDGE_TYPES[how >> 2 & 3]),
                                    .body = both ? ald_span_skip(bytes, line + 1) : bytes};
    static const enum ald_stage stages[] = {ALD_STAGE_SUBMIT, ALD_STAGE_POLL, ALD_STAGE_CALLBACK,
                                            ALD_STAGE_CALLBACK};
    for (size_t i = 0; i < ald_profiles_count(judge_profiles()); i++)
        judge_profile(ald_profiles_at(judge_profiles(), i), stages[how & 3], &facts);
    return 0;
}

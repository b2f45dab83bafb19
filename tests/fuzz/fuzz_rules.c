/* Any bytes as what any of the bundled providers says, at each stage: the verdict stays within its
 * bounds, and no end comes without a result. The first byte chooses profile and stage, the second
 * what the bytes are: body, query, or headers before a body. */
#include <string.h>

#include "common/config/bundled.h"
#include "common/config/profile.h"
#include "common/config/profile_request.h"

enum { SCRATCH_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ald_profiles_t *rules_profiles(void)
{
    static ald_profiles_t *profiles;
    if (profiles != NULL)
        return profiles;
    struct ald_errors errors;
    struct ald_buf text;
    ald_yaml_t *yaml = NULL;
    ald_errors_init(&errors);
    ald_buf_init(&text, 1 << 16);
    for (size_t i = 0; i < ALD_BUNDLED_COUNT; i++)
        ald_buf_printf(&text, "%s: {extends: %s}\n", ALD_BUNDLED[i].name, ALD_BUNDLED[i].name);
    enum ald_rc rc = ald_yaml_parse("p", ald_buf_span(&text), 0, &errors, &yaml);
    ALD_ASSERT(rc == ALD_OK);
    rc = ald_profiles_load(ald_yaml_root(yaml), 0, &errors, &profiles);
    ALD_ASSERT(rc == ALD_OK);
    ald_yaml_destroy(&yaml);
    ald_buf_free(&text);
    ald_errors_free(&errors);
    return profiles;
}

static void rules_judge(const struct ald_profile *profile, enum ald_stage stage,
                        const struct ald_facts *facts)
{
    struct ald_buf scratch;
    struct ald_verdict verdict;
    ald_buf_init(&scratch, SCRATCH_MAX);
    ald_profile_judge(profile, stage, facts, &scratch, &verdict);
    ALD_ASSERT(strnlen(verdict.id, sizeof verdict.id) < sizeof verdict.id);
    ALD_ASSERT(strnlen(verdict.code, sizeof verdict.code) < sizeof verdict.code);
    ALD_ASSERT(verdict.then != ALD_THEN_DONE || verdict.result.len > 0);
    ALD_ASSERT(verdict.wait_ms >= 0 && verdict.wait_ms <= INT64_C(365) * 86400000);
    for (const char *at = verdict.id; *at != '\0'; at++)
        ALD_ASSERT((uint8_t)*at >= 0x20 && *at != 0x7f);
    ald_buf_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const ald_profiles_t *profiles = rules_profiles();
    const struct ald_profile *profile =
        ald_profiles_at(profiles, data[0] / ALD_STAGES % ald_profiles_count(profiles));
    static const unsigned statuses[] = {0, 200, 202, 400, 401, 404, 429, 503};
    struct ald_span bytes = ald_span_of(data + 2, size - 2);
    size_t line = ald_span_find(bytes, '\n');
    struct ald_span first = ald_span_of(bytes.data, line);
    struct ald_span rest = line < bytes.len ? ald_span_skip(bytes, line + 1) : ald_span_of(NULL, 0);
    const struct ald_fact_header headers[] = {{ald_span_str("Operation-Location"), first},
                                              {ald_span_str("Retry-After"), first},
                                              {ald_span_str("Date"), first}};
    bool split = (data[1] & 0x10) != 0;
    const struct ald_facts facts = {.http = statuses[data[1] % ALD_COUNT(statuses)],
                                    .headers = headers,
                                    .header_count = split ? ALD_COUNT(headers) : 0,
                                    .query = (data[1] & 0x20) != 0 ? first : ald_span_of(NULL, 0),
                                    .body = split ? rest : bytes};
    rules_judge(profile, (enum ald_stage)(data[0] % ALD_STAGES), &facts);
    return 0;
}

#include "tests/unit/config/profile_of.h"

#include <stdio.h>
#include <stdlib.h>

ald_profiles_t *profiles_of(const char *yaml, unsigned secrets, struct ald_errors *errors)
{
    ald_yaml_t *doc = NULL;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(errors);
    if (ald_yaml_parse("p.yaml", ald_span_str(yaml), 0, errors, &doc) == ALD_OK)
        (void)!ald_profiles_load(ald_yaml_root(doc), secrets, errors, &profiles);
    ald_yaml_destroy(&doc);
    return profiles;
}

struct ald_profile profile_of(const char *keys)
{
    struct ald_buf yaml;
    ald_buf_init(&yaml, 65536);
    ald_buf_printf(&yaml,
                   "p: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: {url: "
                   "\"https://h.example/res.php\"}}%s%s}\n",
                   keys[0] == '\0' ? "" : ", ", keys);
    (void)setenv("ALD_TEST_KEY", "k+y", 1);
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of(ald_buf_str(&yaml), ALD_SECRETS_POLL, &errors);
    if (profiles == NULL)
        (void)fprintf(stderr, "%s%s", ald_buf_str(&yaml), ald_errors_text(&errors));
    ALD_ASSERT(profiles != NULL);
    struct ald_profile profile = *ald_profiles_at(profiles, 0);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    ald_buf_free(&yaml);
    return profile;
}

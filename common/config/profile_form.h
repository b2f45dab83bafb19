/* profile_form.h - a profile as its settings say it: one field a row of the table. What is compiled
 * beside it - rules, requests, proofs, budgets - is read by ruled.h, auth.h and budget.h.
 * Inside common/config. Any thread.
 */
#ifndef ALD_CONFIG_PROFILE_FORM_H
#define ALD_CONFIG_PROFILE_FORM_H

#include "common/config/facts.h"
#include "common/config/setting.h"

struct ald_profile_form {
    char profile[33];
    int64_t version;
    char family[17];
    char dialect[17];
    char key[257];
    char poll_method[5];
    char poll_url[ALD_URL_MAX];
    int64_t poll_timeout_ms;
    uint64_t poll_max_bytes;
    int64_t first_after_ms;
    int64_t every_ms;
    int64_t backoff_percent;
    int64_t max_every_ms;
    int64_t jitter_percent;
    int64_t max_requests;
    int64_t give_up_after_ms;
    int64_t result_ttl_ms;
    int64_t batch_max;
    char trust[6];
    uint64_t max_body;
    int64_t stale_after_ms; /* or ALD_SETTING_AUTO_MS */
    int64_t stale_start_ms;
    int64_t stale_floor_ms;
    int64_t stale_ceiling_ms;
    int64_t parked_for_ms;
    int64_t provider_retries_ms;
    char plus[8];
    char late_results[8];
    struct ald_texts volatile_at;
    int64_t quota_count;
    uint64_t quota_bytes;
    struct ald_texts source_ips;
    char verification_path[65];
    char verification_content[257];
};

/* Every row there is; whoever prints them leaves out what does not apply. */
extern const struct ald_setting ALD_PROFILE_ROWS[];
extern const size_t ALD_PROFILE_ROW_COUNT;

/* Read a profile of a family; resolve: the account's key, too. */
void ald_profile_form_family(const struct ald_node *profile, bool resolve,
                             struct ald_errors *errors, struct ald_profile_form *out);

/* Read a profile with rules of its own. Where a family has its habits, such a profile says what it
 * wants: no limit of polls and no back-off unless it names them. */
void ald_profile_form_ruled(const struct ald_node *profile, struct ald_errors *errors,
                            struct ald_profile_form *out);

/* poll: none */
bool ald_profile_never_polls(const struct ald_node *profile);

#endif

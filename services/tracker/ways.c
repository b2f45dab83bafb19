#include "services/tracker/ways.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/params.h"
#include "common/config/profile_request.h"
#include "services/tracker/vault/vault_ways.h"

/* Who registers may say which host it is, where the profile leaves it open. */
static bool way_address_ok(const struct ald_profile *profile, enum ald_stage stage,
                           const char *beside, const char *url)
{
    return url[0] == '\0' ||
           ald_profile_address_ok(profile, stage, beside[0] != '\0' ? beside : url, url);
}

bool way_id_away(const struct ald_profile *profile, const char *id)
{
    return profile->id_may_be_url && strstr(id, "://") != NULL &&
           !ald_profile_address_ok(profile, ALD_STAGE_POLL, NULL, id);
}

const char *way_unfit(const struct ald_profile *profile, const struct way_said *said,
                      struct ald_buf *kept)
{
    ald_buf_reset(kept);
    if (!way_address_ok(profile, ALD_STAGE_POLL, "", said->poll_url))
        return "poll_url must be an address on the host of the provider's profile, and the profile "
               "must have polls of its own.";
    if (!way_address_ok(profile, ALD_STAGE_FETCH, said->poll_url, said->result_url))
        return "result_url must be an address on the host of the provider's profile, or of "
               "poll_url, and the profile must have a fetch.";
    if (said->params.len == 0)
        return NULL;
    enum ald_rc rc = ald_params_keep(profile, said->params, kept);
    if (rc == ALD_INVALID)
        return "params must be a JSON object.";
    return rc == ALD_OK && kept->len <= ALD_KEPT_PARAMS_MAX
               ? NULL
               : "The params that polls need are longer than 4096 bytes.";
}

void way_keep(struct tracker *self, struct pending_task *task, const struct way_said *said,
              struct ald_span kept)
{
    const struct vault_way way = {.poll_url = ald_span_str(said->poll_url),
                                  .result_url = ald_span_str(said->result_url),
                                  .params = kept};
    if (way.poll_url.len + way.result_url.len + way.params.len == 0)
        return;
    vault_way_set(&self->vault, task->id, &way);
    if (way.poll_url.len > 0)
        pending_place(self->pending, task, tracker_now(self).run_ms);
}

static void way_accept(const struct pending_task *task, enum ald_stage stage, struct ald_span told,
                       char out[ALD_URL_MAX])
{
    if (ald_text_copy(out, ALD_URL_MAX, told) != ALD_OK ||
        !way_address_ok(task->account->profile, stage, "", out))
        out[0] = '\0';
}

void way_submitted(struct tracker *self, struct pending_task *task, struct ald_span poll_url,
                   struct ald_span result_url)
{
    char poll[ALD_URL_MAX];
    char result[ALD_URL_MAX];
    way_accept(task, ALD_STAGE_POLL, poll_url, poll);
    way_accept(task, ALD_STAGE_FETCH, result_url, result);
    const struct way_said said = {.poll_url = poll, .result_url = result};
    way_keep(self, task, &said, ald_span_of(NULL, 0));
}

/* What is told, or "" where it is none to ask. known: where the task is polled so far. */
static void way_take(const struct pending_task *task, enum ald_stage stage, struct ald_span known,
                     struct ald_span told, char out[ALD_URL_MAX])
{
    char beside[ALD_URL_MAX];
    const struct ald_profile *profile = task->account->profile;
    ald_text_cut(beside, sizeof beside, known);
    if (told.len == 0 || ald_text_copy(out, ALD_URL_MAX, told) != ALD_OK)
        out[0] = '\0';
    else if (!ald_profile_address_ok(profile, stage, known.len > 0 ? beside : NULL, out)) {
        ald_log(ALD_WARN, "way.refused", "provider=%s task=%" PRIu64 " text=%s", profile->name,
                task->id, ALD_Q("the provider gave an address on another host"));
        out[0] = '\0';
    }
}

void way_told(struct tracker *self, struct pending_task *task, struct ald_span poll_url,
              struct ald_span result_url)
{
    if (poll_url.len + result_url.len == 0)
        return;
    struct vault_way known;
    char poll[ALD_URL_MAX];
    char result[ALD_URL_MAX];
    (void)vault_way_find(&self->vault, task->id, &self->kept, &known);
    way_take(task, ALD_STAGE_POLL, known.poll_url, poll_url, poll);
    way_take(task, ALD_STAGE_FETCH, known.poll_url, result_url, result);
    const struct way_said said = {.poll_url = poll, .result_url = result};
    bool moved = poll[0] != '\0' && !ald_span_eq_str(known.poll_url, poll);
    if (moved || (result[0] != '\0' && !ald_span_eq_str(known.result_url, result)))
        way_keep(self, task, &said, ald_span_of(NULL, 0));
}

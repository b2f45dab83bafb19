/* A request of a caller's own to where a profile's polls go. */
#include <ctype.h>
#include <string.h>

#include "common/config/request_submit.h"

/* Nothing in it is a task's. */
static bool call_plain(const struct ald_template *text)
{
    for (unsigned i = 0; i < text->count; i++)
        if (text->pieces[i].kind != ALD_PIECE_LITERAL && text->pieces[i].kind != ALD_PIECE_SECRET)
            return false;
    return true;
}

static bool call_secret(const struct ald_template *text)
{
    for (unsigned i = 0; i < text->count; i++)
        if (text->pieces[i].kind == ALD_PIECE_SECRET)
            return call_plain(text);
    return false;
}

/* A chain of those parameters that say who asks, in kept. */
static struct ald_param *call_params(const struct ald_param *params,
                                     struct ald_param kept[ALD_PARAMS_MAX])
{
    size_t count = 0;
    for (; params != NULL && count < ALD_PARAMS_MAX; params = params->next) {
        if (params->kind != ALD_PARAM_TEXT || !call_secret(&params->text))
            continue;
        kept[count] = *params;
        kept[count].next = NULL;
        if (count > 0)
            kept[count - 1].next = &kept[count];
        count++;
    }
    return count > 0 ? kept : NULL;
}

/* Another last part of the path. */
static enum ald_rc call_beside(const char *path, struct ald_buf *url)
{
    struct ald_buf out;
    const char *text = ald_buf_str(url);
    size_t end = strcspn(text, "?");
    size_t at = end;
    while (at > 0 && text[at - 1] != '/')
        at--;
    ald_buf_init(&out, url->max);
    ald_buf_put(&out, text, at);
    ald_buf_put_str(&out, path);
    ald_buf_put_str(&out, text + end);
    ald_buf_reset(url);
    ald_buf_put_span(url, ald_buf_span(&out));
    bool good = ald_buf_ok(&out) && ald_url_ok(ald_buf_str(url));
    ald_buf_free(&out);
    return good ? ALD_OK : ALD_INVALID;
}

enum ald_rc ald_profile_call(const struct ald_profile *profile, const char *path,
                             const struct ald_given *given, struct ald_request *out)
{
    struct ald_param kept[ALD_PARAMS_MAX];
    const struct ald_request_in in = {.stage = ALD_STAGE_POLL, .given = given};
    if (profile->ruled == NULL || !profile->ruled->stage[ALD_STAGE_POLL].request.there)
        return ALD_MISSING;
    struct ald_request_form form = profile->ruled->stage[ALD_STAGE_POLL].request;
    if (!call_plain(&form.url))
        return ALD_MISSING;
    for (const char *at = path; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at))
            return ALD_INVALID;
    form.params = call_params(form.params, kept);
    enum ald_rc rc = ald_request_given(profile->ruled, &form, &in, out);
    return rc == ALD_OK && path[0] != '\0' ? call_beside(path, &out->url) : rc;
}

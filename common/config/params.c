#include "common/config/params.h"

#include <string.h>

#include "common/config/ruled.h"

enum { PARAMS_TEXT_MAX = 4096 };

static bool params_in_template(const struct ald_template *text, const char *name)
{
    for (unsigned i = 0; i < text->count; i++)
        if (text->pieces[i].kind == ALD_PIECE_PARAM && strcmp(text->pieces[i].text, name) == 0)
            return true;
    return false;
}

/* Bounded: the compiler of parameters bounds their depth. */
static bool params_in_chain(const struct ald_param *param, const char *name)
{
    for (; param != NULL; param = param->next)
        if (params_in_template(&param->text, name) || params_in_chain(param->first, name))
            return true;
    return false;
}

static bool params_in_request(const struct ald_request_form *form, const char *name)
{
    bool found = params_in_template(&form->url, name) || params_in_chain(form->params, name);
    for (unsigned i = 0; i < form->header_count; i++)
        found = found || params_in_template(&form->headers[i].value, name);
    return found;
}

static bool params_named(const struct ald_ruled *ruled, struct ald_span key)
{
    struct ald_buf name;
    ald_buf_init(&name, ALD_WORDS_MAX);
    struct ald_json text = {.kind = ALD_JSON_STRING, .raw = key};
    bool named = ald_json_text(text, &name) == ALD_OK &&
                 (params_in_request(&ruled->stage[ALD_STAGE_POLL].request, ald_buf_str(&name)) ||
                  params_in_request(&ruled->stage[ALD_STAGE_FETCH].request, ald_buf_str(&name)));
    ald_buf_free(&name);
    return named;
}

static bool params_scalar(const struct ald_json *value)
{
    return value->kind == ALD_JSON_STRING || value->kind == ALD_JSON_NUMBER ||
           value->kind == ALD_JSON_TRUE || value->kind == ALD_JSON_FALSE;
}

enum ald_rc ald_params_keep(const struct ald_profile *profile, struct ald_span params,
                            struct ald_buf *out)
{
    struct ald_json object;
    struct ald_json value;
    struct ald_span key;
    struct ald_span tail;
    if (ald_json_scan(params, &object, &tail) != ALD_OK || object.kind != ALD_JSON_OBJECT ||
        tail.len > 0)
        return ALD_INVALID;
    if (profile->ruled == NULL)
        return ALD_OK;
    size_t before = out->len;
    for (struct ald_json_walk walk = ald_json_walk_begin(object);
         ald_json_walk_next(&walk, &key, &value);) {
        if (!params_scalar(&value) || !params_named(profile->ruled, key))
            continue;
        ald_buf_put_byte(out, out->len == before ? '{' : ',');
        ald_buf_put_span(out, key);
        ald_buf_put_byte(out, ':');
        ald_buf_put_span(out, value.raw);
    }
    if (out->len > before)
        ald_buf_put_byte(out, '}');
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

void ald_params_init(struct ald_params *self, struct ald_span params)
{
    ald_buf_init(&self->text, PARAMS_TEXT_MAX);
    if (ald_json_scan(params, &self->object, NULL) != ALD_OK ||
        self->object.kind != ALD_JSON_OBJECT)
        self->object = (struct ald_json){.kind = ALD_JSON_NONE};
}

void ald_params_free(struct ald_params *self)
{
    ald_buf_free(&self->text);
}

const char *ald_params_text(void *arg, const char *name)
{
    struct ald_params *self = arg;
    struct ald_json value;
    struct ald_span key;
    bool found = false;
    for (struct ald_json_walk walk = ald_json_walk_begin(self->object);
         !found && ald_json_walk_next(&walk, &key, &value);)
        found = ald_json_is((struct ald_json){.kind = ALD_JSON_STRING, .raw = key}, name);
    ald_buf_reset(&self->text);
    bool good = found && params_scalar(&value) && ald_json_text(value, &self->text) == ALD_OK &&
                ald_buf_ok(&self->text);
    return good ? ald_buf_str(&self->text) : NULL;
}

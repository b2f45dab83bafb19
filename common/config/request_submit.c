#include "common/config/request_submit.h"

#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/request_inside.h"

enum { SUBMIT_NAME_MAX = 256, SUBMIT_TYPE_MAX = 80, SUBMIT_DEPTH_MAX = ALD_PARAM_DEPTH_MAX + 1 };

/* A submission's request on its way. */
struct submit {
    const struct ald_ruled *ruled;
    const struct ald_request_form *form;
    struct ald_request_in in;
    struct ald_json params;
    struct ald_json files;
    enum ald_callback_in callback_in; /* NOWHERE also without a URL */
    struct ald_buf name;
    struct ald_buf text;
    struct ald_request *out;
};

enum ald_rc ald_given_read(struct ald_span text, struct ald_given *out, const char **why)
{
    struct ald_json whole;
    struct ald_span tail;
    *out = (struct ald_given){0};
    *why = "The submission is no JSON object.";
    if (ald_json_scan(text, &whole, &tail) != ALD_OK || whole.kind != ALD_JSON_OBJECT ||
        tail.len > 0)
        return ALD_MALFORMED;
    out->params = ald_json_find(whole, "/params");
    out->files = ald_json_find(whole, "/files");
    *why = "params must hold parameters by their names.";
    if (out->params.kind != ALD_JSON_NONE && out->params.kind != ALD_JSON_OBJECT)
        return ALD_MALFORMED;
    *why = "files must hold files by their names, each {\"content\": BASE64}.";
    if (out->files.kind == ALD_JSON_NONE)
        return ALD_OK;
    struct ald_json_walk walk = ald_json_walk_begin(out->files);
    struct ald_span key;
    struct ald_json file;
    bool good = out->files.kind == ALD_JSON_OBJECT;
    while (good && ald_json_walk_next(&walk, &key, &file))
        good = ald_json_find(file, "/content").kind == ALD_JSON_STRING;
    return good ? ALD_OK : ALD_MALFORMED;
}

/* ---- which of the caller's parameters are passed on ---- */

static bool submit_template_uses(const struct ald_template *text, const char *name)
{
    for (unsigned i = 0; i < text->count; i++)
        if (text->pieces[i].kind == ALD_PIECE_PARAM && strcmp(text->pieces[i].text, name) == 0)
            return true;
    return false;
}

/* Bounded: as deep as the compiler lets parameters be. */
static bool submit_params_use(const struct ald_param *params, const char *name, unsigned depth)
{
    for (; params != NULL && depth <= SUBMIT_DEPTH_MAX; params = params->next)
        if (submit_template_uses(&params->text, name) ||
            submit_params_use(params->first, name, depth + 1))
            return true;
    return false;
}

/* The profile has a say about it. */
static bool submit_taken(const struct submit *self, const char *name)
{
    for (const struct ald_param *param = self->form->params; param != NULL; param = param->next)
        if (strcmp(param->key, name) == 0)
            return true;
    for (unsigned i = 0; i < self->form->header_count; i++)
        if (submit_template_uses(&self->form->headers[i].value, name))
            return true;
    bool ours = self->callback_in == ALD_CALLBACK_BODY || self->callback_in == ALD_CALLBACK_QUERY;
    return (ours && strcmp(self->ruled->callback_name, name) == 0) ||
           submit_template_uses(&self->form->url, name) ||
           submit_params_use(self->form->params, name, 1);
}

/* Step to the next parameter to pass on, its name in self->name. */
static bool submit_next(struct submit *self, struct ald_json_walk *walk, struct ald_json *value)
{
    struct ald_span key;
    while (ald_json_walk_next(walk, &key, value)) {
        ald_buf_reset(&self->name);
        const struct ald_json text = {.kind = ALD_JSON_STRING, .raw = key};
        bool named = ald_json_text(text, &self->name) == ALD_OK && ald_buf_ok(&self->name);
        if (named && value->kind != ALD_JSON_NULL && !submit_taken(self, ald_buf_str(&self->name)))
            return true;
    }
    return false;
}

/* What the parameter or file of self->name is told to be; NAME stands for it. */
static enum ald_rc submit_wrong(const struct submit *self, enum ald_rc rc, const char *before,
                                const char *after)
{
    char name[65];
    ald_text_cut(name, sizeof name, ald_buf_span(&self->name));
    return ald_err_set(self->in.why, rc, "%s %s %s", before, name, after);
}

/* A value as text in self->text: scalars as they read, the rest as JSON. */
static enum ald_rc submit_text(struct submit *self, struct ald_json value)
{
    ald_buf_reset(&self->text);
    if (value.kind == ALD_JSON_ARRAY || value.kind == ALD_JSON_OBJECT)
        ald_buf_put_span(&self->text, value.raw);
    else if (ald_json_text(value, &self->text) != ALD_OK)
        return submit_wrong(self, ALD_INVALID, "The parameter", "is no text that can be sent.");
    return ald_buf_ok(&self->text) ? ALD_OK : ALD_TOOBIG;
}

/* ---- ${param.NAME} ---- */

static const char *submit_param(void *arg, const char *name)
{
    struct submit *self = arg;
    struct ald_json_walk walk = ald_json_walk_begin(self->params);
    struct ald_json value;
    struct ald_span key;
    while (ald_json_walk_next(&walk, &key, &value)) {
        const struct ald_json text = {.kind = ALD_JSON_STRING, .raw = key};
        if (ald_json_is(text, name))
            return submit_text(self, value) == ALD_OK ? ald_buf_str(&self->text) : NULL;
    }
    return NULL;
}

/* ---- the encodings ---- */

static void submit_pair(struct ald_buf *out, char *before, struct ald_span name,
                        struct ald_span value)
{
    if (*before != '\0')
        ald_buf_put_byte(out, (uint8_t)*before);
    *before = '&';
    ald_percent_encode(out, name);
    ald_buf_put_byte(out, '=');
    ald_percent_encode(out, value);
}

static char submit_mark(struct ald_buf *url)
{
    return strchr(ald_buf_str(url), '?') != NULL ? '&' : '?';
}

/* before: what stands in front of the first pair. */
static enum ald_rc submit_pairs(struct submit *self, char before, struct ald_buf *out)
{
    struct ald_json_walk walk = ald_json_walk_begin(self->params);
    struct ald_json value;
    while (submit_next(self, &walk, &value)) {
        enum ald_rc rc = submit_text(self, value);
        if (rc != ALD_OK)
            return rc;
        submit_pair(out, &before, ald_buf_span(&self->name), ald_buf_span(&self->text));
    }
    if (self->callback_in == ALD_CALLBACK_BODY)
        submit_pair(out, &before, ald_span_str(self->ruled->callback_name),
                    ald_span_str(self->in.callback_url));
    if (self->form->params == NULL)
        return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
    return request_pairs(self->form->params, &self->in, before, out);
}

static enum ald_rc submit_json(struct submit *self)
{
    struct ald_buf *out = &self->out->body;
    struct ald_json_walk walk = ald_json_walk_begin(self->params);
    struct ald_json value;
    bool more = false;
    ald_buf_put_byte(out, '{');
    while (submit_next(self, &walk, &value)) {
        ald_buf_put_str(out, more ? "," : "");
        request_json_text(ald_buf_span(&self->name), out);
        ald_buf_put_byte(out, ':');
        ald_buf_put_span(out, value.raw);
        more = true;
    }
    if (self->callback_in == ALD_CALLBACK_BODY) {
        ald_buf_put_str(out, more ? "," : "");
        request_json_text(ald_span_str(self->ruled->callback_name), out);
        ald_buf_put_byte(out, ':');
        request_json_text(ald_span_str(self->in.callback_url), out);
        more = true;
    }
    enum ald_rc rc = request_json_members(self->form->params, true, &self->in, &more, out);
    ald_buf_put_byte(out, '}');
    return rc != ALD_OK || ald_buf_ok(out) ? rc : ALD_TOOBIG;
}

/* A name that can stand between quotes in a header. */
static bool submit_quotable(struct ald_span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '"')
            return false;
    return name.len > 0 && name.len < SUBMIT_NAME_MAX;
}

static enum ald_rc submit_file_wrong(const struct submit *self)
{
    return submit_wrong(self, ALD_INVALID, "The name or type of the file",
                        "is empty, too long, or has characters that no header takes.");
}

/* A text of a file's description in self->text, or fallback. */
static enum ald_rc submit_file_word(struct submit *self, struct ald_json file, const char *pointer,
                                    const char *fallback)
{
    struct ald_json value = ald_json_find(file, pointer);
    ald_buf_reset(&self->text);
    if (value.kind == ALD_JSON_NONE || value.kind == ALD_JSON_NULL)
        ald_buf_put_str(&self->text, fallback);
    else if (value.kind != ALD_JSON_STRING || ald_json_text(value, &self->text) != ALD_OK)
        return submit_file_wrong(self);
    return submit_quotable(ald_buf_span(&self->text)) ? ALD_OK : submit_file_wrong(self);
}

static enum ald_rc submit_file_type(struct submit *self, struct ald_json file)
{
    enum ald_rc rc = submit_file_word(self, file, "/type", "application/octet-stream");
    return rc == ALD_OK && self->text.len >= SUBMIT_TYPE_MAX ? submit_file_wrong(self) : rc;
}

static enum ald_rc submit_file_bytes(struct submit *self, struct ald_json file, struct ald_buf *out)
{
    ald_buf_reset(&self->text);
    bool text = ald_json_text(ald_json_find(file, "/content"), &self->text) == ALD_OK;
    if (!ald_buf_ok(&self->text))
        return ALD_TOOBIG;
    if (!text || ald_base64_decode(out, ald_buf_span(&self->text)) != ALD_OK)
        return submit_wrong(self, ALD_INVALID, "The content of the file", "is no base64.");
    return ALD_OK;
}

static void submit_part(struct ald_buf *out, const char *boundary, struct ald_buf *name)
{
    ald_buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"", boundary,
                   ald_buf_str(name));
}

static enum ald_rc submit_file_part(struct submit *self, const char *boundary, struct ald_json file)
{
    struct ald_buf *out = &self->out->body;
    if (!submit_quotable(ald_buf_span(&self->name)))
        return submit_wrong(self, ALD_INVALID, "The name", "can't be that of a file.");
    submit_part(out, boundary, &self->name);
    enum ald_rc rc = submit_file_word(self, file, "/name", ald_buf_str(&self->name));
    if (rc == ALD_OK)
        ald_buf_printf(out, "; filename=\"%s\"\r\n", ald_buf_str(&self->text));
    if (rc == ALD_OK)
        rc = submit_file_type(self, file);
    if (rc == ALD_OK)
        ald_buf_printf(out, "Content-Type: %s\r\n\r\n", ald_buf_str(&self->text));
    if (rc == ALD_OK)
        rc = submit_file_bytes(self, file, out);
    ald_buf_put_str(out, "\r\n");
    return rc;
}

/* Parts that the caller gives; *count grows by them. */
static enum ald_rc submit_parts(struct submit *self, const char *boundary, size_t *count)
{
    struct ald_buf *out = &self->out->body;
    struct ald_json_walk walk = ald_json_walk_begin(self->params);
    struct ald_json value;
    enum ald_rc rc = ALD_OK;
    for (; rc == ALD_OK && submit_next(self, &walk, &value); ++*count) {
        if (!submit_quotable(ald_buf_span(&self->name)))
            return submit_wrong(self, ALD_INVALID, "The name", "can't be that of a parameter.");
        submit_part(out, boundary, &self->name);
        ald_buf_put_str(out, "\r\n\r\n");
        rc = submit_text(self, value);
        ald_buf_put_span(out, ald_buf_span(&self->text));
        ald_buf_put_str(out, "\r\n");
    }
    walk = ald_json_walk_begin(self->files);
    for (; rc == ALD_OK && submit_next(self, &walk, &value); ++*count)
        rc = submit_file_part(self, boundary, value);
    if (rc == ALD_OK && self->callback_in == ALD_CALLBACK_BODY) {
        ald_buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                       boundary, self->ruled->callback_name, self->in.callback_url);
        ++*count;
    }
    return rc;
}

static enum ald_rc submit_multipart(struct submit *self)
{
    struct ald_request *out = self->out;
    char boundary[REQUEST_BOUNDARY_MAX];
    for (unsigned n = 0; request_boundary(n, boundary); n++) {
        size_t count = 1;
        ald_buf_reset(&out->body);
        enum ald_rc rc = submit_parts(self, boundary, &count);
        for (const struct ald_param *p = self->form->params; p != NULL; p = p->next)
            count++;
        if (rc == ALD_OK)
            rc = request_parts(self->form->params, boundary, &self->in, &out->body);
        if (rc != ALD_OK)
            return rc;
        ald_buf_printf(&out->body, "--%s--\r\n", boundary);
        (void)snprintf(out->content_type, sizeof out->content_type,
                       "multipart/form-data; boundary=%s", boundary);
        if (!ald_buf_ok(&out->body))
            return ALD_TOOBIG;
        if (request_bounds(ald_buf_span(&out->body), boundary, count))
            return ALD_OK;
    }
    return ALD_INVALID;
}

/* The one file is the body. */
static enum ald_rc submit_raw(struct submit *self)
{
    struct ald_json_walk walk = ald_json_walk_begin(self->files);
    struct ald_json file;
    struct ald_json other;
    struct ald_span key;
    struct ald_span next;
    if (!ald_json_walk_next(&walk, &key, &file) || ald_json_walk_next(&walk, &next, &other))
        return ald_err_set(self->in.why, ALD_MISSING,
                           "This provider takes one file, which is the body: give exactly one.");
    ald_buf_reset(&self->name);
    const struct ald_json name = {.kind = ALD_JSON_STRING, .raw = key};
    if (ald_json_text(name, &self->name) != ALD_OK)
        ald_buf_reset(&self->name);
    enum ald_rc rc = submit_file_type(self, file);
    if (rc == ALD_OK)
        (void)snprintf(self->out->content_type, sizeof self->out->content_type, "%s",
                       ald_buf_str(&self->text));
    if (rc == ALD_OK)
        rc = submit_file_bytes(self, file, &self->out->body);
    return rc;
}

static enum ald_rc submit_body(struct submit *self)
{
    struct ald_request *out = self->out;
    enum ald_encode encode = self->form->encode;
    bool files = self->files.kind == ALD_JSON_OBJECT;
    if (files && encode != ALD_ENCODE_MULTIPART && encode != ALD_ENCODE_RAW)
        return ald_err_set(self->in.why, ALD_INVALID,
                           "This provider takes no files: its profile sends neither multipart nor "
                           "raw.");
    enum ald_rc rc = ALD_OK;
    switch (encode) {
    case ALD_ENCODE_QUERY:
        return submit_pairs(self, submit_mark(&out->url), &out->url);
    case ALD_ENCODE_RAW:
        rc = submit_pairs(self, submit_mark(&out->url), &out->url);
        return rc == ALD_OK ? submit_raw(self) : rc;
    case ALD_ENCODE_FORM:
        (void)snprintf(out->content_type, sizeof out->content_type,
                       "application/x-www-form-urlencoded");
        return submit_pairs(self, '\0', &out->body);
    case ALD_ENCODE_JSON:
        (void)snprintf(out->content_type, sizeof out->content_type, "application/json");
        return submit_json(self);
    case ALD_ENCODE_MULTIPART:
        return submit_multipart(self);
    }
    return ALD_INVALID;
}

static enum ald_rc submit_write(struct submit *self)
{
    struct ald_request *out = self->out;
    (void)snprintf(out->method, sizeof out->method, "%s", self->form->method);
    enum ald_rc rc = request_url(&self->form->url, &self->in, &out->url);
    if (rc == ALD_OK && self->callback_in == ALD_CALLBACK_QUERY) {
        char before = submit_mark(&out->url);
        submit_pair(&out->url, &before, ald_span_str(self->ruled->callback_name),
                    ald_span_str(self->in.callback_url));
    }
    if (rc == ALD_OK)
        rc = request_headers(self->form, &self->in, &out->headers);
    if (rc == ALD_OK && self->callback_in == ALD_CALLBACK_HEADER)
        ald_buf_printf(&out->headers, "%s: %s\n", self->ruled->callback_name,
                       self->in.callback_url);
    if (rc == ALD_OK)
        rc = submit_body(self);
    bool whole = ald_buf_ok(&out->url) && ald_buf_ok(&out->headers) && ald_buf_ok(&out->body);
    return rc != ALD_OK || whole ? rc : ALD_TOOBIG;
}

enum ald_rc ald_request_submit(const struct ald_ruled *ruled, const struct ald_request_in *in,
                               struct ald_request *out)
{
    return ald_request_given(ruled, &ruled->stage[ALD_STAGE_SUBMIT].request, in, out);
}

/* Where nothing more can be said. */
static const char *submit_why(enum ald_rc rc)
{
    if (rc == ALD_MISSING)
        return "Something that the request of the provider's profile needs was not given.";
    if (rc == ALD_INVALID)
        return "A parameter or file can't stand where the provider's profile puts it.";
    return "The request would be longer than 2 MiB.";
}

enum ald_rc ald_request_given(const struct ald_ruled *ruled, const struct ald_request_form *form,
                              const struct ald_request_in *in, struct ald_request *out)
{
    struct submit self = {.ruled = ruled, .form = form, .in = *in, .out = out};
    ald_buf_reset(&out->url);
    ald_buf_reset(&out->headers);
    ald_buf_reset(&out->body);
    out->content_type[0] = '\0';
    if (!self.form->there)
        return ALD_MISSING;
    if (in->given != NULL) {
        self.params = in->given->params;
        self.files = in->given->files;
    }
    if (in->callback_url != NULL && in->callback_url[0] != '\0')
        self.callback_in = ruled->callback_in;
    if (self.in.param == NULL) {
        self.in.param = submit_param;
        self.in.arg = &self;
    }
    ald_buf_init(&self.name, SUBMIT_NAME_MAX);
    ald_buf_init(&self.text, out->body.max);
    struct ald_err nothing = {0};
    if (in->why == NULL)
        self.in.why = &nothing;
    self.in.why->text[0] = '\0';
    enum ald_rc rc = submit_write(&self);
    if (rc != ALD_OK && self.in.why->text[0] == '\0')
        (void)ald_err_set(self.in.why, rc, "%s", submit_why(rc));
    ald_buf_free(&self.name);
    ald_buf_free(&self.text);
    return rc;
}

enum ald_rc ald_profile_rehearse(const struct ald_profile *profile, struct ald_span submission,
                                 const char *callback_url, struct ald_err *err)
{
    struct ald_given given;
    struct ald_request request;
    const char *why = NULL;
    if (ald_given_read(submission, &given, &why) != ALD_OK)
        return ald_err_set(err, ALD_MALFORMED, "%s", why);
    const struct ald_request_in in = {.stage = ALD_STAGE_SUBMIT,
                                      .callback_url = callback_url,
                                      .given = &given,
                                      .rehearsed = true,
                                      .why = err};
    ald_request_init(&request, ALD_SUBMIT_REQUEST_MAX);
    enum ald_rc rc = ald_profile_request(profile, &in, &request);
    ald_request_free(&request);
    return rc;
}

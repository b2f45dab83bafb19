#include "common/config/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/request_inside.h"

enum { REQUEST_TEXT_MAX = 64 << 10 };

void ald_request_init(struct ald_request *self, size_t max)
{
    *self = (struct ald_request){0};
    ald_buf_init(&self->url, max);
    ald_buf_init(&self->headers, max);
    ald_buf_init(&self->body, max);
}

void ald_request_free(struct ald_request *self)
{
    struct ald_buf *const all[] = {&self->url, &self->headers, &self->body};
    for (size_t i = 0; i < ALD_COUNT(all); i++) {
        if (all[i]->data != NULL)
            explicit_bzero(all[i]->data, all[i]->cap);
        ald_buf_free(all[i]);
    }
}

static const char *request_host(const char *url)
{
    return strncmp(url, "http://", 7) == 0    ? url + 7
           : strncmp(url, "https://", 8) == 0 ? url + 8
                                              : NULL;
}

bool ald_url_ok(const char *url)
{
    const char *host = request_host(url);
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == '#')
            return false;
    return host != NULL && *host != '\0' && strchr("/?@", *host) == NULL;
}

bool ald_url_same_host(const char *one, const char *other)
{
    const char *a = request_host(one);
    const char *b = request_host(other);
    if (a == NULL || b == NULL || a - one != b - other)
        return false;
    size_t len = strcspn(a, "/?");
    return len == strcspn(b, "/?") && strncasecmp(a, b, len) == 0;
}

/* What a piece stands for. NULL: absent. */
static const char *request_text(const struct ald_piece *piece, const struct ald_request_in *in)
{
    const char *text = NULL;
    switch (piece->kind) {
    case ALD_PIECE_LITERAL:
        text = piece->text;
        break;
    case ALD_PIECE_SECRET:
        text = piece->text;
        if (in->rehearsed && (text == NULL || text[0] == '\0'))
            text = "secret";
        break;
    case ALD_PIECE_ID:
    case ALD_PIECE_ID_NUMBER:
        text = in->id;
        break;
    case ALD_PIECE_PARAM:
        text = in->param != NULL ? in->param(in->arg, piece->text) : NULL;
        break;
    case ALD_PIECE_CALLBACK_URL:
        text = in->callback_url;
        break;
    case ALD_PIECE_POLL_URL:
        text = in->poll_url;
        break;
    case ALD_PIECE_RESULT_URL:
        text = in->result_url;
        break;
    }
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static enum ald_rc request_absent(const struct ald_piece *piece, const struct ald_request_in *in)
{
    if (piece->kind == ALD_PIECE_PARAM)
        return ald_err_set(in->why, ALD_MISSING,
                           "The parameter %.64s is missing or empty, and the provider's profile "
                           "needs it.",
                           piece->text);
    if (piece->kind == ALD_PIECE_CALLBACK_URL)
        return ald_err_set(in->why, ALD_MISSING,
                           "The provider's profile needs a callback URL, and there is none.");
    return ALD_MISSING;
}

enum ald_rc request_plain(const struct ald_template *self, const struct ald_request_in *in,
                          struct ald_buf *out)
{
    for (unsigned i = 0; i < self->count; i++) {
        const char *text = request_text(&self->pieces[i], in);
        if (text == NULL)
            return request_absent(&self->pieces[i], in);
        ald_buf_put_str(out, text);
    }
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

enum ald_rc ald_template_plain(const struct ald_template *self, struct ald_buf *out)
{
    const struct ald_request_in nothing = {0};
    return request_plain(self, &nothing, out);
}

/* A part of a path: encoded but for its slashes, and never a step upwards. */
static enum ald_rc request_path(const char *text, bool slashes, struct ald_buf *out)
{
    while (true) {
        size_t len = slashes ? strcspn(text, "/") : strlen(text);
        struct ald_span part = ald_span_of(text, len);
        if (ald_span_eq_str(part, ".") || ald_span_eq_str(part, ".."))
            return ALD_INVALID;
        ald_percent_encode(out, part);
        if (text[len] == '\0')
            return ALD_OK;
        ald_buf_put_byte(out, '/');
        text += len + 1;
    }
}

static enum ald_rc request_url_piece(const struct ald_piece *piece, bool first, const char *text,
                                     struct ald_buf *out)
{
    bool address = piece->kind == ALD_PIECE_PARAM || piece->kind == ALD_PIECE_POLL_URL ||
                   piece->kind == ALD_PIECE_RESULT_URL;
    if (piece->kind == ALD_PIECE_LITERAL) {
        ald_buf_put_str(out, text);
        return ALD_OK;
    }
    if (!first || !address)
        return request_path(text, piece->kind == ALD_PIECE_PARAM, out);
    if (!ald_url_ok(text))
        return ALD_INVALID;
    ald_buf_put_str(out, text);
    return ALD_OK;
}

static enum ald_rc request_misplaced(const struct ald_piece *piece, bool first, enum ald_rc rc,
                                     const struct ald_request_in *in)
{
    if (piece->kind != ALD_PIECE_PARAM)
        return rc;
    return ald_err_set(in->why, rc,
                       first ? "The parameter %.64s must be an address of http or https."
                             : "The parameter %.64s can't stand in an address: a part of it is . "
                               "or ..",
                       piece->text);
}

enum ald_rc request_url(const struct ald_template *url, const struct ald_request_in *in,
                        struct ald_buf *out)
{
    for (unsigned i = 0; i < url->count; i++) {
        const struct ald_piece *piece = &url->pieces[i];
        const char *text = request_text(piece, in);
        if (text == NULL)
            return request_absent(piece, in);
        enum ald_rc rc = request_url_piece(piece, i == 0, text, out);
        if (rc != ALD_OK)
            return request_misplaced(piece, i == 0, rc, in);
    }
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

enum ald_rc request_headers(const struct ald_request_form *form, const struct ald_request_in *in,
                            struct ald_buf *out)
{
    for (unsigned i = 0; i < form->header_count; i++) {
        ald_buf_put_str(out, form->headers[i].name);
        ald_buf_put_str(out, ": ");
        size_t begin = out->len;
        enum ald_rc rc = request_plain(&form->headers[i].value, in, out);
        if (rc != ALD_OK)
            return rc;
        for (size_t at = begin; at < out->len; at++)
            if (out->data[at] < 0x20 || out->data[at] == 0x7f)
                return ald_err_set(in->why, ALD_INVALID,
                                   "What is given for the header %.64s has a control character.",
                                   form->headers[i].name);
        ald_buf_put_byte(out, '\n');
    }
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

/* name=value&name=value, behind what is there already. */
enum ald_rc request_pairs(const struct ald_param *params, const struct ald_request_in *in,
                          char before, struct ald_buf *out)
{
    struct ald_buf text;
    ald_buf_init(&text, REQUEST_TEXT_MAX);
    enum ald_rc rc = ALD_OK;
    for (; params != NULL && rc == ALD_OK; params = params->next) {
        ald_buf_reset(&text);
        rc = request_plain(&params->text, in, &text);
        if (before != '\0')
            ald_buf_put_byte(out, (uint8_t)before);
        before = '&';
        ald_percent_encode(out, ald_span_str(params->key));
        ald_buf_put_byte(out, '=');
        ald_percent_encode(out, ald_buf_span(&text));
    }
    ald_buf_free(&text);
    return rc != ALD_OK || ald_buf_ok(out) ? rc : ALD_TOOBIG;
}

void request_json_text(struct ald_span text, struct ald_buf *out)
{
    ald_buf_put_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        if (byte == '"' || byte == '\\')
            ald_buf_put_byte(out, '\\');
        if (byte < 0x20)
            ald_buf_printf(out, "\\u%04x", byte);
        else
            ald_buf_put_byte(out, byte);
    }
    ald_buf_put_byte(out, '"');
}

/* An id that JSON can write as a number, so that it comes back to the same text. */
static bool request_number(struct ald_span text)
{
    bool good = text.len > 0 && (text.len == 1 || text.data[0] != '0');
    for (size_t i = 0; i < text.len && good; i++)
        good = text.data[i] >= '0' && text.data[i] <= '9';
    return good;
}

static enum ald_rc request_json(const struct ald_param *params, bool map,
                                const struct ald_request_in *in, struct ald_buf *out);

static enum ald_rc request_json_scalar(const struct ald_param *param,
                                       const struct ald_request_in *in, struct ald_buf *out)
{
    struct ald_buf text;
    ald_buf_init(&text, REQUEST_TEXT_MAX);
    enum ald_rc rc = request_plain(&param->text, in, &text);
    bool number = param->text.count == 1 && param->text.pieces[0].kind == ALD_PIECE_ID_NUMBER &&
                  request_number(ald_buf_span(&text));
    if (rc == ALD_OK && (param->kind == ALD_PARAM_LITERAL || number))
        ald_buf_put_span(out, ald_buf_span(&text));
    else if (rc == ALD_OK && ald_text_utf8_ok(ald_buf_span(&text)))
        request_json_text(ald_buf_span(&text), out);
    else if (rc == ALD_OK)
        rc = ALD_INVALID;
    ald_buf_free(&text);
    return rc;
}

enum ald_rc request_json_members(const struct ald_param *params, bool map,
                                 const struct ald_request_in *in, bool *more, struct ald_buf *out)
{
    enum ald_rc rc = ALD_OK;
    for (; params != NULL && rc == ALD_OK; params = params->next) {
        if (*more)
            ald_buf_put_byte(out, ',');
        *more = true;
        if (map) {
            request_json_text(ald_span_str(params->key), out);
            ald_buf_put_byte(out, ':');
        }
        if (params->kind == ALD_PARAM_LIST || params->kind == ALD_PARAM_MAP)
            rc = request_json(params->first, params->kind == ALD_PARAM_MAP, in, out);
        else
            rc = request_json_scalar(params, in, out);
    }
    return rc != ALD_OK || ald_buf_ok(out) ? rc : ALD_TOOBIG;
}

/* Bounded: the compiler of parameters bounds their depth. */
static enum ald_rc request_json(const struct ald_param *params, bool map,
                                const struct ald_request_in *in, struct ald_buf *out)
{
    bool more = false;
    ald_buf_put_byte(out, map ? '{' : '[');
    enum ald_rc rc = request_json_members(params, map, in, &more, out);
    ald_buf_put_byte(out, map ? '}' : ']');
    return rc != ALD_OK || ald_buf_ok(out) ? rc : ALD_TOOBIG;
}

enum ald_rc request_parts(const struct ald_param *params, const char *boundary,
                          const struct ald_request_in *in, struct ald_buf *out)
{
    enum ald_rc rc = ALD_OK;
    for (; params != NULL && rc == ALD_OK; params = params->next) {
        if (strpbrk(params->key, "\"\r\n") != NULL)
            return ALD_INVALID;
        ald_buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n", boundary,
                       params->key);
        rc = request_plain(&params->text, in, out);
        ald_buf_put_str(out, "\r\n");
    }
    return rc != ALD_OK || ald_buf_ok(out) ? rc : ALD_TOOBIG;
}

bool request_boundary(unsigned n, char out[REQUEST_BOUNDARY_MAX])
{
    (void)snprintf(out, REQUEST_BOUNDARY_MAX, "aldaba-part-%u-of-a-form", n);
    return n < 1000;
}

bool request_bounds(struct ald_span body, const char *boundary, size_t count)
{
    size_t seen = 0;
    const uint8_t *at = body.data;
    const uint8_t *end = at + body.len;
    while ((at = memmem(at, (size_t)(end - at), boundary, strlen(boundary))) != NULL) {
        seen++;
        at++;
    }
    return seen == count;
}

/* A boundary that none of the values holds: it is tried until there are just those we wrote. */
static enum ald_rc request_multipart(const struct ald_param *params,
                                     const struct ald_request_in *in, struct ald_request *out)
{
    size_t count = 1;
    char boundary[REQUEST_BOUNDARY_MAX];
    for (const struct ald_param *param = params; param != NULL; param = param->next)
        count++;
    for (unsigned n = 0; request_boundary(n, boundary); n++) {
        ald_buf_reset(&out->body);
        enum ald_rc rc = request_parts(params, boundary, in, &out->body);
        if (rc != ALD_OK)
            return rc;
        ald_buf_printf(&out->body, "--%s--\r\n", boundary);
        (void)snprintf(out->content_type, sizeof out->content_type,
                       "multipart/form-data; boundary=%s", boundary);
        if (request_bounds(ald_buf_span(&out->body), boundary, count))
            return ald_buf_ok(&out->body) ? ALD_OK : ALD_TOOBIG;
    }
    return ALD_INVALID;
}

static enum ald_rc request_body(const struct ald_request_form *form,
                                const struct ald_request_in *in, struct ald_request *out)
{
    const char *type = "";
    enum ald_rc rc = ALD_OK;
    switch (form->encode) {
    case ALD_ENCODE_QUERY:
    case ALD_ENCODE_RAW:
        if (form->params != NULL)
            rc = request_pairs(form->params, in, strchr(ald_buf_str(&out->url), '?') ? '&' : '?',
                               &out->url);
        break;
    case ALD_ENCODE_FORM:
        type = "application/x-www-form-urlencoded";
        rc = request_pairs(form->params, in, '\0', &out->body);
        break;
    case ALD_ENCODE_JSON:
        type = "application/json";
        rc = request_json(form->params, true, in, &out->body);
        break;
    case ALD_ENCODE_MULTIPART:
        return request_multipart(form->params, in, out);
    }
    (void)snprintf(out->content_type, sizeof out->content_type, "%s", type);
    return rc;
}

enum ald_rc ald_request_fill(const struct ald_request_form *form, const struct ald_request_in *in,
                             struct ald_request *out)
{
    ald_buf_reset(&out->url);
    ald_buf_reset(&out->headers);
    ald_buf_reset(&out->body);
    out->content_type[0] = '\0';
    if (!form->there)
        return ALD_MISSING;
    (void)snprintf(out->method, sizeof out->method, "%s", form->method);
    enum ald_rc rc = request_url(&form->url, in, &out->url);
    if (rc == ALD_OK)
        rc = request_headers(form, in, &out->headers);
    return rc == ALD_OK ? request_body(form, in, out) : rc;
}

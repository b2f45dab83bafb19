/* The compiling of requests; they are filled in by request.c. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/request.h"

enum { REQUEST_TEXT_MAX = 4096, REQUEST_PIECES_MAX = 32 };

static const char *request_secret(const struct ald_secret_set *secrets, const char *name)
{
    for (unsigned i = 0; i < secrets->count; i++)
        if (strcmp(secrets->list[i].name, name) == 0)
            return secrets->list[i].value;
    return NULL;
}

/* name is what stands between the braces. */
static bool request_piece(struct ald_load *load, const struct ald_node *at, const char *name,
                          const struct ald_secret_set *secrets, struct ald_piece *out)
{
    static const struct {
        const char *name;
        enum ald_piece_kind kind;
    } plain[] = {{"id", ALD_PIECE_ID},
                 {"id:number", ALD_PIECE_ID_NUMBER},
                 {"callback_url", ALD_PIECE_CALLBACK_URL},
                 {"poll_url", ALD_PIECE_POLL_URL},
                 {"result_url", ALD_PIECE_RESULT_URL}};
    for (size_t i = 0; i < ALD_COUNT(plain); i++)
        if (strcmp(plain[i].name, name) == 0) {
            *out = (struct ald_piece){.kind = plain[i].kind, .text = ""};
            return true;
        }
    if (strncmp(name, "param.", 6) == 0 && name[6] != '\0') {
        *out = (struct ald_piece){.kind = ALD_PIECE_PARAM,
                                  .text = ald_arena_text(load->arena, name + 6)};
        return true;
    }
    if (strncmp(name, "secret.", 7) == 0) {
        const char *value = request_secret(secrets, name + 7);
        *out = (struct ald_piece){.kind = ALD_PIECE_SECRET, .text = value};
        if (value == NULL)
            ald_errors_add(load->errors, at, "${%.64s} is not declared under secrets.", name);
        return value != NULL;
    }
    ald_errors_add(load->errors, at,
                   "${%.64s} is nothing; there are secret.NAME, param.NAME, id, id:number, "
                   "callback_url, poll_url and result_url.",
                   name);
    return false;
}

static const char *request_cut(struct ald_load *load, const char *from, size_t len)
{
    char *copy = ald_arena_take(load->arena, len + 1);
    memcpy(copy, from, len);
    return copy;
}

void ald_template_load(struct ald_load *load, const struct ald_node *node,
                       const struct ald_secret_set *secrets, struct ald_template *out)
{
    *out = (struct ald_template){0};
    if (node->kind != ALD_NODE_SCALAR || strlen(node->text) > REQUEST_TEXT_MAX) {
        ald_errors_add(load->errors, node, "%s must be a text of at most %d bytes.",
                       node->key != NULL ? node->key : "This", REQUEST_TEXT_MAX);
        return;
    }
    const char *at = node->text;
    size_t dollars = 1;
    for (const char *c = at; *c != '\0'; c++)
        dollars += *c == '$' ? 2 : 0;
    out->pieces = ald_arena_take(load->arena, dollars * sizeof *out->pieces);
    while (*at != '\0' && out->count < REQUEST_PIECES_MAX) {
        const char *open = strstr(at, "${");
        size_t len = open == NULL ? strlen(at) : (size_t)(open - at);
        const char *close = open == NULL ? NULL : strchr(open, '}');
        if (open != NULL && close == NULL)
            len = strlen(at); /* the reader of YAML has refused it already */
        if (len > 0)
            out->pieces[out->count++] =
                (struct ald_piece){.kind = ALD_PIECE_LITERAL, .text = request_cut(load, at, len)};
        at += len;
        if (close == NULL)
            continue;
        const char *name = request_cut(load, open + 2, (size_t)(close - open) - 2);
        if (out->count < REQUEST_PIECES_MAX &&
            request_piece(load, node, name, secrets, &out->pieces[out->count]))
            out->count++;
        at = close + 1;
    }
    if (*at != '\0')
        ald_errors_add(load->errors, node, "There are more than %d parts in a text.",
                       REQUEST_PIECES_MAX);
}

/* As JSON writes it: true, false, or a number. */
static bool request_literal(const struct ald_node *node)
{
    if (node->quoted || node->template || node->text[0] == '\0')
        return false;
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
        return true;
    const char *at = node->text + (node->text[0] == '-' ? 1 : 0);
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > 18 || (at[0] == '0' && digits > 1))
        return false;
    at += digits;
    if (*at == '.') {
        digits = strspn(at + 1, "0123456789");
        at += digits > 0 ? digits + 1 : 0;
    }
    return *at == '\0';
}

struct request_params {
    struct ald_load *load;
    const struct ald_secret_set *secrets;
    bool nested; /* allowed */
    size_t count;
};

/* Bounded by ALD_PARAM_DEPTH_MAX. */
static struct ald_param *request_params(struct request_params *self, const struct ald_node *parent,
                                        unsigned depth)
{
    struct ald_param *first = NULL;
    struct ald_param **link = &first;
    for (const struct ald_node *node = parent->first; node != NULL; node = node->next) {
        bool scalar = node->kind == ALD_NODE_SCALAR;
        if (++self->count > ALD_PARAMS_MAX || depth > ALD_PARAM_DEPTH_MAX ||
            (!scalar && !self->nested)) {
            ald_errors_add(self->load->errors, node,
                           scalar || self->nested
                               ? "There are too many parameters, or they are nested too deep."
                               : "A list or map as parameter needs encode: json.");
            return first;
        }
        if (scalar && ald_node_null(node))
            continue;
        struct ald_param *param = ald_arena_take(self->load->arena, sizeof *param);
        *param = (struct ald_param){.kind = ALD_PARAM_TEXT};
        if (node->key != NULL)
            param->key = ald_arena_text(self->load->arena, node->key);
        if (node->kind != ALD_NODE_SCALAR) {
            param->kind = node->kind == ALD_NODE_LIST ? ALD_PARAM_LIST : ALD_PARAM_MAP;
            param->first = request_params(self, node, depth + 1);
        } else {
            param->kind = request_literal(node) ? ALD_PARAM_LITERAL : ALD_PARAM_TEXT;
            ald_template_load(self->load, node, self->secrets, &param->text);
        }
        *link = param;
        link = &param->next;
    }
    return first;
}

static bool request_header_ok(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return len > 0 && len <= 64 && name[len] == '\0';
}

static void request_headers(struct ald_load *load, const struct ald_node *map,
                            const struct ald_secret_set *secrets, struct ald_request_form *out)
{
    if (map->kind != ALD_NODE_MAP || map->count > ALD_HEADERS_MAX) {
        ald_errors_add(load->errors, map, "headers must hold at most %d headers by their names.",
                       ALD_HEADERS_MAX);
        return;
    }
    for (const struct ald_node *node = map->first; node != NULL; node = node->next) {
        struct ald_header_form *header = &out->headers[out->header_count];
        if (!request_header_ok(node->key)) {
            ald_errors_add(load->errors, node, "\"%.64s\" is no name of a header.", node->key);
            continue;
        }
        header->name = ald_arena_text(load->arena, node->key);
        ald_template_load(load, node, secrets, &header->value);
        out->header_count++;
    }
}

/* An address that begins with text of the profile's own must begin as one. */
static void request_url(struct ald_load *load, const struct ald_node *node,
                        const struct ald_secret_set *secrets, struct ald_request_form *out)
{
    ald_template_load(load, node, secrets, &out->url);
    if (out->url.count == 0)
        return;
    const struct ald_piece *first = &out->url.pieces[0];
    bool whole = first->kind == ALD_PIECE_PARAM || first->kind == ALD_PIECE_POLL_URL ||
                 first->kind == ALD_PIECE_RESULT_URL;
    if (first->kind == ALD_PIECE_LITERAL ? !ald_url_ok(first->text) : !whole)
        ald_errors_add(load->errors, node,
                       "url must begin with http:// or https://, name a host, and hold no space "
                       "or #.");
}

void ald_request_load(struct ald_load *load, const struct ald_node *stage,
                      const struct ald_secret_set *secrets, struct ald_request_form *out)
{
    static const char *const keys[] = {"method", "url", "encode", "headers", NULL};
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};
    static const char *const encodes[] = {"query", "form", "json", "multipart", "raw", NULL};
    *out = (struct ald_request_form){.method = "GET", .encode = ALD_ENCODE_QUERY};
    const struct ald_node *request = ald_node_find(stage, "request");
    const struct ald_node *params = ald_node_find(stage, "params");
    if (request == NULL || !ald_load_keys(load, request, "A request", keys))
        return;
    const struct ald_node *method = ald_node_find(request, "method");
    const struct ald_node *encode = ald_node_find(request, "encode");
    const struct ald_node *url = ald_node_find(request, "url");
    const struct ald_node *headers = ald_node_find(request, "headers");
    out->there = true;
    int word = method == NULL ? 0 : ald_load_word(load, method, methods);
    out->method = methods[word < 0 ? 0 : word];
    word = encode == NULL ? 0 : ald_load_word(load, encode, encodes);
    out->encode = (enum ald_encode)(word < 0 ? 0 : word);
    if (out->encode != ALD_ENCODE_QUERY && strcmp(out->method, "GET") == 0)
        ald_errors_add(load->errors, encode, "A GET has no body; encode its parameters as query.");
    if (url == NULL)
        ald_errors_add(load->errors, request, "A request needs a url.");
    else
        request_url(load, url, secrets, out);
    if (headers != NULL && !ald_load_none(headers))
        request_headers(load, headers, secrets, out);
    struct request_params walk = {
        .load = load, .secrets = secrets, .nested = out->encode == ALD_ENCODE_JSON};
    if (params != NULL && params->kind == ALD_NODE_MAP)
        out->params = request_params(&walk, params, 1);
    else if (!ald_load_none(params))
        ald_errors_add(load->errors, params, "params must hold parameters by their names.");
}

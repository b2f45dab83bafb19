#include "services/poller/fetch_ask.h"

#include <stdio.h>
#include <string.h>

enum { ASK_LINE_MAX = 8 << 10 };

static bool ask_add(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* The common headers, those of the request, and the type of its body. */
static bool ask_headers(const struct fetch_request *request, const struct curl_slist *common,
                        struct curl_slist **own)
{
    bool ok = true;
    const char *at = request->headers;
    char line[ASK_LINE_MAX];
    for (; common && ok; common = common->next)
        ok = ask_add(own, common->data);
    while (ok && at && *at) {
        size_t len = strcspn(at, "\n");
        ok = len < sizeof line;
        if (!ok)
            break;
        memcpy(line, at, len);
        line[len] = '\0';
        ok = ask_add(own, line);
        at += len + (at[len] == '\n' ? 1 : 0);
    }
    explicit_bzero(line, sizeof line);
    if (!ok || !request->type || !request->type[0])
        return ok;
    char type[160];
    (void)snprintf(type, sizeof type, "Content-Type: %s", request->type);
    return ask_add(own, type);
}

static bool ask_bodied(const struct fetch_request *request)
{
    return request->post.len > 0 || (request->method && !strcmp(request->method, "POST"));
}

static CURLcode ask_body(CURL *easy, const struct fetch_request *request, struct ald_buf *body)
{
    bool bodied = ask_bodied(request);
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
    if (!bodied) {
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    } else {
        ald_buf_put(body, request->post.data, request->post.len);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POST, 1L);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ald_buf_str(body));
    }
    const char *plain = bodied ? "POST" : "GET";
    if (request->method && strcmp(request->method, plain) != 0)
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    return rc;
}

bool fetch_ask(CURL *easy, const struct fetch_request *request, struct curl_slist *common,
               struct ald_buf *body, struct curl_slist **own)
{
    bool more = (request->headers && request->headers[0]) || (request->type && request->type[0]);
    ald_buf_reset(body);
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_URL, request->url);
    rc = rc ? rc : ask_body(easy, request, body);
    /* Kept, such a connection would only take the place of those that are used again. */
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->once ? 1L : 0L);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->once ? 1L : 0L);
    /* The common ones are about bodies, and libcurl looks through them for each header it writes.
     */
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTPHEADER, ask_bodied(request) ? common : NULL);
    curl_slist_free_all(*own);
    *own = NULL;
    if (more && !rc && ask_headers(request, common, own))
        rc = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *own);
    else if (more)
        return false;
    return !rc && ald_buf_ok(body);
}

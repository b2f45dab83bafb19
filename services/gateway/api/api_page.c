/* The dashboard: files of this program, the same for everybody, so no token is asked for. What they
 * show they ask of the API, as everybody does.
 *
 * What a provider sent is shown in this page, so the browser is told to run nothing but these files
 * and to talk to nobody but this listener.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/ui.h"

enum { PAGE_TAG_BYTES = 16 };

static const char PAGE_GUARDS[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

/* "0123..." in quotes, of the bytes. */
static void page_tag(const struct ui_file *file, struct ald_buf *tag)
{
    uint8_t digest[32];
    ald_sha256(ald_span_of(file->bytes, file->len), digest);
    ald_buf_put_byte(tag, '"');
    for (size_t i = 0; i < PAGE_TAG_BYTES; i++)
        ald_buf_printf(tag, "%02x", digest[i]);
    ald_buf_put_byte(tag, '"');
}

static void page_send(struct api_call *call, const char *name)
{
    const struct ui_file *file = ui_find(name);
    const char *type = ui_type(name);
    if (!file || !type) {
        api_problem(call, 404, "The dashboard has no such file.");
        return;
    }
    char extra[1024];
    struct ald_buf tag;
    ald_buf_init(&tag, 2 * PAGE_TAG_BYTES + 2);
    page_tag(file, &tag);
    const char *had = http_header(call->request, "If-None-Match");
    bool same = had && strstr(had, ald_buf_str(&tag)) != NULL;
    (void)snprintf(extra, sizeof extra, "%sContent-Type: %s\r\nETag: %s\r\nCache-Control: %s\r\n",
                   PAGE_GUARDS, type, ald_buf_str(&tag),
                   ui_is_versioned(name) ? "public, max-age=31536000, immutable" : "no-cache");
    (void)http_answer(call->exchange, same ? 304 : 200, extra,
                      same ? ald_span_str("") : ald_span_of(file->bytes, file->len));
    ald_buf_free(&tag);
}

void api_page(struct api_call *call)
{
    page_send(call, "index.html");
}

void api_page_file(struct api_call *call)
{
    page_send(call, call->argument);
}

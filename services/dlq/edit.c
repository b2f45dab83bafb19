#include "services/dlq/edit.h"

#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/config/value.h"
#include "proto/words.h"

enum { EDIT_HEADER_MAX = 512, EDIT_NAME_SHOWN = 40 };

static bool edit_printable(struct ald_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] > 0x7e)
            return false;
    return true;
}

static bool edit_same_name(struct ald_span a, struct ald_span b)
{
    return a.len == b.len && strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0;
}

/* Those that are kept of every callback, and those that came: the profile's rules look at no other.
 */
static bool edit_name_allowed(struct ald_span name, const struct ald_fact_header *came,
                              size_t count)
{
    static const char *const kept[] = {"content-type", "user-agent", "x-request-id", "traceparent"};
    for (size_t i = 0; i < ALD_COUNT(kept); i++)
        if (edit_same_name(name, ald_span_str(kept[i])))
            return true;
    for (size_t i = 0; i < count; i++)
        if (edit_same_name(name, came[i].name))
            return true;
    return false;
}

static enum ald_rc edit_header_line(struct ald_span line, const struct ald_fact_header *came,
                                    size_t count, struct ald_err *err)
{
    char shown[EDIT_NAME_SHOWN];
    size_t colon = ald_span_find(line, ':');
    struct ald_span name = ald_span_of(line.data, colon);
    if (colon == 0 || colon >= line.len || line.len > EDIT_HEADER_MAX || !edit_printable(line))
        return ald_err_set(err, ALD_INVALID,
                           "Headers are lines of `name: value`, at most %d printable characters "
                           "each.",
                           EDIT_HEADER_MAX);
    if (edit_name_allowed(name, came, count))
        return ALD_OK;
    ald_text_cut(shown, sizeof shown, name);
    return ald_err_set(err, ALD_INVALID,
                       "The header %s is not among those that are kept: content-type, user-agent, "
                       "x-request-id, traceparent, and those that the message has.",
                       shown);
}

static enum ald_rc edit_headers(struct ald_span came, struct ald_span wanted, struct ald_err *err)
{
    struct ald_fact_header had[ALD_FACT_HEADERS_MAX];
    size_t count = ald_headers_read(came, had);
    size_t lines = 0;
    while (wanted.len > 0) {
        size_t len = ald_span_find(wanted, '\n');
        enum ald_rc rc = edit_header_line(ald_span_of(wanted.data, len), had, count, err);
        if (rc != ALD_OK)
            return rc;
        if (++lines > ALD_FACT_HEADERS_MAX)
            return ald_err_set(err, ALD_INVALID, "A message has at most %d headers.",
                               ALD_FACT_HEADERS_MAX);
        wanted = ald_span_skip(wanted, len < wanted.len ? len + 1 : len);
    }
    return ALD_OK;
}

static enum ald_rc edit_check(const struct msg_callback *message,
                              const struct msg_letter_edit *edit, struct ald_err *err)
{
    if (!edit->set_query && !edit->set_body && !edit->set_content_type && !edit->set_headers)
        return ald_err_set(err, ALD_INVALID,
                           "Say what to change: query, body, content_type or headers.");
    if (edit->set_content_type && !edit_printable(ald_span_str(edit->content_type)))
        return ald_err_set(err, ALD_INVALID, "A content type has printable characters only.");
    return edit->set_headers ? edit_headers(message->headers, edit->headers, err) : ALD_OK;
}

enum ald_rc edit_apply(struct ald_span original, const struct msg_letter_edit *edit,
                       struct ald_buf *out, struct ald_err *err)
{
    struct msg_callback message;
    if (ald_wire_decode(&MSG_CALLBACK, &message, original) != ALD_OK)
        return ald_err_set(err, ALD_INVALID,
                           "Only a callback can be edited; this letter holds another message.");
    enum ald_rc rc = edit_check(&message, edit, err);
    if (rc != ALD_OK)
        return rc;
    if (edit->set_query)
        message.query = edit->query;
    if (edit->set_body)
        message.body = edit->body;
    if (edit->set_content_type)
        memcpy(message.content_type, edit->content_type, sizeof message.content_type);
    if (edit->set_headers)
        message.headers = edit->headers;
    if (strcmp(message.fault, ald_reason_name(ALD_REASON_MALFORMED)) == 0) {
        message.fault[0] = '\0';
        message.detail[0] = '\0';
    }
    rc = ald_wire_encode(&MSG_CALLBACK, &message, out);
    return rc == ALD_OK ? ALD_OK : ald_err_set(err, ALD_TOOBIG, "The message is too long.");
}

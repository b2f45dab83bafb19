/* Any bytes as what a client of the facade sends: the path by the first byte, then the query, the
 * declared type and the body, a line each. What is to be submitted is always JSON that a profile
 * can read, and holds no key. */
#include <string.h>

#include "common/config/profile_request.h"
#include "services/gateway/facade/facade_ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ald_span facade_line(struct ald_span *rest)
{
    size_t end = ald_span_find(*rest, '\n');
    struct ald_span line = ald_span_of(rest->data, end);
    *rest = ald_span_skip(*rest, end < rest->len ? end + 1 : end);
    return line;
}

static void facade_check(const struct facade_ask *ask, const struct facade_fields *fields)
{
    static const char *const ours[] = {"/params/key", "/params/clientKey"};
    struct ald_buf out;
    struct ald_given given;
    const char *why = NULL;
    ald_buf_init(&out, 1 << 22);
    facade_submission(ask, fields, &out);
    ALD_ASSERT(ald_buf_ok(&out));
    ALD_ASSERT(ald_given_read(ald_buf_span(&out), &given, &why) == ALD_OK);
    struct ald_json whole;
    ALD_ASSERT(ald_json_scan(ald_buf_span(&out), &whole, NULL) == ALD_OK);
    ALD_ASSERT(ald_json_find(whole, ours[ask->protocol]).kind == ALD_JSON_NONE);
    ald_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"/in.php",     "/res.php",       "/createTask",
                                        "/getBalance", "/getTaskResult", "/reportCorrect"};
    if (size < 1)
        return 0;
    struct ald_span rest = ald_span_of(data + 1, size - 1);
    struct ald_span query = facade_line(&rest);
    struct ald_span line = facade_line(&rest);
    struct ald_buf type;
    struct facade_fields fields;
    struct facade_ask ask;
    ald_buf_init(&type, 1 << 20);
    ald_buf_put_span(&type, line);
    facade_fields_init(&fields);
    bool read = facade_fields_read(&fields, query, line.len > 0 ? ald_buf_str(&type) : NULL, rest);
    facade_ask_read(paths[data[0] % ALD_COUNT(paths)], &fields, read, &ask);
    ALD_ASSERT(ask.what != FACADE_WRONG || ask.wrong);
    ALD_ASSERT(ask.what != FACADE_GET || ask.id_count > 0);
    if (ask.what == FACADE_SUBMIT)
        facade_check(&ask, &fields);
    facade_fields_free(&fields);
    ald_buf_free(&type);
    return 0;
}

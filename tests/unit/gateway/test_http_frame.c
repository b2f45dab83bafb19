/* Where a request ends, by its head alone: what leaves a choice is refused. The library itself is
 * in tests/component/test_http.py. */
#include "services/gateway/http/http_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/gateway/http/http_head.h"
#include "tests/unit/gateway/head_laid.h"

static struct head_laid laid;

static bool read_head(const char *text, struct http_frame *out)
{
    *out = (struct http_frame){0};
    return head_laid(&laid, ald_span_str(text)) &&
           http_frame_read(&laid.request, laid.version, out);
}

static void test_example(void **state)
{
    (void)state;
    struct http_frame frame;
    assert_true(read_head("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n", &frame));
    assert_int_equal(frame.declared, 12);
    assert_false(frame.chunked || frame.expects || frame.keep_alive_asked);
}

#define POST "POST /x HTTP/1.1\r\n"

static void test_heads(void **state)
{
    static const struct {
        const char *head;
        const char *want; /* "-": refused; else declared, and c e k for what is set */
    } cases[] = {
        {POST "Host: a\r\n\r\n", "0"},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "0c"},
        {POST "transfer-encoding: CHUNKED\r\n\r\n", "0c"},
        {POST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n", "3e"},
        {POST "Expect: 200-ok\r\nContent-Length: 3\r\n\r\n", "3"},
        {POST "Connection: keep-alive\r\n\r\n", "0k"},
        {POST "Connection: close\r\n\r\n", "0"},
        {POST "Content-Length: 9223372036854775807\r\n\r\n", "9223372036854775807"},
        {POST "Content-Length: 9223372036854775808\r\n\r\n", "-"},
        {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "-"},
        {POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "-"},
        {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", "-"},
        {POST "Content-Length: 3, 3\r\n\r\n", "-"},
        {POST "Content-Length: +3\r\n\r\n", "-"},
        {POST "Content-Length: 0x3\r\n\r\n", "-"},
        {POST "Content-Length:\r\n\r\n", "-"},
        {POST "Content-Length : 3\r\n\r\n", "-"},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "-"},
        {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "-"},
        {POST "Host: a\nContent-Length: 3\r\n\r\n", "-"},
        {POST "Host: a\r\n Content-Length: 3\r\n\r\n", "-"},
        {POST "Host: a\r\n: 3\r\n\r\n", "-"},
        {"POST /x HTTP/1.1\nHost: a\r\n\r\n", "-"},
        {POST "\r\n", "-"},
        {"GET /x HTTP/1.0\r\n\r\n", "0"},
        {"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "-"},
        {"POST /x HTTP/1.0\r\nContent-Length: 2\r\n\r\n", "2"},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct http_frame frame;
        char got[32] = "-";
        if (read_head(cases[i].head, &frame))
            (void)snprintf(got, sizeof got, "%zu%s%s%s", frame.declared, frame.chunked ? "c" : "",
                           frame.expects ? "e" : "", frame.keep_alive_asked ? "k" : "");
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s gives %s, not %s", cases[i].head, got, cases[i].want);
    }
}

/* LF LF, which the library takes for the end, looks like CR LF CR LF if CR NUL is behind it. */
static void test_torn(void **state)
{
    static const char lf[] = POST "Content-Length: 5\r\nX: y\n\n\r\0abc";
    static const char cr_lf[] = POST "Content-Length: 5\r\nX: y\r\n\r\n\r\0abc";
    struct http_frame frame = {0};
    (void)state;
    assert_true(head_laid(&laid, ald_span_of(lf, sizeof lf - 1)));
    assert_true(http_frame_read(&laid.request, laid.version, &frame));
    assert_int_equal(laid.body.len, 5);
    assert_true(http_frame_torn(laid.body));
    assert_true(http_frame_torn(ald_span_of(laid.body.data, 1)));
    frame = (struct http_frame){0};
    assert_true(head_laid(&laid, ald_span_of(cr_lf, sizeof cr_lf - 1)));
    assert_true(http_frame_read(&laid.request, laid.version, &frame));
    assert_false(http_frame_torn(laid.body));
    assert_false(http_frame_torn(ald_span_str("")));
}

/* What the first head left behind the second ends it no more. */
static void test_left(void **state)
{
    struct http_frame frame;
    (void)state;
    assert_true(read_head(POST "X: y\r\n\r\n", &frame));
    size_t len = laid.len;
    struct http_header *last = &laid.headers[laid.request.header_count - 1];
    assert_ptr_equal(last->value, laid.bytes + len - 5);
    laid.bytes[len - 4] = laid.bytes[len - 3] = '\0'; /* LF LF, and the rest as it was */
    frame = (struct http_frame){0};
    assert_false(http_frame_read(&laid.request, laid.version, &frame));
}

static void test_begins(void **state)
{
    static const struct {
        const char *before;
        bool want;
    } cases[] = {
        {"", true},          {"\r\n", true}, {"\n", true},     {"\n\n", false},
        {"\r\n\r\n", false}, {" \n", false}, {" \r\n", false}, {"\r\n\r\n\r\n\r\n\r\n\r\n", false},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        _Alignas(max_align_t) char bytes[64];
        const char *buffer = NULL;
        int len = snprintf(bytes, sizeof bytes, "%sGET", cases[i].before);
        assert_int_equal(http_frame_begin_ok(&buffer, bytes + len - 3), cases[i].want);
        assert_ptr_equal(buffer, bytes);
    }
    _Alignas(max_align_t) char bytes[64] = "";
    const char *buffer = NULL; /* blanks that reach beyond what malloc promises are seen later */
    assert_true(http_frame_begin_ok(&buffer, bytes + sizeof(max_align_t)));
    assert_true(http_frame_begin_ok(&buffer, bytes));
    assert_false(http_frame_begin_ok(&buffer, bytes + sizeof(max_align_t)));
}

static void test_bounds(void **state)
{
    static char text[HEAD_LAID_MAX];
    struct http_frame frame;
    (void)state;
    for (unsigned count = HTTP_HEADERS_MAX - 1; count <= HTTP_HEADERS_MAX + 1; count++) {
        size_t len = (size_t)snprintf(text, sizeof text, POST);
        for (unsigned i = 0; i < count; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "a%u: b\r\n", i);
        (void)snprintf(text + len, sizeof text - len, "\r\n");
        assert_int_equal(read_head(text, &frame), count < HTTP_HEADERS_MAX);
    }
}

static void test_targets(void **state)
{
    static const struct {
        const char *text;
        const char *path; /* NULL: another form */
        const char *query;
    } cases[] = {
        {"http://x/a", "/a", NULL}, {"HTTPS://x:1/a?b=1", "/a", "b=1"},
        {"http://x", "/", NULL},    {"http://x?a=/b", "/", "a=/b"},
        {"http://", "/", NULL},     {"/a?http://x", NULL, NULL},
        {"ftp://x/a", NULL, NULL},  {"http:/x", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char text[64];
        struct http_target target = {0};
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(http_frame_target(text, &target), cases[i].path != NULL);
        if (!cases[i].path)
            continue;
        assert_string_equal(target.path, cases[i].path);
        assert_string_equal(target.query ? target.query : "-",
                            cases[i].query ? cases[i].query : "-");
    }
}

static void test_answers(void **state)
{
    (void)state;
    struct http_head head;
    http_head_begin(&head, 200);
    http_head_put(&head, "A: b\r\n");
    http_head_length(&head, SIZE_MAX);
    static const char want[] =
        "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 18446744073709551615\r\n";
    assert_int_equal(head.len, strlen(want));
    assert_memory_equal(head.text, want, head.len);
    http_head_begin(&head, 299);
    assert_memory_equal(head.text, "HTTP/1.1 299 Status\r\n", head.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_heads),
        cmocka_unit_test(test_torn),    cmocka_unit_test(test_left),
        cmocka_unit_test(test_begins),  cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_targets), cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

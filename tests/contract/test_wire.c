/* What the codec refuses to read, and what it takes all the same. */
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/messages.h"
#include "tests/contract/sample.h"

/* A message of n entries that begins as it should; NUM and NAME are the required fields. */
#define BEGIN(n) n "a1'k' a6'sample' a1'v' 02 "
#define NUM "a3'num' 07 "
#define NAME "a4'name' a2'hi' "
#define FULL "84 "
#define PLUS "85 " /* and one entry more */

enum { MESSAGE_MAX = 4096 };

struct row {
    const char *name;
    const char *notation; /* hex digits for bytes, and 'text' for itself */
    enum ald_rc want;
};

static size_t notation_read(const char *notation, uint8_t *out)
{
    size_t len = 0;
    for (const char *at = notation; *at != '\0'; at++) {
        if (*at == ' ')
            continue;
        if (*at == '\'') {
            for (at++; *at != '\''; at++)
                out[len++] = (uint8_t)*at;
            continue;
        }
        unsigned byte;
        assert_int_equal(sscanf(at, "%2x", &byte), 1);
        out[len++] = (uint8_t)byte;
        at++;
    }
    assert_true(len < MESSAGE_MAX);
    return len;
}

/* Decode a copy that ends where the message ends, so that the sanitizer sees a step too far. */
static enum ald_rc decode_copy(const struct ald_schema *schema, void *msg, const uint8_t *bytes,
                               size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    enum ald_rc rc = ald_wire_decode(schema, msg, ald_span_of(copy, len));
    free(copy);
    return rc;
}

static void expect_rows(const struct row *rows, size_t count)
{
    uint8_t bytes[MESSAGE_MAX];
    for (size_t i = 0; i < count; i++) {
        struct sample msg;
        size_t len = notation_read(rows[i].notation, bytes);
        enum ald_rc got = decode_copy(&sample_schema, &msg, bytes, len);
        if (got == rows[i].want)
            continue;
        fail_msg("%s: %s, not %s", rows[i].name, ald_rc_name(got), ald_rc_name(rows[i].want));
    }
}

static void test_example(void **state)
{
    (void)state;
    struct msg_ack sent = {.num = 7, .disposition = "dead", .reason = "conflict"};
    struct ald_buf out;
    ald_buf_init(&out, 1024);
    assert_int_equal(ald_wire_encode(&MSG_ACK, &sent, &out), ALD_OK);

    struct msg_ack got;
    assert_true(ald_wire_is(&MSG_ACK, ald_buf_span(&out)));
    assert_int_equal(ald_wire_decode(&MSG_ACK, &got, ald_buf_span(&out)), ALD_OK);
    assert_int_equal(got.num, 7);
    assert_string_equal(got.disposition, "dead");
    assert_string_equal(got.reason, "conflict");
    ald_buf_free(&out);
}

static void test_accepted(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"the shortest", BEGIN(FULL) NUM NAME, ALD_OK},
        {"another order", BEGIN(FULL) NAME NUM, ALD_OK},
        {"an older version", "84 a1'k' a6'sample' a1'v' 01 " NUM NAME, ALD_OK},
        {"map16 where fixmap would do", BEGIN("de 00 04 ") NUM NAME, ALD_OK},
        {"a number longer than need be", BEGIN(FULL) "a3'num' cf 00 00 00 00 00 00 00 07 " NAME,
         ALD_OK},
        {"signed form of a positive number", BEGIN(FULL) "a3'num' d0 07 " NAME, ALD_OK},
        {"the greatest number", BEGIN(FULL) "a3'num' cf 00 1f ff ff ff ff ff ff " NAME, ALD_OK},
        {"the lowest number", BEGIN(PLUS) NUM NAME "a3'age' d3 ff e0 00 00 00 00 00 00 ", ALD_OK},
        {"text that fills its field", BEGIN(FULL) NUM "a4'name' a7'1234567' ", ALD_OK},
        {"text in two alphabets", BEGIN(FULL) NUM "a4'name' a4 d1 8f c3 a9 ", ALD_OK},
        {"an unknown number", BEGIN(PLUS) NUM NAME "a3'new' 01 ", ALD_OK},
        {"an unknown float", BEGIN(PLUS) NUM NAME "a3'new' ca 00 00 00 00 ", ALD_OK},
        {"an unknown nil", BEGIN(PLUS) "a3'new' c0 " NUM NAME, ALD_OK},
        {"an unknown timestamp", BEGIN(PLUS) "a3'new' d6 ff'abcd' " NUM NAME, ALD_OK},
        {"an unknown extension", BEGIN(PLUS) "a3'new' c7 03 01'abc' " NUM NAME, ALD_OK},
        {"an unknown long key", BEGIN(PLUS) "ad'a-longer-name' 01 " NUM NAME, ALD_OK},
        {"an unknown map of arrays", BEGIN(PLUS) "a3'new' 82 a1'a' 92 01 90 a1'b' 80 " NUM NAME,
         ALD_OK},
        {"unknown, eight deep", BEGIN(PLUS) NUM NAME "a3'new' 91 91 91 91 91 91 91 91 01 ", ALD_OK},
    };
    expect_rows(rows, ALD_COUNT(rows));
}

static void test_refused_shapes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nothing", "", ALD_MALFORMED},
        {"an array", "91 01 ", ALD_MALFORMED},
        {"an array of four thousand million in five bytes", "dd ff ff ff ff ", ALD_MALFORMED},
        {"a map of four thousand million in five bytes", "df ff ff ff ff ", ALD_MALFORMED},
        {"an empty map", "80 ", ALD_MALFORMED},
        {"the byte that means nothing", "c1 ", ALD_MALFORMED},
        {"version before kind", "84 a1'v' 02 a1'k' a6'sample' " NUM NAME, ALD_MALFORMED},
        {"version 0", "84 a1'k' a6'sample' a1'v' 00 " NUM NAME, ALD_MALFORMED},
        {"version as text", "84 a1'k' a6'sample' a1'v' a1'2' " NUM NAME, ALD_MALFORMED},
        {"kind as bytes", "84 a1'k' c4 06'sample' a1'v' 02 " NUM NAME, ALD_MALFORMED},
        {"a newer version", "84 a1'k' a6'sample' a1'v' 03 " NUM NAME, ALD_VERSION},
        {"another kind", "84 a1'k' a6'sampla' a1'v' 02 " NUM NAME, ALD_INVALID},
        {"a kind that is longer", "84 a1'k' a7'samples' a1'v' 02 " NUM NAME, ALD_INVALID},
        {"a byte after the end", BEGIN(FULL) NUM NAME "00 ", ALD_MALFORMED},
        {"a second message after the end", BEGIN(FULL) NUM NAME BEGIN(FULL) NUM NAME,
         ALD_MALFORMED},
        {"a count too low", BEGIN("83 ") NUM NAME, ALD_MALFORMED},
        {"a count too high", BEGIN(PLUS) NUM NAME, ALD_MALFORMED},
        {"a field twice", BEGIN(PLUS) NUM NAME NUM, ALD_MALFORMED},
        {"an unknown key twice", BEGIN("86 ") NUM NAME "a3'new' 01 a3'new' 01 ", ALD_MALFORMED},
        {"the kind twice", BEGIN(PLUS) NUM NAME "a1'k' a6'sample' ", ALD_MALFORMED},
        {"the version twice", BEGIN(PLUS) NUM NAME "a1'v' 02 ", ALD_MALFORMED},
        {"a key that is a number", BEGIN(PLUS) NUM NAME "01 01 ", ALD_MALFORMED},
        {"a key with NUL", BEGIN(PLUS) NUM NAME "a3'a' 00'b' 01 ", ALD_MALFORMED},
        {"a known key, NUL and more", BEGIN(PLUS) NUM NAME "a5'age' 00'x' 01 ", ALD_MALFORMED},
        {"a key that is not UTF-8", BEGIN(PLUS) NUM NAME "a1 ff 01 ", ALD_MALFORMED},
        {"a long key with NUL", BEGIN(PLUS) NUM NAME "ad'a-lo' 00'ger-name' 01 ", ALD_MALFORMED},
        {"a long key that is not UTF-8", BEGIN(PLUS) NUM NAME "ad'a-lo' ff'ger-name' 01 ",
         ALD_MALFORMED},
        {"an unknown extension that is short", BEGIN(PLUS) NUM NAME "a3'new' c7 03 01'ab' ",
         ALD_MALFORMED},
        {"unknown, nine deep", BEGIN(PLUS) NUM NAME "a3'new' 91 91 91 91 91 91 91 91 91 01 ",
         ALD_MALFORMED},
        {"an unknown bomb", BEGIN(PLUS) NUM NAME "a3'new' dd 00 ff ff ff ", ALD_MALFORMED},
        {"an unknown array that is short", BEGIN(PLUS) NUM NAME "a3'new' 92 01 ", ALD_MALFORMED},
        {"number missing", BEGIN("83 ") NAME, ALD_MISSING},
        {"name missing", BEGIN("83 ") NUM, ALD_MISSING},
        {"only the head", BEGIN("82 "), ALD_MISSING},
    };
    expect_rows(rows, ALD_COUNT(rows));
}

static void test_refused_values(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a container", BEGIN(FULL) "a3'num' 91 07 " NAME, ALD_MALFORMED},
        {"a float", BEGIN(FULL) "a3'num' cb 40 1c 00 00 00 00 00 00 " NAME, ALD_MALFORMED},
        {"nil", BEGIN(FULL) "a3'num' c0 " NAME, ALD_MALFORMED},
        {"a number as text", BEGIN(FULL) "a3'num' a1'7' " NAME, ALD_MALFORMED},
        {"below zero where that can't be", BEGIN(FULL) "a3'num' ff " NAME, ALD_MALFORMED},
        {"2^53", BEGIN(FULL) "a3'num' cf 00 20 00 00 00 00 00 00 " NAME, ALD_TOOBIG},
        {"2^53 + 1 for a signed one", BEGIN(PLUS) NUM NAME "a3'age' cf 00 20 00 00 00 00 00 01 ",
         ALD_TOOBIG},
        {"-2^53 - 1", BEGIN(PLUS) NUM NAME "a3'age' d3 ff df ff ff ff ff ff ff ", ALD_TOOBIG},
        {"-2^63", BEGIN(PLUS) NUM NAME "a3'age' d3 80 00 00 00 00 00 00 00 ", ALD_TOOBIG},
        {"text too long by one", BEGIN(FULL) NUM "a4'name' a8'12345678' ", ALD_TOOBIG},
        {"text with NUL", BEGIN(FULL) NUM "a4'name' a3'a' 00'b' ", ALD_MALFORMED},
        {"text that ends in NUL", BEGIN(FULL) NUM "a4'name' a2'a' 00 ", ALD_MALFORMED},
        {"text with a lone byte", BEGIN(FULL) NUM "a4'name' a2'a' ff ", ALD_MALFORMED},
        {"text cut in a character", BEGIN(FULL) NUM "a4'name' a1 c3 ", ALD_MALFORMED},
        {"text with an overlong slash", BEGIN(FULL) NUM "a4'name' a2 c0 af ", ALD_MALFORMED},
        {"text with a surrogate", BEGIN(FULL) NUM "a4'name' a3 ed a0 80 ", ALD_MALFORMED},
        {"bytes where text belongs", BEGIN(FULL) NUM "a4'name' c4 02'hi' ", ALD_MALFORMED},
        {"text where bytes belong", BEGIN(PLUS) NUM NAME "a4'data' a2'hi' ", ALD_MALFORMED},
        {"1 as truth", BEGIN(PLUS) NUM NAME "a4'flag' 01 ", ALD_MALFORMED},
        {"an id as a number", BEGIN(PLUS) NUM NAME "a2'id' 07 ", ALD_MALFORMED},
        {"an id with a zero in front", BEGIN(PLUS) NUM NAME "a2'id' a2'07' ", ALD_MALFORMED},
        {"an id with a letter", BEGIN(PLUS) NUM NAME "a2'id' a2'7a' ", ALD_MALFORMED},
        {"an id with a sign", BEGIN(PLUS) NUM NAME "a2'id' a2'-7' ", ALD_MALFORMED},
        {"an id of 2^64", BEGIN(PLUS) NUM NAME "a2'id' b4'18446744073709551616' ", ALD_TOOBIG},
        {"bytes longer than the message", BEGIN(PLUS) NUM NAME "a4'data' c6 ff ff ff ff'x' ",
         ALD_MALFORMED},
    };
    expect_rows(rows, ALD_COUNT(rows));
}

static struct msg_callback full_callback(void)
{
    return (struct msg_callback){
        .num = 70000,
        .provider = "sandbox",
        .task = 1234567890123456,
        .attempt = 1,
        .proof = "token",
        .method = "POST",
        .path = "/cb/sandbox/{token}",
        .query = ald_span_str("id=7&code=a%20b"),
        .content_type = "application/json",
        .headers = ald_span_str("X-Id: 7\n"),
        .body = ald_span_str("{\"id\":7,\"text\":\"some words that were heard\"}"),
        .peer = "192.0.2.7",
        .received_at_ms = 1795953600123,
        .spooled = true,
    };
}

static void test_every_truncation(void **state)
{
    (void)state;
    struct msg_callback sent = full_callback();
    struct ald_buf out;
    ald_buf_init(&out, 4096);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &sent, &out), ALD_OK);
    for (size_t len = 0; len < out.len; len++) {
        struct msg_callback got;
        assert_int_equal(decode_copy(&MSG_CALLBACK, &got, out.data, len), ALD_MALFORMED);
    }
    ald_buf_free(&out);
}

/* One wrong byte anywhere is refused or read as something else, but never runs off. */
static void test_every_altered_byte(void **state)
{
    (void)state;
    struct msg_callback sent = full_callback();
    struct ald_buf out;
    ald_buf_init(&out, 4096);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &sent, &out), ALD_OK);
    unsigned refused = 0;
    for (size_t i = 0; i < out.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct msg_callback got;
            out.data[i] ^= (uint8_t)(1u << bit);
            refused += decode_copy(&MSG_CALLBACK, &got, out.data, out.len) != ALD_OK;
            out.data[i] ^= (uint8_t)(1u << bit);
        }
    }
    assert_true(refused > out.len);
    ald_buf_free(&out);
}

/* A message with n keys that nobody knows, each another one. */
static enum ald_rc decode_unknown(size_t n)
{
    uint8_t bytes[MESSAGE_MAX];
    size_t len = notation_read(BEGIN("de 00 00 ") NUM NAME, bytes);
    bytes[2] = (uint8_t)(4 + n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t entry[] = {0xa2, 'x', (uint8_t)('0' + i), 0x01};
        memcpy(bytes + len, entry, sizeof(entry));
        len += sizeof(entry);
    }
    struct sample msg;
    return decode_copy(&sample_schema, &msg, bytes, len);
}

static void test_unknown_keys_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(decode_unknown(32), ALD_OK);
    assert_int_equal(decode_unknown(33), ALD_MALFORMED);
}

/* Bytes at the field's limit, and one more. */
static enum ald_rc decode_data(size_t n)
{
    uint8_t bytes[MESSAGE_MAX];
    size_t len = notation_read(BEGIN(PLUS) NUM NAME "a4'data' c5 00 00 ", bytes);
    bytes[len - 2] = (uint8_t)(n >> 8);
    bytes[len - 1] = (uint8_t)n;
    memset(bytes + len, 0xff, n);
    struct sample msg;
    return decode_copy(&sample_schema, &msg, bytes, len + n);
}

static void test_bytes_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(decode_data(300), ALD_OK);
    assert_int_equal(decode_data(301), ALD_TOOBIG);
}

static void test_kind(void **state)
{
    (void)state;
    uint8_t bytes[MESSAGE_MAX];
    char kind[7];
    struct ald_span message = {.data = bytes, .len = notation_read(BEGIN(FULL) NUM NAME, bytes)};
    assert_int_equal(ald_wire_kind(message, kind, sizeof(kind)), ALD_OK);
    assert_string_equal(kind, "sample");
    assert_int_equal(ald_wire_kind(message, kind, sizeof(kind) - 1), ALD_MALFORMED);
    assert_int_equal(ald_wire_kind(ald_span_of(bytes, 5), kind, sizeof(kind)), ALD_MALFORMED);
    assert_true(ald_wire_is(&sample_schema, message));
    assert_false(ald_wire_is(&MSG_ACK, message));
    assert_false(ald_wire_is(&sample_schema, ald_span_of(bytes, 5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused_shapes),
        cmocka_unit_test(test_refused_values),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_altered_byte),
        cmocka_unit_test(test_unknown_keys_are_bounded),
        cmocka_unit_test(test_bytes_are_bounded),
        cmocka_unit_test(test_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Any bytes to the small readers of texts: what is decoded and written again is the same, and what
 * is made safe for a log stays on one line. */
#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/ident.h"
#include "common/base/text.h"
#include "common/config/address.h"
#include "common/config/cidr.h"
#include "common/config/request.h"
#include "proto/token.h"
#include "services/tracker/consumers/position.h"
#include "tests/fuzz/input.h"

enum { OUT_MAX = 1 << 17, WORD = 300 };

typedef enum ald_rc text_decode_fn(struct ald_buf *out, struct ald_span text);
typedef void text_encode_fn(struct ald_buf *out, struct ald_span bytes);

static void text_both(struct ald_span text, text_decode_fn *decode, text_encode_fn *encode,
                      bool exact)
{
    struct ald_buf bytes;
    struct ald_buf again;
    struct ald_buf back;
    ald_buf_init(&bytes, OUT_MAX);
    ald_buf_init(&again, OUT_MAX);
    ald_buf_init(&back, OUT_MAX);
    if (decode(&bytes, text) == ALD_OK) {
        encode(&again, ald_buf_span(&bytes));
        ALD_ASSERT(!exact || ald_span_eq(ald_buf_span(&again), text));
    }
    ald_buf_reset(&bytes);
    encode(&bytes, text);
    if (ald_buf_ok(&bytes) && text.len < OUT_MAX / 4) {
        ALD_ASSERT(decode(&back, ald_buf_span(&bytes)) == ALD_OK);
        ALD_ASSERT(ald_span_eq(ald_buf_span(&back), text));
    }
    ald_buf_free(&bytes);
    ald_buf_free(&again);
    ald_buf_free(&back);
}

static enum ald_rc text_percent(struct ald_buf *out, struct ald_span text)
{
    return ald_percent_decode(text, false, out);
}

static void text_line(struct ald_span text)
{
    struct ald_buf out;
    ald_buf_init(&out, OUT_MAX);
    ald_text_escape(&out, text);
    ald_text_show(&out, text);
    for (size_t i = 0; i < out.len; i++)
        ALD_ASSERT(out.data[i] >= 0x20 && out.data[i] != 0x7f);
    ALD_ASSERT(ald_text_utf8_ok(ald_buf_span(&out)));
    ald_buf_free(&out);
}

static void text_numbers(struct ald_span text)
{
    uint64_t number = 0;
    int64_t signed_number = 0;
    char back[32];
    if (ald_text_u64(text, &number) == ALD_OK && text.len > 0 && text.data[0] != '0') {
        (void)snprintf(back, sizeof back, "%llu", (unsigned long long)number);
        ALD_ASSERT(ald_span_eq_str(text, back));
    }
    (void)!ald_text_i64(text, &signed_number);
    if (ald_text_duration_ms(text, &signed_number) == ALD_OK)
        ALD_ASSERT(signed_number >= 0);
    (void)!ald_text_bytes(text, &number);
    if (ald_task_id_parse(text, &number) == ALD_OK) {
        ald_task_id_text(number, back);
        ALD_ASSERT(ald_span_eq_str(text, back));
    }
}

static void text_words(const char *word)
{
    struct sockaddr_in address;
    struct ald_cidr block;
    uint64_t seq = 0;
    char back[ALD_POSITION_MAX];
    static const char *const list[] = {"done", "failed", "lost", "expired", NULL, "cancelled"};
    (void)!ald_address_parse(word, &address);
    if (ald_cidr_parse(word, &block) == ALD_OK)
        (void)ald_cidr_has(&block, "10.1.2.3");
    (void)ald_cidr_has(&block, word);
    (void)ald_url_ok(word);
    (void)ald_text_nearest(word, list, ALD_COUNT(list));
    if (position_read(word, 7, &seq) == POSITION_AFTER) {
        uint64_t same = 0;
        position_write(7, seq, back);
        ALD_ASSERT(position_read(back, 7, &same) == POSITION_AFTER && same == seq);
    }
}

static void text_cut(struct ald_span text)
{
    char cut[24];
    char whole[WORD];
    ald_text_cut(cut, sizeof cut, text);
    ALD_ASSERT(!ald_text_utf8_ok(text) || ald_text_utf8_ok(ald_span_str(cut)));
    if (ald_text_copy(whole, sizeof whole, text) == ALD_OK) {
        ALD_ASSERT(ald_span_eq_str(text, whole));
        text_words(whole);
    }
}

/* Nobody makes a token without the key, and what is taken for keys is whole. */
static void text_token(struct ald_span text)
{
    static const struct ald_keys keys = {.count = 1, .record = {{7, 1, 2, 3}}};
    struct ald_keys loaded;
    uint64_t task = 0;
    unsigned attempt = 0;
    ALD_ASSERT(ald_token_verify(&keys, "a", (const char *)text.data, text.len, &task, &attempt) !=
               ALD_OK);
    if (ald_keys_load(&loaded, text) == ALD_OK)
        ALD_ASSERT(loaded.count * ALD_KEY_RECORD == text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ald_span text = ald_span_of(data, size);
    text_both(text, ald_base64_decode, ald_base64_encode, true);
    text_both(text, ald_base64url_decode, ald_base64url_encode, true);
    text_both(text, ald_hex_decode, ald_hex_encode, false);
    if (size == 0 || !memchr(data, 0, size))
        text_both(text, text_percent, ald_percent_encode, false);
    text_line(text);
    text_numbers(text);
    text_cut(text);
    text_token(text);
    return 0;
}

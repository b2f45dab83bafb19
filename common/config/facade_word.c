#include "common/config/facade_word.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/request_inside.h"

static const char WORD_UNSOLVABLE[] = "ERROR_CAPTCHA_UNSOLVABLE";

static const struct {
    const char *code;
    int id;
} WORD_ERRORS[] = {
    {"ERROR_KEY_DOES_NOT_EXIST", 1},
    {"ERROR_NO_SLOT_AVAILABLE", 2},
    {"ERROR_ZERO_CAPTCHA_FILESIZE", 3},
    {"ERROR_TOO_BIG_CAPTCHA_FILESIZE", 4},
    {"ERROR_ZERO_BALANCE", 10},
    {"ERROR_IP_NOT_ALLOWED", 11},
    {"ERROR_CAPTCHA_UNSOLVABLE", 12},
    {"ERROR_BAD_DUPLICATES", 13},
    {"ERROR_NO_SUCH_METHOD", 14},
    {"ERROR_IMAGE_TYPE_NOT_SUPPORTED", 15},
    {"ERROR_NO_SUCH_CAPCHA_ID", 16},
    {"ERROR_IP_BLOCKED", 21},
    {"ERROR_TASK_ABSENT", 22},
    {"ERROR_TASK_NOT_SUPPORTED", 23},
    {"ERROR_RECAPTCHA_INVALID_SITEKEY", 31},
};

/* Words of these protocols are capitals; ours, and what a provider says in sentences, are not. */
static bool word_is_one(const char *code)
{
    const char *at = code;
    while (isupper((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_' || *at == ':' ||
           *at == ' ')
        at++;
    return isupper((unsigned char)code[0]) && *at == '\0';
}

const char *ald_facade_word(enum ald_facade_protocol protocol, enum ald_state state,
                            const char *code)
{
    if (state == ALD_STATE_LOST)
        return protocol == ALD_FACADE_PLAIN ? "ERROR_WRONG_CAPTCHA_ID" : "ERROR_NO_SUCH_CAPCHA_ID";
    if (state != ALD_STATE_FAILED)
        return WORD_UNSOLVABLE;
    if (strcmp(code, "invalid_submission") == 0)
        return "ERROR_BAD_PARAMETERS";
    bool pending = strstr(code, "NOT_READY") != NULL; /* a client would take it for no end */
    return word_is_one(code) && !pending ? code : WORD_UNSOLVABLE;
}

int ald_facade_error(const char *code)
{
    for (size_t i = 0; i < ALD_COUNT(WORD_ERRORS); i++)
        if (strcmp(WORD_ERRORS[i].code, code) == 0)
            return WORD_ERRORS[i].id;
    return 1;
}

static void word_json(const struct ald_facade_end *end, const char *word, struct ald_buf *out)
{
    bool done = end->state == ALD_STATE_DONE;
    ald_buf_printf(out, "{\"errorId\":%d", done ? 0 : ald_facade_error(word));
    if (done && end->result_json) {
        ald_buf_put_str(out, ",\"status\":\"ready\",\"solution\":");
        ald_buf_put_span(out, end->result);
    } else if (done) {
        ald_buf_put_str(out, ",\"status\":\"ready\",\"solution\":{\"text\":");
        request_json_text(ald_text_utf8_ok(end->result) ? end->result : ald_span_str(""), out);
        ald_buf_put_byte(out, '}');
    } else {
        ald_buf_put_str(out, ",\"errorCode\":");
        request_json_text(ald_span_str(word), out);
    }
    ald_buf_printf(out, ",\"taskId\":%" PRIu64 "}", end->task);
}

void ald_facade_pingback(enum ald_facade_protocol protocol, const struct ald_facade_end *end,
                         struct ald_buf *out)
{
    const char *word = ald_facade_word(protocol, end->state, end->code);
    if (protocol == ALD_FACADE_TASKS) {
        word_json(end, word, out);
        return;
    }
    ald_buf_printf(out, "id=%" PRIu64 "&code=", end->task);
    ald_percent_encode(out, end->state == ALD_STATE_DONE ? end->result : ald_span_str(word));
}

#include <string.h>

#include "common/config/family.h"

enum { INPHP_NUMBERED_MAX = 64 };

/* A row for one spelling of a code. wait 0 leaves it to the schedule. */
struct inphp_code {
    const char *code;
    const char *dialect; /* NULL: all */
    enum ald_class cls;
    enum ald_scope scope;
    bool block;
    int64_t wait_ms;
    int64_t grace_ms;
};

#define ALL NULL
#define TASK ALD_SCOPE_TASK
#define ACCOUNT ALD_SCOPE_ACCOUNT
#define IP ALD_SCOPE_IP
#define PROXY ALD_SCOPE_PROXY

/* The first row that fits counts. */
static const struct inphp_code INPHP_CODES[] = {
    {"CAPCHA_NOT_READY", ALL, ALD_CLASS_PENDING, TASK, false, 5000, 0},
    {"CAPTCHA_NOT_READY", ALL, ALD_CLASS_PENDING, TASK, false, 5000, 0},

    {"ERROR_NO_SLOT_AVAILABLE", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, false, 5000, 0},
    {"MAX_USER_TURN", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, true, 10000, 0},
    {"ERROR: 1001", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, true, 600000, 0},
    {"ERROR: 1002", ALL, ALD_CLASS_CONFIG, ACCOUNT, true, 300000, 0},
    {"ERROR: 1003", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, true, 30000, 0},
    {"ERROR: 1004", ALL, ALD_CLASS_CONFIG, IP, true, 600000, 0},
    {"ERROR: 1005", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, true, 300000, 0},
    {"ERROR: *", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, true, 300000, 0},
    {"ERROR_SERVER_ERROR", ALL, ALD_CLASS_TRANSIENT, TASK, false, 10000, 0},
    {"ERROR_INTERNAL_SERVER_ERROR", ALL, ALD_CLASS_TRANSIENT, TASK, false, 10000, 0},
    {"ERROR_TOO_MUCH_REQUESTS", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, false, 5000, 0},
    {"HTTP_429", ALL, ALD_CLASS_TRANSIENT, ACCOUNT, false, 5000, 0},

    /* In captchaai's mouth it means that no thread is free. */
    {"ERROR_ZERO_BALANCE", "captchaai", ALD_CLASS_TRANSIENT, ACCOUNT, false, 5000, 0},
    {"ERROR_ZERO_BALANCE", ALL, ALD_CLASS_CONFIG, ACCOUNT, false, 60000, 0},

    /* Asking on with a wrong key gets the address banned: the account waits. */
    {"ERROR_WRONG_USER_KEY", ALL, ALD_CLASS_CONFIG, ACCOUNT, true, 300000, 0},
    {"ERROR_KEY_DOES_NOT_EXIST", ALL, ALD_CLASS_CONFIG, ACCOUNT, true, 300000, 0},
    {"ERROR_IP_NOT_ALLOWED", ALL, ALD_CLASS_CONFIG, IP, true, 300000, 0},
    {"IP_BANNED", ALL, ALD_CLASS_CONFIG, IP, true, 300000, 0},
    {"ERROR_IP_BANNED", ALL, ALD_CLASS_CONFIG, IP, true, 300000, 0},
    {"ERROR_IP_BLOCKED", ALL, ALD_CLASS_CONFIG, IP, true, 300000, 0},
    {"TOO_MANY_BAD_IMAGES", ALL, ALD_CLASS_CONFIG, ACCOUNT, false, 0, 0},
    {"ERROR_EMPTY_ACTION", ALL, ALD_CLASS_CONFIG, TASK, false, 0, 0},
    {"ERROR_IP_ADDRES", ALL, ALD_CLASS_CONFIG, TASK, false, 0, 0},

    {"ERROR_PAGEURL", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_BAD_PARAMETERS", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_GOOGLEKEY", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_WRONG_GOOGLEKEY", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_BAD_TOKEN_OR_PAGEURL", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_ZERO_CAPTCHA_FILESIZE", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_TOO_BIG_CAPTCHA_FILESIZE", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_WRONG_FILE_EXTENSION", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_IMAGE_TYPE_NOT_SUPPORTED", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_UPLOAD", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_CAPTCHAIMAGE_BLOCKED", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_CAPTCHA_ID", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_PROXY_FORMAT", ALL, ALD_CLASS_PERMANENT, TASK, false, 0, 0},
    {"ERROR_BAD_PROXY", ALL, ALD_CLASS_PERMANENT, PROXY, false, 600000, 0},

    {"ERROR_CAPTCHA_UNSOLVABLE", ALL, ALD_CLASS_FAILED, TASK, false, 0, 0},
    {"ERROR_BAD_DUPLICATES", ALL, ALD_CLASS_FAILED, TASK, false, 0, 0},
    {"ERROR_PROXY_CONNECTION_FAILED", ALL, ALD_CLASS_FAILED, TASK, false, 0, 0},
    {"ERROR_TOKEN_EXPIRED", ALL, ALD_CLASS_FAILED, TASK, false, 0, 0},

    /* Right after a submission the provider's own copies may not know the id yet. */
    {"ERROR_WRONG_CAPTCHA_ID", ALL, ALD_CLASS_LOST, TASK, false, 0, 30000},
    {"ERROR_NO_SUCH_CAPCHA_ID", ALL, ALD_CLASS_LOST, TASK, false, 0, 30000},
    {"ERROR_NO_SUCH_CAPTCHA_ID", ALL, ALD_CLASS_LOST, TASK, false, 0, 30000},
    {"ERROR_WRONG_ID_FORMAT", ALL, ALD_CLASS_LOST, TASK, false, 0, 0},
};

static const struct inphp_code INPHP_DEFAULT = {"_default", ALL, ALD_CLASS_UNKNOWN, TASK, false,
                                                5000,       0};

/* A pattern that ends in '*' fits all that begins like it. */
static bool inphp_code_fits(const struct inphp_code *row, const char *dialect, struct ald_span code)
{
    if (row->dialect != NULL && strcmp(row->dialect, dialect) != 0)
        return false;
    size_t len = strlen(row->code);
    if (row->code[len - 1] == '*')
        return code.len >= len && memcmp(code.data, row->code, len - 1) == 0;
    return ald_span_eq_str(code, row->code);
}

/* The numbered errors come with and without a space behind the colon. */
static struct ald_span inphp_spaced(struct ald_span code, char room[INPHP_NUMBERED_MAX])
{
    static const char head[] = "ERROR:";
    if (!ald_span_starts(code, head) || code.len + 1 > INPHP_NUMBERED_MAX ||
        code.len == strlen(head) || code.data[strlen(head)] == ' ')
        return code;
    memcpy(room, "ERROR: ", strlen(head) + 1);
    memcpy(room + strlen(head) + 1, code.data + strlen(head), code.len - strlen(head));
    return ald_span_of(room, code.len + 1);
}

void ald_inphp_code(const char *dialect, struct ald_span code, struct ald_verdict *out)
{
    const struct inphp_code *found = &INPHP_DEFAULT;
    char room[INPHP_NUMBERED_MAX];
    code = inphp_spaced(code, room);
    for (size_t i = 0; i < ALD_COUNT(INPHP_CODES) && found == &INPHP_DEFAULT; i++)
        if (inphp_code_fits(&INPHP_CODES[i], dialect, code))
            found = &INPHP_CODES[i];
    out->cls = found->cls;
    out->scope = found->scope;
    out->block = found->block;
    out->wait_ms = found->wait_ms;
    out->grace_ms = found->grace_ms;
}

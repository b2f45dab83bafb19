/* `keys new`: keys in new files. None is ever written over: a lost key makes strangers of all who
 * trusted it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <czmq.h>
#include <jansson.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/base/failpoint.h"
#include "common/base/text.h"
#include "common/store/disk.h"
#include "proto/token.h"
#include "services/ctl/commands.h"

enum { KEYS_TOKEN_BYTES = 32, KEYS_TEXT_MAX = 1024 };

/* CTL_OK, or it was said why not. */
static int keys_write(const char *path, struct ald_span bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        ctl_say("%s is there already and was left alone; name another file.", CTL_SAFE(path));
        return CTL_FAILED;
    }
    bool ok = fd >= 0 &&
              ALD_FAILPOINT_WRITE("key.write", write(fd, bytes.data, bytes.len),
                                  write(fd, bytes.data, bytes.len / 2)) == (ssize_t)bytes.len &&
              ALD_FAILPOINT("key.sync", fsync(fd), -1) == 0;
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        error = errno;
        ok = false;
    }
    if (ok && ald_disk_sync_folder_of(path) != ALD_OK) {
        error = errno;
        ok = false;
    }
    if (ok)
        return CTL_OK;
    if (fd >= 0)
        (void)unlink(path);
    ctl_say("%s can't be written: %s. Name a file in a folder that is there and yours.",
            CTL_SAFE(path), strerror(error));
    return CTL_FAILED;
}

static void keys_told(struct ctl *ctl, const char *path, const char *what)
{
    if (ctl_json(ctl)) {
        json_t *told = json_pack("{s:s}", "file", path); /* NULL: it is not UTF-8 */
        char *text = told ? json_dumps(told, JSON_COMPACT) : NULL;
        ald_buf_printf(&ctl->out, "%s\n", text ? text : "{}");
        free(text);
        json_decref(told);
    } else if (!args_has(ctl->args, ARG_QUIET)) {
        ald_buf_printf(&ctl->out, "%s: %s\n", CTL_SAFE(path), what);
    }
}

static int keys_callback(struct ctl *ctl, const char *path)
{
    struct ald_keys keys = {0};
    ald_keys_rotate(&keys);
    int code = keys_write(path, ald_span_of(keys.record[0], ALD_KEY_RECORD));
    explicit_bzero(&keys, sizeof keys);
    if (code == CTL_OK)
        keys_told(ctl, path, "name it as security.callback_keys in the settings");
    return code;
}

/* Without a file it goes to stdout, for a command that takes it from there. */
static int keys_api(struct ctl *ctl, const char *path)
{
    uint8_t bytes[KEYS_TOKEN_BYTES];
    struct ald_buf text;
    ald_buf_init(&text, KEYS_TEXT_MAX);
    ald_random(bytes, sizeof bytes);
    ald_base64url_encode(&text, ald_span_of(bytes, sizeof bytes));
    ald_buf_put_byte(&text, '\n');
    int code = CTL_OK;
    if (path == NULL)
        ald_buf_put_span(&ctl->out, ald_buf_span(&text));
    else
        code = keys_write(path, ald_buf_span(&text));
    if (code == CTL_OK && path != NULL)
        keys_told(ctl, path, "gateway.tokens: [{file: ...}], and $ALDABA_TOKEN for who asks");
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text.data, text.len);
    ald_buf_free(&text);
    return code;
}

/* As CZMQ's certificates are written, which zcert_load and pyzmq's zmq.auth read. */
static void keys_certificate(zcert_t *cert, bool secret, struct ald_buf *out)
{
    ald_buf_put_str(out, "# CURVE certificate, made by aldaba keys new curve\nmetadata\ncurve\n");
    ald_buf_printf(out, "    public-key = \"%s\"\n", zcert_public_txt(cert));
    if (secret)
        ald_buf_printf(out, "    secret-key = \"%s\"\n", zcert_secret_txt(cert));
}

static int keys_curve_files(struct ctl *ctl, zcert_t *cert, const char *path)
{
    char secret[ALD_PATH_MAX + 16];
    struct ald_buf text;
    ald_buf_init(&text, KEYS_TEXT_MAX);
    if (snprintf(secret, sizeof secret, "%s_secret", path) >= (int)sizeof secret) {
        ctl_say("The path of the file is too long.");
        return CTL_USAGE;
    }
    keys_certificate(cert, true, &text);
    int code = keys_write(secret, ald_buf_span(&text));
    explicit_bzero(text.data, text.len);
    ald_buf_reset(&text);
    if (code == CTL_OK) {
        keys_certificate(cert, false, &text);
        code = keys_write(path, ald_buf_span(&text));
        if (code != CTL_OK)
            (void)unlink(secret);
    }
    ald_buf_free(&text);
    if (code == CTL_OK) {
        keys_told(ctl, secret, "the pair; it stays here");
        keys_told(ctl, path, "its public half, for the others");
    }
    return code;
}

static int keys_curve(struct ctl *ctl, const char *path)
{
    zsys_handler_set(NULL);
    if (!zsys_has_curve()) {
        ctl_say("The ZeroMQ library of this machine was built without CURVE; take another one.");
        return CTL_FAILED;
    }
    zcert_t *cert = zcert_new();
    int code = cert != NULL ? keys_curve_files(ctl, cert, path) : CTL_FAILED;
    zcert_destroy(&cert);
    return code;
}

int keys_new(struct ctl *ctl, const struct args *args)
{
    static const struct {
        const char *kind;
        bool file; /* it needs one */
        int (*make)(struct ctl *ctl, const char *path);
    } kinds[] = {
        {"callback", true, keys_callback}, {"curve", true, keys_curve}, {"api", false, keys_api}};
    const char *names[ALD_COUNT(kinds)];
    const char *path = args->words > 1 ? args->word[1] : NULL;
    for (size_t i = 0; i < ALD_COUNT(kinds); i++) {
        names[i] = kinds[i].kind;
        if (strcmp(args->word[0], kinds[i].kind) != 0)
            continue;
        if (path != NULL || !kinds[i].file)
            return kinds[i].make(ctl, path);
        ctl_say("Say into which file: aldaba keys new %s FILE", kinds[i].kind);
        return CTL_USAGE;
    }
    const char *near = ald_text_nearest(args->word[0], names, ALD_COUNT(kinds));
    ctl_say("There are no keys of the kind %s; there are callback, curve and api%s%s%s",
            CTL_SAFE(args->word[0]), near ? ". Did you mean " : "", near ? near : "",
            near ? "?" : ".");
    return CTL_USAGE;
}

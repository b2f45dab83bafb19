/* The command that has a task submitted: its words become the body of the request. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/codec.h"
#include "common/config/file.h"
#include "services/ctl/commands.h"

enum { SUBMIT_BODY_MAX = 1 << 20 };

/* Append a JSON string. False: it is not UTF-8. */
static bool submit_string(struct ald_buf *out, const char *text, size_t len)
{
    json_t *value = json_stringn(text, len);
    char *written = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (written)
        ald_buf_put_str(out, written);
    free(written);
    json_decref(value);
    return written != NULL;
}

/* Append `,"name":`, the comma where something stands before. */
static bool submit_name(struct ald_buf *out, const char *name, size_t len)
{
    if (out->len > 0)
        ald_buf_put_byte(out, ',');
    bool good = submit_string(out, name, len);
    ald_buf_put_byte(out, ':');
    return good;
}

static bool submit_file(struct ald_buf *out, const char *path)
{
    struct ald_buf bytes;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    ald_buf_init(&bytes, SUBMIT_BODY_MAX);
    enum ald_rc rc = ald_file_read(path, &bytes);
    if (rc == ALD_TOOBIG)
        ctl_say("%s is too large: parameters and files may have 960 KiB together, written as "
                "base64.",
                CTL_SAFE(path));
    else if (rc != ALD_OK)
        ctl_say("%s can't be read.", CTL_SAFE(path));
    bool good = rc == ALD_OK;
    if (good) {
        ald_buf_put_str(out, "{\"name\":");
        good = submit_string(out, name, strlen(name));
        ald_buf_put_str(out, ",\"content\":\"");
        ald_base64_encode(out, ald_buf_span(&bytes));
        ald_buf_put_str(out, "\"}");
    }
    ald_buf_free(&bytes);
    return good;
}

/* k=text, k:=JSON or k=@file. */
static bool submit_word(const char *word, struct ald_buf *params, struct ald_buf *files)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word) {
        ctl_say("\"%s\" is no parameter: write k=text, k:=JSON or k=@file.", CTL_SAFE(word));
        return false;
    }
    bool json = equals[-1] == ':' && equals - 1 > word;
    size_t len = (size_t)(equals - word) - (json ? 1 : 0);
    const char *value = equals + 1;
    struct ald_json parsed;
    struct ald_span tail;
    if (json && (ald_json_scan(ald_span_str(value), &parsed, &tail) != ALD_OK || tail.len > 0)) {
        ctl_say("The value of %s is no JSON.", CTL_SAFE(word));
        return false;
    }
    if (!json && value[0] == '@')
        return submit_name(files, word, len) && submit_file(files, value + 1);
    bool good = submit_name(params, word, len);
    if (json)
        ald_buf_put_span(params, parsed.raw);
    else
        good = good && submit_string(params, value, strlen(value));
    if (!good)
        ctl_say("\"%s\" is not UTF-8; give it as a file.", CTL_SAFE(word));
    return good;
}

static void submit_group(struct ald_buf *body, const char *name, const struct ald_buf *members)
{
    ald_buf_printf(body, ",\"%s\":{", name);
    ald_buf_put_span(body, ald_buf_span(members));
    ald_buf_put_byte(body, '}');
}

bool submit_body(const struct args *args, struct ald_buf *body)
{
    struct ald_buf params;
    struct ald_buf files;
    bool good = true;
    ald_buf_init(&params, SUBMIT_BODY_MAX);
    ald_buf_init(&files, SUBMIT_BODY_MAX);
    for (size_t i = 1; i < args->words && good; i++)
        good = submit_word(args->word[i], &params, &files);
    ald_buf_put_str(body, "{\"provider\":");
    good = good && submit_string(body, args->word[0], strlen(args->word[0]));
    if (good && args_has(args, ARG_META)) {
        ald_buf_put_str(body, ",\"meta\":");
        good = submit_string(body, args->text[ARG_META], strlen(args->text[ARG_META]));
    }
    submit_group(body, "params", &params);
    if (files.len > 0)
        submit_group(body, "files", &files);
    ald_buf_put_byte(body, '}');
    if (good && (!ald_buf_ok(body) || !ald_buf_ok(&params) || !ald_buf_ok(&files))) {
        ctl_say("The parameters and files are too large: 960 KiB together, files as base64.");
        good = false;
    }
    ald_buf_free(&params);
    ald_buf_free(&files);
    return good;
}

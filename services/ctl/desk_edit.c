/* `dlq edit`: other parts of a message, from options or out of an editor. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/file.h"
#include "services/ctl/commands.h"
#include "services/ctl/desk.h"

enum { EDIT_BODY_MAX = 2 << 20, EDIT_FILE_MAX = 1 << 20, EDIT_PATH_MAX = 512 };

extern char **environ;

/* What can be edited: the option, the member of the request, and where a letter shows it. */
static const struct edit_part {
    enum arg arg;
    const char *name;
    const char *base64; /* NULL: text only */
    const char *shown;
} EDIT_PARTS[] = {
    {ARG_QUERY, "query", "query_base64", "/original/query"},
    {ARG_BODY, "body", "body_base64", "/original/body"},
    {ARG_TYPE, "content_type", NULL, "/original/content_type"},
    {ARG_HEADERS, "headers", NULL, "/original/headers"},
};

/* ---- by options ---- */

static bool edit_value(const char *value, struct ald_buf *out)
{
    if (value[0] != '@') {
        ald_buf_put_str(out, value);
        return true;
    }
    enum ald_rc rc = ald_file_read(value + 1, out);
    if (rc == ALD_TOOBIG)
        ctl_say("%s is larger than 1 MiB.", CTL_SAFE(value + 1));
    else if (rc != ALD_OK)
        ctl_say("%s can't be read.", CTL_SAFE(value + 1));
    return rc == ALD_OK;
}

static bool edit_option(const struct args *args, const struct edit_part *part, struct ald_buf *body)
{
    struct ald_buf value;
    ald_buf_init(&value, EDIT_FILE_MAX);
    bool good = edit_value(args->text[part->arg], &value);
    struct ald_span bytes = ald_buf_span(&value);
    bool text =
        ald_text_utf8_ok(bytes) && (bytes.len == 0 || memchr(bytes.data, '\0', bytes.len) == NULL);
    if (good && !text && part->base64 == NULL) {
        ctl_say("%s is not text.", part->name);
        good = false;
    }
    ald_buf_printf(body, ",\"%s\":", text ? part->name : part->base64 ? part->base64 : "");
    if (text) {
        desk_string(body, bytes);
    } else {
        ald_buf_put_byte(body, '"');
        ald_base64_encode(body, bytes);
        ald_buf_put_byte(body, '"');
    }
    ald_buf_free(&value);
    return good;
}

static bool edit_by_options(const struct args *args, struct ald_buf *body)
{
    for (size_t i = 0; i < ALD_COUNT(EDIT_PARTS); i++)
        if (args_has(args, EDIT_PARTS[i].arg) && !edit_option(args, &EDIT_PARTS[i], body))
            return false;
    return true;
}

static bool edit_has_options(const struct args *args)
{
    for (size_t i = 0; i < ALD_COUNT(EDIT_PARTS); i++)
        if (args_has(args, EDIT_PARTS[i].arg))
            return true;
    return false;
}

/* ---- by an editor ---- */

/* The parts of a letter that are text, as an object. */
static json_t *edit_parts_of(struct ald_json letter)
{
    json_t *parts = json_object();
    for (size_t i = 0; i < ALD_COUNT(EDIT_PARTS); i++) {
        struct ald_buf text;
        if (ald_json_find(letter, EDIT_PARTS[i].shown).kind != ALD_JSON_STRING)
            continue; /* bytes that are no text are edited by --body @FILE */
        ald_buf_init(&text, API_ANSWER_MAX);
        pick_text(letter, EDIT_PARTS[i].shown, &text);
        json_t *value = json_stringn(ald_buf_str(&text), text.len);
        if (value != NULL)
            (void)json_object_set_new(parts, EDIT_PARTS[i].name, value);
        ald_buf_free(&text);
    }
    return parts;
}

static bool edit_run(const char *path)
{
    static char shell[] = "sh", option[] = "-c", name[] = "aldaba",
                script[] = "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"";
    char *const words[] = {shell, option, script, name, (char *)(uintptr_t)path, NULL};
    pid_t pid;
    int status = 0;
    if (posix_spawnp(&pid, shell, NULL, NULL, words, environ) != 0)
        return false;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Write parts, let a person edit them, read them back. NULL: said why. */
static json_t *edit_in_file(const json_t *parts)
{
    char path[EDIT_PATH_MAX];
    const char *dir = getenv("TMPDIR");
    json_error_t error = {.text = "it is larger than 1 MiB"};
    (void)snprintf(path, sizeof path, "%s/aldaba-letter-XXXXXX.json",
                   dir != NULL && dir[0] != '\0' ? dir : "/tmp");
    int fd = mkstemps(path, (int)strlen(".json"));
    if (fd < 0) {
        ctl_say("%s can't be made: %s.", CTL_SAFE(path), strerror(errno));
        return NULL;
    }
    bool good = json_dumpfd(parts, fd, JSON_INDENT(2)) == 0 && write(fd, "\n", 1) == 1;
    (void)close(fd);
    json_t *edited = NULL;
    struct ald_buf text;
    ald_buf_init(&text, EDIT_FILE_MAX);
    if (good && !edit_run(path))
        ctl_say("The editor failed; nothing was changed. $EDITOR says which one is used.");
    else if (good && ald_file_read(path, &text) == ALD_OK)
        edited = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    if (good && text.len > 0 && !json_is_object(edited))
        ctl_say("What the editor left is no JSON object: %s (line %d). Nothing was changed.",
                CTL_SAFE(error.text), error.line);
    ald_buf_free(&text);
    (void)unlink(path);
    if (json_is_object(edited))
        return edited;
    json_decref(edited);
    return NULL;
}

/* Append what is another now. */
static size_t edit_changes(json_t *before, json_t *after, struct ald_buf *body)
{
    size_t changed = 0;
    for (size_t i = 0; i < ALD_COUNT(EDIT_PARTS); i++) {
        const char *name = EDIT_PARTS[i].name;
        json_t *now = json_object_get(after, name);
        if (!json_is_string(now) || json_equal(json_object_get(before, name), now))
            continue;
        ald_buf_printf(body, ",\"%s\":", name);
        desk_string(body, ald_span_of(json_string_value(now), json_string_length(now)));
        changed++;
    }
    return changed;
}

static bool edit_by_editor(struct ald_json letter, struct ald_buf *body)
{
    json_t *before = edit_parts_of(letter);
    json_t *after = NULL;
    size_t changed = 0;
    if (!isatty(STDIN_FILENO))
        ctl_say("There is no terminal for an editor: say what to change by --query, --body, --type "
                "or --headers.");
    else
        after = edit_in_file(before);
    if (after != NULL) {
        changed = edit_changes(before, after, body);
        if (changed == 0)
            ctl_say("Nothing was changed.");
    }
    json_decref(after);
    json_decref(before);
    return changed > 0;
}

/* ---- the command ---- */

int desk_edit(struct ctl *ctl, const struct args *args)
{
    struct ald_json letter;
    struct ald_buf body;
    int code = desk_ask(ctl, NULL, args->word[0], "", NULL, &letter);
    if (code != CTL_OK)
        return code;
    int64_t revision = pick_int(letter, "/revision");
    if (args_has(args, ARG_REVISION))
        revision = (int64_t)args->number[ARG_REVISION];
    ald_buf_init(&body, EDIT_BODY_MAX);
    desk_body(args, &body);
    ald_buf_printf(&body, ",\"revision\":%lld", (long long)revision);
    bool good =
        edit_has_options(args) ? edit_by_options(args, &body) : edit_by_editor(letter, &body);
    ald_buf_put_byte(&body, '}');
    code = CTL_FAILED;
    if (good)
        code = desk_ask(ctl, "PATCH", args->word[0], "", ald_buf_str(&body), &letter);
    if (good && code == CTL_OK && ctl_json(ctl))
        pick_line(letter, &ctl->out);
    else if (good && code == CTL_OK && !args_has(args, ARG_QUIET))
        ald_buf_printf(&ctl->out,
                       "edited: %s is revision %lld; replay it with 'aldaba dlq replay'\n",
                       CTL_SAFE(args->word[0]), (long long)pick_int(letter, "/revision"));
    ald_buf_free(&body);
    return code;
}

#include "services/ctl/man.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/setting_value.h"
#include "common/config/settings.h"
#include "common/config/sinks.h"
#include "services/ctl/commands.h"
#include "services/ctl/manual.h"

/* ---- roff ---- */

/* A text as it is: no character of it is a request or an escape. */
static void man_text(struct ald_buf *out, const char *text, size_t len)
{
    bool begin = true; /* of a line */
    for (size_t i = 0; i < len; i++) {
        if (begin && (text[i] == '.' || text[i] == '\''))
            ald_buf_put_str(out, "\\&");
        begin = text[i] == '\n';
        if (text[i] == '\\')
            ald_buf_put_str(out, "\\e");
        else if (text[i] == '-')
            ald_buf_put_str(out, "\\-");
        else if (text[i] == '\'')
            ald_buf_put_str(out, "\\(aq");
        else if (text[i] == '`')
            ald_buf_put_str(out, "\\(ga");
        else if (text[i] == '^')
            ald_buf_put_str(out, "\\(ha");
        else if (text[i] == '~')
            ald_buf_put_str(out, "\\(ti");
        else
            ald_buf_put_byte(out, (uint8_t)text[i]);
    }
}

static void man_str(struct ald_buf *out, const char *text)
{
    man_text(out, text, strlen(text));
}

/* Lines of their own: a list with columns, or examples. */
static void man_lines(struct ald_buf *out, const char *text, size_t len)
{
    ald_buf_put_str(out, ".nf\n");
    man_text(out, text, len);
    ald_buf_put_str(out, len > 0 && text[len - 1] == '\n' ? ".fi\n" : "\n.fi\n");
}

/* A paragraph that is a list has two spaces between its columns. */
static bool man_is_list(const char *text, size_t len)
{
    return memmem(text, len, "  ", 2) != NULL;
}

/* Paragraphs, with an empty line between them. */
static void man_paragraphs(struct ald_buf *out, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        const char *end = strstr(at, "\n\n");
        size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
        if (at != text)
            ald_buf_put_str(out, ".PP\n");
        if (man_is_list(at, len)) {
            man_lines(out, at, len);
        } else {
            man_text(out, at, len);
            ald_buf_put_byte(out, '\n');
        }
        at += len + (end != NULL ? 2 : 0);
    }
}

/* "CODE what" lines. */
static void man_codes(struct ald_buf *out, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t code = strcspn(text, " ");
        ald_buf_printf(out, ".TP\n.B %.*s\n", (int)code, text);
        man_text(out, text + code + 1, len - code - 1);
        ald_buf_put_byte(out, '\n');
        text += len + (text[len] == '\n');
    }
}

/* ---- commands ---- */

static void man_option(struct ald_buf *out, enum arg arg)
{
    const struct args_option *option = args_option_of(arg);
    ald_buf_put_str(out, ".TP\n");
    if (option->letter != 0)
        ald_buf_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    ald_buf_put_str(out, "\\fB\\-\\-");
    man_str(out, option->name);
    ald_buf_put_str(out, "\\fR");
    if (option->value != NULL)
        ald_buf_printf(out, " \\fI%s\\fR", option->value);
    ald_buf_put_byte(out, '\n');
    man_str(out, option->help);
    ald_buf_put_str(out, ".\n");
}

static void man_options(struct ald_buf *out)
{
    for (int i = 0; i < ARG_COMMON_COUNT; i++)
        man_option(out, (enum arg)i);
}

static void man_command(struct ald_buf *out, const struct command *command)
{
    const struct manual *manual = manual_of(command->name);
    ald_buf_put_str(out, ".SS \"aldaba ");
    man_str(out, command->name);
    ald_buf_printf(out, "%s", command->args[0] ? " " : "");
    man_str(out, command->args);
    ald_buf_put_str(out, "\"\n");
    man_paragraphs(out, manual ? manual->about : command->summary);
    for (int i = ARG_COMMON_COUNT; i < ARGS_COUNT; i++)
        if (command->options & ARG_BIT(i))
            man_option(out, (enum arg)i);
    if (manual && manual->exits) {
        ald_buf_put_str(out, ".PP\nExit status:\n");
        man_codes(out, manual->exits);
    }
    if (manual) {
        ald_buf_put_str(out, ".PP\nExamples:\n.PP\n.RS 4\n");
        man_lines(out, manual->examples, strlen(manual->examples));
        ald_buf_put_str(out, ".RE\n");
    }
}

/* ---- settings ---- */

static bool man_in_group(const char *key, struct ald_span group)
{
    size_t len = strcspn(key, ".");
    return ald_span_eq(ald_span_of(key, len), group);
}

static const char *man_kind(const struct ald_setting *row)
{
    switch (row->kind) {
    case ALD_SETTING_TEXT:
        return "text";
    case ALD_SETTING_PATH:
        return "path";
    case ALD_SETTING_ADDRESS:
        return "address:port";
    case ALD_SETTING_SECRET:
        return "{env: NAME} or {file: PATH}";
    case ALD_SETTING_WORD:
        return "one of: ";
    case ALD_SETTING_INT:
        return "number";
    case ALD_SETTING_PERCENT:
        return "percent";
    case ALD_SETTING_BOOL:
        return "true or false";
    case ALD_SETTING_DURATION:
        return (row->flags & ALD_SETTING_AUTO) != 0 ? "time, or auto" : "time";
    case ALD_SETTING_BYTES:
        return "size";
    case ALD_SETTING_LIST:
        return (row->flags & ALD_SETTING_MASKED) != 0 ? "list of {env: NAME} or {file: PATH}"
                                                      : "list";
    }
    return "";
}

/* A bound as people write it. */
static void man_bound(struct ald_buf *out, const struct ald_setting *row, int64_t value)
{
    if (row->kind == ALD_SETTING_BYTES) {
        uint64_t bytes = (uint64_t)value;
        ald_setting_write(row, &bytes, out);
    } else {
        ald_setting_write(row, &value, out);
    }
}

static void man_setting(struct ald_buf *out, const struct ald_setting *row)
{
    ald_buf_put_str(out, ".TP\n\\fB");
    man_str(out, row->key);
    ald_buf_put_str(out, "\\fR (");
    man_str(out, man_kind(row));
    if (row->kind == ALD_SETTING_WORD)
        man_str(out, row->words);
    if (row->min != 0 || row->max != 0) {
        struct ald_buf bounds;
        ald_buf_init(&bounds, 256);
        man_bound(&bounds, row, row->min);
        ald_buf_put_str(&bounds, " to ");
        man_bound(&bounds, row, row->max);
        ald_buf_put_str(out, ", ");
        man_str(out, ald_buf_str(&bounds));
        ald_buf_free(&bounds);
    }
    ald_buf_put_str(out, ")\n");
    man_str(out, row->help);
    ald_buf_put_byte(out, '\n');
    if (row->text[0] != '\0') {
        ald_buf_put_str(out, "Default: ");
        man_str(out, row->text);
        ald_buf_put_str(out, ".\n");
    }
    if ((row->flags & ALD_SETTING_RELOAD) != 0)
        ald_buf_put_str(out, "Taken over on SIGHUP.\n");
}

static void man_settings(struct ald_buf *out, struct ald_span groups)
{
    const struct ald_setting_table *table = ald_settings_table();
    while (groups.len > 0) {
        size_t len = ald_span_find(groups, ' ');
        for (size_t i = 0; i < table->count; i++)
            if (man_in_group(table->rows[i].key, ald_span_of(groups.data, len)))
                man_setting(out, &table->rows[i]);
        groups = ald_span_skip(groups, len < groups.len ? len + 1 : len);
    }
}

/* ---- pages ---- */

static bool man_begins(struct ald_span line, const char *word, struct ald_span *rest)
{
    size_t len = strlen(word);
    if (line.len <= len || memcmp(line.data, word, len) != 0)
        return false;
    *rest = ald_span_skip(line, len);
    return true;
}

/* False: there is no such part. */
static bool man_part(struct ald_span line, struct ald_buf *out)
{
    struct ald_span rest;
    if (man_begins(line, "@title ", &rest))
        ald_buf_printf(out, ".TH %.*s \"aldaba " ALDABA_VERSION "\" \"aldaba\"\n", (int)rest.len,
                       (const char *)rest.data);
    else if (ald_span_eq_str(line, "@sinks"))
        for (size_t i = 0; i < ald_sinks_table()->count; i++)
            man_setting(out, &ald_sinks_table()->rows[i]);
    else if (ald_span_eq_str(line, "@commands"))
        for (size_t i = 0; i < COMMANDS_COUNT; i++)
            man_command(out, &COMMANDS[i]);
    else if (ald_span_eq_str(line, "@options"))
        man_options(out);
    else if (ald_span_eq_str(line, "@exits"))
        man_codes(out, MANUAL_EXITS);
    else if (man_begins(line, "@settings ", &rest))
        man_settings(out, rest);
    else
        return false;
    return true;
}

enum ald_rc man_page(struct ald_span template, struct ald_buf *out, struct ald_err *err)
{
    for (unsigned number = 1; template.len > 0; number++) {
        size_t len = ald_span_find(template, '\n');
        struct ald_span line = ald_span_of(template.data, len);
        template = ald_span_skip(template, len < template.len ? len + 1 : len);
        if (line.len == 0 || line.data[0] != '@') {
            ald_buf_put_span(out, line);
            ald_buf_put_byte(out, '\n');
        } else if (!man_part(line, out)) {
            return ald_err_set(err, ALD_INVALID, "line %u: there is no part %.*s", number,
                               (int)(line.len < 40 ? line.len : 40), (const char *)line.data);
        }
    }
    return ALD_OK;
}

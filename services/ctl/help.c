#include "services/ctl/help.h"

#include <string.h>

#include "common/base/span.h"
#include "services/ctl/commands.h"
#include "services/ctl/manual.h"

enum {
    HELP_NAME_MAX = 40,
    HELP_OPTION_INDENT = 24, /* where what an option means begins */
    HELP_INDENT = 18,        /* the same of a command */
    HELP_COLUMNS = 78
};

/* A sentence, broken where it is too long; what follows begins at `indent`, too. */
static void help_wrap(const char *text, size_t indent, struct ald_buf *out)
{
    const size_t room = HELP_COLUMNS - indent;
    while (strlen(text) > room) {
        size_t len = room;
        while (len > 0 && text[len] != ' ')
            len--;
        if (len == 0)
            break;
        ald_buf_printf(out, "%.*s\n%*s", (int)len, text, (int)indent, "");
        text += len + 1;
    }
    ald_buf_printf(out, "%s\n", text);
}

static void help_option(enum arg arg, struct ald_buf *out)
{
    const struct args_option *option = args_option_of(arg);
    struct ald_buf text;
    ald_buf_init(&text, HELP_NAME_MAX);
    if (option->letter)
        ald_buf_printf(&text, "-%c, ", option->letter);
    else
        ald_buf_put_str(&text, "    ");
    ald_buf_printf(&text, "--%s", option->name);
    if (option->value)
        ald_buf_printf(&text, " %s", option->value);
    ald_buf_printf(out, "  %-*s ", HELP_OPTION_INDENT - 3, ald_buf_str(&text));
    help_wrap(option->help, HELP_OPTION_INDENT, out);
    ald_buf_free(&text);
}

/* Lines of a text, each a little to the right. */
static void help_lines(const char *text, struct ald_buf *out)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            ald_buf_printf(out, "  %.*s", (int)len, text);
        ald_buf_put_byte(out, '\n');
        text += text[len] == '\n' ? len + 1 : len;
    }
}

static void help_common(struct ald_buf *out)
{
    ald_buf_put_str(out, "\nwith every command:\n");
    for (int i = 0; i < ARG_COMMON_COUNT; i++)
        help_option((enum arg)i, out);
}

static void help_row(const struct command *command, struct ald_buf *out)
{
    ald_buf_printf(out, "  %-*s", HELP_INDENT - 2, command->name);
    help_wrap(command->summary, HELP_INDENT, out);
}

void help_all(const struct command *commands, size_t count, struct ald_buf *out)
{
    ald_buf_put_str(out, "aldaba COMMAND ... - ask and command a running aldaba\n\n");
    for (size_t i = 0; i < count; i++)
        help_row(&commands[i], out);
    ald_buf_put_str(out, "\n'aldaba help COMMAND' tells more about one.\n");
    help_common(out);
    ald_buf_put_str(out, "\nexit codes:\n");
    help_lines(MANUAL_EXITS, out);
}

void help_group(const struct command *commands, size_t count, const char *group,
                struct ald_buf *out)
{
    size_t len = strlen(group);
    ald_buf_printf(out, "aldaba %s ...\n\n", group);
    for (size_t i = 0; i < count; i++)
        if (strncmp(commands[i].name, group, len) == 0 && commands[i].name[len] == ' ')
            help_row(&commands[i], out);
    ald_buf_put_str(out, "\n'aldaba help COMMAND' tells more about one.\n");
}

void help_one(const struct command *one, struct ald_buf *out)
{
    const struct manual *manual = manual_of(one->name);
    ald_buf_printf(out, "aldaba %s%s%s\n\n", one->name, one->args[0] ? " " : "", one->args);
    ald_buf_printf(out, "%s\n", manual ? manual->about : one->summary);
    if (one->options)
        ald_buf_put_str(out, "\noptions:\n");
    for (int i = ARG_COMMON_COUNT; i < ARGS_COUNT; i++)
        if (one->options & ARG_BIT(i))
            help_option((enum arg)i, out);
    help_common(out);
    if (manual) {
        ald_buf_put_str(out, "\nexamples:\n");
        help_lines(manual->examples, out);
    }
    ald_buf_put_str(out, "\nexit codes:\n");
    if (manual && manual->exits)
        help_lines(manual->exits, out);
    ald_buf_put_str(out, manual && manual->exits ? "  and as of every command:\n" : "");
    help_lines(MANUAL_EXITS, out);
}

int help_show(struct ctl *ctl, const struct args *args)
{
    char name[HELP_NAME_MAX];
    struct ald_err err = {0};
    const char *first = args->words > 0 ? args->word[0] : NULL;
    const char *second = args->words > 1 ? args->word[1] : NULL;
    if (first == NULL) {
        help_all(COMMANDS, COMMANDS_COUNT, &ctl->out);
        return CTL_OK;
    }
    (void)snprintf(name, sizeof name, "%s%s%s", first, second ? " " : "", second ? second : "");
    const struct command *one = args_command(COMMANDS, COMMANDS_COUNT, name);
    if (one != NULL)
        help_one(one, &ctl->out);
    else if (second == NULL && args_group(COMMANDS, COMMANDS_COUNT, first) > 0)
        help_group(COMMANDS, COMMANDS_COUNT, first, &ctl->out);
    else
        (void)!args_no_command(COMMANDS, COMMANDS_COUNT, first, second, &err);
    if (err.text[0] != '\0')
        ctl_say("%s", CTL_SAFE(err.text));
    return err.text[0] != '\0' ? CTL_USAGE : CTL_OK;
}

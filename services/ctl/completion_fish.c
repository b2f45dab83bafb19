#include "services/ctl/completion.h"

#include <string.h>

/* A text in single quotes. */
static void completion_quoted(const char *text, struct ald_buf *out)
{
    ald_buf_put_byte(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            ald_buf_put_byte(out, '\\');
        ald_buf_put_byte(out, (uint8_t)*text);
    }
    ald_buf_put_byte(out, '\'');
}

/* "-a 'words'", with what stands for files and names. */
static void completion_fish_words(const char *words, struct ald_buf *out)
{
    if (strstr(words, COMPLETION_FILES) != NULL)
        ald_buf_put_str(out, " -F");
    if (strstr(words, COMPLETION_PROVIDERS) != NULL)
        ald_buf_put_str(out, " -a '(aldaba provider ls -q 2>/dev/null)'");
    if (strstr(words, COMPLETION_CONSUMERS) != NULL)
        ald_buf_put_str(out, " -a '(aldaba consumers ls -q 2>/dev/null)'");
    if (words[0] != '\0' && words[0] != '<')
        ald_buf_printf(out, " -a '%.*s'", (int)strcspn(words, "<"), words);
}

static void completion_fish_option(const struct command *command, enum arg arg, struct ald_buf *out)
{
    const struct args_option *option = args_option_of(arg);
    struct ald_buf value;
    ald_buf_init(&value, COMPLETION_TEXT_MAX);
    ald_buf_printf(out, "complete -c aldaba -n '__aldaba_is %s' -l %s", command->name,
                   option->name);
    if (option->letter != 0)
        ald_buf_printf(out, " -s %c", option->letter);
    if (option->value != NULL) {
        completion_value(command, arg, &value);
        ald_buf_put_str(out, " -r");
        completion_fish_words(ald_buf_str(&value), out);
    }
    ald_buf_put_str(out, " -d ");
    completion_quoted(option->help, out);
    ald_buf_put_byte(out, '\n');
    ald_buf_free(&value);
}

static void completion_fish_command(const struct command *command, struct ald_buf *out)
{
    struct ald_buf words;
    const char *space = strchr(command->name, ' ');
    ald_buf_init(&words, COMPLETION_TEXT_MAX);
    (void)completion_words(command, COMPLETION_ALL, &words);
    if (space != NULL)
        ald_buf_printf(out, "complete -c aldaba -n '__aldaba_at %.*s' -a %s -d ",
                       (int)(space - command->name), command->name, space + 1);
    else
        ald_buf_printf(out, "complete -c aldaba -n __aldaba_at -a %s -d ", command->name);
    completion_quoted(command->summary, out);
    ald_buf_put_byte(out, '\n');
    if (words.len > 0) {
        ald_buf_printf(out, "complete -c aldaba -n '__aldaba_is %s'", command->name);
        completion_fish_words(ald_buf_str(&words), out);
        ald_buf_put_byte(out, '\n');
    }
    for (unsigned i = ARG_COMMON_COUNT; i < ARGS_COUNT; i++)
        if (completion_takes(command, (enum arg)i))
            completion_fish_option(command, (enum arg)i, out);
    ald_buf_free(&words);
}

/* The first of two words, once. */
static void completion_fish_group(size_t at, struct ald_buf *out)
{
    size_t len = completion_first(&COMMANDS[at]);
    if (COMMANDS[at].name[len] == ' ' && !completion_again(at))
        ald_buf_printf(out, "complete -c aldaba -n __aldaba_at -a %.*s\n", (int)len,
                       COMMANDS[at].name);
}

/* An option that every command takes. */
static void completion_fish_common(enum arg arg, struct ald_buf *out)
{
    const struct args_option *option = args_option_of(arg);
    ald_buf_printf(out, "complete -c aldaba -l %s", option->name);
    if (option->letter != 0)
        ald_buf_printf(out, " -s %c", option->letter);
    if (option->value != NULL)
        ald_buf_put_str(out, strcmp(option->value, "FILE") == 0 ? " -r -F" : " -r");
    ald_buf_put_str(out, " -d ");
    completion_quoted(option->help, out);
    ald_buf_put_byte(out, '\n');
}

void completion_fish(struct ald_buf *out)
{
    ald_buf_put_str(
        out,
        "# Completions of aldaba for fish, made by `aldaba completion fish`.\n"
        "# The words before the cursor that are no options: those given, and no other; or these "
        "first.\n"
        "function __aldaba_words\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        string match -q -- '-*' $word; or echo $word\n"
        "    end\n"
        "end\n"
        "function __aldaba_at\n"
        "    set -l words (__aldaba_words)\n"
        "    test \"$words\" = \"$argv\"\n"
        "end\n"
        "function __aldaba_is\n"
        "    set -l words (__aldaba_words)\n"
        "    set -l length (count $argv)\n"
        "    test (count $words) -ge $length; and test \"$words[1..$length]\" = \"$argv\"\n"
        "end\n"
        "complete -c aldaba -f\n");
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        completion_fish_group(i, out);
        completion_fish_command(&COMMANDS[i], out);
    }
    for (unsigned i = 0; i < ARG_COMMON_COUNT; i++)
        completion_fish_common((enum arg)i, out);
}

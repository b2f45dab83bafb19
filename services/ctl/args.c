#include "services/ctl/args.h"

#include <argp.h>
#include <string.h>

#include "common/base/span.h"
#include "common/base/text.h"

enum { ARGS_KEY_BASE = 0x100, ARGS_NAMES_MAX = 64, ARGS_WORD_SHOWN = 256 };

/* name, letter, what its value is called, what it is */
static const struct args_option {
    const char *name;
    int letter;
    const char *value; /* NULL: a flag */
    bool number;
    const char *help;
} ARGS_OPTIONS[ARGS_COUNT] = {
    [ARG_URL] = {"url", 0, "URL", false, "The gateway's API (else $ALDABA_URL, else the settings)"},
    [ARG_CONFIG] = {"config", 'c', "FILE", false, "Settings file"},
    [ARG_JSON] = {"json", 0, NULL, false, "JSON on stdout, one line for each thing"},
    [ARG_NO_COLOR] = {"no-color", 0, NULL, false, "No colours, as with NO_COLOR"},
    [ARG_QUIET] = {"quiet", 'q', NULL, false, "Ids only, or nothing but the exit code"},
    [ARG_HELP] = {"help", 'h', NULL, false, "This help"},
    [ARG_VERSION] = {"version", 'V', NULL, false, "The version"},
    [ARG_KEY] = {"key", 0, "KEY", false, "Idempotency key: the same key gives the same task"},
    [ARG_META] = {"meta", 0, "TEXT", false, "A note that comes back in the result event"},
    [ARG_WAIT] = {"wait", 0, NULL, false,
                  "Wait until the task has ended; exit code 0 if it is done, else 1"},
    [ARG_STATE] = {"state", 0, "STATE", false, "Only those in this state"},
    [ARG_PROVIDER] = {"provider", 0, "NAME", false, "Only those of this provider"},
    [ARG_REASON] = {"reason", 0, "REASON", false, "Only letters with this reason"},
    [ARG_TASK] = {"task", 0, "ID", false, "Only letters about this task"},
    [ARG_FIND] = {"find", 0, "ID", false, "Only the task with this id, provider's id or key"},
    [ARG_LIMIT] = {"limit", 0, "N", true, "At most so many (0: all)"},
    [ARG_FROM] = {"from", 0, "POSITION", false,
                  "Begin at `new`, `all` or after a position, as `tail` prints it"},
    [ARG_AFTER] = {"after", 0, "POSITION", false, "The same as --from"},
    [ARG_COUNT] = {"count", 'n', "N", true, "End after so many events"},
    [ARG_DEEP] = {"deep", 0, NULL, false,
                  "Also count all rows again and hold them against the books"},
    [ARG_BELIEVE] = {"believe", 0, NULL, false, "Vouch for a letter that could not prove itself"},
    [ARG_YES] = {"yes", 'y', NULL, false, "Do not ask"},
    [ARG_PATIENCE] = {"patience", 0, "TIME", false,
                      "Give up after so long without getting on (60s)"},
    [ARG_CONSUMER] = {"consumer", 0, "NAME", false,
                      "Begin where this consumer stands, with its filter"},
    [ARG_ACK] = {"ack", 0, NULL, false,
                 "Settle for the consumer what was printed; it is made if it is not there"},
};

static enum ald_rc args_take(struct args *args, enum arg arg, const char *value,
                             struct ald_err *err)
{
    const struct args_option *option = &ARGS_OPTIONS[arg];
    args->text[arg] = value ? value : "";
    if (!option->number)
        return ALD_OK;
    if (ald_text_u64(ald_span_str(value), &args->number[arg]) == ALD_OK)
        return ALD_OK;
    return ald_err_set(err, ALD_INVALID, "--%s takes a whole number, not '%.40s'.", option->name,
                       value);
}

/* What argp's callbacks share. */
struct args_reading {
    struct args *args;
    struct ald_err *err;
    enum ald_rc rc;
};

static const struct args_option *args_find(const char *name, int letter)
{
    for (size_t i = 0; i < ARGS_COUNT; i++)
        if (name ? strcmp(ARGS_OPTIONS[i].name, name) == 0 : ARGS_OPTIONS[i].letter == letter)
            return &ARGS_OPTIONS[i];
    return NULL;
}

static bool args_no_value(const struct args_option *option, struct ald_err *err)
{
    ald_err_set(err, ALD_INVALID, "--%s needs a value: --%s %s.", option->name, option->name,
                option->value);
    return true;
}

/* What is wrong with -abc. False: nothing, as far as can be seen. */
static bool args_letters_wrong(const char *letters, struct ald_err *err)
{
    for (; *letters != '\0'; letters++) {
        const struct args_option *option = args_find(NULL, *letters);
        if (!option) {
            ald_err_set(err, ALD_INVALID, "There is no option -%c; see 'aldaba --help'.", *letters);
            return true;
        }
        if (option->value)
            return letters[1] == '\0' && args_no_value(option, err);
    }
    return false;
}

/* The same of --abc or --abc=value, without the dashes. */
static bool args_name_wrong(const char *word, struct ald_err *err)
{
    const char *names[ARGS_COUNT];
    char name[ARGS_WORD_SHOWN];
    bool given = strchr(word, '=') != NULL;
    ald_text_cut(name, sizeof name, ald_span_of(word, strcspn(word, "=")));
    const struct args_option *option = args_find(name, 0);
    if (option && option->value)
        return !given && args_no_value(option, err);
    if (option && given)
        ald_err_set(err, ALD_INVALID, "--%s takes no value.", option->name);
    if (option)
        return given;
    for (size_t i = 0; i < ARGS_COUNT; i++)
        names[i] = ARGS_OPTIONS[i].name;
    const char *near = ald_text_nearest(name, names, ARGS_COUNT);
    if (near)
        ald_err_set(err, ALD_INVALID, "There is no option --%.60s; did you mean --%s?", name, near);
    else
        ald_err_set(err, ALD_INVALID, "There is no option --%.60s; see 'aldaba --help'.", name);
    return true;
}

static bool args_word_wrong(const char *word, struct ald_err *err)
{
    if (!word || word[0] != '-')
        return false;
    return word[1] == '-' ? args_name_wrong(word + 2, err) : args_letters_wrong(word + 1, err);
}

/* argp has stopped at an option: the last one that it took, or the one that comes now. */
static enum ald_rc args_option_wrong(const struct argp_state *state, struct ald_err *err)
{
    const char *last = state->next > 1 ? state->argv[state->next - 1] : NULL;
    const char *coming = state->next < state->argc ? state->argv[state->next] : NULL;
    if (args_word_wrong(last, err) || args_word_wrong(coming, err))
        return ALD_INVALID;
    return ald_err_set(err, ALD_INVALID, "An option is wrong; see 'aldaba --help'.");
}

static error_t args_read(int key, char *value, struct argp_state *state)
{
    struct args_reading *reading = state->input;
    struct args *args = reading->args;
    if (key == ARGP_KEY_ERROR && reading->rc == ALD_OK)
        reading->rc = args_option_wrong(state, reading->err);
    if (key == ARGP_KEY_ARG) {
        if (args->words == ARGS_WORDS_MAX) {
            reading->rc = ald_err_set(reading->err, ALD_INVALID, "That is too many words.");
            return EINVAL;
        }
        args->word[args->words++] = value;
        return 0;
    }
    for (int arg = 0; arg < ARGS_COUNT; arg++) {
        if (key != ARGS_OPTIONS[arg].letter && key != ARGS_KEY_BASE + arg)
            continue;
        reading->rc = args_take(args, (enum arg)arg, value, reading->err);
        return reading->rc == ALD_OK ? 0 : EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Options and words, in any order. */
static enum ald_rc args_split(int argc, char **argv, struct args *out, struct ald_err *err)
{
    struct argp_option options[ARGS_COUNT + 1] = {{0}};
    for (int i = 0; i < ARGS_COUNT; i++) {
        int letter = ARGS_OPTIONS[i].letter;
        options[i] = (struct argp_option){.name = ARGS_OPTIONS[i].name,
                                          .key = letter ? letter : ARGS_KEY_BASE + i,
                                          .arg = ARGS_OPTIONS[i].value};
    }
    struct args_reading reading = {.args = out, .err = err};
    struct argp argp = {.options = options, .parser = args_read};
    ald_err_set(err, ALD_OK, "%s", "");
    if (argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_NO_ERRS, NULL, &reading) ==
        0)
        return ALD_OK;
    if (reading.rc != ALD_OK)
        return reading.rc;
    return ald_err_set(err, ALD_INVALID, "'aldaba --help' lists what there is.");
}

/* How many of the words are the command's name; 0: none. */
static size_t args_name_words(const struct command *command, const struct args *args)
{
    const char *space = strchr(command->name, ' ');
    size_t first = space ? (size_t)(space - command->name) : strlen(command->name);
    if (args->words == 0 ||
        !ald_span_eq(ald_span_of(command->name, first), ald_span_str(args->word[0])))
        return 0;
    if (space == NULL)
        return 1;
    return args->words > 1 && strcmp(space + 1, args->word[1]) == 0 ? 2 : 0;
}

static enum ald_rc args_unknown(const struct command *commands, size_t count,
                                const struct args *args, struct ald_err *err)
{
    const char *names[ARGS_NAMES_MAX];
    const char *second = args->words > 1 ? args->word[1] : NULL;
    for (size_t i = 0; i < count; i++) {
        const char *space = strchr(commands[i].name, ' ');
        size_t first = space ? (size_t)(space - commands[i].name) : 0;
        if (space == NULL || strncmp(commands[i].name, args->word[0], first) != 0 ||
            args->word[0][first] != '\0')
            continue;
        if (second == NULL)
            return ald_err_set(err, ALD_INVALID, "'%s' needs a second word, as in '%s'.",
                               args->word[0], commands[i].name);
    }
    for (size_t i = 0; i < count && i < ARGS_NAMES_MAX; i++)
        names[i] = commands[i].name;
    struct ald_buf full;
    ald_buf_init(&full, ARGS_WORD_SHOWN);
    ald_buf_put_str(&full, args->word[0]);
    if (second != NULL)
        ald_buf_printf(&full, " %s", second);
    const char *near = ald_text_nearest(ald_buf_str(&full), names, count);
    const char *said = near && strchr(near, ' ') ? ald_buf_str(&full) : args->word[0];
    if (near == NULL)
        near = ald_text_nearest(args->word[0], names, count);
    enum ald_rc rc =
        near ? ald_err_set(err, ALD_INVALID, "There is no command '%.60s'; did you mean '%s'?",
                           said, near)
             : ald_err_set(err, ALD_INVALID, "There is no command '%.60s'; see 'aldaba --help'.",
                           said);
    ald_buf_free(&full);
    return rc;
}

static enum ald_rc args_check(const struct args *args, struct ald_err *err)
{
    const struct command *command = args->command;
    for (int i = ARG_COMMON_COUNT; i < ARGS_COUNT; i++) {
        if (args->text[i] != NULL && (command->options & ARG_BIT(i)) == 0)
            return ald_err_set(err, ALD_INVALID, "'%s' does not take --%s; see 'aldaba %s --help'.",
                               command->name, ARGS_OPTIONS[i].name, command->name);
    }
    if (args->words >= command->least && args->words <= command->most)
        return ALD_OK;
    return ald_err_set(err, ALD_INVALID, "Use it so: aldaba %s%s%s", command->name,
                       command->args[0] ? " " : "", command->args);
}

enum ald_rc args_parse(int argc, char **argv, const struct command *commands, size_t count,
                       struct args *out, struct ald_err *err)
{
    *out = (struct args){0};
    enum ald_rc rc = args_split(argc, argv, out, err);
    if (rc != ALD_OK)
        return rc;
    size_t named = 0;
    for (size_t i = 0; i < count && named == 0; i++) {
        named = args_name_words(&commands[i], out);
        if (named > 0)
            out->command = &commands[i];
    }
    out->words -= named;
    memmove(out->word, out->word + named, out->words * sizeof out->word[0]);
    if (args_has(out, ARG_HELP) || args_has(out, ARG_VERSION))
        return ALD_OK;
    if (out->command != NULL)
        return args_check(out, err);
    if (out->words > 0)
        return args_unknown(commands, count, out, err);
    return ald_err_set(err, ALD_INVALID, "Say what to do; 'aldaba --help' lists the commands.");
}

static void args_help_option(enum arg arg, struct ald_buf *out)
{
    const struct args_option *option = &ARGS_OPTIONS[arg];
    char name[40] = "";
    struct ald_buf text;
    ald_buf_init(&text, sizeof name - 1);
    if (option->letter)
        ald_buf_printf(&text, "-%c, ", option->letter);
    else
        ald_buf_put_str(&text, "    ");
    ald_buf_printf(&text, "--%s", option->name);
    if (option->value)
        ald_buf_printf(&text, " %s", option->value);
    ald_buf_printf(out, "  %-24s %s\n", ald_buf_str(&text), option->help);
    ald_buf_free(&text);
}

static void args_help_one(const struct command *one, struct ald_buf *out)
{
    ald_buf_printf(out, "aldaba %s%s%s\n\n%s\n", one->name, one->args[0] ? " " : "", one->args,
                   one->summary);
    if (one->options)
        ald_buf_put_str(out, "\noptions:\n");
    for (int i = ARG_COMMON_COUNT; i < ARGS_COUNT; i++)
        if (one->options & ARG_BIT(i))
            args_help_option((enum arg)i, out);
}

void args_help(const struct command *commands, size_t count, const struct command *one,
               struct ald_buf *out)
{
    if (one != NULL) {
        args_help_one(one, out);
    } else {
        ald_buf_put_str(out, "aldaba COMMAND ... - ask and command a running aldaba\n\n");
        for (size_t i = 0; i < count; i++)
            ald_buf_printf(out, "  %-14s %s\n", commands[i].name, commands[i].summary);
        ald_buf_put_str(out, "\n'aldaba COMMAND --help' tells more about one.\n");
    }
    ald_buf_put_str(out, "\nwith every command:\n");
    for (int i = 0; i < ARG_COMMON_COUNT; i++)
        args_help_option((enum arg)i, out);
    ald_buf_put_str(out, "\nexit codes: 0 done, 1 failed or refused, 64 usage, 69 no gateway there,"
                         "\n            75 try again later, 78 settings\n");
}

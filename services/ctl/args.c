#include "services/ctl/args.h"

#include <argp.h>
#include <string.h>

#include "common/base/span.h"
#include "common/base/text.h"

enum { ARGS_KEY_BASE = 0x100, ARGS_NAMES_MAX = 64, ARGS_WORD_SHOWN = 256 };

/* name, letter, what its value is called, is that a number, what it is */
static const struct args_option ARGS_OPTIONS[ARGS_COUNT] = {
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
    [ARG_FIND] = {"find", 0, "TEXT", false,
                  "Only the task with this id, provider's id or key; only letters in which this "
                  "stands, in the cause, an id or the message"},
    [ARG_LIMIT] = {"limit", 0, "N", true, "At most so many (0: all)"},
    [ARG_FROM] = {"from", 0, "POSITION", false,
                  "Begin at `new`, `all` or after a position, as `tail` prints it"},
    [ARG_AFTER] = {"after", 0, "POSITION", false, "The same as --from"},
    [ARG_COUNT] = {"count", 'n', "N", true, "End after so many events"},
    [ARG_DEEP] = {"deep", 0, NULL, false,
                  "Also count all rows again and hold them against the books"},
    [ARG_BELIEVE] = {"believe", 0, NULL, false, "Vouch for a letter that could not prove itself"},
    [ARG_BUY] = {"buy", 0, NULL, false, "Have its task made anew, which is paid for"},
    [ARG_PUBLISH] = {"publish", 0, NULL, false,
                     "Publish a conflicting answer in the place of the task's result"},
    [ARG_YES] = {"yes", 'y', NULL, false, "Do not ask"},
    [ARG_PATIENCE] = {"patience", 0, "TIME", false,
                      "Give up after so long without getting on (60s)"},
    [ARG_CONSUMER] = {"consumer", 0, "NAME", false,
                      "Only of this consumer; tail begins where it stands, with its filter"},
    [ARG_ACK] = {"ack", 0, NULL, false,
                 "Settle for the consumer what was printed; it is made if it is not there"},
    [ARG_VERIFY] = {"verify", 0, NULL, false, "Only look, and say what would be done"},
    [ARG_DRY_RUN] = {"dry-run", 0, NULL, false, "Say what would be done, and do nothing"},
    [ARG_EVERY] = {"every", 'i', "TIME", false, "How often to look (1s)"},
    [ARG_GROUP] = {"group", 0, NULL, false, "Count those that are alike"},
    [ARG_SINCE] = {"since", 0, "TIME", false,
                   "Only those made since: 2h (ago), 2026-01-31T12:00:00Z, or milliseconds"},
    [ARG_UNTIL] = {"until", 0, "TIME", false, "Only those made before"},
    [ARG_REVISION] = {"revision", 0, "N", true, "The message as it was: 1 is the one that came"},
    [ARG_RATE] = {"rate", 0, "N", true, "So many letters a second (50)"},
    [ARG_BY] = {"by", 0, "NAME", false, "Who does it, for the record (else your login)"},
    [ARG_QUERY] = {"query", 0, "TEXT", false, "The query; @FILE reads it from there"},
    [ARG_BODY] = {"body", 0, "TEXT", false, "The body; @FILE reads it from there"},
    [ARG_TYPE] = {"type", 0, "TEXT", false, "The content type"},
    [ARG_HEADERS] = {"headers", 0, "TEXT", false,
                     "All headers, `name: value` lines; @FILE reads them from there"},
    [ARG_WITHIN] = {"within", 0, "TIME", false, "How long it may take (30s)"},
    [ARG_TEXTFILE] = {"textfile", 0, "FILE", false,
                      "Write metrics there, for a collector of Prometheus"},
};

const struct args_option *args_option_of(enum arg arg)
{
    return &ARGS_OPTIONS[arg];
}

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

/* How long the first of a command's two words is; 0: it has one word. */
static size_t args_first_len(const struct command *command)
{
    const char *space = strchr(command->name, ' ');
    return space ? (size_t)(space - command->name) : 0;
}

size_t args_group(const struct command *commands, size_t count, const char *word)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = args_first_len(&commands[i]);
        found += first > 0 && ald_span_eq(ald_span_of(commands[i].name, first), ald_span_str(word));
    }
    return found;
}

const struct command *args_command(const struct command *commands, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* The command whose first word this is, and nothing came after it. */
static enum ald_rc args_half(const struct command *commands, size_t count, const char *first,
                             struct ald_err *err)
{
    struct ald_buf seconds;
    ald_buf_init(&seconds, ARGS_WORD_SHOWN);
    for (size_t i = 0; i < count; i++) {
        size_t len = args_first_len(&commands[i]);
        if (len == 0 || strncmp(commands[i].name, first, len) != 0 || first[len] != '\0')
            continue;
        ald_buf_printf(&seconds, "%s%s", seconds.len > 0 ? ", " : "", commands[i].name + len + 1);
    }
    enum ald_rc rc =
        ald_err_set(err, ALD_INVALID, "'%.60s' needs a second word: %s.", first,
                    ald_buf_ok(&seconds) ? ald_buf_str(&seconds) : "see 'aldaba --help'");
    ald_buf_free(&seconds);
    return rc;
}

enum ald_rc args_no_command(const struct command *commands, size_t count, const char *first,
                            const char *second, struct ald_err *err)
{
    const char *names[ARGS_NAMES_MAX];
    if (second == NULL && args_group(commands, count, first) > 0)
        return args_half(commands, count, first, err);
    ALD_ASSERT(count <= ARGS_NAMES_MAX);
    for (size_t i = 0; i < count; i++)
        names[i] = commands[i].name;
    struct ald_buf full;
    ald_buf_init(&full, 4 * ARGS_WORD_SHOWN);
    ald_buf_printf(&full, "%.200s%s%.200s", first, second ? " " : "", second ? second : "");
    const char *near = ald_text_nearest(ald_buf_str(&full), names, count);
    const char *said = near && strchr(near, ' ') ? ald_buf_str(&full) : first;
    if (near == NULL)
        near = ald_text_nearest(first, names, count);
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
        return args_no_command(commands, count, out->word[0], out->words > 1 ? out->word[1] : NULL,
                               err);
    return ald_err_set(err, ALD_INVALID, "Say what to do; 'aldaba --help' lists the commands.");
}

/* `completion`: completions for shells, from the tables of commands and options. Each script finds
 * the command among the words, and then knows its options and what its words may be. */
#include <string.h>

#include "common/base/text.h"
#include "proto/words.h"
#include "services/ctl/completion.h"

enum { COMPLETION_WORD_MAX = 64 };

/* In lists a task that is polled is pending. */
static const char COMPLETION_TASK_STATES[] =
    "accepted submitting pending done failed lost expired cancelled";
static const char COMPLETION_EVENT_STATES[] = "done failed lost expired cancelled";
static const char COMPLETION_LETTER_STATES[] = "open held resolved dropped";

static const char *completion_states(const struct command *command)
{
    if (strncmp(command->name, "dlq ", 4) == 0)
        return COMPLETION_LETTER_STATES;
    return strcmp(command->name, "tail") == 0 ? COMPLETION_EVENT_STATES : COMPLETION_TASK_STATES;
}

static void completion_reasons(struct ald_buf *out)
{
    for (unsigned i = 1; i < ALD_REASON_COUNT; i++)
        ald_buf_printf(out, "%s%s", out->len > 0 ? " " : "", ald_reason_name((enum ald_reason)i));
}

/* What the value of an option may be. */
void completion_value(const struct command *command, enum arg arg, struct ald_buf *out)
{
    const struct args_option *option = args_option_of(arg);
    ald_buf_reset(out);
    if (strcmp(option->value, "FILE") == 0)
        ald_buf_put_str(out, COMPLETION_FILES);
    else if (arg == ARG_PROVIDER)
        ald_buf_put_str(out, COMPLETION_PROVIDERS);
    else if (arg == ARG_CONSUMER)
        ald_buf_put_str(out, COMPLETION_CONSUMERS);
    else if (arg == ARG_STATE)
        ald_buf_put_str(out, completion_states(command));
    else if (arg == ARG_REASON)
        completion_reasons(out);
    else if (arg == ARG_FROM || arg == ARG_AFTER)
        ald_buf_put_str(out, "new all");
}

/* One word of how a command is written, such as `gateway|tracker`. */
static void completion_word(const struct command *command, struct ald_span word,
                            struct ald_buf *out)
{
    bool consumer = strncmp(command->name, "consumers ", 10) == 0;
    const struct {
        const char *word;
        const char *means;
    } known[] = {{"FILE", COMPLETION_FILES},
                 {"DIR", COMPLETION_FILES},
                 {"PROVIDER", COMPLETION_PROVIDERS},
                 {"NAME", consumer ? COMPLETION_CONSUMERS : COMPLETION_PROVIDERS},
                 {"STAGE", "submit poll fetch callback"}};
    while (word.len > 0) {
        size_t len = ald_span_find(word, '|');
        struct ald_span one = ald_span_of(word.data, len);
        const char *means = NULL;
        for (size_t i = 0; i < ALD_COUNT(known); i++)
            if (ald_span_eq_str(one, known[i].word))
                means = known[i].means;
        bool plain = len > 0 && one.data[0] >= 'a' && one.data[0] <= 'z' &&
                     ald_span_find(one, '=') == one.len;
        if (means != NULL || plain)
            ald_buf_printf(out, "%s", out->len > 0 ? " " : "");
        if (means != NULL)
            ald_buf_put_str(out, means);
        else if (plain)
            ald_buf_put_span(out, one);
        word = ald_span_skip(word, len < word.len ? len + 1 : len);
    }
}

size_t completion_words(const struct command *command, size_t place, struct ald_buf *out)
{
    const char *at = command->args;
    size_t places = 0;
    size_t here = 0;
    ald_buf_reset(out);
    while (*at != '\0') {
        size_t len = strcspn(at, " ");
        struct ald_span word = ald_span_of(at, len);
        if (word.len > 2 && word.data[0] == '[')
            word = ald_span_of(word.data + 1, word.len - 2);
        bool other = ald_span_eq_str(word, "|"); /* what follows is another way to write it */
        if (!other && (here == place || place == COMPLETION_ALL))
            completion_word(command, word, out);
        here = other ? 0 : here + !ald_span_eq_str(word, "...");
        places = here > places ? here : places;
        at += len + (at[len] == ' ' ? 1 : 0);
    }
    return places;
}

size_t completion_first(const struct command *command)
{
    return strcspn(command->name, " ");
}

/* Did a command before this one begin with the same word? */
bool completion_again(size_t at)
{
    size_t len = completion_first(&COMMANDS[at]);
    for (size_t i = 0; i < at; i++)
        if (completion_first(&COMMANDS[i]) == len &&
            strncmp(COMMANDS[i].name, COMMANDS[at].name, len) == 0)
            return true;
    return false;
}

/* First words of all commands; with `group`, the second words of those. */
static void completion_names(const char *group, struct ald_buf *out)
{
    ald_buf_reset(out);
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        size_t len = completion_first(&COMMANDS[i]);
        const char *rest = COMMANDS[i].name + len;
        if (group == NULL && !completion_again(i))
            ald_buf_printf(out, "%s%.*s", out->len > 0 ? " " : "", (int)len, COMMANDS[i].name);
        if (group != NULL && *rest == ' ' && strncmp(COMMANDS[i].name, group, len) == 0 &&
            group[len] == '\0')
            ald_buf_printf(out, "%s%s", out->len > 0 ? " " : "", rest + 1);
    }
}

/* fn for each group, with its second words. */
typedef void completion_group_fn(const char *group, const char *seconds, struct ald_buf *out);

static void completion_groups(completion_group_fn *fn, struct ald_buf *out)
{
    struct ald_buf seconds;
    ald_buf_init(&seconds, COMPLETION_TEXT_MAX);
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        char group[COMPLETION_WORD_MAX];
        ald_text_cut(group, sizeof group,
                     ald_span_of(COMMANDS[i].name, completion_first(&COMMANDS[i])));
        completion_names(group, &seconds);
        if (seconds.len > 0 && !completion_again(i))
            fn(group, ald_buf_str(&seconds), out);
    }
    ald_buf_free(&seconds);
}

bool completion_takes(const struct command *command, enum arg arg)
{
    return arg < ARG_COMMON_COUNT || (command->options & ARG_BIT(arg)) != 0;
}

static void completion_options(const struct command *command, struct ald_buf *out)
{
    for (unsigned i = 0; i < ARGS_COUNT; i++)
        if (completion_takes(command, (enum arg)i))
            ald_buf_printf(out, " --%s", args_option_of((enum arg)i)->name);
}

/* ---- bash; zsh takes it, too ---- */

static const char COMPLETION_BASH_HEAD[] =
    "_aldaba()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} word waits='' one='' two='' count=0 i\n"
    "    local names options='' words=''\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ -n $waits ]]; then\n"
    "            [[ $word == '=' ]] || waits=''\n"
    "            continue\n"
    "        fi\n"
    "        case $word in\n";

static const char COMPLETION_BASH_WORDS[] = "        -*) ;;\n"
                                            "        *)\n"
                                            "            count=$((count + 1))\n"
                                            "            [[ $count -eq 1 ]] && one=$word\n"
                                            "            [[ $count -eq 2 ]] && two=$word\n"
                                            "            ;;\n"
                                            "        esac\n"
                                            "    done\n"
                                            "    [[ -n $waits && $cur == '=' ]] && cur=''\n"
                                            "    case $one in\n";

static const char COMPLETION_BASH_TAIL[] =
    "    esac\n"
    "    if [[ -z $waits && $cur == -* ]]; then\n"
    "        words=$options\n"
    "    elif [[ -z $waits && $one == help && $count -eq 2 ]]; then\n"
    "        one=$two two=''\n"
    "        case $one in\n";

static const char COMPLETION_BASH_END[] =
    "        esac\n"
    "    elif [[ -z $waits && -n $names ]]; then\n"
    "        words=$names\n"
    "    fi\n"
    "    if [[ $words == *'" COMPLETION_PROVIDERS "'* ]]; then\n"
    "        words=${words//'" COMPLETION_PROVIDERS "'/$(aldaba provider ls -q 2>/dev/null)}\n"
    "    fi\n"
    "    if [[ $words == *'" COMPLETION_CONSUMERS "'* ]]; then\n"
    "        words=${words//'" COMPLETION_CONSUMERS "'/$(aldaba consumers ls -q 2>/dev/null)}\n"
    "    fi\n"
    "    if [[ $words == *'" COMPLETION_FILES "'* ]]; then\n"
    "        words=${words//'" COMPLETION_FILES "'/}\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    fi\n"
    "    COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -F _aldaba aldaba\n";

static void completion_bash_values(struct ald_buf *out)
{
    for (unsigned i = 0; i < ARGS_COUNT; i++) {
        const struct args_option *option = args_option_of((enum arg)i);
        if (option->value == NULL)
            continue;
        ald_buf_printf(out, "        --%s", option->name);
        if (option->letter != 0)
            ald_buf_printf(out, " | -%c", option->letter);
        ald_buf_printf(out, ") waits=%s ;;\n", option->name);
    }
}

static void completion_bash_group(const char *group, const char *seconds, struct ald_buf *out)
{
    ald_buf_printf(out, "    %s) [[ -z $two ]] && names='%s' ;;\n", group, seconds);
}

static void completion_bash_help(const char *group, const char *seconds, struct ald_buf *out)
{
    ald_buf_printf(out, "        %s) words='%s' ;;\n", group, seconds);
}

/* What an option that waits for its value may get. */
static void completion_bash_waits(const struct command *command, struct ald_buf *out)
{
    struct ald_buf value;
    ald_buf_init(&value, COMPLETION_TEXT_MAX);
    for (unsigned i = 0; i < ARGS_COUNT; i++) {
        const struct args_option *option = args_option_of((enum arg)i);
        if (option->value == NULL || !completion_takes(command, (enum arg)i))
            continue;
        completion_value(command, (enum arg)i, &value);
        ald_buf_printf(out, "        %s) words='%s' ;;\n", option->name, ald_buf_str(&value));
    }
    ald_buf_free(&value);
}

/* Each word of a command in its place; where there may be more, they are as the last. */
static void completion_bash_places(const struct command *command, struct ald_buf *out)
{
    struct ald_buf words;
    ald_buf_init(&words, COMPLETION_TEXT_MAX);
    size_t places = completion_words(command, COMPLETION_ALL, &words);
    bool more = strstr(command->args, "...") != NULL;
    ald_buf_printf(out, "        case $((count - %d)) in\n", strchr(command->name, ' ') ? 2 : 1);
    for (size_t i = 0; i < places; i++) {
        (void)completion_words(command, i, &words);
        if (more && i + 1 == places)
            ald_buf_printf(out, "        *) words='%s' ;;\n", ald_buf_str(&words));
        else
            ald_buf_printf(out, "        %zu) words='%s' ;;\n", i, ald_buf_str(&words));
    }
    ald_buf_put_str(out, "        esac\n");
    ald_buf_free(&words);
}

static void completion_bash_command(const struct command *command, struct ald_buf *out)
{
    if (strchr(command->name, ' ') != NULL)
        ald_buf_printf(out, "    '%s')\n", command->name);
    else
        ald_buf_printf(out, "    %s | %s\\ *)\n", command->name, command->name);
    ald_buf_put_str(out, "        options='");
    completion_options(command, out);
    ald_buf_put_str(out, "'\n");
    completion_bash_places(command, out);
    ald_buf_put_str(out, "        case $waits in\n");
    completion_bash_waits(command, out);
    ald_buf_put_str(out, "        esac\n        ;;\n");
}

static void completion_bash(struct ald_buf *out)
{
    struct ald_buf names;
    ald_buf_init(&names, COMPLETION_TEXT_MAX);
    completion_names(NULL, &names);
    ald_buf_put_str(out, "# Completions of aldaba for bash, made by `aldaba completion bash`.\n");
    ald_buf_put_str(out, COMPLETION_BASH_HEAD);
    completion_bash_values(out);
    ald_buf_put_str(out, COMPLETION_BASH_WORDS);
    ald_buf_printf(out, "    '') names='%s' ;;\n", ald_buf_str(&names));
    ald_buf_printf(out, "    help) [[ -z $two ]] && names='%s' ;;\n", ald_buf_str(&names));
    completion_groups(completion_bash_group, out);
    ald_buf_put_str(out, "    esac\n    case \"$one${two:+ $two}\" in\n");
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        completion_bash_command(&COMMANDS[i], out);
    ald_buf_put_str(out,
                    "    *)\n        options='--help --version'\n        [[ $waits == config ]] "
                    "&& words='" COMPLETION_FILES "'\n        ;;\n");
    ald_buf_put_str(out, COMPLETION_BASH_TAIL);
    completion_groups(completion_bash_help, out);
    ald_buf_put_str(out, COMPLETION_BASH_END);
    ald_buf_free(&names);
}

static void completion_zsh(struct ald_buf *out)
{
    ald_buf_put_str(out,
                    "#compdef aldaba\n"
                    "# Completions of aldaba for zsh, made by `aldaba completion zsh`: those of "
                    "bash, through\n# zsh's own door for them.\n"
                    "autoload -U +X bashcompinit && bashcompinit\n");
    completion_bash(out);
    ald_buf_put_str(out, "_bash_complete -F _aldaba\n");
}

int completion_show(struct ctl *ctl, const struct args *args)
{
    static const struct {
        const char *shell;
        void (*write)(struct ald_buf *out);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < ALD_COUNT(shells); i++) {
        if (strcmp(args->word[0], shells[i].shell) != 0)
            continue;
        shells[i].write(&ctl->out);
        return CTL_OK;
    }
    ctl_say("There are no completions for %s; there are some for bash, zsh and fish.",
            CTL_SAFE(args->word[0]));
    return CTL_USAGE;
}

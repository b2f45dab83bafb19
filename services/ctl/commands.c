#include "services/ctl/commands.h"

#define KEY ARG_BIT(ARG_KEY)
#define META ARG_BIT(ARG_META)
#define WAIT ARG_BIT(ARG_WAIT)
#define STATE ARG_BIT(ARG_STATE)
#define PROVIDER ARG_BIT(ARG_PROVIDER)
#define LIMIT ARG_BIT(ARG_LIMIT)
#define YES ARG_BIT(ARG_YES)
#define DRY_RUN ARG_BIT(ARG_DRY_RUN)
#define LETTERS                                                                                    \
    (ARG_BIT(ARG_REASON) | PROVIDER | STATE | ARG_BIT(ARG_TASK) | LIMIT | ARG_BIT(ARG_SINCE) |     \
     ARG_BIT(ARG_UNTIL) | ARG_BIT(ARG_FIND) | ARG_BIT(ARG_CONSUMER))
#define EDITS (ARG_BIT(ARG_QUERY) | ARG_BIT(ARG_BODY) | ARG_BIT(ARG_TYPE) | ARG_BIT(ARG_HEADERS))
#define BY ARG_BIT(ARG_BY)
#define WORDS (ARG_BIT(ARG_BELIEVE) | ARG_BIT(ARG_BUY) | ARG_BIT(ARG_PUBLISH))

/* name, arguments, what it does, options, least and most words, function */
const struct command COMMANDS[] = {
    {"reserve", "PROVIDER", "make a task before you submit it yourself; prints its callback URL",
     KEY | META, 1, 1, task_reserve},
    {"register", "PROVIDER ID", "watch a task that was submitted elsewhere", KEY | META | WAIT, 2,
     2, task_register},
    {"attach", "TASK PROVIDER_ID", "tell a reserved task the provider's id", 0, 2, 2, task_attach},
    {"submit", "PROVIDER k=v ...", "have a task submitted; k=text, k:=JSON, k=@FILE sends the file",
     KEY | META | WAIT | DRY_RUN, 1, ARGS_WORDS_MAX, task_submit},
    {"task", "TASK", "one task with its whole timeline", WAIT, 1, 1, task_show},
    {"tasks", "", "list tasks, newest first", STATE | PROVIDER | ARG_BIT(ARG_FIND) | LIMIT, 0, 0,
     task_list},
    {"cancel", "TASK", "stop waiting for a task", YES, 1, 1, task_cancel},
    {"tail", "", "follow results as they come",
     ARG_BIT(ARG_FROM) | ARG_BIT(ARG_AFTER) | PROVIDER | STATE | ARG_BIT(ARG_COUNT) |
         ARG_BIT(ARG_CONSUMER) | ARG_BIT(ARG_ACK),
     0, 0, feed_tail},
    {"consumers ls", "", "who reads results under a name, and how far each is behind", 0, 0, 0,
     consumers_list},
    {"consumers show", "NAME", "one consumer", 0, 1, 1, consumers_show},
    {"consumers rm", "NAME", "forget a consumer, its place and what it had not settled", YES, 1, 1,
     consumers_remove},
    {"dlq ls", "", "list dead letters, by default those not closed; --group counts those alike",
     LETTERS | ARG_BIT(ARG_GROUP), 0, 0, desk_list},
    {"dlq show", "LETTER", "one dead letter: its message, and all that happened to it",
     ARG_BIT(ARG_REVISION), 1, 1, desk_show},
    {"dlq edit", "LETTER", "put another message in its place; the one that came is kept",
     EDITS | BY | ARG_BIT(ARG_REVISION), 1, 1, desk_edit},
    {"dlq replay", "LETTER|all",
     "try a letter again now ('all': those that the filters leave, as a bulk replay)",
     LETTERS | WORDS | ARG_BIT(ARG_DRY_RUN) | ARG_BIT(ARG_RATE) | BY | YES, 1, 1, desk_replay},
    {"dlq replays", "ls | show|pause|resume|cancel REPLAY", "bulk replays: list, look, command",
     LIMIT | BY, 1, 2, desk_replays},
    {"dlq drop", "LETTER|all", "close a letter without effect", LETTERS | BY | YES, 1, 1,
     desk_drop},
    {"provider status", "[NAME]", "is a provider asked? what keeps its tasks waiting", 0, 0, 1,
     provider_status},
    {"provider pause", "NAME", "ask a provider nothing until it is resumed; its tasks wait", 0, 1,
     1, provider_pause},
    {"provider resume", "NAME", "ask it again", 0, 1, 1, provider_resume},
    {"provider check", "FILE ...", "check descriptions of providers; prints all errors", 0, 1,
     ARGS_WORDS_MAX, provider_check},
    {"provider ls", "",
     "the providers of the settings file, and the descriptions that come with aldaba", 0, 0, 0,
     provider_list},
    {"provider try", "PROFILE|FILE STAGE",
     "what a message means at submit, poll, fetch or callback: JSON on stdin {\"http\",\"headers\","
     "\"query\",\"body\"}",
     0, 2, 2, provider_try},
    {"top", "", "a live view of everything", ARG_BIT(ARG_EVERY) | ARG_BIT(ARG_COUNT), 0, 0,
     top_show},
    {"status", "", "the state of everything on one page", 0, 0, 0, status_show},
    {"audit", "", "do the books balance? exit code 1 if not", ARG_BIT(ARG_DEEP), 0, 0, state_audit},
    {"canary", "PROVIDER k=text...",
     "send a task of our own the whole way; exit code 1 if it is lost",
     ARG_BIT(ARG_BODY) | ARG_BIT(ARG_TYPE) | ARG_BIT(ARG_EVERY) | ARG_BIT(ARG_WITHIN) |
         ARG_BIT(ARG_TEXTFILE),
     1, ARGS_WORDS_MAX, canary_show},
    {"health", "gateway|tracker|poller|dlq",
     "is a service ready? exit code 0 yes, 1 no, 69 not running, 75 silent for 2 s", 0, 1, 1,
     health_show},
    {"backup", "DIR", "copy all that a restore needs into a new folder of the daemons' machine", 0,
     1, 1, state_backup},
    {"restore", "DIR", "put a backup into store.data, or only look at it (--verify)",
     ARG_BIT(ARG_VERIFY) | DRY_RUN | YES, 1, 1, restore_put},
    {"fsck", "", "are the stores of this machine whole? exit code 1 if not", 0, 0, 0, fsck_show},
    {"spool drain", "DIR",
     "send what lies in the spool of a gateway that is gone; runs aldaba-gateway --drain",
     ARG_BIT(ARG_PATIENCE), 1, 1, spool_drain},
    {"config check", "", "check settings and profiles; prints all errors", 0, 0, 0,
     local_config_check},
    {"config print", "", "print the settings in force, secrets masked", 0, 0, 0,
     local_config_print},
    {"config schema", "", "print a JSON Schema of the settings file", 0, 0, 0, config_schema},
    {"keys new", "callback|curve|api [FILE]", "make a key in a new file", 0, 1, 2, keys_new},
    {"completion", "bash|zsh|fish", "print completions of this command for a shell", 0, 1, 1,
     completion_show},
    {"help", "[COMMAND]", "tell more about a command or a group of them", 0, 0, 2, help_show},
};

const size_t COMMANDS_COUNT = ALD_COUNT(COMMANDS);

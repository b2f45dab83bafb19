#include "services/ctl/manual.h"

#include <string.h>

#include "common/base/guard.h"

const char MANUAL_EXITS[] = "0 done\n"
                            "1 it failed, or was refused\n"
                            "64 the command line is wrong\n"
                            "69 nobody answers there, or a file can't be opened\n"
                            "75 try again in a moment\n"
                            "78 the settings are wrong, or there are none\n";

/* command, about, examples, exit codes of its own */
const struct manual MANUALS[] = {
    {"reserve",
     "Makes a task that waits for a callback at an address of its own, before you\n"
     "submit the work yourself. Submit with that address as the callback, then\n"
     "tell the provider's id with 'attach'. A task without an id can't be polled.",
     "aldaba reserve sandbox --key order-18 --meta 'page 3'\n"
     "aldaba reserve sandbox -q\n",
     NULL},
    {"register",
     "Watches a task that was submitted elsewhere and whose provider's id is\n"
     "known. If its callback was faster than you, it waited. The same --key always\n"
     "gives the same task; without one, the provider's id does as long as its task\n"
     "is open.",
     "aldaba register sandbox 2875243791265 --key order-17\n"
     "aldaba register sandbox 2875243791265 --wait --json\n",
     "1 with --wait: it ended otherwise than as done\n"},
    {"attach",
     "Tells the provider's id of a task that was reserved, or whose submission\n"
     "nobody knows the end of. From then on it can be polled.",
     "aldaba attach 117770003992608 2875243791265\n", NULL},
    {"submit",
     "Has a task submitted. The task and its key are on disk before the provider\n"
     "is asked. Parameters are k=text, k:=JSON, or k=@FILE, which sends the file\n"
     "itself where the profile sends multipart or raw; 960 KiB together.\n"
     "\n"
     "Give --key for whatever must not be bought twice: the same key gives the\n"
     "same task, however often the command is run. --dry-run prints what would be\n"
     "asked of the API, as JSON, and asks nobody.",
     "aldaba submit shop method=post body=iVBORw0 --key order-16 --wait\n"
     "aldaba submit shop method=post file=@page.png\n"
     "aldaba submit shop options:='{\"lang\": \"en\"}' --dry-run\n",
     "1 with --wait: it ended otherwise than as done\n"},
    {"task",
     "Shows one task: state, answer, times, and its timeline, which tells what\n"
     "came, what was asked, and why it ended as it did.",
     "aldaba task 117770003992608\n"
     "aldaba task 117770003992608 --wait --json\n",
     "1 with --wait: it ended otherwise than as done\n"},
    {"tasks",
     "Lists tasks, newest first: 50 of them unless --limit says another number.\n"
     "States are accepted, submitting, pending, done, failed, lost, expired,\n"
     "cancelled; one that is being polled is pending here. --find takes a task's\n"
     "id, its provider's id, or its key.",
     "aldaba tasks --state pending --provider sandbox\n"
     "aldaba tasks --find order-17\n"
     "aldaba tasks --state expired --limit 0 -q\n",
     NULL},
    {"cancel",
     "Stops waiting for a task, which ends as cancelled. The provider is not told;\n"
     "an answer that comes later is kept as evidence and not published.",
     "aldaba cancel 117770003992608 --yes\n", NULL},
    {"tail",
     "Follows results as they come, a line each, and goes on where it stopped when\n"
     "the connection breaks. What is printed first on a line is its position;\n"
     "--from takes it to go on after it, `all` for the oldest that is kept, `new`\n"
     "for the next one (which is also what is meant without it).\n"
     "\n"
     "--consumer begins where a durable consumer stands, and moves nothing. With\n"
     "--ack it is that consumer: what was printed is settled for it, and it is\n"
     "made if it is not there.",
     "aldaba tail\n"
     "aldaba tail --from all --json | jq -r .task\n"
     "aldaba tail --from 0:128 --provider sandbox --state done\n"
     "aldaba tail --consumer mailer --ack --json\n",
     NULL},
    {"consumers ls",
     "Lists the durable consumers: where each stands, how many events it is\n"
     "behind, how many it holds unsettled, and how old the oldest of those is.",
     "aldaba consumers ls\n"
     "aldaba consumers ls --json | jq .lag\n",
     NULL},
    {"consumers show", "Shows one durable consumer: its filter and limits, its place, its lag.",
     "aldaba consumers show mailer\n", NULL},
    {"consumers rm",
     "Forgets a consumer and its place; events are not kept for it any more, and\n"
     "its dead letters are closed. It asks before.",
     "aldaba consumers rm mailer --yes\n", NULL},
    {"dlq ls",
     "Lists dead letters that are not closed; --state resolved or dropped lists\n"
     "the others. Most need nobody: they are tried again by themselves. Those that\n"
     "are held wait for a person. --group counts those of one reason, cause and\n"
     "provider. --find looks in cause, ids and message.",
     "aldaba dlq ls\n"
     "aldaba dlq ls --group\n"
     "aldaba dlq ls --reason unknown_task --provider sandbox --since 2h\n"
     "aldaba dlq ls --state held -q\n",
     NULL},
    {"dlq show",
     "Shows one dead letter: why it is one, its message, and all that happened to\n"
     "it. --revision 1 shows the message as it came, if it was edited since.",
     "aldaba dlq show 01J0000000000000000000000A\n"
     "aldaba dlq show 01J0000000000000000000000A --revision 1\n",
     NULL},
    {"dlq edit",
     "Puts another message in the place of a letter's, in $VISUAL or $EDITOR, or by\n"
     "options. The message that came is kept to the byte, and who edited when is\n"
     "part of its history. It is tried again by 'dlq replay'.",
     "aldaba dlq edit 01J0000000000000000000000A\n"
     "aldaba dlq edit 01J0000000000000000000000A --body 'id=77&code=OK'\n"
     "aldaba dlq edit 01J0000000000000000000000A --body @fixed.json\n",
     NULL},
    {"dlq replay",
     "Has a letter tried again now, under today's profile; --dry-run says what\n"
     "would become of it, and does nothing. --believe says of an unauthenticated\n"
     "letter that you know who sent it. --buy has the task of a submit_failed,\n"
     "submit_uncertain or expired letter made anew: another task is submitted, and\n"
     "paid for, once a letter. --publish publishes the answer in a conflict letter\n"
     "as a correction. Both ask before, and wait to tell what came of it.\n"
     "\n"
     "`all` takes those that the filters leave, and asks before. It is a job of the\n"
     "dlq, --rate letters a second, that goes on after Ctrl-C and after restarts:\n"
     "see 'dlq replays'.",
     "aldaba dlq replay 01J0000000000000000000000A --dry-run\n"
     "aldaba dlq replay 01J0000000000000000000000A\n"
     "aldaba dlq replay 01J0000000000000000000000A --buy\n"
     "aldaba dlq replay all --reason unmapped_status --rate 20 --yes\n",
     NULL},
    {"dlq replays",
     "Bulk replays: ls lists them, show tells how far one is and what came of it,\n"
     "pause, resume and cancel are commands to it.",
     "aldaba dlq replays ls\n"
     "aldaba dlq replays show 01J0000000000000000000000A\n"
     "aldaba dlq replays pause 01J0000000000000000000000A\n",
     NULL},
    {"dlq drop",
     "Closes a letter without effect. It is kept for store.keep_letters, with its\n"
     "message. `all` takes those that the filters leave, and asks before.",
     "aldaba dlq drop 01J0000000000000000000000A\n"
     "aldaba dlq drop all --reason unknown_task --yes\n",
     NULL},
    {"provider status",
     "Shows of each provider whether it is asked, what keeps its tasks waiting\n"
     "(paused, blocked, in trouble, budget used up), how many tasks are open, and\n"
     "when a task made now would be polled.",
     "aldaba provider status\n"
     "aldaba provider status sandbox --json\n",
     NULL},
    {"provider pause",
     "Nothing is asked of this provider until 'provider resume'. Its callbacks are\n"
     "taken as ever. The pause outlives restarts.",
     "aldaba provider pause sandbox\n", NULL},
    {"provider resume", "Asks a provider again that was paused or is blocked.",
     "aldaba provider resume sandbox\n", NULL},
    {"provider check",
     "Checks files that each describe a provider, and prints all errors with their\n"
     "line, and what is allowed and yet looks wrong. Secrets are not looked up.",
     "aldaba provider check providers.d/shop.yaml\n", "78 a description is wrong\n"},
    {"provider ls",
     "Lists the providers of the settings file and where each is described, and\n"
     "the descriptions that come with aldaba. Asks nobody.",
     "aldaba provider ls\n"
     "aldaba provider ls -q\n",
     NULL},
    {"provider try",
     "Runs a message through a description and prints which rule fired and what it\n"
     "means. The message is a JSON object on stdin with http, headers, query, body\n"
     "and method, all of them optional. Asks nobody, changes nothing.",
     "aldaba provider try replicate callback < message.json\n"
     "echo '{\"body\": \"OK|123\"}' | aldaba provider try twocaptcha-v1 submit\n",
     "78 the description is wrong\n"},
    {"top",
     "Shows what goes on, anew each second: services, rates of callbacks, polls\n"
     "and replays, tasks that wait and for how long, the spool, dead letters by\n"
     "reason, providers, the books. Rates are differences of what two looks found.\n"
     "It goes on when the gateway goes away and comes back.\n"
     "\n"
     "Keys: q quit, p pause, j and k or the arrows choose a provider, ? help.\n"
     "Where stdout is no terminal it prints one page and ends; with --json it\n"
     "prints a line for each look until --count of them, or until it is stopped.",
     "aldaba top\n"
     "aldaba top --every 5s\n"
     "aldaba top --json --count 10\n",
     NULL},
    {"status",
     "Shows on one page who runs, what is open, what waits in a spool, which\n"
     "letters need a person, and whether the tracker's books balance. --json has\n"
     "all figures.",
     "aldaba status\n"
     "aldaba status --json | jq .tasks\n",
     NULL},
    {"audit",
     "Adds up arrivals, tasks, results, letters and the gateway's answers, each\n"
     "against what it must be the sum of. --deep counts all rows again beside\n"
     "that, while everything goes on. 'aldaba fsck' looks at the files themselves.",
     "aldaba audit\n"
     "aldaba audit --deep -q && echo good\n",
     "1 the books do not balance; problems are named\n"},
    {"canary",
     "Has a task made, calls its callback URL with what the provider would say,\n"
     "and waits until the task has ended by that: a canary, which dies first. It\n"
     "goes the way of every callback, through whatever stands before the gateway,\n"
     "and asks no provider for anything. With --every it goes on until it is\n"
     "stopped, and --textfile tells Prometheus each time.\n"
     "\n"
     "The message is a form of the words k=text, or --body with its --type. It\n"
     "ends like any task, as an event with `canary` as its meta: best in a profile\n"
     "of its own, which your consumers leave out.",
     "aldaba canary canary code=alive\n"
     "aldaba canary canary code=alive --every 1m --textfile canary.prom\n"
     "aldaba canary jobs --body '{\"status\": \"done\"}' --within 5s\n",
     "1 it did not come back\n"},
    {"health",
     "Asks one service whether it is ready to keep its promise: for containers and\n"
     "service managers. The gateway is asked over HTTP, the others at their\n"
     "control sockets, so that the answer depends on nobody else. Of pollers one\n"
     "that is ready is enough, unless poller.name says which.",
     "aldaba health tracker\n"
     "aldaba health gateway -q\n",
     "0 it is ready\n"
     "1 it is not; stderr says why\n"
     "69 it is not running\n"
     "75 it runs and said nothing for 2 s\n"},
    {"backup",
     "Copies tracker.db, letters.db and callback.key into a new folder, with a\n"
     "MANIFEST of their checksums, while everything runs. The daemons write it, on\n"
     "their machine, so DIR is theirs; the folder above it must be there. It is\n"
     "made as DIR.partial and gets its name when all of it is on disk. Keep it\n"
     "private: whoever has callback.key can forge callback URLs.\n"
     "\n"
     "What lies in gateways' spools is not in it, and it says so.",
     "aldaba backup /backup/aldaba-$(date +%F)\n"
     "aldaba restore /backup/aldaba-2026-11-30 --verify\n",
     NULL},
    {"restore",
     "Puts a backup into store.data, on the machine of the daemons and with all of\n"
     "them stopped. With --verify (or --dry-run) it only looks: sums of the\n"
     "MANIFEST, the files themselves, the books, letters against outbox, the key;\n"
     "it says what a restore would do, and changes nothing.\n"
     "\n"
     "Without, it verifies, copies the backup beside store.data, puts the two\n"
     "folders in each other's place in one step, and keeps what was there under a\n"
     "name that it says; it never deletes it. A folder that is not empty needs\n"
     "--yes, or a yes. Killed at any point, it leaves either the old folder or the\n"
     "new one; run it again. The feed goes on in a new lane, as the marks of the\n"
     "old stores are not taken over.",
     "aldaba restore /backup/aldaba-2026-11-30 --verify\n"
     "aldaba restore /backup/aldaba-2026-11-30 --yes\n",
     "1 the backup is not whole, or the folder is not empty and nobody said yes\n"
     "69 a daemon has the folder, or it can't be written\n"},
    {"fsck",
     "Looks at the stores in store.data: each file whole, each sum right, rows\n"
     "counted against the books, open letters against outbox and dlq, the spool,\n"
     "the key. It runs aldaba-tracker, aldaba-dlq and aldaba-gateway with\n"
     "--verify, which read only. The daemons may run or not.",
     "aldaba fsck\n"
     "aldaba fsck --json | jq -r 'select(.problem).problem'\n",
     "1 something is wrong; problems are named\n"
     "69 a store can't be read\n"},
    {"spool drain",
     "Sends what lies in the spool folder of a gateway that is gone to the\n"
     "tracker, as that gateway would have. Run it as the folder's user; the spool\n"
     "is locked meanwhile. It runs aldaba-gateway --drain. Each callback counts\n"
     "once, however often this is killed and run again.",
     "aldaba --config aldaba.yaml spool drain /mnt/gone/spool\n",
     "0 none waits there any more\n"
     "1 it is empty but for what can't be read\n"
     "69 the folder can't be opened\n"
     "75 some are left; run it again\n"},
    {"config check",
     "Checks the settings file and the profiles, and prints all errors with file,\n"
     "line and column. Secrets are not looked up.",
     "aldaba config check --config aldaba.yaml\n", "78 something is wrong\n"},
    {"config print", "Prints the settings in force as YAML (--json: as JSON), secrets masked.",
     "aldaba config print\n"
     "aldaba config print --json | jq .gateway\n",
     NULL},
    {"config schema",
     "Prints a JSON Schema (draft 2020-12) of the settings file, for editors and\n"
     "other programs. Names, words, units and bounds are those that 'config check'\n"
     "goes by; what depends on several settings it alone knows.",
     "aldaba config schema > aldaba.schema.json\n", NULL},
    {"keys new",
     "Makes a key in a new file that only you can read; no file is written over.\n"
     "\n"
     "callback  signs callback URLs: security.callback_keys\n"
     "api       a random token, for gateway.tokens and $ALDABA_TOKEN; without FILE\n"
     "          it goes to stdout\n"
     "curve     a CURVE pair, as certificate files: FILE_secret stays here, FILE is\n"
     "          for the others",
     "aldaba keys new callback /etc/aldaba/callback.key\n"
     "aldaba keys new api /etc/aldaba/api.token\n"
     "aldaba keys new curve /etc/aldaba/tracker.cert\n",
     "1 the file is there already, or can't be written\n"},
    {"completion",
     "Prints completions of this command for a shell. They know commands, options\n"
     "and words, and ask 'aldaba provider ls' for names of providers. They are\n"
     "installed with aldaba; this is for other places.",
     "aldaba completion bash > ~/.local/share/bash-completion/completions/aldaba\n"
     "aldaba completion zsh > ~/.zsh/completions/_aldaba\n"
     "aldaba completion fish > ~/.config/fish/completions/aldaba.fish\n",
     NULL},
    {"help", "Tells about all commands, those of a group, or one.",
     "aldaba help\n"
     "aldaba help dlq\n"
     "aldaba help dlq replay\n",
     NULL},
};

const size_t MANUALS_COUNT = ALD_COUNT(MANUALS);

const struct manual *manual_of(const char *command)
{
    for (size_t i = 0; i < MANUALS_COUNT; i++)
        if (strcmp(MANUALS[i].command, command) == 0)
            return &MANUALS[i];
    return NULL;
}

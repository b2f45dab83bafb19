/* A replay that has consequences outside: a task is made anew, which is paid for, or an answer is
 * published in the place of another. Asks first, with what is at stake, and waits to say what came
 * of it. */
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/desk.h"

enum { AGAIN_WAIT_MS = 15000, AGAIN_PAUSE_MS = 100, AGAIN_BODY_MAX = 512 };

static bool again_confirm(struct ctl *ctl, struct ald_json letter, bool buy)
{
    char question[512];
    char task[33];
    char provider[65];
    char reason[33];
    (void)pick_word(letter, "/task", task, sizeof task);
    (void)pick_word(letter, "/provider", provider, sizeof provider);
    bool unsure =
        strcmp(pick_word(letter, "/reason", reason, sizeof reason), "submit_uncertain") == 0;
    if (buy)
        (void)snprintf(
            question, sizeof question, "%sSubmit task %.32s to %.64s anew? It is paid for.",
            unsure ? "The provider may have taken the first one, and may still answer it; "
                     "then both are paid for. "
                   : "",
            CTL_SAFE(task), CTL_SAFE(provider));
    else
        (void)snprintf(question, sizeof question,
                       "Publish this answer in the place of the result of task %.32s?",
                       CTL_SAFE(task));
    return ctl_confirm(ctl, question);
}

/* The letter's last try. False: there is none, or it is under way. */
static bool again_outcome(struct ald_json letter, char outcome[33], char detail[512])
{
    struct ald_json attempt;
    struct ald_span key;
    outcome[0] = '\0';
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(letter, "/history"));
    while (ald_json_walk_next(&walk, &key, &attempt)) {
        if (pick_int(attempt, "/attempt") == 0)
            continue; /* it was made, edited or closed */
        (void)pick_word(attempt, "/outcome", outcome, 33);
        (void)pick_word(attempt, "/detail", detail, 512);
    }
    return outcome[0] != '\0';
}

static int again_say(struct ctl *ctl, struct ald_json letter, const char *outcome,
                     const char *detail)
{
    const char *id = ctl->args->word[0];
    bool done = strcmp(outcome, "still") != 0;
    if (ctl_json(ctl))
        pick_line(letter, &ctl->out);
    else if (!done)
        ctl_say("%s", CTL_SAFE(detail));
    else if (args_has(ctl->args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%s\n", CTL_SAFE(detail));
    else if (strcmp(outcome, "replaced") == 0)
        ald_buf_printf(&ctl->out, "replaced by task %s: letter %s is closed\n", CTL_SAFE(detail),
                       CTL_SAFE(id));
    else
        ald_buf_printf(&ctl->out, "%s: letter %s is closed\n", CTL_SAFE(outcome), CTL_SAFE(id));
    return done ? CTL_OK : CTL_FAILED;
}

/* Until the tracker has answered. */
static int again_wait(struct ctl *ctl, int64_t tries)
{
    struct ald_json letter;
    char outcome[33];
    char detail[512] = "";
    int64_t until_ms = ald_clock_now().mono_ms + AGAIN_WAIT_MS;
    do {
        int code = desk_ask(ctl, NULL, ctl->args->word[0], "", NULL, &letter);
        if (code != CTL_OK)
            return code;
        if (pick_int(letter, "/attempts") > tries && again_outcome(letter, outcome, detail))
            return again_say(ctl, letter, outcome, detail);
        ctl_pause(AGAIN_PAUSE_MS);
    } while (ald_clock_now().mono_ms < until_ms);
    ctl_say("It is asked for, and not answered yet: is the tracker there? It will be done once, by "
            "itself: look with aldaba dlq show %s.",
            CTL_SAFE(ctl->args->word[0]));
    return CTL_AGAIN;
}

int desk_again(struct ctl *ctl, const struct args *args)
{
    struct ald_json letter;
    struct ald_buf body;
    int code = desk_ask(ctl, NULL, args->word[0], "", NULL, &letter);
    if (code != CTL_OK)
        return code;
    int64_t tries = pick_int(letter, "/attempts");
    if (!again_confirm(ctl, letter, args_has(args, ARG_BUY)))
        return CTL_FAILED;
    ald_buf_init(&body, AGAIN_BODY_MAX);
    desk_body(args, &body);
    desk_words(args, &body);
    ald_buf_put_byte(&body, '}');
    code = desk_ask(ctl, "POST", args->word[0], "/replay", ald_buf_str(&body), &letter);
    ald_buf_free(&body);
    return code == CTL_OK ? again_wait(ctl, tries) : code;
}

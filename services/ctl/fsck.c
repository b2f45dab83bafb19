/* `fsck`: are the stores of this machine whole? The daemons may run or not. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "services/ctl/stores.h"

/* A key that is named elsewhere is looked at by its owner, at its start. */
static void fsck_key(const struct ald_settings *settings, struct findings *findings)
{
    const char *named = settings->security.callback_keys;
    if (named[0] != '\0' && access(named, R_OK) != 0)
        findings_problem(findings, "security.callback_keys names %.200s, which can't be read",
                         named);
    if (named[0] == '\0' && findings_has(findings, "key.there") &&
        findings_fact(findings, "key.there") == 0)
        findings_problem(findings,
                         "callback.key is not in %.200s: callback URLs that are out in the world "
                         "are refused until it is back; a backup has it",
                         settings->store.data);
}

static int fsck_end(struct ctl *ctl, const struct findings *findings, int code)
{
    size_t problems = findings->problem_count;
    stores_show(ctl, findings);
    if (code == CTL_OK && problems > 0)
        code = CTL_FAILED;
    if (ctl_json(ctl))
        ald_buf_printf(&ctl->out, "{\"whole\":%s}\n", code == CTL_OK ? "true" : "false");
    else if (code == CTL_OK && !args_has(ctl->args, ARG_QUIET))
        tone_write(&ctl->out, "all is whole\n", TONE_GOOD, ctl->color);
    ctl_flush(ctl);
    if (problems > 0)
        ctl_say("%zu problem%s: keep a copy of the folder as it is, then put back the last backup "
                "('aldaba restore DIR --verify' looks at one).",
                problems, problems == 1 ? "" : "s");
    return code;
}

int fsck_show(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    struct findings findings;
    char spool[ALD_PATH_MAX + 16];
    char owner[ALD_PATH_MAX + 64];
    (void)args;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    (void)snprintf(spool, sizeof spool, "%s/spool.db", settings.gateway.spool);
    stores_owner(&settings, owner, sizeof owner);
    const struct stores_look look = {.dir = settings.store.data,
                                     .spool =
                                         access(spool, F_OK) == 0 ? settings.gateway.spool : NULL,
                                     .alive = owner[0] != '\0'};
    findings_init(&findings);
    code = stores_look(&look, &findings);
    fsck_key(&settings, &findings);
    code = fsck_end(ctl, &findings, code);
    findings_free(&findings);
    ald_settings_free(&settings);
    return code;
}

/* `spool drain`: the gateway's own program does it, under the same settings, so that there is one
 * way from a spool to the tracker. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "services/ctl/commands.h"

#define SPOOL_PROGRAM "aldaba-gateway"

enum { SPOOL_WORDS = 8 };

/* Runs it from the folder that our own program lies in, else from PATH. Returns if there is none.
 */
static void spool_exec(char *const *words)
{
    char path[ALD_PATH_MAX + sizeof SPOOL_PROGRAM];
    ssize_t len = readlink("/proc/self/exe", path, ALD_PATH_MAX);
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len > 0) {
        memcpy(path + len, SPOOL_PROGRAM, sizeof SPOOL_PROGRAM);
        (void)execv(path, words);
    }
    if (len <= 0 || errno == ENOENT)
        (void)execvp(SPOOL_PROGRAM, words);
}

int spool_drain(struct ctl *ctl, const struct args *args)
{
    static char program[] = SPOOL_PROGRAM, config[] = "--config", drain[] = "--drain",
                patience[] = "--patience";
    char *words[SPOOL_WORDS] = {program, drain, (char *)(uintptr_t)args->word[0]};
    size_t n = 3;
    if (args_has(args, ARG_CONFIG)) {
        words[n++] = config;
        words[n++] = (char *)(uintptr_t)args->text[ARG_CONFIG];
    }
    if (args_has(args, ARG_PATIENCE)) {
        words[n++] = patience;
        words[n++] = (char *)(uintptr_t)args->text[ARG_PATIENCE];
    }
    ctl_flush(ctl);
    spool_exec(words);
    ctl_say(SPOOL_PROGRAM " can't be run: %s. Install it beside aldaba, or where PATH leads.",
            strerror(errno));
    return CTL_FAILED;
}

/* `spool drain`: the gateway's own program does it, under the same settings, so that there is one
 * way from a spool to the tracker. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "services/ctl/commands.h"

#define SPOOL_PROGRAM "aldaba-gateway"

enum { SPOOL_WORDS = 8 };

/* Runs it from the folder that our own program lies in, from its neighbour there as in a folder of
 * a build, else from PATH. Returns if there is none. */
static void spool_exec(char *const *words)
{
    static const char *const places[] = {SPOOL_PROGRAM, "../gateway/" SPOOL_PROGRAM};
    char path[ALD_PATH_MAX + 64];
    ssize_t len = readlink("/proc/self/exe", path, ALD_PATH_MAX);
    while (len > 0 && path[len - 1] != '/')
        len--;
    for (size_t i = 0; len > 0 && i < ALD_COUNT(places); i++) {
        memcpy(path + len, places[i], strlen(places[i]) + 1);
        (void)execv(path, words);
        if (errno != ENOENT)
            return;
    }
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

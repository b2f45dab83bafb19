/* `spool drain`: the gateway's own program does it, under the same settings, so that there is one
 * way from a spool to the tracker. */
#include "services/ctl/commands.h"
#include "services/ctl/program.h"

#define SPOOL_PROGRAM "aldaba-gateway"

enum { SPOOL_WORDS = 8 };

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
    program_become(SPOOL_PROGRAM, words);
    return CTL_FAILED;
}

/* service_args.h - the command line of a daemon. Inside service.c's own part of common/net; it ends
 * the process for --help, --version and what is wrong.
 *
 * Threads: none of its own.
 */
#ifndef ALD_NET_SERVICE_ARGS_H
#define ALD_NET_SERVICE_ARGS_H

#include "common/net/service.h"

enum { SERVICE_FLAGS_MAX = 64 };

/* What the command line said. */
struct service_arguments {
    const char *config;
    const char *flags[SERVICE_FLAGS_MAX + 1]; /* and the mode's */
    size_t flag_count;
    bool check;
    bool print;
    const struct ald_service_mode *mode; /* that there is */
    const char *folder;                  /* NULL: it was not chosen */
    const char *verify;                  /* the same */
    int64_t patience_ms;                 /* below 0: not said */
    char mode_flag[ALD_PATH_MAX + 64];
};

/* Texts are borrowed from argv. */
void service_arguments(int argc, char **argv, const struct ald_service_ops *ops,
                       struct service_arguments *out);

#endif

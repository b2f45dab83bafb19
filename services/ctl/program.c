#include "services/ctl/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/ctl/ctl.h"

enum { PROGRAM_NAME_MAX = 64 };

/* What could not be run is told through the code, as a shell does. */
enum { PROGRAM_NOT_RUN = 127 };

static void program_exec(const char *name, char *const *words)
{
    char path[ALD_PATH_MAX + 4 * PROGRAM_NAME_MAX];
    char places[2][2 * PROGRAM_NAME_MAX + 8];
    (void)snprintf(places[0], sizeof places[0], "%s", name);
    (void)snprintf(places[1], sizeof places[1], "../%s/%s", name + strlen("aldaba-"), name);
    ssize_t len = readlink("/proc/self/exe", path, ALD_PATH_MAX);
    while (len > 0 && path[len - 1] != '/')
        len--;
    for (size_t i = 0; len > 0 && i < ALD_COUNT(places); i++) {
        memcpy(path + len, places[i], strlen(places[i]) + 1);
        (void)execv(path, words);
        if (errno != ENOENT)
            return;
    }
    (void)execvp(name, words);
}

static void program_missing(const char *name)
{
    ctl_say("%s can't be run: %s. Install it beside aldaba, or where PATH leads.", name,
            strerror(errno));
}

void program_become(const char *name, char *const *words)
{
    ALD_ASSERT(strlen(name) < PROGRAM_NAME_MAX && strncmp(name, "aldaba-", 7) == 0);
    program_exec(name, words);
    program_missing(name);
}

static void program_lines(FILE *from, program_line_fn *fn, void *context)
{
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t len; (len = getline(&line, &cap, from)) > 0;) {
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        fn(context, line);
    }
    free(line);
}

static int program_end(const char *name, pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    if (WIFSIGNALED(status)) {
        ctl_say("%s was killed by signal %d.", name, WTERMSIG(status));
        return -1;
    }
    return WEXITSTATUS(status) == PROGRAM_NOT_RUN ? -1 : WEXITSTATUS(status);
}

int program_read(const char *name, char *const *words, program_line_fn *fn, void *context)
{
    int ends[2];
    ALD_ASSERT(strlen(name) < PROGRAM_NAME_MAX && strncmp(name, "aldaba-", 7) == 0);
    if (pipe(ends) != 0) {
        program_missing(name);
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        program_become(name, words);
        _exit(PROGRAM_NOT_RUN);
    }
    close(ends[1]);
    if (child < 0) {
        program_missing(name);
        close(ends[0]);
        return -1;
    }
    FILE *from = fdopen(ends[0], "r");
    ALD_ASSERT(from != NULL);
    program_lines(from, fn, context);
    (void)fclose(from);
    return program_end(name, child);
}

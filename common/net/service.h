/* service.h - what every daemon does alike: arguments, settings, log, signals, control channel,
 * readiness, drain, exit code. A daemon's main() is a table of its functions and one call.
 *
 * Order of life: settings, log, start (open, recover, bind), ready line on stderr and sd_notify,
 * loop; on SIGTERM or SIGINT: not ready, drain, stop, exit. kill -9 is a supported way to stop:
 * start is recovery. SIGHUP: settings and profiles are read again (reload.h), and when all of it is
 * right the daemon is told.
 *
 * A program may have a second way to run, for one folder and without a control channel: its mode.
 * And it may look at its stores without running (report.h): exit codes 0; 1 something is wrong.
 *
 * Exit codes: 0; 64 usage; 69 cannot open or bind; 75 stopped with work left; 78 configuration; a
 * mode may add its own.
 * Threads: everything here runs on the thread that called ald_service_main.
 */
#ifndef ALD_NET_SERVICE_H
#define ALD_NET_SERVICE_H

#include <czmq.h>

#include "common/base/rc.h"
#include "common/config/profile.h"
#include "common/config/settings.h"
#include "common/store/report.h"

typedef struct ald_service ald_service_t;

enum {
    ALD_EXIT_FAILED = 1,
    ALD_EXIT_USAGE = 64,
    ALD_EXIT_UNAVAILABLE = 69,
    ALD_EXIT_AGAIN = 75,
    ALD_EXIT_CONFIG = 78
};

struct ald_service_ops;

/* Another way to run the same program, once and for one folder. */
struct ald_service_mode {
    const char *option; /* chooses it, and names the folder, which must be there */
    const char *help;
    const char *setting; /* is given the folder's path, over all else */
    int64_t patience_ms; /* unless --patience says another */
    const struct ald_service_ops *ops;
    void *self; /* the context of those */
};

struct ald_service_ops {
    const char *name; /* gateway, tracker, poller, dlq */
    const char *help; /* one sentence for --help */
    bool profiles;    /* load provider profiles */
    unsigned secrets; /* and resolve these of their secrets: enum ald_secrets */
    bool alone;       /* nobody asks it: no control channel, and no folder for one */
    const struct ald_service_mode *mode; /* NULL: there is one way */
    /* Open, recover, bind, add sockets and timers to the loop. On failure err says why. */
    enum ald_rc (*start)(void *self, ald_service_t *service, struct ald_err *err);
    /* Extra facts for the ready line, such as "public=8080"; may write nothing. */
    void (*ready)(void *self, char *out, size_t cap);
    /* SIGTERM came: refuse new work, begin to flush. Called once. */
    void (*drain)(void *self);
    /* Called each 20 ms while draining; true when nothing is left to flush. */
    bool (*drained)(void *self);
    /* Close and free everything that start made; called also when start failed half way.
     * Returns the exit code, 0 when nothing was left undone. */
    int (*stop)(void *self);
    /* Able to keep the promise? A sentence why not in out. */
    bool (*healthy)(void *self, char *out, size_t cap);
    /* The settings were read again. fresh takes the place of the set in force, which stays good
     * until this returns; who still reads it has a reference of its own. fresh is NULL for a daemon
     * without profiles; and so may this be. */
    void (*reload)(void *self, ald_profiles_t *fresh);
    /* Bring gauges up to date before the metrics are written; may be NULL. */
    void (*measure)(void *self);
    /* Look at the stores in a folder, read only, for `--verify DIR`: no settings are needed, and a
     * daemon may be at work there. ALD_OK: what was found is in the report. Else err says why they
     * can't be read. NULL: it has none. */
    enum ald_rc (*verify)(const char *dir, struct ald_report *report, struct ald_err *err);
};

/* Run a daemon; returns main's exit code. self is the daemon's own zeroed context. */
int ald_service_main(int argc, char **argv, const struct ald_service_ops *ops, void *self);

zloop_t *ald_service_loop(ald_service_t *self);
const struct ald_settings *ald_service_settings(const ald_service_t *self);
/* The set in force: borrowed until the next reload. */
ald_profiles_t *ald_service_profiles(const ald_service_t *self);
/* What is wrong with the settings as they were read last; "" when nothing is. Any thread. */
void ald_service_note(const ald_service_t *self, char *out, size_t cap);
const char *ald_service_instance(const ald_service_t *self); /* ULID of this run */
/* Its control channel, as proto/channels.h says: control-SERVICE, or control-SERVICE-NAME. */
const char *ald_service_channel(const ald_service_t *self);
bool ald_service_draining(const ald_service_t *self);

/* The drain may last so much longer than the 8 s that it has. Call it in drain. */
void ald_service_drain_more(ald_service_t *self, int64_t ms);

/* Bring its metric aldaba_ready up to date, for a daemon that writes its metrics by itself. */
void ald_service_measure(ald_service_t *self);

/* How long a mode may wait for others without getting on. */
int64_t ald_service_patience_ms(const ald_service_t *self);

/* End the loop as if by SIGTERM, with this exit code. */
void ald_service_quit(ald_service_t *self, int exit_code);

#endif

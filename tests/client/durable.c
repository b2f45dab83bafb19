/* A service that reads results through a durable consumer of libaldaba: each event becomes a line
 * of a file, on disk before it is acknowledged. Killed at any point it goes on where it was; a line
 * may come twice then, never not at all.
 *
 *   durable RUN CONSUMER FILE [INSTANCE]
 *
 * Built against the installed library alone. Exit codes: 0 ended by SIGTERM, 64 usage, 69 refused,
 * 74 the file can't be written, 75 not all that was acknowledged is on the tracker's disk.
 */
#include <aldaba.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 1000, LEAVE_MS = 5000, BATCH = 100 };

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void on_log(int level, const char *text, void *arg)
{
    (void)arg;
    (void)fprintf(stderr, "%s: %s\n", level == 0 ? "warning" : "note", text);
}

/* One line an event: its name, its task, how it ended, how often it was handed out, the result. */
static int keep(int file, const struct aldaba_event *event)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %.*s\n",
                     event->lane, event->seq, event->task, event->state, event->deliveries,
                     event->result_bytes < 200 ? (int)event->result_bytes : 200,
                     (const char *)event->result);
    return n > 0 && write(file, line, (size_t)n) == n;
}

/* As many events as there are at once, one sync for all of them, and then they are acknowledged. */
static int work(aldaba_t *aldaba, int file)
{
    const struct aldaba_event *event = NULL;
    uint64_t lane = 0;
    uint64_t seq = 0;
    enum aldaba_rc rc = aldaba_next(aldaba, WAIT_MS, &event);
    for (int count = 0; rc == ALDABA_OK; count++) {
        if (!keep(file, event))
            return 74;
        lane = event->lane > lane || seq == 0 ? event->lane : lane;
        seq = event->seq > seq ? event->seq : seq;
        rc = count + 1 < BATCH ? aldaba_next(aldaba, 0, &event) : ALDABA_NONE;
    }
    if (seq > 0 && (fdatasync(file) != 0 || aldaba_ack_to(aldaba, lane, seq) != ALDABA_OK))
        return 74;
    if (rc == ALDABA_GAP)
        (void)fprintf(stderr, "warning: some events were purged before they were read\n");
    return rc < 0 ? 69 : 0;
}

int main(int argc, char **argv)
{
    char why[256];
    aldaba_t *aldaba = NULL;
    struct sigaction action;
    struct aldaba_options options;
    if (argc < 4) {
        (void)fprintf(stderr, "usage: durable RUN CONSUMER FILE [INSTANCE]\n");
        return 64;
    }
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* without SA_RESTART: a wait ends with it */
    (void)sigaction(SIGTERM, &action, NULL);
    int file = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) {
        perror(argv[3]);
        return 74;
    }
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.run = argv[1];
    options.consumer = argv[2];
    options.instance = argc > 4 ? argv[4] : NULL;
    options.from = "all";
    options.buffer = BATCH; /* what is in hand at a kill comes again one by one */
    options.log = on_log;
    if (aldaba_open(&options, &aldaba, why, sizeof why) != ALDABA_OK) {
        (void)fprintf(stderr, "%s\n", why);
        return 69;
    }
    (void)fprintf(stderr, "ready version=%s\n", aldaba_version());
    int code = 0;
    while (!stopped && code == 0)
        code = work(aldaba, file);
    if (aldaba_close(&aldaba, LEAVE_MS) == ALDABA_LATE && code == 0)
        code = 75;
    (void)close(file);
    return code;
}

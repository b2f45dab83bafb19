#include "services/ctl/stores.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/net/sock.h"
#include "common/store/disk.h"
#include "proto/channels.h"
#include "services/ctl/program.h"

enum { STORES_TRIES = 4, STORES_PAUSE_MS = 1000, STORES_LINE_MAX = 512 };

static void stores_line(void *context, const char *line)
{
    findings_line(context, line);
}

/* A program that found something wrong says what: 1 is no failure of the look. */
static bool stores_run(const char *program, const char *dir, struct findings *out)
{
    static char verify[] = "--verify";
    char name[64];
    (void)snprintf(name, sizeof name, "%s", program);
    char *const words[] = {name, verify, (char *)(uintptr_t)dir, NULL};
    size_t before = out->problem_count;
    int code = program_read(program, words, stores_line, out);
    if (code == CTL_FAILED && out->problem_count == before)
        findings_problem(out, "%s could not read its store to the end", program);
    return code == CTL_OK || code == CTL_FAILED;
}

static bool stores_letters(const struct stores_look *look, struct findings *out)
{
    bool good = stores_run("aldaba-tracker", look->dir, out);
    return stores_run("aldaba-dlq", look->dir, out) && good;
}

static void stores_lost(void *context, const char *letter)
{
    findings_problem(context,
                     "letter %s is open for the tracker, and lies neither in its outbox nor in "
                     "letters.db",
                     letter);
}

/* What was on its way between the two while they were read has arrived at the next look. */
static void stores_match(const struct stores_look *look, struct findings *out)
{
    struct findings again;
    struct findings *last = out;
    struct findings *before = NULL;
    findings_init(&again);
    for (int i = 1; look->alive && i < STORES_TRIES; i++) {
        if (findings_lost(last, before, NULL, NULL) == 0)
            break;
        ctl_pause(STORES_PAUSE_MS);
        findings_free(&again);
        findings_init(&again);
        if (!stores_letters(look, &again))
            break;
        last = &again;
        before = out;
    }
    (void)findings_lost(last, before, stores_lost, out);
    findings_free(&again);
}

int stores_look(const struct stores_look *look, struct findings *out)
{
    bool good = stores_letters(look, out);
    if (good)
        stores_match(look, out);
    if (look->spool != NULL)
        good = stores_run("aldaba-gateway", look->spool, out) && good;
    return good ? CTL_OK : CTL_UNREACHABLE;
}

/* ---- showing ---- */

static void stores_json(struct ctl *ctl, const char *kind, const char *text, size_t len)
{
    json_t *value = json_stringn(text, len);
    char *written = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (written != NULL)
        ald_buf_printf(&ctl->out, "{\"%s\":%s}\n", kind, written);
    free(written);
    json_decref(value);
}

static void stores_texts(struct ctl *ctl, const char *kind, const struct ald_buf *texts,
                         enum tone tone)
{
    struct ald_span rest = ald_buf_span(texts);
    while (rest.len > 0) {
        size_t len = ald_span_find(rest, '\n');
        char line[STORES_LINE_MAX];
        (void)snprintf(line, sizeof line, "%.*s", (int)len, (const char *)rest.data);
        if (ctl_json(ctl))
            stores_json(ctl, kind, (const char *)rest.data, len);
        else
            ctl_line(ctl, kind, line, tone);
        rest = ald_span_skip(rest, len < rest.len ? len + 1 : len);
    }
}

static void stores_facts(struct ctl *ctl, const struct findings *findings)
{
    for (size_t i = 0; i < findings->fact_count; i++)
        ald_buf_printf(&ctl->out, "{\"fact\":\"%s\",\"value\":%lld}\n",
                       CTL_SAFE(findings->facts[i].name), (long long)findings->facts[i].value);
}

static long long stores_fact(const struct findings *findings, const char *name)
{
    return (long long)findings_fact(findings, name);
}

static void stores_page(struct ctl *ctl, const struct findings *findings)
{
    char line[STORES_LINE_MAX];
    if (findings_has(findings, "tracker.schema")) {
        (void)snprintf(line, sizeof line,
                       "schema %lld; tasks: %lld, of them open: %lld; arrivals: %lld; last event "
                       "%lld:%lld",
                       stores_fact(findings, "tracker.schema"),
                       stores_fact(findings, "tasks.created"), stores_fact(findings, "tasks.open"),
                       stores_fact(findings, "arrivals.received"),
                       stores_fact(findings, "feed.lane"), stores_fact(findings, "feed.seq"));
        ctl_line(ctl, "tracker.db", line, TONE_PLAIN);
    }
    if (findings_has(findings, "letters.schema")) {
        (void)snprintf(line, sizeof line, "schema %lld; letters open: %lld; messages: %lld",
                       stores_fact(findings, "letters.schema"),
                       stores_fact(findings, "letters.live"),
                       stores_fact(findings, "letters.messages"));
        ctl_line(ctl, "letters.db", line, TONE_PLAIN);
    }
    if (findings_has(findings, "spool.items")) {
        (void)snprintf(line, sizeof line, "callbacks that wait: %lld",
                       stores_fact(findings, "spool.items"));
        ctl_line(ctl, "spool", line, TONE_PLAIN);
    }
}

void stores_show(struct ctl *ctl, const struct findings *findings)
{
    if (ctl_json(ctl))
        stores_facts(ctl, findings);
    else if (!args_has(ctl->args, ARG_QUIET))
        stores_page(ctl, findings);
    stores_texts(ctl, "note", &findings->notes, TONE_WAIT);
    stores_texts(ctl, "problem", &findings->problems, TONE_BAD);
}

/* All but pollers have a store. */
static int stores_is_owner(const struct dirent *entry)
{
    static const char prefix[] = ALD_CHANNEL_CONTROL "-";
    static const char poller[] = ALD_CHANNEL_CONTROL "-poller-";
    const char *name = entry->d_name;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strncmp(name, poller, sizeof poller - 1) != 0 && !strstr(name, ".lock");
}

static void stores_at_work(const char *run, char *why, size_t cap)
{
    struct dirent **entries = NULL;
    int count = scandir(run, &entries, stores_is_owner, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (why[0] == '\0' && ald_sock_lives(run, name))
            (void)snprintf(why, cap, "the %s is running on the bus in %s", strchr(name, '-') + 1,
                           run);
        free(entries[i]);
    }
    free(entries);
}

void stores_owner(const struct ald_settings *settings, char *why, size_t cap)
{
    static const char *const files[] = {"tracker.db", "letters.db"};
    char path[ALD_PATH_MAX + 32];
    why[0] = '\0';
    for (size_t i = 0; i < ALD_COUNT(files) && why[0] == '\0'; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.lock", settings->store.data, files[i]);
        if (ald_disk_locked(path))
            (void)snprintf(why, cap, "a daemon has %s", path);
    }
    if (why[0] == '\0')
        stores_at_work(settings->bus.run, why, cap);
}

#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/text.h"

/* An escaped byte takes up to six; END is the room for what closes a line that was cut. */
enum { LOG_ESCAPED = 6, LOG_SVC_MAX = 32, LOG_END = sizeof "\" cut=true\n" };

static const char *const log_words[] = {
    [ALD_ERROR] = "error", [ALD_WARN] = "warn", [ALD_INFO] = "info", [ALD_DEBUG] = "debug"};
static const char *const log_priorities[] = {
    [ALD_ERROR] = "<3>", [ALD_WARN] = "<4>", [ALD_INFO] = "<6>", [ALD_DEBUG] = "<7>"};

static atomic_int log_level = ALD_INFO;
static char log_svc[LOG_SVC_MAX] = "aldaba";
static bool log_journal;

void ald_log_init(const char *svc)
{
    ald_text_cut(log_svc, sizeof log_svc, ald_span_str(svc));
    log_journal = getenv("JOURNAL_STREAM") != NULL;
}

void ald_log_level_set(enum ald_level level)
{
    atomic_store(&log_level, (int)level);
}

enum ald_rc ald_log_level_word(const char *word)
{
    for (size_t i = 0; i < ALD_COUNT(log_words); i++) {
        if (strcmp(word, log_words[i]) != 0)
            continue;
        ald_log_level_set((enum ald_level)i);
        return ALD_OK;
    }
    return ALD_INVALID;
}

bool ald_log_on(enum ald_level level)
{
    return (int)level <= atomic_load(&log_level);
}

/* Append pairs that a caller's format made: its quotes and backslashes stay, the rest is escaped.
 */
static void log_put_pairs(struct ald_buf *line, const char *pairs)
{
    while (*pairs != '\0') {
        size_t run = strcspn(pairs, "\"\\");
        ald_text_escape(line, ald_span_of(pairs, run));
        pairs += run;
        if (*pairs != '\0')
            ald_buf_put_byte(line, (uint8_t)*pairs++);
    }
}

/* Drop a backslash at the end of text that a cut parted from what it escapes. */
static void log_drop_escape(char *text)
{
    size_t len = strlen(text);
    size_t first = len;
    while (first > 0 && text[first - 1] == '\\')
        first--;
    if ((len - first) % 2 != 0)
        text[len - 1] = '\0';
}

static bool log_in_quotes(const char *text)
{
    bool inside = false;
    for (; *text != '\0'; text++) {
        if (*text == '"')
            inside = !inside;
        else if (*text == '\\' && inside && text[1] != '\0')
            text++;
    }
    return inside;
}

/* One write, so that lines of threads do not mix. A log that can't be written is given up: there is
 * no other place to say so. */
static void log_write(const char *text, size_t len)
{
    ssize_t done;
    do {
        done = write(STDERR_FILENO, text, len);
    } while (done < 0 && errno == EINTR);
}

static void log_emit(struct ald_buf *line, bool cut)
{
    char text[ALD_LOG_LINE_MAX];
    cut = cut || line->len + 1 > sizeof text || !ald_buf_ok(line);
    ald_text_cut(text, cut ? sizeof text - LOG_END : sizeof text, ald_buf_span(line));
    if (cut) {
        log_drop_escape(text);
        const char *end = log_in_quotes(text) ? "\" cut=true" : " cut=true";
        memcpy(text + strlen(text), end, strlen(end) + 1);
    }
    size_t len = strlen(text);
    text[len] = '\n';
    log_write(text, len + 1);
}

void ald_log(enum ald_level level, const char *ev, const char *fmt, ...)
{
    if (!ald_log_on(level))
        return;
    int saved = errno;
    char pairs[ALD_LOG_LINE_MAX];
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(pairs, sizeof pairs, fmt, args);
    va_end(args);

    char ts[ALD_CLOCK_TEXT_MAX];
    ald_clock_rfc3339(ald_clock_now().wall_ms, ts);
    struct ald_buf line;
    ald_buf_init(&line, (size_t)ALD_LOG_LINE_MAX * (LOG_ESCAPED + 1));
    ald_buf_printf(&line, "%sts=%s level=%s svc=%s ev=%s", log_journal ? log_priorities[level] : "",
                   ts, log_words[level], log_svc, ev);
    if (wanted > 0 && pairs[0] != '\0') {
        ald_buf_put_byte(&line, ' ');
        log_put_pairs(&line, pairs);
    }
    log_emit(&line, wanted < 0 || (size_t)wanted >= sizeof pairs);
    ald_buf_free(&line);
    errno = saved;
}

static bool log_is_plain(struct ald_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c != '\0' && strchr("._:/@+-,~", c) != NULL);
        if (!plain)
            return false;
    }
    return text.len > 0;
}

const char *ald_q_span(struct ald_quote *room, struct ald_span text)
{
    if (text.len < sizeof room->text && log_is_plain(text)) {
        memcpy(room->text, text.data, text.len);
        room->text[text.len] = '\0';
        return room->text;
    }
    size_t taken = text.len < ALD_QUOTE_MAX ? text.len : ALD_QUOTE_MAX;
    struct ald_buf escaped;
    ald_buf_init(&escaped, (size_t)ALD_QUOTE_MAX * LOG_ESCAPED);
    ald_text_escape(&escaped, ald_span_of(text.data, taken));
    bool cut = taken < text.len || escaped.len + sizeof "\"\"" > sizeof room->text;
    size_t room_len = sizeof room->text - (cut ? sizeof "\"...\"" : sizeof "\"\"") + 1;
    room->text[0] = '"';
    ald_text_cut(room->text + 1, room_len, ald_buf_span(&escaped));
    if (cut)
        log_drop_escape(room->text + 1);
    const char *end = cut ? "...\"" : "\"";
    memcpy(room->text + strlen(room->text), end, strlen(end) + 1);
    ald_buf_free(&escaped);
    return room->text;
}

const char *ald_q(struct ald_quote *room, const char *text)
{
    return ald_q_span(room, text == NULL ? ald_span_of("", 0) : ald_span_str(text));
}

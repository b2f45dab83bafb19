#include "services/ctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"

#define SCREEN_ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define SCREEN_LEAVE "\033[0m\033[?25h\033[?1049l"

enum { SCREEN_KEYS_MAX = 64, SCREEN_ROWS = 24, SCREEN_COLUMNS = 80, SCREEN_PAGE_MAX = 1 << 20 };

/* The terminal is the process's, and a handler of abort() must find it. */
static struct {
    bool open;
    bool keys; /* stdin is a terminal, too */
    struct termios before;
    sigset_t waited; /* told through signals */
    sigset_t mask;   /* before us */
    int signals;
    int ended_by; /* signal, 0 = none */
    char pending[SCREEN_KEYS_MAX];
    size_t pending_len, pending_at;
} screen;

static void screen_write(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* it is gone; reading tells */
        bytes += n;
        len -= (size_t)n;
    }
}

static void screen_enter(void)
{
    if (screen.keys) {
        struct termios raw = screen.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C and Ctrl-Z stay signals */
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    screen_write(SCREEN_ENTER, sizeof SCREEN_ENTER - 1);
}

/* Only what a signal handler may call. */
static void screen_leave(void)
{
    screen_write(SCREEN_LEAVE, sizeof SCREEN_LEAVE - 1);
    if (screen.keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

static void screen_aborted(int number)
{
    (void)number;
    if (screen.open)
        screen_leave();
    screen.open = false; /* abort() goes on with the default action */
}

static void screen_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGPIPE};
    const struct sigaction aborted = {.sa_handler = screen_aborted, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&screen.waited);
    for (size_t i = 0; i < ALD_COUNT(numbers); i++)
        (void)sigaddset(&screen.waited, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &screen.waited, &screen.mask);
    (void)sigaction(SIGABRT, &aborted, NULL);
    screen.signals = signalfd(-1, &screen.waited, SFD_NONBLOCK | SFD_CLOEXEC);
}

enum ald_rc screen_open(void)
{
    ALD_ASSERT(!screen.open);
    if (!isatty(STDOUT_FILENO))
        return ALD_IO;
    screen.keys = tcgetattr(STDIN_FILENO, &screen.before) == 0;
    screen_signals();
    if (screen.signals < 0) {
        (void)sigprocmask(SIG_SETMASK, &screen.mask, NULL);
        return ALD_IO;
    }
    screen.open = true;
    screen_enter();
    return ALD_OK;
}

void screen_close(void)
{
    if (!screen.open)
        return;
    screen_leave();
    screen.open = false;
    close(screen.signals);
    if (screen.ended_by != 0)
        (void)signal(screen.ended_by, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &screen.mask, NULL);
    if (screen.ended_by != 0)
        (void)raise(screen.ended_by);
}

/* Stopped as anybody is by Ctrl-Z: what comes after raise() is after `fg`. */
static void screen_stop(void)
{
    screen_leave();
    (void)raise(SIGSTOP);
    screen_enter();
}

static enum screen_event screen_signal(const struct signalfd_siginfo *info)
{
    if (info->ssi_signo == SIGWINCH)
        return SCREEN_REDRAW;
    if (info->ssi_signo == SIGTSTP) {
        screen_stop();
        return SCREEN_REDRAW;
    }
    screen.ended_by = (int)info->ssi_signo;
    return SCREEN_END;
}

/* ---- keys ---- */

static bool screen_arrow(int *key)
{
    const char *at = screen.pending + screen.pending_at;
    size_t len = screen.pending_len - screen.pending_at;
    if (len < 3 || at[0] != '\033' || (at[1] != '[' && at[1] != 'O') ||
        (at[2] != 'A' && at[2] != 'B'))
        return false;
    *key = at[2] == 'A' ? SCREEN_KEY_UP : SCREEN_KEY_DOWN;
    screen.pending_at += 3;
    return true;
}

static bool screen_key(int *key)
{
    if (screen.pending_at == screen.pending_len)
        return false;
    if (!screen_arrow(key))
        *key = (unsigned char)screen.pending[screen.pending_at++];
    return true;
}

/* False: the terminal is gone. */
static bool screen_read(void)
{
    ssize_t n = read(STDIN_FILENO, screen.pending, sizeof screen.pending);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    screen.pending_at = 0;
    screen.pending_len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

bool screen_wants_end(void)
{
    sigset_t now;
    return screen.open && sigpending(&now) == 0 &&
           (sigismember(&now, SIGINT) == 1 || sigismember(&now, SIGTERM) == 1 ||
            sigismember(&now, SIGHUP) == 1 || sigismember(&now, SIGQUIT) == 1 ||
            sigismember(&now, SIGTSTP) == 1);
}

enum screen_event screen_wait(int64_t wait_ms, int *key)
{
    int64_t until_ms = ald_clock_now().mono_ms + wait_ms;
    for (;;) {
        struct pollfd fds[] = {{.fd = screen.signals, .events = POLLIN},
                               {.fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN}};
        struct signalfd_siginfo info;
        if (screen_key(key))
            return SCREEN_KEY;
        int64_t left_ms = until_ms - ald_clock_now().mono_ms;
        int ready = poll(fds, ALD_COUNT(fds), left_ms > 0 ? (int)left_ms : 0);
        if (ready <= 0)
            return SCREEN_TIME;
        if (read(screen.signals, &info, sizeof info) == (ssize_t)sizeof info)
            return screen_signal(&info);
        if (fds[1].revents != 0 && !screen_read())
            return SCREEN_END;
    }
}

void screen_size(unsigned *rows, unsigned *columns)
{
    struct winsize size;
    bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *rows = told ? size.ws_row : SCREEN_ROWS;
    *columns = told ? size.ws_col : SCREEN_COLUMNS;
}

/* Line by line over the old page, so that nothing flickers. */
void screen_show(struct ald_span page)
{
    struct ald_buf out;
    ald_buf_init(&out, SCREEN_PAGE_MAX);
    ald_buf_put_str(&out, "\033[H");
    while (page.len > 0) {
        size_t len = ald_span_find(page, '\n');
        ald_buf_put_span(&out, ald_span_of(page.data, len));
        ald_buf_put_str(&out, len < page.len ? "\033[K\r\n" : "\033[K");
        page = ald_span_skip(page, len < page.len ? len + 1 : len);
    }
    ald_buf_put_str(&out, "\033[J");
    if (ald_buf_ok(&out))
        screen_write((const char *)out.data, out.len);
    ald_buf_free(&out);
}

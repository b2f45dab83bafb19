// A live subscription in C++: prints each event and the position to store with it; poll() waits.
//
//   live RUN FROM [PROVIDER]
//
// Ends with 0 by itself when nothing came for a second, 69 when it is refused.
#include <aldaba.h>

#include <poll.h>

#include <cinttypes>
#include <cstdio>
#include <string>

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: live RUN FROM [PROVIDER]\n");
        return 64;
    }
    aldaba_options options = {};
    options.size = sizeof options;
    options.run = argv[1];
    options.from = argv[2];
    options.provider = argc > 3 ? argv[3] : nullptr;
    char why[256];
    aldaba_t *aldaba = nullptr;
    if (aldaba_open(&options, &aldaba, why, sizeof why) != ALDABA_OK) {
        std::fprintf(stderr, "%s\n", why);
        return 69;
    }
    bool begun = false;
    for (;;) {
        pollfd readable = {aldaba_fd(aldaba), POLLIN, 0};
        if (poll(&readable, 1, begun ? 1000 : 10000) == 0)
            break;
        const aldaba_event *event = nullptr;
        aldaba_rc rc = aldaba_next(aldaba, 0, &event);
        if (rc < 0)
            return 69;
        begun = true;
        if (rc == ALDABA_OK)
            std::printf("%" PRIu64 " %s %s %s\n", event->task, event->state, event->position,
                        std::string(static_cast<const char *>(event->result), event->result_bytes).c_str());
    }
    return aldaba_close(&aldaba, 1000) == ALDABA_OK ? 0 : 75;
}

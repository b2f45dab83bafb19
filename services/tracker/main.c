#include "services/tracker/program.h"
#include "services/tracker/tracker.h"

int main(int argc, char **argv)
{
    static struct tracker tracker;
    return ald_service_main(argc, argv, &TRACKER_OPS, &tracker);
}

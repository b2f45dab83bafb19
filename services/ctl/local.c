/* Commands that ask nobody: settings and keys. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/profile.h"
#include "proto/token.h"
#include "services/ctl/commands.h"

enum { LOCAL_SETTINGS_MAX = 1 << 20 };

/* Callbacks for a provider that nobody described would all be refused. */
static int local_check_default(const struct ald_settings *settings, const ald_profiles_t *profiles)
{
    const char *name = settings->gateway.default_provider;
    if (name[0] == '\0' || ald_profiles_find(profiles, name) != NULL)
        return CTL_OK;
    ctl_say("gateway.default_provider is \"%s\", and there is no such provider.", CTL_SAFE(name));
    return CTL_CONFIG;
}

/* Profiles without their secrets: whoever checks need not have them. */
static int local_check_profiles(const struct ald_settings *settings, size_t *count)
{
    struct ald_errors errors;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    enum ald_rc rc = ald_profiles_load(settings->providers, false, &errors, &profiles);
    int code = rc == ALD_OK ? CTL_OK : CTL_CONFIG;
    if (rc == ALD_OK) {
        *count = ald_profiles_count(profiles);
        code = local_check_default(settings, profiles);
    } else {
        (void)fputs(ald_errors_text(&errors), stderr);
    }
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    return code;
}

int local_config_check(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    size_t profiles = 0;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    code = local_check_profiles(&settings, &profiles);
    if (code == CTL_OK && !args_has(args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%s: good, with %zu provider%s; secrets were not looked up\n",
                       settings.file[0] ? settings.file : "defaults, without a file", profiles,
                       profiles == 1 ? "" : "s");
    ald_settings_free(&settings);
    return code;
}

int local_config_print(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    (void)args;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    ald_settings_print(&settings, &ctl->out);
    ald_settings_free(&settings);
    return CTL_OK;
}

/* A new file, never over an old one: a lost key makes every URL that it signed a stranger's. */
static enum ald_rc local_write_key(const char *path, const uint8_t record[ALD_KEY_RECORD])
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? ALD_EXISTS : ALD_IO;
    bool ok = write(fd, record, ALD_KEY_RECORD) == ALD_KEY_RECORD && fsync(fd) == 0;
    int error = errno;
    ok = close(fd) == 0 && ok;
    if (!ok)
        (void)unlink(path);
    errno = error;
    return ok ? ALD_OK : ALD_IO;
}

int local_keys_new(struct ctl *ctl, const struct args *args)
{
    struct ald_keys keys = {0};
    const char *path = args->word[1];
    if (strcmp(args->word[0], "callback") != 0) {
        ctl_say("There are keys of one kind: aldaba keys new callback FILE");
        return CTL_USAGE;
    }
    ald_keys_rotate(&keys);
    enum ald_rc rc = local_write_key(path, keys.record[0]);
    explicit_bzero(&keys, sizeof keys);
    if (rc == ALD_EXISTS) {
        ctl_say("%s is there already and was left alone; name another file.", CTL_SAFE(path));
        return CTL_FAILED;
    }
    if (rc != ALD_OK) {
        ctl_say("%s can't be written: %s.", CTL_SAFE(path), strerror(errno));
        return CTL_FAILED;
    }
    if (!args_has(args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%s: name it as security.callback_keys in the settings\n",
                       CTL_SAFE(path));
    return CTL_OK;
}

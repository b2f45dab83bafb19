#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 4096, FOLDERS_MAX = 8, SECTOR = 512, PAGE = 4096 };

/* A change of a file's content that is not synced; data lies in the record. */
struct change {
    bool length; /* the file gets the length `at` */
    size_t at, len;
    const uint8_t *data;
};

struct object {
    uint8_t *data; /* what is synced; during a cut: what it leaves */
    size_t len, room;
    struct change *changes;
    size_t count, changes_room;
    uint64_t settled;  /* changes that were synced, ever */
    uint64_t contents; /* during a cut: says which */
    size_t low;        /* what was synced since somebody asked changed nothing below it */
};

/* A change of a folder that is not synced. */
struct move {
    enum record_kind kind;
    int name, to; /* the name; of a rename the new one */
    int object;
};

struct folder {
    char name[NAME_BYTES];
    bool synced; /* its own name is on disk */
    struct move moves[NAMES_MAX];
    size_t count;
    uint64_t settled;
};

struct sync {
    uint32_t thread;
    int object, folder;
    uint64_t upto;
};

struct undo {
    int object;
    size_t at, len, old_len, saved;
};

static struct {
    struct object *objects;
    int object_count, object_room;
    char names[NAMES_MAX][NAME_BYTES];
    int live[NAMES_MAX];   /* the object that a process finds */
    int synced[NAMES_MAX]; /* the one that is there after a cut at worst */
    int view[NAMES_MAX];   /* the one that is there after this cut */
    int name_count;
    struct folder folders[FOLDERS_MAX];
    int folder_count;
    struct sync syncs[THREADS_MAX];
    int sync_count;
    struct undo *undos;
    size_t undo_count, undo_room;
    uint8_t *saved;
    size_t saved_len, saved_room;
    bool cutting;
    int cut_objects; /* objects that are there without the engine's own */
} disk;

static void *more(void *old, size_t bytes)
{
    void *got = realloc(old, bytes);
    if (got == NULL)
        abort();
    return got;
}

static int disk_name(const char *name)
{
    for (int i = 0; i < disk.name_count; i++) {
        if (strcmp(disk.names[i], name) == 0)
            return i;
    }
    if (disk.name_count == NAMES_MAX)
        abort();
    (void)snprintf(disk.names[disk.name_count], NAME_BYTES, "%s", name);
    disk.live[disk.name_count] = NOTHING;
    disk.synced[disk.name_count] = NOTHING;
    disk.view[disk.name_count] = NOTHING;
    return disk.name_count++;
}

static int disk_folder(const char *name)
{
    if (disk.folder_count == 0)
        disk.folders[disk.folder_count++] = (struct folder){.name = ".", .synced = true};
    for (int i = 0; i < disk.folder_count; i++) {
        if (strcmp(disk.folders[i].name, name) == 0)
            return i;
    }
    return NOTHING;
}

static struct folder *disk_folder_of(const char *name)
{
    char path[NAME_BYTES];
    const char *slash = strrchr(name, '/');
    (void)snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    int at = disk_folder(path);
    if (at == NOTHING)
        abort();
    return &disk.folders[at];
}

static int object_new(void)
{
    if (disk.object_count == disk.object_room) {
        disk.object_room = disk.object_room * 2 + 64;
        disk.objects = more(disk.objects, (size_t)disk.object_room * sizeof *disk.objects);
    }
    disk.objects[disk.object_count] = (struct object){0};
    return disk.object_count++;
}

/* ---- contents ---- */

static void undo_note(int object, size_t at, size_t len)
{
    struct object *it = &disk.objects[object];
    size_t kept = at >= it->len ? 0 : it->len - at < len ? it->len - at : len;
    if (!disk.cutting)
        return;
    if (disk.undo_count == disk.undo_room) {
        disk.undo_room = disk.undo_room * 2 + 1024;
        disk.undos = more(disk.undos, disk.undo_room * sizeof *disk.undos);
    }
    if (disk.saved_len + kept > disk.saved_room) {
        disk.saved_room = (disk.saved_len + kept) * 2;
        disk.saved = more(disk.saved, disk.saved_room);
    }
    if (kept > 0)
        memcpy(disk.saved + disk.saved_len, it->data + at, kept);
    disk.undos[disk.undo_count++] = (struct undo){
        .object = object, .at = at, .len = kept, .old_len = it->len, .saved = disk.saved_len};
    disk.saved_len += kept;
}

static void object_room(struct object *it, size_t len)
{
    if (len > it->room) {
        it->room = len * 2;
        it->data = more(it->data, it->room);
    }
    if (len > it->len) {
        memset(it->data + it->len, 0, len - it->len);
        it->len = len;
    }
}

void disk_write(int object, size_t at, const uint8_t *data, size_t len)
{
    undo_note(object, at, len);
    object_room(&disk.objects[object], at + len);
    memcpy(disk.objects[object].data + at, data, len);
}

void disk_set_len(int object, size_t len)
{
    struct object *it = &disk.objects[object];
    undo_note(object, len, it->len > len ? it->len - len : 0);
    if (len > it->len)
        object_room(it, len);
    it->len = len;
}

static void change_do(int object, const struct change *change)
{
    if (change->length)
        disk_set_len(object, change->at);
    else
        disk_write(object, change->at, change->data, change->len);
}

static void object_changed(int object, struct change change)
{
    struct object *it = &disk.objects[object];
    if (it->count == it->changes_room) {
        it->changes_room = it->changes_room * 2 + 16;
        it->changes = more(it->changes, it->changes_room * sizeof *it->changes);
    }
    it->changes[it->count++] = change;
}

static void object_settle(int object, uint64_t upto)
{
    struct object *it = &disk.objects[object];
    size_t n = upto > it->settled ? (size_t)(upto - it->settled) : 0;
    for (size_t i = 0; i < n; i++) {
        it->low = it->changes[i].at < it->low ? it->changes[i].at : it->low;
        change_do(object, &it->changes[i]);
    }
    memmove(it->changes, it->changes + n, (it->count - n) * sizeof *it->changes);
    it->count -= n;
    it->settled += n;
}

/* ---- folders ---- */

/* Takes place in this view, if it still can there. */
static void move_do(const struct move *move, int *view)
{
    if (move->kind == RECORD_RENAME)
        view[move->to] = move->object;
    view[move->name] = move->kind == RECORD_CREATE ? move->object : NOTHING;
}

static void folder_moved(struct folder *folder, struct move move)
{
    if (folder->count == NAMES_MAX)
        abort();
    folder->moves[folder->count++] = move;
    if (move.kind != RECORD_FOLDER)
        move_do(&move, disk.live);
}

static void folder_settle(struct folder *folder, uint64_t upto)
{
    size_t n = upto > folder->settled ? (size_t)(upto - folder->settled) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct move *move = &folder->moves[i];
        if (move->kind == RECORD_FOLDER)
            disk.folders[move->object].synced = true;
        else
            move_do(move, disk.synced);
    }
    memmove(folder->moves, folder->moves + n, (folder->count - n) * sizeof *folder->moves);
    folder->count -= n;
    folder->settled += n;
}

/* ---- the record ---- */

static struct sync *sync_of(uint32_t thread)
{
    for (int i = 0; i < disk.sync_count; i++) {
        if (disk.syncs[i].thread == thread)
            return &disk.syncs[i];
    }
    if (disk.sync_count == THREADS_MAX)
        abort();
    disk.syncs[disk.sync_count] = (struct sync){.thread = thread};
    return &disk.syncs[disk.sync_count++];
}

static void sync_begins(struct sync *sync, const char *name)
{
    sync->folder = disk_folder(name);
    sync->object = sync->folder == NOTHING ? disk.live[disk_name(name)] : NOTHING;
    if (sync->folder != NOTHING)
        sync->upto = disk.folders[sync->folder].settled + disk.folders[sync->folder].count;
    else if (sync->object != NOTHING)
        sync->upto = disk.objects[sync->object].settled + disk.objects[sync->object].count;
}

static void sync_ends(const struct sync *sync, const struct disk_lies *lies)
{
    if (sync->folder != NOTHING && !lies->folders)
        folder_settle(&disk.folders[sync->folder], sync->upto);
    if (sync->object != NOTHING && !lies->files)
        object_settle(sync->object, sync->upto);
}

static void note_name(const struct record_head *head, const char *name, const uint8_t *data)
{
    struct move move = {.kind = head->kind, .object = NOTHING};
    if (head->kind == RECORD_FOLDER) {
        struct folder *parent = disk_folder_of(name);
        move.object = disk.folder_count;
        (void)snprintf(disk.folders[disk.folder_count++].name, NAME_BYTES, "%s", name);
        folder_moved(parent, move);
        return;
    }
    move.name = disk_name(name);
    if (head->kind == RECORD_CREATE)
        move.object = object_new();
    if (head->kind == RECORD_RENAME) {
        char to[NAME_BYTES];
        (void)snprintf(to, sizeof to, "%.*s", (int)head->data_len, (const char *)data);
        move.object = disk.live[move.name];
        move.to = disk_name(to);
    }
    folder_moved(disk_folder_of(name), move);
}

void disk_note(const struct record_head *head, const char *name, const uint8_t *data,
               const struct disk_lies *lies)
{
    int object;
    switch ((enum record_kind)head->kind) {
    case RECORD_CREATE:
    case RECORD_FOLDER:
    case RECORD_UNLINK:
    case RECORD_RENAME:
        note_name(head, name, data);
        break;
    case RECORD_WRITE:
    case RECORD_LENGTH:
        object = disk.live[disk_name(name)];
        if (object != NOTHING)
            object_changed(object, (struct change){.length = head->kind == RECORD_LENGTH,
                                                   .at = head->at,
                                                   .len = head->data_len,
                                                   .data = data});
        break;
    case RECORD_SYNC_BEGINS:
        sync_begins(sync_of(head->thread), name);
        break;
    case RECORD_SYNC_ENDS:
        sync_ends(sync_of(head->thread), lies);
        break;
    case RECORD_YES:
    case RECORD_TOLD:
        break;
    }
}

bool disk_pending(void)
{
    for (int i = 0; i < disk.folder_count; i++) {
        if (disk.folders[i].count > 0)
            return true;
    }
    for (int i = 0; i < disk.name_count; i++) {
        if (disk.live[i] != NOTHING && disk.objects[disk.live[i]].count > 0)
            return true;
    }
    return false;
}

/* ---- a cut ---- */

static const uint64_t TORN = UINT64_C(1) << 40;            /* above the number of any change */
static const uint64_t SOME = UINT64_C(0x6A09E667F3BCC908); /* no number of a file or a change */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* It may lose all of it: what it leaves is another content than the whole change in any case. */
static void change_tear(int object, const struct change *change)
{
    uint64_t *contents = &disk.objects[object].contents;
    *contents = mix(*contents, TORN);
    size_t unit = luck_is(50) ? SECTOR : PAGE;
    for (size_t at = 0; at < change->len;) {
        size_t end = (change->at + at) / unit * unit + unit - change->at;
        size_t len = (end < change->len ? end : change->len) - at;
        if (luck_is(50)) {
            disk_write(object, change->at + at, change->data + at, len);
            *contents = mix(*contents, TORN + 1 + at);
        }
        at += len;
    }
}

static void cut_object(int object, enum cut cut)
{
    size_t count = disk.objects[object].count;
    size_t prefix = count > 0 ? luck() % (count + 1) : 0;
    disk.objects[object].contents =
        mix(mix(SOME, (uint64_t)object + 1), disk.objects[object].settled + 1);
    for (size_t i = 0; i < count; i++) {
        const struct change *change = &disk.objects[object].changes[i];
        bool torn = !change->length && (cut == CUT_TORN || (cut == CUT_TAIL && i + 1 == prefix));
        if (!cut_keeps(cut, i, prefix))
            continue;
        disk.objects[object].contents = mix(disk.objects[object].contents, i + 1);
        if (torn && luck_is(75))
            change_tear(object, change);
        else
            change_do(object, change);
    }
}

static void cut_folder(const struct folder *folder, enum cut cut, bool *gone)
{
    size_t prefix = folder->count > 0 ? luck() % (folder->count + 1) : 0;
    for (size_t i = 0; i < folder->count; i++) {
        const struct move *move = &folder->moves[i];
        bool kept = cut_keeps(cut, i, prefix);
        if (move->kind == RECORD_FOLDER)
            gone[move->object] = !kept;
        else if (kept)
            move_do(move, disk.view);
    }
}

/* Files differ, too: this one has all, that one nothing. */
static enum cut cut_of_one(enum cut cut)
{
    bool own = cut != CUT_ALL && cut != CUT_NONE && luck_is(20);
    return own ? (enum cut)(luck() % CUT_COUNT) : cut;
}

void disk_cut(enum cut cut)
{
    bool gone[FOLDERS_MAX] = {false};
    disk.cutting = true;
    disk.cut_objects = disk.object_count;
    memcpy(disk.view, disk.synced, sizeof disk.view);
    for (int i = 0; i < disk.folder_count; i++)
        cut_folder(&disk.folders[i], cut_of_one(cut), gone);
    for (int i = 0; i < disk.name_count; i++) {
        if (disk.view[i] != NOTHING && gone[disk_folder_of(disk.names[i]) - disk.folders])
            disk.view[i] = NOTHING;
        if (disk.view[i] != NOTHING)
            cut_object(disk.view[i], cut_of_one(cut));
    }
}

void disk_mend(void)
{
    while (disk.undo_count > 0) {
        const struct undo *undo = &disk.undos[--disk.undo_count];
        struct object *it = &disk.objects[undo->object];
        if (undo->len > 0)
            memcpy(it->data + undo->at, disk.saved + undo->saved, undo->len);
        it->len = undo->old_len;
    }
    disk.saved_len = 0;
    for (; disk.object_count > disk.cut_objects; disk.object_count--)
        free(disk.objects[disk.object_count - 1].data);
    disk.cutting = false;
}

int disk_find(const char *name)
{
    return disk.view[disk_name(name)];
}

size_t disk_len(int object)
{
    return disk.objects[object].len;
}

const uint8_t *disk_data(int object)
{
    return disk.objects[object].data;
}

int disk_create(const char *name)
{
    return disk.view[disk_name(name)] = object_new();
}

void disk_remove(const char *name)
{
    disk.view[disk_name(name)] = NOTHING;
}

size_t disk_steady(int object, size_t *stays)
{
    struct object *it = &disk.objects[object];
    *stays = SIZE_MAX;
    for (size_t i = 0; i < it->count; i++)
        *stays = it->changes[i].at < *stays ? it->changes[i].at : *stays;
    size_t low = it->low < *stays ? it->low : *stays;
    it->low = SIZE_MAX;
    return low;
}

uint64_t disk_print(const char *name)
{
    int object = disk_find(name);
    return object == NOTHING ? 0 : disk.objects[object].contents;
}

void disk_each(void (*fn)(void *context, const char *name, int object), void *context)
{
    for (int i = 0; i < disk.name_count; i++) {
        if (disk.view[i] != NOTHING)
            fn(context, disk.names[i], disk.view[i]);
    }
}

/* A module that does what others may: it runs commands in a thread of its own, under the server's lock, and it deletes
 * a key as soon as it is told of a list that grew. meddling_module.rs compiles and loads it.
 *
 *   MEDDLE.THREAD command [argument ...]     runs the command in another thread
 *   MEDDLE.DELETE key                        from now on, deletes the key when a list has grown
 *
 * It looks up the functions of the module API by itself, so no header of the server is needed. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef struct Blocked Blocked;
typedef int (*Command)(Context *, String **, int);

static Reply *(*call)(Context *, const char *, const char *, ...);
static void (*free_reply)(Reply *);
static int (*reply_with)(Context *, Reply *);
static int (*reply_error)(Context *, const char *);
static int (*reply_ok)(Context *, const char *);
static const char *(*bytes_of)(const String *, size_t *);
static void (*retain)(Context *, String *);
static void (*release)(Context *, String *);
static Blocked *(*block)(Context *, Command, Command, void (*)(Context *, void *), long long);
static int (*unblock)(Blocked *, void *);
static Context *(*thread_context)(Blocked *);
static void (*free_thread_context)(Context *);
static void (*lock)(Context *);
static void (*unlock)(Context *);

struct work {
    Blocked *client;
    int count;
    String **words;
};

static void *run(void *argument) {
    struct work *work = argument;
    Context *context = thread_context(work->client);
    lock(context);
    Reply *reply = call(context, bytes_of(work->words[1], NULL), "!v", work->words + 2, (size_t)work->count - 2);
    if (reply) {
        reply_with(context, reply);
        free_reply(reply);
    } else {
        reply_error(context, "ERR the command was refused");
    }
    for (int i = 0; i < work->count; i++) release(context, work->words[i]);
    unlock(context);
    unblock(work->client, NULL);
    free_thread_context(context);
    free(work->words);
    free(work);
    return NULL;
}

static int in_thread(Context *context, String **words, int count) {
    if (count < 3) return reply_error(context, "ERR a command and its arguments are needed");
    struct work *work = malloc(sizeof *work);
    work->count = count;
    work->words = malloc(sizeof *words * (size_t)count);
    for (int i = 0; i < count; i++) {
        work->words[i] = words[i];
        retain(context, words[i]);
    }
    work->client = block(context, NULL, NULL, NULL, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, run, work);
    pthread_detach(thread);
    return 0;
}

static char victim[64];

static int set_victim(Context *context, String **words, int count) {
    strncpy(victim, count > 1 ? bytes_of(words[1], NULL) : "", sizeof victim - 1);
    return reply_ok(context, "OK");
}

static int list_grew(Context *context, int kind, const char *event, String *key) {
    (void)kind, (void)event, (void)key;
    if (victim[0]) {
        Reply *reply = call(context, "DEL", "!c", victim);
        if (reply) free_reply(reply);
    }
    return 0;
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    (void)words, (void)count;
    /* The server puts the function that finds all others first in the context. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    int (*set_attributes)(Context *, const char *, int, int);
    int (*create)(Context *, const char *, Command, const char *, int, int, int);
    int (*subscribe)(Context *, int, int (*)(Context *, int, const char *, String *));
    find("RedisModule_SetModuleAttribs", &set_attributes);
    find("RedisModule_CreateCommand", &create);
    find("RedisModule_SubscribeToKeyspaceEvents", &subscribe);
    find("RedisModule_Call", &call);
    find("RedisModule_FreeCallReply", &free_reply);
    find("RedisModule_ReplyWithCallReply", &reply_with);
    find("RedisModule_ReplyWithError", &reply_error);
    find("RedisModule_ReplyWithSimpleString", &reply_ok);
    find("RedisModule_StringPtrLen", &bytes_of);
    find("RedisModule_RetainString", &retain);
    find("RedisModule_FreeString", &release);
    find("RedisModule_BlockClient", &block);
    find("RedisModule_UnblockClient", &unblock);
    find("RedisModule_GetThreadSafeContext", &thread_context);
    find("RedisModule_FreeThreadSafeContext", &free_thread_context);
    find("RedisModule_ThreadSafeContextLock", &lock);
    find("RedisModule_ThreadSafeContextUnlock", &unlock);
    set_attributes(context, "meddle", 1, 1);
    create(context, "meddle.thread", in_thread, "write", 0, 0, 0);
    create(context, "meddle.delete", set_victim, "write", 0, 0, 0);
    subscribe(context, 1 << 4 /* lists */, list_grew);
    return 0;
}

/* A stand-in for CUPTI: the functions and the layout of records that the real one has, and faults on request. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*request_t)(uint8_t **, size_t *, size_t *);
typedef void (*complete_t)(void *, uint32_t, uint8_t *, size_t, size_t);

static request_t request;
static complete_t complete;
static uint64_t (*timestamp)(void);
static uint8_t *buffer;
static size_t size, used;
static int enabled[64], runtime[1024];
static size_t dropped;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static long setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}
/* The size of a kernel's record differs between versions. */
static size_t kernel_size(void) { return setting("MOCK_KERNEL", 216); }

int cuptiGetVersion(uint32_t *version) { *version = setting("MOCK_VERSION", 130001); return 0; }
int cuptiActivityRegisterCallbacks(request_t ask, complete_t done) {
    long answer = setting("MOCK_REGISTER", 0);
    if (!answer) { request = ask; complete = done; }
    return answer;
}
#ifndef WITHOUT_CLOCK
int cuptiActivityRegisterTimestampCallback(uint64_t (*callback)(void)) { timestamp = callback; return 0; }
#endif
int cuptiActivityEnable(uint32_t kind) {
    if (kind == 10 && setting("MOCK_ENABLE", 0)) return setting("MOCK_ENABLE", 0);
    if (kind < 64) enabled[kind] = 1;
    return 0;
}
int cuptiActivityDisable(uint32_t kind) { if (kind < 64) enabled[kind] = 0; return 0; }
static void done(void) {
    if (buffer) { complete(0, 0, buffer, size, used); buffer = 0; used = 0; }
}
int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    pthread_mutex_lock(&one); done(); pthread_mutex_unlock(&one);
    return 0;
}
int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record) {
    size_t at = 0;
    if (*record) {
        uint32_t kind;
        memcpy(&kind, *record, 4);
        at = (*record - from) + (kind == 10 ? kernel_size() : kind == 1 ? 96 : 40);
    }
    if (at >= valid) return 12;
    *record = from + at;
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
    (void)context; (void)stream;
    *count = dropped ? dropped : (size_t)setting("MOCK_DROPPED", 0);
    dropped = 0;
    return 0;
}
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on) { if (id < 1024) runtime[id] = on; return 0; }
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on) { (void)id; (void)on; return 0; }
int cuptiSetThreadIdType(uint32_t type) { (void)type; return 0; }
int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name) {
    if (domain != 2) return 1;
    switch (id) {
    case 131: *name = "cudaStreamSynchronize_v3020"; return 0;
    case 211: *name = "cudaLaunchKernel_v7000"; return 0;
    case 3: *name = "cudaGetDeviceCount_v3020"; return 0;
    }
    return 1;
}
int cuptiGetResultString(int answer, const char **text) {
    *text = answer == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_OTHER";
    return 0;
}

/* What the program below calls. */
static uint8_t *record(size_t length) {
    if (buffer && used + length > size) done();
    if (!buffer) {
        size_t most;
        request(&buffer, &size, &most);
        if (!buffer) { dropped++; return 0; }
    }
    uint8_t *place = buffer + used;
    used += length;
    return place;
}
static void put(uint8_t *at, size_t offset, uint64_t value, size_t length) { memcpy(at + offset, &value, length); }

/* The call at `time` for 2 µs, the kernel 5 µs later for 4 µs. */
static void add_kernel(uint64_t time, uint32_t correlation, const char *name) {
    if (runtime[211]) {
        uint8_t *call = record(40);
        if (call) {
            put(call, 0, 5, 4); put(call, 4, 211, 4); put(call, 8, time, 8); put(call, 16, time + 2000, 8);
            put(call, 28, syscall(SYS_gettid), 4); put(call, 32, correlation, 4);
        }
    }
    if (!enabled[10]) return;
    uint8_t *kernel = record(kernel_size());
    if (!kernel) return;
    put(kernel, 0, 10, 4); put(kernel, 16, time + 5000, 8); put(kernel, 24, time + 9000, 8);
    put(kernel, 44, 1, 4); put(kernel, 48, 7, 4); put(kernel, 52, 8, 4); put(kernel, 56, 1, 4); put(kernel, 60, 1, 4);
    put(kernel, 64, 128, 4); put(kernel, 68, 1, 4); put(kernel, 72, 1, 4);
    put(kernel, 92, correlation, 4); put(kernel, 104, (uint64_t)(uintptr_t)name, 8);
}
void mock_kernel(uint64_t time, uint32_t correlation, const char *name) {
    pthread_mutex_lock(&one); add_kernel(time, correlation, name); pthread_mutex_unlock(&one);
}
void mock_copy(uint64_t time, uint32_t correlation, uint64_t bytes) {
    pthread_mutex_lock(&one);
    uint8_t *copy = enabled[1] ? record(96) : 0;
    if (!copy) { pthread_mutex_unlock(&one); return; }
    put(copy, 0, 1, 4); put(copy, 4, 1, 1); put(copy, 5, 1, 1); put(copy, 6, 3, 1); put(copy, 8, bytes, 8);
    put(copy, 16, time, 8); put(copy, 24, time + 1000, 8); put(copy, 40, 7, 4); put(copy, 44, correlation, 4);
    pthread_mutex_unlock(&one);
}
static void other_request(uint8_t **to, size_t *length, size_t *most) { *to = calloc(1, 4096); *length = 4096; *most = 0; }
static void other_complete(void *c, uint32_t s, uint8_t *b, size_t l, size_t u) { (void)c; (void)s; (void)b; (void)l; (void)u; }
/* Another tool registers itself: buffers of ours go to it. */
void mock_steal(void) { request = other_request; complete = other_complete; }
int mock_is_stolen(void) { return request == other_request && complete == other_complete; }
uint64_t mock_now(void) { return timestamp ? timestamp() : 0; }

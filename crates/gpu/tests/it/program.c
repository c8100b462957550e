/* A program that uses "CUDA" and NVTX, with NVTX's own headers where they are installed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#else
static void nvtxRangePushA(const char *name) { (void)name; }
static void nvtxRangePop(void) {}
#endif

static void (*kernel)(uint64_t, uint32_t, const char *);
static void (*copy)(uint64_t, uint32_t, uint64_t);
static void (*steal)(void);
static uint64_t (*now)(void);
static int (*is_stolen)(void);
static uint32_t correlation;

/* What the driver does when CUDA is used for the first time. */
static void initialise(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : 0;
    int (*begin)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : 0;
    if (begin && begin() != 1) abort();
}
static void work(uint64_t from, long count) {
    for (long i = 0; kernel && i < count; i++)
        kernel(from + i * 10000, ++correlation, i % 2 ? "_ZN2at6native4gemmEv" : "sm90_gemm");
}
/* The same as it happens: when this returns, the last launch is over. */
static void work_now(long count) {
    if (kernel) work(now(), count);
    usleep(10 * count + 100);
}
#ifdef WITH_NVTX
static void *second(void *nothing) {
    nvtxRangePushA("second thread");
    work_now(3);
    nvtxRangePop();
    return nothing;
}
#endif

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    long number = count > 2 ? atol(words[2]) : 100;
    void *mock = dlopen(getenv("MOCK_LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
    if (mock) {
        kernel = (void (*)(uint64_t, uint32_t, const char *))dlsym(mock, "mock_kernel");
        copy = (void (*)(uint64_t, uint32_t, uint64_t))dlsym(mock, "mock_copy");
        steal = (void (*)(void))dlsym(mock, "mock_steal");
        is_stolen = (int (*)(void))dlsym(mock, "mock_is_stolen");
        now = (uint64_t (*)(void))dlsym(mock, "mock_now");
    }
    printf("output of the program\n");
    if (!strcmp(mode, "ranges")) {
        nvtxRangePushA("outer"); nvtxRangePushA("inner"); usleep(2000); nvtxRangePop(); nvtxRangePop();
        return 0;
    }
    if (!strcmp(mode, "released")) {
        /* The program's own profiler is started first, registers itself, and then CUDA is used for the first time. */
        void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
        ((void (*)(void))dlsym(library, "modelmeter_gpu_release"))();
        steal();
        initialise();
        return is_stolen() ? 7 : 8;
    }
    if (getenv("FILE_LIMIT")) {
        struct rlimit most = {atol(getenv("FILE_LIMIT")), RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &most);
    }
    initialise();
    if (!strcmp(mode, "work")) work(1000000, number);
    if (!strcmp(mode, "copies")) for (long i = 0; i < number; i++) copy(1000 + i * 2000, i + 1, 1 << 20);
    if (!strcmp(mode, "steal")) { work(1000000, 10); steal(); work(2000000, number); }
    if (!strcmp(mode, "leave")) { work(1000000, number); usleep(1500000); fflush(stdout); _exit(5); }
    if (!strcmp(mode, "killed")) { work(1000000, number); usleep(1500000); fflush(stdout); raise(SIGKILL); }
    if (!strcmp(mode, "fork")) {
        work(1000000, number);
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            nvtxRangePushA("in the child"); nvtxRangePop();
            exit(3);
        }
        int status;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status) + 4;
    }
    if (!strcmp(mode, "steps"))
        for (long i = 0; i < number; i++) {
            nvtxRangePushA("step"); work_now(2); nvtxRangePop();
            nvtxRangePushA("other"); work_now(1); nvtxRangePop();
        }
#ifdef WITH_NVTX
    if (!strcmp(mode, "threads")) {
        nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
        nvtxEventAttributes_t named = {0};
        named.version = NVTX_VERSION; named.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        named.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        named.message.registered = nvtxDomainRegisterStringA(domain, "registered");
        nvtxRangePushW(L"wide outer");
        work_now(1);
        nvtxDomainRangePushEx(domain, &named);
        work_now(2);
        pthread_t thread;
        pthread_create(&thread, 0, second, 0);
        pthread_join(thread, 0);
        nvtxDomainRangePop(domain);
        nvtxRangePop();
        work_now(4);
        nvtxRangeId_t range = nvtxRangeStartA("anywhere");
        nvtxMarkA("a moment");
        nvtxRangeEnd(range);
        nvtxRangePop();
    }
#endif
    return 7;
}

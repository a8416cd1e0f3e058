/* A fake libcuda.so.1 with the entry points that are asked about devices, and those
 * that run a kernel of PTX text, which it computes on the CPU.
 * It obeys CUDA_VISIBLE_DEVICES (numbers and UUIDs), and shows one MIG slice. */
#include "fake.h"

enum { INVALID_DEVICE = 101, NO_DEVICE = 100 };

static int visible[MOST], visible_count;

static int first_slice(int parent) {
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent == parent) return i;
    return -1;
}

/* What CUDA would show without CUDA_VISIBLE_DEVICES. */
static int show_all(int *shown) {
    int count = 0;
    for (int number = 0; whole_gpu(number) >= 0; number++) {
        int gpu = whole_gpu(order_count ? order[number] : number);
        if (order_count && number >= order_count) break;
        if (devices[gpu].mig) gpu = first_slice(gpu);
        if (gpu >= 0) shown[count++] = gpu;
    }
    return count;
}

static int named(const char *word, const int *all, int count) {
    char *end;
    long number = strtol(word, &end, 10);
    if (*word && !*end) return number >= 0 && number < count ? all[number] : -1;
    for (int i = 0; i < device_count; i++)
        if (*word && !strncmp(devices[i].uuid, word, strlen(word))) return i;
    return -1;
}

static void choose(void) {
    int all[MOST], count = show_all(all);
    const char *wish = getenv("CUDA_VISIBLE_DEVICES");
    char text[1024];
    if (!wish) {
        memcpy(visible, all, sizeof all);
        visible_count = count;
        return;
    }
    snprintf(text, sizeof text, "%s", wish);
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        int device = named(word, all, count);
        if (device < 0) return; /* as the driver does: the first bad one ends the list */
        visible[visible_count++] = device;
    }
}

int cuDriverGetVersion(int *version) {
    read_machine();
    *version = cuda_version;
    return 0;
}
int cuInit(unsigned flags) {
    int code;
    (void)flags;
    read_machine();
    code = behave(cuda_init_code);
    if (code) return code;
    choose();
    return visible_count ? 0 : NO_DEVICE;
}
int cuDeviceGetCount(int *count) {
    *count = visible_count;
    return 0;
}
int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= visible_count) return INVALID_DEVICE;
    *device = ordinal;
    return 0;
}

static struct device *at(int device) { return &devices[visible[device]]; }

static struct device *whole(int device) {
    return at(device)->parent < 0 ? at(device) : &devices[at(device)->parent];
}

int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "%s", at(device)->name);
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 18: *value = whole(device)->integrated; return 0;
    case 75: *value = whole(device)->major; return 0;
    case 76: *value = whole(device)->minor; return 0;
    default: return 1;
    }
}

static int bytes_of(const char *uuid, unsigned char *bytes) {
    int count = 0;
    for (const char *c = uuid + 4; *c && count < 16; c += *c == '-' ? 1 : 2) {
        unsigned value;
        if (*c != '-' && sscanf(c, "%2x", &value) == 1) bytes[count++] = (unsigned char)value;
    }
    return count == 16 ? 0 : 1;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) { return bytes_of(whole(device)->uuid, uuid); }
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { return bytes_of(at(device)->uuid, uuid); }

int cuDeviceGetPCIBusId(char *text, int size, int device) {
    /* CUDA writes four digits of the domain where NVML writes eight. */
    snprintf(text, (size_t)size, "%s", whole(device)->pci + 4);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = at(device)->mebibytes << 20;
    return 0;
}

/* --- running a kernel: only archbuild_trial is known here --- */

enum { INVALID_PTX = 218, JIT_DISABLED = 223, NOT_FOUND = 500 };
enum { ERROR_LOG = 5 };

/* What the machine's file says about a call on the one visible GPU. */
static int refuses(const char *call) {
    for (int i = 0; i < refusal_count; i++) {
        const struct refusal *r = &refusals[i];
        if (!strcmp(r->call, call) && (!*r->uuid || !strcmp(r->uuid, at(0)->uuid)))
            return behave(r->code);
    }
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    static char words[48];
    snprintf(words, sizeof words, "the fake's error %d", error);
    *text = words;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = (void *)(size_t)(device + 1);
    return refuses("context");
}
int cuCtxSetCurrent(void *context) { return context ? 0 : 201; }

int cuModuleLoadDataEx(void **module, const char *text, unsigned count, int *kinds, void **values) {
    const char *force = getenv("CUDA_FORCE_PTX_JIT"), *disable = getenv("CUDA_DISABLE_PTX_JIT");
    const char *call = force && *force ? "forced_load" : "module_load";
    int code = refuses(call);
    if (!code && disable && *disable) code = JIT_DISABLED;
    if (!code && !strstr(text, ".target sm_")) code = INVALID_PTX;
    for (unsigned i = 0; code == INVALID_PTX && i < count; i++)
        if (kinds[i] == ERROR_LOG) strcpy(values[i], "ptxas fatal   : the fake's log");
    *module = (void *)text;
    return code;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = (void *)1;
    return strcmp(name, "archbuild_trial") ? NOT_FOUND : 0;
}
int cuMemAlloc_v2(unsigned long long *place, size_t size) {
    *place = (unsigned long long)(size_t)malloc(size);
    return refuses("memory");
}
int cuMemcpyHtoD_v2(unsigned long long place, const void *from, size_t size) {
    memcpy((void *)(size_t)place, from, size);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long place, size_t size) {
    memcpy(to, (void *)(size_t)place, size);
    return 0;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **values, void **extra) {
    unsigned *words = (unsigned *)(size_t) * (unsigned long long *)values[0];
    unsigned count = *(unsigned *)values[1], seed = *(unsigned *)values[2];
    int code = refuses("launch");
    (void)shared, (void)stream, (void)extra, (void)function;
    if (code) return code;
    if (grid_y * grid_z * block_y * block_z != 1) return 1;
    for (unsigned i = 0; i < grid_x * block_x && i < count; i++) {
        words[i] = i * 1664525u + seed;
        words[i] ^= words[i] >> 13;
    }
    if (refuses("wrong")) words[count - 1] ^= 1;
    return 0;
}
int cuCtxSynchronize(void) { return refuses("synchronize"); }

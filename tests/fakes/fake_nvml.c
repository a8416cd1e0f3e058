/* A fake libnvidia-ml.so.1 with the entry points that pynvml calls here. */
#include "fake.h"

struct pci_info {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
struct memory { unsigned long long total, free, used; };

static struct device *at(void *handle) { return &devices[(size_t)handle - 1]; }

static int fails(void *handle, const char *call) {
    return strcmp(at(handle)->call, call) ? 0 : behave(at(handle)->code);
}

static int copy(char *to, unsigned size, const char *from) {
    if (strlen(from) >= size) return 7;
    strcpy(to, from);
    return 0;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    read_machine();
    return behave(nvml_init_code);
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) {
    (void)code;
    return "an error of the fake";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    return copy(text, size, driver_release);
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = cuda_version;
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    for (*count = 0; whole_gpu((int)*count) >= 0;) ++*count;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    int found = whole_gpu((int)index);
    if (found < 0) return 2;
    *handle = (void *)(size_t)(found + 1);
    return fails(*handle, "handle");
}
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
    int code = fails(handle, "uuid");
    return code ? code : copy(text, size, at(handle)->uuid);
}
int nvmlDeviceGetName(void *handle, char *text, unsigned size) {
    int code = fails(handle, "name");
    return code ? code : copy(text, size, at(handle)->name);
}
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    int code = fails(handle, "capability");
    if (at(handle)->parent >= 0) return 3; /* not supported for a slice */
    *major = at(handle)->major;
    *minor = at(handle)->minor;
    return code;
}
int nvmlDeviceGetPciInfo_v3(void *handle, struct pci_info *info) {
    int code = fails(handle, "pci");
    memset(info, 0, sizeof *info);
    return code ? code : copy(info->bus_id, sizeof info->bus_id, at(handle)->pci);
}
int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory) {
    int code = fails(handle, "memory");
    memory->total = memory->free = at(handle)->mebibytes << 20;
    memory->used = 0;
    return code;
}
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    *current = *pending = (unsigned)at(handle)->mig;
    return at(handle)->major < 8 ? 3 : 0; /* not supported before Ampere */
}
int nvmlDeviceGetVirtualizationMode(void *handle, int *mode) {
    int code = fails(handle, "mode");
    *mode = at(handle)->mode;
    return code;
}
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
    (void)handle;
    *count = 7;
    return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **slice) {
    int parent = (int)(size_t)handle - 1;
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent == parent && index-- == 0) {
            *slice = (void *)(size_t)(i + 1);
            return 0;
        }
    return 6;
}

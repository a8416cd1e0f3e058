/* A fake libcuda.so.1 with the entry points that are asked about devices.
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
    if (attribute != 75 && attribute != 76) return 1;
    *value = attribute == 75 ? whole(device)->major : whole(device)->minor;
    return 0;
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

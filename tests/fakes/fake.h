/* The machine that both fake libraries pretend to be, read from the text file
 * named by ARCHBUILD_FAKE_GPUS. One setting a line:
 *
 *   release 580.65.06                 the driver's release
 *   cuda 13000                        its CUDA version
 *   nvml_init CODE, cuda_init CODE    what the first call returns
 *   order N N ...                     CUDA's order, by NVML index; not named: not there
 *   refuse CALL CODE [UUID]           what a call that runs a kernel returns, on all
 *                                     GPUs or one: context, module_load, forced_load,
 *                                     memory, launch, synchronize; wrong: false numbers
 *   gpu UUID MAJOR MINOR PCI MEBIBYTES MIG CALL CODE NAME
 *   slice, in the same form           a MIG slice of the GPU above it
 *   mode N, integrated N              of the GPU above: its virtualization mode, 2 for a
 *                                     share of a GPU, and whether it has no memory of its own
 *
 * CALL is the NVML call about this GPU that fails with CODE: handle, uuid,
 * name, capability, pci, memory, mode; `none` for none. CODE -1 hangs, -2 crashes,
 * -3 prints without end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

struct device {
    char uuid[80], pci[32], call[16], name[96];
    int major, minor, mig, code, mode, integrated, parent; /* parent: -1 for a whole GPU */
    unsigned long long mebibytes;
};

struct refusal {
    char call[16], uuid[80];
    int code;
};

static struct refusal refusals[MOST];
static int refusal_count;
static struct device devices[MOST];
static int device_count, order[MOST], order_count, cuda_version = 13000;
static int nvml_init_code, cuda_init_code;
static char driver_release[80] = "580.65.06";

static int behave(int code) {
    if (code == -1)
        for (;;) pause();
    if (code == -2) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (code == -3)
        for (;;) puts("All work and no play makes a dull driver.");
    return code;
}

static void read_device(const char *rest, int parent) {
    struct device *d = &devices[device_count];
    int n = sscanf(rest, "%79s %d %d %31s %llu %d %15s %d %95[^\n]", d->uuid, &d->major, &d->minor,
                   d->pci, &d->mebibytes, &d->mig, d->call, &d->code, d->name);
    if (n != 9) {
        fprintf(stderr, "fake driver: cannot read: %s", rest);
        abort();
    }
    d->parent = parent;
    device_count++;
}

static void read_order(char *rest) {
    for (char *word = strtok(rest, " \n"); word; word = strtok(NULL, " \n"))
        order[order_count++] = atoi(word);
}

static void read_machine(void) {
    static int done;
    char line[512];
    const char *path = getenv("ARCHBUILD_FAKE_GPUS");
    FILE *file = path ? fopen(path, "r") : NULL;
    int whole = -1;
    if (done++ || !file) return;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "release %79s", driver_release);
        sscanf(line, "cuda %d", &cuda_version);
        sscanf(line, "nvml_init %d", &nvml_init_code);
        sscanf(line, "cuda_init %d", &cuda_init_code);
        if (refusal_count < MOST) {
            struct refusal *r = &refusals[refusal_count];
            if (sscanf(line, "refuse %15s %d %79s", r->call, &r->code, r->uuid) >= 2)
                refusal_count++;
        }
        if (!strncmp(line, "order ", 6)) read_order(line + 6);
        if (!strncmp(line, "gpu ", 4)) {
            whole = device_count;
            read_device(line + 4, -1);
        }
        if (!strncmp(line, "slice ", 6)) read_device(line + 6, whole);
        if (whole >= 0) {
            sscanf(line, "mode %d", &devices[whole].mode);
            sscanf(line, "integrated %d", &devices[whole].integrated);
        }
    }
    fclose(file);
}

/* The index in `devices` of the whole GPU with this number, -1 without. */
static int whole_gpu(int number) {
    for (int i = 0; i < device_count; i++)
        if (devices[i].parent < 0 && number-- == 0) return i;
    return -1;
}

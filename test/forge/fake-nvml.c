/* A stand-in for libnvidia-ml.so.1: two devices, one with MIG, in the library's own layouts. Built with -DHANG it never answers,
   as a wedged driver does; with -DMISMATCH initialisation fails. */
#include <string.h>
#include <unistd.h>

typedef void *device_t;
static int initialised = 0;

int nvmlInit_v2(void) {
#ifdef HANG
  for (;;) pause();
#endif
#ifdef MISMATCH
  return 18;
#endif
  initialised = 1;
  return 0;
}
int nvmlShutdown(void) { initialised = 0; return 0; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { strncpy(out, "580.159.04", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { if (!initialised) return 1; *out = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = 3; return 0; }
/* The third device fell off the bus. */
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device_t *out) { if (i == 2) return 15; *out = (device_t)(0x7f0000000000ul + i + 1); return 0; }
static int index_of(device_t d) { return (int)((unsigned long)d & 0xff); }
int nvmlDeviceGetName(device_t d, char *out, unsigned n) {
  strncpy(out, index_of(d) == 1 ? "NVIDIA H200" : index_of(d) == 2 ? "NVIDIA A100 80GB PCIe" : "NVIDIA A100 80GB PCIe MIG 1g.10gb", n);
  return 0;
}
int nvmlDeviceGetUUID(device_t d, char *out, unsigned n) { strncpy(out, index_of(d) > 2 ? "MIG-aaaa" : index_of(d) == 1 ? "GPU-1111" : "GPU-2222", n); return 0; }
struct pci { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(device_t d, struct pci *out) {
  memset(out, 0, sizeof *out);
  strcpy(out->bus_id, index_of(d) == 1 ? "00000000:4E:00.0" : "00000001:07:00.0");
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(device_t d, int *major, int *minor) { *major = index_of(d) == 1 ? 9 : 8; *minor = 0; return 0; }
struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(device_t d, struct memory *out) {
  out->total = index_of(d) == 1 ? 150754820096ull : index_of(d) == 2 ? 85899345920ull : 10468982784ull;
  out->used = 1000000000ull;
  out->free = out->total - out->used;
  return 0;
}
int nvmlDeviceGetNumGpuCores(device_t d, unsigned *out) { *out = index_of(d) == 1 ? 16896 : 6912; return 0; }
int nvmlDeviceGetMigMode(device_t d, unsigned *now, unsigned *next) { *now = *next = index_of(d) == 2; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(device_t d, unsigned *out) { *out = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(device_t d, unsigned i, device_t *out) { if (i > 1) return 6; *out = (device_t)(0x7f0000000000ul + 10 + i); return 0; }
struct rates { unsigned gpu, memory; };
int nvmlDeviceGetUtilizationRates(device_t d, struct rates *out) { if (index_of(d) == 2) return 3; out->gpu = 97; out->memory = 41; return 0; }
int nvmlDeviceGetTemperature(device_t d, unsigned sensor, unsigned *out) { *out = sensor == 0 ? 55 : 0; return 0; }
int nvmlDeviceGetPowerUsage(device_t d, unsigned *out) { *out = 512345; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(device_t d, unsigned *out) { *out = 700000; return 0; }
int nvmlDeviceGetClockInfo(device_t d, unsigned type, unsigned *out) { *out = type == 1 ? 1980 : 3201; return 0; }
/* nvmlDeviceGetFanSpeed is left out, as in a library that lacks a function. */

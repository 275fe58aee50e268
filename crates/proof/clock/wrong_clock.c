/* Loaded into one process with LD_PRELOAD: its wall clock is wrong by WRONG_CLOCK_SECONDS. Durations stay right. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(void) {
    const char *seconds = getenv("WRONG_CLOCK_SECONDS");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += wrong_by();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *stored) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return (time_t)-1;
    if (stored) *stored = precise.tv_sec;
    return precise.tv_sec;
}

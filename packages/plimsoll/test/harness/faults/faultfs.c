/*
 * A disk that fails at one chosen call. Preloaded into a program, it counts the calls that open, make, write, sync, move, link or
 * remove something in one folder, and at the call with the number FAULT_AT it does what FAULT_KIND says:
 *   kill    the process is killed; of a write, the first half has reached the disk
 *   eio     the call fails with EIO, once
 *   enospc  from then on nothing new can be written; of a write, the first half has reached the disk
 * FAULT_FOLDER names the folder. FAULT_TRACE names a file outside of it that gets a line for each call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_FD = 65536 };
enum kind { NONE, KILL, EIO_ONCE, ENOSPC_ON };
/* What a call needs of the disk. */
enum need { NOTHING, SPACE };

static atomic_int calls;
static atomic_int is_full;
static atomic_char is_ours[MAX_FD];
static char folder[4096];
static size_t folder_length;
static int fault_at;
static enum kind fault_kind;
static int trace_fd = -1;

__attribute__((constructor)) static void set_up(void) {
  const char *name = getenv("FAULT_FOLDER");
  const char *at = getenv("FAULT_AT");
  const char *kind = getenv("FAULT_KIND");
  const char *trace = getenv("FAULT_TRACE");
  if (name == NULL) return;
  snprintf(folder, sizeof folder, "%s", name);
  folder_length = strlen(folder);
  fault_at = at == NULL ? 0 : atoi(at);
  if (kind == NULL) fault_kind = NONE;
  else if (strcmp(kind, "kill") == 0) fault_kind = KILL;
  else if (strcmp(kind, "eio") == 0) fault_kind = EIO_ONCE;
  else fault_kind = ENOSPC_ON;
  if (trace != NULL)
    trace_fd = (int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_inside(const char *path) {
  if (folder_length == 0 || path == NULL || strncmp(path, folder, folder_length) != 0) return 0;
  return path[folder_length] == '/' || path[folder_length] == '\0';
}

static int is_tracked(int fd) { return fd >= 0 && fd < MAX_FD && is_ours[fd]; }

static void track(int fd, int ours) {
  if (fd >= 0 && fd < MAX_FD) is_ours[fd] = (char)ours;
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

/* 0: go on. Otherwise the errno with which the call fails. With KILL, the caller does the first half and dies. */
static int next_call(const char *name, const char *path, enum need need, int *must_die) {
  int number = ++calls;
  *must_die = 0;
  if (trace_fd >= 0) {
    char line[4400];
    int length = snprintf(line, sizeof line, "%s %s\n", name, path);
    syscall(SYS_write, trace_fd, line, (size_t)length);
  }
  if (number == fault_at) {
    if (fault_kind == KILL) *must_die = 1;
    if (fault_kind == EIO_ONCE) return EIO;
    if (fault_kind == ENOSPC_ON) is_full = 1;
  }
  return is_full && need == SPACE ? ENOSPC : 0;
}

#define REAL(type, name, ...)                                 \
  static type (*real)(__VA_ARGS__);                           \
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

#define FAIL_IF(code)                                         \
  do {                                                        \
    int failed = (code);                                      \
    if (must_die) die();                                      \
    if (failed != 0) {                                        \
      errno = failed;                                         \
      return -1;                                              \
    }                                                         \
  } while (0)

static int creates(const char *path, int flags) {
  struct stat found;
  return (flags & O_CREAT) != 0 && stat(path, &found) != 0;
}

#define OPENED(fd, path) (track(fd, 1), fd)

#define DEFINE_OPEN(function)                                                                \
  int function(const char *path, int flags, ...) {                                           \
    REAL(int, #function, const char *, int, ...);                                            \
    int must_die = 0;                                                                        \
    va_list rest;                                                                            \
    va_start(rest, flags);                                                                   \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;           \
    va_end(rest);                                                                            \
    if (!is_inside(path)) return real(path, flags, mode);                                    \
    FAIL_IF(next_call("open", path, creates(path, flags) ? SPACE : NOTHING, &must_die));     \
    int fd = real(path, flags, mode);                                                        \
    track(fd, 1);                                                                            \
    return fd;                                                                               \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(function)                                                              \
  int function(int directory, const char *path, int flags, ...) {                            \
    REAL(int, #function, int, const char *, int, ...);                                       \
    int must_die = 0;                                                                        \
    va_list rest;                                                                            \
    va_start(rest, flags);                                                                   \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;           \
    va_end(rest);                                                                            \
    if (!is_inside(path)) return real(directory, path, flags, mode);                         \
    FAIL_IF(next_call("open", path, creates(path, flags) ? SPACE : NOTHING, &must_die));     \
    int fd = real(directory, path, flags, mode);                                             \
    track(fd, 1);                                                                            \
    return fd;                                                                               \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

int close(int fd) {
  REAL(int, "close", int);
  track(fd, 0);
  return real(fd);
}

/* A write that is killed, or that fills the disk, leaves its first half. */
#define HALF(code, half)                                      \
  do {                                                        \
    int before = is_full;                                     \
    int failed = (code);                                      \
    if (must_die || (failed == ENOSPC && !before)) (void)!(half); \
    FAIL_IF(failed);                                          \
  } while (0)

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t);
  int must_die = 0;
  if (!is_tracked(fd)) return real(fd, bytes, count);
  HALF(next_call("write", "", SPACE, &must_die), real(fd, bytes, count / 2));
  return real(fd, bytes, count);
}

#define DEFINE_PWRITE(function, offset_type)                                                 \
  ssize_t function(int fd, const void *bytes, size_t count, offset_type offset) {            \
    REAL(ssize_t, #function, int, const void *, size_t, offset_type);                        \
    int must_die = 0;                                                                        \
    if (!is_tracked(fd)) return real(fd, bytes, count, offset);                              \
    HALF(next_call("write", "", SPACE, &must_die), real(fd, bytes, count / 2, offset));      \
    return real(fd, bytes, count, offset);                                                   \
  }
DEFINE_PWRITE(pwrite, off_t)
DEFINE_PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  int must_die = 0;
  if (!is_tracked(fd)) return real(fd, parts, count);
  HALF(next_call("write", "", SPACE, &must_die), real(fd, parts, count / 2));
  return real(fd, parts, count);
}

#define DEFINE_ON_FD(function)                                                               \
  int function(int fd) {                                                                     \
    REAL(int, #function, int);                                                               \
    int must_die = 0;                                                                        \
    if (!is_tracked(fd)) return real(fd);                                                    \
    FAIL_IF(next_call(#function, "", NOTHING, &must_die));                                   \
    return real(fd);                                                                         \
  }
DEFINE_ON_FD(fsync)
DEFINE_ON_FD(fdatasync)

#define DEFINE_TRUNCATE(function, length_type)                                               \
  int function(int fd, length_type length) {                                                 \
    REAL(int, #function, int, length_type);                                                  \
    int must_die = 0;                                                                        \
    if (!is_tracked(fd)) return real(fd, length);                                            \
    FAIL_IF(next_call("truncate", "", NOTHING, &must_die));                                  \
    return real(fd, length);                                                                 \
  }
DEFINE_TRUNCATE(ftruncate, off_t)
DEFINE_TRUNCATE(ftruncate64, off64_t)

#define DEFINE_ON_PATH(function, need)                                                       \
  int function(const char *path) {                                                           \
    REAL(int, #function, const char *);                                                      \
    int must_die = 0;                                                                        \
    if (!is_inside(path)) return real(path);                                                 \
    FAIL_IF(next_call(#function, path, need, &must_die));                                    \
    return real(path);                                                                       \
  }
DEFINE_ON_PATH(unlink, NOTHING)
DEFINE_ON_PATH(rmdir, NOTHING)
DEFINE_ON_PATH(remove, NOTHING)

int unlinkat(int directory, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  int must_die = 0;
  if (!is_inside(path)) return real(directory, path, flags);
  FAIL_IF(next_call("unlink", path, NOTHING, &must_die));
  return real(directory, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  int must_die = 0;
  if (!is_inside(path)) return real(path, mode);
  FAIL_IF(next_call("mkdir", path, SPACE, &must_die));
  return real(path, mode);
}

#define DEFINE_ON_TWO(function)                                                              \
  int function(const char *from, const char *to) {                                           \
    REAL(int, #function, const char *, const char *);                                        \
    int must_die = 0;                                                                        \
    if (!is_inside(from) && !is_inside(to)) return real(from, to);                           \
    FAIL_IF(next_call(#function, to, SPACE, &must_die));                                     \
    return real(from, to);                                                                   \
  }
DEFINE_ON_TWO(rename)
DEFINE_ON_TWO(link)

"""Numbers of system calls, by machine: of those that the filter or the broker decides about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    audit_number: int
    numbers: dict[str, int]
    foreign_from: int | None
    """Numbers from here on belong to another calling convention (x32)."""


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


_SAME_EVERYWHERE = _table("""
    pidfd_send_signal 424  io_uring_setup 425  io_uring_enter 426  io_uring_register 427  open_tree 428
    move_mount 429  fsopen 430  fsconfig 431  fsmount 432  fspick 433  clone3 435  openat2 437  pidfd_getfd 438
    process_madvise 440  mount_setattr 442  memfd_secret 447  fchmodat2 452  setxattrat 463  removexattrat 466
    open_tree_attr 467  file_setattr 469
""")
_X86_64 = _table("""
    open 2  ioctl 16  shmget 29  shmat 30  shmctl 31  socket 41  connect 42  socketpair 53  clone 56  fork 57
    vfork 58  kill 62  semget 64  semop 65  semctl 66  msgget 68  msgsnd 69  msgrcv 70  msgctl 71  fcntl 72
    truncate 76  creat 85  chmod 90  fchmod 91  chown 92  fchown 93  lchown 94  ptrace 101  syslog 103
    rt_sigqueueinfo 129  utime 132  mknod 133  setpriority 141  sched_setparam 142  sched_setscheduler 144
    vhangup 153  pivot_root 155  adjtimex 159  chroot 161  acct 163  settimeofday 164  mount 165  umount2 166
    swapon 167  swapoff 168  reboot 169  init_module 175  delete_module 176  quotactl 179  setxattr 188
    lsetxattr 189  fsetxattr 190  removexattr 197  lremovexattr 198  fremovexattr 199  tkill 200
    sched_setaffinity 203  lookup_dcookie 212  semtimedop 220  clock_settime 227  tgkill 234  utimes 235
    mq_open 240  mq_unlink 241  kexec_load 246  add_key 248  request_key 249  keyctl 250  ioprio_set 251
    inotify_init 253  openat 257  mknodat 259  fchownat 260  futimesat 261  fchmodat 268  unshare 272
    utimensat 280  inotify_init1 294  rt_tgsigqueueinfo 297  perf_event_open 298  fanotify_init 300
    prlimit64 302  name_to_handle_at 303  open_by_handle_at 304  clock_adjtime 305  setns 308  seccomp 317
    process_vm_readv 310  process_vm_writev 311  kcmp 312  finit_module 313  sched_setattr 314
    memfd_create 319  kexec_file_load 320  bpf 321  userfaultfd 323
""")
_AARCH64 = _table("""
    setxattr 5  lsetxattr 6  fsetxattr 7  removexattr 14  lremovexattr 15  fremovexattr 16  lookup_dcookie 18
    fcntl 25  inotify_init1 26  ioctl 29  ioprio_set 30  mknodat 33  umount2 39  mount 40  pivot_root 41
    truncate 45  chroot 51  fchmod 52  fchmodat 53  fchownat 54  fchown 55  openat 56  vhangup 58  quotactl 60
    utimensat 88  acct 89  unshare 97  kexec_load 104  init_module 105  delete_module 106  clock_settime 112
    syslog 116  ptrace 117  sched_setparam 118  sched_setscheduler 119  sched_setaffinity 122  kill 129
    tkill 130  tgkill 131  rt_sigqueueinfo 138  setpriority 140  reboot 142  settimeofday 170  adjtimex 171
    mq_open 180  mq_unlink 181  msgget 186  msgctl 187  msgrcv 188  msgsnd 189  semget 190  semctl 191
    semtimedop 192  semop 193  shmget 194  shmctl 195  shmat 196  socket 198  socketpair 199  connect 203
    add_key 217  request_key 218  keyctl 219  clone 220  swapon 224  swapoff 225  rt_tgsigqueueinfo 240
    perf_event_open 241  prlimit64 261  fanotify_init 262  name_to_handle_at 264  open_by_handle_at 265
    clock_adjtime 266  setns 268  process_vm_readv 270  process_vm_writev 271  kcmp 272  finit_module 273
    sched_setattr 274  seccomp 277  memfd_create 279  bpf 280  userfaultfd 282  kexec_file_load 294
""")

MACHINES = {
    "x86_64": Machine(0xC000003E, _X86_64 | _SAME_EVERYWHERE, 0x40000000),
    "aarch64": Machine(0xC00000B7, _AARCH64 | _SAME_EVERYWHERE, None),
}

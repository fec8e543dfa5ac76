"""Runs a command on a kernel that seems to have no IPv6: every socket of that family is refused with EAFNOSUPPORT.

A network namespace cannot show that: IPv6 that is switched off in one still binds the address "::".
Source: seccomp(2), socket(2).
"""

import ctypes
import errno
import os
import platform
import struct
import sys

AF_INET6 = 10
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EAFNOSUPPORT
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2

program = [
    (LOAD, 0, 0, 0),  # number of the system call
    (EQUAL, 0, 3, SOCKET_CALL),
    (LOAD, 0, 0, 16),  # its first argument, the family
    (EQUAL, 0, 1, AF_INET6),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


prctl = ctypes.CDLL(None, use_errno=True).prctl
wanted = Filter(len(program), ctypes.addressof(code))
if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(wanted), 0, 0):
    sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])

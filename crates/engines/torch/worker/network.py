# Takes the network away before a model is opened: a file that somebody else made has nothing to say to anybody.


def leave_network():
    """A namespace with nothing but a loopback device; where the system does not allow one, nothing changes."""
    import os
    import sys

    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes
        import fcntl
        import socket
        import struct

        # PR_SET_NO_NEW_PRIVS: programs with more rights than their caller have nothing to do for a model either.
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
        # CLONE_NEWNET and, for anybody but root, CLONE_NEWUSER: in it their own number stays what it is.
        user, group, flags = os.geteuid(), os.getegid(), 0x40000000
        if user != 0:
            setting = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
            if os.path.exists(setting) and open(setting).read().strip() != "0":
                # Making one would change the rules for this process and help nothing.
                return
            flags |= 0x10000000
        if ctypes.CDLL(None).unshare(flags) != 0:
            return
        if user != 0:
            maps = ("setgroups", "deny"), ("uid_map", "%d %d 1\n" % (user, user)), ("gid_map", "%d %d 1\n" % (group, group))
            for name, text in maps:
                with open("/proc/self/" + name, "w") as file:
                    file.write(text)
        # Ranks that train together meet over the loopback device: SIOCSIFFLAGS with IFF_UP.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            fcntl.ioctl(asked, 0x8914, struct.pack("16sh22x", b"lo", 1))
    except (OSError, ImportError, AttributeError):
        pass

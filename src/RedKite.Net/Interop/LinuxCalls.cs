using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Net.Interop;

/// <summary>
/// The system calls of the epoll transport. All signatures are blittable, so a call is a jump and a GC transition. Errors
/// are read with <see cref="Marshal.GetLastSystemError"/> right after the call: the runtime keeps errno as it returns.
/// </summary>
internal static unsafe partial class LinuxCalls
{
    internal const int EpollIn = 1;
    internal const int EpollOut = 4;
    internal const int EpollError = 8;
    internal const int EpollHangUp = 0x10;

    internal const int EpollExclusive = 1 << 28;

    internal const int EpollAdd = 1;
    internal const int EpollDelete = 2;
    internal const int EpollModify = 3;

    internal const int Interrupted = 4;      // EINTR
    internal const int WouldBlock = 11;      // EAGAIN
    internal const int TooManyFiles = 24;    // EMFILE
    internal const int FileTableFull = 23;   // ENFILE

    private const int FileLimit = 7;         // RLIMIT_NOFILE
    private const int CoarseClock = 6;       // CLOCK_MONOTONIC_COARSE

    internal const int NonBlocking = 0x800;  // O_NONBLOCK, SOCK_NONBLOCK, EFD_NONBLOCK
    internal const int CloseOnExec = 0x80000;
    internal const int NoSignal = 0x4000;    // MSG_NOSIGNAL

    /// <summary>struct epoll_event is packed on x64 and x86 alone.</summary>
    internal static readonly int EventBytes = IsPacked ? 12 : 16;

    internal static readonly int EventDataOffset = IsPacked ? 4 : 8;

    // The three calls of every request go past the C library's own wrappers: those are cancellation points, which in a
    // process with threads cost two atomic operations each (measured: 2 % of an unpipelined request).
    private static readonly nint NumberOfEpollPWait = IsArm64 ? 22 : 281;
    private static readonly nint NumberOfReceiveFrom = IsArm64 ? 207 : 45;
    private static readonly nint NumberOfSendTo = IsArm64 ? 206 : 44;
    private static readonly nint NumberOfSendMessage = IsArm64 ? 211 : 46;

    /// <summary>Whether the numbers of the system calls are known on this platform; otherwise the runtime's sockets are used.</summary>
    internal static bool IsSupported => OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64;

    private static bool IsArm64 => RuntimeInformation.ProcessArchitecture == Architecture.Arm64;

    private static bool IsPacked => RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.X86;

    internal static void EpollControl(int epoll, int operation, int descriptor, int events)
    {
        byte* value = stackalloc byte[16];
        *(int*)value = events;
        *(long*)(value + EventDataOffset) = descriptor;
        _ = epoll_ctl(epoll, operation, descriptor, value);
    }

    internal static void SetOption(int descriptor, int level, int option, int value) => _ = setsockopt(descriptor, level, option, &value, sizeof(int));

    /// <summary>When a TCP connection last received data, in microseconds of the system's coarse monotonic clock: whole ticks of the kernel.</summary>
    internal static bool TryGetLastReceived(int descriptor, out long microseconds)
    {
        const int TcpLevel = 6, TcpInfo = 11, LastReceivedOffset = 52, InfoBytes = 56, Tries = 3;
        byte* info = stackalloc byte[InfoBytes];
        nint* now = stackalloc nint[2];
        nint* after = stackalloc nint[2];
        microseconds = 0;
        for (int i = 0; i < Tries; i++)
        {
            int bytes = InfoBytes;
            if (clock_gettime(CoarseClock, now) != 0 || getsockopt(descriptor, TcpLevel, TcpInfo, info, &bytes) != 0 || bytes < InfoBytes) return false;
            _ = clock_gettime(CoarseClock, after);
            if (now[0] == after[0] && now[1] == after[1]) break; // otherwise a tick came in between
        }

        microseconds = MicrosecondsOf(now) - (*(uint*)(info + LastReceivedOffset) * 1000L);
        return true;
    }

    /// <summary>The time of the same clock: that of the kernel's last tick.</summary>
    internal static long CoarseMicroseconds()
    {
        nint* now = stackalloc nint[2];
        _ = clock_gettime(CoarseClock, now);
        return MicrosecondsOf(now);
    }

    private static long MicrosecondsOf(nint* time) => (time[0] * 1_000_000L) + (time[1] / 1000);

    /// <summary>The process's limits of open files: the current one, and how far it may raise that itself.</summary>
    internal static bool TryGetFileLimit(out ulong soft, out ulong hard)
    {
        ulong* limit = stackalloc ulong[2];
        bool known = getrlimit(FileLimit, limit) == 0;
        (soft, hard) = known ? (limit[0], limit[1]) : (0, 0);
        return known;
    }

    internal static void WriteToError(ReadOnlySpan<byte> bytes)
    {
        fixed (byte* start = bytes) _ = write(2, start, bytes.Length);
    }

    /// <summary>A higher hard limit takes a privilege.</summary>
    internal static bool TrySetFileLimit(ulong soft, ulong hard)
    {
        ulong* limit = stackalloc ulong[] { soft, hard };
        return setrlimit(FileLimit, limit) == 0;
    }

    /// <summary>Waits for a number of milliseconds; -1 waits without a limit. Never inlined, so that a profile distinguishes waiting from receiving and sending.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static int EpollWait(int epoll, byte* events, int eventsMax, int milliseconds) =>
        (int)syscall(NumberOfEpollPWait, epoll, (nint)events, eventsMax, milliseconds, 0, 8);

    internal static nint Receive(int descriptor, byte* buffer, nint bytes) =>
        syscall(NumberOfReceiveFrom, descriptor, (nint)buffer, bytes, 0, 0, 0);

    internal static nint Send(int descriptor, byte* buffer, nint bytes) =>
        syscall(NumberOfSendTo, descriptor, (nint)buffer, bytes, NoSignal, 0, 0);

    /// <summary>Sends several pieces, each an address and a length, in one call.</summary>
    internal static nint SendPieces(int descriptor, nint* pieces, int count)
    {
        // struct msghdr: no name, the pieces, no control data.
        nint* message = stackalloc nint[7];
        new Span<nint>(message, 7).Clear();
        message[2] = (nint)pieces;
        message[3] = count;
        return syscall(NumberOfSendMessage, descriptor, (nint)message, NoSignal, 0, 0, 0);
    }

    /// <summary>Fresh memory of its own mapping; -1: the system has none.</summary>
    internal static nint MapMemory(nint bytes)
    {
        const int ReadWrite = 3, PrivateAnonymous = 0x22;
        return mmap(0, bytes, ReadWrite, PrivateAnonymous, -1, 0);
    }

    internal static void UnmapMemory(nint address, nint bytes) => _ = munmap(address, bytes);

    [LibraryImport("libc")]
    internal static partial int epoll_create1(int flags);

    [LibraryImport("libc")]
    internal static partial int epoll_ctl(int epoll, int operation, int descriptor, byte* value);

    [LibraryImport("libc")]
    internal static partial int accept4(int listener, byte* address, int* addressBytes, int flags);

    [LibraryImport("libc")]
    internal static partial int getsockname(int descriptor, byte* address, int* addressBytes);

    [LibraryImport("libc")]
    internal static partial int shutdown(int descriptor, int how);

    [LibraryImport("libc")]
    internal static partial int close(int descriptor);

    [LibraryImport("libc")]
    internal static partial int eventfd(uint value, int flags);

    [LibraryImport("libc")]
    internal static partial int timerfd_create(int clock, int flags);

    /// <summary>The new value: interval seconds and nanoseconds, then first expiry seconds and nanoseconds.</summary>
    [LibraryImport("libc")]
    internal static partial int timerfd_settime(int timer, int flags, nint* value, nint* oldValue);

    [LibraryImport("libc")]
    internal static partial nint read(int descriptor, byte* buffer, nint bytes);

    [LibraryImport("libc")]
    internal static partial nint write(int descriptor, byte* buffer, nint bytes);

    [LibraryImport("libc")]
    private static partial nint mmap(nint address, nint bytes, int protection, int flags, int descriptor, nint offset);

    [LibraryImport("libc")]
    private static partial int munmap(nint address, nint bytes);

    [LibraryImport("libc")]
    private static partial int getrlimit(int resource, ulong* limit);

    [LibraryImport("libc")]
    private static partial int setrlimit(int resource, ulong* limit);

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint first, nint second, nint third, nint fourth, nint fifth, nint sixth);

    [LibraryImport("libc")]
    private static partial int setsockopt(int descriptor, int level, int option, int* value, int valueBytes);

    [LibraryImport("libc")]
    private static partial int getsockopt(int descriptor, int level, int option, byte* value, int* valueBytes);

    [LibraryImport("libc")]
    private static partial int clock_gettime(int clock, nint* time);
}

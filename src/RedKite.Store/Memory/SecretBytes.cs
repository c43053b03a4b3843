using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace RedKite.Store.Memory;

/// <summary>Random bytes that nobody can guess. On Linux they are the kernel's own: the framework's load OpenSSL, which takes a tenth of a start.</summary>
internal static unsafe partial class SecretBytes
{
    private const int KernelBytesMax = 256; // so many are given at once and never in part

    internal static byte[] New(int count)
    {
        if (!OperatingSystem.IsLinux() || count > KernelBytesMax) return OfFramework(count);
        byte[] bytes = new byte[count];
        fixed (byte* start = bytes)
        {
            return getrandom(start, (nuint)count, 0) == count ? bytes : OfFramework(count);
        }
    }

    // Apart: OpenSSL is loaded by whoever calls it.
    private static byte[] OfFramework(int count) => RandomNumberGenerator.GetBytes(count);

    [LibraryImport("libc")]
    private static partial nint getrandom(byte* buffer, nuint length, uint flags);
}

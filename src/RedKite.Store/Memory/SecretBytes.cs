using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace RedKite.Store.Memory;

/// <summary>Cryptographically secure random bytes. On Linux they come from getrandom: the framework's generator loads OpenSSL, which takes a tenth of the start-up time.</summary>
internal static unsafe partial class SecretBytes
{
    private const int KernelBytesMax = 256; // getrandom returns up to this many at once, never fewer than requested

    internal static byte[] New(int count)
    {
        if (!OperatingSystem.IsLinux() || count > KernelBytesMax) return OfFramework(count);
        byte[] bytes = new byte[count];
        fixed (byte* start = bytes)
        {
            return getrandom(start, (nuint)count, 0) == count ? bytes : OfFramework(count);
        }
    }

    // A method of its own: OpenSSL is loaded when this is first called.
    private static byte[] OfFramework(int count) => RandomNumberGenerator.GetBytes(count);

    [LibraryImport("libc")]
    private static partial nint getrandom(byte* buffer, nuint length, uint flags);
}

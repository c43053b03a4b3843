using System.Security.Cryptography;
using System.Text;
using RedKite.Server.Config;

namespace RedKite.Server.Acl;

/// <summary>The one user that exists without an access control list: it is called default, and its password is requirepass.</summary>
internal static class DefaultUser
{
    internal const string Name = "default";

    /// <summary>Whether the password is the user's; any is while none is configured.</summary>
    internal static bool Authenticates(Settings settings, ReadOnlySpan<byte> user, ReadOnlySpan<byte> password) =>
        user.SequenceEqual("default"u8) && IsPassword(settings.RequirePass, password);

    // Hashes of one length are compared, so that the time tells nothing about where the password differs, nor its length.
    private static bool IsPassword(string configured, ReadOnlySpan<byte> password)
    {
        if (configured.Length == 0) return true;
        Span<byte> expected = stackalloc byte[SHA256.HashSizeInBytes];
        Span<byte> given = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(Encoding.Latin1.GetBytes(configured), expected);
        SHA256.HashData(password, given);
        return CryptographicOperations.FixedTimeEquals(expected, given);
    }
}

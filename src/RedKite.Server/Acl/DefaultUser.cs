using System.Security.Cryptography;
using System.Text;
using RedKite.Server.Config;

namespace RedKite.Server.Acl;

/// <summary>The single user without an access control list: its name is default and its password is requirepass.</summary>
internal static class DefaultUser
{
    internal const string Name = "default";

    /// <summary>Whether the user name and password are correct. Without a configured password, any password is.</summary>
    internal static bool Authenticates(Settings settings, ReadOnlySpan<byte> user, ReadOnlySpan<byte> password) =>
        user.SequenceEqual("default"u8) && IsPassword(settings.RequirePass, password);

    // Comparing hashes of equal length keeps the time independent of the password's length and of the first difference.
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

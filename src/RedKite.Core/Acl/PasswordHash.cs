using System.Buffers;
using System.Security.Cryptography;
using System.Text;

namespace RedKite.Server.Acl;

/// <summary>Passwords are kept as SHA-256 hashes in hexadecimal, as rules write them.</summary>
internal static class PasswordHash
{
    private const int Characters = 2 * SHA256.HashSizeInBytes;

    private static readonly SearchValues<char> Digits = SearchValues.Create("0123456789abcdef");

    internal static string Of(ReadOnlySpan<byte> password)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(password, hash);
        return Convert.ToHexStringLower(hash);
    }

    internal static bool IsValid(string hash) => hash.Length == Characters && hash.AsSpan().IndexOfAnyExcept(Digits) < 0;

    /// <summary>
    /// Whether a password's hash is one of a list. The time depends on the lengths of the list and the password, not on which hash
    /// matches or how much of it does.
    /// </summary>
    internal static bool IsOneOf(IReadOnlyList<string> hashes, ReadOnlySpan<byte> password)
    {
        byte[] given = Encoding.ASCII.GetBytes(Of(password));
        bool found = false;
        for (int i = 0; i < hashes.Count; i++) found |= CryptographicOperations.FixedTimeEquals(given, Encoding.ASCII.GetBytes(hashes[i]));
        return found;
    }
}
